// POST /v2/books: items byte by byte, units by each level's own price, what is not present, plans (H-14, H-16, L-03, N-07, S-07).
import t from 'tap';
import type { PlanCode } from '../../../api/contract/plans.ts';
import type { Reading } from '../../../schemas/topics.ts';
import {
  Feed,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';

const NOTE =
  'Displayed resting orders at the stated instant; not a promise of execution, hidden and withdrawn orders are not shown.';

type Answer = {
  depth: number;
  scope?: unknown;
  items: { [member: string]: unknown; bids: unknown[]; asks: unknown[] }[];
  errors: { code: string; path?: string; message: string }[];
};

const ask = async (feed: Feed, body: unknown, plan: PlanCode | null = 'pro_plus') => {
  const { app, as } = await testApp(feed);
  const answer = await app.inject({
    method: 'POST',
    url: '/v2/books',
    headers: { 'content-type': 'application/json', ...(plan === null ? {} : as(plan)) },
    payload: JSON.stringify(body),
  });
  await app.close();
  return { status: answer.statusCode, text: answer.body, json: answer.json<Answer>(), headers: answer.headers };
};

const bookReading = (over: Partial<Reading> = {}): Reading =>
  reading({
    layer: 'book',
    values: {
      bid: '100',
      ask: '100.5',
      mid: '100.25',
      bid_size: '2',
      ask_size: '1.5',
      spread: '0.00498753117206982543',
    },
    instants: {},
    quantity_unit: 'base',
    book: {
      bids: [
        ['100', '2'],
        ['99.5', '0.4'],
        ['99', '7'],
      ],
      asks: [
        ['100.5', '1.5'],
        ['101', '3'],
      ],
      sequence: '4391823771',
      collected_bids: 1000,
      collected_asks: 2,
    },
    raw: null,
    ...over,
  });

/** Bids are complete to 50 bps; asks only to 25. */
const depthReading = (over: Partial<Reading> = {}): Reading =>
  reading({
    layer: 'venue_depth',
    values: {
      mid: '100.25',
      depth_bid_25bps: '2',
      depth_bid_value_25bps: '200',
      levels_bid_25bps: '1',
      depth_ask_25bps: '1.5',
      depth_ask_value_25bps: '150.75',
      levels_ask_25bps: '1',
      depth_bid_50bps: '2',
      depth_bid_value_50bps: '200',
      levels_bid_50bps: '1',
    },
    instants: {},
    quantity_unit: 'base',
    raw: null,
    ...over,
  });

const BTC = 'symbol = "BTCUSDT"';
const withBook = (book = bookReading(), depth: Reading | null = depthReading()): Feed => {
  const feed = market();
  feed.read('binance', 'BTCUSDT', book);
  if (depth !== null) feed.read('binance', 'BTCUSDT', depth);
  return feed;
};

const NO_BAND =
  '{"reference":"100.25","bid":null,"ask":null,"bid_value":null,"ask_value":null,"bid_levels":null,"ask_levels":null,"complete":{"bid":false,"ask":false}}';

t.test('prints a present book exactly as H-14 shows it', async (t) => {
  const { status, text, headers } = await ask(withBook(), { where: BTC, depth: 2 });
  t.equal(status, 200);
  t.equal(
    text,
    `{"evaluated_at":"2026-01-15T12:00:00.500Z","units":"published","depth":2,"liquidity_note":"${NOTE}",` +
      `"receipt_id":"${headers['x-service-receipt']}","items":[{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT",` +
      '"status":"present","venue_ts":"2026-01-15T12:00:00.120Z","received_at":"2026-01-15T12:00:00.184512Z","age_ms":315,"venue_age_ms":380,' +
      '"valid_until":null,"horizon_source":"connection","anchor":"venue","size_unit":"base","sequence":"4391823771",' +
      '"bids":[["100","2"],["99.5","0.4"]],"asks":[["100.5","1.5"],["101","3"]],"collected_levels":{"bids":1000,"asks":2},' +
      `"bands":{"100bps":${NO_BAND},"10bps":${NO_BAND},` +
      '"25bps":{"reference":"100.25","bid":"2","ask":"1.5","bid_value":"200","ask_value":"150.75","bid_levels":1,"ask_levels":1,"complete":{"bid":true,"ask":true}},' +
      '"50bps":{"reference":"100.25","bid":"2","ask":null,"bid_value":"200","ask_value":null,"bid_levels":1,"ask_levels":null,"complete":{"bid":true,"ask":false}}}}]}',
  );
  t.equal(headers['cache-control'], 'no-store');
});

t.test('depth is ten unless requested, and clamped to the plan', async (t) => {
  t.equal((await ask(withBook(), { where: BTC })).json.depth, 10);
  t.equal((await ask(withBook(), { where: BTC, depth: 1_000 })).json.depth, 25);
  const free = await ask(withBook(), { where: BTC }, 'free');
  t.equal(free.json.depth, 5);
  t.same(free.json.scope, { venues: ['binance', 'okx'], instruments: 2, plan: 'free' });
  t.equal((await ask(withBook(), { where: BTC, depth: 1 })).json.items[0]?.bids.length, 1);
});

t.test('a size converts with the price of its own level, the sum of a band with the mark', async (t) => {
  const quote = (await ask(withBook(), { where: BTC, units: 'quote', depth: 2 })).json.items[0];
  t.same(quote?.bids, [
    ['100', '200'],
    ['99.5', '39.8'],
  ]);
  t.match(quote, { size_unit: 'quote', conversion: { multiplier: 1, contract_size: 1, mark: 60000 } });
  t.match(quote?.bands, { '25bps': { bid: '120000', bid_value: '200' } });

  const inverse = new Feed(['binance', 'okx']);
  inverse.venue('binance');
  inverse.venue('okx');
  inverse.list(
    listing('okx', listingValues({ venue_kind: 'inverse', quantity_unit: 'contracts', contract_size: '10' })),
  );
  inverse.read('okx', 'BTCUSDT', bookReading({ quantity_unit: 'contracts' }));
  inverse.read('okx', 'BTCUSDT', markReading('80'));
  inverse.read('okx', 'BTCUSDT', depthReading({ quantity_unit: 'contracts' }));
  // 2 contracts of 10 USD at 100 are 0.2 BTC; 7 at 99 are 70/99 to 18 significant digits. The band: 2 x 10 / 80.
  const base = (await ask(inverse, { units: 'base' })).json.items[0];
  t.same(base?.bids, [
    ['100', '0.2'],
    ['99.5', '0.0402010050251256281'],
    ['99', '0.707070707070707071'],
  ]);
  t.match(base?.bands, { '25bps': { bid: '0.25', bid_value: '200' } });
  t.same((await ask(inverse, { units: 'quote' })).json.items[0]?.bids[0], ['100', '20']);
});

t.test('a size that cannot be converted is null with its reason', async (t) => {
  const feed = market();
  feed.list(
    listing('okx', listingValues({ venue_symbol: 'BTC-USDT-SWAP', venue_kind: 'quanto' }), {
      writtenAt: NOW - 9_000_000,
    }),
  );
  feed.read('okx', 'BTC-USDT-SWAP', bookReading({ quantity_unit: 'contracts' }));
  const [item] = (await ask(feed, { where: 'venue = okx', units: 'base', depth: 1 })).json.items;
  t.match(item, {
    status: 'present',
    size_unit: 'base',
    bids: [['100', null]],
    null_reasons: { size: 'unit_unknown' },
  });
});

t.test('a figure of a band whose side is known but not its unit is null with its reason (N-07, L-03)', async (t) => {
  const quanto = market();
  const values = listingValues({ venue_symbol: 'BTC-USDT-SWAP', venue_kind: 'quanto' });
  const sums = { depth_bid_25bps: '2', levels_bid_25bps: '1', depth_ask_25bps: '1.5', levels_ask_25bps: '1' };
  quanto.list(listing('okx', values, { writtenAt: NOW - 9_000_000 }));
  quanto.read('okx', 'BTC-USDT-SWAP', bookReading({ quantity_unit: 'contracts' }));
  quanto.read('okx', 'BTC-USDT-SWAP', depthReading({ values: { mid: '100.25', ...sums }, quantity_unit: 'contracts' }));
  const published = (await ask(quanto, { where: 'venue = okx' })).json.items[0];
  t.match(published?.bands, { '25bps': { bid: '2', ask: '1.5', bid_value: null, ask_value: null } });
  t.same(published?.null_reasons, { ask_value: 'unit_unknown', bid_value: 'unit_unknown' });

  const unmarked = new Feed(['binance']);
  unmarked.venue('binance');
  unmarked.list(listing('binance', listingValues()));
  unmarked.read('binance', 'BTCUSDT', bookReading());
  unmarked.read('binance', 'BTCUSDT', depthReading());
  const quote = (await ask(unmarked, { units: 'quote' })).json.items[0];
  t.match(quote?.bands, { '25bps': { bid: null, ask: null, bid_value: '200', ask_value: '150.75' } });
  t.same(quote?.null_reasons, { ask: 'unit_unknown', bid: 'unit_unknown' }, 'levels need no mark');
});

t.test('a book that is not present has empty sides and no bands', async (t) => {
  const never = (await ask(market(), { where: BTC })).json.items[0];
  const members = ['venue_ts', 'received_at', 'age_ms', 'venue_age_ms', 'valid_until', 'horizon_source', 'anchor'];
  t.match(never, { status: 'missing', reason: 'no_value', sequence: null, bids: [], asks: [] });
  for (const member of members) t.equal(never?.[member], null, member);
  t.notOk(Object.hasOwn(never ?? {}, 'bands'));

  const old = (await ask(withBook(bookReading({ received_at: NOW - 30_001_000 })), { where: BTC })).json.items[0];
  t.match(old, { status: 'stale', reason: 'freshness_bound', age_ms: 30_001, bids: [], asks: [], sequence: null });
  const broken = bookReading({ valid: false, gap_cause: 'crossed_book', values: {}, book: null });
  const crossed = (await ask(withBook(broken, null), { where: BTC })).json.items[0];
  t.match(crossed, { status: 'missing', reason: 'gap', gap_cause: 'crossed_book', bids: [], age_ms: 315 });
});

t.test('bands of another change than the levels are not shown', async (t) => {
  const feed = withBook(bookReading(), depthReading({ received_at: NOW - 1_000_000 }));
  const [item] = (await ask(feed, { where: BTC })).json.items;
  t.equal(item?.status, 'present');
  t.notOk(Object.hasOwn(item ?? {}, 'bands'));
});

t.test('needs a key, cannot be paid, and refuses what is malformed or beyond the plan', async (t) => {
  const none = await ask(withBook(), {}, null);
  t.equal(none.status, 401);
  t.equal(none.json.errors[0]?.code, 'AUTH_REQUIRED');
  const shape = await ask(withBook(), { depht: 3, depth: 0 });
  t.equal(shape.status, 400);
  t.same(shape.json.errors.map(({ code, path }) => [code, path]).sort(), [
    ['DQL_JSON_SCHEMA', '/depht'],
    ['DQL_JSON_SCHEMA', '/depth'],
  ]);
  t.equal((await ask(withBook(), { where: 'venue = kraken' })).json.errors[0]?.code, 'DQL_UNKNOWN_VENUE');
  const many = market();
  for (let i = 0; i < 11; i++) many.list(listing('binance', listingValues({ venue_symbol: `A${i}USDT` })));
  const over = await ask(many, {}, 'free');
  t.equal(over.status, 400);
  t.match(over.json.errors[0], { code: 'DQL_LIMIT', message: 'The selection has 14 listings, the limit is 10.' });
});
