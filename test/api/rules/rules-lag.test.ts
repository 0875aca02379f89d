// The lag of rules tells of instants whose states cannot be stored, and not of what was measured long ago.
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { startEvaluator } from '../../../api/rules/evaluator.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { waitFor } from '../../support/wait.ts';
import { emptyMemory, feedLog, makeLog, SECOND } from './rule-log.ts';

const FROM = 1_795_000_000 * SECOND;
const NOW = FROM + 20 * SECOND;
const RULE = {
  ...{ rule_id: 'rule', account_id: 'account', name: 'rule', query: 'any(venues where mark > 1)', interval_s: 10 },
  ...{ units: 'published', freshness: null, enabled: true, shared: false, version: 1, phase: 0, plan: 'pro_plus' },
  ...{ created_at: new Date(0), updated_at: new Date(0), after: String(FROM) },
};

/** A database that is away from the first states to be stored until it is back. */
const fakeDatabase = () => {
  const state = { isBack: false, isAway: false, stored: 0 };
  const query = async (text: string) => {
    const isStoring = text.includes('record_evaluations');
    state.isAway = !state.isBack && (state.isAway || isStoring);
    if (state.isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    if (isStoring) state.stored += 1;
    if (text.includes('lease_rule_shards')) return { rows: Array.from({ length: 64 }, (_, shard) => ({ shard })) };
    if (text.includes('as any')) return { rows: [{ any: true }] };
    return { rows: text.includes('from rules r') ? [RULE] : [], rowCount: 0 };
  };
  return { state, pool: { query } as unknown as Pool };
};

t.test('an instant that cannot be stored makes the lag grow until it is', async (t) => {
  const registry = new Registry();
  const readLag = async (): Promise<number> =>
    Number(/^perp_rules_lag_seconds (\S+)$/m.exec(await registry.metrics())?.[1]);
  const { state, pool } = fakeDatabase();
  const memory = emptyMemory();
  let now = NOW;
  const random = createRandom(21).next;
  const evaluator = startEvaluator({
    ...{ pool, live: memory, history: null, nowMicros: () => now },
    choose: () => ({ venues: null, instruments: null }),
    count: createRuleMetrics(registry),
    log: createLog('test', 'silent'),
  });
  t.teardown(() => evaluator.stop());
  t.equal(await readLag(), 0, 'nothing waits without rules');
  feedLog(memory, makeLog(random, FROM, 20), random);
  await waitFor('the states are not taken', () => state.isAway);
  t.equal(await readLag(), 10, 'the instant ten seconds ago waits');
  now += 30 * SECOND;
  t.equal(await readLag(), 40);
  state.isBack = true;
  await waitFor('they are stored', () => state.stored > 0);
});

t.test('what was measured is told for a minute', async (t) => {
  const registry = new Registry();
  let nowMs = 0;
  const count = createRuleMetrics(registry, () => nowMs);
  count.watch(() => ({ rules: 1, changes: 0, overdue: Number.NEGATIVE_INFINITY }));
  count.lag(12 * SECOND);
  t.match(await registry.metrics(), /^perp_rules_lag_seconds 12$/m);
  nowMs = 60_000;
  t.match(await registry.metrics(), /^perp_rules_lag_seconds 0$/m);
});
