// How an app ends: what it is answering is answered to the end, then its connections are closed.
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
  const ends = new Map<ServerResponse, Promise<void>>();
  server.on('request', (_request, answer: ServerResponse) => {
    const end = Promise.withResolvers<void>();
    ends.set(answer, end.promise);
    answer.once('close', () => {
      ends.delete(answer);
      end.resolve();
    });
  });
  const finish = async (): Promise<void> => {
    await Promise.all(ends.values());
    // From here on no connection is accepted; what came meanwhile is answered too.
    server.close();
    await Promise.all(ends.values());
  };
  app.addHook('preClose', () => awaitAtMost(finish(), WITHIN_MS));
};
