// The instant of an evaluation with `fresh=true` is that at which its inputs are read, not that of the call (AG-03, F-05).
import t from 'tap';
import { openAgentRules } from '../../../api/rules/desk.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { createRule } from '../../../api/rules/store.ts';
import { market, markReading } from '../live-fixture.ts';
import { freshPool } from '../payments/paid-api.ts';

t.setTimeout(900_000);

const DRAFT: RuleDraft = {
  ...{
    name: 'r',
    query: 'all(venues where age(mark) >= 0s) where venue = binance',
    intervalS: 300,
    units: 'published',
    freshness: null,
  },
  ...{ enabled: true, shared: false },
};

t.test('no input of a rule is later than the instant for which it is told', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { ruleId } = await createRule(pool, DRAFT, { accountId: 'acc_a', actor: 'test' });
  const feed = market();
  const called = Date.now() * 1_000;
  let now = called;
  /** Readings that come while the call waits for the database. */
  const read = async (): Promise<void> => {
    now += 400_000;
    const stamps = { venue_ts: null, received_at: now, recorded_at: now };
    for (const symbol of ['BTCUSDT', 'ETHUSDT']) feed.read('binance', symbol, markReading('60000', stamps));
    feed.watermark('binance', now);
  };
  const choose = () => ({ venues: null, instruments: null });
  const desk = openAgentRules({ pool, live: feed.memory, history: null, choose, nowMicros: () => now });
  await desk.evaluate([ruleId], called, read);
  const { rows } = await pool.query('select state, evaluated_at from rule_states');
  t.same(rows, [{ state: 'true', evaluated_at: String(now) }], 'no age is negative');
});
