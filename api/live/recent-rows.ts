// The windows that QuestDB may not show yet: provisional and sealed rows of the last fifteen minutes (design section 7).
import type { Micros } from '../../schemas/records.ts';
import type { Row } from '../../schemas/topics.ts';
import { sealsAt } from '../../schemas/windows.ts';

/** Rows that ended longer than this behind the watermark are in QuestDB or lost: `drop-oldest`. */
export const KEPT: Micros = 900_000_000;

export type RecentRow = { readonly row: Row; readonly sealed: boolean };

type Kept = RecentRow & { readonly series: string };

const isLate = (row: Row): boolean => row.flags.late === true;

/** A candle is designated by its open time; every other row by the end of its window. */
const endOf = (row: Row): Micros => row.instants.close_time ?? row.at;

/** History watermark from which on QuestDB shows the row, or what its window was sealed as. */
const visibleFrom = (row: Row): Micros => (isLate(row) ? (row.instants.recorded_at ?? 0) : sealsAt(endOf(row)));

const seriesOf = (table: string, symbol: string): string => `${table}|${symbol}`;

/** A late row never takes the place of its window's row (N-11). */
const keyOf = (series: string, row: Row): string => {
  const { price_type = '', timeframe = '', id = '' } = row.texts;
  return `${series}|${row.at}|${price_type}|${timeframe}|${id}|${isLate(row) ? row.integers.src_offset : ''}`;
};

export class RecentRows {
  /** In order of first appearance, which is the order of the log: the oldest stand first. */
  readonly #rows = new Map<string, Kept>();
  readonly #bySeries = new Map<string, Map<string, Kept>>();

  get size(): number {
    return this.#rows.size;
  }

  /** A provisional row may come again when it changes; its sealed one replaces it. */
  apply(symbol: string, row: Row, sealed: boolean): void {
    const series = seriesOf(row.table, symbol);
    const key = keyOf(series, row);
    const kept: Kept = { row, sealed, series };
    this.#rows.set(key, kept);
    const held = this.#bySeries.get(series);
    if (held === undefined) this.#bySeries.set(series, new Map([[key, kept]]));
    else held.set(key, kept);
  }

  /** Drops what QuestDB shows by the history watermark, and what is too old in any case. */
  prune(watermark: Micros, history: Micros | null): void {
    for (const [key, { row, series }] of this.#rows) {
      const isVisible = history !== null && history >= visibleFrom(row);
      if (!isVisible && endOf(row) > watermark - KEPT) return;
      this.#rows.delete(key);
      const held = this.#bySeries.get(series);
      held?.delete(key);
      if (held?.size === 0) this.#bySeries.delete(series);
    }
  }

  values(): IterableIterator<RecentRow> {
    return this.#rows.values();
  }

  /** Rows of one listing in one table. */
  of(table: string, symbol: string): Iterable<RecentRow> {
    return this.#bySeries.get(seriesOf(table, symbol))?.values() ?? [];
  }
}
