// BitMEX: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import { bitmex as venue } from '../../../ingest/venues/bitmex/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import { applySnapshot, applyUpdate, createBook } from '../../../processors/task/book.ts';
import { listTopLevels } from '../../../processors/task/book-levels.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { followBooks, listChains } from '../../support/venues/book-sessions.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, mapFile, listingsOf, frame, answer, record, codeOf } = venueBench(venue);

const SESSION = 'cryptofeed-realtime-ws-1.ndjson.gz';

const ACTIVE = 'cryptofeed-realtime-rest-instruments.ndjson.gz';

const TARDIS = 'tardis-tests-bitmex.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

/** The recorded row of an instrument, as its socket's partial would hold it. */
const findRow = (symbol: string): string => {
  const rows = lineOf(ACTIVE, 1).raw;
  const from = rows.indexOf(`{"symbol":"${symbol}"`);
  return rows.slice(from, rows.indexOf('}', from) + 1);
};

const table = (name: string, action: string, ...rows: readonly (string | object)[]): VenueMessage =>
  frame(
    `{"table":"${name}","action":"${action}","data":[${rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join(',')}]}`,
  );

t.test('a partial of an instrument gives every layer, in contracts, quote currency and fractions', (t) => {
  const at = [Date.UTC(2021, 6, 22, 22, 36, 5), null] as const;
  t.same(map(table('instrument', 'partial', findRow('XBTUSD'))), [
    record('ticker', 'XBTUSD', at, { last: '32175' }),
    record('mark', 'XBTUSD', at, { mark: '32184.89', index: '32182.72' }),
    record('funding', 'XBTUSD', at, {
      funding: '0.0001',
      funding_interval_ms: 28_800_000,
      next_funding_at: Date.UTC(2021, 6, 23, 4) * 1000,
    }),
    record('oi', 'XBTUSD', at, { oi: '574264600', oi_unit: 'contracts' }),
    record('stats', 'XBTUSD', at, {
      volume_24h: '662123900',
      volume_unit: 'contracts',
      turnover_24h: '662123900',
      change_24h: '0.0058',
    }),
  ]);
  t.match(
    map(table('instrument', 'partial', findRow('ETHUSD'))).map(({ values }) => values),
    [
      { last: '2003.75' },
      { mark: '2003.93', index: '2003.18' },
      { funding: '0.000551' },
      { oi: '1403475', oi_unit: 'contracts' },
      { volume_24h: '3293153', turnover_24h: '211413840.24424988', change_24h: '0.0165' },
    ],
    'a quanto contract: the turnover is the one in USD, not in satoshis',
  );
  t.end();
});

t.test('an update gives the layers that it changed, merged with earlier values', (t) => {
  const state: MapState = {};
  const update = (row: object): unknown =>
    map(table('instrument', 'update', { symbol: 'XBTUSD', ...row }), state).map(({ layer, venue_ts, values }) => [
      layer,
      venue_ts,
      values,
    ]);
  t.same(update({ markPrice: 1 }), [], 'nothing before the partial');
  t.equal(map(table('instrument', 'partial', findRow('XBTUSD')), state).length, 5);
  const stamp = { timestamp: '2021-07-22T22:36:10.000Z' };
  const at = Date.UTC(2021, 6, 22, 22, 36, 10) * 1000;
  t.same(update({ fairPrice: 32190.1, markPrice: 32190.1, ...stamp }), [
    ['mark', at, { mark: '32190.1', index: '32182.72' }],
  ]);
  t.same(update({ indicativeSettlePrice: 32188, ...stamp }), [['mark', at, { mark: '32190.1', index: '32188' }]]);
  t.same(update({ indicativeSettlePrice: 32188.0, ...stamp }), [], 'the same again is no change');
  t.same(update({ openInterest: 58922153 }), [['oi', null, { oi: '58922153', oi_unit: 'contracts' }]], 'no stamp');
  t.same(update({ lastPrice: 32175.5, lastTickDirection: 'PlusTick', ...stamp }), [
    ['ticker', at, { last: '32175.5' }],
  ]);
  t.same(update({ fundingRate: -0.000123, ...stamp }), [
    [
      'funding',
      at,
      { funding: '-0.000123', funding_interval_ms: 28_800_000, next_funding_at: Date.UTC(2021, 6, 23, 4) * 1000 },
    ],
  ]);
  t.same(update({ volume24h: 1e9, turnover24h: 5, homeNotional24h: 6, ...stamp }), [
    [
      'stats',
      at,
      { volume_24h: '1000000000', volume_unit: 'contracts', turnover_24h: '662123900', change_24h: '0.0058' },
    ],
  ]);
  t.same(
    update({ bidPrice: 1, askPrice: 2, midPrice: 1.5, turnover24h: 7, openValue: 8, ...stamp }),
    [],
    'no member of ours',
  );
  t.same(JSON.parse(JSON.stringify(state)), state, 'the state is plain');
  t.equal(
    map(table('instrument', 'partial', findRow('XBTUSD')), state).length,
    5,
    'a new partial publishes everything again',
  );
  t.end();
});

t.test('recorded updates change what the partial published', (t) => {
  const state: MapState = {};
  map(table('instrument', 'partial', findRow('ETHUSD'), findRow('XBTUSD')), state);
  t.same(mapLine(TARDIS, 11, state), [record('oi', 'ETHUSD', [null, null], { oi: '58922153', oi_unit: 'contracts' })]);
  t.same(mapLine(TARDIS, 2, state), [], 'the direction of the last tick is no member of ours');
  for (const line of [4, 5]) t.same(mapLine(TARDIS, line, state), [], `contracts with a delivery (${line})`);
  t.end();
});

t.test('a member that cannot be read has replaced the one held, and its layers are given without it', (t) => {
  const state: MapState = {};
  map(table('instrument', 'partial', findRow('XBTUSD')), state);
  const update = table('instrument', 'update', { symbol: 'XBTUSD', lastPrice: 5, fundingRate: 'x' });
  t.throws(() => map(update, state), {
    code: 'VENUE_BAD_FIGURE',
    mapped: [{ record: { layer: 'ticker', values: { last: '5' } } }, {}],
  });
  t.match(
    map(table('instrument', 'update', { symbol: 'XBTUSD', fundingTimestamp: '2021-07-24T04:00:00.000Z' }), state),
    [{ layer: 'funding', values: { funding: null, next_funding_at: Date.UTC(2021, 6, 24, 4) * 1000 } }],
    'never with the rate that the venue had already replaced',
  );
  t.end();
});

t.test('a pong is exactly what the venue sends', (t) => {
  t.same(map(frame('pong')), []);
  for (const text of ['null', '[]', 'PONG', 'pon', '5']) t.equal(codeOf(frame(text)), 'VENUE_BAD_FRAME', text);
  t.end();
});

t.test('every active perpetual of the REST answer gives its layers', (t) => {
  const records = mapFile(ACTIVE);
  t.equal(records.length, 23 * 5, 'of 34 instruments eleven have a delivery');
  t.match(
    records.find(({ layer, venue_symbol }) => layer === 'mark' && venue_symbol === 'XBTEUR'),
    record('mark', 'XBTEUR', [Date.UTC(2021, 6, 22, 22, 36, 5), lineOf(ACTIVE, 1).recv_ms], { mark: '27464.48' }),
  );
  const summary = (symbol: string): unknown =>
    records.filter(({ venue_symbol }) => venue_symbol === symbol).map(({ layer, values }) => [layer, values]);
  t.same(summary('XBTUSD'), [
    ['ticker', { last: '32175' }],
    ['mark', { mark: '32184.89', index: '32182.72' }],
    [
      'funding',
      { funding: '0.0001', funding_interval_ms: 28_800_000, next_funding_at: Date.UTC(2021, 6, 23, 4) * 1000 },
    ],
    ['oi', { oi: '574264600', oi_unit: 'contracts' }],
    ['stats', { volume_24h: '662123900', volume_unit: 'contracts', turnover_24h: '662123900', change_24h: '0.0058' }],
  ]);
  t.end();
});

t.test('levels without a price are identified by their id', (t) => {
  const state: MapState = {};
  t.same(mapLine(TARDIS, 3, state), [], 'nothing before the partial');
  t.same(
    mapLine(TARDIS, 7, state),
    [
      record('book', 'XBTUSD', [null, null], {
        kind: 'snapshot',
        bids: [],
        asks: [
          ['8586', '61227'],
          ['9780.5', '40'],
          ['88846.5', '501'],
        ],
        sequence: null,
      }),
    ],
    'the partial, best first; EOSM19 has a delivery',
  );
  const levels = (asks: unknown): unknown[] => [
    record('book', 'XBTUSD', [null, null], { kind: 'update', bids: [], asks, sequence: null }),
  ];
  t.same(mapLine(TARDIS, 8, state), levels([['8586', '91227']]));
  t.same(mapLine(TARDIS, 9, state), levels([['8586', '0']]));
  t.same(mapLine(TARDIS, 8, state), [], 'an id that was deleted has no price any more');
  t.end();
});

t.test('a level that changes sides keeps its price whichever of its two rows comes first', (t) => {
  // Numbers, and ids of more digits than a double has, which are kept as text; a checkpoint writes both as text.
  for (const id of [17999900000, '99999999999999999917']) {
    let state: MapState = {};
    const row = { symbol: 'XBTUSD', id, timestamp: '2026-01-15T12:00:00.000Z' };
    const [bid, ask] = [
      { ...row, side: 'Buy' },
      { ...row, side: 'Sell' },
    ];
    map(table('orderBookL2', 'partial', { ...bid, size: 5, price: 100 }), state);
    map(table('orderBookL2', 'insert', { ...ask, size: 7, price: 100 }), state);
    state = JSON.parse(JSON.stringify(state)) as MapState;
    const read = (message: VenueMessage) => map(message, state).map(({ values }) => values);
    t.match(read(table('orderBookL2', 'delete', bid)), [{ bids: [['100', '0']], asks: [] }]);
    t.match(read(table('orderBookL2', 'update', { ...ask, size: 3 })), [{ bids: [], asks: [['100', '3']] }]);
    t.match(read(table('orderBookL2', 'delete', ask)), [{ bids: [], asks: [['100', '0']] }]);
    t.same(read(table('orderBookL2', 'update', { ...ask, size: 4 })), [], 'a deleted row has no price any more');
  }
  t.end();
});

t.test('a row that has its price from the other side keeps it after that side is deleted', (t) => {
  // As where a checkpoint of an earlier version has an ask under the id alone.
  const state: MapState = {};
  const row = { symbol: 'XBTUSD', id: 17999900000, timestamp: '2026-01-15T12:00:00.000Z' };
  map(table('orderBookL2', 'partial', { ...row, side: 'Buy', size: 5, price: 100 }), state);
  const read = (message: VenueMessage) => map(message, state).map(({ values }) => values);
  const ask = { ...row, side: 'Sell' };
  t.match(read(table('orderBookL2', 'update', { ...ask, size: 3 })), [{ bids: [], asks: [['100', '3']] }]);
  read(table('orderBookL2', 'delete', { ...row, side: 'Buy' }));
  t.match(read(table('orderBookL2', 'update', { ...ask, size: 2 })), [{ bids: [], asks: [['100', '2']] }]);
  t.match(read(table('orderBookL2', 'delete', ask)), [{ bids: [], asks: [['100', '0']] }]);
  t.same(read(table('orderBookL2', 'update', { ...ask, size: 4 })), []);
  t.end();
});

t.test('a message of several levels keeps their order and has the newest of their stamps', (t) => {
  const state: MapState = {};
  const [snapshot] = mapLine(TARDIS, 16, state);
  t.match(snapshot, { venue_ts: 1644825594829_000, values: { kind: 'snapshot', bids: [] } });
  t.match(mapLine(TARDIS, 17, state), [
    { venue_ts: 1644826014742_000, values: { kind: 'update', bids: [['42362', '20000']], asks: [] } },
  ]);
  t.match(mapLine(TARDIS, 18, state), [
    { venue_ts: 1644827696913_000, values: { bids: [['658900', '0']], asks: [['662520', '0']] } },
  ]);
  t.match(mapLine(SESSION, 57), [], 'nothing before the partial');
  const session: MapState = {};
  mapLine(SESSION, 51, session);
  t.same(mapLine(SESSION, 57, session)[0]?.values, {
    kind: 'update',
    bids: [
      ['32072', '20500'],
      ['31975.5', '3000'],
      ['31963', '21300'],
    ],
    asks: [['32335', '100']],
    sequence: null,
  });
  const engine = { symbol: 'XBTUSD', id: 1, side: 'Buy', size: 2, price: 3, timestamp: '2024-01-01T00:00:05Z' };
  t.match(
    map(table('orderBookL2', 'partial', { ...engine, transactTime: '2024-01-01T00:00:04Z' })),
    [{ venue_ts: Date.UTC(2024, 0, 1, 0, 0, 4) * 1000 }],
    "the matching engine's stamp comes first",
  );
  t.end();
});

t.test('other forms of the book', (t) => {
  const row = { symbol: 'XBTUSD', bids: [[5, 1]], asks: [[6, 2]], timestamp: '2024-01-01T00:00:00Z' };
  const whole = { kind: 'snapshot', bids: [['5', '1']], asks: [['6', '2']], sequence: null };
  t.match(map(table('orderBook10', 'update', row)), [{ values: whole }]);
  t.equal(venue.map({}, table('orderBook10', 'update', row), { listings: new Map() })[0]?.chain, undefined);
  const rest = [
    { symbol: 'XBTUSD', id: 2, side: 'Sell', size: 2, price: 6, timestamp: '2024-01-01T00:00:00Z' },
    { symbol: 'XBTUSD', id: 1, side: 'Buy', size: 1, price: 5, timestamp: '2024-01-01T00:00:01Z' },
  ];
  t.match(map(answer('GET https://www.bitmex.com/api/v1/orderBook/L2?symbol=XBTUSD&depth=0', rest)), [
    { venue_ts: Date.UTC(2024, 0, 1, 0, 0, 1) * 1000, values: whole },
  ]);
  const empty = frame({ table: 'orderBookL2', action: 'partial', filter: { symbol: 'SOLUSDT' }, data: [] });
  t.match(map(empty), [{ venue_symbol: 'SOLUSDT', values: { kind: 'snapshot', bids: [], asks: [] } }], 'an empty book');
  t.match(venue.sequence(empty.payload.toString()), { symbol: 'SOLUSDT', kind: 'snapshot' });
  t.end();
});

t.test('the recorded books agree with the recorded quotes', (t) => {
  const lines = readRecording(`bitmex/${SESSION}`);
  const state: MapState = {};
  const books = new Map<string, ReturnType<typeof createBook>>();
  const tops = new Set<string>();
  const missing: string[] = [];
  let quotes = 0;
  for (const line of lines.filter(({ dir }) => dir === 'in')) {
    for (const { record } of venue.map(state, toVenueMessage(line), { listings: new Map() })) {
      if (record.layer !== 'book') continue;
      const book = books.get(record.venue_symbol) ?? createBook();
      books.set(record.venue_symbol, book);
      if (record.values.kind === 'snapshot') applySnapshot(book, { ...record.values, full: undefined });
      else applyUpdate(book, { ...record.values, full: undefined });
      const { bids, asks } = listTopLevels(book, 1);
      tops.add(`${record.venue_symbol} ${bids[0]} ${asks[0]}`);
    }
    if (!line.raw.startsWith('{"table":"quote","action":"insert"')) continue;
    const last = (JSON.parse(line.raw) as { data: Record<string, unknown>[] }).data.at(-1) ?? {};
    if (!books.has(String(last.symbol))) continue;
    quotes++;
    const summary = `${last.symbol} ${last.bidPrice},${last.bidSize} ${last.askPrice},${last.askSize}`;
    if (!tops.has(summary)) missing.push(summary);
  }
  t.equal(quotes, 60);
  t.same(missing, []);
  t.end();
});

t.test('a chain shows only where a book begins', (t) => {
  const lines = readRecording(`bitmex/${SESSION}`);
  const chains = listChains(venue, lines);
  const perpetuals = ['ADAUSDT', 'EOSUSDT', 'MATICUSDT', 'TRXUSDT', 'XBTUSD'];
  t.same(followBooks(venue, chains), { broke: [], whole: perpetuals, applied: 1670 + 5 });
  t.same(followBooks(venue, chains.slice(3)).whole, perpetuals.slice(2, 4), 'no book without its partial');
  const state: MapState = {};
  const mapped = lines.flatMap((line) =>
    line.dir === 'in'
      ? venue.map(state, toVenueMessage(line), { listings: new Map() }).flatMap(({ chain }) => chain ?? [])
      : [],
  );
  t.same(mapped, chains, 'the quick check of a frame agrees with the mapper');
  t.match(chains[0], { kind: 'snapshot', full: { bids: true, asks: true } }, 'a partial is the whole book');
  t.match(
    venue.sequence('{"table":"orderBookL2_25","action":"partial","data":[{"symbol":"XBTUSD","id":1}]}'),
    { full: { bids: false, asks: false } },
    'or the best 25 of it',
  );
  t.end();
});

t.test('trades as they are inserted; a liquidation order that buys closes a short', (t) => {
  t.same(mapLine(TARDIS, 1), [
    record('trade', 'XBTUSD', [Date.UTC(2019, 5, 1, 0, 0, 19, 163), null], {
      id: 'f73b6f28-075a-3548-a81c-8c843afd2746',
      side: 'sell',
      price: '8544.5',
      quantity: '1000',
      quantity_unit: 'contracts',
    }),
  ]);
  t.match(mapLine(SESSION, 241), [
    { values: { id: '6e70bebe-235e-08a6-d11b-e1042bf1f2ed', side: 'buy', price: '32180.5', quantity: '100' } },
    { values: { id: '132702bb-2daa-0b5a-cb86-01882dd0348b', side: 'buy', price: '32180.5', quantity: '900' } },
  ]);
  t.same(mapLine(TARDIS, 12), [
    record('liquidation', 'XBTUSD', [null, null], {
      id: 'dd9cea25-207c-0dab-15b5-b88da776f500',
      side: 'short',
      price: '10106',
      price_kind: 'order',
      quantity: '9214',
      quantity_unit: 'contracts',
    }),
  ]);
  const order = { orderID: 'o', symbol: 'XBTUSD', side: 'Sell', price: 1, leavesQty: 2 };
  t.match(map(table('liquidation', 'insert', order)), [{ values: { side: 'long' } }]);
  t.match(map(table('liquidation', 'insert', { ...order, orderID: undefined })), [
    { values: { id: null, quantity: '2' } },
  ]);
  for (const action of ['partial', 'update', 'delete'])
    t.same(map(table('liquidation', action, order)), [], `${action} of a liquidation`);
  t.end();
});

t.test('a bin is stamped with its end, a candle with its start', (t) => {
  // The bin of jkorf-ws:6, of five minutes of spot: here one of a minute of a perpetual, its foreignNotional other than its volume.
  const bin = {
    timestamp: '2025-02-07T10:55:00.000Z',
    symbol: 'XBTUSDT',
    open: 97255.4,
    high: 97304.0,
    low: 97240.0,
    close: 97250.0,
  };
  const counted = {
    trades: 128,
    volume: 304800,
    vwap: 97266.8,
    lastSize: 200,
    turnover: 313366507,
    homeNotional: 3.13,
    foreignNotional: 304800.5,
  };
  const makeCandle = (turnover: string) =>
    record('candle', 'XBTUSDT', [null, null], {
      open_time: Date.UTC(2025, 1, 7, 10, 54) * 1000,
      price_type: 'trade',
      timeframe: '1m',
      open: '97255.4',
      high: '97304',
      low: '97240',
      close: '97250',
      volume: '304800',
      volume_unit: 'contracts',
      turnover,
      trades: 128,
      closed: null,
    });
  const candle = makeCandle('304800.5');
  t.same(
    map(frame(lineOf(JKORF_WS, 6).raw.replace('tradeBin5m', 'tradeBin1m').replace('ETH_USDT', 'XBTUSDT'))),
    [makeCandle('304800')],
    'the bin of jkorf-ws:6 but for the words of its length and symbol',
  );
  const row = { ...bin, ...counted };
  t.same(map(table('tradeBin1m', 'insert', row)), [candle]);
  t.same(map(table('tradeBin5m', 'insert', row)), [], 'other lengths');
  const url = 'GET https://www.bitmex.com/api/v1/trade/bucketed';
  t.same(map(answer(`${url}?binSize=1m&symbol=XBTUSDT`, [row])), [candle]);
  t.same(map(answer(`${url}?symbol=XBTUSDT`, [row])), [candle], 'a minute is the default');
  t.same(map(answer(`${url}?binSize=1h&symbol=XBTUSDT`, [row])), []);
  t.equal(codeOf(answer(url, [row])), 'VENUE_UNKNOWN_LISTING', 'an unknown length');
  t.match(map(table('tradeBin1m', 'insert', { timestamp: bin.timestamp, symbol: 'XBTUSDT', trades: 0, volume: 0 })), [
    { values: { open: null, volume: '0', trades: 0 } },
  ]);
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['an update before the partial', TARDIS, 2],
    ['contracts with a delivery', TARDIS, 4],
    ['a quote', TARDIS, 6],
    ['a level of a contract with a delivery', TARDIS, 10],
    ['the end of a liquidation', TARDIS, 13],
    ['an empty book of a contract with a delivery', TARDIS, 15],
    ['a greeting', SESSION, 5],
    ['an acknowledgement', SESSION, 6],
    ['past trades after a subscription', SESSION, 44],
    ['a bin of five minutes, of spot', JKORF_WS, 6],
    ['a trade of spot', JKORF_WS, 9],
    ['placeholders', JKORF_REST, 2],
    ['past funding', JKORF_REST, 5],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame('pong')), []);
  const index = { symbol: '.BXBT', side: 'Buy', size: 0, price: 5, timestamp: '2024-01-01T00:00:00Z' };
  t.same(map(table('trade', 'insert', index)), [], 'an index');
  t.same(map(table('trade', 'insert', { ...index, symbol: 'XBTUSD', side: undefined })), [], 'a trade without a taker');
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const level = { symbol: 'XBTUSD', id: 1, side: 'Buy', size: 2, price: 3 };
  const cases: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"table":"trade","act'), 'VENUE_BAD_FRAME'],
    ['no object', frame('12345'), 'VENUE_BAD_FRAME'],
    ['no action', table('trade', 'upsert', level), 'VENUE_BAD_FRAME'],
    ['a refusal', frame({ status: 400, error: 'Unknown table', meta: {} }), 'VENUE_BAD_FRAME'],
    ['a price of zero', table('orderBookL2', 'partial', { ...level, price: 0 }), 'VENUE_BAD_FIGURE'],
    ['no price', table('orderBookL2', 'partial', { ...level, price: undefined }), 'VENUE_BAD_FRAME'],
    ['a negative size', table('orderBookL2', 'partial', { ...level, size: -1 }), 'VENUE_BAD_FIGURE'],
    ['no side', table('orderBookL2', 'partial', { ...level, side: 'up' }), 'VENUE_BAD_FRAME'],
    [
      'an error answer',
      answer('GET /api/v1/trade', { error: { message: 'Rate limit', name: 'x' } }),
      'VENUE_BAD_FRAME',
    ],
    ['an answer to nothing', { ...frame([level]), kind: 'response' }, 'VENUE_UNKNOWN_LISTING'],
  ];
  for (const [what, message, code] of cases) t.equal(codeOf(message), code, what);
  t.end();
});

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(ACTIVE);
  t.equal(listings.length, 23);
  t.same(
    listings.find(({ venue_symbol }) => venue_symbol === 'XBTUSD'),
    record('listing', 'XBTUSD', [Date.UTC(2021, 6, 22, 22, 36, 5), lineOf(ACTIVE, 1).recv_ms], {
      instrument: 'BTC-PERP',
      venue_symbol: 'XBTUSD',
      base: 'BTC',
      quote: 'USD',
      base_venue_alias: 'XBT',
      kind: 'perpetual',
      venue_kind: 'inverse',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.5',
      lot_size: '100',
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: 'contracts', min_qty: null, min_notional: null, contract_size: 'quote' },
      quantity_unit: 'contracts',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
      rules_normalisation: {
        tick_size: { venue_field: 'tickSize', transform: 'identity' },
        lot_size: { venue_field: 'lotSize', transform: 'identity' },
        contract_size: { venue_field: 'multiplier', transform: 'scale:-0.00000001' },
      },
      candles: makeCandles('trade'),
      not_published: ['min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
      bands: BANDS,
      oi_sides: null,
      listed_at: Date.UTC(2016, 4, 13, 12) * 1000,
      delisted_at: null,
    }),
  );
  const kinds = Object.groupBy(listings, ({ values }) => String(values.venue_kind));
  t.same(
    kinds.inverse?.map(({ venue_symbol }) => venue_symbol),
    ['XBTUSD', 'XBTEUR'],
  );
  t.equal(kinds.quanto?.length, 21, 'all others settled in bitcoin then');
  t.match(kinds.quanto?.[0]?.values, {
    venue_symbol: 'XRPUSD',
    contract_size: null,
    tick_size: '0.0001',
    units: { contract_size: null },
  });
  t.match(listings.find(({ venue_symbol }) => venue_symbol === 'DOGEUSDT')?.values, { tick_size: '0.00001' });
  t.end();
});

const mapListing = (members: object): ListingRecord | undefined => {
  const row = {
    typ: 'FFWCSX',
    state: 'Open',
    quoteCurrency: 'USDT',
    isInverse: false,
    isQuanto: false,
    lotSize: 100,
    tickSize: 0.1,
    ...members,
  };
  return venue.mapReference({}, answer('GET https://www.bitmex.com/api/v1/instrument/active?columns=x', [row]))
    ?.listings[0];
};

t.test('every answer of whole instruments is a reference; one of some columns is not', (t) => {
  const [row] = JSON.parse(lineOf(ACTIVE, 1).raw).filter(({ symbol }: { symbol: string }) => symbol === 'XBTUSD');
  const read = (path: string, body: unknown) => {
    const message = answer(`GET https://www.bitmex.com/api/v1/instrument${path}`, body);
    const reference = venue.mapReference({}, message);
    return [reference?.scope, reference?.listings.map(({ values }) => values.venue_symbol), map(message).length];
  };
  t.same(read('/active', [row]), ['all', ['XBTUSD'], 5]);
  t.same(read('/activeAndIndices', [row]), ['all', ['XBTUSD'], 5]);
  t.same(read('?symbol=XBTUSD', [row]), ['asked symbol=XBTUSD', ['XBTUSD'], 5]);
  const { symbol, lastPrice } = row;
  t.same(read('?columns=lastPrice', [{ symbol, lastPrice }]), ['asked columns=lastPrice', [], 1]);
  t.equal(venue.mapReference({}, answer('GET /api/v1/instrument/active', { error: { message: 'no' } })), null);
  t.end();
});

t.test('linear contracts are sized by their multiplier in the smallest unit of the settlement currency', (t) => {
  const bitcoin = {
    symbol: 'XBTUSDT',
    underlying: 'XBT',
    settlCurrency: 'USDt',
    multiplier: 1,
    quoteToSettleMultiplier: 1000000,
    underlyingToPositionMultiplier: 1000000,
  };
  const linear = mapListing({ ...bitcoin, fundingInterval: '2000-01-01T04:00:00.000Z' });
  t.match(linear?.values, {
    base: 'BTC',
    quote: 'USDT',
    venue_kind: 'linear',
    contract_size: '0.000001',
    units: { contract_size: 'base' },
    funding_interval: '4h',
    funding_interval_source: 'venue',
    rules_normalisation: { contract_size: { venue_field: 'multiplier', transform: 'scale:0.000001' } },
  });
  const ether = {
    ...bitcoin,
    symbol: 'ETHUSDT',
    underlying: 'ETH',
    multiplier: 10,
    underlyingToPositionMultiplier: 100000,
  };
  t.match(mapListing(ether)?.values, {
    contract_size: '0.00001',
    funding_interval: null,
    funding_interval_source: null,
  });
  for (const multiplier of [0, -10]) t.match(mapListing({ ...ether, multiplier })?.values, { contract_size: null });
  t.end();
});

t.test('a worth of nothing, or of another sign than its currency, is none', (t) => {
  const inverse = { symbol: 'XBTUSD', underlying: 'XBT', isInverse: true, underlyingToSettleMultiplier: -100000000 };
  const sizeOf = (members: object): unknown => mapListing({ ...inverse, ...members })?.values.contract_size;
  t.equal(sizeOf({ multiplier: -100000000 }), '1');
  for (const multiplier of [0, 100000000, null]) t.equal(sizeOf({ multiplier }), null, String(multiplier));
  t.match(mapListing({ ...inverse, multiplier: 0 })?.values, {
    units: { contract_size: null },
    rules_normalisation: { contract_size: undefined },
  });
  // The division is the last step (H-16l): a third, rounded first, would make this 99.9….
  t.equal(sizeOf({ multiplier: -300, underlyingToSettleMultiplier: -3 }), '100');
  t.end();
});

t.test('multipliers in symbols are undone; states and intervals are published', (t) => {
  const findBase = (symbol: string, underlying: string): unknown => {
    const { base, base_venue_alias, multiplier } = mapListing({ symbol, underlying })?.values ?? {};
    return [base, base_venue_alias, multiplier];
  };
  t.same(findBase('1000PEPEUSDT', 'PEPE'), ['PEPE', '1000PEPE', '1000']);
  t.same(findBase('100BONKUSDT', '100BONK'), ['BONK', '100BONK', '100']);
  t.same(findBase('1INCHUSDT', '1INCH'), ['1INCH', null, '1']);
  t.same(findBase('ALTMEXUSDT', 'ALTMEX'), ['ALTMEX', null, '1']);
  const mapValues = (members: object): unknown =>
    mapListing({ symbol: 'XBTUSDT', underlying: 'XBT', ...members })?.values;
  t.match(mapValues({ state: 'Closed' }), { status: 'halted' });
  t.match(mapValues({ state: 'Settled', expiry: '2024-01-02T12:00:00Z' }), {
    status: 'delisted',
    delisted_at: Date.UTC(2024, 0, 2, 12) * 1000,
  });
  t.match(mapValues({ state: 'Delisted' }), { status: 'delisted' });
  t.match(mapValues({ state: 'Odd' }), { status: 'unknown' });
  // A day of the year 2200 is none (ccxt, `bitmex.ts`: "listing field is buggy").
  const never = { listing: '2200-02-01T00:00:00.000Z', expiry: '2200-02-01T00:00:00.000Z' };
  t.match(mapValues(never), { status: 'tradeable', listed_at: null, delisted_at: null });
  t.match(mapListing({ symbol: 'TSLAUSDT', underlying: 'TSLA', typ: 'FFSCSX' })?.values, {
    instrument: 'TSLA-PERP',
    status: 'tradeable',
  });
  for (const typ of ['SRMCSX', 'RCSXXX', 'FXXXS', 'FMXXS', 'MRBXXX', 'OCECCS', 'FFICSX'])
    t.equal(mapListing({ symbol: 'XBTUSDT', underlying: 'XBT', typ }), undefined, typ);
  t.match(mapValues({ fundingInterval: '2000-01-02T00:00:00Z' }), { funding_interval: '1d' });
  t.equal(mapListing({ symbol: 'XBTZ24', underlying: 'XBT', typ: 'FFCCSX' }), undefined);
  t.equal(mapListing({ symbol: 'XBT_USDT', underlying: 'XBT', typ: 'IFXXXP' }), undefined);
  // `ETHUSD_ETH`: in dollars, settled in ether (gocryptotrader, `bitmex_wrapper.go`).
  const settled = { underlying: 'ETH', isInverse: true, multiplier: -1000000000, underlyingToSettleMultiplier: -1e9 };
  t.match(mapListing({ symbol: 'ETHUSD_ETH', ...settled })?.values, {
    base: 'ETH',
    quote: 'USD',
    base_venue_alias: null,
    venue_kind: 'inverse',
    contract_size: '1',
    multiplier: '1',
  });
  const trade = { timestamp: '2024-01-02T12:00:00.000Z', symbol: 'ETHUSD_ETH', side: 'Buy', size: 2, price: 3 };
  t.same(
    map(frame({ table: 'trade', action: 'insert', data: [trade] })).map((r) => r.venue_symbol),
    ['ETHUSD_ETH'],
  );
  t.end();
});
