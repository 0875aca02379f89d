// The order of leaves in memory, as AN-07 states it; the service orders stored rows (infra/runtime/questdb/leaf-rows.ts).
import { type AnchoredCell, type AnchoredTable, toPlace } from '../../../schemas/anchored.ts';
import { compareBytes } from '../../../schemas/text-order.ts';

/** Null precedes any text; texts ascend by UTF-8 bytes. */
const compareTexts = (a: AnchoredCell, b: AnchoredCell): number => {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareBytes(String(a), String(b));
};

/** For `sort`: rows of one listing of one table in leaf order; `seq` compares as a number, instants and texts by bytes. */
export const createLeafOrder = (
  table: AnchoredTable,
): ((a: readonly AnchoredCell[], b: readonly AnchoredCell[]) => number) => {
  const keys = table.order.map((name) => ({ place: toPlace(table, name), isSeq: name === 'seq' }));
  return (a, b) => {
    for (const { place, isSeq } of keys) {
      const [x, y] = [a[place] ?? null, b[place] ?? null];
      const order = isSeq ? Number(x) - Number(y) : compareTexts(x, y);
      if (order !== 0) return order;
    }
    return 0;
  };
};
