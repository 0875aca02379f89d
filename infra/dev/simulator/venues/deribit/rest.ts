// Deribit's methods by HTTP: a path a method, parameters in the query.
import type { Cost, RestAnswer, RestRequest } from '../../venue.ts';
import { answerText, type CallDeps, CallError, call, isMethod } from './calls.ts';

/** Twenty requests a second (10,000 credits, 500 a request), one a second for all instruments. */
export const WEIGHT_PER_MINUTE = 1_200;
const INSTRUMENTS_WEIGHT = 20;

const parseMethod = (path: string): string => /^\/api\/v2\/(public\/[a-z_]+)$/.exec(path)?.[1] ?? '';

export function computeCost({ path }: Pick<RestRequest, 'path'>): Cost | null {
  const name = parseMethod(path);
  if (!isMethod(name)) return null;
  return { bucket: 'rest', weight: name === 'public/get_instruments' ? INSTRUMENTS_WEIGHT : 1 };
}

export const refuse = (status: number | null, waitMs: number): RestAnswer => ({
  status: status ?? 429,
  body: answerText(null, new CallError(10_028, 'too_many_requests', { data: { wait: waitMs / 1_000 } }), 0),
});

export function answerRest(deps: CallDeps, { path, query, nowMs }: RestRequest): RestAnswer {
  try {
    return { status: 200, body: answerText(null, call(deps, parseMethod(path), Object.fromEntries(query)), nowMs) };
  } catch (error) {
    if (error instanceof CallError) return { status: error.status, body: answerText(null, error, nowMs) };
    throw error;
  }
}
