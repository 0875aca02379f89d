// A call of a tool is one call of the API: the same bytes, every refusal with what to do next, and nothing thrown (T-02, T-04, T-05, T-11).
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@modelcontextprotocol/client';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { liquidations } from '../../../api/operations/liquidations.ts';
import { MOST_BYTES } from '../../../api/tool-app/call-api.ts';
import { renderTools } from '../../../api/tool-app/tools.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { capability, Feed, listing, listingValues, market, markReading } from '../../support/apps/live-fixture.ts';
import { connectClient, ERAS, startToolService, TOOL_NAMES } from '../../support/apps/tool-fixture.ts';
import { ACCOUNTS, askedMarket } from '../../support/apps/tool-market.ts';
import { until } from '../../support/services/pipeline.ts';

type Called = {
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
  readonly meta: Record<string, unknown>;
};
const call = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<Called> => {
  const { isError = false, content, structuredContent, _meta = {} } = await client.callTool({ name, arguments: args });
  const [part] = content;
  return { isError, text: part?.type === 'text' ? part.text : '', structured: structuredContent, meta: _meta };
};
type Failed = Omit<Called, 'text'> & Readonly<Record<string, unknown>>;
const failed = async (client: Client, name: string, args?: Record<string, unknown>): Promise<Failed> => {
  const { isError, text, structured, meta } = await call(client, name, args);
  return { isError, structured, meta, ...(JSON.parse(text) as Record<string, unknown>) };
};

t.test('the result is the answer of the API, byte for byte and digit for digit', async (t) => {
  const service = await startToolService(t, askedMarket());
  const answer = await service.post({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'snapshots', arguments: { where: { base: 'BTC' }, layers: ['mark'] } },
  });
  const text = await answer.text();
  const { result } = JSON.parse(text) as { result: { content: { text: string }[]; structuredContent: unknown } };
  const body = result.content[0]?.text ?? '';
  t.match(body, /"basis":0\.0000166669444490741512/);
  t.ok(text.includes(`"structuredContent":${body}`), 'the structured content has the same bytes');
  const direct = await service.app.inject({
    method: 'POST',
    url: '/v2/snapshots',
    headers: { 'content-type': 'application/json', ...service.as('pro') },
    payload: JSON.stringify({ where: 'base = BTC', layers: ['mark'] }),
  });
  const withoutReceipt = (body: string): string => body.replace(/"receipt_id":"\w+"/, '');
  t.equal(withoutReceipt(body), withoutReceipt(direct.body));
  const screened = await service.post({
    ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
    params: { name: 'screen', arguments: { query: 'any(venues where mark > 0) select 9, 10', limit: 1 } },
  });
  const found = await screened.text();
  t.match(found, /"structuredContent":.*"values":\{"10":.*"9":/, 'whole numbers as names keep their order, too');
});

t.test('a tool that calls a GET takes a selection in both forms and lists as lists', async (t) => {
  const service = await startToolService(t, askedMarket());
  const client = await connectClient(t, service, { era: 'modern' });
  const symbols = async (where: unknown): Promise<string[]> => {
    const { structured } = await call(client, 'instruments', { where });
    return (structured as { items: { venue_symbol: string }[] }).items.map(({ venue_symbol }) => venue_symbol);
  };
  t.same(await symbols('base = BTC and venue = okx'), ['BTC-USDT-SWAP']);
  t.same(await symbols({ venue: 'okx', base: ['BTC', 'ETH'] }), ['BTC-USDT-SWAP', 'ETH-USDT-SWAP']);
  t.same(await symbols({ symbol: 'BTC-USDT-SWAP' }), ['BTC-USDT-SWAP']);
  t.match(await failed(client, 'instruments', { where: { base: 5 } }), { code: 'DQL_JSON_SCHEMA', retry: false });
  t.match(await failed(client, 'instruments', { wher: 'base = BTC' }), { code: 'DQL_JSON_SCHEMA', next: /where/ });
  const none = { code: 'DQL_JSON_SCHEMA', retry: false, errors: [{ path: '/rule_id/0' }] };
  t.match(
    await failed(client, 'agent_state', { rule_id: [] }),
    none,
    'a list without members does not mean all of them',
  );
});

t.test('a page has twenty rows by default, and leads to the next', async (t) => {
  const feed = new Feed(['okx']);
  feed.venue('okx');
  const codes = Array.from({ length: 30 }, (_, i) => `A${String(i).padStart(2, '0')}`);
  for (const base of codes) {
    feed.list(listing('okx', listingValues({ base, instrument: `${base}-PERP`, venue_symbol: base })));
    feed.read('okx', base, markReading('1'));
  }
  const client = await connectClient(t, await startToolService(t, feed), { era: 'legacy' });
  const pages: readonly [string, Record<string, unknown>][] = [
    ['instruments', {}],
    ['screen', { query: 'any(venues where mark > 0)' }],
  ];
  for (const [name, args] of pages) {
    const { structured } = await call(client, name, args);
    const { page } = structured as { page: { limit: number; returned: number; next_cursor: string } };
    t.match(page, { limit: 20, returned: 20 });
    const rest = await call(client, name, { ...args, cursor: page.next_cursor });
    t.match(rest.structured, { page: { returned: 10, next_cursor: null } });
    t.match((await call(client, name, { ...args, limit: 3 })).structured, { page: { returned: 3 } });
  }
});

/** Three venues of which a free key has two, with enough listings to be too large for a model. */
const wideMarket = (prefix = 'A'): Feed => {
  const venues = ['binance', 'bybit', 'okx'];
  const feed = new Feed(venues);
  for (const venue of venues) {
    feed.venue(venue, capability(venue));
    for (let i = 0; i < 60; i++) {
      const base = `${prefix}${i}`;
      feed.list(listing(venue, listingValues({ base, instrument: `${base}-PERP`, venue_symbol: base })));
      feed.read(venue, base, markReading('60000'));
    }
  }
  return feed;
};

t.test('an object that is no selection has the same faults in a URL as in a body', async (t) => {
  const client = await connectClient(t, await startToolService(t, wideMarket()), { era: 'legacy' });
  const [venues, none] = [{ venues: ['okx'] }, {}];
  for (const where of [
    venues,
    none,
    { base: [] },
    { base: 5 },
    { base: [5] },
    { venue: null },
    ['base'],
    5,
    null,
    true,
  ]) {
    const [inUrl, inBody] = [
      await failed(client, 'instruments', { where }),
      await failed(client, 'snapshots', { where, layers: ['mark'] }),
    ];
    t.same(inUrl, inBody, JSON.stringify(where));
    t.match(inUrl, { code: 'DQL_JSON_SCHEMA', errors: [{ path: /^\/where/ }] });
  }
  t.match(await failed(client, 'instruments', { where: venues }), { next: 'Did you mean venue?' });
});

t.test('a page that is too large is refused with a number of rows that fits', async (t) => {
  const client = await connectClient(t, await startToolService(t, wideMarket()), { era: 'legacy' });
  await client.listTools();
  for (const [tool, args] of [
    ['instruments', { limit: 200 }],
    ['screen', { query: 'any(venues where mark > 0) select mark, index, basis', limit: 500 }],
  ] as const) {
    const { code, next } = await failed(client, tool, args);
    t.equal(code, 'DQL_LIMIT');
    const [, rows] = /^Narrow the request: (?:Narrow where, or s|S)end limit (\d+): /.exec(String(next)) ?? [];
    const { isError } = await client.callTool({ name: tool, arguments: { ...args, limit: Number(rows) } });
    t.notOk(isError, `${tool}: ${next}`);
  }
});

type PagedRow = { readonly venue?: string; readonly venue_symbol?: string; readonly instrument: string };
type Paged = {
  readonly items?: readonly PagedRow[];
  readonly instruments?: readonly PagedRow[];
  readonly page: { readonly limit: number; readonly returned: number; readonly next_cursor: string | null };
};

t.test('a call that names no number of rows has as many as fit; its pages have each row once (T-04)', async (t) => {
  const client = await connectClient(t, await startToolService(t, wideMarket('A'.repeat(300))), { era: 'legacy' });
  await client.listTools();
  const select = Array.from({ length: 16 }, (_, n) => `mark + ${n}`).join(', ');
  for (const [tool, args] of [
    ['instruments', {}],
    ['screen', { query: `any(venues where mark > 0) select ${select}`, limit: 20 }],
  ] as const) {
    const names: string[] = [];
    const limits = new Set<number>();
    for (let next: { readonly cursor?: string } | null = {}; next !== null; ) {
      const answer = await client.callTool({ name: tool, arguments: { ...args, ...next } });
      t.notOk(answer.isError, tool);
      const { items = [], instruments = items, page } = answer.structuredContent as Paged;
      t.equal(page.returned, instruments.length);
      limits.add(page.limit);
      names.push(...instruments.map(({ venue, venue_symbol, instrument }) => `${venue} ${venue_symbol} ${instrument}`));
      next = page.next_cursor === null ? null : { cursor: page.next_cursor };
    }
    t.ok(Math.min(...limits) < 20, `${tool}: twenty are too large`);
    t.same(names, [...new Set(names)].sort(), `${tool}: each once, in order`);
    t.equal(names.length, tool === 'screen' ? 60 : 180);
  }
});

t.test('every class of failure has its next step, in both eras', async (t) => {
  const service = await startToolService(t, wideMarket());
  for (const era of ERAS) {
    const client = await connectClient(t, service, { era });
    const lawless = await failed(client, 'screen', { query: 'mark > 1' });
    t.match(lawless, {
      isError: true,
      structured: undefined,
      code: 'DQL_SCOPE',
      message: /mark/,
      position: { line: 1, column: 1, offset: 0, length: 4 },
      errors: [{ code: 'DQL_SCOPE' }],
      next: 'Put the field inside any(venues where ...).',
      retry: false,
      meta: { 'http/status': 400 },
    });
    t.notOk('retry_after' in lawless);
    t.match(await failed(client, 'snapshots', { layers: ['mark'] }), {
      code: 'DQL_LIMIT',
      next: /^Narrow the request: Narrow where or layers\.$/,
      retry: false,
      meta: { 'http/status': 400 },
    });
    t.match(await failed(client, 'history', { where: 'base = A1', as_of: '2026-01-15T11:00:00Z' }), {
      code: 'UNAVAILABLE',
      retry: true,
      retry_after: 5,
      meta: { 'http/status': 503, 'http/retry-after': 5 },
    });
  }
  const free = await connectClient(t, service, { era: 'modern', plan: 'free' });
  t.match(await failed(free, 'snapshots', { where: 'venue in (binance, bybit, okx)' }), {
    code: 'PLAN_VENUE_NOT_INCLUDED',
    next: /^Ask for one of: \w+, \w+\.$/,
    retry: false,
    meta: { 'http/status': 403 },
  });
  const many = await Promise.all(
    Array.from({ length: 6 }, () => failed(free, 'snapshots', { where: 'base = A1', layers: ['book_bands'] })),
  );
  t.match(
    many.find(({ code }) => code === 'RATE_LIMITED'),
    {
      next: /^Wait \d+ seconds, then repeat the same call\.$/,
      retry: true,
      retry_after: Number,
      meta: { 'http/status': 429, 'http/retry-after': Number },
    },
  );
});

t.test('while the API cannot be reached, a call returns when to repeat it', async (t) => {
  const service = await startToolService(t, market(), { apiUrl: 'http://127.0.0.1:1' });
  for (const era of ERAS) {
    const client = await connectClient(t, service, { era });
    t.match(await failed(client, 'venues'), {
      code: 'UNAVAILABLE',
      next: 'Wait 5 seconds, then repeat the same call.',
      retry: true,
      retry_after: 5,
      meta: { 'http/status': 503, 'http/retry-after': 5 },
    });
    t.equal((await client.listTools()).tools.length, TOOL_NAMES.length, 'lists and pages need no API');
  }
});

/** Replaces the API, and returns the given answers; keeps every request. */
const standIn = async (
  t: Pick<typeof import('tap').t, 'teardown'>,
  answer: (reply: ServerResponse) => void,
): Promise<{ url: string; seen: IncomingMessage[] }> => {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, reply) => {
    seen.push(request);
    answer(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
};

t.test('an API behind a path is called there', async (t) => {
  for (const [prefix, called] of [
    ['', '/v2/venues'],
    ['/', '/v2/venues'],
    ['/perp', '/perp/v2/venues'],
    ['/perp/', '/perp/v2/venues'],
  ] as const) {
    const { url, seen } = await standIn(t, (reply) => reply.end('{"items":[]}'));
    const service = await startToolService(t, market(), { apiUrl: `${url}${prefix}` });
    const client = await connectClient(t, service, { era: 'legacy' });
    t.match(await call(client, 'venues'), { isError: false }, prefix);
    t.same(
      seen.map((request) => request.url),
      [called],
    );
  }
});

t.test('a call that its client aborts is aborted before the API too', async (t) => {
  for (const era of ERAS) {
    let closed = 0;
    const { url, seen } = await standIn(t, (reply) => reply.once('close', () => (closed += 1)));
    const service = await startToolService(t, market(), { apiUrl: url });
    const client = await connectClient(t, service, { era });
    const given = new AbortController();
    const pending = client.callTool({ name: 'venues', arguments: {} }, { signal: given.signal });
    pending.catch(() => undefined);
    await until('the API receives a request', 10_000, async () => (seen.length > 0 ? true : null));
    // In the era with a handshake a server without sessions only notices the end of the connection.
    if (era === 'modern') given.abort();
    else await client.close();
    await t.rejects(pending);
    await until('the call is given up', 10_000, async () => (closed > 0 ? true : null));
  }
});

t.test('what is sent on is the key, the limit of bytes and the address, and nothing of a payment', async (t) => {
  const { url, seen } = await standIn(t, (reply) => reply.end('<html>'));
  const service = await startToolService(t, market(), { apiUrl: url });
  const answer = await service.post(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'snapshots', arguments: {} } },
    { 'payment-signature': 'x', 'x-payment': 'y', cookie: 'z' },
  );
  t.equal(answer.status, 200);
  t.match(seen[0]?.headers, {
    authorization: service.as('pro_plus').authorization,
    'x-service-max-bytes': '65536',
    'x-forwarded-for': '127.0.0.1',
  });
  for (const name of ['payment-signature', 'x-payment', 'cookie']) t.notOk(seen[0]?.headers[name], name);
});

t.test('a key that ended is a 401 of the tool server, also in the middle of a batch', async (t) => {
  const service = await startToolService(t, market(), { accounts: ACCOUNTS });
  const { post, as, table, keys } = service;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const venues = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'venues', arguments: {} } };
  t.equal((await post(ping, as('mini'))).status, 200);
  const row = table.row(keys.mini);
  if (row !== undefined) row.revoked = true;
  // The tool server has the key in its cache, the API looks it up.
  for (const body of [venues, [ping, venues]]) {
    const answer = await post(body, as('mini'));
    t.equal(answer.status, 401);
    t.match(answer.headers.get('www-authenticate'), /error="invalid_token"/);
  }
});

t.test('every tool has a description, and every member of its input an example and limits', async (t) => {
  const entries = renderTools(OPERATIONS).map(({ describe }) => describe(Date.now()));
  t.ok(Buffer.byteLength(JSON.stringify({ tools: entries })) <= MOST_BYTES);
  for (const { name, title, description, inputSchema, outputSchema, annotations } of entries) {
    t.ok(title.length > 0 && description.length > 100, name);
    t.match(annotations, {
      title,
      readOnlyHint: true,
      idempotentHint: true,
      openWorldHint: false,
      destructiveHint: false,
    });
    t.equal(inputSchema.additionalProperties, false);
    t.notOk('anyOf' in inputSchema || 'oneOf' in inputSchema || 'allOf' in inputSchema);
    for (const [member, schema] of Object.entries(inputSchema.properties ?? {})) {
      t.ok((schema.description ?? '') !== '' && (schema.examples ?? []).length > 0, `${name} ${member}`);
      for (const part of schema.anyOf ?? [schema]) {
        const limits = [part.enum, part.maxLength, part.maximum, part.maxItems, part.maxProperties];
        t.ok(part.type === 'boolean' || limits.some((limit) => limit !== undefined), `limit of ${name} ${member}`);
      }
    }
    t.equal(outputSchema.type, 'object');
    t.ok((outputSchema.required ?? []).includes('evaluated_at'));
    t.notMatch(JSON.stringify(outputSchema), /additionalProperties|prefixItems|"items":\[/);
    const { properties: { layers } = {} } = inputSchema;
    if (layers !== undefined) t.same(layers.items?.enum, READING_LAYERS);
  }
});

t.test('an operation is a tool by its flag alone', async (t) => {
  const { example, summary } = liquidations;
  t.same(renderTools([liquidations]), []);
  const [tool] = renderTools([{ ...liquidations, tool: true }]);
  const entry = tool?.describe(Date.now());
  t.match(entry, { name: 'liquidations', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } });
  t.ok(entry?.description.startsWith(summary));
  t.ok(entry?.description.includes(JSON.stringify(example.input)));
});

t.test('the examples and the answers of operations validate under both drafts', async (t) => {
  for (const operation of OPERATIONS.filter(({ tool }) => tool === true)) {
    const tool = renderTools([operation])[0]?.describe(Date.now());
    const [, described = ''] = /^Example, ".*?": (\{.*\})$/m.exec(tool?.description ?? '') ?? [];
    for (const ajv of [new Ajv({ strict: false }), new Ajv2020({ strict: false })]) {
      for (const [schema, value] of [
        [tool?.inputSchema, operation.example.input],
        [tool?.inputSchema, JSON.parse(described)],
        [tool?.outputSchema, operation.example.output],
      ] as const) {
        const validate = ajv.compile(schema ?? false);
        t.ok(validate(value), `${operation.name} ${JSON.stringify(validate.errors)}`);
      }
      for (const [name, { examples = [], ...schema }] of Object.entries(tool?.inputSchema.properties ?? {})) {
        const validate = ajv.compile(schema);
        for (const example of examples) t.ok(validate(example), `${operation.name} ${name} ${JSON.stringify(example)}`);
      }
    }
  }
});
