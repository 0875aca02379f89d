// Binance: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { planBudget } from '../../../ingest/venues/binance/budget.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };

const FIXTURES = 'binance';

const { frame, lineOf, listingsOf, map, mapLine, record, ...bench } = venueBench(binance);

const answer = (url: string, body: unknown): VenueMessage => bench.answer(`GET ${url}`, body);

const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

t.test('the plan subscribes books and prices apart, on the paths that deliver them', (t) => {
  const listings = [
    ...listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz'),
    ...listingsOf('cryptofeed-coinm-rest-instruments.ndjson.gz'),
  ];
  const slots = binance.plan(listings, {
    shards: 2,
    shardOf: (symbol) => symbol.length % 2,
    endpoints: binance.endpoints,
  });
  const streams = slots.flatMap((slot) =>
    slot.kind === 'socket'
      ? slot.subscribe.flatMap((text) =>
          (JSON.parse(text) as { params: string[] }).params.map((s) => `${slot.url} ${s}`),
        )
      : [],
  );
  t.equal(new Set(slots.map((slot) => slot.id)).size, slots.length, 'ids are unique');
  t.equal(streams.length, 6 * 119 + 7 * 18, 'book, mark and four of trades for each, an index for each COIN-M pair');
  for (const stream of ['ticker', 'aggTrade', 'kline_1m', 'forceOrder']) {
    t.ok(streams.includes(`wss://fstream.binance.com/market/ws btcusdt@${stream}`));
    t.ok(streams.includes(`wss://dstream.binance.com/ws btcusd_perp@${stream}`));
  }
  t.ok(streams.includes('wss://fstream.binance.com/public/ws btcusdt@depth@100ms'));
  t.ok(streams.includes('wss://fstream.binance.com/market/ws btcusdt@markPrice@1s'));
  t.ok(streams.includes('wss://dstream.binance.com/ws btcusd_perp@depth@100ms'));
  t.ok(streams.includes('wss://dstream.binance.com/ws btcusd@indexPrice'));
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    t.ok(
      slot.subscribe.every((text) => text.length < 2048),
      'frames are small',
    );
    const covered = slot.covers.flatMap((cover) => cover.symbols ?? []);
    t.ok(
      covered.every((symbol) => slot.shards.includes(symbol.length % 2)),
      'a socket serves its shard',
    );
  }
  const first = slots[0];
  t.match(first?.kind === 'socket' ? JSON.parse(first.subscribe[0] ?? '') : null, { method: 'SUBSCRIBE', id: 1 });
  t.end();
});

t.test('a new listing changes only the last socket of its kind', (t) => {
  const env = { shards: 1, shardOf: () => 0, endpoints: binance.endpoints };
  const template = listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz')[0] as ListingRecord;
  const many = Array.from({ length: 450 }, (_, i) => ({
    ...template,
    venue_symbol: `A${i}USDT`,
    values: { ...template.values, listed_at: 1_600_000_000_000_000 + i },
  }));
  const before = binance.plan(many, env).map((slot) => JSON.stringify(slot));
  const fresh = {
    ...template,
    venue_symbol: '0NEWUSDT',
    values: { ...template.values, listed_at: 1_700_000_000_000_000 },
  };
  const after = binance.plan([fresh, ...many], env).map((slot) => JSON.stringify(slot));
  const findKind = (slot: string): string => /"id":"([a-z-]+)/.exec(slot)?.[1] ?? '';
  const changed = after.filter((slot) => !before.includes(slot));
  t.same(
    Object.entries(Object.groupBy(before, findKind)).map(([kind, slots]) => [kind, slots?.length]),
    [
      ['usdm-book', 3],
      ['usdm-mark', 3],
      ['usdm-trade', 9],
      ['usdm-oi', 1],
      ['usdm-price-candles', 1],
    ],
  );
  t.same(changed.map(findKind), ['usdm-book', 'usdm-mark', 'usdm-trade', 'usdm-oi', 'usdm-price-candles']);
  t.end();
});

t.test('polls fit the REST weight of a market, whatever the number of its listings', (t) => {
  for (let count = 1; count <= 1_000; count += 1) {
    const { oiEveryMs: everyMs, priceCandles } = planBudget(count);
    const weight = (count * 60_000) / everyMs + (2 * Math.min(priceCandles, count) * 60) / 80;
    if (weight > 1_320) t.fail(`${count} listings weigh ${weight}`);
    if (count <= 350 && priceCandles < count) t.fail(`${count} listings: ${priceCandles} with candles of prices`);
    if (count <= 600 && everyMs >= 30_000)
      t.fail(`${count} listings: open interest is stale before it is requested again`);
  }
  t.same(planBudget(40), { oiEveryMs: 5_000, priceCandles: 50 });
  t.same(planBudget(500), { oiEveryMs: 28_000, priceCandles: 165 });
  t.end();
});

t.test('the cadence of open interest follows from the listings, its horizon is twice that', (t) => {
  const template = listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz')[0] as ListingRecord;
  const some = (count: number) => Array.from({ length: count }, (_, i) => ({ ...template, venue_symbol: `A${i}USDT` }));
  const poll = (count: number) =>
    binance
      .plan(some(count), { shards: 1, shardOf: () => 0, endpoints: binance.endpoints })
      .flatMap((slot) => (slot.kind === 'poll' ? [slot] : []))[0];
  for (const [count, everyMs] of [
    [10, 5_000],
    [500, 28_000],
  ] as const) {
    t.equal(poll(count)?.everyMs, everyMs);
    t.same(binance.deliveries?.(some(count)).oi, {
      policy: 'on',
      cadence: everyMs,
      horizonMs: 2 * everyMs,
      horizonSource: 'assumed',
    });
  }
  t.equal(poll(10)?.requests.length, 10);
  t.equal(poll(10)?.requests[0]?.url, 'https://fapi.binance.com/fapi/v1/openInterest?symbol=A0USDT');
  t.end();
});

t.test('candles of mark and index prices are collected of the oldest listings, and off for the others (V-03a)', (t) => {
  const symbols = Array.from({ length: 500 }, (_, i) => ({
    symbol: `A${i}USDT`,
    pair: `A${i}USDT`,
    contractType: 'PERPETUAL',
    status: 'TRADING',
    baseAsset: `A${i}`,
    quoteAsset: 'USDT',
    onboardDate: 1_700_000_000_000 - i,
  }));
  const listings =
    binance.mapReference({}, answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }))?.listings ?? [];
  t.ok(
    listings.every(({ values }) => values.candles.price_types.length === 3),
    'the venue has them of all',
  );
  const priced = listings.filter(({ off }) => off === undefined);
  t.ok(listings.every(({ off }) => off === undefined || off.join() === 'price_candles'));
  t.equal(priced.length, 165);
  t.ok(priced.every(({ venue_symbol }) => Number(venue_symbol.slice(1, -4)) >= 335));
  const slots = binance.plan(listings, { shards: 1, shardOf: () => 0, endpoints: binance.endpoints });
  const slot = slots.find(({ id }) => id === 'usdm-price-candles.0');
  t.equal(slot?.kind === 'poll' ? slot.requests.length : 0, 330);
  t.same(slot?.kind === 'poll' ? slot.requests.slice(0, 2) : [], [
    {
      method: 'GET',
      url: 'https://fapi.binance.com/fapi/v1/markPriceKlines?symbol=A499USDT&interval=1m&limit=3',
      weight: 1,
      urgency: 'price_candle',
    },
    {
      method: 'GET',
      url: 'https://fapi.binance.com/fapi/v1/indexPriceKlines?pair=A499USDT&interval=1m&limit=3',
      weight: 1,
      urgency: 'price_candle',
    },
  ]);
  t.end();
});

t.test('every watched subscription is one of its socket, is recognised in its frames and can be renewed', (t) => {
  const listings = [
    ...listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz'),
    ...listingsOf('cryptofeed-coinm-rest-instruments.ndjson.gz'),
  ];
  const slots = binance.plan(listings, { shards: 1, shardOf: () => 0, endpoints: binance.endpoints });
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const asked = slot.subscribe.flatMap((text) => (JSON.parse(text) as { params: string[] }).params);
    const watched = slot.watched?.flatMap(({ subscriptions }) => subscriptions) ?? [];
    t.ok(watched.length > 0 && watched.every((name) => asked.includes(name)), slot.id);
  }
  const head = (fields: string) => `{"e":${fields},"b":[]}`;
  const names: readonly (readonly [string, string | null])[] = [
    ['"depthUpdate","E":1,"T":2,"s":"BTCUSD_PERP","ps":"BTCUSD"', 'btcusd_perp@depth@100ms'],
    ['"markPriceUpdate","E":1,"s":"BTCUSDT","i":"2.0"', 'btcusdt@markPrice@1s'],
    ['"indexPriceUpdate","E":1,"i":"BTCUSD"', 'btcusd@indexPrice'],
    ['"24hrTicker","E":1,"s":"BTCUSDT"', 'btcusdt@ticker'],
    ['"aggTrade","E":1,"s":"BTCUSDT"', null],
    ['"kline","E":1,"s":"BTCUSDT"', null],
  ];
  for (const [fields, name] of names) t.equal(binance.subscriptionOf?.(head(fields)) ?? null, name);
  t.same(binance.renew?.(['a@ticker']), [
    '{"method":"UNSUBSCRIBE","params":["a@ticker"],"id":1}',
    '{"method":"SUBSCRIBE","params":["a@ticker"],"id":1}',
  ]);
  t.same(binance.confirm?.('btcusd_perp@ticker', binance.endpoints), {
    symbol: 'BTCUSD_PERP',
    request: { method: 'GET', url: 'https://dapi.binance.com/dapi/v1/ticker/24hr?symbol=BTCUSD_PERP', weight: 1 },
  });
  t.equal(binance.confirm?.('btcusdt@markPrice@1s', binance.endpoints), null);
  t.end();
});

t.test('the quick check of a kline frame returns the minute that it closes', (t) => {
  for (const line of readRecording(`${FIXTURES}/${SINGLES}`)) {
    const seen = line.dir === 'in' ? (binance.closedMinute?.(line.raw) ?? null) : null;
    const mapped =
      line.dir === 'in' && line.raw.startsWith('{"e":"kline"')
        ? binance.map({}, toVenueMessage(line), NO_LISTINGS)
        : [];
    const whole = mapped.find(({ record }) => record.layer === 'candle' && record.values.closed === true)?.record;
    t.same(
      seen,
      whole?.layer === 'candle' ? { symbol: whole.venue_symbol, openMs: whole.values.open_time / 1_000 } : null,
    );
  }
  const frame = '{"e":"kline","E":60001,"s":"BTCUSDT","k":{"t":0,"T":59999,"s":"BTCUSDT","i":"1m","x":true}}';
  t.same(binance.closedMinute?.(frame), { symbol: 'BTCUSDT', openMs: 0 });
  t.equal(binance.closedMinute?.(frame.replace('true', 'false')) ?? null, null);
  t.equal(
    binance.candles?.({ venue_symbol: 'BTCUSDT' }, { fromMs: 0, toMs: 60_000 }, binance.endpoints).url,
    'https://fapi.binance.com/fapi/v1/klines?symbol=BTCUSDT&interval=1m&startTime=0&limit=3',
  );
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(binance.classify('{"result":null,"id":1}'), 'ack');
  t.equal(binance.classify('{"error":{"code":2,"msg":"Invalid request"},"id":1}'), 'error');
  t.equal(binance.classify('{"id":3,"error":{"code":2}}'), 'error');
  t.equal(binance.classify('{"code":-1121,"msg":"Invalid symbol."}'), 'error');
  t.equal(binance.classify(lineOf(SINGLES, 6).raw), 'data');
  t.equal(
    binance.bookSnapshot?.({ venue_symbol: 'BTCUSD_PERP' }, binance.endpoints).url,
    'https://dapi.binance.com/dapi/v1/depth?symbol=BTCUSD_PERP&limit=1000',
  );
  t.end();
});

t.test('the quick check of a book frame agrees with the mapper', (t) => {
  for (const file of ['cryptofeed-coinm-ws-1.ndjson.gz', 'cryptofeed-usdm-ws-1.ndjson.gz', SINGLES, JKORF_WS]) {
    let wrong = 0;
    for (const line of readRecording(`${FIXTURES}/${file}`)) {
      if (line.dir !== 'in' || line.raw.includes('"lastUpdateId"')) continue;
      const mapped = binance.map({}, toVenueMessage(line), NO_LISTINGS).find(({ chain }) => chain)?.chain ?? null;
      const seen = binance.sequence(line.raw);
      if (
        String(mapped?.last) !== String(seen?.last) ||
        mapped?.symbol !== seen?.symbol ||
        mapped?.previous !== seen?.previous
      )
        wrong++;
    }
    t.equal(wrong, 0, file);
  }
  t.end();
});
