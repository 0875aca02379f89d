// What is replayed is converted with the mark that was present then, as it was sent live (ST-05, N-07).
import t from 'tap';
import type { Micros } from '../../../schemas/records.ts';
import type { Row } from '../../../schemas/topics.ts';
import { reading } from '../../support/apps/live-fixture.ts';
import type { StreamClient } from '../../support/services/stream-client.ts';
import { Bench, SECOND, state } from './bench.ts';

const QUERY = 'where=symbol%20%3D%20%22BTCUSDT%22&layers=oi,candles&units=quote&freshness=60s';

const makeCandle = (at: Micros, recordedAt: Micros): Row => ({
  table: 'candles',
  at,
  texts: {
    ...{ listing: 'binance|BTCUSDT', venue: 'binance', status: 'present' },
    ...{ price_type: 'trade', timeframe: '1m', quantity_unit: 'base' },
  },
  instants: { close_time: at + 60 * SECOND, received_at: recordedAt, recorded_at: recordedAt },
  integers: { minutes_expected: 1, minutes_present: 1, minutes_no_trades: 0, src_offset: 9 },
  figures: { open: '1', high: '2', low: '1', close: '2', volume: '3', turnover: '4' },
  flags: { late: false },
});

/** Open interest and candles, and before the second and the fourth of them a mark. */
const read = (bench: Bench, count: number): void => {
  for (let rev = 1; rev <= count; rev++) {
    bench.pass(SECOND);
    if (rev % 2 === 0) bench.mark('BTCUSDT', rev);
    const at = { venue_ts: bench.now - 20_000, received_at: bench.now - 10_000, recorded_at: bench.now };
    const values = { oi: '2' };
    bench.feed.read('binance', 'BTCUSDT', reading({ layer: 'oi', rev, values, instants: {}, raw: null, ...at }));
    const row = makeCandle(rev * 60 * SECOND, bench.now);
    bench.feed.entry('binance', { kind: 'sealed', symbol: 'BTCUSDT', recorded_at: bench.now, row });
  }
};

t.test('readings and rows have the figures and the mark that they had live, whatever the mark is by now', async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.ready(QUERY);
  read(bench, 5);
  await first.untilCount('update', 5);
  await first.untilCount('candle', 5);
  const listTold = (client: StreamClient) => ({
    updates: client.named('update').map((event) => [event.data.rev, state(event).values, state(event).conversion]),
    candles: client.named('candle').map(({ data }) => data.row),
  });
  const told = listTold(first);
  t.equal(told.updates.length, 5, 'a newer mark sends no event of open interest (D-780)');
  t.match(told.updates[0], [1, { oi: 120_000 }, { mark: 60_000 }]);
  t.match(told.updates[4], [5, { oi: 120_008 }, { mark: 60_004 }]);
  t.match(told.candles[4], { volume: 180_012, conversion: { mark: 60_004 } });
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 5);
  const again = await bench.resume(QUERY, first.named('ready')[0]?.id ?? '');
  t.same(listTold(again), told);
  t.equal(again.named('hello')[0]?.data.resumed, true);
});
