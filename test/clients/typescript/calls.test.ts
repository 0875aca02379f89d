// Calls of the TypeScript client: answers of the real API, its refusals as one error, and what is done when the edges misbehave.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { ENDPOINTS } from '../../../clients/typescript/src/api-types.ts';
import { ApiError, createClient, type Retry, type TableName } from '../../../clients/typescript/src/index.ts';
import { pause } from '../../../clients/typescript/src/wait.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import {
  answerJson,
  breakOff,
  frame,
  hangUp,
  keepSilent,
  openEdgeServer,
  refuse,
  stream,
} from '../../support/services/edge-server.ts';

const { app, keys } = await testApp(market());
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
t.teardown(() => app.close());

const client = createClient({ baseUrl, key: keys.pro_plus });
const exact = createClient({ baseUrl, key: keys.pro_plus, numberFormat: 'string' });
const VENUES = { evaluated_at: '2026-01-15T12:00:00.000Z', items: [] };

const catchError = async (work: Promise<unknown>): Promise<ApiError> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error(`no ApiError: ${String(error)}`, { cause: error });
};

t.test('figures are numbers, or with number_format string the digits of the venue', async (t) => {
  const request = { where: 'base = BTC and venue = binance', layers: ['funding'] };
  const { items, receipt_id } = await client.snapshots(request);
  t.equal(items[0]?.layers['funding']?.values['funding'], 0.0000125);
  t.match(receipt_id, /^rcp_/);
  const text = await exact.snapshots(request);
  t.equal(text.items[0]?.layers['funding']?.values['funding'], '0.0000125');
});

t.test('operations of every kind: open, GET with parameters, path parameters, POST', async (t) => {
  const open = createClient({ baseUrl, key: null, retries: 0 });
  t.same(
    (await open.venues()).items.map(({ venue }) => venue),
    ['binance', 'okx'],
  );
  t.equal((await open.instruments({ where: 'base = ETH' })).items[0]?.venue_symbol, 'ETHUSDT');
  const parsed = await open.dqlParse({ query: 'any(venues where funding > 1bps)' });
  t.equal(parsed.query.string, 'any(venues where funding > 0.0001)');
  t.equal((await catchError(open.anchorDay({ day: '2026-01-02' }))).code, 'UNAVAILABLE');
  t.equal(
    (await catchError(open.receipt({ receipt_id: 'rcp_a/b' }))).status,
    404,
    'a slash stays within its parameter',
  );
});

t.test('every endpoint of the document has its method, and lists are in an address', async (t) => {
  const methods = client as unknown as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(ENDPOINTS)) if (name !== 'stream') t.type(methods[name], 'function', name);
  const answer = { evaluated_at: VENUES.evaluated_at, receipt_id: 'rcp_1', rules: [], missing: [] };
  const edge = await openEdgeServer(t, [answerJson(200, answer)]);
  const rules = createClient({ baseUrl: edge.url, key: 'k' });
  t.same(await rules.agentState({ rule_id: ['rule_a', 'rule_b'], fresh: true }), answer);
  t.equal(edge.requests[0]?.url, '/v2/agent/state?rule_id=rule_a%2Crule_b&fresh=true');
});

t.test('what is no address and no key is refused at once, and the key is not shown', async (t) => {
  for (const address of ['127.0.0.1:8080', 'http://[', 'http://a b'])
    t.throws(() => createClient({ baseUrl: address }), { name: 'TypeError', message: /write http:/ }, address);
  for (const key of ['sk_secret\ny', '“sk_secret”', 'sk_secret y'])
    t.throws(() => createClient({ key }), { name: 'TypeError', message: /^The API key (?!.*secret)/ }, key);
  const edge = await openEdgeServer(t, [answerJson(200, VENUES)]);
  await createClient({ baseUrl: `${edge.url}/\n`, key: 'sk_test\r\n' }).venues();
  t.equal(edge.requests[0]?.headers.authorization, 'Bearer sk_test');
});

t.test('a refusal is one error with code, place, hint and receipt, and is not repeated', async (t) => {
  const retries: Retry[] = [];
  const retrying = createClient({ baseUrl, key: keys.pro_plus, onRetry: (retry) => retries.push(retry) });
  const error = await catchError(retrying.screen({ query: 'any(venues where fundin > 1bps)' }));
  t.match(error, {
    name: 'ApiError',
    code: 'DQL_UNKNOWN_FIELD',
    status: 400,
    position: { line: 1, column: 18, offset: 17, length: 6 },
    hint: /funding/,
    receipt: /^rcp_/,
    retryAfter: null,
  });
  const several = await catchError(retrying.snapshots({ layers: ['mrk', 'fundng'] }));
  t.same(
    several.errors.map(({ path }) => path),
    ['/layers/0', '/layers/1'],
    'all faults at once',
  );
  t.equal((await catchError(createClient({ baseUrl, key: null }).account())).code, 'AUTH_REQUIRED');
  t.equal((await catchError(createClient({ baseUrl, key: 'wrong' }).account())).code, 'AUTH_INVALID');
  t.same(retries, []);
});

t.test('the limit of a plan has its name and how long to wait', async (t) => {
  const free = createClient({ baseUrl, key: keys.free, retries: 0 });
  const answers = await Promise.allSettled(Array.from({ length: 12 }, () => free.snapshots({ where: 'base = BTC' })));
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as ApiError] : []));
  t.ok(refused.length > 0);
  for (const error of refused) {
    t.match(error, { code: 'RATE_LIMITED', status: 429 });
    t.ok((error.retryAfter ?? 0) > 0);
    t.type(error.limit, 'string');
  }
});

t.test('pages follow the cursor to the end', async (t) => {
  const symbols: string[] = [];
  let pages = 0;
  for await (const { items } of client.pages('instruments', { limit: 1 })) {
    symbols.push(...items.map(({ venue_symbol }) => venue_symbol));
    pages += 1;
  }
  t.same(symbols, ['BTCUSDT', 'ETHUSDT', 'BTC-USDT-SWAP']);
  t.equal(pages, 3);
});

t.test('tables follow the cursor, which is in a header, and split a period that is too long', async (t) => {
  const period = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
  const asked: Record<string, unknown>[] = [];
  const paged = (text: string, page: string | null) => (response: ServerResponse, request: IncomingMessage) => {
    request.once('data', (chunk) => asked.push(JSON.parse(String(chunk)) as Record<string, unknown>));
    if (page !== null) response.setHeader('x-service-page', page);
    response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end(text);
  };
  const collect = async (name: TableName, answers: Parameters<typeof openEdgeServer>[1]): Promise<string[]> => {
    const edge = await openEdgeServer(t, answers);
    const texts: string[] = [];
    const request = { ...period, timeframe: '1h', format: 'csv' } as const;
    for await (const bytes of createClient({ baseUrl: edge.url, key: 'k' }).tables(name, request))
      texts.push(Buffer.from(bytes).toString());
    t.equal(edge.requests.at(-1)?.headers.accept, 'text/csv');
    return texts;
  };
  const [first, last] = [paged('a', '{"next_cursor":"c"}'), paged('b', '{"next_cursor":null}')];
  t.same(await collect('liquidations', [first, last]), ['a', 'b']);
  t.match(asked, [
    { ...period, cursor: undefined },
    { ...period, cursor: 'c' },
  ]);
  t.same(await collect('candles', [refuse(400, 'DQL_LIMIT'), paged('a', null)]), ['a', 'a']);
});

t.test('waits as long as the service requests, then the call succeeds', async (t) => {
  const again = { 'retry-after': '0' };
  const edge = await openEdgeServer(t, [
    refuse(429, 'RATE_LIMITED', { ...again, 'x-service-limit': 'requests_per_second' }),
    refuse(503, 'UNAVAILABLE', again),
    answerJson(502, 'gateway', again),
    answerJson(200, VENUES),
  ]);
  const retries: Retry[] = [];
  const retrying = createClient({ baseUrl: edge.url, key: null, onRetry: (retry) => retries.push(retry) });
  t.same(await retrying.venues(), VENUES);
  t.same(
    retries.map(({ operation, attempt, error }) => [operation, attempt, error.code]),
    [
      ['venues', 1, 'RATE_LIMITED'],
      ['venues', 2, 'UNAVAILABLE'],
      ['venues', 3, 'BAD_ANSWER'],
    ],
  );
  t.equal(edge.requests.length, 4);
});

t.test('the request of an answer that breaks off, or is missing, is repeated', async (t) => {
  const edge = await openEdgeServer(t, [breakOff('{"evaluated_at"'), hangUp, answerJson(200, VENUES)]);
  t.same(await createClient({ baseUrl: edge.url, key: null }).venues(), VENUES);
  t.equal(edge.requests.length, 3);
});

t.test('what no repetition mends is not repeated', async (t) => {
  for (const status of [400, 401, 402, 403, 404, 409, 413, 500]) {
    const edge = await openEdgeServer(t, [refuse(status, 'INTERNAL')]);
    t.equal((await catchError(createClient({ baseUrl: edge.url, key: null }).venues())).status, status);
    t.equal(edge.requests.length, 1, String(status));
  }
  const long = await openEdgeServer(t, [refuse(429, 'RATE_LIMITED', { 'retry-after': '3600' })]);
  const error = await catchError(createClient({ baseUrl: long.url, key: null }).venues());
  t.equal(error.retryAfter, 3600, 'no call waits for an hour without a notice');
  t.equal(long.requests.length, 1);
});

t.test('a wait that is requested is a number of seconds or a date, and as long as it may be', async (t) => {
  const read = async (text: string): Promise<number | null> => {
    const edge = await openEdgeServer(t, [refuse(503, 'UNAVAILABLE', { 'retry-after': text })]);
    return (await catchError(createClient({ baseUrl: edge.url, key: null, retries: 0 }).venues())).retryAfter;
  };
  t.equal(await read('1.5'), 1.5);
  const { TZ = 'UTC' } = process.env;
  t.teardown(() => {
    process.env['TZ'] = TZ;
  });
  for (const zone of ['Pacific/Chatham', 'America/Santiago', 'UTC']) {
    process.env['TZ'] = zone;
    const date = new Date(Date.now() + 60_000).toUTCString();
    const [, name, day, month, year, time] = /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(date) ?? [];
    // The form of today, and the one without a zone, which is in UTC (RFC 9110, section 5.6.7).
    for (const text of [date, `${name} ${month} ${day} ${time} ${year}`]) {
      const seconds = (await read(text)) ?? 0;
      t.ok(seconds > 50 && seconds <= 60, `${zone} ${text}: ${seconds}`);
    }
  }
  for (const text of ['-5', '1/2', '2026-11-27', 'soon']) t.equal(await read(text), null, text);
});

t.test('a wait and a limit of time may be longer than a timer can be: for ever is not at once', async (t) => {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  const hello = { ...VENUES, stream_id: 's', layers: [], listings: 0, heartbeat_ms: 1, resumed: false };
  const bye = { reason: 'rotate', reconnect: false };
  const edge = await openEdgeServer(t, [
    answerJson(200, VENUES),
    stream([frame('a', 'hello', hello), frame('b', 'bye', bye)], 'end'),
  ]);
  for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    const patient = createClient({ baseUrl: edge.url, key: 'k', retries: 0, timeoutMs });
    if (timeoutMs === 2 ** 31) t.same((await patient.venues()).items, []);
    const events: string[] = [];
    for await (const { event } of patient.live({}, { silenceMs: timeoutMs })) events.push(event);
    t.same(events, ['hello', 'bye'], String(timeoutMs));
    const stop = new AbortController();
    const waiting = pause(timeoutMs, stop.signal);
    await setImmediate();
    stop.abort();
    await waiting;
  }
  t.same(warnings, [], 'a timer of 2^31 ms or more ends after one');
});

t.test('a wait is judged by what the service requests, not by what chance adds to it', async (t) => {
  const edge = await openEdgeServer(t, [refuse(429, 'RATE_LIMITED', { 'retry-after': '60' })]);
  const stop = new AbortController();
  const waits: number[] = [];
  const onRetry = ({ waitMs }: Retry): void => {
    waits.push(waitMs);
    stop.abort(new Error('it would wait'));
  };
  const asking = createClient({ baseUrl: edge.url, key: null, onRetry }).venues({}, { signal: stop.signal });
  await t.rejects(asking, /it would wait/);
  t.ok((waits[0] ?? 0) >= 60_000 && (waits[0] ?? 0) <= 75_000, String(waits));
});

t.test('the reason that a name with several addresses does not answer is that of an address', async (t) => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:8080'), new Error('another')], '');
  const failing: typeof fetch = () => Promise.reject(new TypeError('fetch failed', { cause: refused }));
  const error = await catchError(
    createClient({ baseUrl: 'http://localhost:8080', key: null, fetch: failing }).venues(),
  );
  t.equal(error.message, 'http://localhost:8080 did not answer: connect ECONNREFUSED ::1:8080');
});

t.test('a fetch of the caller, which may pay, is called once', async (t) => {
  const edge = await openEdgeServer(t, [refuse(503, 'UNAVAILABLE', { 'retry-after': '0' })]);
  let calls = 0;
  const paying: typeof fetch = (input, init) => {
    calls += 1;
    return fetch(input, { ...init, headers: { ...(init?.headers as object), 'payment-signature': 'signed' } });
  };
  const error = await catchError(createClient({ baseUrl: edge.url, key: null, fetch: paying }).venues());
  t.equal(error.code, 'UNAVAILABLE');
  t.equal(calls, 1);
  t.equal(edge.requests[0]?.headers['payment-signature'], 'signed');
  t.equal(edge.requests[0]?.headers.authorization, undefined);
});

t.test('errors of another form are those of another service', async (t) => {
  for (const errors of [['no upstream'], [null], [{ code: 7 }], 'x']) {
    const edge = await openEdgeServer(t, [answerJson(403, { errors })]);
    const client = createClient({ baseUrl: edge.url, key: 'k' });
    await t.rejects(client.venues(), { code: 'BAD_ANSWER', status: 403, message: /not from the API/ });
  }
});

t.test('an answer of another service is reported, a silent one ends, and a caller may give up', async (t) => {
  const proxy = await openEdgeServer(t, [
    (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>'),
    answerJson(200, null),
    answerJson(200, []),
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  ]);
  const lost = createClient({ baseUrl: proxy.url, key: null });
  t.match(await catchError(lost.venues()), { code: 'BAD_ANSWER', status: 404, message: /Not here/ });
  for (const _ of ['null', '[]', 'a page'])
    t.match(await catchError(lost.venues()), { code: 'BAD_ANSWER', status: 200, message: /not a JSON object/ });
  const table = { timeframe: '1m', from: '2026-01-01', to: '2026-01-02', format: 'parquet' } as const;
  for (const ask of [() => lost.table('candles', table), () => lost.text('venues', {}), () => lost.live().next()])
    t.match(await catchError(ask()), { code: 'BAD_ANSWER', status: 200, message: /text\/html instead of/ });
  t.equal(proxy.requests.length, 7, 'none of it is repeated');
  const silent = await openEdgeServer(t, [keepSilent]);
  const hasty = createClient({ baseUrl: silent.url, key: null, timeoutMs: 50, retries: 0 });
  t.match(await catchError(hasty.venues()), { code: 'UNREACHABLE', status: 0 });
  const stop = new AbortController();
  const asked = createClient({ baseUrl: silent.url, key: null }).venues({}, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await t.rejects(asked, { message: 'enough' });
});

t.test('a redirect is an error that names its address: to follow it loses the key or the body', async (t) => {
  const headers = { location: 'https://api.example/v2' };
  for (const status of [301, 302, 307]) {
    const edge = await openEdgeServer(t, [(response) => void response.writeHead(status, headers).end('moved')]);
    const client = createClient({ baseUrl: edge.url, key: 'k' });
    for (const ask of [() => client.venues(), () => client.snapshots(), () => client.live().next()])
      t.match(await catchError(ask()), { code: 'BAD_ANSWER', status, message: /leads to https:..api.example.v2/ });
    t.equal(edge.requests.length, 3);
  }
});

t.test('settings come from the environment, and the key is in no address', async (t) => {
  const edge = await openEdgeServer(t, [answerJson(200, VENUES)]);
  process.env['PERP_BASE_URL'] = `${edge.url}/`;
  process.env['PERP_API_KEY'] = 'key-of-the-environment';
  t.teardown(() => {
    delete process.env['PERP_BASE_URL'];
    delete process.env['PERP_API_KEY'];
  });
  await createClient().venues();
  t.equal(edge.requests[0]?.headers.authorization, 'Bearer key-of-the-environment');
  t.equal(edge.requests[0]?.url, '/v2/venues');
  await createClient({ key: null }).venues();
  t.equal(edge.requests[1]?.headers.authorization, undefined);
});

t.test('a period too long for one answer is requested in parts without hole or overlap', async (t) => {
  const asked: [string, string][] = [];
  const edge = await openEdgeServer(t, [
    (response, request) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { from, to } = JSON.parse(Buffer.concat(chunks).toString()) as { from: string; to: string };
        const isShort = Date.parse(to) - Date.parse(from) <= 50 * 3_600_000;
        if (isShort) asked.push([from, to]);
        (isShort ? answerJson(200, { items: [] }) : refuse(400, 'DQL_LIMIT'))(response, request);
      });
    },
  ]);
  const period = { timeframe: '4h', from: '2026-01-01T01:00:00.000123Z', to: '2026-01-06T00:00:00Z' };
  const parts = createClient({ baseUrl: edge.url, key: null }).pages('candles', period);
  for await (const _ of parts);
  t.equal(asked[0]?.[0], period.from);
  t.equal(asked.at(-1)?.[1], period.to);
  for (const [at, [, to]] of asked.slice(0, -1).entries()) {
    t.equal(asked[at + 1]?.[0], to);
    t.equal(Date.parse(to) % (4 * 3_600_000), 0, 'parts end on whole periods');
  }
  t.ok(asked.length >= 3);
});
