// Notices of PostgreSQL (LISTEN/NOTIFY) on a connection of their own, opened again whenever it is lost.
import pg from 'pg';
import { createBackoff } from './backoff.ts';
import type { Logger } from './log.ts';

export type ListenOptions = {
  readonly url: string;
  readonly channel: string;
  readonly onNotice: (payload: string) => void;
  /** Listening has begun, again too: notices before this instant may have been missed. */
  readonly onListening: () => void;
  readonly log: Logger;
};

export type Listener = {
  readonly isListening: () => boolean;
  readonly stop: () => Promise<void>;
};

/** A connection that answers no question within this is taken for lost: a broken line says nothing by itself. */
const ANSWER_MS = 5_000;
const ASK_EVERY_MS = 5_000;

/** Starts to listen and returns at once; `onListening` says when. */
export const listenPostgres = ({ url, channel, onNotice, onListening, log }: ListenOptions): Listener => {
  const backoff = createBackoff({ minMs: 100, maxMs: 5_000 });
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let listening = false;
  let stopped = false;

  const lose = (lost: pg.Client, err: unknown): void => {
    if (lost !== client) return;
    client = null;
    if (listening) log.warn({ err, channel }, 'notices of PostgreSQL are lost');
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
    const opened = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      application_name: 'perp-listener',
    });
    client = opened;
    opened.on('error', (err) => lose(opened, err));
    opened.on('end', () => lose(opened, null));
    opened.on('notification', ({ payload }) => onNotice(payload ?? ''));
    opened
      .connect()
      .then(() => opened.query(`listen ${pg.escapeIdentifier(channel)}`))
      .then(
        () => {
          if (opened !== client) return;
          listening = true;
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
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = null;
      await last?.end().catch(() => undefined);
    },
  };
};
