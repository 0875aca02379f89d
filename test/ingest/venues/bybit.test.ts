// Bybit: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext, MapState } from '../../../ingest/venues/contract/mapping.ts';
import { type BookSync, newBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { ListingRecord, NormalisedRecord } from '../../../schemas/records.ts';
import { fixturePath, readRecording, toVenueMessage } from '../../support/recordings.ts';
import { BANDS, makeCandles, runCase, venueBench } from '../../support/venue-checks.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };
const REST = 'jkorf-rest-examples.ndjson';
const WS = 'jkorf-ws-examples.ndjson';
const TARDIS = 'tardis-tests-bybit-messagesV5.ndjson';

const { frame, lineOf, map, mapLine, ...bench } = venueBench(bybit);
const answer = (path: string, result: unknown, time: number | undefined = 1700000000001): VenueMessage => ({
  ...frame({ retCode: 0, retMsg: 'OK', result, time }),
  kind: 'response',
  request: `GET https://api.bybit.com/v5/market/${path}`,
});
const record = (layer: string, symbol: string, venueMs: number | null, values: unknown): unknown =>
  bench.record(layer, symbol, [venueMs, null], values);

const ticker = (symbol: string, ms: number, figures: Readonly<Record<string, unknown>>): readonly unknown[] => [
  record('ticker', symbol, ms, { last: figures.last }),
  record('mark', symbol, ms, { mark: figures.mark, index: figures.index }),
  record('funding', symbol, ms, {
    funding: figures.funding,
    funding_interval_ms: null,
    next_funding_at: (figures.next as number) * 1000,
  }),
  record('oi', symbol, ms, { oi: figures.oi, oi_unit: figures.unit }),
  record('stats', symbol, ms, {
    volume_24h: figures.volume,
    volume_unit: figures.unit,
    turnover_24h: figures.turnover,
    change_24h: figures.change,
  }),
];
const trade = (symbol: string, ms: number, id: string, values: unknown): unknown =>
  record('trade', symbol, ms, { id, side: 'buy', ...(values as object) });
const liquidation = (symbol: string, ms: number, values: unknown): unknown =>
  record('liquidation', symbol, ms, { id: null, price_kind: 'bankruptcy', ...(values as object) });

const CASES: readonly (readonly [name: string, file: string, line: number, records: readonly unknown[]])[] = [
  [
    'a full linear ticker gives five layers in base units',
    WS,
    6,
    ticker('BTCUSDT', 1673272861686, {
      last: '17216',
      mark: '17217.33',
      index: '17227.36',
      funding: '-0.000212',
      next: 1673280000000,
      oi: '68744.761',
      unit: 'base',
      volume: '91705.276',
      turnover: '1570383121.943499',
      change: '0.017103',
    }),
  ],
  [
    'a full inverse ticker counts dollars, and its turnover in the base asset is none',
    TARDIS,
    7,
    ticker('BTCUSD', 1680673822577, {
      last: '28560',
      mark: '28560',
      index: '28566.94',
      funding: '0.0001',
      next: 1680681600000,
      oi: '449736676',
      unit: 'quote',
      volume: '661543991',
      turnover: null,
      change: '0.023362',
    }),
  ],
  [
    'a full ticker without a funding interval',
    TARDIS,
    11,
    ticker('BTCUSDT', 1680673821770, {
      last: '28550.7',
      mark: '28552.81',
      index: '28562.25',
      funding: '0.0001',
      next: 1680681600000,
      oi: '52774.528',
      unit: 'base',
      volume: '151185.516',
      turnover: '4273027716.4294',
      change: '0.023333',
    }),
  ],
  [
    'a REST ticker has the stamp of its answer',
    REST,
    6,
    ticker('BTCUSD', 1672376496682, {
      last: '16597',
      mark: '16596',
      index: '16598.54',
      funding: '-0.001034',
      next: 1672387200000,
      oi: '373504107',
      unit: 'quote',
      volume: '49337318',
      turnover: null,
      change: '0.008047',
    }),
  ],
  [
    'a snapshot of fifty levels',
    TARDIS,
    5,
    [
      record('book', 'BTCPERP', 1680673821591, {
        kind: 'snapshot',
        bids: [['28555.2', '0.597']],
        asks: [['28555.3', '0.225']],
        sequence: '20683568',
      }),
    ],
  ],
  [
    'the best level alone',
    TARDIS,
    3,
    [
      record('book', 'BTCUSDT', 1680673820717, {
        kind: 'snapshot',
        bids: [['28552', '0.047']],
        asks: [['28552.1', '25.433']],
        sequence: '7003305',
      }),
    ],
  ],
  [
    'a delta of one side',
    TARDIS,
    4,
    [
      record('book', 'BTCUSDT', 1680673821137, {
        kind: 'update',
        bids: [['28552', '0.012']],
        asks: [],
        sequence: '7003306',
      }),
    ],
  ],
  [
    'a delta keeps its order and removals',
    TARDIS,
    14,
    [
      record('book', 'BTCUSDT', 1682092584425, {
        kind: 'update',
        bids: [
          ['27994.6', '0'],
          ['27991.7', '0.777'],
        ],
        asks: [
          ['27994.4', '0.058'],
          ['27994.8', '0'],
        ],
        sequence: '1188472',
      }),
    ],
  ],
  [
    'a REST book is a snapshot',
    REST,
    11,
    [
      record('book', 'BTCUSDT', 1709199771584, {
        kind: 'snapshot',
        bids: [['62710.2', '5.52']],
        asks: [['62710.3', '0.01']],
        sequence: '243781',
      }),
    ],
  ],
  [
    'inverse trades are amounts of dollars, one record each',
    TARDIS,
    1,
    [
      trade('BTCUSD', 1680673823564, '0cbf2330-952d-5d03-a462-4bf826c867af', {
        price: '28560.5',
        quantity: '5823',
        quantity_unit: 'quote',
      }),
      trade('BTCUSD', 1680673823564, '912e56de-9ed6-5f4f-9421-f0ff5a42d84a', {
        price: '28560.5',
        quantity: '3',
        quantity_unit: 'quote',
      }),
      trade('BTCUSD', 1680673823564, 'cb558b74-cf72-5157-b53b-93944db336ad', {
        price: '28560.5',
        quantity: '5593',
        quantity_unit: 'quote',
      }),
    ],
  ],
  [
    'linear trades are amounts of base',
    WS,
    9,
    [
      trade('BTCUSDT', 1672304486865, '20f43950-d8dd-5b31-9112-a178eb6023af', {
        price: '16578.5',
        quantity: '0.001',
        quantity_unit: 'base',
      }),
    ],
  ],
  [
    'a trade of another coin',
    TARDIS,
    2,
    [
      trade('LTCUSDT', 1680688979983, '4c7b6bdc-b4a3-5716-9c7b-bbe01dc7072f', {
        price: '94.53',
        quantity: '0.4',
        quantity_unit: 'base',
      }),
    ],
  ],
  [
    'allLiquidation of a short that was closed',
    WS,
    3,
    [
      liquidation('ETHUSDT', 1739502302929, {
        side: 'short',
        price: '0.04499',
        quantity: '20000',
        quantity_unit: 'base',
      }),
    ],
  ],
  [
    'a liquidation of the old topic: Buy is a long that was closed, at its bankruptcy price',
    TARDIS,
    12,
    [
      liquidation('GALAUSDT', 1673251091822, {
        side: 'long',
        price: '0.03803',
        quantity: '1637',
        quantity_unit: 'base',
      }),
    ],
  ],
  [
    'Sell is a short, in dollars where the listing is inverse',
    TARDIS,
    13,
    [
      liquidation('XRPUSD', 1680673944093, {
        side: 'short',
        price: '0.5149',
        quantity: '6949',
        quantity_unit: 'quote',
      }),
    ],
  ],
  [
    'allLiquidation has a stamp for each',
    TARDIS,
    15,
    [
      liquidation('PIPPINUSDT', 1740480207110, {
        side: 'short',
        price: '0.02456',
        quantity: '2846',
        quantity_unit: 'base',
      }),
    ],
  ],
  [
    'past open interest keeps the stamp of each row',
    REST,
    9,
    [
      record('oi', 'BTCUSD', 1669571400000, { oi: '461134384', oi_unit: 'quote' }),
      record('oi', 'BTCUSD', 1669571100000, { oi: '461134292', oi_unit: 'quote' }),
    ],
  ],
];

t.test('recorded messages give the records that their bytes contain', (t) => {
  for (const [name, file, line, records] of CASES) t.same(mapLine(file, line), records, `${name} (${file}:${line})`);
  t.end();
});

const tickerFrame = (type: string, data: object, ts = 1700000000001, cs = 9): VenueMessage =>
  frame({ topic: 'tickers.AUSDT', type, data: { symbol: 'AUSDT', ...data }, cs, ts });
const FULL = {
  lastPrice: '21.50',
  markPrice: '22.0',
  indexPrice: '23',
  openInterest: '24',
  turnover24h: '25',
  volume24h: '26',
  price24hPcnt: '-0.027',
  fundingRate: '0.0028',
  nextFundingTime: '1700000029000',
  fundingIntervalHour: '4',
};

t.test('a delta is merged, and only a layer with another value is published again', (t) => {
  const state: MapState = {};
  t.same(map(tickerFrame('delta', { lastPrice: '20' }), state), [], 'nothing before the full message');
  t.equal(map(tickerFrame('snapshot', FULL), state).length, 5);
  const later = map(
    tickerFrame('delta', { markPrice: '22.1', lastPrice: '21.5', bid1Price: '3' }, 1700000000101),
    state,
  );
  t.same(
    later,
    [record('mark', 'AUSDT', 1700000000101, { mark: '22.1', index: '23' })],
    'the index is the one held; the last price is the same as before in other digits',
  );
  t.same(map(tickerFrame('delta', { nextFundingTime: '1700000030000' }, 1700000000201), state), [
    record('funding', 'AUSDT', 1700000000201, {
      funding: '0.0028',
      funding_interval_ms: 14_400_000,
      next_funding_at: 1700000030000_000,
    }),
  ]);
  t.same(map(tickerFrame('delta', { fundingRate: '' }, 1700000000301), state), [
    record('funding', 'AUSDT', 1700000000301, {
      funding: null,
      funding_interval_ms: 14_400_000,
      next_funding_at: 1700000030000_000,
    }),
  ]);
  t.throws(() => map(tickerFrame('delta', { indexPrice: '7', openInterest: 'x' }, 1700000000401), state), {
    code: 'VENUE_BAD_FIGURE',
    mapped: [{ record: record('mark', 'AUSDT', 1700000000401, { mark: '22.1', index: '7' }) }, {}],
  });
  t.same(
    map(tickerFrame('delta', { markPrice: '22.2' }, 1700000000501), state),
    [record('mark', 'AUSDT', 1700000000501, { mark: '22.2', index: '7' })],
    'what could be read is held',
  );
  t.same(JSON.parse(JSON.stringify(state)), state, 'what is kept is plain data');
  t.end();
});

/** The first message of a connection, which must be held whatever of it cannot be read. */
t.test('a full message with a member that cannot be read, or that is none yet, is held', (t) => {
  for (const [indexPrice, layers] of [
    ['0', 5],
    ['', 5],
    ['x', 5],
  ] as const) {
    const state: MapState = {};
    const first = tickerFrame('snapshot', { ...FULL, indexPrice });
    if (indexPrice === 'x') t.throws(() => map(first, state), { code: 'VENUE_BAD_FIGURE' });
    else t.equal(map(first, state).length, layers);
    t.same(
      map(tickerFrame('delta', { markPrice: '25', indexPrice: '26' }, 1700000000101), state),
      [record('mark', 'AUSDT', 1700000000101, { mark: '25', index: '26' })],
      `index "${indexPrice}"`,
    );
  }
  t.end();
});

t.test('a rate that the venue has replaced is never given again', (t) => {
  for (const [broken, rate] of [
    [{ fundingRate: '0.0005', indexPrice: 'x' }, '0.0005'],
    [{ fundingRate: '0.0005', fundingIntervalHour: '1e-9' }, '0.0005'],
    [{ fundingRate: 'x' }, null],
  ] as const) {
    const state: MapState = {};
    map(tickerFrame('snapshot', FULL), state);
    t.throws(() => map(tickerFrame('delta', broken, 1700000000101), state), { code: /VENUE_BAD/ });
    const [later] = map(tickerFrame('delta', { nextFundingTime: '1700000030000' }, 1700000000201), state);
    t.match(later, { layer: 'funding', values: { funding: rate } }, JSON.stringify(broken));
  }
  const state: MapState = {};
  map(tickerFrame('snapshot', FULL), state);
  const unplaced = frame({
    topic: 'tickers.AUSDT',
    type: 'delta',
    data: { symbol: 'AUSDT', fundingRate: '0.0006' },
    ts: 'x',
  });
  t.throws(() => map(unplaced, state), { code: 'VENUE_BAD_FRAME' }, 'nor when the stamp of its message cannot be read');
  const later = map(tickerFrame('delta', { nextFundingTime: '1700000030000' }, 1700000000201), state);
  t.match(later, [{ layer: 'funding', values: { funding: '0.0006' } }]);
  t.end();
});

t.test('a full message that repeats the one before gives nothing', (t) => {
  const state: MapState = {};
  t.equal(map(tickerFrame('snapshot', FULL), state).length, 5);
  t.same(map(tickerFrame('snapshot', FULL, 1700000000101), state), []);
  t.same(
    map(tickerFrame('snapshot', { ...FULL, openInterest: '99' }, 1700000000201), state).map(({ layer }) => layer),
    ['oi'],
  );
  t.end();
});

const makeLast = (symbol: string, ms: number, last: string): unknown => record('ticker', symbol, ms, { last });

t.test('a delayed delta replaces no newer value, and adds the members that only it contains', (t) => {
  const state: MapState = {};
  const mapTicker = (type: string, data: object, [ts, cs]: readonly [number, number]): readonly NormalisedRecord[] =>
    map(tickerFrame(type, data, 1700000000000 + ts, cs), state);
  mapTicker('snapshot', FULL, [0, 10]);
  t.same(mapTicker('delta', { lastPrice: '31' }, [200, 12]), [makeLast('AUSDT', 1700000000200, '31')]);
  t.same(
    mapTicker('delta', { lastPrice: '30', openInterest: '34' }, [100, 11]),
    [record('oi', 'AUSDT', 1700000000200, { oi: '34', oi_unit: 'base' })],
    'open interest of the older one is new, and true at the newest stamp; its last price is not',
  );
  t.same(mapTicker('delta', { openInterest: '33' }, [50, 11]), [], 'older than the message that published it');
  t.same(mapTicker('delta', { lastPrice: '29' }, [200, 11]), [], 'of one instant the sequence decides');
  t.same(mapTicker('delta', { lastPrice: '29' }, [100, 12]), [], 'of one sequence the clock decides');
  t.same(
    mapTicker('delta', { lastPrice: '32' }, [300, 3]),
    [makeLast('AUSDT', 1700000000300, '32')],
    'a sequence that began again is no older one',
  );
  t.same(
    mapTicker('delta', { lastPrice: '33' }, [250, 4]),
    [makeLast('AUSDT', 1700000000250, '33')],
    'nor is a clock that was put back',
  );
  t.end();
});

t.test('a delta that overtakes the first full message is not lost', (t) => {
  const state: MapState = {};
  t.same(map(tickerFrame('delta', { lastPrice: '31' }, 1700000000200, 12), state), []);
  const full = map(tickerFrame('snapshot', FULL, 1700000000100, 11), state);
  t.same(full[0], makeLast('AUSDT', 1700000000200, '31'));
  t.match(full[1], { layer: 'mark', venue_ts: 1700000000200_000, values: { mark: '22', index: '23' } });
  t.equal(full.length, 5);
  const { lastPrice: _, ...rest } = FULL;
  t.match(
    map(tickerFrame('snapshot', rest, 1700000000300, 13), state).map(({ layer }) => layer),
    ['ticker'],
    'what a newer full message leaves out is gone, and the rest is as before',
  );
  t.end();
});

t.test('the recorded delta of BTCUSD repeats what is the same and changes open interest', (t) => {
  const state: MapState = {};
  map(toVenueMessage(lineOf(TARDIS, 7)), state);
  t.same(map(toVenueMessage(lineOf(TARDIS, 8)), state), [
    record('oi', 'BTCUSD', 1680673822776, { oi: '449736674', oi_unit: 'quote' }),
  ]);
  t.end();
});

t.test('a turnover of an inverse listing is no change of its stats', (t) => {
  const state: MapState = {};
  const inverse = (type: string, data: object): VenueMessage =>
    frame({ topic: 'tickers.AUSD', type, data: { symbol: 'AUSD', ...data }, ts: 1700000000001 });
  map(inverse('snapshot', FULL), state);
  t.same(map(inverse('delta', { turnover24h: '999' }), state), []);
  t.equal(map(inverse('delta', { volume24h: '999' }), state).length, 1);
  t.end();
});

const bookFrame = (type: string, u: number, depth = 1000, levels = { b: [['5', '6']], a: [['7', '8']] }): string =>
  JSON.stringify({
    topic: `orderbook.${depth}.AUSDT`,
    type,
    ts: 1700000000002,
    data: { s: 'AUSDT', ...levels, u, seq: 99 },
    cts: 1700000000001,
  });

t.test('the stamp of a book is the matching engine, before the sending', (t) => {
  t.equal(map(frame(bookFrame('delta', 2)))[0]?.venue_ts, 1700000000001_000);
  t.end();
});

t.test('a book continues by one, breaks on a hole, and is whole again at a snapshot or at u 1', (t) => {
  const steps: readonly (readonly [string, number, string])[] = [
    ['delta', 4, 'waits'],
    ['snapshot', 10, 'applies'],
    ['delta', 11, 'applies'],
    ['delta', 11, 'waits'],
    ['delta', 12, 'applies'],
    ['delta', 14, 'breaks'],
    ['delta', 15, 'waits'],
    ['snapshot', 20, 'applies'],
    ['delta', 21, 'applies'],
    ['delta', 1, 'applies'],
    ['delta', 2, 'applies'],
    ['snapshot', 2, 'applies'],
    ['delta', 3, 'applies'],
  ];
  let sync: BookSync<null> = newBookSync();
  for (const [type, u, expected] of steps) {
    const chain = bybit.sequence(bookFrame(type, u));
    if (!chain) throw new Error('no chain');
    const step = stepBookSync(bybit.bookRule, sync, { chain, payload: null });
    sync = step.state;
    t.equal(step.broke ? 'breaks' : step.apply.length > 0 ? 'applies' : 'waits', expected, `${type} ${u}`);
  }
  t.equal(map(frame(bookFrame('delta', 1)))[0]?.layer, 'book');
  t.match(map(frame(bookFrame('delta', 1)))[0]?.values, { kind: 'snapshot' }, 'u 1 is the whole book');
  t.end();
});

t.test('one level of REST confirms the id of a book, and joins none', (t) => {
  const { url } = bybit.bookConfirmation?.({ venue_symbol: 'BTCUSDT' }, bybit.endpoints) ?? {};
  t.equal(url, 'https://api.bybit.com/v5/market/orderbook?category=linear&symbol=BTCUSDT&limit=1');
  const recorded = toVenueMessage(lineOf(REST, 11));
  const asked = (request: string) => bybit.map({}, { ...recorded, request }, NO_LISTINGS)[0]?.chain;
  t.match(asked(`GET ${url}`), { symbol: 'BTCUSDT', kind: 'confirmation', last: 243781n });
  t.equal(asked(String(recorded.request)), undefined);
  t.match(bybit.sequence(lineOf(REST, 11).raw), { symbol: 'BTCUSDT', kind: 'snapshot', last: 243781n });
  t.equal(bybit.sequence(lineOf(REST, 6).raw), null, 'another answer');
  t.end();
});

t.test(
  'a side of a snapshot with fewer levels than its depth is all there is; the best level alone has no chain',
  (t) => {
    const levels = {
      b: [
        ['5', '6'],
        ['4', '6'],
      ],
      a: [['7', '8']],
    };
    const findChain = (type: string, depth: number) =>
      bybit.map({}, frame(bookFrame(type, 9, depth, levels)), NO_LISTINGS)[0]?.chain;
    t.same(findChain('snapshot', 2)?.full, { bids: false, asks: true });
    t.equal(findChain('delta', 50)?.full, undefined);
    t.equal(findChain('snapshot', 1), undefined);
    t.equal(bybit.sequence(bookFrame('snapshot', 9, 1)), null);
    t.end();
  },
);

t.test('the quick check of a frame agrees with the mapper', (t) => {
  for (const file of [WS, TARDIS]) {
    for (const line of readRecording(`bybit/${file}`).filter(({ dir }) => dir === 'in')) {
      const mapped = bybit.map({}, toVenueMessage(line), NO_LISTINGS).find(({ chain }) => chain)?.chain ?? null;
      const { full: _, ...ids } = mapped ?? { full: undefined };
      t.same(bybit.sequence(line.raw) ?? {}, ids, line.raw.slice(0, 60));
    }
  }
  t.equal(
    bybit.sequence('{"topic":"orderbook.50.X","type":"delta","data":{"s":"X","u":9007199254740993}}')?.last,
    9007199254740993n,
  );
  t.end();
});

t.test('the assembled book joins the recorded snapshot and its delta', async (t) => {
  const lines: string[] = [];
  await normalise({
    venue: bybit,
    files: [fixturePath(`bybit/${TARDIS}`)],
    assembled: true,
    write: (line) => void lines.push(line),
  });
  const books = lines.map((line) => JSON.parse(line)).filter(({ layer }) => layer === 'book');
  t.match(books, [
    { venue_symbol: 'BTCPERP', values: { bids: [['28555.2', '0.597']], asks: [['28555.3', '0.225']] } },
    { venue_symbol: 'BTCPERP', values: { bids: [['28555.2', '0.677']], asks: [['28555.3', '0.029']] } },
  ]);
  t.equal(books.length, 2);
});

t.test('candles of a minute from the socket are closed when confirmed, others are none of ours', (t) => {
  const kline = {
    start: 1700000040000,
    end: 1700000099999,
    interval: '1',
    open: '61.0',
    close: '62',
    high: '63',
    low: '64',
    volume: '65',
    turnover: '66',
    confirm: true,
    timestamp: 1700000098000,
  };
  const of = (topic: string): VenueMessage => frame({ topic, data: [kline], ts: 1700000098005, type: 'snapshot' });
  const values = {
    open_time: 1700000040000_000,
    price_type: 'trade',
    timeframe: '1m',
    open: '61',
    high: '63',
    low: '64',
    close: '62',
    volume: '65',
    volume_unit: 'base',
    turnover: '66',
    trades: null,
    closed: true,
  };
  t.same(map(of('kline.1.AUSDT')), [record('candle', 'AUSDT', 1700000098000, values)]);
  t.same(map(of('kline.1.AUSD')), [
    record('candle', 'AUSD', 1700000098000, { ...values, volume_unit: 'quote', turnover: null }),
  ]);
  t.same(map(of('kline.5.AUSDT')), []);
  t.same(map(of('kline_lt.1.AUSDT')), []);
  t.end();
});

t.test('candles of REST: one minute only, mark and index without volume', (t) => {
  const of = (path: string, row: readonly string[], symbol = 'AUSDT'): VenueMessage =>
    answer(path, { symbol, category: 'linear', list: [row] });
  const row = ['1700000040000', '61', '63', '60', '62'];
  t.match(map(of('kline?symbol=AUSDT&interval=1', [...row, '65', '66'])), [
    {
      venue_ts: 1700000000001_000,
      values: {
        price_type: 'trade',
        open: '61',
        high: '63',
        low: '60',
        close: '62',
        volume: '65',
        turnover: '66',
        closed: null,
      },
    },
  ]);
  for (const type of ['mark', 'index'])
    t.match(map(of(`${type}-price-kline?interval=1`, row))[0]?.values, {
      price_type: type,
      open_time: 1700000040000_000,
      close: '62',
      volume: null,
      volume_unit: null,
      turnover: null,
    });
  t.same(map(of('kline?interval=60', [...row, '65', '66'])), []);
  t.same(map(of('index-price-kline?interval=1', row, 'BTCUSDZ22')), []);
  for (const line of [3, 8])
    t.equal(
      runCase(() => mapLine(REST, line)),
      'VENUE_UNKNOWN_LISTING',
      'no interval is known',
    );
  t.end();
});

t.test('recorded candles of REST by value, requested as minutes (their requests, for hours, are not recorded)', (t) => {
  const minutes = (line: number): readonly NormalisedRecord[] => {
    const recorded = toVenueMessage(lineOf(REST, line));
    return map({ ...recorded, request: `${recorded.request}?interval=1` });
  };
  const candle = (symbol: string, ms: number, values: object): unknown =>
    record('candle', symbol, ms, { timeframe: '1m', trades: null, closed: null, turnover: null, ...values });
  const traded = { price_type: 'trade', volume_unit: 'quote' };
  t.same(minutes(3), [
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670608800000_000,
      open: '17071',
      high: '17073',
      low: '17027',
      close: '17055.5',
      volume: '268611',
    }),
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670605200000_000,
      open: '17071.5',
      high: '17071.5',
      low: '17061',
      close: '17071',
      volume: '4177',
    }),
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670601600000_000,
      open: '17086.5',
      high: '17088',
      low: '16978',
      close: '17071.5',
      volume: '6356',
    }),
  ]);
  t.same(minutes(8), [
    candle('BTCUSDT', 1672026361839, {
      price_type: 'mark',
      open_time: 1670608800000_000,
      open: '17164.16',
      high: '17164.16',
      low: '17121.5',
      close: '17131.64',
      volume: null,
      volume_unit: null,
    }),
  ]);
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['settled funding', REST, 1],
    ['an index of a dated future', REST, 2],
    ['long and short accounts', REST, 7],
    ['price limits', REST, 10],
    ['a premium index', REST, 12],
    ['risk limits', REST, 13],
    ['spot trades', REST, 14],
    ['an acknowledgement', WS, 2],
    ['a dated ticker', TARDIS, 9],
    ['a dated delta', TARDIS, 10],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ success: true, ret_msg: 'pong', conn_id: 'x', op: 'ping' })), []);
  const spot = { symbol: 'BTCUSDT', lastPrice: '5', volume24h: '1', turnover24h: '1', price24hPcnt: '0' };
  t.same(map(frame({ topic: 'tickers.BTCUSDT', ts: 1, type: 'snapshot', cs: 1, data: spot })), [], 'a spot ticker');
  for (const symbol of ['BTCUSDT-25DEC26', 'BTC-25DEC26', 'BTC-6JAN23-17500-C', 'ETHUSDH26'])
    t.same(map(frame({ topic: `publicTrade.${symbol}`, data: [{ s: symbol }] })), [], symbol);
  t.equal(map(tickerFrame('snapshot', { ...FULL, lastPrice: '0' })).length, 4, 'nothing was traded yet');
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const trade = { T: 1, s: 'AUSDT', S: 'Buy', v: '1', p: '2', i: 'x' };
  const trades = (change: object): VenueMessage =>
    frame({ topic: 'publicTrade.AUSDT', type: 'snapshot', ts: 1, data: [{ ...trade, ...change }] });
  const table: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"topic":"tickers.'), 'VENUE_BAD_FRAME'],
    ['no object', frame('17'), 'VENUE_BAD_FRAME'],
    ['a refusal', frame({ success: false, ret_msg: 'error:handler not found', op: 'subscribe' }), 'VENUE_BAD_FRAME'],
    [
      'a refused request',
      { ...answer('tickers', {}), payload: Buffer.from('{"retCode":10006,"retMsg":"Too many visits!"}') },
      'VENUE_BAD_FRAME',
    ],
    ['a price of letters', trades({ p: 'abc' }), 'VENUE_BAD_FIGURE'],
    ['a price of zero', trades({ p: '0' }), 'VENUE_BAD_FIGURE'],
    ['a negative size', trades({ v: '-1' }), 'VENUE_BAD_FIGURE'],
    ['no side', trades({ S: 'buy' }), 'VENUE_BAD_FRAME'],
    [
      'a book without its id',
      frame({ topic: 'orderbook.50.AUSDT', type: 'delta', data: { s: 'AUSDT', b: [], a: [] } }),
      'VENUE_BAD_FRAME',
    ],
    ['an answer to nobody', { ...answer('tickers', { list: [] }), request: null }, 'VENUE_UNKNOWN_LISTING'],
  ];
  for (const [what, message, code] of table)
    t.equal(
      runCase(() => map(message)),
      code,
      what,
    );
  t.end();
});

t.test('figures sent as JSON numbers keep their digits', (t) => {
  const text =
    '{"topic":"tickers.AUSDT","type":"snapshot","ts":1,"data":{"symbol":"AUSDT","markPrice":0.123456789012345678901,"indexPrice":1e-7}}';
  t.same(map(frame(text)), [record('mark', 'AUSDT', 1, { mark: '0.123456789012345678901', index: '0.0000001' })]);
  t.end();
});

const listListings = (message: VenueMessage, state = {}): readonly ListingRecord[] =>
  bybit.mapReference(state, message)?.listings ?? [];
const instrument = (symbol: string, change: object = {}): object => ({
  symbol,
  contractType: 'LinearPerpetual',
  status: 'Trading',
  baseCoin: symbol.replace(/(USDT|PERP|USD)$/, ''),
  quoteCoin: 'USDT',
  launchTime: '1585526400000',
  deliveryTime: '0',
  priceScale: '2',
  fundingInterval: 480,
  ...change,
});

t.test('each rule of a listing has its derivation', (t) => {
  t.same(listListings(toVenueMessage(lineOf(REST, 4))), [
    record('listing', 'BTCUSDT', 1707186451514, {
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
      lot_size: '0.001',
      min_qty: '0.001',
      min_notional: '5',
      price_decimals: 2,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'priceFilter.tickSize', transform: 'string_to_number' },
        lot_size: { venue_field: 'lotSizeFilter.qtyStep', transform: 'string_to_number' },
        min_qty: { venue_field: 'lotSizeFilter.minOrderQty', transform: 'string_to_number' },
        min_notional: { venue_field: 'lotSizeFilter.minNotionalValue', transform: 'string_to_number' },
        price_decimals: { venue_field: 'priceScale', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['qty_decimals'],
      bands: BANDS,
      oi_sides: 'two',
      listed_at: 1585526400000_000,
      delisted_at: null,
    }),
  ]);
  t.match(listListings(toVenueMessage(lineOf(REST, 5))), [
    { venue_symbol: 'PRE02ZROUSDT', values: { status: 'pre_launch', base: 'PRE02ZRO', lot_size: '0.1' } },
  ]);
  t.end();
});

t.test('inverse listings count dollars; dated futures are none; the funding interval is in minutes', (t) => {
  const list = [
    instrument('BTCUSD', { contractType: 'InversePerpetual', quoteCoin: 'USD', fundingInterval: 60 }),
    instrument('BTCUSDU23', { contractType: 'InverseFutures' }),
    instrument('XUSD', { contractType: 'InversePerpetual', status: 'Closed', deliveryTime: '1700000000000' }),
  ];
  const listings = listListings(answer('instruments-info?category=inverse', { category: 'inverse', list }));
  t.match(listings, [
    {
      venue_symbol: 'BTCUSD',
      values: {
        venue_kind: 'inverse',
        quantity_unit: 'quote',
        contract_size: '1',
        units: { contract_size: 'quote' },
        funding_interval: '1h',
        not_published: ['qty_decimals', 'min_notional', 'turnover_24h'],
      },
    },
    { venue_symbol: 'XUSD', values: { status: 'delisted', delisted_at: 1700000000000_000 } },
  ]);
  t.equal(listings.length, 2);
  t.end();
});

t.test('multipliers before and behind a name are undone, names that begin with a digit are not', (t) => {
  for (const [baseCoin, base, multiplier] of [
    ['1000PEPE', 'PEPE', '1000'],
    ['1000000MOG', 'MOG', '1000000'],
    ['10000000AIDOGE', 'AIDOGE', '10000000'],
    ['1000X', 'X', '1000'],
    ['SHIB1000', 'SHIB', '1000'],
    ['1INCH', '1INCH', '1'],
    ['BTC', 'BTC', '1'],
  ]) {
    const list = [instrument('AUSDT', { baseCoin })];
    const [listing] = listListings(answer('instruments-info?category=linear', { category: 'linear', list }));
    t.match(listing?.values, {
      base,
      multiplier,
      instrument: `${base}-PERP`,
      base_venue_alias: base === baseCoin ? null : baseCoin,
    });
  }
  t.end();
});

t.test('listings before their launch come first and pass into the scope of their market', (t) => {
  const state = {};
  const early = answer('instruments-info?category=linear&status=PreLaunch&limit=1000', {
    category: 'linear',
    list: [instrument('NEWUSDT', { status: 'PreLaunch' }), instrument('SOONUSDT', { status: 'PreLaunch' })],
  });
  const open = answer('instruments-info?category=linear&limit=1000', {
    category: 'linear',
    list: [instrument('BTCUSDT'), instrument('NEWUSDT')],
  });
  t.equal(bybit.mapReference(state, early), null);
  const whole = bybit.mapReference(state, open);
  t.equal(whole?.scope, 'linear');
  t.same(
    whole?.listings.map((l) => [l.venue_symbol, l.values.status]),
    [
      ['BTCUSDT', 'tradeable'],
      ['NEWUSDT', 'tradeable'],
      ['SOONUSDT', 'pre_launch'],
    ],
  );
  t.equal(bybit.mapReference({}, toVenueMessage(lineOf(REST, 6))), null, 'another answer is no reference');
  t.same(
    bybit.mapReference({}, answer('instruments-info?category=linear', { list: [instrument('BTCUSDT')] }))?.listings[0],
    whole?.listings[0],
    'the request names the market too',
  );
  t.equal(bybit.mapReference({}, answer('instruments-info?category=spot', { list: [instrument('BTCUSDT')] })), null);
  t.end();
});

t.test('the plan subscribes books apart from all else, each market on its socket, within the limits', (t) => {
  const linear = Array.from({ length: 230 }, (_, i) => instrument(`A${i}USDT`));
  const listings = [
    ...listListings(answer('instruments-info?category=linear', { category: 'linear', list: linear })),
    ...listListings(
      answer('instruments-info?category=inverse', {
        category: 'inverse',
        list: [instrument('BTCUSD', { contractType: 'InversePerpetual' })],
      }),
    ),
  ];
  const shardOf = (symbol: string): number => symbol.length % 2;
  const slots = bybit.plan(listings, { shards: 2, shardOf, endpoints: bybit.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const topics = new Set<string>();
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const args = slot.subscribe.flatMap((text) => (JSON.parse(text) as { args: string[] }).args);
    t.ok(JSON.stringify(args).length < 21_000, 'characters of a connection');
    t.ok(slot.subscribe.every((text) => JSON.parse(text).args.length <= 10));
    t.ok(args.length <= bybit.limits.streamsPerConnection);
    t.same([...new Set(args.map((topic) => topic.replace(/^.*\./, '')))], slot.covers[0]?.symbols);
    for (const { subscriptions } of slot.watched ?? []) t.ok(subscriptions.every((topic) => args.includes(topic)));
    t.ok(slot.covers[0]?.symbols?.every((symbol) => slot.shards.includes(shardOf(symbol))));
    for (const topic of args) topics.add(`${slot.url} ${topic}`);
  }
  t.equal(topics.size, 5 * 231);
  for (const kind of ['publicTrade', 'allLiquidation', 'kline.1'])
    t.ok(topics.has(`wss://stream.bybit.com/v5/public/linear ${kind}.A7USDT`), kind);
  t.ok(topics.has('wss://stream.bybit.com/v5/public/linear orderbook.1000.A7USDT'));
  t.ok(topics.has('wss://stream.bybit.com/v5/public/linear tickers.A7USDT'));
  t.ok(topics.has('wss://stream.bybit.com/v5/public/inverse tickers.BTCUSD'));
  const first = slots[0];
  t.equal(
    first?.kind === 'socket' ? first.subscribe[0]?.slice(0, 60) : '',
    '{"req_id":"1","op":"subscribe","args":["orderbook.1000.A0USD',
  );
  t.same(
    bybit.reference(bybit.endpoints).map(({ url }) => url),
    ['linear&status=PreLaunch', 'linear', 'inverse'].map(
      (category) => `https://api.bybit.com/v5/market/instruments-info?category=${category}&limit=1000`,
    ),
  );
  t.end();
});

t.test('candles of mark and index prices are polled for every listing, far below the limit of requests', (t) => {
  const list = Array.from({ length: 1_000 }, (_, i) => instrument(`A${i}USDT`));
  const listings = listListings(answer('instruments-info?category=linear', { category: 'linear', list }));
  const slots = bybit.plan(listings, { shards: 1, shardOf: () => 0, endpoints: bybit.endpoints });
  const [poll] = slots.flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.same(poll?.covers[0]?.layers, ['price_candles']);
  t.equal(poll?.requests.length, 2_000);
  t.same(
    poll?.requests.slice(0, 2).map(({ url }) => url),
    ['mark', 'index'].map(
      (type) => `https://api.bybit.com/v5/market/${type}-price-kline?category=linear&symbol=A0USDT&interval=1&limit=3`,
    ),
  );
  const perMinute = (2_000 * 60_000) / (poll?.everyMs ?? 1);
  t.ok(perMinute < bybit.limits.restWeightPerMinute * 0.6, `${perMinute} a minute`);
  t.end();
});

t.test('what is requested when a connection omits something', (t) => {
  const url = 'https://api.bybit.com/v5/market';
  t.equal(
    bybit.candles?.({ venue_symbol: 'BTCUSD' }, { fromMs: 60_000, toMs: 120_000 }, bybit.endpoints).url,
    `${url}/kline?category=inverse&symbol=BTCUSD&interval=1&start=60000&end=180000&limit=3`,
  );
  t.match(bybit.confirm?.('tickers.BTCUSDT', bybit.endpoints), {
    symbol: 'BTCUSDT',
    request: { url: `${url}/tickers?category=linear&symbol=BTCUSDT` },
  });
  t.equal(bybit.confirm?.('kline.1.BTCUSDT', bybit.endpoints), null);
  t.same(bybit.renew?.(['tickers.A', 'tickers.B']), [
    '{"req_id":"1","op":"unsubscribe","args":["tickers.A","tickers.B"]}',
    '{"req_id":"1","op":"subscribe","args":["tickers.A","tickers.B"]}',
  ]);
  const refusal = '{"success":false,"ret_msg":"error:handler not found,topic:tickers.B","req_id":"1","op":"subscribe"}';
  const asked = '{"req_id":"1","op":"subscribe","args":["tickers.A","tickers.B"]}';
  t.equal(bybit.without?.(refusal, asked), '{"req_id":"1","op":"subscribe","args":["tickers.A"]}');
  t.equal(bybit.without?.(refusal, asked.replace('tickers.B', 'tickers.BB')), null);
  t.equal(bybit.without?.('{"success":false,"ret_msg":"Request not JSON"}', asked), null);
  t.end();
});

t.test('the quick checks return the topic of a frame and the minute that it closes', (t) => {
  const topics = [
    [WS, 6, 'tickers.BTCUSDT'],
    [TARDIS, 8, 'tickers.BTCUSD'],
    [TARDIS, 6, 'orderbook.50.BTCPERP'],
    [WS, 9, null],
    [WS, 3, null],
    [WS, 2, null],
  ] as const;
  for (const [file, line, topic] of topics) t.equal(bybit.subscriptionOf?.(lineOf(file, line).raw), topic);
  const open = '{"start":120000,"end":179999,"interval":"1","open":"1","confirm":false,"timestamp":1}';
  const closed = open.replace('120000', '60000').replace('false', 'true');
  const candles = (rows: string, interval = '1'): string =>
    `{"topic":"kline.${interval}.AUSDT","data":[${rows}],"ts":1,"type":"snapshot"}`;
  t.same(bybit.closedMinute?.(candles(closed)), { symbol: 'AUSDT', openMs: 60_000 });
  t.same(bybit.closedMinute?.(candles(`${open},${closed}`)), { symbol: 'AUSDT', openMs: 60_000 });
  t.equal(bybit.closedMinute?.(candles(open)), null);
  t.equal(bybit.closedMinute?.(candles(closed, '5')), null);
  t.equal(bybit.subscriptionOf?.(candles(open)), 'kline.1.AUSDT');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(bybit.classify(lineOf(WS, 2).raw), 'ack');
  t.equal(bybit.classify('{"success":false,"ret_msg":"error:handler not found","op":"subscribe"}'), 'error');
  t.equal(bybit.classify('{"success":true,"ret_msg":"pong","conn_id":"x","req_id":"","op":"ping"}'), 'heartbeat');
  t.equal(bybit.classify('{"req_id":"1","op":"pong","args":["1675418560633"],"conn_id":"x"}'), 'heartbeat');
  t.equal(bybit.classify(lineOf(TARDIS, 12).raw), 'data', 'its topic follows its data');
  t.same(bybit.ping, { everyMs: 20_000, frame: '{"op":"ping"}' });
  t.end();
});
