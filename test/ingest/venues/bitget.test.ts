// Bitget: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { runCase, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, bookFrame, REST, record, SESSION, TARDIS, trade, V1_CONTRACTS, v3, WS } from './bitget.messages.ts';

const { frame, lineOf, map, mapLine } = venueBench(bitget);

type Figures = Readonly<Record<'last' | 'funding' | 'oi' | 'volume' | 'turnover' | 'change', string>> & {
  readonly mark: string | null;
  readonly index: string;
  readonly next: number | null;
};

const ticker = (symbol: string, at: readonly [number, number?], figures: Figures): readonly unknown[] => [
  record('ticker', symbol, at, { last: figures.last }),
  record('mark', symbol, at, { mark: figures.mark, index: figures.index }),
  record('funding', symbol, at, {
    funding: figures.funding,
    funding_interval_ms: null,
    next_funding_at: figures.next === null ? null : figures.next * 1000,
  }),
  record('oi', symbol, at, { oi: figures.oi, oi_unit: 'base' }),
  record('stats', symbol, at, {
    volume_24h: figures.volume,
    volume_unit: 'base',
    turnover_24h: figures.turnover,
    change_24h: figures.change,
  }),
];

const book = (symbol: string, ms: number, values: object): unknown =>
  record('book', symbol, [ms], { kind: 'snapshot', sequence: null, ...values });

const CASES: readonly (readonly [name: string, file: string, line: number, records: readonly unknown[]])[] = [
  [
    'a v1 ticker has the stamp of its system time',
    SESSION,
    9,
    ticker('DASHUSDT', [1649290077309, 1649290077583], {
      last: '113.37',
      mark: '113.381',
      index: '113.427',
      funding: '-0.0001',
      next: 1649314800000,
      oi: '21957.17',
      volume: '25301.4',
      turnover: '3062327.31',
      change: '-0.036',
    }),
  ],
  [
    'a v2 ticker has its own stamp, before the sending',
    TARDIS,
    8,
    ticker('STORJUSDT', [1730332823155], {
      last: '0.4706',
      mark: '0.4705',
      index: '0.47080586',
      funding: '0.0001',
      next: 1730361600000,
      oi: '8572031.1',
      volume: '2878355.9',
      turnover: '1355483.45089',
      change: '-0.01569',
    }),
  ],
  [
    'a v3 ticker that has no mark, funding and open interest gives the others, stamped by the sending',
    WS,
    25,
    [
      record('ticker', 'BTCUSDT', [1695715383039], { last: '100000' }),
      record('stats', 'BTCUSDT', [1695715383039], {
        volume_24h: '37.722858',
        volume_unit: 'base',
        turnover_24h: '3750302.979626',
        change_24h: '0.01833',
      }),
    ],
  ],
  [
    'v2 answers of tickers leave out dated futures, and a mark they do not have',
    REST,
    15,
    ticker('BTCUSD', [1695794271400], {
      last: '29904.5',
      mark: null,
      index: '29132.353333',
      funding: '-0.0007',
      next: null,
      oi: '125.6844',
      volume: '0',
      turnover: '0',
      change: '0',
    }),
  ],
  [
    'a v3 answer of tickers',
    REST,
    21,
    ticker('BTCUSDT', [1765444282230], {
      last: '90216.3',
      mark: '90216.4',
      index: '90247.5410266912815894',
      funding: '0.000047',
      next: null,
      oi: '27606.0718',
      volume: '50772.839',
      turnover: '4667820987.88478',
      change: '-0.02605',
    }),
  ],
  [
    'prices by request give mark and index',
    REST,
    12,
    [record('mark', 'BTCUSDT', [1695793390482], { mark: '25555', index: '34867' })],
  ],
  [
    'the current rate of v2 has no interval',
    REST,
    2,
    [
      record('funding', 'BTCUSDT', [1695796725656], {
        funding: '0.0005',
        funding_interval_ms: null,
        next_funding_at: null,
      }),
    ],
  ],
  [
    'the next settlement alone has no rate',
    REST,
    8,
    [
      record('funding', 'BTCUSDT', [1695796425096], {
        funding: null,
        funding_interval_ms: 28_800_000,
        next_funding_at: 1695801600000_000,
      }),
    ],
  ],
  [
    'the current rate of v3 has both',
    REST,
    18,
    [
      record('funding', 'BTCUSDT', [1743059269376], {
        funding: '0.000071',
        funding_interval_ms: 28_800_000,
        next_funding_at: 1743062400000_000,
      }),
    ],
  ],
  ['open interest of v2', REST, 9, [record('oi', 'BTCUSDT', [1695796781616], { oi: '34278.06', oi_unit: 'base' })]],
  ['open interest of v3', REST, 25, [record('oi', 'BTCUSDT', [1730969652411], { oi: '2243.019', oi_unit: 'base' })]],
  [
    'a v2 snapshot has no sequence',
    TARDIS,
    4,
    [
      book('BELUSDT', 1730332800303, {
        bids: [
          ['0.542', '468'],
          ['0.5419', '1576'],
        ],
        asks: [['0.5426', '51']],
      }),
    ],
  ],
  [
    'a v2 update',
    TARDIS,
    5,
    [book('AXSUSDT', 1730332859988, { kind: 'update', bids: [['5.081', '536.2']], asks: [['5.085', '144.6']] })],
  ],
  ['an empty side is empty', TARDIS, 10, [book('AQTUSDT', 1730860330169, { bids: [], asks: [['1.4138', '4.58']] })]],
  [
    'fifteen levels are whole each time',
    TARDIS,
    11,
    [
      book('YGGUSDT', 1730963759972, {
        bids: [['0.47242', '18.7835']],
        asks: [
          ['0.47256', '641.4443'],
          ['0.47257', '3074.3765'],
          ['0.47377', '2677.56'],
        ],
      }),
    ],
  ],
  [
    'the sequence of v3 keeps every digit past 2^53',
    WS,
    19,
    [
      book('BTCUSDT', 1746698732562, {
        bids: [['99756.6', '0.0128']],
        asks: [['99756.7', '23.9774']],
        sequence: '1304314508780744705',
      }),
    ],
  ],
  [
    'a v1 trade is a row without an id',
    SESSION,
    34,
    [
      trade('DASHUSDT', [1649290080580, lineOf(SESSION, 34).recv_ms ?? 0], {
        id: null,
        side: 'sell',
        price: '113.49',
        quantity: '0.43',
      }),
    ],
  ],
  [
    'a v2 trade of a coin-margined listing is an amount of its base',
    TARDIS,
    3,
    [
      trade('DOGEUSD', [1730332859962], {
        id: '1235671063871070209',
        side: 'buy',
        price: '0.168385',
        quantity: '447',
      }),
    ],
  ],
  [
    'past trades, with sides in capitals',
    REST,
    16,
    [
      trade('BTCUSDT', [1695865151000], { id: '1', side: 'sell', price: '26372.5', quantity: '9.25' }),
      trade('BTCUSDT', [1695865115000], { id: '2', side: 'buy', price: '26383', quantity: '12.12' }),
    ],
  ],
  [
    'a v1 candle has no turnover',
    SESSION,
    37,
    [
      record('candle', 'DASHUSDT', [null, lineOf(SESSION, 37).recv_ms ?? 0], {
        open_time: 1649290080000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '113.37',
        high: '113.49',
        low: '113.37',
        close: '113.49',
        volume: '0.43',
        volume_unit: 'base',
        turnover: null,
        trades: null,
        closed: null,
      }),
    ],
  ],
];

t.test('recorded messages give the records that their bytes contain', (t) => {
  for (const [name, file, line, records] of CASES) t.same(mapLine(file, line), records, `${name} (${file}:${line})`);
  const past = mapLine(SESSION, 11);
  t.equal(past.length, 1000, 'the first candle message holds the minutes before');
  t.match(past[0], { values: { open_time: 1649230080000_000, open: '125.77', close: '125.8', volume: '27.57' } });
  t.end();
});

t.test('recorded answers that lack their request give the records of the requested symbol', (t) => {
  const asked = (line: number, path: string) =>
    map({ ...toVenueMessage(lineOf(REST, line)), request: `GET https://api.bitget.com/api/${path}` });
  const v2 = (line: number, name: string, query = '') => asked(line, `v2/mix/market/${name}?symbol=BTCUSDT${query}`);
  const v3 = (line: number, name: string, query = '') =>
    asked(line, `v3/market/${name}?category=USDT-FUTURES&symbol=BTCUSDT${query}`);
  const candle = (
    sentMs: number,
    openMs: number,
    price_type: string,
    [open, high, low, close, volume, turnover]: readonly string[],
  ) =>
    record('candle', 'BTCUSDT', [sentMs], {
      open_time: openMs * 1000,
      price_type,
      timeframe: '1m',
      open,
      high,
      low,
      close,
      volume: volume ?? null,
      volume_unit: volume === undefined ? null : 'base',
      turnover: turnover ?? null,
      trades: null,
      closed: null,
    });
  // The candles lie five minutes (v2) or a week (v3) apart: here they are requested as minutes.
  const prices = [
    ['26210.5', '26210.5', '26194.5', '26194.5'],
    ['26194.5', '26194.5', '26171', '26171'],
  ] as const;
  const traded = [
    [...prices[0], '26.26', '687897.63'],
    [...prices[1], '17.98', '470618.72'],
  ] as const;
  const pair = (price_type: string, rows: readonly [readonly string[], readonly string[]]) => [
    candle(1695865615662, 1695835800000, price_type, rows[0]),
    candle(1695865615662, 1695836100000, price_type, rows[1]),
  ];
  t.same(v2(7, 'candles', '&granularity=1m'), pair('trade', traded));
  t.same(v2(5, 'history-candles', '&granularity=1m'), pair('trade', traded));
  t.same(v2(6, 'history-mark-candles', '&granularity=1m'), pair('mark', prices));
  t.same(v2(4, 'history-index-candles', '&granularity=1m'), pair('index', prices));
  for (const [line, name] of [
    [23, 'history-candles'],
    [24, 'candles'],
  ] as const)
    t.same(
      v3(line, name, '&interval=1m'),
      [
        candle(1695865864944, 1687708800000, 'trade', [
          '27176.93',
          '27177.43',
          '27166.93',
          '27177.43',
          '2990.08',
          '81246917.3294',
        ]),
        candle(1695865864944, 1688313600000, 'trade', [
          '27177.43',
          '27177.43',
          '24000',
          '24001',
          '2989.1',
          '72450031.0448',
        ]),
      ],
      `${name} of v3`,
    );
  t.same(v2(10, 'merge-depth'), [
    book('BTCUSDT', 1695870968804, {
      bids: [
        ['26346.5', '0.16'],
        ['26346', '0.32'],
      ],
      asks: [
        ['26347.5', '0.25'],
        ['26348', '0.16'],
      ],
    }),
  ]);
  t.same(v3(27, 'orderbook'), [
    book('BTCUSDT', 1730969017964, {
      bids: [
        ['71213.8', '1.836'],
        ['71213.3', '10'],
        ['71212.8', '10'],
      ],
      asks: [
        ['73000', '0.007'],
        ['74000', '0.007'],
        ['75000', '0.007'],
        ['75123', '5.615'],
      ],
    }),
  ]);
  const fills = [
    trade('BTCUSDT', [1627116776464], { id: '1', side: 'sell', price: '29990.5', quantity: '0.0166' }),
    trade('BTCUSDT', [1627116600875], { id: '2', side: 'buy', price: '30007', quantity: '0.0166' }),
  ];
  t.same(v3(29, 'fills'), fills);
  t.same(mapLine(REST, 13), fills, 'those of v2 name their symbol');
  t.end();
});

t.test('candles of a minute alone, from every version', (t) => {
  const row = ['1700000040000', '61', '64', '60', '62', '65', '66', '66'];
  const values = {
    open_time: 1700000040000_000,
    open: '61',
    high: '64',
    low: '60',
    close: '62',
    volume: '65',
    turnover: '66',
  };
  const v2 = (channel: string): VenueMessage =>
    frame({
      action: 'update',
      arg: { instType: 'USDT-FUTURES', channel, instId: 'AUSDT' },
      data: [row],
      ts: 1700000000009,
    });
  t.match(map(v2('candle1m')), [
    { venue_ts: 1700000000009_000, values: { ...values, price_type: 'trade', closed: null } },
  ]);
  t.same(map(v2('candle12H')), []);
  const kline = {
    start: '1700000040000',
    open: '61',
    high: '64',
    low: '60',
    close: '62',
    volume: '65',
    turnover: '66',
  };
  t.match(map(v3('kline', [kline], { interval: '1m' })), [{ values }]);
  t.same(map(v3('kline', [kline], { interval: '1D' })), []);
  // No recording has a pushed minute of v2 or v3: the candles of jkorf-ws:3 and :22 with another length.
  const counted = {
    price_type: 'trade',
    timeframe: '1m',
    volume_unit: 'base',
    trades: null,
    closed: null,
  };
  t.same(map(frame(lineOf(WS, 3).raw.replace('candle12H', 'candle1m'))), [
    record('candle', 'BTCUSDT', [1695715462250], {
      ...counted,
      open_time: 1695685500000_000,
      open: '27000',
      high: '27000.5',
      low: '27000',
      close: '27000.5',
      volume: '0.057',
      turnover: '1539.0155',
    }),
  ]);
  t.same(map(frame(lineOf(WS, 22).raw.replace('"interval":"1D"', '"interval":"1m"'))), [
    record('candle', 'BTCUSDT', [1695715383039], {
      ...counted,
      open_time: 1710518400000_000,
      open: '276670',
      high: '400005',
      low: '276670',
      close: '400005',
      volume: '0.423',
      turnover: '148190.38375',
    }),
  ]);
  for (const [request, price_type] of [
    ['v2/mix/market/candles?symbol=AUSDT&granularity=1m', 'trade'],
    ['v2/mix/market/candles?symbol=AUSDT&granularity=1m&kLineType=MARK', 'mark'],
    ['v2/mix/market/candles?symbol=AUSDT&granularity=1m&kLineType=INDEX', 'index'],
    ['v2/mix/market/history-mark-candles?symbol=AUSDT&granularity=1m', 'mark'],
    ['v2/mix/market/history-index-candles?symbol=AUSDT&granularity=1m', 'index'],
    ['v3/market/candles?symbol=AUSDT&interval=1m', 'trade'],
    ['v3/market/history-candles?symbol=AUSDT&interval=1m&type=MARK', 'mark'],
  ] as const) {
    const traded = price_type === 'trade' ? {} : { volume: null, volume_unit: null, turnover: null };
    t.match(
      map(answer(request, [row])),
      [{ venue_symbol: 'AUSDT', values: { ...values, ...traded, price_type } }],
      request,
    );
  }
  t.same(map(answer('v2/mix/market/candles?symbol=AUSDT&granularity=5m', [row])), []);
  t.same(map(answer('v3/market/candles?symbol=AUSDT&interval=1m&category=SPOT', [row])), []);
  t.same(map(answer('v3/market/candles?symbol=AUSDT&interval=1m&type=premium', [row])), []);
  for (const line of [4, 5, 6, 7, 23, 24])
    t.equal(
      runCase(() => mapLine(REST, line)),
      'VENUE_UNKNOWN_LISTING',
      'whose candles is not known',
    );
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['spot products', V1_CONTRACTS, 1],
    ['contracts are a reference, no record of the mapper', V1_CONTRACTS, 2],
    ['an acknowledgement', SESSION, 3],
    ['an acknowledgement', WS, 2],
    ['half a day of a candle', WS, 3],
    ['a login', WS, 13],
    ['automatic deleveraging', WS, 16],
    ['a day of a candle', WS, 22],
    ['settled funding', REST, 3],
    ['position tiers', REST, 11],
    ['a ticker of a dated future', REST, 14],
    ['settled funding of v3', REST, 19],
    ['parts of an index', REST, 22],
    ['a dated ticker', TARDIS, 9],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame('pong')), [], 'a pong');
  const spot = { instType: 'spot', topic: 'ticker', symbol: 'BTCUSDT' };
  t.same(map(frame({ action: 'snapshot', arg: spot, data: [{ lastPrice: '5' }], ts: 1 })), [], 'the spot market');
  t.same(map(answer('v3/market/tickers?category=SPOT', [{ category: 'SPOT', symbol: 'BTCUSDT', lastPrice: '5' }])), []);
  t.same(map(answer('v3/market/tickers', [{ category: 'SPOT', symbol: 'BTCUSDT', lastPrice: '5' }])), []);
  const dated = { symbolType: '2', lastPr: '5', markPrice: '5' };
  t.same(
    map(
      frame({ action: 'snapshot', arg: { instType: 'COIN-FUTURES', channel: 'ticker', instId: 'X' }, data: [dated] }),
    ),
    [],
  );
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const data = { i: '1', p: '2', v: '3', S: 'buy', T: '4' };
  const table: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"action":"snap'), 'VENUE_BAD_FRAME'],
    ['no object', frame('17'), 'VENUE_BAD_FRAME'],
    [
      'a refusal',
      frame({ event: 'error', code: 30003, msg: 'instType:MC,channel:ticker Symbol not exists' }),
      'VENUE_BAD_FRAME',
    ],
    [
      'a refused request',
      { ...answer('v3/market/tickers', []), payload: Buffer.from('{"code":"40034","msg":"no"}') },
      'VENUE_BAD_FRAME',
    ],
    [
      'no data',
      frame({ action: 'update', arg: { instType: 'usdt-futures', topic: 'ticker', symbol: 'AUSDT' }, data: null }),
      'VENUE_BAD_FRAME',
    ],
    ['a price of letters', v3('publicTrade', [{ ...data, p: 'abc' }]), 'VENUE_BAD_FIGURE'],
    ['a price of zero', v3('publicTrade', [{ ...data, p: '0' }]), 'VENUE_BAD_FIGURE'],
    ['a negative size', v3('publicTrade', [{ ...data, v: '-1' }]), 'VENUE_BAD_FIGURE'],
    ['no side', v3('publicTrade', [{ ...data, S: 'long' }]), 'VENUE_BAD_FRAME'],
    ['a book of no kind', frame(bookFrame('replace', 1n, 0n)), 'VENUE_BAD_FRAME'],
    ['trades of nobody', toVenueMessage(lineOf(REST, 29)), 'VENUE_UNKNOWN_LISTING'],
    ['an answer to nobody', { ...answer('v3/market/tickers', []), request: null }, 'VENUE_UNKNOWN_LISTING'],
  ];
  for (const [what, message, code] of table)
    t.equal(
      runCase(() => map(message)),
      code,
      what,
    );
  t.end();
});
