// A duplicate member is a fault on every endpoint with a body, reported together with all others; nothing else counts as one (N-13, E-01).
import fc from 'fast-check';
import t from 'tap';
import { findRepeatedMembers } from '../../../api/data-app/repeated-members.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';

/** Texts that look like structure. */
const text = fc.oneof(fc.constantFrom('', '"', '\\', '":', '{"a":1}', '[,]', '\\u0061', '__proto__'), fc.string());
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('1', '-0.5e3', 'true', 'null', '{}', '[]'),
    text.map((s) => JSON.stringify(s)),
    tie('object').map((made) => (made as Made).text),
    fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 3 }).map((items) => `[${items.join(' ,\n')}]`),
  ),
  object: fc
    .array(fc.tuple(text, tie('value') as fc.Arbitrary<string>), { maxLength: 4 })
    .map((members) => ({ text: `{ ${members.map(([k, v]) => `${JSON.stringify(k)} : ${v}`).join(',')}}`, members })),
}));
type Made = { readonly text: string; readonly members: readonly (readonly [string, string])[] };

/** Members of one object that are named before, each once. */
const findRepeats = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, i) => names.indexOf(name) < i)),
];

t.test('finds what an object names twice, and only that', (t) => {
  fc.assert(
    fc.property(tree.object as fc.Arbitrary<Made>, ({ text: json, members }) => {
      const found = findRepeatedMembers(json).filter((path) => path.length === 1);
      t.ok(JSON.parse(json));
      return JSON.stringify(found.flat()) === JSON.stringify(findRepeats(members.map(([name]) => name)));
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => findRepeatedMembers(JSON.stringify(value)).length === 0),
    { numRuns: 500 },
  );
  const deep = 25_000;
  const nested = `${'['.repeat(deep)}{${Array.from({ length: 1_000 }, (_, i) => `"${i % 500}":0`).join()}}${']'.repeat(deep)}`;
  const found = findRepeatedMembers(nested);
  t.equal(found.length, 20, 'as many as an answer contains');
  t.ok(found.every(({ length }) => length <= 64));
  t.same(findRepeatedMembers('{"a":[1,{"b":{"c":1,"\\u0063":2,"c":3}},{"c":1}],"a":0}'), [['a', 1, 'b', 'c'], ['a']]);
  t.end();
});

type Errors = { readonly errors: readonly { readonly code: string; readonly path?: string }[] };

t.test('every endpoint that takes a body refuses a member given twice, beside its other faults', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  for (const { method, path, input } of OPERATIONS.filter((operation) => operation.method === 'POST')) {
    const { properties = {} } = input as { readonly properties?: object };
    const member = 'where' in properties ? 'where' : 'query';
    const payload = `{"colour":1,"${member}":"venue = okx","${member}":{"venue":"okx","venue":"okx"}}`;
    const headers = { authorization: `Bearer ${table.add('pro')}`, 'content-type': 'application/json' };
    const { errors } = (await app.inject({ method, url: path, headers, payload })).json<Errors>();
    const paths = errors.filter(({ code }) => code === 'DQL_JSON_SCHEMA').map((error) => error.path);
    for (const expected of [`/${member}`, `/${member}/venue`, '/colour'])
      t.ok(paths.includes(expected), path + expected);
  }
});

t.test('a layer has one bound, under whichever of its names (F-03, L-01)', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const bodies = {
    '/v2/snapshots': {},
    '/v2/snapshots/history': { as_of: '2026-01-15' },
    '/v2/screen': { query: 'any(venues where mark > 1)' },
  };
  for (const layer of READING_LAYERS) {
    for (const alias of LAYERS[layer].aliases) {
      for (const [url, body] of Object.entries(bodies)) {
        const headers = { authorization: `Bearer ${table.add('pro')}` };
        const payload = { ...body, freshness: { [layer]: '10s', [alias]: '10s' } };
        const { errors } = (await app.inject({ method: 'POST', url, headers, payload })).json<Errors>();
        t.match(errors, [{ code: 'DQL_JSON_SCHEMA', path: `/freshness/${alias}` }], `${url} ${alias}`);
      }
    }
  }
});
