// Answers of a longer period than one call gives: its parts one after the other. Pages of those with a cursor.
import { ApiError } from './errors.ts';

type Ranged = { readonly from?: string; readonly to?: string };

const MINUTE_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: MINUTE_MS, h: 3_600_000, d: 86_400_000 };

export const parseDurationMs = (text: string): number =>
  Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? Number.NaN);

const toMs = (instant: string): number => {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) throw new RangeError(`"${instant}" is not an instant: write 2026-01-15T12:00:00Z.`);
  return at;
};

/** Ends of parts lie on whole steps, so that no row falls between two. */
const findStep = (request: Readonly<Record<string, unknown>>): number => {
  const length = request['interval'] ?? request['timeframe'];
  const ms = typeof length === 'string' ? parseDurationMs(length) : MINUTE_MS;
  return Number.isFinite(ms) && ms > MINUTE_MS ? ms : MINUTE_MS;
};

const isTooLong = (error: unknown): boolean => error instanceof ApiError && error.code === 'DQL_LIMIT';

/** Requests the whole period, and half of it as long as that is too much. */
export async function* requestWindows<Request extends Ranged, Answer>(
  request: Request,
  ask: (part: Request) => Promise<Answer>,
): AsyncGenerator<Answer> {
  if (request.from === undefined || request.to === undefined) {
    yield await ask(request);
    return;
  }
  const step = findStep(request);
  const [start, end] = [toMs(request.from), toMs(request.to)];
  let [from, length] = [start, end - start];
  do {
    const to =
      from + length >= end ? end : Math.max(Math.floor((from + length) / step), Math.floor(from / step) + 1) * step;
    const part = {
      ...request,
      from: from === start ? request.from : new Date(from).toISOString(),
      to: to >= end ? request.to : new Date(to).toISOString(),
    };
    try {
      yield await ask(part);
    } catch (error) {
      if (!isTooLong(error) || length <= step) throw error;
      length /= 2;
      continue;
    }
    from = to;
  } while (from < end);
}

type Paged = { readonly page: { readonly next_cursor: string | null } };

/** Every page of an answer with a cursor. */
export async function* requestPages<Request extends object, Answer extends Paged>(
  request: Request,
  ask: (page: Request) => Promise<Answer>,
): AsyncGenerator<Answer> {
  let cursor: string | null = null;
  do {
    const answer: Answer = await ask(cursor === null ? request : { ...request, cursor });
    yield answer;
    cursor = answer.page.next_cursor;
  } while (cursor !== null);
}
