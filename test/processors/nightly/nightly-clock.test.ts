// The clock of a nightly runner: no step runs while it is not the database's, and each runs once when it is right again (D-508).
import t from 'tap';
import { refuseWrongClock } from '../../../processors/nightly/clock.ts';
import type { Attempt, Ledger } from '../../../processors/nightly/ledger.ts';
import { startRunner } from '../../../processors/nightly/runner.ts';
import type { NightlyContext, Step } from '../../../processors/nightly/step.ts';
import { waitFor } from '../../support/wait.ts';

/** The last second of a leap day. */
const TRUE_MS = Date.UTC(2028, 1, 29, 23, 59, 59);
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];

/** A database that knows the time, and nothing else. */
const database = {
  query: async (text: string) => ({ rows: text.includes('clock_timestamp') ? [{ ms: TRUE_MS }] : [] }),
} as never;

t.test('a clock more than a minute ahead or behind is refused with how far it is off', async (t) => {
  const at = (offMs: number) => refuseWrongClock({ database, nowMs: () => TRUE_MS + offMs });
  for (const offMs of [0, MINUTE_MS, -MINUTE_MS]) await t.resolves(at(offMs), String(offMs));
  await t.rejects(at(MINUTE_MS + 1), /the clock here is 60 s ahead of that of PostgreSQL/);
  await t.rejects(at(-MINUTE_MS - 1), /is 60 s behind that/);
  await t.rejects(at(366 * DAY_MS), /is 31622400 s ahead of/);
});

t.test('a runner a day ahead runs no step of the day to come', async (t) => {
  const begun: string[] = [];
  const ledger: Ledger = {
    states: async () => [],
    attempt: async ({ step, day }: Attempt) => {
      begun.push(`${step} ${day}`);
      return { result: 'known' };
    },
  };
  const step: Step = { name: 'turnover', summary: '', dueMs: 0, run: async () => '' };
  const silent = new Proxy({}, { get: () => () => undefined });
  const makeContext = (nowMs: () => number): NightlyContext =>
    ({
      ...{ database, nowMs, metrics: silent, log: silent, progress: () => undefined },
      historyWatermark: async () => ({ at: 0, of: 'binance/0' }),
    }) as unknown as NightlyContext;
  const ahead = startRunner(
    [step],
    ledger,
    makeContext(() => TRUE_MS + DAY_MS),
  );
  await waitFor('the first look', () => ahead.problems().length > 0);
  t.match(ahead.problems()[0], /^nightly steps: the clock here is 86400 s ahead of/, 'it is not ready, and says why');
  await ahead.stop();
  t.same(begun, []);
  const right = startRunner(
    [step],
    ledger,
    makeContext(() => TRUE_MS),
  );
  await waitFor('the step', () => begun.length > 0);
  await right.stop();
  t.same(begun, ['turnover 2028-02-29']);
});
