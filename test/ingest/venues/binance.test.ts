// Binance: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { planBudget } from '../../../ingest/venues/binance/budget.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };
const FIXTURES = 'binance';

const { frame, lineOf, listingsOf, map, mapLine, record, ...bench } = venueBench(binance);
const answer = (url: string, body: unknown): VenueMessage => bench.answer(`GET ${url}`, body);

const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';
const TARDIS = 'tardis-tests-binance-futures.ndjson';
const JKORF_WS = 'jkorf-ws-examples.ndjson';
const GOCT_WS = 'testdata-gocryptotrader-ws-2026-10.ndjson';
const GOCT_USDM = 'gocryptotrader-usdm-rest-recorded.ndjson';
const GOCT_COINM = 'gocryptotrader-coinm-rest-recorded.ndjson';

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

type Case = {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly records: readonly unknown[];
};

const CASES: readonly Case[] = [
  {
    name: 'a markPrice frame gives mark with index, then funding with its next settlement',
    file: SINGLES,
    line: 6,
    records: [
      record('mark', 'BTCUSDT', [1617308820003, null], { mark: '58940.14924532', index: '58857.26693664' }),
      record('funding', 'BTCUSDT', [1617308820003, null], {
        funding: '0.00058455',
        funding_interval_ms: null,
        next_funding_at: 1617321600000_000,
      }),
    ],
  },
  {
    name: 'COIN-M marks carry no index',
    file: SINGLES,
    line: 4,
    records: [
      record('mark', 'BTCUSD_PERP', [1617309477000, null], { mark: '59012.56007222', index: null }),
      record('funding', 'BTCUSD_PERP', [1617309477000, null], {
        funding: '0.00073689',
        funding_interval_ms: null,
        next_funding_at: 1617321600000_000,
      }),
    ],
  },
  {
    name: 'an array of marks gives each listing in its order',
    file: SINGLES,
    line: 7,
    records: [
      record('mark', 'BTCUSDT', [1617309024002, null], { mark: '59022.53514719', index: '58936.68384' }),
      record('funding', 'BTCUSDT', [1617309024002, null], {
        funding: '0.00058959',
        funding_interval_ms: null,
        next_funding_at: 1617321600000_000,
      }),
      record('mark', 'ETHUSDT', [1617309024002, null], { mark: '1981.1570442', index: '1978.08197502' }),
      record('funding', 'ETHUSDT', [1617309024002, null], {
        funding: '0.00059142',
        funding_interval_ms: null,
        next_funding_at: 1617321600000_000,
      }),
    ],
  },
  {
    name: 'an early markPrice frame without index has a null index',
    file: TARDIS,
    line: 3,
    records: [
      record('mark', 'BTCUSDT', [1569888003001, null], { mark: '8291.34697815', index: null }),
      record('funding', 'BTCUSDT', [1569888003001, null], {
        funding: '0.0001',
        funding_interval_ms: null,
        next_funding_at: 1569916800000_000,
      }),
    ],
  },
  {
    name: 'a REST premiumIndex gives mark and funding',
    file: GOCT_USDM,
    line: 5,
    records: [
      record('mark', 'BTCUSDT', [1687244112000, null], { mark: '26780.82240476', index: '26798.25197802' }),
      record('funding', 'BTCUSDT', [1687244112000, null], {
        funding: '0.00001226',
        funding_interval_ms: null,
        next_funding_at: 1687248000000_000,
      }),
    ],
  },
  {
    name: 'a COIN-M premiumIndex answer is an array with its own index',
    file: GOCT_COINM,
    line: 8,
    records: [
      record('mark', 'BTCUSD_PERP', [1687244113000, null], { mark: '26780.2', index: '26792.39505234' }),
      record('funding', 'BTCUSD_PERP', [1687244113000, null], {
        funding: '0.00006292',
        funding_interval_ms: null,
        next_funding_at: 1687248000000_000,
      }),
    ],
  },
  {
    name: 'a diff keeps its levels in order, sizes of zero and the transaction time',
    file: 'cryptofeed-usdm-ws-1.ndjson.gz',
    line: 3,
    records: [
      record('book', 'SUSHIUSDT', [1626992741024, 1626992741081], {
        kind: 'update',
        bids: [
          ['7.504', '813'],
          ['7.609', '0'],
          ['7.611', '2'],
        ],
        asks: [
          ['7.615', '1563'],
          ['7.622', '3284'],
        ],
        sequence: '600859600917',
      }),
    ],
  },
  {
    name: 'a REST depth answer is a snapshot of the requested symbol',
    file: GOCT_USDM,
    line: 1,
    records: [
      record('book', 'BTCUSDT', [1602818750767, null], {
        kind: 'snapshot',
        bids: [
          ['11492.09', '0.004'],
          ['11492', '0.001'],
          ['11491.93', '3.428'],
          ['11491.9', '0.5'],
          ['11491.89', '3.158'],
        ],
        asks: [
          ['11492.1', '0.191'],
          ['11492.29', '0.082'],
          ['11492.45', '0.024'],
          ['11492.47', '4.35'],
          ['11492.82', '0.153'],
        ],
        sequence: '78378956573',
      }),
    ],
  },
  {
    name: 'a stream of the best five levels is a snapshot, best first',
    file: JKORF_WS,
    line: 22,
    records: [
      record('book', 'BTCUSDT', [1571889248276, null], {
        kind: 'snapshot',
        bids: [
          ['7405.43', '2.562'],
          ['7404.85', '5.239'],
          ['7404', '1.428'],
          ['7403.9', '3.906'],
          ['7403.89', '0.002'],
        ],
        asks: [
          ['7405.96', '3.34'],
          ['7406.63', '4.525'],
          ['7407.08', '2.475'],
          ['7407.15', '4.8'],
          ['7407.2', '0.175'],
        ],
        sequence: '390497878',
      }),
    ],
  },
  {
    name: 'a USD-M ticker gives last, then stats with the change as a fraction',
    file: SINGLES,
    line: 17,
    records: [
      record('ticker', 'ETHUSDT', [1653815205866, null], { last: '1782.02' }),
      record('stats', 'ETHUSDT', [1653815205866, null], {
        volume_24h: '1678290.411',
        volume_unit: 'base',
        turnover_24h: '2990736920.72',
        change_24h: '0.01405',
      }),
    ],
  },
  {
    name: 'a COIN-M ticker counts contracts and has no turnover in quote',
    file: SINGLES,
    line: 15,
    records: [
      record('ticker', 'BTCUSD_PERP', [1653815020148, null], { last: '29031.8' }),
      record('stats', 'BTCUSD_PERP', [1653815020148, null], {
        volume_24h: '12229247',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: '0.00827',
      }),
    ],
  },
  {
    name: 'a falling price is a negative change',
    file: TARDIS,
    line: 2,
    records: [
      record('ticker', 'BTCUSDT', [1568693103467, null], { last: '10223.74' }),
      record('stats', 'BTCUSDT', [1568693103467, null], {
        volume_24h: '20248.9',
        volume_unit: 'base',
        turnover_24h: '207024349.13',
        change_24h: '-0.00855',
      }),
    ],
  },
  {
    name: 'a REST day ticker has the close time as its stamp',
    file: GOCT_USDM,
    line: 6,
    records: [
      record('ticker', 'BTCUSDT', [1630042423017, null], { last: '47028.59' }),
      record('stats', 'BTCUSDT', [1630042423017, null], {
        volume_24h: '471823.103',
        volume_unit: 'base',
        turnover_24h: '22175129357.2',
        change_24h: '-0.0033',
      }),
    ],
  },
  {
    name: 'a COIN-M day ticker has a base volume, which is no turnover',
    file: GOCT_COINM,
    line: 9,
    records: [
      record('ticker', 'BTCUSD_PERP', [1630042418232, null], { last: '47010.2' }),
      record('stats', 'BTCUSD_PERP', [1630042418232, null], {
        volume_24h: '71996462',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: '-0.00266',
      }),
    ],
  },
  {
    name: 'a price ticker gives last alone',
    file: GOCT_USDM,
    line: 7,
    records: [record('ticker', 'BTCUSDT', [1602820249252, null], { last: '11492.32' })],
  },
  {
    name: 'open interest of USD-M counts base units',
    file: GOCT_USDM,
    line: 4,
    records: [record('oi', 'BTCUSDT', [1702244985273, null], { oi: '83782.317', oi_unit: 'base' })],
  },
  {
    name: 'open interest of COIN-M counts contracts',
    file: GOCT_COINM,
    line: 7,
    records: [record('oi', 'BTCUSD_PERP', [1702244982986, null], { oi: '6784657', oi_unit: 'contracts' })],
  },
  {
    name: 'open interest without a time has no stamp',
    file: TARDIS,
    line: 9,
    records: [record('oi', 'BTCUSDT', [null, null], { oi: '26286.181', oi_unit: 'base' })],
  },
  {
    name: 'an aggregate trade whose buyer was the maker is a sale',
    file: SINGLES,
    line: 1,
    records: [
      record('trade', 'BTCUSD_PERP', [1616201883304, null], {
        id: '41045788',
        side: 'sell',
        price: '58570.1',
        quantity: '58',
        quantity_unit: 'contracts',
      }),
    ],
  },
  {
    name: 'a trade whose seller was the maker is a purchase',
    file: TARDIS,
    line: 5,
    records: [
      record('trade', 'BTCUSDT', [1574381164086, null], {
        id: '10934580',
        side: 'buy',
        price: '7627.6',
        quantity: '0.044',
        quantity_unit: 'base',
      }),
    ],
  },
  {
    name: 'an aggregate trade without an id has none',
    file: TARDIS,
    line: 1,
    records: [
      record('trade', 'BTCUSDT', [1568693103463, null], {
        id: null,
        side: 'buy',
        price: '10223.74',
        quantity: '0.236',
        quantity_unit: 'base',
      }),
    ],
  },
  {
    name: 'a forced purchase closes a short, at its average price',
    file: TARDIS,
    line: 13,
    records: [
      record('liquidation', 'BTCUSDT', [1584059031421, null], {
        id: null,
        side: 'short',
        price: '4706.04',
        price_kind: 'fill',
        quantity: '0.014',
        quantity_unit: 'base',
      }),
    ],
  },
  {
    name: 'a forced sale closes a long',
    file: JKORF_WS,
    line: 16,
    records: [
      record('liquidation', 'BTCUSDT', [1568014460893, null], {
        id: null,
        side: 'long',
        price: '9910',
        price_kind: 'fill',
        quantity: '0.014',
        quantity_unit: 'base',
      }),
    ],
  },
  {
    name: 'a USD-M candle has base volume and turnover in quote',
    file: 'cryptofeed-usdm-ws-1.ndjson.gz',
    line: 851,
    records: [
      record('candle', 'SUSHIUSDT', [1626992763665, 1626992763710], {
        open_time: 1626992760000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '7.618',
        high: '7.62',
        low: '7.616',
        close: '7.616',
        volume: '355',
        volume_unit: 'base',
        turnover: '2704.564',
        trades: 14,
        closed: false,
      }),
    ],
  },
  {
    name: 'a COIN-M candle counts contracts and has no turnover in quote',
    file: SINGLES,
    line: 19,
    records: [
      record('candle', 'ETHUSD_PERP', [1653818962599, null], {
        open_time: 1653818940000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '1786.56',
        high: '1789.24',
        low: '1785.25',
        close: '1788.67',
        volume: '401601',
        volume_unit: 'contracts',
        turnover: null,
        trades: 763,
        closed: false,
      }),
    ],
  },
];

t.test('streams of 2026 carry both markets: the symbol has the unit', (t) => {
  const at = [1791283239234, null] as const;
  t.same(mapLine(GOCT_WS, 5), [
    record('ticker', 'BTCUSDT', at, { last: '86026.4' }),
    record('stats', 'BTCUSDT', at, {
      volume_24h: '119489.809',
      volume_unit: 'base',
      turnover_24h: '10238568766.13',
      change_24h: '0.00012',
    }),
    record('ticker', 'BTCUSD_PERP', [1791283463856, null], { last: '86137.8' }),
    record('stats', 'BTCUSD_PERP', [1791283463856, null], {
      volume_24h: '7354554',
      volume_unit: 'contracts',
      turnover_24h: null,
      change_24h: '0.00191',
    }),
  ]);
  t.same(mapLine(GOCT_WS, 3), [
    record('liquidation', 'BTCUSD_PERP', [1791285240223, null], {
      id: null,
      side: 'short',
      price: '86159.1',
      price_kind: 'fill',
      quantity: '3',
      quantity_unit: 'contracts',
    }),
  ]);
  t.match(
    mapLine(GOCT_WS, 16),
    [{ values: { kind: 'snapshot' } }],
    'five levels are whole, though numbered like a change',
  );
  t.same(mapLine(GOCT_WS, 17), [], 'the retail book is another');
  t.same(mapLine(GOCT_WS, 6), [], 'a list of nothing');
  t.end();
});

t.test('recorded messages give the records that their bytes contain', (t) => {
  for (const { name, file, line, records } of CASES) t.same(mapLine(file, line), records, `${name} (${file}:${line})`);
  t.same(
    mapLine(GOCT_USDM, 8).slice(3),
    [
      record('trade', 'BTCUSDT', [1602819642335, null], {
        id: '229020339',
        side: 'sell',
        price: '11494.05',
        quantity: '0.001',
        quantity_unit: 'base',
      }),
      ...mapLine(GOCT_USDM, 8).slice(4),
    ],
    'past trades keep their order',
  );
  t.same(
    mapLine(GOCT_COINM, 1)[3],
    record('trade', 'BTCUSD_PERP', [1607294301845, null], {
      id: '4773829',
      side: 'buy',
      price: '19099.7',
      quantity: '10',
      quantity_unit: 'contracts',
    }),
    'past aggregate trades of COIN-M',
  );
  t.end();
});

t.test('a side of a snapshot with fewer levels than requested is complete', (t) => {
  const body = {
    lastUpdateId: 7,
    bids: [
      ['3', '1'],
      ['2', '1'],
    ],
    asks: [['4', '1']],
  };
  const findFull = (query: string): unknown =>
    binance.map({}, answer(`/fapi/v1/depth?symbol=AUSDT${query}`, body), NO_LISTINGS)[0]?.chain?.full;
  t.same(findFull('&limit=2'), { bids: false, asks: true });
  t.same(findFull('&limit=1000'), { bids: true, asks: true });
  t.equal(findFull(''), undefined, 'the number of requested levels is not known');
  const findKind = (query: string): unknown =>
    binance.map({}, answer(`/fapi/v1/depth?symbol=AUSDT${query}`, body), NO_LISTINGS)[0]?.chain?.kind;
  t.equal(findKind('&limit=1000'), 'snapshot');
  t.equal(findKind('&limit=5'), 'confirmation', 'requested for its id only');
  t.end();
});

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

t.test('a book with retail orders (`rpiDepth`) is another book: it is never joined with ours', (t) => {
  const diff = { e: 'depthUpdate', E: 1, T: 2, s: 'BTCUSDT', U: 3, u: 4, pu: 2, b: [['5', '6']], a: [] };
  const wrapped = frame({ stream: 'btcusdt@rpiDepth@500ms', data: diff });
  t.same(map(wrapped), []);
  t.equal(binance.sequence(Buffer.from(wrapped.payload).toString()), null);
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['top of book', SINGLES, 13],
    ['top of book', TARDIS, 15],
    ['an insurance fund fill', TARDIS, 11],
    ['options', SINGLES, 3],
    ['a candle of a month', SINGLES, 20],
    ['a dated mark', TARDIS, 14],
    ['a dated trade', 'cryptofeed-coinm-ws-1.ndjson.gz', 120],
    ['a dated diff', 'cryptofeed-coinm-ws-1.ndjson.gz', 6],
    ['a dated snapshot', 'cryptofeed-coinm-rest-http.ndjson.gz', 1],
    ['a dated candle', 'cryptofeed-coinm-ws-1.ndjson.gz', 110],
    ['multi-asset rates', JKORF_WS, 4],
    ['a composite index', JKORF_WS, 10],
    ['contract news', JKORF_WS, 24],
    ['mark candles of a dated contract', GOCT_COINM, 5],
    ['candles of a month', GOCT_COINM, 4],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ result: null, id: 1 })), [], 'an acknowledgement');
  const trade = { e: 'trade', E: 1, T: 1, s: 'BTCUSDT', t: 1, m: true };
  t.same(map(frame({ ...trade, p: '0', q: '0', X: 'NA' })), [], 'a trade that is none');
  t.same(map(frame({ ...trade, p: '7', q: '1', X: 'ADL' })), [], 'an ADL fill');
  t.same(
    map(frame({ e: 'markPriceUpdate', E: 1, s: 'BTCUSDT', p: '1.5', i: '', r: '', T: 0 })).length,
    1,
    'no funding without a rate',
  );
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const diff = { e: 'depthUpdate', E: 2, T: 1, s: 'BTCUSDT', U: 1, u: 2, pu: 0, b: [['1', '1']], a: [] };
  const table: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"e":"depthUpdate","E":15739'), 'VENUE_BAD_FRAME'],
    ['no object', frame('17'), 'VENUE_BAD_FRAME'],
    ['a price of letters', frame({ ...diff, b: [['abc', '1']] }), 'VENUE_BAD_FIGURE'],
    ['a price of zero', frame({ ...diff, b: [['0', '1']] }), 'VENUE_BAD_FIGURE'],
    ['a negative size', frame({ ...diff, a: [['1', '-1']] }), 'VENUE_BAD_FIGURE'],
    ['no levels', frame({ ...diff, b: undefined }), 'VENUE_BAD_FRAME'],
    ['an id that is none', frame({ ...diff, pu: 'x' }), 'VENUE_BAD_FRAME'],
    [
      'an error answer',
      answer('https://fapi.binance.com/fapi/v1/depth?symbol=BTCUSDT', { code: -1003, msg: 'Too many requests' }),
      'VENUE_BAD_FRAME',
    ],
    [
      'a book of nobody',
      { ...frame({ lastUpdateId: 7, bids: [], asks: [] }), kind: 'response' },
      'VENUE_UNKNOWN_LISTING',
    ],
    ['candles of nobody', answer('/fapi/v1/klines', [[1]]), 'VENUE_UNKNOWN_LISTING'],
  ];
  for (const [what, message, code] of table) t.equal(bench.codeOf(message), code, what);
  t.end();
});

t.test('figures sent as JSON numbers keep their digits', (t) => {
  const text = '{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","p":0.123456789012345678901,"i":1e-7,"r":"0.1","T":0}';
  t.match(map(frame(text))[0]?.values, { mark: '0.123456789012345678901', index: '0.0000001' });
  const chain = binance.sequence(
    '{"e":"depthUpdate","E":1,"s":"X","U":9007199254740993,"u":9007199254740995,"pu":9007199254740992,"b":[]}',
  );
  t.equal(chain?.last, 9007199254740995n);
  const diff = frame(
    '{"e":"depthUpdate","E":1,"s":"X","U":9007199254740993,"u":9007199254740995,"pu":9007199254740992,"b":[],"a":[]}',
  );
  t.match(binance.map({}, diff, NO_LISTINGS)[0], { chain: { first: 9007199254740993n, previous: 9007199254740992n } });
  t.end();
});

t.test('each rule of a listing has its derivation', (t) => {
  const usdm = listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz');
  t.equal(usdm.length, 120, 'perpetuals of 122 symbols: two are dated; one is not open yet and has no kind');
  t.same(
    usdm.find((l) => l.venue_symbol === '1000SHIBUSDT'),
    record(
      'listing',
      '1000SHIBUSDT',
      [1626858243909, lineOf('cryptofeed-usdm-rest-instruments.ndjson.gz', 1).recv_ms],
      {
        instrument: 'SHIB-PERP',
        venue_symbol: '1000SHIBUSDT',
        base: 'SHIB',
        quote: 'USDT',
        base_venue_alias: '1000SHIB',
        kind: 'perpetual',
        venue_kind: 'linear',
        pair: '1000SHIBUSDT',
        post_only: null,
        status: 'tradeable',
        contract_size: '1',
        multiplier: '1000',
        tick_size: '0.000001',
        lot_size: '1',
        min_qty: '1',
        min_notional: '5',
        price_decimals: 6,
        qty_decimals: 0,
        units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
        quantity_unit: 'base',
        funding_interval: '8h',
        funding_interval_source: 'assumed',
        funding_normalisation: { venue_field: 'r', transform: 'string_to_number' },
        rules_normalisation: {
          tick_size: { venue_field: 'filters.PRICE_FILTER.tickSize', transform: 'string_to_number' },
          lot_size: { venue_field: 'filters.LOT_SIZE.stepSize', transform: 'string_to_number' },
          min_qty: { venue_field: 'filters.LOT_SIZE.minQty', transform: 'string_to_number' },
          min_notional: { venue_field: 'filters.MIN_NOTIONAL.notional', transform: 'string_to_number' },
          price_decimals: { venue_field: 'pricePrecision', transform: 'identity' },
          qty_decimals: { venue_field: 'quantityPrecision', transform: 'identity' },
        },
        candles: makeCandles('trade', 'mark', 'index'),
        not_published: [],
        bands: BANDS,
        oi_sides: null,
        listed_at: 1620630000000_000,
        delisted_at: null,
      },
    ),
  );
  t.match(usdm.find((l) => l.venue_symbol === '1INCHUSDT')?.values, {
    base: '1INCH',
    multiplier: '1',
    base_venue_alias: null,
    instrument: '1INCH-PERP',
  });
  t.match(usdm.find((l) => l.venue_symbol === 'BTCBUSD')?.values, {
    base: 'BTC',
    quote: 'BUSD',
    tick_size: '0.1',
    qty_decimals: 3,
  });
  t.end();
});

t.test('every perpetual of the recorded exchangeInfo answers has base, multiplier, contract size and kind', (t) => {
  for (const { file, perpetuals, sizes } of [
    { file: 'cryptofeed-usdm-rest-instruments.ndjson.gz', perpetuals: 120, sizes: () => '1' },
    {
      file: 'cryptofeed-coinm-rest-instruments.ndjson.gz',
      perpetuals: 18,
      sizes: (base: string) => (base === 'BTC' ? '100' : '10'),
    },
    { file: 'gocryptotrader-usdm-rest-recorded.ndjson', perpetuals: 25, sizes: () => '1' },
    {
      file: 'gocryptotrader-coinm-rest-recorded.ndjson',
      perpetuals: 25,
      sizes: (base: string) => (base === 'BTC' ? '100' : '10'),
    },
  ]) {
    const listings = listingsOf(file);
    const inverse = file.includes('coinm');
    t.equal(listings.length, perpetuals, file);
    for (const { venue_symbol, values } of listings) {
      const asset = inverse ? venue_symbol.replace(/USD_PERP$/, '') : venue_symbol.replace(/(USDT|BUSD)$/, '');
      const multiplier = asset === '1000SHIB' ? '1000' : '1';
      const base = asset.slice(multiplier === '1' ? 0 : 4);
      const settling = venue_symbol === 'GALAUSD_PERP' && file.startsWith('gocrypto');
      const { status, multiplier: held, contract_size, venue_kind, quantity_unit, tick_size } = values;
      t.match(
        { base: values.base, held, contract_size, venue_kind, quantity_unit, status, positive: Number(tick_size) > 0 },
        {
          base,
          held: multiplier,
          contract_size: sizes(base),
          venue_kind: inverse ? 'inverse' : 'linear',
          quantity_unit: inverse ? 'contracts' : 'base',
          status: settling ? 'settling' : venue_symbol === 'BTCSTUSDT' ? 'pre_launch' : 'tradeable',
          positive: true,
        },
        venue_symbol,
      );
    }
  }
  t.end();
});

t.test('a perpetual being settled is listed as settling, in either market and in either spelling (V-02)', (t) => {
  const listStatuses = (file: string, type: string, status: string): readonly string[] => {
    const message = readRecording(`${FIXTURES}/${file}`)
      .filter(({ kind, url }) => kind === 'rest' && url?.includes('/exchangeInfo'))
      .map(toVenueMessage)[0] as VenueMessage;
    const text = Buffer.from(message.payload)
      .toString('utf8')
      .replaceAll('"contractType":"PERPETUAL"', `"contractType":"${type}"`)
      .replaceAll(/"(status|contractStatus)":"TRADING"/g, `"$1":"${status}"`);
    const listings = binance.mapReference({}, { ...message, payload: Buffer.from(text) })?.listings ?? [];
    t.equal(listings.length, 25, `${file}: ${type}`);
    return [...new Set(listings.map(({ values }) => values.status))];
  };
  for (const file of [GOCT_USDM, GOCT_COINM])
    for (const type of ['PERPETUAL_DELIVERING', 'PERPETUAL DELIVERING', 'TRADIFI_PERPETUAL_DELIVERING']) {
      t.same(listStatuses(file, type, 'SETTLING'), ['settling']);
      t.same(listStatuses(file, type, 'TRADING'), ['settling'], 'the type goes before the status');
      t.same(listStatuses(file, type, 'A_NEW_WORD'), ['settling']);
      t.ok(listStatuses(file, type, 'CLOSE').includes('delisted'));
    }
  for (const file of [GOCT_USDM, GOCT_COINM]) {
    t.ok(listStatuses(file, 'TRADIFI_PERPETUAL', 'TRADING_HALT').includes('halted'), file);
    t.ok(listStatuses(file, 'TRADIFI_PERPETUAL', 'TRADING_CANCEL_ONLY').includes('cancel_only'), file);
  }
  t.end();
});

t.test('multipliers in symbols are undone, names that begin with a digit are not', (t) => {
  const findMultiplier = (baseAsset: string): unknown => {
    const symbol = {
      symbol: `${baseAsset}USDT`,
      pair: `${baseAsset}USDT`,
      contractType: 'PERPETUAL',
      status: 'TRADING',
      baseAsset,
      quoteAsset: 'USDT',
      filters: [],
    };
    const found = binance.mapReference(
      {},
      answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols: [symbol] }),
    );
    return [found?.listings[0]?.values.base, found?.listings[0]?.values.multiplier];
  };
  t.same(findMultiplier('1000PEPE'), ['PEPE', '1000']);
  t.same(findMultiplier('1000000MOG'), ['MOG', '1000000']);
  t.same(findMultiplier('1MBABYDOGE'), ['BABYDOGE', '1000000']);
  t.same(findMultiplier('1000X'), ['X', '1000']);
  t.same(findMultiplier('1INCH'), ['1INCH', '1']);
  t.end();
});

t.test('the funding interval is the one that the venue publishes, else eight hours by its docs', (t) => {
  const state = {};
  const info = toVenueMessage(lineOf(GOCT_USDM, 3));
  t.equal(binance.mapReference(state, info), null, 'fundingInfo alone is no reference');
  const symbols = ['LPTUSDT', 'BTCUSDT'].map((symbol) => ({
    symbol,
    pair: symbol,
    contractType: 'PERPETUAL',
    baseAsset: symbol.slice(0, 3),
    quoteAsset: 'USDT',
  }));
  const listings =
    binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }))?.listings ?? [];
  t.match(listings[0]?.values, { funding_interval: '4h', funding_interval_source: 'venue' });
  t.match(listings[1]?.values, { funding_interval: '8h', funding_interval_source: 'documented', status: 'unknown' });
  t.end();
});

t.test('an adjusted interval without its figure is none', (t) => {
  for (const hours of [null, undefined, 0, '']) {
    const state = {};
    const info = [
      { symbol: 'AUSDT', fundingIntervalHours: hours },
      { symbol: 'BUSDT', fundingIntervalHours: 4 },
    ];
    binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/fundingInfo', info));
    const symbols = ['AUSDT', 'BUSDT', 'CUSDT'].map((symbol) => ({
      ...{ symbol, pair: symbol, contractType: 'PERPETUAL', baseAsset: symbol.slice(0, 1), quoteAsset: 'USDT' },
    }));
    const whole = binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }));
    t.same(
      whole?.listings.map(({ values }) => [values.funding_interval, values.funding_interval_source]),
      [
        [null, null],
        ['4h', 'venue'],
        ['8h', 'documented'],
      ],
      String(hours),
    );
  }
  t.end();
});

t.test("a pair's market is that of its request, or of the listings that use it", (t) => {
  const listed = (venue_symbol: string, pair: string): ListingRecord =>
    ({
      layer: 'listing',
      venue: 'binance',
      venue_symbol,
      venue_ts: null,
      received_at: 1,
      values: { pair },
    }) as ListingRecord;
  const pairs = [
    ...['BTCUSDT', 'BTCBUSD', 'ETHBTC', 'BTCUSD1', 'BTCUSD'].map((pair) => [pair, pair, 'fapi'] as const),
    ['BTCUSD_PERP', 'BTCUSD', 'dapi'] as const,
  ];
  const listings = new Map(pairs.map(([symbol, pair]) => [symbol, listed(symbol, pair)]));
  const row = [1700000040000, '5', '6', '4', '5', '0', 1700000099999, '0', 0, '0', '0', '0'];
  for (const [symbol, pair, api] of pairs) {
    const asked = answer(`https://${api}.binance.com/${api}/v1/indexPriceKlines?pair=${pair}&interval=1m&limit=1`, [
      row,
    ]);
    const index = [{ layer: 'candle', venue_symbol: symbol, values: { price_type: 'index' } }];
    t.match(map(asked, {}, { listings }), index, `${api} ${pair}`);
    t.equal(map(asked, {}, { listings }).length, 1);
    t.match(binance.askedMinutes?.(asked, { listings }), { symbols: [symbol] });
  }
  const update = (pair: string) =>
    map(frame({ e: 'IndexUpdate', E: 1700000000000, s: pair, p: '5' }), {}, { listings });
  for (const pair of ['BTCUSDT', 'BTCBUSD', 'ETHBTC', 'BTCUSD1'])
    t.match(update(pair), [{ layer: 'mark', venue_symbol: pair, values: { index: '5' } }], pair);
  t.same(
    update('BTCUSD').map(({ venue_symbol }) => venue_symbol),
    ['BTCUSD', 'BTCUSD_PERP'],
  );
  t.end();
});

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
