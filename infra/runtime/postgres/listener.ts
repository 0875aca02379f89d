// Notifications of PostgreSQL (LISTEN/NOTIFY) on a dedicated connection, which is reopened whenever it is lost.
import pg from 'pg';
import type { Logger } from '../process/log.ts';
import { createOutageLog, type OutageLog } from '../process/outage-log.ts';
import { createBackoff } from '../time/backoff.ts';
import { DATABASE_NAMES, makeClientClass, parsePostgresAddress } from './connection.ts';

type ListenOptions = {
  readonly url: string;
  /** Handler of a notice, by channel. */
  readonly channels: Readonly<Record<string, (payload: string) => void>>;
  /** Called when listening has begun, also after a loss: notices before this instant may have been missed. */
  readonly onListening: () => void;
  readonly log: Logger;
};

type Listener = {
  readonly isListening: () => boolean;
  /** Number of lost connections that had listened. */
  readonly losses: () => number;
  readonly stop: () => Promise<void>;
};

/** A connection that returns no result within this time counts as lost: a broken line reports nothing by itself. */
const ANSWER_MS = 5_000;
const ASK_EVERY_MS = 5_000;

/** Starts to listen and returns at once; calls `onListening` once it listens. */
export const listenPostgres = (options: ListenOptions): Listener => new PostgresListener(options);

/** Each method is bound: metrics take `isListening` and `losses` by themselves. */
class PostgresListener implements Listener {
  readonly #options: ListenOptions;
  readonly #names: readonly string[];
  readonly #address: ReturnType<typeof parsePostgresAddress>;
  readonly #Client = makeClientClass(DATABASE_NAMES);
  readonly #backoff = createBackoff({ minMs: 100, maxMs: 5_000 });
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #losses = 0;
  #listening = false;
  #stopped = false;
  readonly #outages: OutageLog;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#names = Object.keys(options.channels);
    this.#outages = createOutageLog(options.log, 'notifications of PostgreSQL cannot be received, trying again');
    this.#address = parsePostgresAddress(options.url, DATABASE_NAMES.address);
    this.#connect();
  }

  readonly isListening = (): boolean => {
    return this.#listening;
  };

  readonly losses = (): number => {
    return this.#losses;
  };

  readonly stop = async (): Promise<void> => {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const last = this.#client;
    this.#client = null;
    await last?.end().catch(() => undefined);
  };

  #connect(): void {
    const opened = new this.#Client({
      ...this.#address,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      application_name: 'perp-listener',
    });
    this.#client = opened;
    opened.on('error', (err) => this.#lose(opened, err));
    opened.on('end', () => this.#lose(opened, null));
    opened.on('notification', ({ channel, payload }) => this.#options.channels[channel]?.(payload ?? ''));
    const listen = this.#names.map((name) => `listen ${pg.escapeIdentifier(name)}`).join('; ');
    opened
      .connect()
      .then(() => opened.query(listen))
      .then(
        () => this.#begin(opened),
        (err: unknown) => this.#lose(opened, err),
      );
  }

  #begin(opened: pg.Client): void {
    if (opened !== this.#client) return;
    this.#listening = true;
    this.#outages.noteSuccess();
    this.#backoff.reset();
    this.#options.onListening();
    this.#askLater(opened);
  }

  #askLater(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      client.query('select 1').then(
        () => client === this.#client && this.#askLater(client),
        (err: unknown) => this.#lose(client, err),
      );
    }, ASK_EVERY_MS);
  }

  #lose(lost: pg.Client, err: unknown): void {
    if (lost !== this.#client) return;
    this.#client = null;
    if (this.#listening) this.#losses += 1;
    if (!this.#stopped) this.#outages.noteFailure(err, { channels: this.#names });
    this.#listening = false;
    clearTimeout(this.#timer);
    lost.end().catch(() => undefined);
    if (!this.#stopped) this.#timer = setTimeout(() => this.#connect(), this.#backoff.next());
  }
}
