// The record of a `listing` event is the one that GET /v2/instruments has, in the units of the stream (ST-03, N-07, D-149).
import t from 'tap';
import { listing, listingValues } from '../../support/apps/live-fixture.ts';
import { Bench, BTC, SECOND } from './bench.ts';

t.test('rules convert with the present mark, and in a replay with that of the moment', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(`${BTC}&units=quote`);
  const { lastId } = client;
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 2);
  bench.feed.list(listing('binance', listingValues({ lot_size: '0.002' }), { writtenAt: bench.now }));
  const [changed] = await client.untilCount('listing', 1);
  const url = '/v2/instruments?where=symbol%20%3D%20%22BTCUSDT%22&units=quote';
  const answer = await bench.test.app.inject({ url });
  const [record] = answer.json().items;
  t.match(record, { lot_size: 120.004, conversion: { mark: 60002 } });
  t.same(changed?.data.record, record);
  bench.mark('BTCUSDT', 3);
  const again = await bench.resume(`${BTC}&units=quote`, lastId);
  t.same(again.named('listing')[0]?.data.record, record);
});
