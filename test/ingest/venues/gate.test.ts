// Gate: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { gate as venue } from '../../../ingest/venues/gate/index.ts';
import { followBooks, listChains } from '../../support/venues/book-sessions.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, frame, answer, record, codeOf } = venueBench(venue);

const SESSION = 'cryptofeed-futures-usdt-ws-1.ndjson.gz';

const BOOKS = 'cryptofeed-futures-usdt-rest-http.ndjson';

const TARDIS = 'tardis-tests-gate-io-futures.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const BYTEX = 'bytex-2026-09.ndjson';

const OBSERVATORY = 'observatory-2026-09.ndjson';

const ANNOUNCEMENT = 'announcement-2025-05.ndjson';

const REST = 'GET https://api.gateio.ws/api/v4/futures';

const update = (channel: string, result: unknown): VenueMessage =>
  frame({ time: 1700000000, time_ms: 1700000000123, channel, event: 'update', result });

t.test('tickers give every layer, in contracts, quote currency and fractions', (t) => {
  const at = [1677629168840, null] as const;
  t.same(mapLine(TARDIS, 21), [
    record('ticker', 'BTC_USDT', at, { last: '23160.2' }),
    record('mark', 'BTC_USDT', at, { mark: '23175.64', index: '23173.35' }),
    record('funding', 'BTC_USDT', at, { funding: '0.0001', funding_interval_ms: null, next_funding_at: null }),
    record('oi', 'BTC_USDT', at, { oi: '153482780', oi_unit: 'contracts' }),
    record('stats', 'BTC_USDT', at, {
      volume_24h: '155496714',
      volume_unit: 'contracts',
      turnover_24h: '360157621',
      change_24h: '-0.013224',
    }),
  ]);
  t.match(
    mapLine(JKORF_WS, 18).map(({ venue_ts, values }) => [venue_ts, values]),
    [
      [1541659086123_000, { last: '118.4' }],
      [1541659086123_000, { mark: '118.35', index: '118.36' }],
      [1541659086123_000, { funding: '-0.000114' }],
      [1541659086123_000, { oi: '73648.5' }],
      [1541659086123_000, { volume_24h: '745487577', turnover_24h: '1665006', change_24h: '0.0077' }],
    ],
    'the rate of the coming settlement, not the indicative one; sizes may be decimals',
  );
  t.end();
});

t.test('tickers of 2026 have their own stamp, the funding interval and the coming settlement', (t) => {
  const at = [1790359194966, null] as const;
  t.same(mapLine(BYTEX, 1), [
    record('ticker', 'BTC_USDT', at, { last: '83746.8' }),
    record('mark', 'BTC_USDT', at, { mark: '83746.8', index: '83786.4' }),
    record('funding', 'BTC_USDT', at, {
      funding: '0.000125',
      funding_interval_ms: 28_800_000,
      next_funding_at: 1790380800_000_000,
    }),
    record('oi', 'BTC_USDT', at, { oi: '577776862', oi_unit: 'contracts' }),
    record('stats', 'BTC_USDT', at, {
      volume_24h: '670521289',
      volume_unit: 'contracts',
      turnover_24h: '5615401236',
      change_24h: '-0.003892',
    }),
  ]);
  t.match(
    mapLine(OBSERVATORY, 1)[2],
    record('funding', 'BTC_USDT', [1789456337802, null], {
      funding: '0.000072',
      funding_interval_ms: 28_800_000,
      next_funding_at: 1789459200_000_000,
    }),
    'from another capture',
  );
  t.same(mapLine(BYTEX, 2), [], 'a contract with a delivery');
  const fields = { contract: 'BTC_USDT', funding_rate: null, funding_next_apply: 1790380800 };
  t.match(
    map(update('futures.tickers', [fields])),
    [{ layer: 'funding', values: { funding: null, next_funding_at: 1790380800_000_000 } }],
    'a settlement that is known before its rate',
  );
  t.end();
});

t.test('a stream of the book begins whole, and may change its id alone', (t) => {
  t.match(mapLine(OBSERVATORY, 2), [{ values: { kind: 'snapshot', sequence: '108552472643' } }]);
  t.same(mapLine(OBSERVATORY, 4), [
    record('book', 'BTC_USDT', [1789455580300, null], { kind: 'update', bids: [], asks: [], sequence: '125033676011' }),
  ]);
  t.end();
});

t.test('tickers came as a list, a list within a list, and alone', (t) => {
  const twice = mapLine(TARDIS, 5);
  t.equal(twice.length, 10, 'the same contract twice');
  t.match(
    twice[4],
    record('stats', 'ETC_USD', [1593561606000, null], {
      volume_24h: '2713',
      turnover_24h: '14051',
      change_24h: '-0.0131',
    }),
  );
  t.match(
    mapLine(TARDIS, 15)[1],
    record('mark', 'BSV_USDT', [1617952183000, null], { mark: '244.78', index: '244.75' }),
  );
  t.match(mapLine(TARDIS, 16)[3], record('oi', 'ETC_USD', [1647501206000, null], { oi: '14', oi_unit: 'contracts' }));
  t.match(
    mapLine(JKORF_REST, 9).map(({ venue_ts, values }) => [venue_ts, values]),
    [
      [null, { last: '6432' }],
      [null, { mark: '6534', index: '6531' }],
      [null, { funding: '0.0001' }],
      [null, { oi: '32323904' }],
      [null, { volume_24h: '184040233284', turnover_24h: '184040233284', change_24h: '0.0443' }],
    ],
    'an answer has no stamp',
  );
  t.end();
});

t.test('statistics of a contract give mark and open interest of their minute', (t) => {
  t.same(mapLine(JKORF_WS, 9), [
    record('mark', 'ETH_USDT', [1742812860000, null], { mark: '87746.16', index: null }),
    record('oi', 'ETH_USDT', [1742812860000, null], { oi: '22883730.5', oi_unit: 'contracts' }),
  ]);
  t.end();
});

t.test('the list of contracts gives prices, and the rate with its interval and settlement', (t) => {
  const at = [null, null] as const;
  t.same(mapLine(JKORF_REST, 1), [
    record('ticker', 'BTC_USDT', at, { last: '38026' }),
    record('mark', 'BTC_USDT', at, { mark: '37985.6', index: '37954.92' }),
    record('funding', 'BTC_USDT', at, {
      funding: '0.002053',
      funding_interval_ms: 28_800_000,
      next_funding_at: 1610035200_000_000,
    }),
  ]);
  t.match(mapLine(JKORF_REST, 2)[2], { venue_symbol: 'LAB_USDT', values: { funding: '0.002053' } });
  const contract = { name: 'BTC_USD1', funding_rate: '0.0001', funding_interval: 0, funding_next_apply: 0 };
  t.same(
    map(answer(`${REST}/usd1/contracts`, [contract, { ...contract, name: 'BTC_USDT_20250328' }])),
    [record('funding', 'BTC_USD1', at, { funding: '0.0001', funding_interval_ms: null, next_funding_at: null })],
    'zero is no instant; a contract with a delivery is none of ours',
  );
  t.end();
});

t.test('diffs keep their levels in order, sizes of zero and the stamp of the book', (t) => {
  t.same(mapLine(SESSION, 47), [
    record('book', 'RDNT_USDT', [1684930165247, 1684930166535], {
      kind: 'update',
      bids: [],
      asks: [
        ['0.3047', '8393'],
        ['0.2992', '1336'],
        ['0.2983', '1553'],
        ['0.3225', '13'],
      ],
      sequence: '203083178',
    }),
  ]);
  t.match(mapLine(SESSION, 48), [
    { values: { bids: [['0.2943', '0']], asks: [['0.3004', '36916']], sequence: '203083180' } },
  ]);
  t.match(mapLine(JKORF_WS, 6), [
    {
      venue_ts: 1615366381417_000,
      values: {
        bids: [
          ['54672.1', '0'],
          ['54664.5', '58794.5'],
        ],
        asks: [
          ['54743.6', '0'],
          ['54742', '95.2'],
        ],
      },
    },
  ]);
  t.end();
});

t.test('a REST book is a snapshot of the requested contract, complete with fewer levels than requested', (t) => {
  const [book] = mapLine(BOOKS, 6);
  t.match(book, record('book', 'DIA_USDT', [1684930182803, 1684930183025], { kind: 'snapshot', sequence: '58251407' }));
  if (book?.layer !== 'book') return t.end();
  const { bids, asks } = book.values;
  t.same([bids.length, asks.length], [28, 31]);
  t.same(
    [bids.slice(0, 2), bids.at(-1), asks.slice(0, 2), asks.at(-1)],
    [
      [
        ['0.285', '1203'],
        ['0.2835', '705'],
      ],
      ['0.2601', '2'],
      [
        ['0.2891', '2916'],
        ['0.2919', '521'],
      ],
      ['0.7632', '476'],
    ],
  );
  const findFull = (line: number): unknown =>
    venue.map({}, toVenueMessage(lineOf(BOOKS, line)), { listings: new Map() })[0]?.chain?.full;
  t.same(findFull(6), { bids: true, asks: true });
  t.same(findFull(2), { bids: true, asks: false }, 'a hundred asks of a hundred requested');
  t.equal(codeOf(toVenueMessage(lineOf(JKORF_REST, 7))), 'VENUE_UNKNOWN_LISTING', 'a book of nobody');
  const { raw } = lineOf(JKORF_REST, 7);
  const levels = {
    kind: 'snapshot',
    bids: [
      ['1.17', '150'],
      ['1.16', '203'],
    ],
    asks: [
      ['1.52', '100'],
      ['1.53', '40'],
    ],
  };
  t.same(
    map(answer(`${REST}/usdt/order_book?contract=ETH_USDT&limit=100&with_id=true`, raw)),
    [record('book', 'ETH_USDT', [1623898993121, null], { ...levels, sequence: '123456' })],
    'the recorded answer, requested',
  );
  const merged = `${REST}/usdt/order_book?contract=ETH_USDT&interval=0.1&limit=100&with_id=true`;
  t.same(map(answer(merged, raw)), [], 'merged to coarser prices');
  t.equal(map(answer(merged.replace('0.1', '0'), raw)).length, 1, 'the step of the contract');
  const message = answer(`${REST}/btc/order_book?contract=BTC_USD`, raw.replace('"id":123456,', ''));
  t.same(map(message), [record('book', 'BTC_USD', [1623898993121, null], { ...levels, sequence: null })]);
  t.equal(venue.map({}, message, { listings: new Map() })[0]?.chain, undefined, 'without an id it joins nothing');
  t.end();
});

t.test('a stream of a depth begins with a whole book', (t) => {
  t.same(mapLine(JKORF_WS, 15), [
    record('book', 'ETH_USDT', [1615366381417, null], {
      kind: 'snapshot',
      bids: [['54672.1', '58794.5']],
      asks: [['54742', '95.2']],
      sequence: '2517661113',
    }),
  ]);
  const unnumbered = { t: 1700000000050, full: true, s: 'ob.BTC_USDT.400', u: 10, b: [['5', '3']], a: [['6', '4']] };
  const whole = update('futures.obu', unnumbered);
  t.match(
    map(whole),
    [
      {
        venue_symbol: 'BTC_USDT',
        values: { kind: 'snapshot', bids: [['5', '3']], asks: [['6', '4']], sequence: '10' },
      },
    ],
    'a whole book has no first id',
  );
  t.match(venue.sequence(whole.payload.toString()), { symbol: 'BTC_USDT', kind: 'snapshot', first: null, last: 10n });
  t.match(map(update('futures.order_book_update', { ...unnumbered, s: 'BTC_USDT', b: [], a: null })), [
    { values: { kind: 'snapshot', sequence: '10' } },
  ]);
  t.equal(codeOf(update('futures.obu', { ...unnumbered, full: false })), 'VENUE_BAD_FRAME', 'a change has one');
  const diff = update('futures.obu', { t: 1700000000100, s: 'ob.BTC_USDT.400', U: 11, u: 12, b: [['5', '0']] });
  t.match(map(diff), [
    { venue_symbol: 'BTC_USDT', values: { kind: 'update', bids: [['5', '0']], asks: [], sequence: '12' } },
  ]);
  t.equal(venue.map({}, diff, { listings: new Map() })[0]?.chain?.depth, 400, 'a change reaches as far as its stream');
  t.same(venue.sequence(diff.payload.toString()), {
    symbol: 'BTC_USDT',
    kind: 'update',
    first: 11n,
    last: 12n,
    previous: null,
  });
  t.match(venue.sequence(lineOf(JKORF_WS, 15).raw), { symbol: 'ETH_USDT', kind: 'snapshot', last: 2517661113n });
  t.end();
});

t.test('diffs that were asked for with a depth state it, and reach as far', (t) => {
  const chainOf = (result: object) =>
    venue.map({}, update('futures.order_book_update', result), { listings: new Map() })[0]?.chain;
  const recorded = lineOf(OBSERVATORY, 5);
  t.equal(venue.map({}, frame(recorded.raw), { listings: new Map() })[0]?.chain?.depth, 20, 'recorded');
  const change = { t: 1700000000100, s: 'BTC_USDT', U: 11, u: 12, a: [{ p: '6', s: 1 }] };
  t.equal(chainOf({ ...change, l: '100' })?.depth, 100);
  for (const l of [undefined, null, '', '0', '2.5', -2])
    t.equal(chainOf({ ...change, l })?.depth, undefined, 'all levels');
  const bids = [1, 2].map((p) => ({ p: String(p), s: 1 }));
  t.same(chainOf({ ...change, full: true, b: bids, l: '2' })?.full, { bids: false, asks: true }, 'a whole book');
  t.equal(chainOf({ ...change, full: true, b: bids })?.full, undefined, 'of no known depth');
  t.end();
});

t.test('the stream of a depth had no event at first', (t) => {
  t.same(mapLine(ANNOUNCEMENT, 1), [], 'an acknowledgement has one');
  t.same(mapLine(ANNOUNCEMENT, 2), [
    record('book', 'BTC_USDT', [1747054612673, null], {
      kind: 'snapshot',
      bids: [
        ['104027.1', '509392'],
        ['104027', '477932'],
        ['104026.9', '495268'],
        ['104026.7', '32736'],
        ['104026.5', '34203'],
      ],
      asks: [],
      sequence: '73777715168',
    }),
  ]);
  const change = { t: 1747054612786, s: 'ob.BTC_USDT.50', U: 73777715169, u: 73777715212, b: [['104027', '0']] };
  t.match(map(frame({ channel: 'futures.obu', result: change, time_ms: 1747054612799 })), [
    { venue_symbol: 'BTC_USDT', venue_ts: 1747054612786_000, values: { kind: 'update', sequence: '73777715212' } },
  ]);
  t.same(map(frame({ channel: 'futures.pong', event: '', result: null })), []);
  t.end();
});

t.test('the old channel encodes sides by sign; a size of zero is removed from the side that held it', (t) => {
  t.same(mapLine(TARDIS, 20), [
    record('book', 'BTC_USDT', [1680307560929, null], {
      kind: 'snapshot',
      bids: [['28455.8', '29510']],
      asks: [['28455.9', '19415']],
      sequence: '35064314497',
    }),
  ]);
  t.same(mapLine(TARDIS, 2), [
    record('book', 'BCH_USDT', [1593561604000, null], {
      kind: 'update',
      bids: [['222.25', '0']],
      asks: [
        ['222.25', '390'],
        ['222.25', '0'],
      ],
      sequence: '242207248',
    }),
  ]);
  t.match(mapLine(TARDIS, 22), [
    {
      venue_symbol: 'ALICE_USDT',
      venue_ts: 1683303594244_000,
      values: { kind: 'snapshot', bids: [], asks: [], sequence: null },
    },
  ]);
  t.end();
});

t.test('the recorded session joins its snapshots and is continuous; a missing frame is found', (t) => {
  const chains = listChains(venue, readRecording(`gate/${SESSION}`));
  t.equal(chains.length, 264);
  const mapped = readRecording(`gate/${SESSION}`).flatMap((line) =>
    line.dir === 'in'
      ? venue.map({}, toVenueMessage(line), { listings: new Map() }).flatMap(({ chain }) => chain ?? [])
      : [],
  );
  t.same(mapped, chains, 'the quick check of a frame agrees with the mapper');
  const snapshots = readRecording(`gate/${BOOKS}`).flatMap((line) =>
    venue.map({}, toVenueMessage(line), { listings: new Map() }).flatMap(({ chain }) => chain ?? []),
  );
  const symbols = snapshots.map(({ symbol }) => symbol).toSorted();
  const late = followBooks(venue, [...chains, ...snapshots]);
  t.same([late.broke, late.whole], [[], symbols], 'snapshots after the diffs kept for them');
  const early = followBooks(venue, [...snapshots, ...chains]);
  t.same([early.broke, early.whole], [[], symbols], 'snapshots before all diffs');
  t.equal(early.applied, late.applied, 'the same diffs either way');
  const applied = chains.filter(
    ({ symbol, last }) => (last ?? 0n) > (snapshots.find((s) => s.symbol === symbol)?.last ?? 0n),
  );
  t.equal(early.applied, applied.length + 7);
  const lost = applied[20];
  const holed = [...snapshots, ...chains.filter((chain) => chain !== lost)];
  t.same(followBooks(venue, holed).broke, [lost?.symbol]);
  const [body] = readRecording(`gate/${BOOKS}`);
  t.same(
    venue.sequence(body?.raw ?? ''),
    { ...snapshots[0], symbol: '', full: undefined },
    'the body leaves its contract out',
  );
  t.end();
});

t.test('the sign of a trade is its side, the stamp the finest it has', (t) => {
  const trade = (id: string, side: string, price: string, quantity: string): unknown => ({
    id,
    side,
    price,
    quantity,
    quantity_unit: 'contracts',
  });
  t.same(mapLine(TARDIS, 7), [
    record('trade', 'ETH_USDT', [1593561623000, null], trade('1696009', 'sell', '225.5', '22')),
  ]);
  t.same(mapLine(TARDIS, 19), [
    record('trade', 'BTC_USDT', [1614556850860, null], trade('13654526', 'buy', '45300', '1')),
    record('trade', 'BTC_USDT', [1614556850860, null], trade('13654527', 'buy', '45300', '2000')),
    record('trade', 'BTC_USDT', [1614556850860, null], trade('13654528', 'buy', '45300', '999')),
  ]);
  t.same(mapLine(JKORF_REST, 10), [
    record('trade', 'BTC_USDT', [1514764800000, null], trade('121234231', 'sell', '100.123', '100')),
  ]);
  const past = {
    id: 9,
    create_time: 1514764800,
    create_time_ms: 1514764800.125,
    contract: 'BTC_USDT',
    size: '0.5',
    price: '7',
  };
  t.same(
    map(answer(`${REST}/usdt/trades`, [past])),
    [record('trade', 'BTC_USDT', [1514764800125, null], trade('9', 'buy', '7', '0.5'))],
    'answers stamp in seconds with a fraction',
  );
  t.same(
    map(update('futures.trades', [{ ...past, is_internal: true }])),
    [],
    'the insurance fund and auto-deleveraging',
  );
  t.end();
});

// Besides the recorded ones: those of https://www.gate.com/docs/developers/futures/ws/en, seen 2026-11-21.

t.test('a liquidation order that sells closes a long; an answer names the position', (t) => {
  const order = { price: 215.1, size: '-124', time_ms: 1541486601123, contract: 'BTC_USDT' };
  t.same(map(update('futures.public_liquidates', [order])), [
    record('liquidation', 'BTC_USDT', [1541486601123, null], {
      id: null,
      side: 'long',
      price: '215.1',
      price_kind: 'order',
      quantity: '124',
      quantity_unit: 'contracts',
    }),
  ]);
  t.match(map(update('futures.public_liquidates', [{ ...order, size: 3 }])), [
    { values: { side: 'short', quantity: '3' } },
  ]);
  // As captured in https://github.com/gateio/WebSocket-API/issues/132: `time` in milliseconds, and one order alone.
  const captured = { contract: 'HEI_USDT', price: '0.13827', time: 1786327033531, size: -23 };
  t.match(map(update('futures.public_liquidates', captured)), [
    { venue_ts: 1786327033531_000, values: { side: 'long', price: '0.13827', quantity: '23' } },
  ]);
  const past = { time: 1548654951, contract: 'BTC_USDT', size: 600, order_price: '3405', fill_price: '3424', left: 0 };
  t.match(map(answer(`${REST}/usdt/liq_orders`, [past])), [
    { venue_ts: 1548654951_000_000, values: { side: 'long', price: '3424', price_kind: 'fill', quantity: '600' } },
  ]);
  t.match(
    map(answer(`${REST}/usd1/liq_orders`, [{ ...past, contract: 'BTC_USD1' }])),
    [{ venue_symbol: 'BTC_USD1' }],
    'contracts settled in USD1 (since 2026-08-19)',
  );
  // https://www.gate.com/docs/developers/apiv4/en: `size` is the position's, `order_size` what this order closed.
  t.match(map(answer(`${REST}/usdt/liq_orders`, [{ ...past, order_size: '-200' }])), [
    { values: { side: 'long', quantity: '200' } },
  ]);
  t.match(map(answer(`${REST}/usdt/liq_orders`, [{ ...past, size: -600, fill_price: '0' }])), [
    { values: { side: 'short', price: '3405', price_kind: 'order', quantity: '600' } },
  ]);
  // The sign is the side: zero has none.
  t.same(map(update('futures.public_liquidates', [{ ...order, size: 0 }])), []);
  t.same(map(answer(`${REST}/usdt/liq_orders`, [{ ...past, size: 0, order_size: '-200' }])), []);
  t.end();
});

t.test('candles of a minute by price type; a closed window is marked', (t) => {
  // The candle of jkorf-ws:12, of five minutes: here one of a minute, its volume without the fraction.
  const body = { t: 1545129300, v: '27525555', c: '95.4', h: '96.9', l: '89.5', o: '94.3' };
  const candle = {
    open_time: 1545129300_000_000,
    price_type: 'trade',
    timeframe: '1m',
    open: '94.3',
    high: '96.9',
    low: '89.5',
    close: '95.4',
    volume: '27525555',
    volume_unit: 'contracts',
    turnover: null,
    trades: null,
    closed: null,
  };
  // The push has it twice.
  const pushed = record('candle', 'ETH_USDT', [1542162490123, null], { ...candle, volume: '27525555.5' });
  t.same(
    map(frame(lineOf(JKORF_WS, 12).raw.replaceAll('5m_', '1m_'))),
    [pushed, pushed],
    'the push of five minutes (jkorf-ws:12) but for the word of its length',
  );
  const candles = (...items: readonly object[]): VenueMessage => update('futures.candlesticks', items);
  t.same(map(candles({ ...body, n: '1m_ETH_USDT' })), [record('candle', 'ETH_USDT', [1700000000123, null], candle)]);
  t.match(map(candles({ ...body, n: '1m_ETH_USDT', w: true, a: '5' })), [{ values: { closed: true, turnover: '5' } }]);
  t.match(map(candles({ ...body, n: '1m_BTC_USD', a: '5' })), [{ values: { turnover: null } }], 'of an unknown unit');
  t.match(map(candles({ ...body, n: '1m_mark_ETH_USDT' })), [
    { venue_symbol: 'ETH_USDT', values: { price_type: 'mark', volume: null, volume_unit: null } },
  ]);
  const url = `${REST}/usdt/candlesticks`;
  t.same(
    map(answer(`${url}?contract=ETH_USDT&interval=1m`, lineOf(JKORF_REST, 6).raw)),
    [
      record('candle', 'ETH_USDT', [null, null], {
        ...candle,
        open_time: 1539852480000_000,
        open: '1.032',
        high: '1.032',
        low: '1.032',
        close: '1.032',
        volume: '97151',
        turnover: '3580',
      }),
    ],
    'the recorded answer, requested',
  );
  // The prices of the push with the volume and the sum of the answer, whose own prices are all the same.
  const past = { ...body, v: 97151, sum: '3580' };
  t.same(map(answer(`${url}?contract=ETH_USDT&interval=1m`, [past])), [
    record('candle', 'ETH_USDT', [null, null], { ...candle, volume: '97151', turnover: '3580' }),
  ]);
  t.match(map(answer(`${url}?contract=index_ETH_USDT&interval=1m`, [body])), [
    { venue_symbol: 'ETH_USDT', values: { price_type: 'index', volume: null } },
  ]);
  t.same(map(answer(`${url}?contract=ETH_USDT&interval=5m`, [past])), []);
  t.equal(codeOf(toVenueMessage(lineOf(JKORF_REST, 6))), 'VENUE_UNKNOWN_LISTING', 'candles of nobody');
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['top of book', TARDIS, 17],
    ['an empty top of book', TARDIS, 18],
    ['an acknowledgement', TARDIS, 8],
    ['an acknowledgement', JKORF_WS, 5],
    ['candles of five minutes', JKORF_WS, 12],
    ['past funding', JKORF_REST, 3],
    ['premium of the index', JKORF_REST, 5],
    ['risk limits', JKORF_REST, 8],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(
    map(update('futures.tickers', [{ contract: 'BTC_USDT_20250328', last: '1' }])),
    [],
    'a contract with a delivery',
  );
  t.same(map(frame({ time: 1, channel: 'futures.pong', event: '', result: null })), []);
  const untraded = {
    contract: 'A_USDT',
    last: '0',
    mark_price: '0',
    index_price: '',
    funding_rate: '',
    total_size: '',
  };
  t.same(map(update('futures.tickers', [untraded])), [], 'zero and nothing are no prices');
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const diff = { t: 1, s: 'BTC_USDT', U: 1, u: 2, b: [{ p: '1', s: 1 }], a: [] };
  const cases: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"channel":"futures.t'), 'VENUE_BAD_FRAME'],
    ['no object', frame('17'), 'VENUE_BAD_FRAME'],
    ['a price of zero', update('futures.order_book_update', { ...diff, b: [{ p: '0', s: 1 }] }), 'VENUE_BAD_FIGURE'],
    ['a negative size', update('futures.order_book_update', { ...diff, a: [{ p: '1', s: -1 }] }), 'VENUE_BAD_FIGURE'],
    ['no id', update('futures.order_book_update', { ...diff, U: 'x' }), 'VENUE_BAD_FRAME'],
    [
      'a refusal',
      frame({ channel: 'futures.tickers', event: 'subscribe', error: { code: 2, message: 'unknown' } }),
      'VENUE_BAD_FRAME',
    ],
    [
      'an error answer',
      answer(`${REST}/usdt/tickers`, { label: 'TOO_MANY_REQUESTS', message: 'slow down' }),
      'VENUE_BAD_FRAME',
    ],
    ['an answer to nothing', { ...frame([]), kind: 'response' }, 'VENUE_UNKNOWN_LISTING'],
  ];
  for (const [what, message, code] of cases) t.equal(codeOf(message), code, what);
  t.end();
});
