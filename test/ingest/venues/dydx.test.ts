// dYdX: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import { dydx } from '../../../ingest/venues/dydx/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, frame, answer, record, codeOf } = venueBench(dydx);
const TARDIS = 'tardis-tests-dydx-v4.ndjson';
const NEVER = [null, null] as const;

const push = (type: string, channel: string, id: string, contents: unknown): unknown => ({
  type,
  connection_id: 'c',
  message_id: 7,
  id,
  channel,
  version: '1.0.0',
  contents,
});
const hourly = (funding: string): unknown => ({ funding, funding_interval_ms: null, next_funding_at: null });
const turnover = (turnover_24h: string): unknown => ({
  volume_24h: null,
  volume_unit: 'base',
  turnover_24h,
  change_24h: null,
});
const fill = (id: string, side: string, price: string, quantity: string): object => ({
  id,
  side,
  price,
  quantity,
  quantity_unit: 'base',
});
/** No recording has a candle: the shape is that of the indexer's documentation, the figures are the test's own. */
const CANDLE = {
  startedAt: '2024-08-23T00:00:00.000Z',
  ticker: 'BTC-USD',
  resolution: '1MIN',
  low: '1.5',
  high: '4.5',
  open: '2.5',
  close: '3.5',
  baseTokenVolume: '5.5',
  usdVolume: '6.5',
  trades: 7,
};
const MARKET = {
  clobPairId: '0',
  ticker: 'BTC-USD',
  status: 'ACTIVE',
  oraclePrice: '1',
  priceChange24H: '2',
  volume24H: '3',
  nextFundingRate: '4',
  openInterest: '5',
  baseOpenInterest: '6',
  tickSize: '0.10',
  stepSize: '0.0001',
};

t.test('recorded messages give the records that their bytes contain', (t) => {
  t.same(
    mapLine(TARDIS, 6),
    [
      record('mark', 'BTC-USD', NEVER, { mark: '60387.51779', index: null }),
      record('funding', 'BTC-USD', NEVER, hourly('0.00001351666666666667')),
      record('oi', 'BTC-USD', NEVER, { oi: '648.2389', oi_unit: 'base' }),
      record('stats', 'BTC-USD', NEVER, turnover('247515340.0835')),
      record('mark', 'ETH-USD', NEVER, { mark: '2623.2521', index: null }),
      record('funding', 'ETH-USD', NEVER, hourly('0.00001051666666666667')),
      record('oi', 'ETH-USD', NEVER, { oi: '15395.279', oi_unit: 'base' }),
      record('stats', 'ETH-USD', NEVER, turnover('214358009.6882')),
    ],
    'the oracle price is the mark; the volume counts USD; nothing has a stamp',
  );
  t.same(
    mapLine(TARDIS, 8),
    [record('mark', 'ETH-USD', [Date.UTC(2024, 7, 23, 0, 0, 54, 301), null], { mark: '2623.3521', index: null })],
    'an oracle price has the instant at which it took effect',
  );
  t.same(
    mapLine(TARDIS, 7),
    [record('oi', 'ETH-USD', NEVER, { oi: '15398.406', oi_unit: 'base' })],
    'a change contains only what changed',
  );
  t.same(mapLine(TARDIS, 3), [
    record('book', 'GRT-USD', NEVER, {
      kind: 'snapshot',
      bids: [['0.1547', '35520']],
      asks: [['0.155', '3220']],
      sequence: null,
    }),
  ]);
  t.same(
    mapLine(TARDIS, 4),
    [record('book', 'GRT-USD', NEVER, { kind: 'update', bids: [['11.21', '0']], asks: [], sequence: null })],
    'a side that did not change is left out',
  );
  t.same(mapLine(TARDIS, 5), [
    record('book', 'EGLD-USD', NEVER, { kind: 'update', bids: [], asks: [['66.12', '0']], sequence: null }),
  ]);
  t.same(mapLine(TARDIS, 1), [
    record(
      'trade',
      'AVAX-USD',
      [Date.UTC(2024, 7, 22, 23, 59, 58, 855), null],
      fill('0165e5e30000000200000002', 'buy', '25.22', '79.2'),
    ),
  ]);
  const liquidatedAt = [Date.UTC(2024, 7, 4, 7, 34, 50, 628), null] as const;
  t.same(
    mapLine(TARDIS, 2),
    [
      record(
        'trade',
        'BTC-USD',
        [Date.UTC(2024, 7, 22, 23, 59, 59, 851), null],
        fill('0165e5e40000000200000002', 'buy', '60397', '0.002'),
      ),
      record('trade', 'BTC-USD', liquidatedAt, fill('014f495a0000000200000005', 'sell', '22.87', '3.9')),
      record('liquidation', 'BTC-USD', liquidatedAt, {
        ...fill('014f495a0000000200000005', 'long', '22.87', '3.9'),
        price_kind: 'fill',
      }),
    ],
    'a taker who was liquidated by selling had a long',
  );
  t.end();
});

t.test('several changes may come in one message', (t) => {
  const changes = [{ bids: [['5', '1']] }, { asks: [['6', '2']], bids: [] }, {}];
  t.same(
    map(frame(push('channel_batch_data', 'v4_orderbook', 'BTC-USD', changes))),
    [
      record('book', 'BTC-USD', NEVER, { kind: 'update', bids: [['5', '1']], asks: [], sequence: null }),
      record('book', 'BTC-USD', NEVER, { kind: 'update', bids: [], asks: [['6', '2']], sequence: null }),
    ],
    'an empty change is none',
  );
  const trading = {
    trading: { 'BTC-USD': { nextFundingRate: '0' } },
    oraclePrices: { 'BTC-USD': { oraclePrice: '0' } },
  };
  t.same(
    map(frame(push('channel_batch_data', 'v4_markets', '', [trading, { trading: { 'BTC-USD': { trades24H: 5 } } }]))),
    [record('funding', 'BTC-USD', NEVER, hourly('0'))],
    'a rate of zero is one, a price of zero is none',
  );
  const oraclePrices = { 'BTC-USD': { oraclePrice: '5' } };
  const changed = { trading: { 'ETH-USD': { nextFundingRate: '0' } } };
  const layers = (contents: unknown): readonly string[] =>
    map(frame(push('channel_data', 'v4_markets', '', contents))).map(({ layer }) => layer);
  t.same(layers({ oraclePrices, ...changed }), ['mark', 'funding'], 'records are in the order of the message');
  t.same(layers({ ...changed, oraclePrices }), ['funding', 'mark']);
  t.same(layers({ toString: oraclePrices, blocks: null }), [], 'a table that is not known gives none');
  t.end();
});

t.test('answers of endpoints are read like the first message of their channel', (t) => {
  const layers = (url: string, body: unknown): readonly string[] =>
    map(answer(`GET https://indexer.dydx.trade/v4${url}`, body)).map((r) => `${r.layer} ${r.venue_symbol}`);
  t.same(layers('/perpetualMarkets', { markets: { 'BTC-USD': MARKET } }), [
    'mark BTC-USD',
    'funding BTC-USD',
    'oi BTC-USD',
    'stats BTC-USD',
  ]);
  const book = { bids: [{ price: '5', size: '1' }], asks: [] };
  t.same(layers('/orderbooks/perpetualMarket/BTC-USD', book), ['book BTC-USD']);
  t.same(layers('/trades/perpetualMarket/A%2CB-USD?limit=5', { trades: [{ side: 'BUY', price: '1', size: '2' }] }), [
    'trade A,B-USD',
  ]);
  t.equal(codeOf(answer('not a request', book)), 'VENUE_UNKNOWN_LISTING');
  t.same(layers('/candles/perpetualMarkets/BTC-USD', { candles: [CANDLE, { ...CANDLE, resolution: '1DAY' }] }), [
    'candle BTC-USD',
  ]);
  t.same(layers('/height', { height: '5', time: '2024-08-23T00:00:00.000Z' }), []);
  t.same(layers('/perpetualMarkets', { errors: [{ msg: 'Too many requests' }] }), []);
  t.end();
});

t.test('candles start at startedAt, count base and USD, and are never marked as closed', (t) => {
  const expected = record('candle', 'BTC-USD', NEVER, {
    open_time: Date.UTC(2024, 7, 23) * 1000,
    price_type: 'trade',
    timeframe: '1m',
    open: '2.5',
    high: '4.5',
    low: '1.5',
    close: '3.5',
    volume: '5.5',
    volume_unit: 'base',
    turnover: '6.5',
    trades: 7,
    closed: null,
  });
  t.same(map(frame(push('subscribed', 'v4_candles', 'BTC-USD/1MIN', { candles: [CANDLE] }))), [expected]);
  t.same(map(frame(push('channel_data', 'v4_candles', 'BTC-USD/1MIN', CANDLE))), [expected]);
  t.same(map(frame(push('channel_batch_data', 'v4_candles', 'BTC-USD/1MIN', [CANDLE, CANDLE]))), [expected, expected]);
  t.end();
});

t.test('messages without new data of a market give no record', (t) => {
  const trade = { id: '1', side: 'BUY', price: '1', size: '2', createdAt: '2024-08-23T00:00:00.000Z', type: 'LIMIT' };
  t.same(map(frame(push('subscribed', 'v4_trades', 'BTC-USD', { trades: [trade] }))), [], 'trades of the past');
  t.same(
    map(frame(push('channel_data', 'v4_trades', 'BTC-USD', { trades: [{ ...trade, type: 'DELEVERAGED' }] }))),
    [],
    'auto-deleveraging is no trade',
  );
  t.same(map(frame(push('channel_data', 'v4_subaccounts', 'x/0', {}))), [], 'other channels');
  t.same(map(frame({ type: 'connected', connection_id: 'c', message_id: 0 })), [], 'a greeting');
  t.same(map(frame(push('channel_data', 'v4_orderbook', 'EOS-USD', undefined))), [], 'a change of nothing');
  t.same(map(frame(push('channel_data', 'v4_candles', 'BTC-USD/1DAY', { ...CANDLE, resolution: '1DAY' }))), []);
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = (contents: unknown): unknown => push('channel_data', 'v4_orderbook', 'BTC-USD', contents);
  const trade = { id: '1', side: 'BUY', price: '1', size: '2', createdAt: '2024-08-23T00:00:00.000Z', type: 'LIMIT' };
  for (const [what, body, code] of [
    ['cut off', '{"type":"channel_data","connection_', 'VENUE_BAD_FRAME'],
    ['a refusal', { type: 'error', message: 'Invalid subscription id for channel' }, 'VENUE_BAD_FRAME'],
    ['a price of letters', book({ bids: [['x', '1']] }), 'VENUE_BAD_FIGURE'],
    ['a negative size', book({ asks: [['1', '-1']] }), 'VENUE_BAD_FIGURE'],
    ['no market', push('channel_data', 'v4_orderbook', '', { bids: [] }), 'VENUE_BAD_FRAME'],
    [
      'no instant',
      push('channel_data', 'v4_trades', 'BTC-USD', { trades: [{ ...trade, createdAt: 'soon' }] }),
      'VENUE_BAD_FRAME',
    ],
    [
      'no side',
      push('channel_data', 'v4_trades', 'BTC-USD', { trades: [{ ...trade, side: 'buy' }] }),
      'VENUE_BAD_FRAME',
    ],
  ] as const)
    t.equal(codeOf(frame(body)), code, what);
  t.end();
});

t.test('a book that crosses is not served until it is whole again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dydx-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'crossing.ndjson');
  const book = (type: string, contents: unknown): string =>
    JSON.stringify({
      recv_ms: 1724371254301,
      kind: 'ws',
      dir: 'in',
      raw: JSON.stringify(push(type, 'v4_orderbook', 'BTC-USD', contents)),
    });
  const lines = [
    book('channel_data', { bids: [['99', '1']] }),
    book('subscribed', { bids: [{ price: '100', size: '1' }], asks: [{ price: '101', size: '1' }] }),
    book('channel_data', { bids: [['102', '3']] }),
    book('channel_data', { bids: [['100', '2']] }),
    book('channel_data', {
      asks: [
        ['101', '0'],
        ['103', '4'],
      ],
    }),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  const printed: string[] = [];
  await normalise({ venue: dydx, files: [path], assembled: true, write: (line) => void printed.push(line) });
  const values = printed
    .map((line) => JSON.parse(line))
    .map(({ layer, values, src }) => [layer, values.cause ?? values.bids, src.line]);
  t.same(
    values,
    [
      ['book', [['100', '1']], 2],
      ['gap', 'crossed_book', 3],
      [
        'book',
        [
          ['102', '3'],
          ['100', '2'],
        ],
        5,
      ],
    ],
    'nothing before the snapshot, one gap, then the book',
  );
  t.end();
});

t.test('a change that cannot be read leaves the other changes of its message', (t) => {
  const trade = (id: string, price: string) => ({
    trades: [{ id, side: 'BUY', size: '1', price, type: 'LIMIT', createdAt: '2024-08-22T23:59:59.851Z' }],
  });
  const rate = (nextFundingRate: string) => ({ trading: { 'BTC-USD': { nextFundingRate } } });
  const odd = { ...CANDLE, open: 'x' };
  for (const [channel, id, contents] of [
    ['v4_trades', 'BTC-USD', [trade('a', '5'), trade('b', 'x'), trade('c', '7')]],
    ['v4_markets', '', [rate('1'), rate('x'), rate('2')]],
    ['v4_candles', 'BTC-USD/1MIN', [CANDLE, odd, CANDLE]],
  ] as const) {
    const message = frame(push('channel_batch_data', channel, id, contents));
    try {
      dydx.map({}, message, { listings: new Map() });
      t.fail(channel);
    } catch (error) {
      t.equal(error instanceof UnreadablePart ? error.mapped.length : error, 2, channel);
    }
  }
  t.end();
});

t.test('several changes in one message give one book, which is not crossed between them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dydx-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'batch.ndjson');
  const line = (type: string, contents: unknown): string =>
    JSON.stringify({ kind: 'ws', dir: 'in', raw: JSON.stringify(push(type, 'v4_orderbook', 'BTC-USD', contents)) });
  const moves = [{ bids: [['102', '3']] }, { asks: [['101', '0']] }, { asks: [['103', '4']] }];
  const crosses = [{ bids: [['103', '1']] }, { asks: [['103', '5']] }];
  const lines = [
    line('subscribed', { bids: [{ price: '100', size: '1' }], asks: [{ price: '101', size: '1' }] }),
    line('channel_batch_data', moves),
    line('channel_batch_data', crosses),
    line('channel_batch_data', [{ bids: [['103', '0']] }, { bids: [['103', 'x']] }]),
    line('channel_batch_data', [{ bids: [['103', '0']] }]),
    line('subscribed', { bids: [{ price: '99', size: '1' }], asks: [{ price: '101', size: '1' }] }),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  const printed: string[] = [];
  await normalise({ venue: dydx, files: [path], assembled: true, write: (text) => void printed.push(text) });
  t.same(
    printed
      .map((text) => JSON.parse(text))
      .map(({ values, code, src }) => [values?.cause ?? values?.bids[0] ?? code, src?.line]),
    [
      [['100', '1'], 1],
      [['102', '3'], 2],
      ['crossed_book', 3],
      ['VENUE_BAD_FRAME', undefined],
      [['99', '1'], 6],
    ],
    'after changes without ids that cannot be read nothing is known until the next whole book',
  );
  t.end();
});

t.test('the quick check of a book agrees with the mapper', (t) => {
  const wrong = readRecording(`dydx/${TARDIS}`).filter((line) => {
    const mapped = dydx.map({}, toVenueMessage(line), { listings: new Map() }).find(({ chain }) => chain)?.chain;
    const seen = dydx.sequence(line.raw);
    return mapped?.symbol !== seen?.symbol || mapped?.kind !== seen?.kind;
  });
  t.same(wrong, []);
  const batch = (contents: unknown): string =>
    JSON.stringify(push('channel_batch_data', 'v4_orderbook', 'A-USD', contents));
  t.match(dydx.sequence(batch([{ asks: [['5', '1']] }])), { symbol: 'A-USD', kind: 'update', last: null });
  t.equal(dydx.sequence(batch([{}])), null);
  t.match(dydx.sequence('{"bids":[{"price":"5","size":"1"}],"asks":[]}'), { symbol: '', kind: 'snapshot' });
  const levels = Array.from({ length: 100 }, (_, i) => ({ price: String(i + 1), size: '1' }));
  const contents = { bids: levels, asks: levels.slice(1) };
  const [mapped] = dydx.map({}, frame(push('subscribed', 'v4_orderbook', 'A-USD', contents)), { listings: new Map() });
  t.same(mapped?.chain?.full, { bids: false, asks: true }, 'a hundred levels a side at most');
  t.end();
});

const listListings = (markets: object): readonly ListingRecord[] =>
  dydx.mapReference({}, answer('GET https://indexer.dydx.trade/v4/perpetualMarkets', { markets }))?.listings ?? [];

t.test('each rule of a listing has its derivation', (t) => {
  t.equal(dydx.mapReference({}, toVenueMessage(lineOf(TARDIS, 6))), null, 'a channel is no reference answer');
  const { contents } = JSON.parse(lineOf(TARDIS, 6).raw) as { readonly contents: { readonly markets: object } };
  const listings = listListings(contents.markets);
  t.equal(listings.length, 2);
  t.same(
    listings[1],
    record('listing', 'ETH-USD', NEVER, {
      instrument: 'ETH-PERP',
      venue_symbol: 'ETH-USD',
      base: 'ETH',
      quote: 'USD',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: false,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: '0.001',
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: 'base', min_qty: null, min_notional: null, contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '1h',
      funding_interval_source: 'documented',
      funding_normalisation: { venue_field: 'nextFundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'tickSize', transform: 'string_to_number' },
        lot_size: { venue_field: 'stepSize', transform: 'string_to_number' },
      },
      candles: makeCandles('trade'),
      not_published: [
        'ticker',
        'last',
        'index',
        'basis',
        'next_funding_at',
        'volume_24h',
        'change_24h',
        'min_qty',
        'min_notional',
        'price_decimals',
        'qty_decimals',
      ],
      bands: BANDS,
      oi_sides: null,
      listed_at: null,
      delisted_at: null,
    }),
  );
  const statuses = ['ACTIVE', 'POST_ONLY', 'CANCEL_ONLY', 'PAUSED', 'INITIALIZING', 'FINAL_SETTLEMENT', 'NEW'];
  t.same(
    listListings(Object.fromEntries(statuses.map((status) => [status, { ...MARKET, status }]))).map(
      ({ values }) => values.status,
    ),
    ['tradeable', 'post_only', 'cancel_only', 'halted', 'pre_launch', 'settling', 'unknown'],
  );
  t.match(listListings({ a: { ...MARKET, ticker: 'BUFFI,UNISWAP_V3,0X4C1B-USD' } })[0]?.values, {
    base: 'BUFFI',
    quote: 'USD',
    base_venue_alias: 'BUFFI,UNISWAP_V3,0X4C1B',
    instrument: 'BUFFI-PERP',
    multiplier: '1',
  });
  t.match(listListings({ a: { ...MARKET, ticker: '1000CAT-USD' } })[0]?.values, {
    instrument: 'CAT-PERP',
    base: 'CAT',
    base_venue_alias: '1000CAT',
    multiplier: '1000',
  });
  t.end();
});

type Socket = Extract<ReturnType<typeof dydx.plan>[number], { kind: 'socket' }>;
type Command = { readonly type: string; readonly channel: string; readonly id?: string };

const makePlan = (listings: readonly ListingRecord[], shards: number): readonly Socket[] => {
  const env = { shards, shardOf: (symbol: string) => symbol.length % shards, endpoints: dydx.endpoints };
  return dydx.plan(listings, env).filter((slot) => slot.kind === 'socket');
};
const listCommands = ({ subscribe }: Socket): readonly Command[] =>
  subscribe.map((text) => JSON.parse(text) as Command);

t.test('the plan has one socket for all markets, others for their books, trades and candles', (t) => {
  const [markets, sockets] = makePlan(listListings({ a: MARKET }), 1);
  t.match(markets, { id: 'markets', shards: [0], subscribe: ['{"type":"subscribe","channel":"v4_markets"}'] });
  t.same(markets?.covers, [{ layers: ['mark', 'funding', 'oi', 'stats'], symbols: null }]);
  t.match(sockets, {
    id: 'market.0.0.0',
    subscribe: [
      '{"type":"subscribe","channel":"v4_orderbook","id":"BTC-USD"}',
      '{"type":"subscribe","channel":"v4_trades","id":"BTC-USD"}',
      '{"type":"subscribe","channel":"v4_candles","id":"BTC-USD/1MIN"}',
    ],
  });
  t.same(sockets?.covers, [
    { layers: ['book', 'venue_depth', 'trades', 'liquidation', 'candles'], symbols: ['BTC-USD'] },
  ]);
  const events = ['v4_trades/BTC-USD', 'v4_candles/BTC-USD/1MIN'];
  t.same(sockets?.watched, [
    { subscriptions: ['v4_orderbook/BTC-USD'], silenceMs: 20_000 },
    { subscriptions: events, silenceMs: 60_000, mayBeQuiet: true },
  ]);
  t.end();
});

t.test('at most 32 subscriptions of a channel share a socket, each market is subscribed once', (t) => {
  const names = Array.from({ length: 200 }, (_, i) => `C${i}-USD`);
  const closed = { ...MARKET, ticker: 'OLD-USD', status: 'FINAL_SETTLEMENT' };
  const listings = listListings({
    ...Object.fromEntries(names.map((ticker) => [ticker, { ...MARKET, ticker }])),
    closed,
  });
  const [markets, ...others] = makePlan(listings, 2);
  t.same(markets?.shards, [0, 1]);
  const frames = others.flatMap(({ subscribe }) => subscribe);
  t.equal(frames.length, 600, 'a market in final settlement has nothing of it');
  t.equal(new Set(frames).size, 600);
  t.ok(others.every(({ covers, shards }) => covers[0]?.symbols?.every((symbol) => shards.includes(symbol.length % 2))));
  t.equal(new Set(others.map(({ id }) => id)).size, others.length, 'ids are unique');
  const one = makePlan(
    listings.map((l) => ({ ...l, venue_symbol: `X${l.venue_symbol}` })),
    1,
  );
  for (const socket of [...others, ...one]) {
    const count = (wanted: string): number => listCommands(socket).filter(({ channel }) => channel === wanted).length;
    const counts = ['v4_orderbook', 'v4_trades', 'v4_candles'].map(count);
    t.ok(Math.max(...counts) <= 32, `${socket.id}: however the names fall`);
  }
  t.end();
});

t.test('each channel that is subscribed is one that is read', (t) => {
  const trade = { id: '1', side: 'BUY', price: '1', size: '2', createdAt: '2024-08-23T00:00:00.000Z' };
  const samples: Readonly<Record<string, unknown>> = {
    v4_markets: { trading: { 'BTC-USD': { openInterest: '5' } } },
    v4_orderbook: { bids: [['5', '1']] },
    v4_trades: { trades: [{ ...trade, type: 'LIQUIDATED' }] },
    v4_candles: CANDLE,
  };
  const layers = makePlan(listListings({ a: MARKET }), 1)
    .flatMap(listCommands)
    .map(({ channel, id = '' }) =>
      map(frame(push('channel_data', channel, id, samples[channel]))).map(({ layer }) => layer),
    );
  t.same(layers, [['oi'], ['book'], ['trade', 'liquidation'], ['candle']]);
  t.end();
});

t.test('a subscription is named by channel and id, and renewed under them', (t) => {
  t.equal(dydx.subscriptionOf?.(lineOf(TARDIS, 3).raw), 'v4_orderbook/GRT-USD');
  t.equal(dydx.subscriptionOf?.(lineOf(TARDIS, 4).raw), 'v4_orderbook/GRT-USD');
  t.equal(dydx.subscriptionOf?.(lineOf(TARDIS, 7).raw), null, 'all markets have one');
  const ended = '{"type":"unsubscribed","connection_id":"c","message_id":3,"channel":"v4_trades","id":"BTC-USD"}';
  t.equal(dydx.subscriptionOf?.(ended), null, 'the end of a subscription is not its beginning');
  t.same(dydx.renew?.(['v4_orderbook/A,B-USD', 'v4_candles/BTC-USD/1MIN']), [
    '{"type":"unsubscribe","channel":"v4_orderbook","id":"A,B-USD"}',
    '{"type":"subscribe","channel":"v4_orderbook","id":"A,B-USD"}',
    '{"type":"unsubscribe","channel":"v4_candles","id":"BTC-USD/1MIN"}',
    '{"type":"subscribe","channel":"v4_candles","id":"BTC-USD/1MIN"}',
  ]);
  t.end();
});

t.test('a frame of candles publishes a minute, a request returns the missing ones', (t) => {
  const openMs = Date.UTC(2024, 7, 23);
  const text = (type: string, id: string, contents: unknown): string =>
    JSON.stringify(push(type, 'v4_candles', id, contents));
  const older = { ...CANDLE, startedAt: '2024-08-22T23:59:00.000Z' };
  t.same(dydx.newestMinute?.(text('channel_data', 'BTC-USD/1MIN', CANDLE)), { symbol: 'BTC-USD', openMs });
  t.same(dydx.newestMinute?.(text('subscribed', 'BTC-USD/1MIN', { candles: [CANDLE, older] })), {
    symbol: 'BTC-USD',
    openMs,
  });
  t.equal(dydx.newestMinute?.(text('subscribed', 'BTC-USD/1MIN', { candles: [] })), null);
  t.equal(dydx.newestMinute?.(text('channel_data', 'BTC-USD/1DAY', CANDLE)), null);
  t.equal(dydx.newestMinute?.(lineOf(TARDIS, 1).raw), null);
  t.equal(dydx.closedMinute, undefined, 'nothing is marked as closed');
  const request = dydx.candles?.(
    { venue_symbol: 'A,B-USD' },
    { fromMs: openMs - 60_000, toMs: openMs },
    dydx.endpoints,
  );
  t.same(request, {
    method: 'GET',
    url: 'https://indexer.dydx.trade/v4/candles/perpetualMarkets/A%2CB-USD?resolution=1MIN&fromISO=2024-08-22T23:59:00.000Z&toISO=2024-08-23T00:02:00.000Z&limit=3',
    weight: 1,
  });
  // Provenance: dydxprotocol/v4-chain@1187de56 `indexer/services/comlink/src/controllers/api/v4/candles-controller.ts`; newest first.
  t.same(
    map(answer(`GET ${request?.url}`, { candles: [CANDLE, older] })).map(({ values }) =>
      'open_time' in values ? values.open_time / 1_000 : null,
    ),
    [openMs, openMs - 60_000],
    'newest first, as published',
  );
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(dydx.classify('{"type":"connected","connection_id":"c","message_id":0}'), 'ack');
  t.equal(dydx.classify('{"type":"error","message":"Invalid channel"}'), 'error');
  t.equal(dydx.classify('{"type":"unsubscribed","channel":"v4_trades"}'), 'ack');
  t.equal(dydx.classify('{"type":"pong"}'), 'heartbeat');
  for (const line of [3, 4, 6, 8]) t.equal(dydx.classify(lineOf(TARDIS, line).raw), 'data');
  t.end();
});
