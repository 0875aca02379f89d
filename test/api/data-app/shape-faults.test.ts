// Every fault of shape that the schemas of all endpoints can have, told in our own words: what was sent and what to send instead (E-05).
import t from 'tap';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { findShapeFaults } from '../../../api/data-app/shape-faults.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';

type Schema = { readonly [keyword: string]: unknown };
type Sent = { readonly keyword: string; readonly path: readonly string[]; readonly value: unknown };

const OF_EVERY_KIND = [null, true, 7.5, 'zz', [], {}];
const isOfKind = (type: unknown, value: unknown): boolean =>
  type === 'array'
    ? Array.isArray(value)
    : type === 'object'
      ? typeof value === 'object' && value !== null && !Array.isArray(value)
      : typeof value === type;

/** Values that break one keyword of a schema. */
const BREAKS: Readonly<Record<string, (limit: never, schema: Schema) => readonly unknown[]>> = {
  type: (type: string) => OF_EVERY_KIND.filter((value) => !isOfKind(type, value)),
  enum: () => ['zz', 'x'.repeat(200), 7],
  const: () => ['zz'],
  minimum: (limit: number) => [limit - 1],
  maximum: (limit: number) => [limit + 1],
  minLength: () => [''],
  maxLength: (limit: number) => ['x'.repeat(limit + 1)],
  minItems: () => [[]],
  minProperties: () => [{}],
  maxItems: (limit: number) => [Array.from({ length: limit + 1 }, () => 'mark')],
  additionalProperties: (allowed: unknown) => (allowed === false ? [{ zz: 1 }, { 'a/b~c': 1 }] : []),
  required: () => [{}],
  anyOf: () => OF_EVERY_KIND,
};
/** Keywords that allow or describe; forms of texts are judged by `refine` (text-forms.test.ts). */
const SILENT = new Set([
  'description',
  'examples',
  'default',
  'items',
  'properties',
  'patternProperties',
  'title',
  'pattern',
  'propertyNames',
]);

/** Everything that breaks the schema or a part of it, each alone. */
function* listBroken(schema: Schema, path: readonly string[] = []): Generator<Sent> {
  for (const [keyword, limit] of Object.entries(schema)) {
    if (SILENT.has(keyword) || keyword.startsWith('x-') || keyword.startsWith('~')) continue;
    const makeBroken = BREAKS[keyword];
    if (makeBroken === undefined)
      throw new Error(`found the keyword ${keyword}: give it words in shape-faults.ts and a row here`);
    for (const value of makeBroken(limit as never, schema)) yield { keyword, path, value };
  }
  for (const [name, part] of Object.entries((schema.properties ?? {}) as Record<string, Schema>))
    yield* listBroken(part, [...path, name]);
  if (schema.items !== undefined) yield* listBroken(schema.items as Schema, [...path, '0']);
  for (const part of (schema.anyOf ?? []) as Schema[]) yield* listBroken(part, path);
  for (const part of Object.values((schema.patternProperties ?? {}) as Record<string, Schema>))
    yield* listBroken(part, [...path, 'funding']);
}

const place = (input: unknown, [name, ...rest]: readonly string[], value: unknown): unknown => {
  if (name === undefined) return value;
  if (name === '0') return [place(undefined, rest, value)];
  const members =
    typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Record<string, unknown>) : {};
  return { ...members, [name]: place(members[name], rest, value) };
};

/** Words of the validator, of the schema language and of our code. */
const RAW = /\bmust\b|\bNOT\b|undefined|\[object|openapi|schema|anyOf|propert|instance| {2}|>=|<=|null or/;
const SENTENCE = /^["A-Z].*[.?]$/s;

t.test('every break of every schema has a message and a hint in our words, with its path', (t) => {
  const seen = new Set<string>();
  for (const endpoint of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    const { input } = endpoint.example;
    for (const { keyword, path, value } of listBroken(endpoint.input as unknown as Schema)) {
      const sent = place(input, path, value);
      for (const { code, message, hint, path: at } of findShapeFaults(endpoint, sent)) {
        const name = `${endpoint.name} ${keyword} ${path.join('.')}: ${message} ${hint}`;
        if (seen.has(name)) continue;
        seen.add(name);
        const isGood =
          code === 'DQL_JSON_SCHEMA' &&
          SENTENCE.test(message) &&
          SENTENCE.test(hint ?? '') &&
          !RAW.test(`${message} ${hint}`);
        t.ok(isGood && at !== undefined && message.length < 160 && (hint ?? '').length < 700, name);
      }
    }
  }
  t.ok(seen.size > 100, `${seen.size} faults`);
  t.end();
});

t.test('a fault shows whole characters of what was sent', async (t) => {
  const name = `a${'😀'.repeat(60)}`;
  const [snapshots] = OPERATIONS.filter((operation) => operation.name === 'snapshots');
  const faults = snapshots === undefined ? [] : findShapeFaults(snapshots, { [name]: 1, number_format: name });
  t.equal(faults.length, 2);
  for (const { message, path = '' } of faults) t.ok(message.isWellFormed() && path.isWellFormed(), message);
});

const findHint = (path: string, input: object): string | undefined => {
  const endpoint = OPERATIONS.find((operation) => operation.path === `/v2/${path}`);
  if (endpoint === undefined) throw new Error(`there is no /v2/${path}`);
  return findShapeFaults(endpoint, input)[0]?.hint;
};

t.test(
  'a duration in another spelling is answered with its own, never with another duration that looks like it',
  async (t) => {
    const hintOf = (interval: string): string | undefined =>
      findHint('snapshots/history', { interval, from: '2026-01-01', to: '2026-01-02' });
    t.equal(hintOf('60s'), 'Write 1m.');
    t.equal(hintOf('60m'), 'Write 1h.');
    for (const other of ['5s', '90m', '1w', '60', '1min'])
      t.match(hintOf(other), /^Send one of 10s, 30s, 1m, /, `${other} is none of them`);
  },
);

t.test('a member that belongs into the selection or the query names it', async (t) => {
  t.equal(findHint('snapshots', { base: 'BTC' }), 'Send where, such as base = BTC.');
  t.equal(findHint('instruments', { venue: 'okx' }), 'Send where with a term venue = CODE.');
  const query = 'any(venues where mark > 1)';
  t.equal(findHint('screen', { query, as_of: '2026-01-01' }), 'End the query with as of 2026-01-15T12:00:00Z.');
  t.equal(findHint('screen', { query, select: ['mark'] }), 'Add a clause to the query, such as select mark.');
  const row = { venue: 'okx', symbol: 'BTC-USDT-SWAP', layer: 'mark', at: '2026-01-01' };
  t.match(findHint('anchors/proof', { ...row, quote: 'USDT' }), /^Members are /, 'of an endpoint without a selection');
});
