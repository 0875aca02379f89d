// What the HTTP apps have in common: their options, how they end, and connections that Fastify would close.
import type { Server, ServerResponse } from 'node:http';
import { LogController } from 'fastify';
import type { Logger } from '../process/log.ts';
import { awaitAtMost } from '../time/pause.ts';

type RequestTime = {
  readonly requestTimeout: number;
  readonly connectionTimeout: number;
  readonly http: { readonly headersTimeout: number; readonly connectionsCheckingInterval: number };
};

/** Longer than the work on any answer, during which nothing passes on the connection. */
const IDLE_MS = 120_000;

/**
 * Node applies the shorter of its two deadlines to the head of a request and the longer one to the whole request, so both are set: with only
 * `requestTimeout` the other stays at a minute, and a body has that long. By default Node checks for late requests every half minute. A client that
 * reads nothing of its answer for `idleMs` is disconnected, so that the rest of the answer is not kept for ever.
 */
export const limitRequestTime = (ms: number, idleMs = IDLE_MS): RequestTime => ({
  requestTimeout: ms,
  connectionTimeout: idleMs,
  http: { headersTimeout: ms, connectionsCheckingInterval: Math.ceil(ms / 30) },
});

/** A client that dribbles its request holds a socket no longer than this. */
const REQUEST_TIME = limitRequestTime(30_000);

/**
 * Options of an app that `finishAnswers` ends; `trustedProxies`: addresses whose X-Forwarded-For is trusted. Requests received while it ends are
 * answered normally: Fastify's own refusal has no code of the catalogue. No line is logged per request: its address may contain a user's input.
 */
export const makeAppOptions = (log: Logger, trustedProxies: readonly string[] = []) => ({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  ...REQUEST_TIME,
  forceCloseConnections: true,
  return503OnClosing: false,
  trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
});

/** The part of a Fastify app that is used here. */
type ClosingApp = {
  readonly server: Server;
  readonly addHook: (name: 'preClose', hook: () => Promise<void>) => unknown;
};

/** A process has three times as long for all of its parts (lifecycle.ts). */
const WITHIN_MS = 5_000;

/** Makes `app.close()` wait for the answers that have begun, for at most five seconds. Hooks that end endless answers run before this one's. */
export const finishAnswers = (app: ClosingApp): void => {
  const { server } = app;
  const ends = new Set<Promise<void>>();
  server.on('request', (_request, answer: ServerResponse) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.add(promise);
    answer.once('close', () => {
      ends.delete(promise);
      resolve();
    });
  });
  const finish = async (): Promise<void> => {
    await Promise.all(ends);
    // From here on no connection is accepted; requests on open connections are still answered.
    server.close();
    while (ends.size > 0) await Promise.all(ends);
  };
  app.addHook('preClose', () => awaitAtMost(finish(), WITHIN_MS));
};

/** The part of a Fastify reply that is used here. */
type Refusal = { readonly removeHeader: (name: string) => unknown };

/**
 * Fastify closes the connection with a 413: a client that is still sending would lose the answer. The rest is read and dropped instead, as after every
 * other refusal (D-693).
 */
export const keepConnection = (reply: Refusal, status: number | undefined): void => {
  if (status === 413) reply.removeHeader('connection');
};
