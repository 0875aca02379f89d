// The instants of a rule are the whole seconds of its own rhythm, however often the process starts (AG-03).
import t from 'tap';
import { findPlan } from '../../../api/contract/plans.ts';
import { computeIntervalS, findInstantAfter } from '../../../api/rules/instants.ts';
import { parseDuration } from '../../../schemas/durations.ts';
import { MICROS_PER_SECOND } from '../../../schemas/instants.ts';

const MIDNIGHT = Date.parse('2026-01-15T00:00:00.000Z') * 1_000;

t.test('the next instant is the first whole second of the rhythm after the last one', (t) => {
  for (const intervalS of [10, 30, 60, 3_600, 86_400])
    for (const phase of [0, 1, 7, 63, 4_000_000_000]) {
      const belongs = (at: number): boolean => (at / MICROS_PER_SECOND) % intervalS === phase % intervalS;
      const first = findInstantAfter(MIDNIGHT, { phase, intervalS });
      t.ok(belongs(first), `${intervalS} ${phase}: in the rhythm`);
      t.ok(first > MIDNIGHT && first <= MIDNIGHT + intervalS * MICROS_PER_SECOND, `${intervalS} ${phase}: the first`);
      const next = first + intervalS * MICROS_PER_SECOND;
      t.equal(findInstantAfter(first - 1, { phase, intervalS }), first, 'a microsecond before it');
      t.equal(findInstantAfter(first, { phase, intervalS }), next, 'at the instant, which is over');
      t.equal(findInstantAfter(next - 1, { phase, intervalS }), next, 'a microsecond before the next one');
    }
  t.end();
});

t.test('the interval of a rule is its own, but not less than that of the plan', (t) => {
  const plan = findPlan(null);
  const leastS = (parseDuration(plan.limits.agent_interval_min) ?? 0) / 1_000;
  t.ok(leastS > 10, 'the plan has a minimum that matters');
  t.same(
    [10, leastS - 1, leastS, leastS + 1].map((own) => computeIntervalS(own, plan)),
    [leastS, leastS, leastS, leastS + 1],
  );
  t.end();
});
