// Payments during a request: refused, accepted before the evaluation, settled with the answer; and purchases of plans (E-01 steps 9 and 11).
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ApiError } from '../../schemas/errors.ts';
import type { CallPayment, PlanPayment, Refused } from '../access/call.ts';
import { writeErrors } from '../contract/errors-text.ts';
import { watchEnd } from './answering.ts';
import { JSON_TYPE } from './sent-errors.ts';

type Sendable = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | { readonly errors: readonly ApiError[] };
};

/** Answers of access and of payments: bodies that no operation made. */
export const sendRefused = (reply: FastifyReply, { status, headers, body }: Sendable): FastifyReply => {
  reply.headers(headers).header('cache-control', 'no-store').type(JSON_TYPE);
  return reply
    .code(status)
    .send(JSON.stringify('errors' in body ? { ...body, errors: writeErrors(body.errors) } : body));
};

/** Statuses that are charged: 200, and the redirect to a file. */
const CHARGED: ReadonlySet<number> = new Set([200, 302]);

/** Step 9; null: the call may be evaluated, and the payment ends with its answer. */
export const takePayment = async (reply: FastifyReply, payment: CallPayment): Promise<Refused | null> => {
  const refused = await payment.take();
  if (refused === null) watchEnd(reply, (left) => void payment.end(left));
  return refused;
};

/** Releases the payment before an answer that costs nothing leaves: the caller that reads it may present the payment again at once. */
export const addPaymentRelease = (app: FastifyInstance): void => {
  app.addHook('onSend', async ({ call }, reply) => {
    if (call?.payment?.buys === 'call' && !CHARGED.has(reply.statusCode)) await call.payment.end('cut');
  });
};

/** Only the payment of the request is checked (P-06). */
export const buyPlan = async (reply: FastifyReply, payment: PlanPayment): Promise<FastifyReply> => {
  const answer = await payment.buy();
  if (answer.end !== undefined) watchEnd(reply, (left) => void answer.end?.(left));
  return sendRefused(reply, answer);
};
