// docs/endpoints.md equals the declared operations; GOLDEN_UPDATE=1 or `npm run docs` writes it again. test/e2e/examples.test.ts runs its examples.
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import type { Endpoint } from '../../../../api/contract/endpoint.ts';
import { checkInput } from '../../../../api/data-app/check-input.ts';
import { findWordKey, MEMBER_WORDS } from '../../../../api/data-app/member-words.ts';
import { makeOpenApi } from '../../../../api/data-app/openapi.ts';
import { OPERATIONS } from '../../../../api/operations/index.ts';
import { STREAM_EVENTS } from '../../../../api/stream/events.ts';
import { STREAM } from '../../../../api/stream/request.ts';
import { printArchiveFiles } from '../../../../infra/dev/documents/archive-columns.ts';
import { ENDPOINT_DOCS, printEndpointDocs } from '../../../../infra/dev/documents/endpoint-docs.ts';
import { formatWideJson } from '../../../../infra/dev/documents/endpoint-examples.ts';
import { ANCHORED_TABLES } from '../../../../schemas/anchored.ts';
import { CANDLES, EVENTS, READINGS } from '../../../../schemas/layers/index.ts';
import { market, NOW } from '../../../support/apps/live-fixture.ts';
import { findSchemaFaults } from '../../../support/documents/closed-schema.ts';

const ENDPOINTS = [...OPERATIONS, STREAM];

t.test('docs/endpoints.md contains what the operations declare', (t) => {
  if (process.env['GOLDEN_UPDATE'] === '1') writeFileSync(ENDPOINT_DOCS, printEndpointDocs());
  t.equal(readFileSync(ENDPOINT_DOCS, 'utf8'), printEndpointDocs(), '`npm run docs` writes it again');
  t.end();
});

t.test('every column of an archive file has its meaning, or is a figure of its layer', (t) => {
  const [ofRows = ''] = printArchiveFiles().split('The figures are');
  const parts = new Map([...READINGS, ...EVENTS, CANDLES].map(({ recordName, anchored }) => [recordName, anchored]));
  for (const { layer, columns } of ANCHORED_TABLES)
    for (const { name } of columns)
      t.equal(
        ofRows.includes(`\n| \`${name}\` |`),
        !Object.hasOwn(parts.get(layer) ?? {}, name),
        `${name} of ${layer} is either; what is no figure has its words in infra/dev/documents/archive-columns.ts`,
      );
  t.end();
});

t.test('every example is a valid question and an answer of the declared shape', (t) => {
  for (const endpoint of ENDPOINTS) {
    const read = { input: endpoint.example.input, faults: [], apart: [] };
    const state = { live: market().memory, evaluatedAt: NOW };
    t.doesNotThrow(() => checkInput(endpoint, read, state), endpoint.name);
    t.same(findSchemaFaults(endpoint, endpoint.example.output), [], `the answer of ${endpoint.name}`);
    t.match(endpoint.example.question, /\?$/, `${endpoint.name} answers a question`);
  }
  t.end();
});

type Schema = {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
};

/** Paths of every member of an answer. */
const listPaths = (schema: Schema, path: readonly string[]): (readonly string[])[] => {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = schema;
  const named = Object.entries(properties).flatMap(([name, member]) => {
    const inner = [...path, name];
    return [...(member.description === undefined ? [inner] : []), ...listPaths(member, inner)];
  });
  const unnamed = [...Object.values(patternProperties), ...(items === undefined ? [] : [items]), ...anyOf];
  return [...named, ...unnamed.flatMap((part) => listPaths(part, path))];
};

const EVENT_PATHS = Object.entries(STREAM_EVENTS).flatMap(([event, schema]) =>
  listPaths(schema as Schema, ['stream', event]),
);

t.test('every member of every answer and every parameter has a sentence, and no sentence is without a member', (t) => {
  const unused = new Set(MEMBER_WORDS);
  const answered = ENDPOINTS.flatMap(({ name, output }) => listPaths(output as Schema, [name]));
  for (const path of [...answered, ...EVENT_PATHS]) {
    const key = findWordKey(path);
    if (key === null)
      t.fail(
        `nothing is said of ${path.join('.')}: add it to api/data-app/member-words.ts, because the documents have it`,
      );
    else unused.delete(key);
  }
  for (const { name, input } of ENDPOINTS) {
    const { properties = {} } = input as Schema;
    for (const [parameter, schema] of Object.entries(properties)) {
      const says = [schema, ...(schema.anyOf ?? [])].some(({ description }) => description !== undefined);
      if (!says) t.fail(`nothing is said of parameter ${parameter} of ${name}: give its schema a description`);
    }
  }
  t.same([...unused], [], 'sentences nobody reads');
  t.end();
});

/** Names that mean in an event what they mean in an answer. */
const COMMON = new Set([
  ...['venue', 'venue_symbol', 'instrument', 'price_type', 'venue_ts', 'received_at', 'value', 'conversion'],
  ...['null_reasons', 'evaluated_at', 'catalogue', 'units', 'freshness', 'rule_id', 'matched', 'matched_total'],
]);

t.test('what an event of the stream holds is described as of that event', (t) => {
  for (const path of EVENT_PATHS) {
    const [, , member = '', ...inner] = path;
    // These have the shapes of answers inside.
    if ((member === 'row' || member === 'record' || inner[0] === 'conversion') && inner.length > 0) continue;
    const isOwn = findWordKey(path)?.includes('.') === true;
    if (!isOwn && !COMMON.has(path.at(-1) ?? ''))
      t.fail(`${path.slice(1).join('.')} has the sentence of an answer: give it one in api/data-app/member-words.ts`);
  }
  t.end();
});

t.test('the OpenAPI document has the same questions, answers and sentences', (t) => {
  const { paths } = makeOpenApi({ operations: ENDPOINTS, baseUrl: 'http://api.test', simulated: false });
  for (const { name, method, path, class: requestClass, redirects, example } of ENDPOINTS as readonly Endpoint[]) {
    const item = paths[path]?.[method.toLowerCase()];
    const type = requestClass === 'stream' ? 'text/event-stream' : 'application/json';
    if (method === 'POST')
      t.match(item, { requestBody: { content: { 'application/json': { example: example.input } } } });
    t.match(
      item,
      {
        description: example.question,
        responses: { [redirects ? 302 : 200]: { content: { [type]: { example: example.output } } } },
      },
      `${name} answers`,
    );
  }
  t.match(paths['/v2/instruments']?.['get'], { parameters: [{ name: 'where', example: 'base = BTC' }] });
  t.match(JSON.stringify(paths), /"served_at":\{"description":"Everything recorded up to this/);
  t.end();
});

t.test('JSON is written on as few lines as a page has room for', (t) => {
  t.equal(formatWideJson({ a: [1, 'x', null], b: {} }), '{"a": [1, "x", null], "b": {}}');
  const wide = { list: ['x'.repeat(60), 'y'.repeat(60)], one: { two: 2 } };
  t.equal(
    formatWideJson(wide),
    `{\n  "list": [\n    "${'x'.repeat(60)}",\n    "${'y'.repeat(60)}"\n  ],\n  "one": {"two": 2}\n}`,
  );
  t.same(JSON.parse(formatWideJson(wide)), wide);
  t.end();
});
