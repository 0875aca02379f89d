// Writes rows to QuestDB over ILP by HTTP, one sender a table.
import { setTimeout as pause } from 'node:timers/promises';
import { Sender } from '@questdb/nodejs-client';
import type { Agent } from 'undici';
import { isExactDouble } from '../../../schemas/decimals.ts';
import type { Row } from '../../../schemas/topics.ts';
import { createLog, type Logger } from '../process/log.ts';
import { createOutageLog, type OutageLog } from '../process/outage-log.ts';
import { createBackoff } from '../time/backoff.ts';
import { limitTime } from '../time/within.ts';
import { type Credentials, explainQuestdbHttp, openQuestdbHttp, type QuestdbHttp } from './http.ts';
import { CLOSE_MS } from './reader.ts';

/** QuestDB refused rows: a column or table that does not exist, a type, no right to write. A repeat cannot help. */
export class RowsRefused extends Error {
  override readonly name = 'RowsRefused';
}

export type RowSender = {
  /**
   * Resolves when the rows are in the table's log: acknowledged, not yet visible. All or none of a chunk of 5,000 rows.
   * Waits while QuestDB is away; rejects with RowsRefused, or when closed meanwhile.
   */
  readonly send: (table: string, rows: readonly Row[]) => Promise<void>;
  /** Resolves when everything acknowledged before the call is readable from the tables. */
  readonly waitVisible: (tables: readonly string[]) => Promise<void>;
  /** The failure that causes the current wait; null when the last request succeeded. */
  readonly problem: () => string | null;
  readonly close: () => Promise<void>;
};
type RowSenderOptions = { readonly auth?: Credentials; readonly log?: Logger };

const CHUNK_ROWS = 5_000;
const RETRY_TIMEOUT_MS = 15_000;
const VISIBLE_POLL_MS = 500;
const RESUME_EVERY_MS = 10_000;

const LIMITS = `auto_flush=off;retry_timeout=${RETRY_TIMEOUT_MS};request_timeout=10000;`;

/** Figures that a double cannot represent, as the JSON text of column `digits` (design section 7); null when there are none. */
const formatSparseDigits = (figures: Row['figures']): string | null => {
  const kept = Object.entries(figures).filter(([, digits]) => !isExactDouble(digits));
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept));
};

/** Texts go as strings: QuestDB puts them into SYMBOL and VARCHAR columns alike. */
const writeRow = (sender: Sender, table: string, row: Row): void => {
  sender.table(table);
  for (const [name, text] of Object.entries(row.texts)) sender.stringColumn(name, text);
  for (const [name, micros] of Object.entries(row.instants)) sender.timestampColumn(name, micros, 'us');
  for (const [name, integer] of Object.entries(row.integers)) sender.intColumn(name, integer);
  for (const [name, digits] of Object.entries(row.figures)) sender.floatColumn(name, Number(digits));
  for (const [name, flag] of Object.entries(row.flags)) sender.booleanColumn(name, flag);
  const digits = formatSparseDigits(row.figures);
  if (digits !== null) sender.stringColumn('digits', digits);
  // Without auto flush this only ends the row; there is nothing to await.
  void sender.at(row.at, 'us');
};

/**
 * The client gives statuses only in its message (questdb-nodejs-client 4.2.0, transports). 401 is no refusal: a password that was changed at QuestDB
 * first is handled like a QuestDB that is away.
 */
const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && /statusCode=4(?!01|08|29)\d\d/.test(error.message);

/** Transactions of a table: written to its log, and applied so that readers see them. `suspended`: the cause, null when it is not. */
type TableLog = { readonly suspended: string | null; readonly applied: number; readonly written: number };

type Suspended = { readonly table: string; readonly reason: string };

/**
 * QuestDB keeps a writer, some 50 open files, for each table that a connection has written to. Senders that share connections, as those of its client
 * do, have as many writers of each table as there are connections.
 */
type TableSender = { readonly sender: Sender; readonly agent: Agent };

class TableSenders implements RowSender {
  readonly #http: QuestdbHttp;
  readonly #log: Logger;
  readonly #outages: OutageLog;
  readonly #senders = new Map<string, TableSender>();
  /** Requests of a table follow each other. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #closed = new AbortController();
  #trouble: string | null = null;
  #resumedAtMs = Number.NEGATIVE_INFINITY;

  constructor(httpUrl: string, { auth, log = createLog('questdb') }: RowSenderOptions) {
    this.#http = openQuestdbHttp(httpUrl, auth);
    this.#log = log;
    this.#outages = createOutageLog(log, 'QuestDB did not answer, trying again');
  }

  send(table: string, rows: readonly Row[]): Promise<void> {
    const turn = (this.#turns.get(table) ?? Promise.resolve()).then(() => this.#sendChunks(table, rows));
    this.#turns.set(
      table,
      turn.catch(() => undefined),
    );
    return turn;
  }

  async waitVisible(tables: readonly string[]): Promise<void> {
    const wanted = await this.#untilAnswered('wal_tables()', () => this.#readLogs());
    const behind = new Map(tables.map((table) => [table, wanted.get(table)?.written ?? 0]));
    const backoff = createBackoff({ minMs: 25, maxMs: VISIBLE_POLL_MS, jitter: 0 });
    for (let logs = wanted; ; logs = await this.#untilAnswered('wal_tables()', () => this.#readLogs())) {
      for (const [table, written] of behind) if ((logs.get(table)?.applied ?? 0) >= written) behind.delete(table);
      if (behind.size === 0) return;
      await this.#resume(
        [...behind.keys()].flatMap((table) => {
          const reason = logs.get(table)?.suspended ?? null;
          return reason === null ? [] : [{ table, reason }];
        }),
      );
      await pause(backoff.next(), undefined, { signal: this.#closed.signal });
    }
  }

  problem(): string | null {
    return this.#trouble;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('the row sender was closed'));
    const ended = Promise.all(this.#turns.values()).then(() => undefined);
    await limitTime(ended, CLOSE_MS).catch((err: unknown) => {
      this.#log.warn(
        { err },
        'QuestDB did not answer before the end: rows that it has not confirmed are written again',
      );
    });
    for (const { sender, agent } of this.#senders.values()) {
      await sender.reset().close();
      // The connection ends with its request; a request that QuestDB does not answer is not awaited.
      void agent.close();
    }
    this.#senders.clear();
    await this.#http.close();
  }

  async #sendChunks(table: string, rows: readonly Row[]): Promise<void> {
    for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
      const chunk = rows.slice(start, start + CHUNK_ROWS);
      await this.#untilAnswered(table, () => this.#sendOnce(table, chunk));
    }
  }

  /** The client clears its buffer before it sends, so each attempt builds the rows again. */
  async #sendOnce(table: string, rows: readonly Row[]): Promise<void> {
    const held = this.#senders.get(table) ?? (await this.#openSender());
    this.#senders.set(table, held);
    const sender = held.sender.reset();
    for (const row of rows) writeRow(sender, table, row);
    await sender.flush();
  }

  /** The client requests these settings too, but gives no cause for a failure: our own request does. */
  async #openSender(): Promise<TableSender> {
    const settings = await this.#http.get('/settings', {}, AbortSignal.timeout(RETRY_TIMEOUT_MS));
    await settings.body?.cancel();
    const agent = this.#http.openSenderAgent();
    try {
      return { sender: await Sender.fromConfig(`${this.#http.senderConfig}${LIMITS}`, { agent }), agent };
    } catch (error) {
      await agent.destroy();
      throw error;
    }
  }

  async #untilAnswered<T>(what: string, request: () => Promise<T>): Promise<T> {
    const backoff = createBackoff({ minMs: 200, maxMs: 2_000 });
    for (;;) {
      this.#closed.signal.throwIfAborted();
      try {
        const answer = await request();
        this.#trouble = null;
        this.#outages.noteSuccess();
        return answer;
      } catch (error) {
        if (isRefusal(error)) throw new RowsRefused(`${what}: ${error.message}`, { cause: error });
        const explained = explainQuestdbHttp(error);
        this.#outages.noteFailure(explained, { what });
        this.#trouble = explained.message;
        await pause(backoff.next(), undefined, { signal: this.#closed.signal });
      }
    }
  }

  /** QuestDB suspends a table when its disk is full or file handles run out: it accepts rows but applies none until it is resumed. */
  async #resume(suspended: readonly Suspended[]): Promise<void> {
    if (suspended.length === 0) return;
    this.#trouble = `suspended: ${suspended.map(({ table, reason }) => `${table} (${reason})`).join(', ')}`;
    const now = performance.now();
    if (now - this.#resumedAtMs < RESUME_EVERY_MS) return;
    this.#resumedAtMs = now;
    this.#log.error({ suspended }, 'QuestDB has suspended tables, telling it to go on');
    for (const { table } of suspended) await this.#ask(`ALTER TABLE '${table}' RESUME WAL`).catch(() => undefined);
  }

  async #readLogs(): Promise<Map<string, TableLog>> {
    const answer = await this.#ask(
      'SELECT name, suspended, writerTxn, sequencerTxn, errorTag, errorMessage FROM wal_tables()',
    );
    const { dataset } = (await answer.json()) as {
      readonly dataset: readonly (readonly [string, boolean, number, number, string | null, string | null])[];
    };
    return new Map(
      dataset.map(([name, isSuspended, applied, written, tag, message]) => {
        const reason = [tag, message].filter((part) => part !== null && part !== '').join(': ');
        return [name, { suspended: isSuspended ? reason || 'no reason given' : null, applied, written }];
      }),
    );
  }

  /** One statement over HTTP; rejects with the status and text of a refusal. */
  async #ask(query: string) {
    const answer = await this.#http.get('/exec', { query }, AbortSignal.timeout(RETRY_TIMEOUT_MS));
    if (!answer.ok) throw new Error(`HTTP request failed, statusCode=${answer.status}, error=${await answer.text()}`);
    return answer;
  }
}

export const createRowSender = (httpUrl: string, options: RowSenderOptions = {}): RowSender =>
  new TableSenders(httpUrl, options);
