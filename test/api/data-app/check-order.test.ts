// Every endpoint with every two of the faults it can have, and with all of them at once: the list and the status are those that E-01 and E-05 give.
import t from 'tap';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import type { Receipt } from '../../../api/payments/receipts.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { CATALOGUE, type ErrorCode } from '../../../schemas/errors.ts';
import { listing, listingValues, market, testApp } from '../../support/apps/live-fixture.ts';
import { fillPath } from '../../support/documents/example-path.ts';

type ExpectedError = { readonly code: ErrorCode; readonly path?: string; readonly offset?: number };
type Request = {
  readonly body: Record<string, unknown>;
  readonly where: string[];
  readonly headers: Record<string, string>;
};
type Fault = {
  readonly name: string;
  /** Step of E-01. */
  readonly step: 6 | 7 | 8;
  readonly spoil: (request: Request) => void;
  readonly expected: Omit<ExpectedError, 'offset'>;
  /** Text of `where` or `query` whose place the error has. */
  readonly at?: string;
};

const set =
  (name: string, value: unknown) =>
  ({ body }: Request) => {
    body[name] = value;
  };
const term =
  (text: string) =>
  ({ where }: Request) =>
    void where.push(text);

const COLOUR: Fault = {
  ...{ name: 'unknown member', step: 6, spoil: set('colour', 'red') },
  expected: { code: 'DQL_JSON_SCHEMA', path: '/colour' },
};
const BYTES: Fault = {
  name: 'header that is no limit',
  step: 6,
  spoil: ({ headers }) => {
    headers['x-service-max-bytes'] = '5';
  },
  expected: { code: 'DQL_JSON_SCHEMA', path: '/headers/x-service-max-bytes' },
};
const UNITS: Fault = {
  ...{ name: 'value out of its set', step: 6, spoil: set('units', 'colour') },
  expected: { code: 'DQL_JSON_SCHEMA', path: '/units' },
};
const EVERYWHERE = [COLOUR, BYTES] as const;
const NAMES: readonly Fault[] = [
  {
    name: 'unknown venue',
    step: 7,
    spoil: term('venue = nosuch'),
    expected: { code: 'DQL_UNKNOWN_VENUE' },
    at: 'nosuch',
  },
  {
    name: 'unknown base',
    step: 7,
    spoil: term('base = NOBASE'),
    expected: { code: 'DQL_UNKNOWN_ASSET' },
    at: 'NOBASE',
  },
  { name: 'unknown quote', step: 7, spoil: term('quote = NOQ'), expected: { code: 'DQL_UNKNOWN_CURRENCY' }, at: 'NOQ' },
  { name: 'unknown key', step: 7, spoil: term('color = RED'), expected: { code: 'DQL_UNKNOWN_FIELD' }, at: 'color' },
];
const instant = (member: string, value: unknown = 'yesterday', path = `/${member}`): Fault => ({
  ...{ name: `malformed ${member}`, step: 6, spoil: set(member, value) },
  expected: { code: 'DQL_JSON_SCHEMA', path },
});
const plan = (member: string, value: unknown, path: string | null = `/${member}`): Fault => ({
  ...{ name: `${member} out of plan`, step: 8, spoil: set(member, value) },
  expected: path === null ? { code: 'PLAN_LIMIT' } : { code: 'PLAN_LIMIT', path },
});
const limit = (member: string, value: unknown, path = `/${member}`): Fault => ({
  ...{ name: `${member} over limit`, step: 8, spoil: set(member, value) },
  expected: { code: 'DQL_LIMIT', path },
});
/** The selection has more listings than the plan allows, unless a term of it narrows it. */
const WIDE: Fault = {
  ...{ name: 'too many listings', step: 8, spoil: () => undefined },
  expected: { code: 'DQL_LIMIT', path: '/where' },
};
const NOT_IN_FREE: Fault = {
  ...{ name: 'layer out of plan', step: 8, spoil: () => undefined },
  expected: { code: 'PLAN_LIMIT' },
};
const future = (member: string, value: unknown, path: string): Fault => ({
  ...{ name: `${member} in the future`, step: 7, spoil: set(member, value) },
  expected: { code: 'DQL_AS_OF_RANGE', path },
});
const query = (name: string, code: ErrorCode, text: string, at: string): Fault => ({
  ...{ name, step: 7, spoil: set('query', text), expected: { code }, at },
});
const BAD_QUERY = query('bad DQL', 'DQL_UNKNOWN_FIELD', 'any(venues where nosuchfield > 1)', 'nosuchfield');
const SUM = query('sum as published', 'DQL_TYPE', 'sum(venues, oi) > 1', 'sum');

type Row = { readonly valid: Readonly<Record<string, unknown>>; readonly faults: readonly Fault[] };
const WINDOW = { from: '2026-01-15T11:00:00Z', to: '2026-01-15T11:10:00Z' };
const LATER = '2027-01-01T00:00:00Z';
const PROOF = { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark', at: '2026-01-10T12:00:00Z' };
const NO_VENUE: Fault = {
  ...{ name: 'unknown venue', step: 7, spoil: set('venue', 'nosuch') },
  expected: { code: 'DQL_UNKNOWN_VENUE', path: '/venue' },
};

/** Of two faults of one member only one can be made. */
const TABLE: Readonly<Record<string, readonly Row[]>> = {
  venues: [{ valid: {}, faults: [...EVERYWHERE] }],
  account: [{ valid: {}, faults: [...EVERYWHERE] }],
  agent_state: [
    {
      valid: {},
      faults: [...EVERYWHERE, instant('rule_id', 'rule_x', '/rule_id/0'), instant('fresh', 'soon')],
    },
  ],
  dql_catalogue: [{ valid: {}, faults: [...EVERYWHERE] }],
  instruments: [
    { valid: {}, faults: [...EVERYWHERE, UNITS, ...NAMES, instant('as_of'), plan('include_raw', true)] },
    { valid: {}, faults: [COLOUR, ...NAMES, instant('cursor'), instant('limit', 0), plan('include_raw', true)] },
    { valid: {}, faults: [...EVERYWHERE, ...NAMES, future('as_of', LATER, '/as_of'), plan('include_raw', true)] },
  ],
  dql_parse: [
    { valid: { query: 'any(venues where mark > 1)' }, faults: [...EVERYWHERE, instant('context'), BAD_QUERY] },
  ],
  screen: [
    {
      valid: { query: 'any(venues where mark > 1)' },
      faults: [...EVERYWHERE, UNITS, ...NAMES, BAD_QUERY, limit('freshness', '0s')],
    },
    {
      valid: { query: 'any(venues where mark > 1)' },
      faults: [...EVERYWHERE, ...NAMES, SUM, limit('freshness', '0s')],
    },
    {
      valid: { query: 'any(venues where mark > 1)' },
      faults: [COLOUR, ...NAMES, BAD_QUERY, instant('cursor'), instant('limit', 0), limit('freshness', '0s')],
    },
  ],
  snapshots: [
    {
      valid: {},
      faults: [...EVERYWHERE, UNITS, ...NAMES, plan('layers', ['venue_depth'], '/layers/0'), limit('freshness', '0s')],
    },
  ],
  history: [
    {
      valid: { at: ['2026-01-15T11:00:00Z'] },
      faults: [
        ...EVERYWHERE,
        ...NAMES,
        instant('at', ['x'], '/at/0'),
        plan('layers', ['venue_depth'], '/layers/0'),
        WIDE,
      ],
    },
    {
      valid: { as_of: '2026-01-15T11:00:00Z' },
      faults: [...EVERYWHERE, UNITS, ...NAMES, future('as_of', LATER, '/as_of'), limit('freshness', '0s'), WIDE],
    },
    { valid: { interval: '1m', ...WINDOW }, faults: [COLOUR, ...NAMES, instant('from'), instant('to'), WIDE] },
  ],
  candles: [
    {
      valid: { timeframe: '1h', ...WINDOW },
      faults: [
        ...[...EVERYWHERE, ...NAMES, instant('to'), plan('from', '2026-01-08T10:00:00Z'), WIDE],
        {
          ...{ name: 'no timeframe of ours', step: 7, spoil: set('timeframe', '7m') },
          expected: { code: 'DQL_TIMEFRAME_UNSUPPORTED', path: '/timeframe' },
        },
      ],
    },
    { valid: { timeframe: '1m', ...WINDOW }, faults: [...EVERYWHERE, UNITS, ...NAMES, instant('from'), WIDE] },
  ],
  books: [{ valid: {}, faults: [...EVERYWHERE, UNITS, ...NAMES, instant('depth', 0), WIDE] }],
  liquidations: [
    {
      valid: { ...WINDOW },
      faults: [...[...EVERYWHERE, UNITS, ...NAMES, instant('from'), WIDE], NOT_IN_FREE],
    },
    { valid: { ...WINDOW }, faults: [COLOUR, ...NAMES, instant('cursor'), instant('to'), WIDE, NOT_IN_FREE] },
  ],
  archive: [
    {
      valid: {},
      faults: [...EVERYWHERE, ...NAMES, instant('from'), instant('to', '2026-13-01'), instant('layer', 'book')],
    },
    { valid: {}, faults: [COLOUR, ...NAMES, instant('cursor'), instant('limit', 0)] },
  ],
  archive_file: [
    {
      valid: { listing: 'binance:BTCUSDT', layer: 'funding', day: '2026-01-10' },
      faults: [
        ...[...EVERYWHERE, instant('listing', 'BTCUSDT'), instant('layer', 'nothing'), instant('day')],
        instant('format', 'xml'),
      ],
    },
  ],
  receipt: [{ valid: { receipt_id: 'rcp_01KEZ8G3M4T5V6W7X8Y9Z0A1B2' }, faults: EVERYWHERE }],
  anchor_day: [{ valid: { day: '2026-01-10' }, faults: [...EVERYWHERE, instant('day', '20261301')] }],
  anchor_proof: [
    { valid: PROOF, faults: [...EVERYWHERE, NO_VENUE, instant('at'), instant('layer', 'book'), instant('seq', 'x')] },
    { valid: PROOF, faults: [COLOUR, NO_VENUE, instant('id', 'x'), plan('layer', 'book_bands')] },
    {
      valid: { ...PROOF, layer: 'candles' },
      faults: [NO_VENUE, instant('at', '2026-01-10T12:00:01Z'), instant('price_type')],
    },
  ],
  stream: [
    {
      valid: {},
      faults: [...EVERYWHERE, UNITS, ...NAMES, instant('layers', 'nothing'), limit('freshness', '0s'), WIDE],
    },
    {
      valid: { layers: 'candles' },
      faults: [
        ...[...EVERYWHERE, ...NAMES, WIDE],
        {
          ...{ name: 'no timeframe of ours', step: 7, spoil: set('timeframe', '7m') },
          expected: { code: 'DQL_TIMEFRAME_UNSUPPORTED', path: '/timeframe' },
        },
      ],
    },
    { valid: {}, faults: [COLOUR, ...NAMES, plan('layers', 'book_bands'), limit('freshness', '0s'), WIDE] },
  ],
};
/** Members that every valid request of these has in its plan Free, besides the faulty ones. */
const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  history: ['too many listings'],
  candles: ['too many listings'],
  books: ['too many listings'],
  stream: ['too many listings'],
  liquidations: ['too many listings', 'layer out of plan'],
};

/** Expected list: the first step that fails, 6 and 7 as one, by position, then path (E-05). */
const expected = (
  faults: readonly Fault[],
  texts: { where: string; query: string },
  names: boolean,
): ExpectedError[] => {
  const first = faults.some(({ step }) => step < 8) ? faults.filter(({ step }) => step < 8) : faults;
  const errors = first.map(({ expected, at }): ExpectedError => {
    if (at === undefined) return expected;
    const inQuery = expected.path === undefined && texts.query.includes(at) && !texts.where.includes(at);
    const offset = (inQuery ? texts.query : texts.where).indexOf(at);
    return { ...expected, offset, ...(names ? { path: inQuery ? '/query' : '/where' } : {}) };
  });
  const place = ({ offset }: ExpectedError): number => offset ?? Number.POSITIVE_INFINITY;
  return errors.sort((a, b) => {
    if (place(a) !== place(b)) return place(a) - place(b);
    return (a.path ?? '') < (b.path ?? '') ? -1 : 1;
  });
};

const subsets = <T>(all: readonly T[]): T[][] => {
  if (all.length === 0) return [[]];
  const [first, ...rest] = all as [T, ...T[]];
  return subsets(rest).flatMap((set) => [set, [first, ...set]]);
};
/** None, each, each two, all but one, all. */
const chooseSubsets = <T>(all: readonly T[]): T[][] =>
  subsets(all).filter(({ length }) => length <= 2 || length >= all.length - 1);

const crowd = () => {
  const feed = market();
  for (let i = 0; i < 60; i++) {
    const base = `C${i}`;
    feed.list(listing('binance', listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base })));
  }
  return feed;
};

const toUrl = ({ path }: Endpoint, body: Readonly<Record<string, unknown>>): string => {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const filled = fillPath(path, body);
  const parameters = Object.entries(body)
    .filter(([name]) => !named.includes(name))
    .map(([name, value]): [string, string] => [name, String(value)]);
  return parameters.length === 0 ? filled : `${filled}?${new URLSearchParams(parameters)}`;
};

const A_RECEIPT: Receipt = {
  ...{ state: 'settled', network: 'eip155:8453', payer: '0x1', amount: '5000', class: 'snapshots', transaction: '0x1' },
  settledAt: new Date(0),
};

type Errors = { readonly errors: readonly { code: ErrorCode; path?: string; position?: { offset: number } }[] };

t.test(
  'steps 6 and 7 are one list, step 8 is its own, on every endpoint with every two faults and with all',
  async (t) => {
    const { app, table } = await testApp(crowd(), { receipts: { find: async () => A_RECEIPT } });
    t.teardown(() => app.close());
    const endpoints: readonly Endpoint[] = [...OPERATIONS, STREAM];
    t.same(endpoints.map(({ name }) => name).sort(), Object.keys(TABLE).sort(), 'every endpoint has its rows');
    let asked = 0;
    for (const endpoint of endpoints) {
      for (const { valid, faults } of TABLE[endpoint.name] ?? []) {
        const always = faults.filter(({ name }) => ALWAYS[endpoint.name]?.includes(name));
        for (const chosen of chooseSubsets(faults.filter((fault) => !always.includes(fault)))) {
          const made = [...chosen, ...always];
          const request: Request = { body: { ...valid }, where: [], headers: {} };
          for (const { spoil } of made) spoil(request);
          const where = request.where.join(' and ');
          if (where !== '') request.body.where = where;
          const isGet = endpoint.method === 'GET';
          // A valid stream does not end.
          const method = endpoint.name === 'stream' && made.length === 0 ? 'HEAD' : endpoint.method;
          const answer = await app.inject({
            method,
            url: isGet ? toUrl(endpoint, request.body) : endpoint.path,
            headers: { ...request.headers, authorization: `Bearer ${table.add('free')}` },
            ...(isGet ? {} : { payload: request.body }),
          });
          const texts = { where, query: String(request.body.query ?? '') };
          const hasTwo = where !== '' && texts.query !== '';
          const want = expected(made, texts, hasTwo);
          const name = `${endpoint.path}: ${made.map((fault) => fault.name).join(' + ') || 'nothing wrong'}`;
          asked += 1;
          if (want.length === 0) {
            t.ok([200, 503].includes(answer.statusCode) || answer.statusCode === 401, `${name}: ${answer.body}`);
            continue;
          }
          const got = (answer.json() as Errors).errors.map(({ code, path, position }) => ({
            ...{ code },
            ...(path === undefined ? {} : { path }),
            ...(position === undefined ? {} : { offset: position.offset }),
          }));
          const isSame = JSON.stringify(got.map(sorted)) === JSON.stringify(want.map(sorted));
          const status = CATALOGUE[want[0]?.code ?? 'INTERNAL'].status;
          // One line a request that is right: thousands of them would hide the ones that are not.
          if (!isSame || answer.statusCode !== status)
            t.same({ got, status: answer.statusCode }, { got: want, status }, name);
        }
      }
    }
    t.ok(asked > 500, `${asked} requests`);
  },
);

/** Members for which every text is valid: its target may not exist. */
const ANY_TEXT: Readonly<Record<string, readonly string[]>> = {
  receipt: ['receipt_id'],
  anchor_proof: ['symbol'],
  stream: ['lastEventId'],
};

type Member = { readonly type?: string; readonly enum?: unknown; readonly anyOf?: readonly Member[] };
const isText = ({ type, enum: values, anyOf = [] }: Member): boolean =>
  (type === 'string' && values === undefined) || anyOf.some(isText);

t.test('the format of a text member is in the table: no schema declares it', (t) => {
  for (const { name, input } of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    const { properties = {} } = input as { readonly properties?: Readonly<Record<string, Member>> };
    const faults = (TABLE[name] ?? []).flatMap((row) => row.faults);
    const described = new Set(
      faults.flatMap((fault) => {
        const request: Request = { body: {}, where: [], headers: {} };
        fault.spoil(request);
        return [...Object.keys(request.body), ...(request.where.length > 0 ? ['where'] : [])];
      }),
    );
    for (const [member, schema] of Object.entries(properties)) {
      if (isText(schema) && !ANY_TEXT[name]?.includes(member)) t.ok(described.has(member), `${name}: ${member}`);
    }
  }
  t.end();
});

t.test('a requested amount is clamped and never refused, on every endpoint (H-16g, H-14, ST-01)', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  let asked = 0;
  for (const endpoint of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    const { properties = {} } = endpoint.input as { readonly properties?: object };
    for (const member of ['limit', 'depth'].filter((name) => name in properties)) {
      const readFaults = async (value: number): Promise<string[]> => {
        // Another fault, so that no stream begins and nothing is read.
        const body = { colour: 1, ...TABLE[endpoint.name]?.[0]?.valid, [member]: value };
        const isGet = endpoint.method === 'GET';
        const answer = await app.inject({
          method: endpoint.method,
          url: isGet ? toUrl(endpoint, body) : endpoint.path,
          headers: { authorization: `Bearer ${table.add('free')}` },
          ...(isGet ? {} : { payload: body }),
        });
        return (answer.json() as Errors).errors.map(({ path }) => String(path));
      };
      asked += 1;
      t.same(await readFaults(1_000_000_000_000), ['/colour'], `${endpoint.path} ${member}`);
      t.same(await readFaults(-1), ['/colour', `/${member}`], `${endpoint.path} ${member}`);
    }
  }
  t.ok(asked >= 6, `${asked} members`);
});

const sorted = (error: ExpectedError): [string, unknown][] =>
  Object.entries(error).sort(([a], [b]) => (a < b ? -1 : 1)) as [string, unknown][];

t.test('a member with a fault inside is judged by what is left of it', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const readFaults = async (url: string, payload: object): Promise<string[]> => {
    const headers = { authorization: `Bearer ${table.add('pro')}` };
    const answer = await app.inject({ method: 'POST', url, headers, payload });
    return (answer.json() as Errors).errors.map(({ code, path }) => `${code} ${path ?? ''}`);
  };
  const where = { venue: ['nosuch', 'okx'], base: 5, colour: 'red', quote: ['USDT', 'NOQ'] };
  t.same(await readFaults('/v2/snapshots', { where, layers: [5], freshness: { mark: 'x', moon: '1s' } }), [
    ...['DQL_JSON_SCHEMA /freshness/mark', 'DQL_JSON_SCHEMA /freshness/moon', 'DQL_JSON_SCHEMA /layers/0'],
    ...['DQL_JSON_SCHEMA /where/base', 'DQL_JSON_SCHEMA /where/colour'],
    ...['DQL_UNKNOWN_CURRENCY /where/quote/1', 'DQL_UNKNOWN_VENUE /where/venue/0'],
  ]);
  t.same(await readFaults('/v2/snapshots/history', { interval: '7s', from: 'x', where: { venue: 'nosuch' } }), [
    ...['DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /interval', 'DQL_JSON_SCHEMA /to', 'DQL_UNKNOWN_VENUE /where/venue'],
  ]);
  t.same(await readFaults('/v2/snapshots/history', { raw: true, colour: 1 }), [
    ...['DQL_JSON_SCHEMA /colour', 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /to'],
  ]);
  t.same(await readFaults('/v2/screen', { query: 5, where: { venue: 'nosuch' } }), [
    ...['DQL_JSON_SCHEMA /query', 'DQL_UNKNOWN_VENUE /where/venue'],
  ]);
  t.same(await readFaults('/v2/screen', { query: 'sum(venues, oi) > 1', units: 'x' }), ['DQL_JSON_SCHEMA /units']);
  t.same(await readFaults('/v2/dql/parse', { dql: '2', query: 'any(venues where nosuch > 1)' }), [
    ...['DQL_UNKNOWN_FIELD ', 'DQL_VERSION /dql'],
  ]);
});

t.test('limits of the language are checked of a valid request only', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const many = (first: string) => `venue in (${[first, ...Array.from({ length: 32 }, () => 'okx')].join(', ')})`;
  for (const { method, path, input } of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    const { properties = {} } = input as { readonly properties?: object };
    if (!('where' in properties)) continue;
    const readFaults = async (where: string): Promise<string[]> => {
      const valid = { timeframe: '1m', ...WINDOW, query: 'any(venues where mark > 1)', as_of: WINDOW.from };
      const needed = Object.entries(valid).filter(([name]) =>
        path === '/v2/snapshots/history' ? name === 'as_of' : name in properties && method === 'POST',
      );
      const body = { ...Object.fromEntries(needed), where };
      const headers = { authorization: `Bearer ${table.add('pro')}` };
      const answer =
        method === 'GET'
          ? await app.inject({ url: `${path}?${new URLSearchParams({ where })}`, headers })
          : await app.inject({ method, url: path, headers, payload: body });
      return (answer.json() as Errors).errors.map(({ code }) => code);
    };
    t.same(await readFaults(many('okx')), ['DQL_COMPLEXITY'], path);
    t.same(await readFaults(many('nosuch')), ['DQL_UNKNOWN_VENUE'], path);
    const unknown = Array.from({ length: 25 }, (_, i) => `nosuch${i}`).join(', ');
    const faults = await readFaults(`venue in (${unknown}) and ${many('okx').replace('venue', 'quote')}`);
    t.same(
      faults.slice(0, 20),
      Array.from({ length: 20 }, () => 'DQL_UNKNOWN_VENUE'),
      `${path}: twenty are told (E-05)`,
    );
    const early = `${many('okx')} and base in (${unknown})`;
    t.same(
      await readFaults(early),
      Array.from({ length: 20 }, () => 'DQL_UNKNOWN_ASSET'),
      `${path}: not the limit`,
    );
  }
});

t.test('a body of 64 KiB and one byte is too large before its media type is judged (E-01 step 5)', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const types = ['application/json', 'json', 'application / json', '', ';', 'text/plain', '\u00e9', 'a/b;'.repeat(500)];
  for (const { method, path } of OPERATIONS.filter((operation) => operation.method === 'POST')) {
    for (const type of types) {
      const readFaults = async (bytes: number): Promise<string> => {
        const headers = { 'content-type': type, authorization: `Bearer ${table.add('pro')}` };
        const answer = await app.inject({ method, url: path, headers, payload: ' '.repeat(bytes) });
        return (answer.json() as Errors).errors.map(({ code }) => code).join();
      };
      t.equal(await readFaults(65_537), 'PAYLOAD_TOO_LARGE', `${path} ${type}`);
      const atLimit = type === 'application/json' ? 'DQL_JSON_SCHEMA' : 'UNSUPPORTED_MEDIA_TYPE';
      t.equal(await readFaults(65_536), atLimit, `${path} ${type}`);
    }
  }
});
