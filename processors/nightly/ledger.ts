// Outcomes of each step of each day, in PostgreSQL; of two runners only one works on a step of a day, or on steps with one lock.
import type { Pool, PoolClient } from 'pg';
import { runLocked } from '../../infra/runtime/postgres/advisory-lock.ts';
import { describeStorable } from '../../infra/runtime/postgres/storable.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { Day } from './day.ts';
import type { StepState } from './schedule.ts';

/** Kind of the locks of steps: one for each step and day, or the step's own for all its days. */
const LOCK = 7_305_121;
const LOOK_EVERY_MS = 200;

type Outcome =
  | { readonly result: 'done'; readonly report: string }
  | { readonly result: 'failed'; readonly error: unknown }
  /** Another runner works on it. */
  | { readonly result: 'busy' }
  /** The step was already done. */
  | { readonly result: 'known' }
  /** This runner is to stop. */
  | { readonly result: 'stopped' };

export type Attempt = {
  readonly step: string;
  readonly day: Day;
  /** Held by one attempt at a time, for any step and day: the others wait. Absent: one lock for each step and day, and the others are `busy`. */
  readonly lock?: string;
  readonly mode: 'once' | 'again';
  /** This runner is to stop: ends the wait for a lock (`busy`), and a step that heeds it (`stopped`). */
  readonly signal?: AbortSignal;
  /** Called once when another runner holds the lock. */
  readonly waiting?: () => void;
};

type Work = (lost: AbortSignal) => Promise<string>;

export type Ledger = {
  /** States since `since`, and the newest before it of each step: whether a step has ever begun. */
  readonly states: (since: Day) => Promise<StepState[]>;
  /** Does the work while this process holds the lock; `lost` is aborted when it no longer does. */
  readonly attempt: (attempt: Attempt, work: Work) => Promise<Outcome>;
};

const STATES = `select to_char(day, 'YYYY-MM-DD') as day, step, state, attempts, started_at as "startedAt",
  ended_at as "endedAt", report from nightly_steps
where day >= $1 or (step, day) in (select step, max(day) from nightly_steps where day < $1 group by step)
order by day, started_at`;
const BEGIN = `insert into nightly_steps as s (day, step, state) values ($1, $2, 'running')
  on conflict (step, day) do update set state = 'running', started_at = now(), ended_at = null, report = null,
    attempts = s.attempts + 1`;
const END = 'update nightly_steps set state = $3, ended_at = now(), report = $4 where day = $1 and step = $2';

export const isStepDone = async (queries: Pick<Pool, 'query'>, step: string, day: Day): Promise<boolean> => {
  const { rowCount } = await queries.query(
    "select 1 from nightly_steps where day = $1 and step = $2 and state = 'done'",
    [day, step],
  );
  return (rowCount ?? 0) > 0;
};

const workThrough = async (
  { client, lost }: { readonly client: PoolClient; readonly lost: AbortSignal },
  { day, step, signal }: Attempt,
  work: Work,
): Promise<Outcome> => {
  await client.query(BEGIN, [day, step]);
  try {
    const report = await work(lost);
    await client.query(END, [day, step, 'done', report]);
    return { result: 'done', report };
  } catch (error) {
    // How the step ends is said by the runner that has the lock now.
    if (lost.aborted) return { result: 'failed', error: lost.reason };
    // No failure, after which the step would rest: as after a kill the next runner takes it up at once.
    if (signal?.aborted === true) return { result: 'stopped' };
    await client.query(END, [day, step, 'failed', describeStorable(error)]);
    return { result: 'failed', error };
  }
};

/** Does the work while this process holds its lock; null: another one holds it. */
const attemptNow = (pool: Pool, attempt: Attempt, work: Work): Promise<Outcome | null> => {
  const { step, day, mode, lock = `${step} ${day}` } = attempt;
  return runLocked(pool, { kind: LOCK, name: lock }, async (client, lost) => {
    if (mode === 'once' && (await isStepDone(client, step, day))) return { result: 'known' };
    return workThrough({ client, lost }, attempt, work);
  });
};

export const openLedger = (pool: Pool): Ledger => ({
  states: async (since) => (await pool.query<StepState>(STATES, [since])).rows,
  attempt: async (attempt, work) => {
    const { lock, signal, waiting } = attempt;
    for (let looks = 0; ; looks++) {
      const outcome = await attemptNow(pool, attempt, work);
      if (outcome !== null) return outcome;
      if (lock === undefined || signal?.aborted === true) return { result: 'busy' };
      if (looks === 0) waiting?.();
      // The pool has few connections: none is held during the wait.
      await pauseUnlessAborted(LOOK_EVERY_MS, signal);
    }
  },
});
