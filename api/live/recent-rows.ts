// The windows that QuestDB may not show yet: provisional and sealed rows of the last fifteen minutes (design section 7).
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Row } from '../../schemas/topics.ts';
import { EVENT_GAP_WINDOW_MS, findLastEnd, toSealInstant, toWindowEnd } from '../../schemas/windows.ts';
import { ByteLog, type BytePlace } from './byte-log.ts';

/** Rows that ended longer than this behind the watermark are in QuestDB or lost: `drop-oldest`. */
export const KEPT: Micros = 900_000_000;

const isLate = (row: Row): boolean => row.flags.late === true;

/** A candle is designated by its open time; every other row by the end of its window. */
const findEnd = (row: Row): Micros => row.instants.close_time ?? row.at;

/** History watermark from which on QuestDB shows the row, or what its window was sealed as: a gap between events ends within its window. */
const computeVisibleFrom = (row: Row): Micros =>
  isLate(row) ? (row.instants.recorded_at ?? 0) : toSealInstant(toWindowEnd(findEnd(row), EVENT_GAP_WINDOW_MS));

const toSeriesName = (table: string, symbol: string): string => `${table}|${symbol}`;

/** A late row never takes the place of its window's row (N-11). */
const toRowKey = (series: string, row: Row): string => {
  const { price_type = '', timeframe = '', id = '' } = row.texts;
  return `${series}|${row.at}|${price_type}|${timeframe}|${id}|${isLate(row) ? row.integers.src_offset : ''}`;
};

/** A row that is kept in encoded form: there are tens of thousands, each has thirty objects when decoded, and most are never read. */
export class RecentRow {
  readonly sealed: boolean;
  readonly series: string;
  readonly end: Micros;
  readonly visibleFrom: Micros;
  /** The instant at which its window or candle first had a row: later rows replace the row, not this instant. */
  cameAt: Micros;
  /** For an unsealed gap between events: the end of the newest window when it was published; null for all others. */
  readonly #announcedAt: Micros | null;
  readonly #place: BytePlace;
  readonly #log: ByteLog;
  #row: Row | null = null;

  /** `place`: of the entry in `log`. */
  constructor(row: Row, came: Pick<RecentRow, 'series' | 'sealed' | 'cameAt'> & { log: ByteLog; place: BytePlace }) {
    const { series, sealed, cameAt, log, place } = came;
    this.sealed = sealed;
    this.series = series;
    this.cameAt = cameAt;
    this.end = findEnd(row);
    this.visibleFrom = computeVisibleFrom(row);
    this.#announcedAt = row.instants.announced_at ?? null;
    this.#place = place;
    this.#log = log;
  }

  /** Whether it was not published again at the end of the newest window, as a gap that is still open would be. */
  isWithdrawn(watermark: Micros): boolean {
    return this.#announcedAt !== null && this.#announcedAt < findLastEnd(watermark, EVENT_GAP_WINDOW_MS);
  }

  /** Its bytes are no longer read. */
  free(): void {
    this.#log.free(this.#place);
  }

  /** The same object for every read, as long as the row is held. */
  get row(): Row {
    this.#row ??= codecs.live.decode(this.#log.at(this.#place)).row as Row;
    return this.#row;
  }
}

export class RecentRows {
  /** In order of first appearance, which is the order of the log: the oldest are first. */
  readonly #rows = new Map<string, RecentRow>();
  readonly #log = new ByteLog();
  readonly #bySeries = new Map<string, Map<string, RecentRow>>();

  get size(): number {
    return this.#rows.size;
  }

  /**
   * `bytes`: the entry of `live` that the row came in, `cameAt`: its instant in the log. A provisional row may come again when it changes; its
   * sealed one replaces it.
   */
  apply(symbol: string, row: Row, came: { sealed: boolean; cameAt: Micros; bytes: Buffer }): void {
    const { sealed, cameAt, bytes } = came;
    const series = toSeriesName(row.table, symbol);
    const key = toRowKey(series, row);
    this.#put(key, new RecentRow(row, { series, sealed, cameAt, log: this.#log, place: this.#log.append(bytes) }));
  }

  /** Drops rows that QuestDB shows according to the history watermark, and rows that are too old. */
  prune(watermark: Micros, history: Micros | null): void {
    for (const [key, row] of this.#rows) {
      const { series, end, visibleFrom: visible } = row;
      const isVisible = history !== null && history >= visible;
      if (!isVisible && end > watermark - KEPT) return;
      this.#rows.delete(key);
      row.free();
      const held = this.#bySeries.get(series);
      held?.delete(key);
      if (held?.size === 0) this.#bySeries.delete(series);
    }
  }

  /** Adds the rows of earlier entries, as if they had been received first; later rows have replaced some of them, and QuestDB shows others. */
  join(past: RecentRows, history: Micros | null): void {
    const since = [...this.#rows];
    this.#rows.clear();
    this.#bySeries.clear();
    for (const [key, row] of past.#rows) if (history === null || history < row.visibleFrom) this.#put(key, row);
    for (const [key, row] of since) this.#put(key, row);
  }

  #put(key: string, row: RecentRow): void {
    const before = this.#rows.get(key);
    before?.free();
    if (before !== undefined) row.cameAt = Math.min(before.cameAt, row.cameAt);
    this.#rows.set(key, row);
    const held = this.#bySeries.get(row.series);
    if (held === undefined) this.#bySeries.set(row.series, new Map([[key, row]]));
    else held.set(key, row);
  }

  /** Rows of one listing in one table. */
  of(table: string, symbol: string): Iterable<RecentRow> {
    return this.#bySeries.get(toSeriesName(table, symbol))?.values() ?? [];
  }
}
