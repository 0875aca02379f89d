// The map of units names the members of the candles that are shown, not of those that are stored (L-05).
import t from 'tap';
import { HistoryReader } from '../../../api/history/store.ts';
import { formatInstant, MICROS_PER_MINUTE } from '../../../schemas/instants.ts';
import { capability, LISTED, market, NOW, testApp } from '../../support/apps/live-fixture.ts';

/** A minute that the venue published, with its turnover and its trades. */
const cells = (openTime: number): readonly (string | null)[] => [
  ...[
    'binance:BTCUSDT',
    String(openTime),
    null,
    String(openTime + MICROS_PER_MINUTE),
    String(openTime + MICROS_PER_MINUTE),
  ],
  ...['100', '101', '99', '100', '7', '700', '12', 'base'],
  ...['1', '1', '0', 'present', null, null],
];

t.test('candles before the first sight of a listing name no units of members that no row has', async (t) => {
  const seen = Math.floor(LISTED / MICROS_PER_MINUTE) * MICROS_PER_MINUTE;
  const query = async ({ text, values }: { readonly text: string; readonly values: readonly string[] }) => {
    const isAsked = (openTime: number): boolean => {
      const [from = '', to = ''] = values;
      return openTime >= Date.parse(from) * 1_000 && openTime < Date.parse(to) * 1_000;
    };
    return text.includes('candles')
      ? [seen - MICROS_PER_MINUTE, seen + MICROS_PER_MINUTE].filter(isAsked).map(cells)
      : [];
  };
  const store = { query, ping: async () => undefined, close: async () => undefined };
  const history = { begin: () => new HistoryReader(store as never, ''), isReachable: async () => true };
  const feed = market();
  const { layers, ...version } = capability('binance');
  const candles = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: null } as const;
  feed.entry('binance', { kind: 'capability', capability: { ...version, layers: { ...layers, candles } } });
  feed.memory.applyHistoryWatermark('binance', 0, NOW);
  const { app, as } = await testApp(feed, { history });
  t.teardown(() => app.close());
  const ask = async (from: number, to: number) => {
    const payload = {
      where: { venue: 'binance', symbol: 'BTCUSDT' },
      ...{ timeframe: '1m', include_gaps: true },
      ...{ from: formatInstant(from), to: formatInstant(to) },
    };
    const answer = await app.inject({ method: 'POST', url: '/v2/candles', headers: as('pro_plus'), payload });
    return answer.json<{ items: { units: Record<string, string>; rows: { reason?: string }[] }[] }>().items[0];
  };
  const before = await ask(seen - MICROS_PER_MINUTE, seen);
  t.equal(before?.rows[0]?.reason, 'not_retained');
  t.same(Object.keys(before?.units ?? {}), ['close', 'high', 'low', 'open', 'volume']);
  const after = await ask(seen + MICROS_PER_MINUTE, seen + 2 * MICROS_PER_MINUTE);
  t.equal(after?.rows.length, 1);
  t.same(Object.keys(after?.units ?? {}), ['close', 'high', 'low', 'open', 'trades', 'turnover', 'volume']);
});
