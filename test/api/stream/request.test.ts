// GET /v2/stream: what is refused before it starts, and the limits of plans (E-01, AC-02).
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { TIMEFRAMES } from '../../../api/language/limits.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { readRequest } from '../../../api/stream/request.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';
import { Bench, BTC, crowd, refusal } from './bench.ts';

t.test('refuses in ordinary JSON before the stream starts', async (t) => {
  const bench = await Bench.open(t);
  const refused = async (query: string, plan: 'free' | 'pro_plus' | null, expected: [number, string, string?]) => {
    const client = await bench.stream(query, plan === null ? {} : bench.test.as(plan));
    await client.ended();
    const [error] = (JSON.parse(client.text) as { errors: { code: string; path?: string }[] }).errors;
    t.same([client.status, error?.code, error?.path].slice(0, expected.length), expected, query);
    t.match(client.headers.get('content-type'), 'application/json');
    return client;
  };
  await refused('', null, [401, 'AUTH_REQUIRED']);
  await refused('layers=marc', 'pro_plus', [400, 'DQL_JSON_SCHEMA', '/layers']);
  await refused('layer=mark', 'pro_plus', [400, 'DQL_JSON_SCHEMA', '/layer']);
  await refused('depth=-1', 'pro_plus', [400, 'DQL_JSON_SCHEMA', '/depth']);
  await refused('snapshot=maybe', 'pro_plus', [400, 'DQL_JSON_SCHEMA', '/snapshot']);
  await refused('freshness=soon', 'pro_plus', [400, 'DQL_JSON_SCHEMA', '/freshness']);
  await refused('freshness=8d', 'pro_plus', [400, 'DQL_LIMIT', '/freshness']);
  await refused('where=base%20%3D', 'pro_plus', [400, 'DQL_SYNTAX']);
  await refused('where=venue%20%3D%20nowhere', 'pro_plus', [400, 'DQL_UNKNOWN_VENUE']);
  await refused('layers=trade', 'free', [403, 'PLAN_LIMIT', '/layers']);
  await refused('layers=candles&timeframe=soon', 'free', [400, 'DQL_JSON_SCHEMA', '/timeframe']);
  await refused('layers=book_bands', 'free', [403, 'PLAN_LIMIT', '/layers']);
  const head = await bench.test.app.inject({ method: 'HEAD', url: '/v2/stream', headers: bench.test.as('pro_plus') });
  t.match(head, {
    statusCode: 200,
    body: '',
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
  t.notOk('content-length' in head.headers, 'a stream has no length (RFC 9110)');
  // A plan with one stream and four requests at once.
  for (const _ of [1, 2, 3, 4, 5]) {
    const again = await bench.test.app.inject({ method: 'HEAD', url: '/v2/stream', headers: bench.test.as('mini') });
    t.match(again, { statusCode: 200, headers: { 'x-service-limit': undefined } }, 'its place is free again');
  }
});

t.test('a reader without the header resumes by the parameter; the header has precedence (D-960)', async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.ready(BTC);
  bench.pass(1_000_000);
  for (let rev = 2; rev <= 4; rev++) bench.mark('BTCUSDT', rev);
  const [second, third] = await first.untilCount('update', 3);
  await first.close();
  const listRevisions = async (parameter: string, header?: string): Promise<unknown[]> => {
    const query = `${BTC}&lastEventId=${encodeURIComponent(parameter)}`;
    const again = await (header === undefined ? bench.ready(query) : bench.resume(query, header));
    return [again.events[0]?.data.resumed, ...again.named('update').map((e) => e.data.rev)];
  };
  t.same(await listRevisions(second?.id ?? ''), [true, 3, 4]);
  t.same(await listRevisions(second?.id ?? '', third?.id), [true, 4]);
  t.same(await listRevisions(''), [false], 'an empty one is none');
  t.same(await listRevisions('unknown'), [false]);
});

t.test('streams share what is printed only when they are sent the same of a reading (ST-07)', (t) => {
  const live = market().memory;
  const context = { live, plan: PLANS.pro_plus, choice: { venues: null, instruments: null }, at: NOW };
  const read = (input: Parameters<typeof readRequest>[0]['input']) =>
    readRequest({ input: { layers: 'book', ...input }, names: {} }, context);
  const requests = [
    {},
    { units: 'quote' as const },
    { number_format: 'string' as const },
    { allow_stale: true },
    { depth: 1 },
    { freshness: '5s' },
  ].map(read);
  for (const part of [
    ({ format }: (typeof requests)[0]) => format.key,
    ({ selection }: (typeof requests)[0]) => selection,
  ])
    t.equal(new Set(requests.map(part)).size, requests.length);
  t.same(read({ snapshot: false }).format, requests[0]?.format);
  t.end();
});

t.test('takes every timeframe that POST candles takes, and refuses the others alike (H-16d)', async (t) => {
  const bench = await Bench.open(t);
  const stored = [...TIMEFRAMES, '60m', '60s', '120s', '24h', '240m'];
  const other = ['7m', '2d', '0m', '90m', '1h30m', 'soon', '', '1', '1M', `${'9'.repeat(12)}s`];
  const window = { from: '2026-01-15T11:59:00Z', to: '2026-01-15T12:00:00Z' };
  for (const timeframe of [...stored, ...other]) {
    const body = { where: 'symbol = "none"', timeframe, ...window };
    const candles = await bench.test.app.inject({
      ...{ method: 'POST', url: '/v2/candles', payload: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', ...bench.test.as('pro_plus') },
    });
    const stream = await bench.stream(`layers=candles&timeframe=${timeframe}`);
    const isStored = stored.includes(timeframe);
    t.equal(stream.status, isStored ? 200 : 400, timeframe);
    if (isStored) t.not(candles.statusCode, 400, timeframe);
    else {
      await stream.ended();
      t.same(JSON.parse(stream.text), candles.json(), timeframe);
    }
    await stream.close();
  }
  const hour = await bench.ready('layers=candles&timeframe=1h');
  const same = await bench.resume('layers=candles&timeframe=60m', hour.lastId);
  t.equal(same.events[0]?.data.resumed, true, 'another spelling is the same selection');
});

t.test('reports every fault of a step together (E-01 steps 6 and 8)', async (t) => {
  const bench = await Bench.open(t, crowd());
  const faults = async (query: string, plan: 'free' | 'pro_plus') =>
    refusal(await bench.stream(query, bench.test.as(plan)));
  t.same(await faults('layers=foo&units=bar', 'pro_plus'), [400, 'DQL_JSON_SCHEMA /layers', 'DQL_JSON_SCHEMA /units']);
  t.same(await faults('freshness=8d', 'free'), [400, 'DQL_LIMIT /freshness', 'DQL_LIMIT /where']);
});

t.test('limits streams and listings by the plan, and a closed stream makes room', async (t) => {
  const bench = await Bench.open(t, crowd());
  const free = bench.test.as('free');
  const wide = await bench.stream('', free);
  await wide.ended();
  t.match([wide.status, wide.text], [400, /DQL_LIMIT/]);
  const held = await bench.ready(BTC, free);
  const second = await bench.stream(BTC, free);
  await second.ended();
  t.equal(second.status, 429);
  t.equal(second.headers.get('x-service-limit'), 'streams');
  t.ok(Number(second.headers.get('retry-after')) >= 1);
  await held.close();
  let status = 0;
  for (let i = 0; i < 100 && status !== 200; i++) {
    await new Promise((resume) => setTimeout(resume, 20));
    const next = await bench.stream(BTC, bench.test.as('free'));
    status = next.status;
  }
  t.equal(status, 200);
});

t.test(
  'ids stay good while what a plan knows beside its choice grows, not when the choice changes (ST-05)',
  async (t) => {
    const { memory: live } = market();
    const [where, venues] = ['base = BTC', ['binance', 'okx']];
    const name = (choice: { instruments: readonly string[] | null; known?: readonly string[] }): string =>
      readRequest(
        { input: { where }, names: readNames(where, live) },
        { live, plan: PLANS.free, choice: { venues, ...choice }, at: NOW },
      ).selection;
    const before = name({ instruments: null, known: ['BTC-PERP'] });
    t.equal(name({ instruments: null, known: ['BTC-PERP', 'ETH-PERP'] }), before);
    t.not(name({ instruments: ['BTC-PERP'] }), before);
  },
);
