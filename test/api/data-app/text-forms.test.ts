// Texts of requests that have a form: the schema of the document takes exactly what the endpoint reads (N-03, N-04, L-01, AR-01, AG-05).
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import type { Shape } from '../../../api/contract/json-schema.ts';
import { findShapeFaults } from '../../../api/data-app/shape-faults.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import type { ReadableEndpoint } from '../../../api/operations/operation.ts';
import { STREAM } from '../../../api/stream/request.ts';
import type { ApiError } from '../../../schemas/errors.ts';

const ENDPOINTS: readonly ReadableEndpoint[] = [...OPERATIONS, STREAM];

/** Texts whose reader knows more than a pattern can say: selections, queries, names of venues and what only this service writes. */
const WITHOUT_FORM = new Set([
  'where',
  'instrument',
  'base',
  'venue',
  'quote',
  'symbol',
  'id',
  'cursor',
  'query',
  'dql',
  'context',
  'receipt_id',
  'lastEventId',
]);

type Text = { readonly path: readonly string[]; readonly shape: Shape };

/** Every text within a shape; the members of a map are those of an example of it. */
function* listTexts(shape: Shape, path: readonly string[]): Generator<Text> {
  if (shape.type === 'string') yield { path, shape };
  for (const [name, part] of Object.entries(shape.properties ?? {})) yield* listTexts(part, [...path, name]);
  for (const part of Object.values(shape.patternProperties ?? {})) yield* listTexts(part, [...path, 'funding']);
  if (shape.items !== undefined) yield* listTexts(shape.items, [...path, '0']);
  for (const part of shape.anyOf ?? []) yield* listTexts(part, path);
}

const findName = (path: readonly string[]): string => path.findLast((name) => name !== '0') ?? '';
const listAll = () =>
  ENDPOINTS.flatMap((endpoint) => [...listTexts(endpoint.input, [])].map((text) => ({ endpoint, ...text })));

t.test('every text that has a form states it', (t) => {
  for (const { endpoint, path, shape } of listAll()) {
    const isStated = shape.enum !== undefined || shape.pattern !== undefined;
    t.ok(isStated || WITHOUT_FORM.has(findName(path)), `${endpoint.name} ${path.join('.')}`);
  }
  t.end();
});

const CROCKFORD = '3V7Q2M9K4T8B6R1W5Y0ZC2D4F6';
const TEXTS = [
  ...['', ' ', 'now', 'zz', '1795766400', '1795766400000', ':', 'binance:BTCUSDT', 'BTCUSDT', 'a:b:c', ':x'],
  ...['2026-11-26', '2026-11-26Z', ' 2026-11-26', '2026-11-26 ', '20261126', '2026-1126', '2026-W48-4', '26-11-26'],
  ...['2026-00-01', '2026-13-01', '2026-01-00', '2026-01-32', '2000-01-01', '2100-01-01', '21000101', '2100-01-02'],
  ...[
    '1999-12-31',
    '1998-12-31T23:00Z',
    '2101-01-01',
    '２026-11-26',
    '2026-11-26\n',
    '2026-11-26T10',
    '2026-11-26T10:00',
  ],
  ...[
    '2026-11-26T10:00Z',
    '2026-11-26T10:00:00Z',
    '2026-11-26T10:00:00',
    '2026-11-26T10:00:00.1Z',
    '2026-11-26T10:00:00.Z',
  ],
  ...['2026-11-26T10:00:00.123456Z', '2026-11-26T10:00:00.1234567Z', '2026-11-26T10:00:00,1Z', '2026-11-26t10:00:00z'],
  ...[
    '2026-11-26 10:00:00Z',
    '2026-11-26T24:00:00Z',
    '2026-11-26T23:60Z',
    '2026-11-26T10:00:60Z',
    '2026-11-26T10:00+02:00',
  ],
  ...[
    '2026-11-26T10:00-00:30',
    '2026-11-26T10:00+0200',
    '2026-11-26T10:00+02',
    '2026-11-26T10:00+24:00',
    '2026-11-26T10:00+10:60',
  ],
  ...['1999-12-31T23:30-01:00', '2100-01-01T00:00+01:00', '2100-01-01T00:00:00.000000Z'],
  ...['0s', '1s', '01s', '60s', '1m', '24h', '7d', '1w', '1ms', '1S', '1 s', '-1s', '1.5s', '1h30m', '30', 's'],
  ...['999999999s', '1000000000s', '1s\n'],
  ...[
    'ticker',
    'mark',
    'funding',
    'oi',
    'open_interest',
    'book',
    'stats',
    'venue_depth',
    'book_bands',
    'Mark',
    'mark ',
  ],
  ...[
    'candles',
    'candle',
    'trades',
    'trade',
    'liquidation',
    'liquidations',
    'liquidatio',
    'mark,oi',
    'mark, oi',
    'mark,',
    ',',
  ],
  ...[`rule_${CROCKFORD}`, `rule_${CROCKFORD}0`, `rule_${CROCKFORD.toLowerCase()}`, `RULE_${CROCKFORD}`, 'rule_'],
];

const place = ([name, ...rest]: readonly string[], value: unknown): unknown => {
  if (name === undefined) return value;
  return name === '0' ? [place(rest, value)] : { [name]: place(rest, value) };
};
/** History takes `from` and `to` in one mode only (H-02). */
const besides = (name: string, [first]: readonly string[]): object =>
  name === 'history' && (first === 'from' || first === 'to') ? { raw: true } : {};

const isAt = (path: readonly string[]) => {
  const pointer = `/${path.join('/')}`;
  return ({ path: at }: ApiError): boolean => at === pointer || at?.startsWith(`${pointer}/`) === true;
};

const hasFault = (endpoint: ReadableEndpoint, path: readonly string[], text: string): boolean => {
  const input = { ...besides(endpoint.name, path), ...(place(path, text) as object) };
  return [...findShapeFaults(endpoint, input), ...endpoint.refine(input, new Set())].some(isAt(path));
};

t.test('the form takes what the endpoint reads, and nothing else', (t) => {
  const ajv = new Ajv2020({ strict: false });
  for (const { endpoint, path, shape } of listAll()) {
    if (shape.pattern === undefined) continue;
    const takes = ajv.compile({ type: 'string', pattern: shape.pattern });
    const apart = TEXTS.filter((text) => takes(text) === hasFault(endpoint, path, text));
    t.same(apart, [], `${endpoint.name} ${path.join('.')}`);
    const twice = TEXTS.filter((text) => findShapeFaults(endpoint, place(path, text)).some(isAt(path)));
    t.same(twice, [], `${endpoint.name} ${path.join('.')}: its reader alone names the fault`);
  }
  t.end();
});

t.test('of bounds by layer the form takes the names and aliases of layers', (t) => {
  const ajv = new Ajv2020({ strict: false });
  const bounded = ENDPOINTS.filter(({ input }) => (input as Shape).properties?.['freshness']?.anyOf !== undefined);
  t.same(bounded.map(({ name }) => name).sort(), ['history', 'screen', 'snapshots']);
  for (const endpoint of bounded) {
    const takes = ajv.compile((endpoint.input as Shape).properties?.['freshness'] ?? {});
    const apart = TEXTS.filter((name) => takes({ [name]: '60s' }) === hasFault(endpoint, ['freshness', name], '60s'));
    t.same(apart, [], endpoint.name);
  }
  t.end();
});
