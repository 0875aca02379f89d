// `fresh=true` of several rules while stored history is silent: one of them waits for it, the others do not (AG-03, D-521).
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { createHistoryStore } from '../../../api/history/store.ts';
import { startRules } from '../../../api/rules/rules.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';
import { startSilentPostgres } from '../../support/engines/silent-postgres.ts';

/** Each rule reads a column of its own. */
const PERIODS = ['15m', '30m', '1h', '4h'];

type Recorded = { readonly rule_id: string; readonly state: string; readonly reason: string };

/** A database in which each rule may be evaluated now; keeps what they were found to be. */
const fakeDatabase = () => {
  const recorded: Recorded[] = [];
  const toQuery = (period: string): string => `any(venues where ema(close, 20, ${period}) > 1)`;
  const rules = PERIODS.map((period) => ({
    ...{ rule_id: period, account_id: 'account', name: 'rule', query: toQuery(period) },
    ...{ interval_s: 10, units: 'published', freshness: null, enabled: true, shared: false, version: 1, phase: 0 },
    ...{ created_at: new Date(0), updated_at: new Date(0), plan: 'pro_plus' },
  }));
  const query = async (text: string, values: readonly unknown[] = []) => {
    if (text.includes('record_evaluations')) recorded.push(...(JSON.parse(String(values[0])) as Recorded[]));
    const rows = text.includes('set fresh_at = $2') ? rules : [];
    return { rows, rowCount: rows.length };
  };
  return { pool: { query } as unknown as Pool, recorded };
};

t.test('the wait for a silent store is one of a call, not one of each rule', async (t) => {
  const { url } = await startSilentPostgres(t);
  const log = createLog('test', 'silent');
  const reader = openQuestdbReader(url, { max: PERIODS.length, timeoutMs: 60_000, log });
  t.teardown(() => reader.close());
  const ping = (): Promise<void> => Promise.reject(new Error('no answer'));
  const { memory } = market();
  for (const venue of ['binance', 'okx']) memory.applyHistoryWatermark(venue, 0, NOW);
  const { pool, recorded } = fakeDatabase();
  const rules = startRules({
    ...{ pool, live: memory, history: createHistoryStore(reader, '', { ping }), log },
    ...{ choose: () => ({ venues: null, instruments: null }), nowMicros: () => NOW },
    ...{ registry: new Registry(), allowsLoopback: false },
  });
  t.teardown(() => rules.stop());
  const began = performance.now();
  await rules.desk.evaluate(PERIODS, NOW, async () => undefined);
  t.same(
    recorded.map(({ rule_id, state, reason }) => [rule_id, state, reason]),
    PERIODS.map((id) => [id, 'unknown', 'evaluation_error']),
  );
  t.ok(performance.now() - began < 9_000, 'less than two waits');
});
