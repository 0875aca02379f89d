// Bitget: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import { crc32 } from 'node:zlib';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { type BookSync, newBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { canonicalDigits } from '../../../schemas/decimals.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { fixturePath, readRecording, toVenueMessage } from '../../support/recordings.ts';
import { BANDS, makeCandles, runCase, venueBench } from '../../support/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };
const REST = 'jkorf-rest-examples.ndjson';
const WS = 'jkorf-ws-examples.ndjson';
const TARDIS = 'tardis-tests-bitget-futures.ndjson';
const SESSION = 'cryptofeed-mix-v1-ws-2.ndjson.gz';
const V1_CONTRACTS = 'cryptofeed-mix-v1-rest-instruments.ndjson.gz';

const { frame, lineOf, map, mapLine, ...bench } = venueBench(bitget);
const answer = (path: string, data: unknown): VenueMessage => ({
  ...frame({ code: '00000', msg: 'success', requestTime: 1700000000009, data }),
  kind: 'response',
  request: `GET https://api.bitget.com/api/${path}`,
});
const record = (
  layer: string,
  symbol: string,
  [venueMs, receivedMs = null]: readonly [venueMs: number | null, receivedMs?: number | null],
  values: unknown,
): unknown => bench.record(layer, symbol, [venueMs, receivedMs], values);

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
const trade = (symbol: string, at: readonly [number, number?], values: object): unknown =>
  record('trade', symbol, at, { ...values, quantity_unit: 'base' });
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

type Level = readonly [string, string];

/** The venue's own proof of a book: CRC32 over the best 25 levels a side, as it spells them. */
const computeChecksum = (bids: ReadonlyMap<string, string>, asks: ReadonlyMap<string, string>): number => {
  const best = (side: ReadonlyMap<string, string>, sign: number): Level[] =>
    [...side].toSorted((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, 25);
  const [b, a] = [best(bids, -1), best(asks, 1)];
  const parts = Array.from({ length: 25 }, (_, i) => [...(b[i] ?? []), ...(a[i] ?? [])]).flat();
  return crc32(parts.join(':')) | 0;
};

t.test('the books of a recorded session are those the venue signed, message by message', async (t) => {
  const printed: { bids: Level[]; asks: Level[] }[] = [];
  await normalise({
    venue: bitget,
    files: [fixturePath(`bitget/${SESSION}`)],
    assembled: true,
    write: (line) => {
      const { layer, values } = JSON.parse(line);
      if (layer === 'book' || layer === 'gap') printed.push(values);
    },
  });
  const sides = { bids: new Map<string, string>(), asks: new Map<string, string>() };
  let count = 0;
  for (const { raw, dir } of readRecording(`bitget/${SESSION}`)) {
    const { action, arg, data } = dir === 'in' ? JSON.parse(raw) : {};
    if (arg?.channel !== 'books' || data === undefined) continue;
    for (const name of ['bids', 'asks'] as const) {
      if (action === 'snapshot') sides[name].clear();
      for (const [price, size] of data[0][name] as Level[]) {
        if (Number(size) === 0) sides[name].delete(price);
        else sides[name].set(price, size);
      }
    }
    t.equal(computeChecksum(sides.bids, sides.asks), data[0].checksum, `checksum of book ${count}`);
    for (const [name, sign] of [
      ['bids', -1],
      ['asks', 1],
    ] as const) {
      const best = [...sides[name]].toSorted((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, 25);
      t.same(
        printed[count]?.[name],
        best.map((level) => level.map(canonicalDigits)),
        `${name} of book ${count}`,
      );
    }
    count++;
  }
  t.equal(count, 98);
  t.equal(printed.length, 98, 'no gap');
});

/** As v3 sends it: the argument behind the levels, ids beyond 2^53. */
const bookFrame = (action: string, seq: bigint, pseq: bigint, topic = 'books'): string =>
  `{"data":[{"a":[["7","8"]],"b":[["5","6"],["4","0"]],"checksum":0,"pseq":${pseq},"seq":${seq},"ts":"1700000000001"}],` +
  `"arg":{"instType":"usdt-futures","symbol":"AUSDT","topic":"${topic}"},"action":"${action}","ts":1700000000002}`;

t.test('a v3 book follows its pseq, breaks on a hole, and is whole again at a snapshot only', (t) => {
  const base = 1304314508780744705n;
  const steps: readonly (readonly [string, bigint, bigint, string])[] = [
    ['update', 1n, 0n, 'waits'],
    ['snapshot', 10n, -base, 'applies'],
    ['update', 14n, 10n, 'applies'],
    ['update', 14n, 10n, 'waits'],
    ['update', 15n, 14n, 'applies'],
    ['update', 18n, 16n, 'breaks'],
    ['update', 19n, 18n, 'waits'],
    ['snapshot', 30n, -base, 'applies'],
    ['update', 31n, 30n, 'applies'],
    // The first after a snapshot may have begun before it, a later one may not.
    ['snapshot', 50n, -base, 'applies'],
    ['update', 50n, 49n, 'waits'],
    ['update', 53n, 48n, 'applies'],
    ['update', 55n, 52n, 'breaks'],
    ['snapshot', 60n, -base, 'applies'],
    ['update', 64n, 61n, 'breaks'],
    ['snapshot', 70n, -base, 'applies'],
    ['update', 69n, 68n, 'breaks'],
  ];
  let sync: BookSync<null> = newBookSync();
  for (const [action, seq, pseq, expected] of steps) {
    const text = bookFrame(action, base + seq, base + pseq);
    const chain = bitget.sequence(text);
    if (!chain) throw new Error('no chain');
    t.same(bitget.map({}, frame(text), NO_LISTINGS)[0]?.chain, chain, 'the mapper agrees with the quick check');
    const step = stepBookSync(bitget.bookRule, sync, { chain, payload: null });
    sync = step.state;
    t.equal(step.broke ? 'breaks' : step.apply.length > 0 ? 'applies' : 'waits', expected, `${action} ${seq}`);
  }
  t.match(map(frame(bookFrame('update', base, base - 1n))), [
    {
      values: {
        kind: 'update',
        bids: [
          ['5', '6'],
          ['4', '0'],
        ],
        asks: [['7', '8']],
        sequence: '1304314508780744705',
      },
    },
  ]);
  t.end();
});

t.test('a v2 book without pseq continues while its sequence rises', (t) => {
  const v2 = (action: string, seq: number): string =>
    JSON.stringify({
      action,
      arg: { instType: 'USDT-FUTURES', channel: 'books', instId: 'AUSDT' },
      data: [{ asks: [], bids: [['5', '6']], checksum: 1, seq, ts: '1700000000001' }],
      ts: 1700000000002,
    });
  let sync: BookSync<null> = newBookSync();
  const outcomes = (
    [
      ['snapshot', 5],
      ['update', 9],
      ['update', 9],
      ['update', 8],
    ] as const
  ).map(([action, seq]) => {
    const chain = bitget.sequence(v2(action, seq));
    if (!chain) throw new Error('no chain');
    const step = stepBookSync(bitget.bookRule, sync, { chain, payload: null });
    sync = step.state;
    return step.broke ? 'breaks' : step.apply.length;
  });
  t.same(outcomes, [1, 1, 0, 'breaks']);
  t.match(map(frame(v2('update', 9)))[0]?.values, { sequence: '9' });
  t.end();
});

t.test('channels of the best levels are whole messages; a side with fewer levels than requested is complete', (t) => {
  const findChain = (topic: string) =>
    bitget.map({}, frame(bookFrame('snapshot', 9n, 0n, topic)), NO_LISTINGS)[0]?.chain;
  t.same(findChain('books15')?.full, { bids: true, asks: true });
  t.equal(findChain('books15')?.kind, 'snapshot');
  t.equal(findChain('books')?.full, undefined, 'its depth is not known');
  t.equal(findChain('books1'), undefined, 'the best level alone is never our book');
  t.equal(bitget.sequence(bookFrame('snapshot', 9n, 0n, 'books1')), null);
  t.end();
});

t.test('the quick check of a frame agrees with the mapper', (t) => {
  for (const file of [WS, TARDIS, SESSION]) {
    let wrong = 0;
    for (const line of readRecording(`bitget/${file}`).filter(({ dir }) => dir === 'in')) {
      const mapped = bitget.map({}, toVenueMessage(line), NO_LISTINGS).find(({ chain }) => chain)?.chain;
      const { full: _, ...ids } = mapped ?? { full: undefined };
      const { full: __, ...seen } = bitget.sequence(line.raw) ?? { full: undefined };
      const text = (value: object): string => JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? `${v}n` : v));
      if (text(ids) !== text(seen)) wrong++;
    }
    t.equal(wrong, 0, file);
  }
  t.end();
});

t.test('a book by request is printed with its digits, never joined; a merged one is none', (t) => {
  const numbers = (request: string, data: string): VenueMessage => ({
    ...answer(request, null),
    payload: Buffer.from(`{"code":"00000","requestTime":3,"data":${data}}`),
  });
  const v3 = bitget.map(
    {},
    numbers(
      'v3/market/orderbook?symbol=AUSDT&category=USDT-FUTURES',
      '{"a":[[73000.0,0.007]],"b":[[71213.30,10.000]],"ts":"1700000000001"}',
    ),
    NO_LISTINGS,
  );
  t.match(v3, [
    {
      record: {
        venue_symbol: 'AUSDT',
        venue_ts: 1700000000001_000,
        values: { kind: 'snapshot', bids: [['71213.3', '10']], asks: [['73000', '0.007']], sequence: null },
      },
    },
  ]);
  t.equal(v3[0]?.chain, undefined);
  const merged = '{"asks":[[26347.5,0.25]],"bids":[[26346.5,0.16]],"ts":"1695870968804","precision":"scale1"}';
  t.same(map(numbers('v2/mix/market/merge-depth?symbol=AUSDT', merged)), []);
  t.equal(map(numbers('v2/mix/market/merge-depth?symbol=AUSDT', merged.replace('scale1', 'scale0'))).length, 1);
  t.equal(
    runCase(() => mapLine(REST, 10)),
    'VENUE_UNKNOWN_LISTING',
    'a book of nobody',
  );
  t.end();
});

const v3 = (topic: string, data: readonly unknown[], more: object = {}, action = 'update'): VenueMessage =>
  frame({ action, arg: { instType: 'usdt-futures', topic, symbol: 'AUSDT', ...more }, data, ts: 1700000000009 });

t.test('v3 trades after the first message; that one repeats the past', (t) => {
  // No recording has a live v3 trade: the first message of jkorf-ws:28 with its action changed.
  t.same(map(frame(lineOf(WS, 28).raw.replace('"action":"snapshot"', '"action":"update"'))), [
    trade('BTCUSDT', [1736348770627], {
      id: '1260903622036942849',
      side: 'buy',
      price: '100000',
      quantity: '0.00118',
    }),
  ]);
  // Its id with figures of the test's own.
  const data = [{ i: '1260903622036942849', p: '42.50', v: '43', S: 'sell', T: '1700000000001', L: '7', isRPI: 'no' }];
  t.same(map(v3('publicTrade', data)), [
    trade('AUSDT', [1700000000001], { id: '1260903622036942849', side: 'sell', price: '42.5', quantity: '43' }),
  ]);
  t.same(map(v3('publicTrade', data, {}, 'snapshot')), []);
  for (const [file, line] of [
    [WS, 12],
    [WS, 28],
    [SESSION, 8],
  ] as const)
    t.same(mapLine(file, line), [], `${file}:${line}`);
  t.end();
});

/** No recording has one: the push of https://www.bitget.com/api-doc/uta/websocket/public/Liquidation-Channel, seen 2026-11-21. */
const DOCUMENTED_LIQUIDATION =
  '{"data":[{"symbol":"BTCUSDT","side":"buy","price":"89000","amount":"37.722858","ts":"1736371332162"}],' +
  '"arg":{"instType":"usdt-futures","topic":"liquidation"},"action":"update","ts":1736371332162}';

t.test('the documented liquidation is of a long, in the quote coin', (t) => {
  t.same(map(frame(DOCUMENTED_LIQUIDATION)), [
    record('liquidation', 'BTCUSDT', [1736371332162], {
      id: null,
      side: 'long',
      price: '89000',
      price_kind: 'bankruptcy',
      quantity: '37.722858',
      quantity_unit: 'quote',
    }),
  ]);
  t.equal(bitget.classify(DOCUMENTED_LIQUIDATION), 'data');
  t.end();
});

t.test('v3 liquidations of all listings: the side is the position closed', (t) => {
  const message = frame({
    action: 'update',
    arg: { instType: 'usdt-futures', topic: 'liquidation' },
    data: [
      { symbol: 'AUSDT', side: 'buy', price: '89000', amount: '37.5', ts: '1700000000001' },
      { symbol: 'BUSDT', side: 'sell', price: '7', amount: '8', ts: '1700000000002' },
    ],
    ts: 1700000000003,
  });
  const expected = { id: null, price_kind: 'bankruptcy', quantity_unit: 'quote' };
  t.same(map(message), [
    record('liquidation', 'AUSDT', [1700000000001], { ...expected, side: 'long', price: '89000', quantity: '37.5' }),
    record('liquidation', 'BUSDT', [1700000000002], { ...expected, side: 'short', price: '7', quantity: '8' }),
  ]);
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

const listListings = (message: VenueMessage): readonly ListingRecord[] =>
  bitget.mapReference({}, message)?.listings ?? [];
const instrument = (symbol: string, change: object = {}): object => ({
  symbol,
  category: 'USDT-FUTURES',
  baseCoin: symbol.replace(/(USDT|PERP|USD)$/, ''),
  quoteCoin: 'USDT',
  type: 'perpetual',
  symbolType: 'crypto',
  status: 'online',
  ...change,
});

t.test('each rule of a v3 listing has its derivation', (t) => {
  t.same(listListings(toVenueMessage(lineOf(REST, 20))), [
    record('listing', 'BTCUSDT', [1770531054230], {
      instrument: 'BTC-PERP',
      venue_symbol: 'BTCUSDT',
      base: 'BTC',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: '0.0001',
      min_qty: '0.0001',
      min_notional: '5',
      price_decimals: 1,
      qty_decimals: 4,
      units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'priceMultiplier', transform: 'string_to_number' },
        lot_size: { venue_field: 'quantityMultiplier', transform: 'string_to_number' },
        min_qty: { venue_field: 'minOrderQty', transform: 'string_to_number' },
        min_notional: { venue_field: 'minOrderAmount', transform: 'string_to_number' },
        price_decimals: { venue_field: 'pricePrecision', transform: 'string_to_number' },
        qty_decimals: { venue_field: 'quantityPrecision', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: [],
      bands: BANDS,
      oi_sides: null,
      listed_at: null,
      delisted_at: null,
    }),
  ]);
  t.end();
});

t.test('the tick of v1 and v2 is steps of the last decimal; sizeMultiplier is a step of sizes, no contract', (t) => {
  t.match(listListings(toVenueMessage(lineOf(REST, 1))), [
    {
      values: {
        contract_size: '1',
        tick_size: '0.1',
        lot_size: '0.01',
        min_notional: '5',
        rules_normalisation: {
          tick_size: { venue_field: 'priceEndStep', transform: 'scale:0.1' },
          lot_size: { venue_field: 'sizeMultiplier', transform: 'string_to_number' },
        },
      },
    },
  ]);
  const linear = listListings(toVenueMessage(lineOf(V1_CONTRACTS, 2)));
  const inverse = listListings(toVenueMessage(lineOf(V1_CONTRACTS, 3)));
  t.same([linear.length, inverse.length], [51, 8]);
  t.equal(bitget.mapReference({}, toVenueMessage(lineOf(V1_CONTRACTS, 3)))?.scope, 'dmcbl');
  t.match(linear[0], {
    venue_symbol: 'BTCUSDT_UMCBL',
    values: {
      base: 'BTC',
      venue_kind: 'linear',
      tick_size: '0.5',
      lot_size: '0.001',
      min_notional: null,
      status: 'unknown',
      funding_interval: null,
      not_published: ['min_notional'],
      rules_normalisation: { lot_size: { venue_field: 'volumePlace', transform: 'decimals_to_step' } },
    },
  });
  t.match(inverse[1], {
    venue_symbol: 'ETHUSD_DMCBL',
    values: {
      venue_kind: 'inverse',
      quote: 'USD',
      quantity_unit: 'base',
      tick_size: '0.01',
      lot_size: '0.1',
      min_qty: '0.1',
    },
  });
  t.match(linear[2]?.values, { base: 'XRP', tick_size: '0.0001', lot_size: '1', qty_decimals: 0 });
  t.end();
});

t.test('dated futures are no listings; words of the venue, multipliers, times without a value', (t) => {
  const listings = listListings(
    answer('v3/market/instruments?category=USDT-FUTURES', [
      instrument('1MBABYDOGEUSDT', { launchTime: '1700000000000', fundInterval: '4' }),
      instrument('1000BONKUSDT', { status: 'limit_open' }),
      instrument('1INCHUSDT', { status: 'offline', offTime: '1700000000001' }),
      instrument('BTCPERP', { status: 'listed', quoteCoin: 'USDC', minTradeUSDT: '5' }),
      instrument('BTCUSDZ24', { type: 'delivery' }),
      instrument('ETHUSDZ24'),
      instrument('ETHUSD', { quoteCoin: 'USD', status: 'restrictedAPI', offTime: '-1', launchTime: '' }),
    ]),
  );
  t.match(
    listings.map(({ values }) => values),
    [
      {
        base: 'BABYDOGE',
        multiplier: '1000000',
        base_venue_alias: '1MBABYDOGE',
        funding_interval: '4h',
        listed_at: 1700000000000_000,
      },
      { base: 'BONK', multiplier: '1000', status: 'reduce_only' },
      { base: '1INCH', multiplier: '1', status: 'delisted', delisted_at: 1700000000001_000 },
      { base: 'BTC', status: 'pre_launch', venue_kind: 'linear', min_notional: null },
      { base: 'ETH', venue_kind: 'inverse', status: 'unknown', listed_at: null, delisted_at: null },
    ],
  );
  t.equal(listings.length, 5);
  t.equal(bitget.mapReference({}, answer('v3/market/instruments?category=SPOT', [instrument('BTCUSDT')])), null);
  t.end();
});

t.test('the unified coin-margined line counts dollars, the older ones the base asset', (t) => {
  const coin = (symbol: string, change: object = {}): object =>
    instrument(symbol, { category: 'COIN-FUTURES', baseCoin: 'BTC', quoteCoin: 'USD', minOrderQty: '1', ...change });
  const rules = { quantityMultiplier: '1', quantityPrecision: '0', priceMultiplier: '0.1', minOrderAmount: '' };
  const listings = listListings(
    answer('v3/market/instruments?category=COIN-FUTURES', [
      coin('BTCUSD_CM', rules),
      coin('BTCCMZ26', { ...rules, type: 'delivery' }),
      coin('BTCUSD'),
    ]),
  );
  const found = listings.map(({ venue_symbol, values }) => {
    const { venue_kind, contract_size, quantity_unit, units } = values;
    return [venue_symbol, venue_kind, contract_size, quantity_unit, units.contract_size, units.min_qty, units.lot_size];
  });
  t.same(found, [
    ['BTCUSD_CM', 'inverse', '1', 'quote', 'quote', 'quote', 'quote'],
    ['BTCUSD', 'inverse', '1', 'base', 'base', 'base', null],
  ]);
  for (const [symbol, quantity_unit] of [
    ['BTCUSD_CM', 'quote'],
    ['BTCUSD', 'base'],
    ['BTCUSD_DMCBL', 'base'],
  ] as const) {
    const implied = bitget.impliedQuantity?.(symbol);
    t.same(implied, { venue_kind: 'inverse', contract_size: '1', quantity_unit }, symbol);
    const data = [{ i: '1', p: '2', v: '3', S: 'buy', T: '1700000000001' }];
    t.match(map(v3('publicTrade', data, { instType: 'coin-futures', symbol })), [{ values: { quantity_unit } }]);
  }
  t.same(map(v3('ticker', [{ lastPrice: '5' }], { instType: 'coin-futures', symbol: 'BTCCMZ26' })), []);
  t.match(map(v3('ticker', [{ openInterest: '5', volume24h: '6' }], { symbol: 'BTCUSD_CM' })), [
    { values: { oi_unit: 'base' } },
    { values: { volume_unit: 'base' } },
  ]);
  t.end();
});

const PRICE_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'candles'];
type Topic = { readonly instType: string; readonly topic: string; readonly symbol?: string };
const listTopics = (frames: readonly string[]): readonly Topic[] =>
  frames.flatMap((text) => (JSON.parse(text) as { args: Topic[] }).args);
const makePlan = (names: readonly string[], shards = 1) => {
  const listings = listListings(
    answer(
      'v3/market/instruments?category=USDT-FUTURES',
      names.map((name) => instrument(name)),
    ),
  );
  return bitget.plan(listings, { shards, shardOf: (symbol) => symbol.length % shards, endpoints: bitget.endpoints });
};

t.test('the plan subscribes fifty topics a socket, each with its product type', (t) => {
  const names = [...Array.from({ length: 70 }, (_, i) => `A${i}USDT`), 'BTCPERP', 'BTCUSD'];
  const slots = makePlan(names, 2);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const seen = new Set<string>();
  let topics = 0;
  for (const slot of slots) {
    if (slot.kind !== 'socket' || slot.id === 'liquidations') continue;
    const args = listTopics(slot.subscribe);
    t.ok(args.length <= 50);
    t.equal(slot.url, 'wss://ws.bitget.com/v3/ws/public');
    const [cover] = slot.covers;
    const isBook = args[0]?.topic === 'books';
    t.same(cover?.layers, isBook ? ['book', 'venue_depth'] : PRICE_LAYERS);
    t.same([...new Set(args.map(({ symbol }) => symbol))], cover?.symbols);
    t.ok(cover?.symbols?.every((symbol) => slot.shards.includes(symbol.length % 2)));
    const watched = isBook
      ? []
      : [{ subscriptions: cover?.symbols?.map((symbol) => `ticker:${symbol}`), silenceMs: 30_000 }];
    t.same(slot.watched, watched, 'trades and candles may rest');
    for (const arg of args) seen.add(JSON.stringify(arg));
    topics += args.length;
  }
  t.equal(seen.size, 4 * names.length);
  t.equal(topics, seen.size, 'nothing is requested twice');
  t.ok(seen.has('{"instType":"usdt-futures","topic":"books","symbol":"A7USDT"}'));
  t.ok(seen.has('{"instType":"usdc-futures","topic":"ticker","symbol":"BTCPERP"}'));
  t.ok(seen.has('{"instType":"coin-futures","topic":"publicTrade","symbol":"BTCUSD"}'));
  t.ok(seen.has('{"instType":"coin-futures","topic":"kline","symbol":"BTCUSD","interval":"1m"}'));
  const first = slots[0];
  t.match(first?.kind === 'socket' ? first.subscribe[0] : '', /^\{"op":"subscribe","args":\[\{"instType"/);
  t.same(
    bitget.reference(bitget.endpoints).map(({ url }) => url),
    ['USDT-FUTURES', 'USDC-FUTURES', 'COIN-FUTURES'].map(
      (category) => `https://api.bitget.com/api/v3/market/instruments?category=${category}`,
    ),
  );
  t.end();
});

t.test('all liquidations come by one socket for every shard; a ticker shows that it is alive', (t) => {
  const [slot] = makePlan(['BTCUSD', 'A1USDT', 'BTCPERP', 'A2USDT'], 2).flatMap((one) =>
    one.kind === 'socket' && one.id === 'liquidations' ? [one] : [],
  );
  t.same(slot?.shards, [0, 1]);
  t.same(slot?.covers, [{ layers: ['liquidation'], symbols: null }]);
  t.same(listTopics(slot?.subscribe ?? []), [
    { instType: 'coin-futures', topic: 'liquidation' },
    { instType: 'usdc-futures', topic: 'liquidation' },
    { instType: 'usdt-futures', topic: 'liquidation' },
    { instType: 'usdt-futures', topic: 'ticker', symbol: 'A1USDT' },
  ]);
  t.same(slot?.watched, [{ subscriptions: ['ticker:A1USDT'], silenceMs: 30_000 }]);
  t.same(makePlan([]), []);
  t.end();
});

t.test('every topic of the plan is one that the mapper reads', (t) => {
  const topics = makePlan(['AUSDT']).flatMap((slot) => (slot.kind === 'socket' ? listTopics(slot.subscribe) : []));
  const candle = ['1700000040000', '61', '64', '60', '62', '65', '66', '66'];
  const liquidation = { symbol: 'AUSDT', side: 'buy', price: '89000', amount: '37.5', ts: '1700000000001' };
  const frames: Readonly<Record<string, VenueMessage>> = {
    books: frame(bookFrame('snapshot', 2n, 1n)),
    kline: v3('kline', [candle], { interval: '1m' }),
    liquidation: v3('liquidation', [liquidation]),
    publicTrade: v3('publicTrade', [{ i: '1', p: '2', v: '3', S: 'buy', T: '1700000000001' }]),
    ticker: v3('ticker', [{ lastPrice: '5' }]),
  };
  t.same([...new Set(topics.map(({ topic }) => topic))].toSorted(), Object.keys(frames));
  for (const [topic, message] of Object.entries(frames)) t.ok(map(message).length > 0, topic);
  t.end();
});

t.test('layers: liquidations are a lower bound', (t) => {
  const onChange = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
  t.same(bitget.layers.trades, onChange);
  t.same(bitget.layers.liquidation, { ...onChange, completeness: 'sampled' });
  t.same(bitget.layers.candles, onChange);
  t.end();
});

t.test('candles of mark and index prices are polled for as many listings as the path allows', (t) => {
  const names = Array.from({ length: 600 }, (_, i) => `A${i}USDT`);
  const [poll] = makePlan(names).flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.same(poll?.covers[0]?.layers, ['price_candles']);
  t.equal(poll?.covers[0]?.symbols?.length, 330);
  t.same(
    poll?.requests.slice(0, 2),
    ['MARK', 'INDEX'].map((type) => ({
      method: 'GET',
      url: `https://api.bitget.com/api/v3/market/candles?category=USDT-FUTURES&symbol=A0USDT&interval=1m&type=${type}&limit=3`,
      weight: 1,
      urgency: 'price_candle',
    })),
  );
  const perMinute = (2 * (330 + 45 + 30) * 60_000) / (poll?.everyMs ?? 1);
  t.equal(perMinute, 540, 'of 720 requests allowed a minute');
  t.ok((poll?.everyMs ?? 0) <= 90_000, 'what comes 100 s after its minute counts no more');
  const findOff = (listings: readonly ListingRecord[]) =>
    Object.fromEntries(listings.map(({ venue_symbol, off = [] }) => [venue_symbol, off.join()]));
  const coins = Array.from({ length: 31 }, (_, i) =>
    instrument(`C${i}USD`, { launchTime: String(1_700_000_000_000 + i), status: i === 0 ? 'listed' : 'online' }),
  );
  const off = findOff(listListings(answer('v3/market/instruments?category=COIN-FUTURES', coins)));
  t.equal(off.C0USD, 'price_candles', 'not yet open');
  t.equal(off.C1USD, '');
  t.equal(off.C30USD, '', 'the thirtieth that is open');
  const more = [...coins, instrument('YUSD', { launchTime: '1700000000099' })];
  t.equal(findOff(listListings(answer('v3/market/instruments?category=COIN-FUTURES', more))).YUSD, 'price_candles');
  const [priced] = makePlan([]).flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.equal(priced, undefined);
  t.end();
});

t.test('a minute is over when a newer one is published; missing minutes are requested', (t) => {
  const toText = (message: VenueMessage): string => message.payload.toString();
  const row = (start: number): readonly string[] => [String(start), '61', '64', '60', '62', '65', '66', '66'];
  const [before, open] = [1699999980000, 1700000040000];
  const newest = (message: VenueMessage) => bitget.newestMinute?.(toText(message));
  t.same(newest(v3('kline', [row(open)], { interval: '1m' })), { symbol: 'AUSDT', openMs: open });
  t.same(newest(v3('kline', [row(before), row(open)], { interval: '1m' }, 'snapshot')), {
    symbol: 'AUSDT',
    openMs: open,
  });
  t.same(newest(v3('kline', [{ start: String(open), open: '61' }], { interval: '1m' })), {
    symbol: 'AUSDT',
    openMs: open,
  });
  t.equal(newest(v3('kline', [row(open)], { interval: '1D' })), null);
  const recorded = lineOf(WS, 22).raw.replace('"1D"', '"1m"');
  t.same(
    bitget.newestMinute?.(recorded),
    { symbol: 'BTCUSDT', openMs: 1710518400000 },
    'a recorded one, were it a minute',
  );
  t.equal(newest(v3('publicTrade', [{ i: '1', p: '2', v: '3', S: 'buy', T: String(open) }])), null);
  const asked = bitget.candles?.({ venue_symbol: 'AUSDT' }, { fromMs: open, toMs: open }, bitget.endpoints);
  t.same(asked, {
    method: 'GET',
    url: 'https://api.bitget.com/api/v3/market/candles?category=USDT-FUTURES&symbol=AUSDT&interval=1m&startTime=1699999980000&endTime=1700000160000&limit=4',
    weight: 1,
  });
  t.match(map({ ...answer('', [row(open)]), request: `GET ${asked?.url}` }), [
    { layer: 'candle', venue_symbol: 'AUSDT', values: { price_type: 'trade', open_time: open * 1000, close: '62' } },
  ]);
  t.match(
    bitget.candles?.({ venue_symbol: 'BTCPERP' }, { fromMs: open, toMs: open }, bitget.endpoints).url,
    /category=USDC-FUTURES&symbol=BTCPERP/,
  );
  t.end();
});

t.test('a subscription that went silent, or whose book broke, is renewed', (t) => {
  t.equal(bitget.subscriptionOf?.(bookFrame('update', 2n, 1n)), 'books:AUSDT');
  t.equal(bitget.subscriptionOf?.(lineOf(WS, 25).raw), 'ticker:BTCUSDT');
  t.equal(bitget.subscriptionOf?.(lineOf(WS, 28).raw), null, 'trades');
  t.same(bitget.renew?.(['ticker:AUSDT', 'books:BTCUSD']), [
    '{"op":"unsubscribe","args":[{"instType":"usdt-futures","topic":"ticker","symbol":"AUSDT"},{"instType":"coin-futures","topic":"books","symbol":"BTCUSD"}]}',
    '{"op":"subscribe","args":[{"instType":"usdt-futures","topic":"ticker","symbol":"AUSDT"},{"instType":"coin-futures","topic":"books","symbol":"BTCUSD"}]}',
  ]);
  t.equal(bitget.classify('{"event":"unsubscribe","arg":{"instType":"usdt-futures","topic":"ticker"}}'), 'ack');
  const commands = (3_600_000 / (bitget.limits.renewEveryMs ?? 1)) * 2;
  t.ok(commands <= 180, 'of 240 requests an hour');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(bitget.classify('pong'), 'heartbeat');
  t.equal(bitget.classify(lineOf(WS, 18).raw), 'ack');
  t.equal(bitget.classify('{"event":"error","arg":{},"code":30003,"msg":"x"}'), 'error');
  for (const [file, line] of [
    [WS, 19],
    [WS, 9],
    [SESSION, 9],
  ] as const)
    t.equal(bitget.classify(lineOf(file, line).raw), 'data');
  t.same(bitget.ping, { everyMs: 30_000, frame: 'ping' });
  t.end();
});
