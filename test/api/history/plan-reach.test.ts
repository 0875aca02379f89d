// How far back a plan reads: an instant that the service names as the earliest is one that it takes (H-09).
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { findReachRefusals } from '../../../api/history/past.ts';
import { formatInstant, MICROS_PER_DAY, MICROS_PER_SECOND, parseInstant } from '../../../schemas/instants.ts';

/** A leap day, the turns of a year and a month, a moment within a day. */
const NOWS = ['2028-02-29T23:59:59.999999Z', '2027-01-01', '2026-05-01', '2026-01-15T12:00:00.500001Z'].map(
  (text) => parseInstant(text) ?? Number.NaN,
);

t.test('whoever asks from the instant on that a refusal names is not refused again', (t) => {
  for (const plan of Object.values(PLANS)) {
    for (const now of NOWS) {
      const refuse = (first: number, evaluatedAt = now) =>
        findReachRefusals(first, plan, { evaluatedAt, path: '/from' });
      if (plan.history_days === null) {
        t.same(refuse(0), [], `${plan.name} reads everything`);
        continue;
      }
      const earliest = now - plan.history_days * MICROS_PER_DAY;
      const [refusal] = refuse(earliest - 61 * MICROS_PER_SECOND);
      t.match(refusal, { code: 'PLAN_LIMIT', path: '/from' });
      const told = /back to (\S+)\.$/.exec(refusal?.message ?? '')?.[1] ?? '';
      t.equal(told, formatInstant(earliest), plan.name);
      const asked = parseInstant(told) ?? Number.NaN;
      for (const later of [0, 1, 100_000, 60 * MICROS_PER_SECOND])
        t.same(refuse(asked, now + later), [], `${later} us later`);
      t.equal(refuse(asked, now + 60 * MICROS_PER_SECOND + 1).length, 1);
    }
  }
  t.end();
});
