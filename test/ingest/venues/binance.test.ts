// Binance: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };

const { frame, lineOf, listingsOf, map, mapLine, record, ...bench } = venueBench(binance);

const answer = (url: string, body: unknown): VenueMessage => bench.answer(`GET ${url}`, body);

const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';

const TARDIS = 'tardis-tests-binance-futures.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const GOCT_WS = 'testdata-gocryptotrader-ws-2026-10.ndjson';

const GOCT_USDM = 'gocryptotrader-usdm-rest-recorded.ndjson';

const GOCT_COINM = 'gocryptotrader-coinm-rest-recorded.ndjson';

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
  // Options of the unified derivatives sockets have the events of futures, and more prices in a ticker.
  const option = { E: 1, T: 1, s: 'BTC-260327-100000-C' };
  const candle = {
    t: 60_000,
    T: 119_999,
    s: option.s,
    i: '1m',
    o: '1',
    c: '1',
    h: '1',
    l: '1',
    v: '0',
    n: 0,
    x: false,
  };
  for (const body of [
    { e: '24hrTicker', ...option, c: '2050', v: '152.3', P: '0.025', bo: '2040.5', ao: '2060.1', vo: '0.6543' },
    { e: 'trade', ...option, t: 1, p: '1000', q: '2', X: 'MARKET', m: false },
    { e: 'depthUpdate', ...option, U: 465, u: 465, pu: 464, b: [['1100.000', '0.6000']], a: [] },
    { e: 'kline', ...option, k: candle },
  ]) {
    t.same(map(frame(body)), [], `${body.e} of an option`);
    t.equal(binance.sequence(JSON.stringify(body)), null, `no chain of ${body.e} of an option`);
  }
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
