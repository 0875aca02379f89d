// What the HTTP apps have in common: their options, how they end, and connections that Fastify would close.
import type { Server, ServerResponse } from 'node:http';
import { LogController } from 'fastify';
import type { Logger } from '../process/log.ts';
import { awaitAtMost } from '../time/pause.ts';
import { limitRequestTime } from './request-time.ts';

/**
 * Options of an app that `finishAnswers` ends; `trustedProxies`: addresses whose X-Forwarded-For is trusted. Requests received while it ends are
 * answered normally: Fastify's own refusal has no code of the catalogue. No line is logged per request: its address may contain a user's input.
 */
export const makeAppOptions = (log: Logger, trustedProxies: readonly string[] = []) => ({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  ...limitRequestTime(),
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
