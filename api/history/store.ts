// Statements over stored history: rows of windows, of periods, as of instants, and alive spans of connections. Each has a total order.
import { watchReachable } from '../../infra/runtime/network/reachable.ts';
import { isUnconnected } from '../../infra/runtime/postgres/connection.ts';
import { Turns } from '../../infra/runtime/process/turns.ts';
import type { Cell, QuestdbQuery, QuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import { makeServiceError, makeUnavailable, ServiceError } from '../../schemas/errors.ts';
import { formatInstantMicros, MICROS_PER_DAY } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { toTableName } from '../../schemas/tables.ts';
import type { LiveMemory } from '../live/memory.ts';
import { fromCells, type StoredRow, selectList } from './stored-row.ts';

/** Time budget of a history answer (E-07). */
const BUDGET_MS = 10_000;
/** Statements of one answer at the same time: the pool is shared by all answers. */
const AT_A_TIME = 3;

/** Rows by `listing`, each list in the order of time. */
export type Rows = Map<string, StoredRow[]>;

export type RowQuestion = {
  readonly layer: ReadingLayer;
  /** `venue:venue_symbol`. */
  readonly listings: readonly string[];
};
/** Window ends in `(after, to]`. */
export type Range = { readonly after: Micros; readonly to: Micros };

export type StoredSpan = {
  readonly from: Micros;
  readonly to: Micros;
  readonly recordedAt: Micros;
  readonly cause: string | null;
};

/** Of a store that is there and cannot do its work for now: no memory left, a table that is being changed (QuestDB 9.3.4). */
const UNABLE =
  /memory limit exceeded|OutOfMemoryError|could not mmap|table busy|table is locked|cached query plan cannot be used/i;

/** The store cannot be queried: it is unavailable, lets us not in, is out of resources or not created yet. Any other failure is a fault of this service. */
const isAway = (error: Error): boolean =>
  !('severity' in error) ||
  isUnconnected(error) ||
  /does not exist|could not open|table is dropped/i.test(error.message) ||
  UNABLE.test(error.message);
const isTimeout = (error: Error): boolean => /timeout, query aborted|statement timeout|timed out/i.test(error.message);

/** The refusal while the store cannot be queried. */
export const storeAway = (): ServiceError => makeUnavailable('Stored history cannot be read now.');

/** Converts a failure of the store into an answer to retry if the store is unavailable or slow; a fault of this service is not converted. */
export const explainStore = (error: unknown): unknown =>
  error instanceof Error && (isAway(error) || isTimeout(error)) ? Object.assign(storeAway(), { cause: error }) : error;

/** Whether such an answer was made because the store did not respond at all. */
export const isSilence = (error: unknown): boolean =>
  error instanceof ServiceError && error.cause instanceof Error && !('severity' in error.cause);

const refuseTooSlow = () =>
  makeServiceError('DQL_LIMIT', `The answer takes longer than ${BUDGET_MS / 1_000} seconds.`, {
    hint: 'Narrow where, layers or the window.',
  });

/** A statement about the values of its `IN`, which `values` or the text hold already. None: it has no lines, and `IN ()` is no SQL. */
type ListQuery = QuestdbQuery & { readonly among: readonly string[] };

/** `$1, $2 …` for `values`, after the parameters that exist already. */
export const listPlaceholders = (values: readonly unknown[], before: number): string =>
  values.map((_, i) => `$${before + i + 1}`).join(', ');

/**
 * A listing written into a statement. `LATEST ON` over an indexed symbol answers the listings of an earlier call when they are parameters:
 * QuestDB 9.3.4 keeps the symbols that a cached plan was first bound to.
 */
const quoteListing = (listing: string): string => `'${listing.replaceAll("'", "''")}'`;

/** Statements of one answer, within its time budget. */
export class HistoryReader {
  readonly #reader: QuestdbReader;
  readonly #namespace: string;
  readonly #deadline = performance.now() + BUDGET_MS;
  readonly #turns = new Turns(AT_A_TIME);

  constructor(reader: QuestdbReader, namespace: string) {
    this.#reader = reader;
    this.#namespace = namespace;
  }

  /** All rows of the windows, late ones too. */
  windows(question: RowQuestion, { after, to }: Range): Promise<Rows> {
    return this.#rows(question, 'r.at > $1 AND r.at <= $2', [after, to]);
  }

  /** Reads the last row of each period that `holds`, readings or gaps. Periods end at multiples of `length` after the range begins. */
  lastOfPeriods(
    question: RowQuestion,
    { after, to }: Range,
    { length, kind }: { readonly length: Micros; readonly kind: 'reading' | 'gap' },
  ): Promise<Rows> {
    const listings = listPlaceholders(question.listings, 2);
    const [table, heard] = [this.#table(question.layer), kind === 'reading' ? 'NOT NULL' : 'NULL'];
    // Both sides name the listings: QuestDB would read the rows of all others to join them.
    const text =
      `SELECT ${selectList(question.layer)} FROM ${table} r JOIN (` +
      `SELECT listing, (at::long - ${1 + (after % length)}) / ${length} period, max(at) last_at FROM ${table}` +
      ` WHERE at > $1 AND at <= $2 AND received_at IS ${heard} AND NOT late AND listing IN (${listings}) GROUP BY listing, period` +
      `) p ON r.listing = p.listing AND r.at = p.last_at WHERE r.at > $1 AND r.at <= $2` +
      ` AND r.received_at IS ${heard} AND NOT r.late AND r.listing IN (${listings}) ORDER BY listing, at, src_offset`;
    return this.#runQuery(question, { text, values: this.#values([after, to], question), among: question.listings });
  }

  /** Gaps over several windows that end after `after` and begin before `to`; none crosses a midnight. */
  longGaps(question: RowQuestion, { after, to }: Range): Promise<Rows> {
    const seconds = LAYERS[question.layer].windowMs / 1_000;
    const where =
      'r.at > $1 AND r.at <= $2 AND r.from_at < $3 AND r.received_at IS NULL AND NOT r.late' +
      ` AND r.from_at < dateadd('s', -${seconds}, r.at)`;
    return this.#rows(question, where, [after, to + MICROS_PER_DAY, to]);
  }

  /** The newest reading or invalidation that counts, of windows that ended by `at`. */
  asOf(question: RowQuestion, at: Micros): Promise<Rows> {
    const text =
      `SELECT ${selectList(question.layer)} FROM (SELECT * FROM ${this.#table(question.layer)}` +
      ` WHERE at <= $1 AND received_at IS NOT NULL AND NOT late AND listing IN (${question.listings.map(quoteListing).join(', ')})` +
      ' LATEST ON at PARTITION BY listing) r ORDER BY listing';
    return this.#runQuery(question, { text, values: [formatInstantMicros(at)], among: question.listings });
  }

  /** Ended alive spans of connections that overlap `[from, to]`, as one task has them, by connection. */
  async spans(
    connections: readonly string[],
    { task, from, to }: { readonly task: string; readonly from: Micros; readonly to: Micros },
  ): Promise<Map<string, StoredSpan[]>> {
    const text =
      'SELECT conn, from_at::long from_at, to_at::long to_at, recorded_at::long recorded_at, cause' +
      ` FROM ${this.table('connections')}` +
      ` WHERE from_at <= $1 AND to_at >= $2 AND task = $3 AND conn IN (${listPlaceholders(connections, 3)})` +
      ' ORDER BY conn, from_at, src_offset';
    const values = [formatInstantMicros(to), formatInstantMicros(from), task, ...connections];
    const spans = new Map<string, StoredSpan[]>();
    for (const [conn, began, ended, recorded, cause] of await this.query({ text, values, among: connections })) {
      const held = spans.get(conn ?? '') ?? [];
      spans.set(conn ?? '', held);
      held.push({ from: Number(began), to: Number(ended), recordedAt: Number(recorded), cause: cause ?? null });
    }
    return spans;
  }

  /** Name of a table of the namespace, as a statement writes it. */
  table(name: string): string {
    return `'${toTableName(this.#namespace, name)}'`;
  }

  /** Lines of any statement, within the turns and the time of this answer. An empty selection is an empty answer. */
  async query({ among, ...query }: ListQuery): Promise<Cell[][]> {
    return among.length === 0 ? [] : this.#turns.run(() => this.#read(query));
  }

  #table(layer: ReadingLayer): string {
    return this.table(LAYERS[layer].table);
  }

  #values(instants: readonly Micros[], { listings }: RowQuestion): string[] {
    return [...instants.map(formatInstantMicros), ...listings];
  }

  #rows(question: RowQuestion, where: string, instants: readonly Micros[]): Promise<Rows> {
    const listings = `r.listing IN (${listPlaceholders(question.listings, instants.length)})`;
    const text =
      `SELECT ${selectList(question.layer)} FROM ${this.#table(question.layer)} r` +
      ` WHERE ${where} AND ${listings} ORDER BY listing, at, src_offset`;
    return this.#runQuery(question, { text, values: this.#values(instants, question), among: question.listings });
  }

  async #runQuery({ layer }: RowQuestion, query: ListQuery): Promise<Rows> {
    const rows: Rows = new Map();
    for (const line of await this.query(query)) {
      const { listing, row } = fromCells(layer, line);
      const held = rows.get(listing);
      if (held === undefined) rows.set(listing, [row]);
      else held.push(row);
    }
    return rows;
  }

  async #read(query: QuestdbQuery): Promise<Cell[][]> {
    if (performance.now() > this.#deadline) throw refuseTooSlow();
    try {
      return await this.#reader.query(query);
    } catch (error) {
      if (error instanceof Error && isTimeout(error)) throw refuseTooSlow();
      throw explainStore(error);
    }
  }
}

/** What an answer reads: the store, and what it does not show yet. */
export type Sources = { readonly reader: HistoryReader; readonly live: LiveMemory };

/** Stored history as operations get it. */
export type HistoryStore = {
  /** One reader an answer. */
  readonly begin: () => HistoryReader;
  /** Whether the store answers at all, within two seconds. */
  readonly isReachable: () => Promise<boolean>;
};

/** `probe` has separate connections: while answers use all others, the store is busy, not unavailable. */
export const createHistoryStore = (
  reader: QuestdbReader,
  namespace: string,
  probe: Pick<QuestdbReader, 'ping'> = reader,
): HistoryStore => ({
  begin: () => new HistoryReader(reader, namespace),
  isReachable: watchReachable(() => probe.ping().then(() => true)),
});
