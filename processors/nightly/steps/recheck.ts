// Repeats settled requests: an answer that must never change but did is an incident (OP-03, N-11).
import { setTimeout as pause } from 'node:timers/promises';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { findItems, hashSettledItems } from '../../../schemas/settled-items.ts';
import { RETENTION_DAYS } from '../../../schemas/tables.ts';
import { type Day, findDayStart } from '../day.ts';
import { reportIncident } from '../incidents.ts';
import type { NightlyContext, Step } from '../step.ts';

const DUE_MS = 4 * 3_600_000;
/** Requests a night; first those never repeated, then those with the oldest repetition. */
const REQUESTS = 500;
const TELL_EVERY = 100;
const TRIES = 5;
const TIMEOUT_MS = 60_000;
/** One day of margin to what retention may have dropped. */
const FLOOR_DAYS = { '/v2/liquidations': RETENTION_DAYS.events - 1, other: RETENTION_DAYS.readings - 1 } as const;

type Kept = {
  readonly hash: string;
  readonly path: string;
  readonly request: unknown;
  readonly items_sha256: string;
  readonly asked_at: Date;
};
type Verdict = { readonly result: 'equal' | 'different' | 'refused'; readonly is: string };

const SAMPLE = `select encode(request_hash, 'hex') as hash, path, request, items_sha256, asked_at from settled_requests
where earliest >= case path when '/v2/liquidations' then $2::timestamptz else $1::timestamptz end
  and (checked_at is null or checked_at < $3)
order by checked_at nulls first, asked_at limit $4`;

/** Statuses without information about the answer: the service is busy or unavailable. */
const isPassing = (status: number): boolean => status === 429 || status >= 500;

/** Three times: what was answered once may take too long on a store that is busy (E-07). */
const LIMIT_TRIES = 3;
const isLimit = ({ status, text }: Answered): boolean => status === 400 && text.includes('"DQL_LIMIT"');

type Asking = { readonly api: NonNullable<NightlyContext['api']>; readonly signal: AbortSignal | undefined };

type Answered = { readonly status: number; readonly retryAfter: string | null; readonly text: string };

const sendOnce = async (kept: Kept, { api: { baseUrl, key }, signal }: Asking): Promise<Answered> => {
  const answer = await fetch(new URL(kept.path, baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(kept.request),
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]),
  });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
};

const compareAnswer = (kept: Kept, { status, text }: Answered): Verdict => {
  if (status === 401 || status === 403) throw new Error(`RECHECK_KEY may not make this request: ${text.slice(0, 200)}`);
  if (status !== 200) return { result: 'refused', is: `${status} ${text.slice(0, 200)}` };
  const { settled } = JSON.parse(text) as { readonly settled: boolean };
  const items = findItems(text);
  const is = items === null ? 'no items' : hashSettledItems(items);
  if (is === kept.items_sha256) return { result: 'equal', is };
  if (!settled) throw new Error('stored history is behind: what was settled reads as unsettled');
  return { result: 'different', is };
};

const recheckOne = async (kept: Kept, asking: Asking): Promise<Verdict> => {
  const { signal } = asking;
  for (let attempt = 1; ; attempt++) {
    const answer = await sendOnce(kept, asking).catch((error: unknown) => {
      if (attempt === TRIES || signal?.aborted === true) throw error;
      return null;
    });
    if (answer !== null && !isPassing(answer.status) && (attempt >= LIMIT_TRIES || !isLimit(answer)))
      return compareAnswer(kept, answer);
    const wait = Number(answer?.retryAfter ?? attempt);
    if (attempt === TRIES) throw new Error(`the API answers ${answer?.status} to ${kept.path}`);
    await pause(Math.min(10, Math.max(1, wait)) * 1_000, undefined, signal === undefined ? {} : { signal });
  }
};

const report = (kept: Kept, verdict: Verdict, context: NightlyContext): Promise<void> => {
  const { hash, path, request, items_sha256: was, asked_at } = kept;
  const note =
    verdict.result === 'different'
      ? `A settled answer of ${path} has changed since ${asked_at.toISOString()}.`
      : `A request of ${path} that was answered at ${asked_at.toISOString()} is refused now.`;
  const details = { path, request, was, is: verdict.is, asked_at };
  return reportIncident(context, { kind: 'settled_answer_changed', subject: hash, note, details });
};

const selectRequests = async (day: Day, { database, nowMs }: NightlyContext): Promise<Kept[]> => {
  const floor = (days: number): Date => new Date(nowMs() - days * MS_PER_DAY);
  const values = [
    floor(FLOOR_DAYS.other),
    floor(FLOOR_DAYS['/v2/liquidations']),
    new Date(findDayStart(day)),
    REQUESTS,
  ];
  return (await database.query<Kept>(SAMPLE, values)).rows;
};

export const recheck: Step = {
  name: 'recheck',
  summary: 'settled requests repeated, hashes compared',
  dueMs: DUE_MS,
  lock: 'recheck',
  run: async (day, context) => {
    const { api, database, metrics, progress, signal } = context;
    if (api === null) throw new Error('set BASE_URL and RECHECK_KEY (a key of a plan that narrows nothing)');
    const kept = await selectRequests(day, context);
    let wrong = 0;
    for (const [index, one] of kept.entries()) {
      signal?.throwIfAborted();
      const verdict = await recheckOne(one, { api, signal });
      metrics.rechecked(verdict.result);
      if (verdict.result !== 'equal') {
        wrong++;
        await report(one, verdict, context);
      }
      await database.query("update settled_requests set checked_at = now() where request_hash = decode($1, 'hex')", [
        one.hash,
      ]);
      if (index % TELL_EVERY === TELL_EVERY - 1)
        progress(`${day} recheck: ${index + 1} of ${kept.length}, ${wrong} differ`);
    }
    return `${kept.length} requests repeated, ${wrong} differ`;
  },
};
