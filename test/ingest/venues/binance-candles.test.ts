// Binance: candles and indexes, by socket and by request.
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };

const { frame, lineOf, listingsOf, map, mapLine, record, ...bench } = venueBench(binance);

const answer = (url: string, body: unknown): VenueMessage => bench.answer(`GET ${url}`, body);

const GOCT_WS = 'testdata-gocryptotrader-ws-2026-10.ndjson';

/** A minute of trades as COIN-M answers it: contracts, then the base. */
const COINM_ROW = [
  1591258320000,
  '9640.7',
  '9642.4',
  '9640.6',
  '9642.0',
  '206',
  1591258379999,
  '2.13660389',
  48,
  '119',
  '1.23424865',
  '0',
];

t.test('candles of REST: one minute only, mark and index without volume, a pair for each listing', (t) => {
  const row = [
    1591256460000,
    '9653.29201333',
    '9654.56401333',
    '9653.07367333',
    '9653.17367333',
    '0  ',
    1591256519999,
    '0',
    60,
    '0',
    '0',
    '0',
  ];
  const url = (path: string, query: string): string => `https://dapi.binance.com/dapi/v1/${path}?${query}`;
  const candle = {
    open_time: 1591256460000_000,
    timeframe: '1m',
    open: '9653.29201333',
    high: '9654.56401333',
    low: '9653.07367333',
    close: '9653.17367333',
    volume: null,
    volume_unit: null,
    turnover: null,
    trades: null,
    closed: null,
  };
  const mark = map(answer(url('markPriceKlines', 'symbol=BTCUSD_PERP&interval=1m'), [row]));
  t.match(mark, [{ venue_symbol: 'BTCUSD_PERP', venue_ts: null, values: { ...candle, price_type: 'mark' } }]);
  const index = map(answer(url('indexPriceKlines', 'pair=BTCUSD&interval=1m'), [row]));
  t.match(index, [{ venue_symbol: 'BTCUSD_PERP', values: { ...candle, price_type: 'index' } }]);
  const usdm = map(answer('https://fapi.binance.com/fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=1m', [row]));
  t.match(usdm, [{ venue_symbol: 'BTCUSDT', values: { price_type: 'index' } }]);
  t.match(map(answer(url('klines', 'symbol=BTCUSD_PERP&interval=1m'), [COINM_ROW]))[0]?.values, {
    price_type: 'trade',
    volume: '206',
    volume_unit: 'contracts',
    turnover: null,
    trades: 48,
    closed: null,
  });
  t.same(map(answer(url('klines', 'symbol=BTCUSD_PERP&interval=1M'), [COINM_ROW])), [], 'other lengths');
  t.same(map(answer(url('klines', 'symbol=BTCUSD_210924&interval=1m'), [COINM_ROW])), [], 'dated contracts');
  t.end();
});

t.test('an index of a pair goes to each known listing that uses it', (t) => {
  const index = frame({ e: 'indexPriceUpdate', E: 1591261236000, i: 'BTCUSD', p: '9636.57860000' });
  const listings = new Map(listingsOf('cryptofeed-coinm-rest-instruments.ndjson.gz').map((l) => [l.venue_symbol, l]));
  const expected = [record('mark', 'BTCUSD_PERP', [1591261236000, null], { mark: null, index: '9636.5786' })];
  t.same(map(index), expected, 'by name while no listing is known');
  t.same(map(index, {}, { listings }), expected);
  const other = frame({ e: 'indexPriceUpdate', E: 1591261236000, i: 'XYZUSD', p: '9636.57860000' });
  t.same(map(other, {}, { listings }), [], 'a pair of no listing');
  t.end();
});

// Its change log: since 2026-06-30 the pair is named `s`, and `@indexPrice@1s` is gone. Frames as they are sent call the event `IndexUpdate`.
t.test('an index is read in its form of 2026 too, of either market', (t) => {
  const text = (pair: string): VenueMessage =>
    frame({ E: 1787492323001, s: pair, p: '77488.68739130', e: 'IndexUpdate' });
  const values = { mark: null, index: '77488.6873913' };
  const listings = new Map(
    ['cryptofeed-coinm-rest-instruments.ndjson.gz', 'cryptofeed-usdm-rest-instruments.ndjson.gz']
      .flatMap(listingsOf)
      .map((l) => [l.venue_symbol, l]),
  );
  for (const context of [undefined, { listings }])
    for (const [pair, symbol] of [
      ['BTCUSD', 'BTCUSD_PERP'],
      ['BTCUSDT', 'BTCUSDT'],
    ] as const)
      t.same(map(text(pair), {}, context), [record('mark', symbol, [1787492323001, null], values)], pair);
  t.equal(binance.subscriptionOf?.(Buffer.from(text('BTCUSD').payload).toString()), 'btcusd@indexPrice');
  t.end();
});

/** Of its docs: Mark Price Kline/Candlestick Streams. */
const PRICE_KLINE = {
  ...{ t: 1591267380000, T: 1591267439999, i: '1m', f: 1591267380000, L: 1591267398000 },
  ...{ o: '9539.67161333', c: '9540.80000000', h: '9540.82761333', l: '9539.66961333' },
  ...{ v: '0', n: 19, x: false, q: '0', V: '0', Q: '0', B: '0' },
};

t.test('candles of mark and index prices come on COIN-M sockets as well', (t) => {
  const kline = (e: string, k: object): VenueMessage =>
    frame({ e, E: 1591267398004, ps: 'BTCUSD', k: { ...PRICE_KLINE, ...k } });
  const expected = (price_type: string): unknown =>
    record('candle', 'BTCUSD_PERP', [1591267398004, null], {
      open_time: 1591267380000000,
      price_type,
      timeframe: '1m',
      open: '9539.67161333',
      high: '9540.82761333',
      low: '9539.66961333',
      close: '9540.8',
      volume: null,
      volume_unit: null,
      turnover: null,
      trades: null,
      closed: false,
    });
  t.same(map(kline('markPrice_kline', { s: 'BTCUSD_PERP' })), [expected('mark')]);
  t.same(map(kline('indexPrice_kline', { s: '0' })), [expected('index')], 'of each listing of the pair');
  const usdm = frame({ e: 'indexPrice_kline', E: 1591267398004, ps: 'BTCUSDT', k: { ...PRICE_KLINE, s: '0' } });
  t.same(
    map(usdm),
    [{ ...(expected('index') as object), venue_symbol: 'BTCUSDT' }],
    'hosts share streams since 2026-06-30',
  );
  t.same(map(kline('markPrice_kline', { s: 'BTCUSD_200626' })), [], 'dated contracts');
  t.same(map(kline('markPrice_kline', { s: 'BTCUSD_PERP', i: '5m' })), [], 'other lengths');
  t.end();
});

t.test("continuous candles of a pair's perpetual are its candles; those of other contracts are none", (t) => {
  const values = {
    open_time: 1791283440000000,
    price_type: 'trade',
    timeframe: '1m',
    open: '86111',
    high: '86137.8',
    low: '86111',
    close: '86137.7',
    volume: '546',
    volume_unit: 'contracts',
    turnover: null,
    trades: 53,
    closed: true,
  };
  const candle = record('candle', 'BTCUSD_PERP', [1791283466336, null], values);
  const [recorded] = mapLine(GOCT_WS, 22);
  t.same(recorded, candle);
  t.match(mapLine(GOCT_WS, 8), [
    {
      venue_symbol: 'BTCUSDT',
      values: { close: '86026.5', volume: '10.516', volume_unit: 'base', turnover: '904406.8029' },
    },
  ]);
  const { data } = JSON.parse(lineOf(GOCT_WS, 22).raw) as { readonly data: object };
  t.same(map(frame({ ...data, ct: 'CURRENT_QUARTER' })), [], 'a quarter');
  t.equal(map(frame({ ...data, ps: 'XAUUSDT', ct: 'TRADIFI_PERPETUAL' }))[0]?.venue_symbol, 'XAUUSDT');
  const ask = (type: string): VenueMessage =>
    answer(`https://dapi.binance.com/dapi/v1/continuousKlines?pair=BTCUSD&contractType=${type}&interval=1m`, [
      COINM_ROW,
    ]);
  t.match(map(ask('PERPETUAL')), [
    {
      venue_symbol: 'BTCUSD_PERP',
      values: { open: '9640.7', close: '9642', volume: '206', turnover: null, trades: 48, closed: null },
    },
  ]);
  t.same(binance.askedMinutes?.(ask('PERPETUAL'), NO_LISTINGS)?.symbols, ['BTCUSD_PERP']);
  t.same(map(ask('NEXT_QUARTER')), []);
  t.end();
});
