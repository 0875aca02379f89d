// The answer of a request while it is made: a client that leaves does not end the work at it, and what it takes of a limit stays taken as long.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The answer while it is made, and after; null before. */
    answering: Promise<unknown> | null;
  }
}

export const addAnswering = (app: FastifyInstance): void => {
  app.decorateRequest('answering', null);
};

/** Makes the answer, unless its client has left before. */
export const answerWith = <T>(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  make: () => Promise<T>,
): Promise<T> | FastifyReply => {
  if (reply.raw.destroyed) return reply.hijack();
  const answering = make();
  request.answering = answering;
  return answering;
};

/** Calls back once nobody works at the answer. */
export const runWhenIdle = ({ request: { answering } }: Pick<FastifyReply, 'request'>, then: () => void): void => {
  if (answering === null) then();
  else void answering.then(then, then);
};
