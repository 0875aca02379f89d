// Ends an app: requests in flight are answered, then its connections are closed.
import type { Server, ServerResponse } from 'node:http';
import { awaitAtMost } from './pause.ts';

/** A process has three times as long for all of its parts (lifecycle.ts). */
const WITHIN_MS = 5_000;

/** Options of an app that ends in this way. Requests received meanwhile are answered normally: Fastify's own refusal has no code of the catalogue. */
export const CLOSING = { forceCloseConnections: true, return503OnClosing: false } as const;

/** The part of a Fastify app that is used here. */
type ClosingApp = {
  readonly server: Server;
  readonly addHook: (name: 'preClose', hook: () => Promise<void>) => unknown;
};

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
