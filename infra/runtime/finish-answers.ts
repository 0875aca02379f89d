// Ends an app: requests in flight are answered, then its connections are closed.
import type { Server, ServerResponse } from 'node:http';
import { awaitAtMost } from './pause.ts';

/** A process has three times as long for all of its parts (lifecycle.ts). */
const WITHIN_MS = 5_000;

/** Options of an app that ends so. Calls that come meanwhile are answered as ever: Fastify's own refusal has no code of ours. */
export const CLOSING = { forceCloseConnections: true, return503OnClosing: false } as const;

/** The part of a Fastify app that is used here. */
type ClosingApp = {
  readonly server: Server;
  readonly addHook: (name: 'preClose', hook: () => Promise<void>) => unknown;
};

/** Has `app.close()` wait for the answers that have begun, five seconds at most. Hooks that end endless answers run before this one's. */
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
    // From here on no connection is accepted; what comes over those that are there is answered too.
    server.close();
    while (ends.size > 0) await Promise.all(ends);
  };
  app.addHook('preClose', () => awaitAtMost(finish(), WITHIN_MS));
};
