// Chooses the row of a listing, table and day that a proof is requested for (AN-06).
import { type AnchoredCell, type AnchoredTable, toPlace } from '../../schemas/anchored.ts';
import { formatInstantMicros } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';

export type RowName = {
  readonly at: Micros;
  /** Of candles. */
  readonly priceType: string | null;
  /** Of trades and liquidations. */
  readonly id: string | null;
  /** Names the row by itself: of `at` only the day counts then. */
  readonly seq: number | null;
};

/** Of one kind of rows: candles, events, or readings of sampling windows. */
export type RowKind = 'candles' | 'events' | 'readings';
export const findKind = ({ table, dayIncludes }: AnchoredTable): RowKind => {
  if (dayIncludes === 'end') return 'readings';
  return table === 'candles' ? 'candles' : 'events';
};

/** Whether a row may be the one that is meant; of several, in leaf order, the last is. */
export const createRowTest = (table: AnchoredTable, name: RowName): ((cells: readonly AnchoredCell[]) => boolean) => {
  const { priceType, id, seq } = name;
  const at = formatInstantMicros(name.at);
  const has = (column: string, wanted: AnchoredCell): ((cells: readonly AnchoredCell[]) => boolean) => {
    const place = toPlace(table, column);
    return (cells) => cells[place] === wanted;
  };
  const tests = [
    ...(priceType === null ? [] : [has('price_type', priceType)]),
    ...(id === null ? [] : [has('id', id)]),
    ...(seq === null ? [] : [has('seq', String(seq))]),
  ];
  if (seq === null) {
    const time = toPlace(table, table.order[0] as string);
    const kind = findKind(table);
    // Instants of one form compare as texts.
    tests.push(kind === 'candles' ? (cells) => cells[time] === at : (cells) => String(cells[time]) <= at);
    if (kind !== 'events') tests.push(has('late', false));
  }
  return (cells) => tests.every((test) => test(cells));
};
