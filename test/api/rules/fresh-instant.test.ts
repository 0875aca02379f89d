// The instant of an evaluation with `fresh=true` is that at which its inputs are read, not that of the call (AG-03, F-05).
import t from 'tap';
import { openAgentRules } from '../../../api/rules/desk.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { createRule } from '../../../api/rules/store.ts';
import { market, markReading } from '../../support/apps/live-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

t.setTimeout(900_000);

const DRAFT: RuleDraft = {
  ...{
    name: 'r',
    query: 'all(venues where age(mark) >= 0s) where venue = binance',
    intervalS: 300,
    units: 'published',
    freshness: null,
  },
  ...{ enabled: true, shared: true },
};

/** Rules of one account, and a clock that goes on while a call waits for the database. */
const startDesk = async (t: Teardown, count = 1) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const rules: string[] = [];
  for (let i = 0; i < count; i++)
    rules.push((await createRule(pool, DRAFT, { accountId: 'acc_a', actor: 'test' })).ruleId);
  const feed = market();
  const clock = { now: Date.now() * 1_000 };
  /** Readings that come meanwhile. */
  const pass = async (): Promise<void> => {
    clock.now += 400_000;
    const stamps = { venue_ts: null, received_at: clock.now, recorded_at: clock.now };
    for (const symbol of ['BTCUSDT', 'ETHUSDT']) feed.read('binance', symbol, markReading('60000', stamps));
    feed.watermark('binance', clock.now);
  };
  const choose = () => ({ venues: null, instruments: null });
  const nowMicros = () => clock.now;
  const desk = openAgentRules({ pool, live: feed.memory, history: null, choose, nowMicros });
  return { pool, rules, clock, pass, desk };
};

t.test('no input of a rule is later than the instant for which it is told', async (t) => {
  const { pool, rules, clock, pass, desk } = await startDesk(t);
  await desk.evaluate(rules, clock.now, pass);
  const { rows } = await pool.query('select state, evaluated_at from rule_states');
  t.same(rows, [{ state: 'true', evaluated_at: String(clock.now) }], 'no age is negative');
});

t.test('a rule is evaluated at most once a second, by those instants too (AG-03)', async (t) => {
  const { pool, rules, clock, pass, desk } = await startDesk(t);
  const evaluateAt = async (called: number): Promise<number> => {
    clock.now = called;
    await desk.evaluate(rules, called, pass);
    return Number((await pool.query('select evaluated_at as at from rule_states')).rows[0]?.at);
  };
  const called = clock.now;
  const first = await evaluateAt(called);
  t.equal(first, called + 400_000);
  t.equal(await evaluateAt(called + 1_100_000), first, 'not 0.7 s after it');
  t.equal(await evaluateAt(first + 1_000_000), first + 1_400_000);
});

t.test('what comes next comes after all that an answer tells', async (t) => {
  const { pool, rules, clock, desk } = await startDesk(t, 2);
  const [ruleId = ''] = rules;
  // As one of many that a call evaluates one after the other: the instant of another rule has come meanwhile.
  const outcome = { state: 'false', reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  const at = clock.now + DRAFT.intervalS * 1_000_000;
  await recordEvaluations(pool, [{ rule: { ruleId, version: 1 }, at, outcome }]);
  const caller = { payer: `0x${'ab'.repeat(20)}` };
  for (const { nextAt } of await desk.read({ ids: rules, caller, at: clock.now }, () => true)) t.ok((nextAt ?? 0) > at);
});
