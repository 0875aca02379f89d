// The answer of a request while it is made: if the client disconnects, the work continues, and its share of a limit stays occupied until it ends.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerEnd } from '../access/call.ts';

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

/**
 * Calls `end` once, also by the function that it answers: `whole` when the last byte was handed to the socket without error. `finish` comes for
 * a client that left in the middle of a large answer too: then the socket is destroyed.
 */
export const watchEnd = (reply: FastifyReply, end: (left: AnswerEnd) => void): (() => void) => {
  const { raw, request } = reply;
  let isOver = false;
  const once = (left: AnswerEnd): void => {
    if (isOver) return;
    isOver = true;
    end(left);
  };
  const cut = (): void => once('cut');
  raw.once('finish', () => once(raw.req.socket?.destroyed === true ? 'cut' : 'whole'));
  // While work on the answer continues, the call is not over: otherwise a payment could start the same work repeatedly and be settled for none of it.
  const leave = (): void => {
    if (request.answering === null) cut();
    else void request.answering.then(cut, cut);
  };
  raw.once('close', leave);
  // The connection of a client that has left emits no more events.
  if (raw.destroyed) leave();
  return cut;
};
