// Compares the clock of this process with that of the database: a step deletes, ends and closes by the day that its clock names (D-508).
import type { NightlyContext } from './step.ts';

/** No step runs while the clocks are further apart. */
export const MOST_APART_MS = 60_000;

const READ = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms';

/** Rejects while the two clocks are more than a minute apart. */
export const refuseWrongClock = async ({
  database,
  nowMs,
}: Pick<NightlyContext, 'database' | 'nowMs'>): Promise<void> => {
  const before = nowMs();
  const { rows } = await database.query<{ ms: number }>(READ);
  const ofDatabase = rows[0]?.ms ?? Number.NaN;
  if (before > ofDatabase + MOST_APART_MS) throw describeStep(before - ofDatabase, 'ahead of');
  const after = nowMs();
  if (after < ofDatabase - MOST_APART_MS) throw describeStep(ofDatabase - after, 'behind');
};

const describeStep = (ms: number, where: 'ahead of' | 'behind'): Error =>
  new Error(
    `the clock here is ${Math.round(ms / 1_000)} s ${where} that of PostgreSQL: set it right, no step runs by it`,
  );
