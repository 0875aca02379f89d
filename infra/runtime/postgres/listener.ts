// Notices of PostgreSQL (LISTEN/NOTIFY) on a connection of their own, opened again whenever it is lost.
import pg from 'pg';
import { createBackoff } from '../backoff.ts';
import type { Logger } from '../log.ts';
import { clientClass, DATABASE_NAMES, parsePostgresAddress } from './connection.ts';

type ListenOptions = {
  readonly url: string;
  /** What is done with a notice, by channel. */
  readonly channels: Readonly<Record<string, (payload: string) => void>>;
  /** Listening has begun, again too: notices before this instant may have been missed. */
  readonly onListening: () => void;
  readonly log: Logger;
};

type Listener = {
  readonly isListening: () => boolean;
  /** How often a connection that listened was lost. */
  readonly losses: () => number;
  readonly stop: () => Promise<void>;
};

/** A connection that answers no question within this is taken for lost: a broken line says nothing by itself. */
const ANSWER_MS = 5_000;
const ASK_EVERY_MS = 5_000;

/** Starts to listen and returns at once; `onListening` says when. */
export const listenPostgres = ({ url, channels, onListening, log }: ListenOptions): Listener => {
  const backoff = createBackoff({ minMs: 100, maxMs: 5_000 });
  const names = Object.keys(channels);
  const address = parsePostgresAddress(url, DATABASE_NAMES.address);
  const Client = clientClass(DATABASE_NAMES);
  let losses = 0;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let listening = false;
  let stopped = false;
  /** One line a loss: the tries that follow fail alike. */
  let isTold = false;

  const lose = (lost: pg.Client, err: unknown): void => {
    if (lost !== client) return;
    client = null;
    if (listening) losses += 1;
    if (!isTold && !stopped) log.warn({ err, channels: names }, 'notices of PostgreSQL do not come, trying again');
    isTold = true;
    listening = false;
    clearTimeout(timer);
    lost.end().catch(() => undefined);
    if (!stopped) timer = setTimeout(connect, backoff.next());
  };

  const ask = (asked: pg.Client): void => {
    timer = setTimeout(() => {
      asked.query('select 1').then(
        () => asked === client && ask(asked),
        (err: unknown) => lose(asked, err),
      );
    }, ASK_EVERY_MS);
  };

  const connect = (): void => {
    const opened = new Client({
      ...address,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      application_name: 'perp-listener',
    });
    client = opened;
    opened.on('error', (err) => lose(opened, err));
    opened.on('end', () => lose(opened, null));
    opened.on('notification', ({ channel, payload }) => channels[channel]?.(payload ?? ''));
    opened
      .connect()
      .then(() => opened.query(names.map((name) => `listen ${pg.escapeIdentifier(name)}`).join('; ')))
      .then(
        () => {
          if (opened !== client) return;
          listening = true;
          isTold = false;
          backoff.reset();
          onListening();
          ask(opened);
        },
        (err: unknown) => lose(opened, err),
      );
  };

  connect();
  return {
    isListening: () => listening,
    losses: () => losses,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = null;
      await last?.end().catch(() => undefined);
    },
  };
};
