// Prices of one base unit, so that those of 1000PEPE and of PEPE share an axis.
import { divide } from '../../../schemas/decimals.ts';
import type { HistoryRow } from './line.ts';

/** `multiplier`: base units in one of what the listing is of. Where it is not known (null), there is no such price (N-07). */
export const toUnitPrice = (row: HistoryRow, member: string, multiplier: string | null): HistoryRow => {
  const figure = row.values[member] ?? null;
  if (figure === null || multiplier === '1') return row;
  if (multiplier !== null) return { ...row, values: { ...row.values, [member]: divide(figure, multiplier) } };
  return {
    ...row,
    values: { ...row.values, [member]: null },
    null_reasons: { ...row.null_reasons, [member]: 'unit_unknown' },
  };
};
