// POST /v2/screen over the real app: shapes, order, paging, units, scope and every refusal (SC-01 to SC-07, S-06, E-01, E-06).
import t from 'tap';
import type { PaymentChecks } from '../../../api/access/call.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { Meter } from '../../../api/access/meter.ts';
import { spendQuota } from '../../../api/access/quotas.ts';
import { PLANS, type PlanCode } from '../../../api/contract/plans.ts';
import { createHistoryStore } from '../../../api/history/store.ts';
import { ScreenPages } from '../../../api/operations/screen-pages.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import {
  capability,
  Feed,
  KeyTable,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { startSilentPostgres } from '../../support/engines/silent-postgres.ts';
import { storeAway } from '../../support/engines/test-store.ts';
import { withCandles } from '../../support/screen/market.ts';

type Shown = { value: unknown; unit: string; status?: string } & Record<string, unknown>;
type Item = {
  instrument: string;
  result: string;
  values: Record<string, Shown>;
  venues: { venue: string; symbol: string; values: Record<string, Shown> }[];
  because?: Record<string, unknown>[];
};
type Answer = {
  instruments: Item[];
  page: { limit: number; returned: number; next_cursor: string | null };
  evaluated_at: string;
  query: { string: string; json: unknown };
  scope?: unknown;
  errors?: { code: string; path?: string; position?: { offset: number }; hint?: string; message: string }[];
} & Record<string, unknown>;

const opened = async (feed: Feed, nowMicros = () => NOW) => {
  const { app, as } = await testApp(feed, { nowMicros });
  t.teardown(() => app.close());
  const send = (body: unknown, headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/v2/screen',
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    });
  return {
    send,
    as,
    ask: async (body: unknown, plan: PlanCode = 'pro') => (await send(body, as(plan))).json<Answer>(),
  };
};

const listFaults = ({ errors = [] }: Answer): string[] =>
  errors.map(({ code, path, position }) => [code, position?.offset, path].filter((x) => x !== undefined).join(' '));

/** Ten instruments on one venue, whose marks rise with their names; the last has none. */
const ladder = (): Feed => {
  const feed = new Feed(['okx']);
  feed.venue('okx');
  for (let i = 0; i < 10; i++) {
    const [base, symbol] = [`A${i}`, `A${i}-USDT`];
    feed.list(listing('okx', listingValues({ instrument: `${base}-PERP`, base, venue_symbol: symbol })));
    if (i < 9) feed.read('okx', symbol, markReading(String(100 + i)));
  }
  return feed;
};

t.test('an answer has its members in the documented order, and a published figure keeps its digits', async (t) => {
  const { send, as } = await opened(market());
  const answer = await send({ query: 'any(venues where funding > 0.01bps and base = ETH)' }, as('pro'));
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['cache-control'], 'no-store');
  const condition =
    '{"type":"any","where":{"type":"and","args":[' +
    '{"type":"cmp","op":">","left":{"type":"field","name":"funding"},"right":{"type":"number","value":0.000001}},' +
    '{"type":"cmp","op":"=","left":{"type":"field","name":"base"},"right":{"type":"code","value":"ETH"}}]}}';
  t.equal(
    answer.body.replace(/rcp_\w+/, 'rcp'),
    '{"dql":"1","query":{"string":"any(venues where funding > 0.000001 and base = ETH)",' +
      `"json":{"dql":"1","condition":${condition}}},` +
      '"evaluated_at":"2026-01-15T12:00:00.500Z","as_of":null,"settled":false,"timeframe":null,"units":"published",' +
      '"freshness":{"book":"30s","funding":"300s","mark":"30s","oi":"30s","stats":"120s","ticker":"30s","venue_depth":"30s"},' +
      '"listings_as_of":null,"capabilities_as_of":null,"receipt_id":"rcp","instruments":[{"instrument":"ETH-PERP","result":"true",' +
      '"values":{"base":{"value":"ETH","unit":"code","layer":"reference","status":"present"}},' +
      '"venues":[{"venue":"binance","symbol":"ETHUSDT","quote":"USDT","values":{"funding":{"value":0.0000125,"unit":"fraction",' +
      '"venue":"binance","layer":"funding","venue_ts":"2026-01-15T12:00:00.120Z","received_at":"2026-01-15T12:00:00.184512Z",' +
      '"age_ms":315,"status":"present"}}}]}],"page":{"limit":100,"returned":1,"next_cursor":null}}',
  );
});

t.test(
  'without select the atoms of the condition and the keys of the order are shown, else what is selected',
  async (t) => {
    const { ask } = await opened(market());
    const query = 'count(venues where funding > 0 and age(mark) < 5s) >= 1 order by max(venues, mark) desc';
    const [all] = (await ask({ query })).instruments;
    t.same(Object.keys(all?.values ?? {}), ['count(venues where funding > 0 and age(mark) < 5s)', 'max(venues, mark)']);
    t.same(Object.keys(all?.venues[0]?.values ?? {}), ['age(mark)', 'funding', 'mark']);
    const [some] = (await ask({ query: `${query} select mark, venues_listed` })).instruments;
    t.same(Object.keys(some?.values ?? {}), ['venues_listed']);
    t.same(Object.keys(some?.venues[0]?.values ?? {}), ['mark']);
    t.match(all?.values['max(venues, mark)'], {
      value: 60000,
      unit: 'quote',
      status: 'present',
      fn: 'max',
      from: [{ venue: 'binance', symbol: 'BTCUSDT', quote: 'USDT', value: 60000, status: 'present' }, { venue: 'okx' }],
    });
  },
);

t.test('an unknown result is returned when requested, with its causes', async (t) => {
  const feed = market();
  const old = { received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
  feed.read('okx', 'BTC-USDT-SWAP', reading({ rev: 2, ...old }));
  const { ask } = await opened(feed);
  const query = 'all(venues where funding > 0.01bps or oi > 0) where base = BTC';
  t.same((await ask({ query })).instruments, []);
  const [item] = (await ask({ query, include_unknown: true })).instruments;
  t.equal(item?.result, 'unknown');
  const place = { venue: 'okx', symbol: 'BTC-USDT-SWAP' };
  t.same(item?.because, [
    { expr: 'funding', ...place, status: 'stale', reason: 'freshness_bound' },
    { expr: 'oi', ...place, status: 'off', reason: 'policy_off' },
  ]);
  t.match(item?.venues[1]?.values.funding, {
    value: null,
    status: 'stale',
    reason: 'freshness_bound',
    age_ms: 400_000,
  });
  t.equal((await ask({ query, freshness: { funding: '600s' } })).instruments[0]?.result, 'true');
  const silent = 'any(venues where last > 1 or bid > 1 or ask > 1) where base = BTC';
  const [mute] = (await ask({ query: silent, include_unknown: true })).instruments;
  t.same(
    mute?.because?.map(({ expr, venue }) => `${venue} ${expr}`),
    ['binance last', 'binance bid', 'binance ask', 'okx last', 'okx bid'],
    'of six causes the first five (SC-07)',
  );
  const bounded = 'max(venues, funding) > 1 where base = BTC';
  const [open] = (await ask({ query: bounded, include_unknown: true })).instruments;
  t.match(open?.values['max(venues, funding)'], {
    value: null,
    reason: 'freshness_bound',
    status: 'stale',
    bound: { at_least: 0.0000125 },
  });
});

t.test('items are in the requested order, unknown keys last in either direction, ties by instrument', async (t) => {
  const { ask } = await opened(ladder());
  const order = async (by: string) =>
    (await ask({ query: `order by ${by}` })).instruments.map(({ instrument }) => instrument.slice(0, 2)).join('');
  t.equal(await order('max(venues, mark)'), 'A0A1A2A3A4A5A6A7A8A9');
  t.equal(await order('max(venues, mark) desc'), 'A8A7A6A5A4A3A2A1A0A9');
  t.equal(await order('venues_listed'), 'A0A1A2A3A4A5A6A7A8A9');
  t.equal(await order('instrument desc'), 'A9A8A7A6A5A4A3A2A1A0');
});

t.test('pages are of one evaluation, for the same question of the same key', async (t) => {
  const feed = ladder();
  let now = NOW;
  const { ask } = await opened(feed, () => now);
  const query = 'any(venues where mark > 101) order by max(venues, mark)';
  const first = await ask({ query, limit: 3 });
  t.same(first.page, { limit: 3, returned: 3, next_cursor: first.page.next_cursor });
  feed.read('okx', 'A0-USDT', markReading('999', { rev: 2 }));
  now += 1_000_000;
  const cursor = first.page.next_cursor;
  const second = await ask({ query, limit: 2, cursor });
  t.equal(second.evaluated_at, first.evaluated_at);
  t.same(
    second.instruments.map(({ instrument }) => instrument),
    ['A5-PERP', 'A6-PERP'],
  );
  t.not(second.receipt_id, first.receipt_id);
  const last = await ask({ query, limit: 9, cursor: second.page.next_cursor });
  t.same(last.page, { limit: 9, returned: 2, next_cursor: null });
  for (const [body, plan] of [
    [{ query, cursor, units: 'base' }, 'pro'],
    [{ query, cursor, number_format: 'string' }, 'pro'],
    [{ query, cursor, freshness: '60s' }, 'pro'],
    [{ query, cursor, include_unknown: true }, 'pro'],
    [{ query: 'any(venues where mark > 102)', cursor }, 'pro'],
    [{ query, cursor }, 'mini'],
    [{ query, cursor: 'of.another' }, 'pro'],
  ] as const) {
    const refused = await ask(body, plan);
    t.same(listFaults(refused), ['DQL_JSON_SCHEMA /cursor'], JSON.stringify(body));
    t.match(refused.errors?.[0]?.hint, /run the query again/i);
  }
  now = NOW + 301_000_000;
  t.same(listFaults(await ask({ query, cursor })), ['DQL_JSON_SCHEMA /cursor']);
});

t.test('a cursor that names no page is reported beside what else is wrong (E-01, SC-05)', async (t) => {
  const { ask } = await opened(ladder());
  const query = 'any(venues where mark > 101)';
  const { next_cursor: cursor } = (await ask({ query, limit: 3 })).page;
  const unknown = 'any(venues where nosuch > 1)';
  t.same(listFaults(await ask({ query: unknown, colour: 1, cursor: 'of.another' })), [
    ...['DQL_UNKNOWN_FIELD 17', 'DQL_JSON_SCHEMA /colour', 'DQL_JSON_SCHEMA /cursor'],
  ]);
  t.same(listFaults(await ask({ query: unknown, cursor })), ['DQL_UNKNOWN_FIELD 17']);
  const behind = String(cursor).replace(/\d+$/, '7');
  t.same(listFaults(await ask({ query, cursor: behind })), ['DQL_JSON_SCHEMA /cursor'], 'behind the last item');
});

/** Payments of the payer named in the header: accepted without a check. */
const trusting: PaymentChecks = {
  challenge: () => ({ status: 402, headers: {}, body: { errors: [] } }),
  present: async ({ headers }) => ({
    buys: 'call',
    payer: String(headers['payment-signature']),
    take: async () => null,
    end: async () => undefined,
  }),
};

t.test('a cursor that was paid for belongs to its payer (SC-05)', async (t) => {
  const { app } = await testApp(ladder(), { payments: trusting });
  t.teardown(() => app.close());
  const ask = async (payer: string, body: object): Promise<Answer> => {
    const payload = { query: 'any(venues where mark > 101)', limit: 3, ...body };
    const headers = { 'payment-signature': payer };
    return (await app.inject({ method: 'POST', url: '/v2/screen', headers, payload })).json<Answer>();
  };
  const { next_cursor: cursor } = (await ask('0xaa', {})).page;
  t.same(listFaults(await ask('0xbb', { cursor })), ['DQL_JSON_SCHEMA /cursor']);
  t.equal((await ask('0xaa', { cursor })).page.returned, 3);
});

t.test('the pages of a result do not outlive the plan that it was made under (SC-05, S-07)', async (t) => {
  const table = new KeyTable();
  const key = table.add('pro');
  const keys = openKeyStore(table as unknown as Parameters<typeof openKeyStore>[0]);
  const { app } = await testApp(ladder(), { keys });
  t.teardown(() => app.close());
  const changePlan = (plan: PlanCode): void => {
    Object.assign(table.row(key) ?? {}, { plan });
    keys.forgetAll();
  };
  const ask = async (body: object = {}): Promise<Answer> => {
    const payload = { query: 'any(venues where mark > 1)', limit: 3, ...body };
    const headers = { authorization: `Bearer ${key}` };
    return (await app.inject({ method: 'POST', url: '/v2/screen', headers, payload })).json<Answer>();
  };
  const { next_cursor: cursor } = (await ask()).page;
  changePlan('pro_plus');
  t.equal((await ask({ cursor })).page.returned, 3, 'a plan that covers more');
  changePlan('free');
  t.same(listFaults(await ask({ cursor })), ['DQL_JSON_SCHEMA /cursor'], 'a plan that covers less');
  const narrowed = await ask();
  t.match(narrowed.scope, { plan: 'free' });
  changePlan('pro');
  t.match(
    (await ask({ cursor: narrowed.page.next_cursor })).scope,
    { plan: 'free' },
    'of the evaluation, as all of it',
  );
});

t.test('a following page is no evaluation: it is answered when the evaluations of the day are used up', async (t) => {
  const meter = new Meter();
  const { app, keys, table } = await testApp(ladder(), { meter });
  t.teardown(() => app.close());
  const keyId = table.row(keys.free)?.key_id ?? '';
  const count = PLANS.free.limits.dql_per_day - 1;
  await spendQuota(meter, { keyId, plan: PLANS.free }, { quota: 'dql', count, nowMs: Date.now() });
  const headers = { authorization: `Bearer ${keys.free}` };
  const ask = (over: Record<string, unknown>) =>
    app.inject({
      method: 'POST',
      url: '/v2/screen',
      headers,
      payload: { query: 'any(venues where mark > 1)', limit: 3, ...over },
    });
  const first = await ask({});
  t.equal(first.statusCode, 200, 'the last evaluation of the day');
  const second = await ask({ cursor: first.json<Answer>().page.next_cursor });
  t.equal(second.statusCode, 200);
  const third = await ask({ cursor: second.json<Answer>().page.next_cursor });
  t.equal(third.json<Answer>().page.returned, 3);
  t.equal((await ask({})).statusCode, 429);
});

const LAST_MINUTE = ` as of ${formatInstant(NOW - 60_000_000)}`;

/** The ladder, of which the store shows everything. */
const stored = (): Feed => {
  const feed = ladder();
  feed.memory.applyHistoryWatermark('okx', 0, NOW + 200_000_000);
  return feed;
};

t.test('a screen that the store keeps from being answered counts as no evaluation (AC-03)', async (t) => {
  const meter = new Meter();
  const { app, keys, table } = await testApp(stored(), { meter, history: storeAway(t) });
  t.teardown(() => app.close());
  const keyId = table.row(keys.free)?.key_id ?? '';
  const count = PLANS.free.limits.dql_per_day - 1;
  await spendQuota(meter, { keyId, plan: PLANS.free }, { quota: 'dql', count, nowMs: Date.now() });
  const ask = async (query: string): Promise<number> => {
    const headers = { authorization: `Bearer ${keys.free}` };
    return (await app.inject({ method: 'POST', url: '/v2/screen', headers, payload: { query } })).statusCode;
  };
  t.equal(await ask(`any(venues where mark > 1)${LAST_MINUTE}`), 503);
  t.equal(await ask('any(venues where mark > 1)'), 200, 'the last evaluation of the day');
  t.equal(await ask('any(venues where mark > 1)'), 429);
});

t.test(
  'a store that takes connections and answers nothing is away, however long it is waited for (E-07)',
  async (t) => {
    const { url } = await startSilentPostgres(t);
    const reader = openQuestdbReader(url, { max: 4, timeoutMs: 10_000, log: createLog('test', 'silent') });
    t.teardown(() => reader.close());
    const { app, as } = await testApp(stored(), { history: createHistoryStore(reader, '') });
    t.teardown(() => app.close());
    const queries = [`any(venues where mark > 1)${LAST_MINUTE}`, 'any(venues where sma(close, 3, 1m) > 1)'];
    const answers = await Promise.all(
      queries.map((query) => app.inject({ method: 'POST', url: '/v2/screen', headers: as('pro'), payload: { query } })),
    );
    for (const answer of answers) {
      t.equal(answer.statusCode, 503);
      t.match(answer.json(), { errors: [{ code: 'UNAVAILABLE' }] });
      t.ok(answer.headers['retry-after']);
    }
  },
);

t.test('what cannot be evaluated in time is refused before anything is read, with what would be (SC-06)', async (t) => {
  const feed = new Feed(['okx']);
  feed.venue('okx', withCandles('okx'));
  for (let i = 0; i < 100; i++) {
    const [base, symbol] = [`A${i}`, `A${i}-USDT`];
    feed.list(listing('okx', listingValues({ instrument: `${base}-PERP`, base, venue_symbol: symbol })));
  }
  const { ask } = await opened(feed);
  const heavy = (source: string) => `stdev(stdev(stdev(stdev(${source}, 500), 500), 500), 500) > 1`;
  const query = `any(venues where ${['open', 'high', 'low', 'close'].map(heavy).join(' and ')}) timeframe 1m`;
  const refused = await ask({ query });
  t.match(refused.errors, [
    {
      code: 'DQL_LIMIT',
      message: 'The query over 100 listings takes longer than 5 seconds; its windows allow 83.',
      hint: /narrow where/i,
    },
  ]);
  // This app has no store, so what is read finds none.
  t.same(listFaults(await ask({ query: `${query} where base in (A1, A2, A3)` })), ['UNAVAILABLE']);
});

t.test('kept results are bounded by bytes: the oldest go first', async (t) => {
  const pages = new ScreenPages(1_000);
  const keep = (asked: string) => pages.keep({ plan: 'pro', head: {}, items: ['x'.repeat(400)] }, { asked, now: NOW });
  const ids = ['a', 'b', 'c'].map(keep);
  const isFound = (id: string, asked: string) => pages.find(`${id}.0`, { asked, plan: 'pro', now: NOW }) !== null;
  const found = ids.map((id, i) => isFound(id, ['a', 'b', 'c'][i] ?? ''));
  t.same(found, [false, true, true]);
});

t.test('a result that is larger than all that is kept is refused, and drops no other (D-445)', (t) => {
  const pages = new ScreenPages(1_000);
  const keep = (length: number) =>
    pages.keep({ plan: 'pro', head: {}, items: ['a'.repeat(length)] }, { asked: 'q', now: NOW });
  const whole = keep(1_000);
  t.throws(() => keep(1_001), { errors: [{ code: 'DQL_LIMIT', message: /1001 bytes, the limit is 1000/ }] });
  t.ok(pages.has(`${whole}.0`, NOW), 'the page of another caller is still there');
  t.end();
});

t.test('the ceiling of the plan clamps a page, and a narrowing plan names its scope', async (t) => {
  const { ask } = await opened(ladder());
  t.equal((await ask({ query: 'order by instrument', limit: 9_999 }, 'free')).page.limit, 50);
  const { scope } = await ask({ query: 'order by instrument' }, 'free');
  t.match(scope, { plan: 'free', instruments: 10 });
  t.equal((await ask({ query: 'order by instrument' })).scope, undefined);
});

t.test('quantities are added up in one unit only, and mixed quotes are named', async (t) => {
  const feed = market();
  feed.venue('okx', capability('okx'));
  feed.list(
    listing(
      'okx',
      listingValues({
        venue_symbol: 'BTC-USDC-SWAP',
        quote: 'USDC',
        quantity_unit: 'contracts',
        contract_size: '0.01',
      }),
    ),
  );
  const stats = {
    layer: 'stats' as const,
    values: { volume_24h: '10', turnover_24h: '7.5' },
    instants: {},
    raw: null,
  };
  feed.read('binance', 'BTCUSDT', reading({ ...stats, quantity_unit: 'base' }));
  feed.read('okx', 'BTC-USDT-SWAP', reading({ ...stats, quantity_unit: 'contracts' }));
  feed.read('okx', 'BTC-USDC-SWAP', reading({ ...stats, quantity_unit: 'contracts' }));
  const { ask } = await opened(feed);
  const query = 'sum(venues, volume_24h) > 0 where base = BTC';
  const refused = await ask({ query });
  t.same(listFaults(refused), ['DQL_TYPE 0']);
  t.match(refused.errors?.[0]?.hint, /units: base/);
  const [base] = (await ask({ query, units: 'base' })).instruments;
  t.match(base?.values['sum(venues, volume_24h)'], { value: 10.2, unit: 'base', status: 'present' });
  const [quote] = (await ask({ query: 'sum(venues, turnover_24h) > 0 where base = BTC', number_format: 'string' }))
    .instruments;
  t.match(quote?.values['sum(venues, turnover_24h)'], { value: '22.5', unit: 'quote', quotes: ['USDC', 'USDT'] });
  t.equal(quote?.venues[0]?.values.turnover_24h?.value, '7.5');
  const alone = 'sum(venues where venue = binance, turnover_24h)';
  const [one] = (await ask({ query: `${alone} > 0 where base = BTC` })).instruments;
  t.same(Object.keys(one?.values[alone] ?? {}), ['value', 'unit', 'status', 'fn', 'from'], 'one quote is not named');
});

t.test('a query may be text or object, and the selection is in one place', async (t) => {
  const { ask } = await opened(market());
  const text = await ask({ query: 'any(venues where mark > 1) where base = BTC' });
  const object = text.query.json;
  t.same((await ask({ query: object })).instruments, text.instruments);
  t.same((await ask({ query_object: object })).instruments, text.instruments);
  const beside = await ask({ query: 'any(venues where mark > 1)', where: { base: 'btc' } });
  t.equal(beside.query.string, text.query.string, 'the selection beside is echoed within the query');
  t.same(beside.instruments, text.instruments);
  t.same(listFaults(await ask({ query: 'where base = BTC', where: 'quote = USDT' })), ['DQL_DUPLICATE_CLAUSE /where']);
  t.same(
    listFaults(await ask({ query: 'where base = NOSUCH', where: { quote: ['NONE'] } })),
    ['DQL_UNKNOWN_ASSET 13', 'DQL_DUPLICATE_CLAUSE /where', 'DQL_UNKNOWN_CURRENCY /where/quote/0'],
    'both selections are judged',
  );
  const both = listFaults(await ask({ query: 'any(venues where fundin > 1)', where: 'base = BTCC' }));
  t.same(both, ['DQL_UNKNOWN_ASSET 7 /where', 'DQL_UNKNOWN_FIELD 17 /query']);
  t.same(listFaults(await ask({ query: 'any(venues where fundin > 1)' })), ['DQL_UNKNOWN_FIELD 17']);
});

t.test('what is malformed, unauthorised, beyond the plan or out of range is refused with its code', async (t) => {
  const { ask, send, as } = await opened(market());
  t.equal((await send({ query: 'base = BTC' }, {})).statusCode, 402);
  t.equal((await send({ query: 'base = BTC' }, { authorization: 'Bearer nothing' })).statusCode, 401);
  t.equal((await send({ query: 'base = ' }, as('pro'))).statusCode, 400);
  t.equal((await send({ query: 'any(venues where depth_bid(10bps) > 1)' }, as('free'))).statusCode, 403);
  const cases: readonly (readonly [unknown, readonly string[], PlanCode?])[] = [
    [{}, ['DQL_JSON_SCHEMA /query']],
    [{ query: 'base = BTC', dql: '2' }, ['DQL_VERSION /dql']],
    [{ query: 'base = BTC', limit: 0 }, ['DQL_JSON_SCHEMA /limit']],
    [{ query: 'base = BTC', limits: 3 }, ['DQL_JSON_SCHEMA /limits']],
    [{ query: 'base = BTC', freshness: 'soon' }, ['DQL_JSON_SCHEMA /freshness']],
    [{ query: 'base = BTC', freshness: '700000s' }, ['DQL_LIMIT /freshness']],
    [{ query: 'as of 2027-01-01' }, ['DQL_AS_OF_RANGE 6']],
    [{ query: 'as of 2026-01-01' }, ['DQL_AS_OF_RANGE 6']],
    [{ query: { dql: '1', as_of: '2027-01-01' } }, ['DQL_AS_OF_RANGE /query/as_of']],
    [{ query: 'mark > 1' }, ['DQL_SCOPE 0']],
    [{ query: 'any(venues where depth_bid(10bps) > 1)' }, ['PLAN_LIMIT 17'], 'free'],
    [{ query: 'any(venues where sma(close, 5, 1h) > 1)' }, ['UNAVAILABLE']],
    [{ query: 'as of 2026-01-12' }, ['UNAVAILABLE']],
  ];
  for (const [body, expected, plan] of cases) t.same(listFaults(await ask(body, plan)), expected, JSON.stringify(body));
});
