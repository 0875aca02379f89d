// Deribit: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import { deribit } from '../../../ingest/venues/deribit/index.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, mapFile, listingsOf, frame, answer, record, codeOf } = venueBench(deribit);

const NAUTILUS = 'nautilus-ws-singles.ndjson';

const OBSERVATORY = 'observatory-2026-09.ndjson';

const TARDIS = 'tardis-tests-deribit.ndjson';

const INSTRUMENTS = 'cryptofeed-v2-rest-instruments.ndjson.gz';

const OPTIONS = 'cryptofeed-v2-ws-1.ndjson.gz';

const notify = (channel: string, data: unknown): unknown => ({
  jsonrpc: '2.0',
  method: 'subscription',
  params: { channel, data },
});

const accruing = (funding: string): unknown => ({ funding, funding_interval_ms: null, next_funding_at: null });

const fill = (id: string, side: string, price: string, quantity: string): object => ({
  id,
  side,
  price,
  quantity,
  quantity_unit: 'quote',
});

t.test('recorded notifications give the records that their bytes contain', (t) => {
  const at = [1765541474086, null] as const;
  t.same(
    mapLine(NAUTILUS, 1),
    [
      record('ticker', 'BTC-PERPETUAL', at, { last: '92283.5' }),
      record('mark', 'BTC-PERPETUAL', at, { mark: '92281.78', index: '92263.55' }),
      record('funding', 'BTC-PERPETUAL', at, accruing('0')),
      record('oi', 'BTC-PERPETUAL', at, { oi: '1132329370', oi_unit: 'quote' }),
      record('stats', 'BTC-PERPETUAL', at, {
        volume_24h: '11897.27640428',
        volume_unit: 'base',
        turnover_24h: '1092371540',
        change_24h: '0.023275',
      }),
    ],
    'a ticker contains five layers; open interest of an inverse perpetual counts USD, its volume base',
  );
  t.same(
    mapLine(TARDIS, 6).slice(2),
    [
      record('funding', 'BTC-PERPETUAL', [1569888003897, null], accruing('0')),
      record('oi', 'BTC-PERPETUAL', [1569888003897, null], { oi: '84844461', oi_unit: 'quote' }),
      record('stats', 'BTC-PERPETUAL', [1569888003897, null], {
        volume_24h: '43610.27177267',
        volume_unit: 'base',
        turnover_24h: null,
        change_24h: null,
      }),
    ],
    'funding is what accrues now, not what eight hours cost; a ticker of 2019 has no turnover',
  );
  t.same(
    mapLine(NAUTILUS, 2),
    [
      record('trade', 'BTC-PERPETUAL', [1765531356452, null], fill('403691824', 'sell', '92294.5', '10')),
      record('trade', 'BTC-PERPETUAL', [1765531356452, null], fill('403691825', 'sell', '92288.5', '750')),
    ],
    'trades count USD, not contracts',
  );
  t.same(
    mapLine(NAUTILUS, 3),
    [
      record('candle', 'BTC-PERPETUAL', [null, null], {
        open_time: 1767200040000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '87490',
        high: '87500',
        low: '87465',
        close: '87474',
        volume: '0.95978896',
        volume_unit: 'base',
        turnover: '83970',
        trades: null,
        closed: null,
      }),
    ],
    'a candle starts at its tick; volume in base, cost in quote',
  );
  t.same(
    mapLine(NAUTILUS, 5),
    [
      record('book', 'BTC-PERPETUAL', [1699999999500, null], {
        kind: 'update',
        bids: [
          ['42500', '950'],
          ['42498.5', '300'],
        ],
        asks: [
          ['42501', '0'],
          ['42501.5', '700'],
        ],
        sequence: '123456790',
      }),
    ],
    'a deletion is a size of zero',
  );
  t.same(
    mapLine(TARDIS, 3),
    [
      record('book', 'ETH-PERPETUAL', [1564617600273, null], {
        kind: 'snapshot',
        bids: [
          ['217.8', '1895'],
          ['217.75', '712'],
        ],
        asks: [
          ['218.6', '179803'],
          ['218.65', '7887'],
        ],
        sequence: '1776289261',
      }),
    ],
    'before there was a type, a snapshot was what had nothing before it',
  );
  t.match(
    mapLine(TARDIS, 14),
    [
      {
        venue_symbol: 'LINK_USDC-PERPETUAL',
        venue_ts: 1654041599955_000,
        values: { kind: 'snapshot', asks: [], sequence: '1232767964' },
      },
    ],
    'a snapshot may name a change before it and lack a side',
  );
  const best = mapLine(NAUTILUS, 6);
  t.match(best, [{ venue_symbol: 'BTC-PERPETUAL', values: { kind: 'snapshot', sequence: '136725664747' } }]);
  t.same(best[0]?.layer === 'book' && best[0].values.bids[9], ['89523.5', '11000'], 'the best ten levels, ungrouped');
  t.end();
});

/** Layers of what can be read of a message that cannot be read whole. */
const listReadable = (message: VenueMessage): readonly string[] => {
  try {
    map(message);
    return ['all'];
  } catch (error) {
    return error instanceof UnreadablePart ? error.mapped.map(({ record: { layer } }) => layer) : [];
  }
};

t.test('a liquidation is of the taker, of the maker, or of both', (t) => {
  const long = { side: 'long', price_kind: 'fill' };
  t.same(mapLine(TARDIS, 11), [
    record('trade', 'BTC-PERPETUAL', [1584058044032, null], fill('66460463', 'sell', '4469.5', '1120')),
    record('liquidation', 'BTC-PERPETUAL', [1584058044032, null], {
      ...fill('66460463', 'long', '4469.5', '1120'),
      ...long,
    }),
  ]);
  t.same(
    mapLine(TARDIS, 12),
    [
      record('trade', 'BTC-PERPETUAL', [1584058067675, null], fill('66460626', 'buy', '4458.5', '2500')),
      record('liquidation', 'BTC-PERPETUAL', [1584058067675, null], {
        ...fill('66460626', 'long', '4458.5', '2500'),
        ...long,
      }),
    ],
    'the taker bought from a maker whose long was closed',
  );
  const trade = {
    instrument_name: 'BTC_USDC-PERPETUAL',
    direction: 'sell',
    price: 7,
    amount: 0.5,
    trade_id: 'x-1',
    timestamp: 1,
  };
  const sides = (liquidation: string): unknown =>
    map(frame(notify('trades.BTC_USDC-PERPETUAL.100ms', [{ ...trade, liquidation }]))).map(
      ({ values }) => 'side' in values && values.side,
    );
  t.same(sides('MT'), ['sell', 'long', 'short']);
  const both = map(frame(notify('trades.BTC_USDC-PERPETUAL.100ms', [{ ...trade, liquidation: 'MT' }])));
  t.same(
    both.map(({ values }) => 'id' in values && values.id),
    ['x-1', 'x-1', 'x-1.maker'],
    'two liquidations are not one that is repeated',
  );
  const nameless = map(frame(notify('trades', [{ ...trade, trade_id: undefined, liquidation: 'MT' }])));
  t.same(
    nameless.map(({ layer, values }) => [layer, 'id' in values && values.id]),
    [
      ['trade', null],
      ['liquidation', null],
      ['liquidation', null],
    ],
    'without an id of the venue',
  );
  t.same(sides('M'), ['sell', 'short']);
  const unknown = frame(notify('trades', [{ ...trade, liquidation: 'X' }]));
  t.equal(codeOf(unknown), 'VENUE_BAD_FRAME');
  t.same(listReadable(unknown), ['trade'], 'the trade is read');
  t.match(map(frame(notify('trades', [trade]))), [{ values: { quantity: '0.5', quantity_unit: 'base' } }]);
  t.end();
});

// Shape and figures of August 2026, with the members of the new matching engine: `contracts` is no quantity, the ids exceed 2^53.
const STARBASE =
  '{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC-PERPETUAL.100ms","data":[{"timestamp":1786752386548,"price":62959.5,' +
  '"direction":"sell","instrument_name":"BTC-PERPETUAL","index_price":62955.01,"trade_id":"7","trade_seq":311,"amount":2500.0,"mark_price":62959.0,' +
  '"tick_direction":1,"starbase_match_id":214172482240081920,"contracts":250.0,"starbase_timestamp":1786752386548878197}]}}';

t.test('a trade of the new matching engine keeps the stamp that every trade has', (t) => {
  const values = { id: '7', side: 'sell', price: '62959.5', quantity: '2500', quantity_unit: 'quote' };
  t.match(map(frame(STARBASE)), [{ layer: 'trade', venue_ts: 1786752386548_000, values }]);
  t.equal(map(frame(STARBASE)).length, 1);
  t.end();
});

t.test('a book summary is a ticker under other names', (t) => {
  // Of its docs: public/get_book_summary_by_instrument.
  const summary = {
    ...{ volume_usd: 227.85, volume: 14.5, quote_currency: 'USD', price_change: -0.75, open_interest: 36000 },
    ...{ mid_price: 7021.75, mark_price: 7022.84, low: 7000, last: 7022.25, instrument_name: 'ETH-PERPETUAL' },
    ...{ high: 7100, funding_8h: 3e-7, estimated_delivery_price: 7020.5, current_funding: 4e-7, base_currency: 'ETH' },
    ...{ creation_timestamp: 1550230036440, bid_price: 7022.5, ask_price: 7021 },
  };
  const dated = { ...summary, instrument_name: 'ETH-22FEB19', current_funding: undefined };
  const url = 'GET https://www.deribit.com/api/v2/public/get_book_summary_by_currency?currency=ETH&kind=future';
  const at = [1550230036440, null] as const;
  t.same(map(answer(url, { jsonrpc: '2.0', result: [summary, dated] })), [
    record('ticker', 'ETH-PERPETUAL', at, { last: '7022.25' }),
    record('mark', 'ETH-PERPETUAL', at, { mark: '7022.84', index: null }),
    record('funding', 'ETH-PERPETUAL', at, {
      funding: '0.0000004',
      funding_interval_ms: null,
      next_funding_at: null,
    }),
    record('oi', 'ETH-PERPETUAL', at, { oi: '36000', oi_unit: 'quote' }),
    record('stats', 'ETH-PERPETUAL', at, {
      volume_24h: '14.5',
      volume_unit: 'base',
      turnover_24h: '227.85',
      change_24h: '-0.0075',
    }),
  ]);
  t.end();
});

t.test('answers are recognised by their shape', (t) => {
  const ticker = {
    instrument_name: 'ETH_USDC-PERPETUAL',
    timestamp: 1765541474086,
    last_price: 1,
    mark_price: 2,
    index_price: 3,
    current_funding: 4e-5,
    open_interest: 5,
    stats: { volume: 6, volume_usd: 7, price_change: null },
  };
  const layers = (result: unknown, query = ''): readonly string[] =>
    map(answer(`GET https://www.deribit.com/api/v2/public/x?${query}`, { jsonrpc: '2.0', result })).map((r) => r.layer);
  t.same(layers(ticker), ['ticker', 'mark', 'funding', 'oi', 'stats']);
  const book = { ...ticker, change_id: 9, bids: [[5, 1]], asks: [] };
  t.same(layers(book), ['ticker', 'mark', 'funding', 'oi', 'book', 'stats'], 'in the order of records.md');
  const [, , rate, oi, stats] = map(answer('/api/v2/public/ticker', { result: ticker }));
  t.match(rate?.values, { funding: '0.00004' }, 'an exponent is written out');
  t.match(oi?.values, { oi: '5', oi_unit: 'base' });
  t.match(stats?.values, { turnover_24h: null }, 'USD is not the quote of a linear perpetual');
  const columns = {
    ticks: [1767200040000, 1767200100000],
    open: [1, 2],
    high: [3, 4],
    low: [1, 2],
    close: [2, 3],
    volume: [5, 0],
    cost: [6, 0],
  };
  t.same(layers(columns, 'instrument_name=BTC-PERPETUAL&resolution=1'), ['candle', 'candle']);
  t.same(layers(columns, 'instrument_name=BTC-PERPETUAL&resolution=60'), []);
  t.match(
    map(answer('GET /public/x?instrument_name=BTC-PERPETUAL&resolution=1', { result: columns }))[1]?.values,
    { open_time: 1767200100000_000, open: '2', high: '4', low: '2', close: '3', volume: '0', turnover: '0' },
    'a minute without trades is published with zero volume',
  );
  t.end();
});

t.test('an index goes to each perpetual that uses it', (t) => {
  const index = frame(notify('deribit_price_index.btc_usd', { timestamp: 1, price: 92263.55, index_name: 'btc_usd' }));
  const expected = [record('mark', 'BTC-PERPETUAL', [1, null], { mark: null, index: '92263.55' })];
  t.same(map(index), expected, 'by name while no listing is known');
  const known = new Map(listingsOf(INSTRUMENTS).map((listing) => [listing.venue_symbol, listing]));
  const sol = frame(notify('deribit_price_index.sol_usd', { timestamp: 1, price: 150, index_name: 'sol_usd' }));
  t.same(map(sol, {}, { listings: known }), [record('mark', 'SOL-PERPETUAL', [1, null], { mark: null, index: '150' })]);
  const perpetual = frame(
    notify('perpetual.BTC-PERPETUAL.100ms', { timestamp: 1, index_price: 92263.55, interest: null }),
  );
  t.same(map(perpetual), expected);
  t.end();
});

t.test('the interest of a perpetual is its current funding', (t) => {
  const at = [1790133840887, null] as const;
  const toRecords = (funding: string) => [
    { layer: 'mark', values: { index: '86744.11' } },
    record('funding', 'BTC_USDC-PERPETUAL', at, { funding, funding_interval_ms: null, next_funding_at: null }),
  ];
  t.match(mapLine(OBSERVATORY, 6).slice(1, 3), toRecords('0.0001423'), 'in the ticker');
  t.match(mapLine(OBSERVATORY, 7), toRecords('0.0001423032929843748'), 'of the same instant, with all digits');
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  t.same(mapFile(OPTIONS), [], 'a session of options');
  for (const [what, file, line] of [
    ['top of book', NAUTILUS, 4],
    ['top of book', TARDIS, 2],
    ['an option', TARDIS, 7],
    ['an option without trades', TARDIS, 9],
    ['the book of an option', TARDIS, 13],
    ['a combo', TARDIS, 15],
    ['a combo with a perpetual leg', TARDIS, 16],
  ] as const)
    t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ jsonrpc: '2.0', id: 1, result: ['ticker.BTC-PERPETUAL.100ms'] })), [], 'an acknowledgement');
  t.same(map(frame({ jsonrpc: '2.0', method: 'heartbeat', params: { type: 'test_request' } })), [], 'a heartbeat');
  const levels = { instrument_name: 'BTC-PERPETUAL', timestamp: 1, change_id: 5, bids: [[100, 1]], asks: [] };
  t.same(map(frame(notify('book.BTC-PERPETUAL.25.10.100ms', levels))), [], 'a book in groups of prices');
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = {
    instrument_name: 'BTC-PERPETUAL',
    timestamp: 1,
    type: 'change',
    change_id: 5,
    prev_change_id: 4,
    asks: [],
  };
  const change = (level: unknown): unknown => notify('book.BTC-PERPETUAL.100ms', { ...book, bids: [level] });
  for (const [what, body, code] of [
    ['cut off', '{"jsonrpc":"2.0","method":"subscr', 'VENUE_BAD_FRAME'],
    [
      'a refusal',
      { jsonrpc: '2.0', id: 1, error: { code: 13778, message: 'raw_subscriptions_not_available' } },
      'VENUE_BAD_FRAME',
    ],
    ['an unknown change', change(['moved', 1, 1]), 'VENUE_BAD_FRAME'],
    ['an unknown type', notify('book.BTC-PERPETUAL.100ms', { ...book, type: 'moved', bids: [] }), 'VENUE_BAD_FRAME'],
    ['a price of zero', change(['new', 0, 1]), 'VENUE_BAD_FIGURE'],
    ['a negative amount', change(['new', 1, -1]), 'VENUE_BAD_FIGURE'],
    [
      'no id before it',
      notify('book.BTC-PERPETUAL.100ms', { ...book, prev_change_id: undefined, bids: [] }),
      'VENUE_BAD_FRAME',
    ],
  ] as const)
    t.equal(codeOf(frame(body)), code, what);
  t.end();
});

t.test('figures keep the digits of their JSON numbers', (t) => {
  const text =
    '{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC-PERPETUAL.100ms","data":{"timestamp":1765541474086,' +
    '"instrument_name":"BTC-PERPETUAL","mark_price":92281.780000000000001,"index_price":1e5,"current_funding":-8.477e-05}}}';
  t.match(map(frame(text)), [
    { venue_ts: 1765541474086_000, values: { mark: '92281.780000000000001', index: '100000' } },
    { values: { funding: '-0.00008477' } },
  ]);
  t.end();
});

const readChain = (text: string): Chain | null => deribit.sequence(text);

const change = (change_id: number, prev_change_id: number): Chain =>
  readChain(
    JSON.stringify(
      notify('book.BTC-PERPETUAL.100ms', {
        type: 'change',
        timestamp: 1,
        prev_change_id,
        instrument_name: 'BTC-PERPETUAL',
        change_id,
        bids: [],
        asks: [],
      }),
    ),
  ) as Chain;

t.test('a book of an unknown type has no chain', (t) => {
  const book = { timestamp: 1, instrument_name: 'BTC-PERPETUAL', change_id: 5, bids: [], asks: [] };
  for (const previous of [{}, { prev_change_id: 4 }]) {
    const text = (type: unknown): string =>
      JSON.stringify(notify('book.BTC-PERPETUAL.100ms', { type, ...previous, ...book }));
    for (const type of ['moved', 'snapshot-2', 'whole book', 5, false, {}]) {
      t.equal(readChain(text(type)), null, `${type}`);
      t.equal(codeOf(frame(text(type))), 'VENUE_BAD_FRAME', `${type}`);
    }
    for (const type of [undefined, null, '']) {
      const kind = readChain(text(type))?.kind ?? 'none';
      t.match(map(frame(text(type))), [{ values: { kind } }], 'without a type it tells by the id before it');
    }
  }
  t.end();
});

t.test('a book continues while each change names the one before it, and breaks where one is missing', (t) => {
  const snapshot = { ...change(100, 99), kind: 'snapshot', previous: null } as const;
  let state = stepBookSync(deribit.bookRule, makeBookSync<null>(), { chain: change(98, 97), payload: null }).state;
  t.equal(state.phase, 'unsynced', 'changes before the snapshot give no value');
  state = stepBookSync(deribit.bookRule, state, { chain: snapshot, payload: null }).state;
  for (const id of [101, 105, 230]) {
    const step = stepBookSync(deribit.bookRule, state, { chain: change(id, Number(state.last)), payload: null });
    t.equal(step.apply.length, 1, `${id} continues`);
    state = step.state;
  }
  t.equal(
    stepBookSync(deribit.bookRule, state, { chain: change(105, 101), payload: null }).apply.length,
    0,
    'a repeat is left out',
  );
  const broken = stepBookSync(deribit.bookRule, state, { chain: change(300, 299), payload: null });
  t.match(broken, { broke: true, needSnapshot: true, apply: [] });
  t.equal(
    stepBookSync(deribit.bookRule, broken.state, { chain: { ...snapshot, last: 400n }, payload: null }).state.phase,
    'joined',
  );
  t.end();
});

t.test('the quick check of a book agrees with the mapper, and the first message is the whole book', (t) => {
  for (const file of [NAUTILUS, TARDIS, OPTIONS]) {
    const wrong = readRecording(`deribit/${file}`)
      .filter(({ dir }) => dir === 'in')
      .filter((line) => {
        const mapped = deribit.map({}, toVenueMessage(line), { listings: new Map() }).find(({ chain }) => chain)?.chain;
        const print = (chain: Chain | null | undefined): string =>
          chain ? `${chain.symbol} ${chain.kind} ${chain.previous} ${chain.last} ${chain.full?.asks}` : 'none';
        return print(mapped) !== print(deribit.sequence(line.raw));
      });
    t.same(wrong, [], file);
  }
  t.same(readChain(lineOf(TARDIS, 14).raw)?.full, { bids: true, asks: true });
  t.same(readChain(lineOf(TARDIS, 4).raw), {
    symbol: 'ETH-PERPETUAL',
    kind: 'update',
    first: null,
    last: 1776294623n,
    previous: 1776294621n,
  });
  t.end();
});

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  t.equal(listings.length, 19, 'perpetuals of 1,017 instruments');
  t.same(
    listings[0],
    {
      ...(record('listing', 'BTC-PERPETUAL', [null, lineOf(INSTRUMENTS, 1).recv_ms], null) as ListingRecord),
      venue_ts: 1626993723162185,
      values: {
        instrument: 'BTC-PERP',
        venue_symbol: 'BTC-PERPETUAL',
        base: 'BTC',
        quote: 'USD',
        base_venue_alias: null,
        kind: 'perpetual',
        venue_kind: 'inverse',
        pair: null,
        post_only: null,
        status: 'tradeable',
        contract_size: '1',
        multiplier: '1',
        tick_size: '0.5',
        lot_size: '10',
        min_qty: '10',
        min_notional: null,
        price_decimals: null,
        qty_decimals: null,
        units: { tick_size: 'quote', lot_size: 'quote', min_qty: 'quote', min_notional: null, contract_size: 'quote' },
        quantity_unit: 'quote',
        funding_interval: '8h',
        funding_interval_source: 'documented',
        funding_normalisation: { venue_field: 'current_funding', transform: 'identity' },
        rules_normalisation: {
          tick_size: { venue_field: 'tick_size', transform: 'identity' },
          lot_size: { venue_field: 'contract_size', transform: 'identity' },
          min_qty: { venue_field: 'min_trade_amount', transform: 'identity' },
        },
        candles: makeCandles('trade'),
        not_published: ['next_funding_at', 'min_notional', 'price_decimals', 'qty_decimals'],
        bands: BANDS,
        oi_sides: null,
        listed_at: 1534242287000_000,
        delisted_at: null,
      },
    },
    'amounts are of USD: the contract size of 10 is their step',
  );
  const doge = listings.find(({ venue_symbol }) => venue_symbol === 'DOGE_USDC-PERPETUAL');
  t.match(doge?.values, {
    base: 'DOGE',
    quote: 'USDC',
    venue_kind: 'linear',
    quantity_unit: 'base',
    tick_size: '0.00001',
    lot_size: '100',
    pair: 'doge_usdc',
    contract_size: '1',
  });
  t.match(listings.find(({ venue_symbol }) => venue_symbol === 'SOL-PERPETUAL')?.values, {
    venue_kind: 'inverse',
    quote: 'USD',
  });
  for (const { venue_symbol, values } of listings) {
    const linear = venue_symbol.includes('_USDC');
    t.match(values, {
      venue_kind: linear ? 'linear' : 'inverse',
      quote: linear ? 'USDC' : 'USD',
      quantity_unit: linear ? 'base' : 'quote',
    });
    t.equal(`${values.base}${linear ? '_USDC' : ''}-PERPETUAL`, venue_symbol);
  }
  t.end();
});

t.test('statuses are the words of V-02', (t) => {
  const row = {
    kind: 'future',
    settlement_period: 'perpetual',
    instrument_name: 'A-PERPETUAL',
    base_currency: 'A',
    quote_currency: 'USD',
    tick_size: 1,
    expiration_timestamp: 4_000_000_000_000,
  };
  const one = (members: object): ListingRecord | undefined =>
    deribit.mapReference({}, answer('GET /public/get_instruments?currency=any', { result: [{ ...row, ...members }] }))
      ?.listings[0];
  // Every status of https://docs.deribit.com/api-reference/market-data/public-get_instruments.
  for (const [state, status] of [
    ['open', 'tradeable'],
    ['settlement', 'settling'],
    ['delivered', 'delisted'],
    ['inactive', 'halted'],
    ['locked', 'cancel_only'],
    ['halted', 'halted'],
    ['archivized', 'delisted'],
    ['nosuch', 'unknown'],
  ] as const)
    t.equal(one({ state, is_active: true })?.values.status, status, state);
  t.equal(one({ is_active: false })?.values.status, 'halted');
  t.equal(one({})?.values.status, 'unknown');
  t.equal(one({})?.values.delisted_at, 4_000_000_000_000_000);
  t.equal(one({ kind: 'option' }), undefined);
  const linear = { instrument_name: '1000BONK_USDC-PERPETUAL', instrument_type: 'linear', quote_currency: 'USDC' };
  t.match(one({ ...linear, base_currency: '1000BONK' })?.values, {
    instrument: 'BONK-PERP',
    base: 'BONK',
    base_venue_alias: '1000BONK',
    multiplier: '1000',
    contract_size: '1',
  });
  const alone = deribit.mapReference(
    {},
    answer('GET /public/get_instrument?instrument_name=A-PERPETUAL', { result: row }),
  );
  t.equal(alone?.scope, 'instrument A-PERPETUAL', 'it says nothing of others');
  t.same(alone?.listings, [one({})]);
  t.end();
});
