// Bybit: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { runCase, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, REST, record, TARDIS, WS } from './bybit.messages.ts';

const { frame, lineOf, map, mapLine } = venueBench(bybit);

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

t.test('a message that is far older than the one before was not overtaken: another recording begins', (t) => {
  const state: MapState = {};
  map(tickerFrame('snapshot', FULL, 1800000000000, 99), state);
  const older = { ...FULL, lastPrice: '28', fundingRate: '0.0002' };
  t.same(
    map(tickerFrame('snapshot', older, 1700000000000, 10), state).map(({ layer, venue_ts }) => [layer, venue_ts]),
    [
      ['ticker', 1700000000000_000],
      ['funding', 1700000000000_000],
    ],
    'its values replace the newer ones',
  );
  t.same(map(tickerFrame('delta', { lastPrice: '29' }, 1700000000100, 11), state), [
    makeLast('AUSDT', 1700000000100, '29'),
  ]);
  t.same(map(tickerFrame('delta', { lastPrice: '30' }, 1699999990101, 9), state), [], 'ten seconds are not far');
  t.equal(map(tickerFrame('delta', { lastPrice: '30' }, 1699999990099, 8), state).length, 1);
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
  const spread = 'SOLUSDT_SOL/USDT';
  const traded = { T: 1, s: spread, S: 'Sell', v: '2.5', p: '19.3928', i: 'x' };
  t.same(map(frame({ topic: `publicTrade.${spread}`, type: 'snapshot', ts: 1, data: [traded] })), [], 'a spread');
  const levels = { s: spread, b: [], a: [['22.3755', '4.7']], u: 64892, seq: 299084 };
  const book = frame({ topic: `orderbook.25.${spread}`, ts: 1, type: 'delta', data: levels });
  t.same(map(book), [], 'a book of a spread');
  t.equal(bybit.sequence(Buffer.from(book.payload).toString()), null, 'its chain');
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
