// Kraken Futures: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { krakenFutures as venue } from '../../../ingest/venues/kraken-futures/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, listingsOf, answer } = venueBench(venue);

const SESSION = 'cryptofeed-v1-ws-1.ndjson.gz';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const NAUTILUS_REST = 'nautilus-rest-singles.ndjson';

const NAUTILUS_WS = 'nautilus-ws-singles.ndjson';

const PRICE_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'];

const perpetuals = (count: number): readonly ListingRecord[] => {
  const template = listingsOf(NAUTILUS_REST)[1] as ListingRecord;
  return Array.from({ length: count }, (_, i) => ({ ...template, venue_symbol: `PF_A${i}USD` }));
};

t.test('the plan subscribes book, ticker and trade of every perpetual once, on sockets of its shard', (t) => {
  const listings = perpetuals(120);
  const shardOf = (symbol: string): number => symbol.length % 2;
  const slots = venue.plan(listings, { shards: 2, shardOf, endpoints: venue.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const asked: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    t.equal(slot.url, 'wss://futures.kraken.com/ws/v1');
    const frames = slot.subscribe.map(
      (text) => JSON.parse(text) as { event: string; feed: string; product_ids: string[] },
    );
    const streams = frames.flatMap(({ feed, product_ids }) => product_ids.map((id) => `${feed} ${id}`));
    asked.push(...streams);
    t.ok(frames.every(({ event, product_ids }) => event === 'subscribe' && product_ids.length <= 50));
    t.ok(streams.length <= venue.limits.streamsPerConnection);
    const [cover] = slot.covers;
    const isBook = frames[0]?.feed === 'book';
    t.same(cover?.layers, isBook ? ['book', 'venue_depth'] : PRICE_LAYERS);
    t.ok(
      cover?.symbols?.every((symbol) => slot.shards.includes(shardOf(symbol))),
      'a socket serves its shard',
    );
    const name = (feed: string): unknown => cover?.symbols?.map((symbol) => `${feed}:${symbol}`);
    const begins = (feed: string): unknown => ({ subscriptions: name(feed), silenceMs: 60_000, mayBeQuiet: true });
    const watched = isBook ? [begins('book')] : [{ subscriptions: name('ticker'), silenceMs: 30_000 }, begins('trade')];
    t.same(slot.watched, watched, 'trades may rest once they have begun');
  }
  t.same(
    asked.toSorted(),
    listings
      .flatMap(({ venue_symbol }) => ['book', 'ticker', 'trade'].map((feed) => `${feed} ${venue_symbol}`))
      .toSorted(),
  );
  const gone = perpetuals(1).map((listing) => ({ ...listing, values: { ...listing.values, status: 'pre_launch' } }));
  t.same(
    venue.plan(gone, { shards: 1, shardOf: () => 0, endpoints: venue.endpoints }),
    [],
    'nothing is requested before the launch',
  );
  t.end();
});

t.test('every feed of the plan is one that the mapper reads', (t) => {
  const slots = venue.plan(perpetuals(1), { shards: 1, shardOf: () => 0, endpoints: venue.endpoints });
  const feeds = slots.flatMap((slot) =>
    slot.kind === 'socket' ? slot.subscribe.map((text) => (JSON.parse(text) as { feed: string }).feed) : [],
  );
  const lines: Readonly<Record<string, readonly [string, number]>> = {
    book: [NAUTILUS_WS, 5],
    ticker: [JKORF_WS, 3],
    trade: [NAUTILUS_WS, 2],
  };
  t.same(feeds.toSorted(), Object.keys(lines));
  for (const [feed, [file, line]] of Object.entries(lines)) {
    t.match(lineOf(file, line).raw, new RegExp(`"feed":"${feed}"`));
    t.ok(mapLine(file, line).length > 0, feed);
  }
  t.end();
});

t.test('layers: liquidations are marked on trades, all of them; minutes are requested', (t) => {
  const onChange = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
  t.same(venue.layers.trades, onChange);
  t.same(venue.layers.liquidation, { ...onChange, completeness: 'full' });
  t.same(venue.layers.candles, { policy: 'on', cadence: 60_000, horizonMs: 120_000, horizonSource: 'assumed' });
  t.end();
});

t.test('candles are requested: of trades when a minute is over, of mark and index prices within the budget', (t) => {
  const charts = 'https://futures.kraken.com/api/charts/v1';
  const at = { fromMs: 1731715200000, toMs: 1731715260000 };
  t.same(venue.candles?.({ venue_symbol: 'PI_XBTUSD' }, at, venue.endpoints), {
    method: 'GET',
    url: `${charts}/trade/PI_XBTUSD/1m?from=1731715200&to=1731715320`,
    weight: 1,
  });
  t.equal(venue.closedMinute?.(lineOf(NAUTILUS_WS, 2).raw), null, 'no frame publishes a minute');
  const slots = venue.plan(perpetuals(600), { shards: 1, shardOf: () => 0, endpoints: venue.endpoints });
  const [poll] = slots.flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.same(poll?.covers[0]?.layers, ['price_candles']);
  t.equal(poll?.covers[0]?.symbols?.length, 600);
  t.same(
    poll?.requests.slice(0, 2),
    ['mark', 'spot'].map((type) => ({
      method: 'GET',
      url: `${charts}/${type}/PF_A0USD/1m?from={since}`,
      sinceMs: 180_000,
      weight: 1,
      urgency: 'price_candle',
    })),
  );
  const perMinute = (1_200 * 60_000) / (poll?.everyMs ?? 1) + 600;
  t.ok(perMinute < venue.limits.restWeightPerMinute * 0.6, `${perMinute} a minute with those of trades`);
  t.ok((poll?.everyMs ?? 0) < 90_000, 'what comes 100 s after its minute counts no more');
  const body = { candles: [{ time: at.fromMs, open: '1', high: '2', low: '1', close: '2', volume: '3' }] };
  for (const [type, price_type] of [
    ['trade', 'trade'],
    ['mark', 'mark'],
    ['spot', 'index'],
  ])
    t.match(map(answer(`GET ${charts}/${type}/PF_A0USD/1m?from=1731715020`, body)), [
      { layer: 'candle', venue_symbol: 'PF_A0USD', values: { price_type, open_time: at.fromMs * 1000 } },
    ]);
  t.end();
});

t.test('a subscription that went silent, or whose book broke, is renewed', (t) => {
  t.equal(venue.subscriptionOf?.(lineOf(JKORF_WS, 3).raw), 'ticker:PF_ETHUSD');
  t.equal(
    venue.subscriptionOf?.(lineOf(NAUTILUS_WS, 1).raw),
    'ticker:PI_XBTUSD',
    'whose feed name follows its figures',
  );
  t.equal(venue.subscriptionOf?.(lineOf(NAUTILUS_WS, 4).raw), 'book:PI_XBTUSD');
  t.equal(venue.subscriptionOf?.(lineOf(NAUTILUS_WS, 5).raw), 'book:PI_XBTUSD');
  t.equal(venue.subscriptionOf?.(lineOf(NAUTILUS_WS, 2).raw), 'trade:PI_XBTUSD');
  const past = '{"feed":"trade_snapshot","product_id":"PF_B","trades":[{"feed":"trade","product_id":"PF_B"}]}';
  t.equal(venue.subscriptionOf?.(past), 'trade:PF_B');
  t.equal(venue.subscriptionOf?.('{"event":"subscribed","feed":"trade","product_ids":["PF_B"]}'), null);
  t.same(
    venue.renew?.(['ticker:PF_A', 'ticker:PF_B']),
    [
      '{"event":"unsubscribe","feed":"ticker","product_ids":["PF_A"]}',
      '{"event":"unsubscribe","feed":"ticker","product_ids":["PF_B"]}',
      '{"event":"subscribe","feed":"ticker","product_ids":["PF_A"]}',
      '{"event":"subscribe","feed":"ticker","product_ids":["PF_B"]}',
    ],
    'one that is refused takes no other with it',
  );
  t.equal(venue.classify('{"event":"unsubscribed","feed":"ticker","product_ids":["PF_A"]}'), 'ack');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(venue.classify('{"event":"info","version":1}'), 'heartbeat', 'a greeting answers no subscription');
  t.equal(venue.classify(lineOf(JKORF_WS, 2).raw), 'ack');
  t.equal(venue.classify('{"event":"error","message":"Invalid product id"}'), 'error');
  t.equal(venue.classify('{"event":"alert","message":"Bad request"}'), 'error');
  t.equal(venue.classify('{"feed":"heartbeat","time":1534262350627}'), 'heartbeat');
  t.equal(venue.classify(lineOf(SESSION, 57).raw), 'data');
  t.equal(venue.classify(lineOf(JKORF_WS, 3).raw), 'data');
  t.same(venue.reference(venue.endpoints), [
    { method: 'GET', url: 'https://futures.kraken.com/derivatives/api/v3/instruments', weight: 1 },
  ]);
  t.same(venue.ping, { everyMs: 20_000, frame: null }, 'the venue wants a ping of the protocol each minute');
  t.end();
});
