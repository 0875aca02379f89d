// The windows that QuestDB may not show yet: provisional and sealed rows of the last fifteen minutes (design section 7).
import type { Micros } from '../../schemas/records.ts';
import type { Row } from '../../schemas/topics.ts';

/** Rows older than this behind the watermark are in QuestDB or lost: `drop-oldest`. */
const KEPT: Micros = 900_000_000;

export type RecentRow = { readonly row: Row; readonly sealed: boolean };

export class RecentRows {
  /** In order of first appearance, which is the order of the log: the oldest stand first. */
  readonly #rows = new Map<string, RecentRow>();

  get size(): number {
    return this.#rows.size;
  }

  /** A provisional row may come again when it changes; its sealed one replaces it. */
  apply(symbol: string, row: Row, sealed: boolean): void {
    this.#rows.set(`${row.table}|${symbol}|${row.at}|${row.texts.price_type ?? ''}|${row.texts.timeframe ?? ''}`, {
      row,
      sealed,
    });
  }

  /** Drops what the history watermark has passed, and what is too old in any case. */
  prune(watermark: Micros, history: Micros | null): void {
    const floor = Math.max(watermark - KEPT, history ?? 0);
    for (const [key, { row, sealed }] of this.#rows) {
      if (row.at > floor) return;
      if (sealed || row.at <= watermark - KEPT) this.#rows.delete(key);
    }
  }

  values(): IterableIterator<RecentRow> {
    return this.#rows.values();
  }
}
