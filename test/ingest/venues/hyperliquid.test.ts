// Hyperliquid: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import t from 'tap';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import { hyperliquid } from '../../../ingest/venues/hyperliquid/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, mapFile, listingsOf, frame, answer, record, codeOf } = venueBench(hyperliquid);

const SESSION = 'hftbacktest-btc-20250126.ndjson.gz';

const TARDIS = 'tardis-tests-hyperliquid.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const METAS = 'nautilus-rest-singles.ndjson';

const CONTEXTS = 'nautilus-ws-singles.ndjson.gz';

const heard = (...coins: string[]): MapState => ({ heard: coins });

const base = (id: string, side: string, price: string, quantity: string): unknown => ({
  id,
  side,
  price,
  quantity,
  quantity_unit: 'base',
});

const funding = (rate: string): unknown => ({ funding: rate, funding_interval_ms: null, next_funding_at: null });

t.test('recorded messages give the records that their bytes contain', (t) => {
  t.same(
    mapLine(TARDIS, 7),
    [
      record('mark', 'MOODENG', [null, null], { mark: '0.19963', index: '0.1995' }),
      record('funding', 'MOODENG', [null, null], funding('0.00004863')),
      record('oi', 'MOODENG', [null, null], { oi: '18617460', oi_unit: 'base' }),
      record('stats', 'MOODENG', [null, null], {
        volume_24h: null,
        volume_unit: 'base',
        turnover_24h: '7665220.55613',
        change_24h: null,
      }),
    ],
    'a context has no stamp, no base volume in 2024, a price of yesterday but no change',
  );
  t.same(
    mapLine(TARDIS, 6),
    [
      record('book', 'BANANA', [1730160007687, null], {
        kind: 'snapshot',
        bids: [
          ['59.8', '3.4'],
          ['59.778', '1.6'],
        ],
        asks: [
          ['59.811', '2.9'],
          ['59.832', '17.6'],
        ],
        sequence: null,
      }),
    ],
    'a book is whole and has no sequence',
  );
  t.same(
    mapLine(TARDIS, 5),
    [record('book', 'SHIA', [1730160007687, null], { kind: 'snapshot', bids: [], asks: [], sequence: null })],
    'an empty book is a book',
  );
  t.same(
    mapLine(TARDIS, 3, heard('BTC')),
    [
      record('trade', 'BTC', [1730160006192, null], base('1016375172059570', 'buy', '69997', '0.38111')),
      record('trade', 'BTC', [1730160006192, null], base('479312521152049', 'buy', '69997', '0.33458')),
      record('trade', 'BTC', [1730160006192, null], base('229986151112628', 'buy', '69997', '0.83613')),
    ],
    'B lifted the asks',
  );
  t.same(
    mapLine(TARDIS, 2, heard('FXS')),
    [record('trade', 'FXS', [1730160059558, null], base('809065877559592', 'sell', '1.9014', '9.1'))],
    'A hit the bids',
  );
  const rest = mapLine(METAS, 3);
  t.match(rest, [
    { layer: 'book', venue_symbol: 'BTC', venue_ts: 1761786491067_000, values: { kind: 'snapshot', sequence: null } },
  ]);
  t.same(rest[0]?.layer === 'book' && rest[0].values.asks[4], ['110433', '1.27191'], 'a requested book, five levels');
  t.end();
});

t.test('an answer of contexts is joined with its meta by place', (t) => {
  const records = mapLine(JKORF_REST, 2);
  t.equal(records.length, 12, 'four records for each of three coins');
  t.same(records.slice(8), [
    record('mark', 'HPOS', [null, null], { mark: '8.4542', index: '8.4585' }),
    record('funding', 'HPOS', [null, null], funding('0.0000125')),
    record('oi', 'HPOS', [null, null], { oi: '2912.05', oi_unit: 'base' }),
    record('stats', 'HPOS', [null, null], {
      volume_24h: null,
      volume_unit: 'base',
      turnover_24h: '809774.565507',
      change_24h: null,
    }),
  ]);
  t.end();
});

t.test(
  'contexts of every market name no coins: they are those of the metas, in order, and a coin listed later waits for the next meta',
  (t) => {
    const all = toVenueMessage(lineOf(CONTEXTS, 1));
    t.equal(codeOf(all), 'VENUE_UNKNOWN_LISTING');
    const state: MapState = {};
    mapLine(METAS, 1, state);
    const marks = (): readonly unknown[] =>
      map(all, state).flatMap(({ layer, venue_symbol, values }) => (layer === 'mark' ? [[venue_symbol, values]] : []));
    t.same(
      marks(),
      [
        ['BTC', { mark: '77562', index: '77605' }],
        ['hyna:BTC', { mark: '77595', index: '77608' }],
        ['km:US500', { mark: '752.44', index: '752.51' }],
      ],
      'the recorded metas have the first coin of each market; 229 others of the main market have no name yet',
    );
    const market = { universe: [{ name: 'abcd:USA500', szDecimals: 2 }], collateralToken: 0 };
    map(answer('POST /info', [market, { universe: [], collateralToken: 0 }]), state);
    t.same(
      (state.coins as Record<string, unknown>)['market '],
      ['BTC'],
      'a builder without coins has no name: it takes no other market away',
    );
    t.same(
      map(all, state).filter(({ venue_symbol }) => venue_symbol === 'abcd:USA500'),
      [
        record('mark', 'abcd:USA500', [null, null], { mark: '6980', index: '6980' }),
        record('funding', 'abcd:USA500', [null, null], funding('0')),
        record('oi', 'abcd:USA500', [null, null], { oi: '0', oi_unit: 'base' }),
        record('stats', 'abcd:USA500', [null, null], {
          volume_24h: '0',
          volume_unit: 'base',
          turnover_24h: '0',
          change_24h: null,
        }),
      ],
    );
    t.end();
  },
);

t.test('the first trades of a coin after a subscription are its past and are not printed', (t) => {
  const trades = mapFile(SESSION).filter(({ layer }) => layer === 'trade');
  t.same(trades, [
    record('trade', 'BTC', [1737918847000, 1737918847319], base('917211710228416', 'buy', '105056', '0.02222')),
    record('trade', 'BTC', [1737918853204, 1737918853622], base('754186699313231', 'buy', '105056', '0.01853')),
    record('trade', 'BTC', [1737918857033, 1737918857427], base('181211126211835', 'sell', '105055', '0.00036')),
    record('trade', 'BTC', [1737918860049, 1737918860476], base('116365321456789', 'buy', '105056', '0.00011')),
  ]);
  const state: MapState = {};
  const trade = frame({
    channel: 'trades',
    data: [{ coin: 'BTC', side: 'B', px: '7', sz: '1', time: 1737918860049, tid: 5 }],
  });
  const subscribed = frame({
    channel: 'subscriptionResponse',
    data: { method: 'subscribe', subscription: { type: 'trades', coin: 'BTC' } },
  });
  t.equal(map(trade, state).length, 0);
  t.equal(map(trade, state).length, 1);
  t.same(map(subscribed, state), []);
  t.equal(map(trade, state).length, 0, 'a new subscription brings its past again');
  t.equal(map(trade, state).length, 1);
  const after = (ms: number) => ({ ...trade, received_at: subscribed.received_at + ms * 1_000 });
  map(subscribed, state);
  t.equal(map(after(10_000), state).length, 0);
  map(subscribed, state);
  t.same(map(frame({ channel: 'trades', data: [] }), state), [], 'a coin that nobody has traded');
  t.equal(map(after(10_001), state).length, 1, 'what comes so long after the acknowledgement is new');
  const other = frame({
    channel: 'trades',
    data: [{ coin: 'ETH', side: 'A', px: 7.5, sz: '1', time: 1737918860049, tid: 6 }],
  });
  t.equal(map(other, state).length, 0, 'each coin has its own past');
  t.match(map(other, state), [{ values: { price: '7.5' } }], 'a figure as a number is read once more, not as the past');
  t.end();
});

/** The shape of jkorf-ws:6, a candle of a day, with figures of the test's own. */
const CANDLE = {
  t: 1764842820000,
  T: 1764842879999,
  s: 'kPEPE',
  i: '1m',
  o: '61',
  c: '62',
  h: '63',
  l: '60',
  v: '64.50',
  n: 65,
};

t.test('candles of a minute start at t and are never marked as closed', (t) => {
  const candle = record('candle', 'kPEPE', [null, null], {
    open_time: 1764842820000_000,
    price_type: 'trade',
    timeframe: '1m',
    open: '61',
    high: '63',
    low: '60',
    close: '62',
    volume: '64.5',
    volume_unit: 'base',
    turnover: null,
    trades: 65,
    closed: null,
  });
  t.same(map(frame({ channel: 'candle', data: CANDLE })), [candle]);
  t.same(map(answer('POST /info', [CANDLE, { ...CANDLE, i: '1d' }])), [candle]);
  // No recording has a minute: the candle of jkorf-ws:6 with another length.
  t.same(map(frame(lineOf(JKORF_WS, 6).raw.replace('"i":"1d"', '"i":"1m"'))), [
    record('candle', 'HYPE', [null, null], {
      open_time: 1764806400000_000,
      price_type: 'trade',
      timeframe: '1m',
      open: '34.668',
      high: '36.219',
      low: '34.251',
      close: '34.868',
      volume: '3495670.8399999999',
      volume_unit: 'base',
      turnover: null,
      trades: 102895,
      closed: null,
    }),
  ]);
  t.end();
});

t.test('a side of a whole book with fewer than twenty levels is all the venue has', (t) => {
  const findFull = (file: string, line: number): unknown =>
    hyperliquid.map({}, toVenueMessage(lineOf(file, line)), { listings: new Map() })[0]?.chain?.full;
  t.same(findFull(TARDIS, 6), { bids: true, asks: true });
  t.same(findFull(SESSION, 1), { bids: false, asks: false });
  const levels = [[{ px: '5', sz: '1', n: 1 }], null];
  const body = { coin: 'A', time: 1764842873555, levels };
  const thin = hyperliquid.map({}, frame({ channel: 'l2Book', data: { ...body, fast: true } }), {
    listings: new Map(),
  });
  t.equal(thin[0]?.chain?.full, undefined, 'a fast book is thinner by design');
  t.match(thin[0]?.record.values, { bids: [['5', '1']], asks: [] }, 'a side left out is empty');
  t.same(map(frame({ channel: 'l2Book', data: { ...body, spread: '1.0' } })), [], 'merged to coarser prices');
  t.end();
});

t.test('an answer to a request on the socket is read as the same answer of REST', (t) => {
  const post = (type: string, payload: unknown) =>
    frame({ channel: 'post', data: { id: 7, response: { type, payload } } });
  const book = { coin: 'BTC', time: 1754450974231, levels: [[{ px: '113377', sz: '7.6', n: 17 }], []] };
  const [mapped] = hyperliquid.map({}, post('info', { type: 'l2Book', data: book }), { listings: new Map() });
  t.same(
    mapped?.record,
    record('book', 'BTC', [1754450974231, null], {
      kind: 'snapshot',
      bids: [['113377', '7.6']],
      asks: [],
      sequence: null,
    }),
  );
  t.match(mapped?.chain, { symbol: 'BTC', kind: 'snapshot', full: { bids: true, asks: true } });
  const trade = { coin: 'BTC', side: 'A', px: '1', sz: '2', time: 1754450974231, tid: 3 };
  t.match(map(post('info', { type: 'recentTrades', data: [trade] })), [{ layer: 'trade', values: { side: 'sell' } }]);
  t.same(map(post('action', { status: 'ok', response: { type: 'order' } })), [], "an account's");
  t.equal(codeOf(post('error', 'Rate limited')), 'VENUE_BAD_FRAME');
  t.equal(codeOf(frame({ channel: 'post', data: { id: 7 } })), 'VENUE_BAD_FRAME');
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  for (const [what, file, line] of [
    ['spot context', TARDIS, 8],
    ['top of book of a spot pair', TARDIS, 9],
    ['top of book with one side', TARDIS, 10],
    ['acknowledgement', JKORF_WS, 2],
    ['top of book', JKORF_WS, 3],
    ['a candle of a day', JKORF_WS, 6],
    ['mids, which are no last prices', JKORF_WS, 12],
    ['the first trades after subscribing', JKORF_WS, 15],
    ['a meta alone', JKORF_REST, 1],
    ['past funding', JKORF_REST, 3],
    ['coins at their limit', JKORF_REST, 4],
  ] as const)
    t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  const book = { time: 1764842873555, levels: [[], []] };
  for (const coin of ['@2', 'PURR/USDC', '#10'])
    t.same(map(frame({ channel: 'l2Book', data: { ...book, coin } })), [], coin);
  const zero = { funding: '0.0', openInterest: '0.0', markPx: '0.0', oraclePx: '0.0' };
  t.same(
    map(frame({ channel: 'activeAssetCtx', data: { coin: 'A', ctx: zero } })).map(({ layer }) => layer),
    ['funding', 'oi'],
    'a price of zero is none, a rate of zero is one',
  );
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const context = (ctx: unknown): unknown => ({ channel: 'activeAssetCtx', data: { coin: 'A', ctx } });
  for (const [what, body, code] of [
    ['cut off', '{"channel":"l2Book","data":{', 'VENUE_BAD_FRAME'],
    ['an error', { channel: 'error', data: 'Invalid subscription' }, 'VENUE_BAD_FRAME'],
    ['a price of letters', context({ markPx: 'abc' }), 'VENUE_BAD_FIGURE'],
    ['a negative price', context({ markPx: '-1' }), 'VENUE_BAD_FIGURE'],
    ['a negative amount', context({ openInterest: '-1' }), 'VENUE_BAD_FIGURE'],
    ['a book without levels', { channel: 'l2Book', data: { coin: 'A', time: 1 } }, 'VENUE_BAD_FRAME'],
  ] as const)
    t.equal(codeOf(frame(body)), code, what);
  const market = { universe: [{ name: 'A', szDecimals: 400 }] };
  t.throws(() => hyperliquid.mapReference({}, answer('POST /info', market)), { code: 'VENUE_BAD_FRAME' });
  t.end();
});

t.test('a context that cannot be read leaves the others', (t) => {
  const coins = ['A', 'B', 'C'].map((name) => ({ name, szDecimals: 2 }));
  const contexts = [{ markPx: '5' }, { markPx: 'x' }, { markPx: '7' }];
  t.throws(() => map(answer('POST /info', [{ universe: coins }, contexts])), {
    code: 'VENUE_BAD_FIGURE',
    mapped: [{ record: { venue_symbol: 'A' } }, { record: { venue_symbol: 'C' } }],
  });
  t.end();
});

const bySymbol = (listings: readonly ListingRecord[], symbol: string): ListingRecord | undefined =>
  listings.find((listing) => listing.venue_symbol === symbol);

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(JKORF_REST);
  t.same(
    listings.slice(0, 4).map(({ venue_symbol, values }) => [venue_symbol, values.status, values.lot_size]),
    [
      ['BTC', 'tradeable', '0.00001'],
      ['ETH', 'tradeable', '0.0001'],
      ['HPOS', 'tradeable', '1'],
      ['LOOM', 'delisted', '0.1'],
    ],
  );
  t.same(
    listings[0],
    record('listing', 'BTC', [null, null], {
      instrument: 'BTC-PERP',
      venue_symbol: 'BTC',
      base: 'BTC',
      quote: 'USDC',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: null,
      lot_size: '0.00001',
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: 5,
      units: { tick_size: null, lot_size: 'base', min_qty: null, min_notional: null, contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '1h',
      funding_interval_source: 'documented',
      funding_normalisation: { venue_field: 'funding', transform: 'string_to_number' },
      rules_normalisation: {
        lot_size: { venue_field: 'szDecimals', transform: 'decimals_to_step' },
        qty_decimals: { venue_field: 'szDecimals', transform: 'identity' },
      },
      candles: makeCandles('trade'),
      not_published: [
        ...['ticker', 'last', 'liquidation', 'next_funding_at', 'change_24h'],
        ...['tick_size', 'min_qty', 'min_notional', 'price_decimals'],
      ],
      bands: BANDS,
      oi_sides: null,
      listed_at: null,
      delisted_at: null,
    }),
  );
  t.end();
});

t.test("a builder's market is quoted in its own collateral, and a small k means a thousand", (t) => {
  const metas = listingsOf(METAS);
  t.match(bySymbol(metas, 'km:US500')?.values, {
    base: 'US500',
    quote: 'USDH',
    instrument: 'US500-PERP',
    lot_size: '0.001',
  });
  t.match(bySymbol(metas, 'hyna:BTC')?.values, { base: 'BTC', quote: 'USDE', base_venue_alias: null, multiplier: '1' });
  const state = {};
  const spot = {
    tokens: [
      { name: 'USDC', index: 0 },
      { name: 'USDT0', index: 268 },
    ],
    universe: [],
  };
  const whole = [
    {
      universe: [
        { name: 'kPEPE', szDecimals: 0 },
        { name: 'KAS', szDecimals: 0 },
      ],
      collateralToken: 0,
    },
    { universe: [{ name: 'cash:TSLA', szDecimals: 3 }], collateralToken: 268 },
    { universe: [{ name: 'new:TSLA', szDecimals: 3 }], collateralToken: 999 },
  ];
  t.equal(hyperliquid.mapReference(state, answer('POST /info', spot)), null);
  const named = hyperliquid.mapReference(state, answer('POST /info', whole));
  t.equal(named?.scope, 'all');
  t.same(
    named?.listings.map(({ venue_symbol, values }) => [venue_symbol, values.base, values.multiplier, values.quote]),
    [
      ['kPEPE', 'PEPE', '1000', 'USDC'],
      ['KAS', 'KAS', '1', 'USDC'],
      ['cash:TSLA', 'TSLA', '1', 'USDT0'],
    ],
    'a market with unnamed collateral waits for its name',
  );
  t.same(
    named?.unreadable?.map(({ symbol, kind }) => [symbol, kind]),
    [['new:TSLA', 'unknown_word']],
    'and none of its listings is delisted',
  );
  const holed = hyperliquid.mapReference(state, answer('POST /info', [whole[0], null]));
  t.match(
    [holed?.scope, holed?.listings.length, holed?.unreadable?.map(({ symbol }) => symbol)],
    ['all', 2, [null]],
    'without a market that cannot be read the others are still all of them',
  );
  t.equal(named?.listings[0]?.values.base_venue_alias, 'kPEPE');
  const alone = hyperliquid.mapReference({}, answer('POST /info', whole[1]));
  t.same(
    [alone?.scope, alone?.listings[0]?.values.quote],
    ['market cash', 'USDT0'],
    'the collaterals in use are known',
  );
  t.equal(
    hyperliquid.mapReference(state, answer('POST /info', { universe: [] })),
    null,
    'a market without coins delists none',
  );
  t.end();
});
