// The read-only registry follows Confluent's protocol: the requests of deserialisers and tools, and every refusal.
import t, { type Test } from 'tap';
import { codecs, makeMdCodec, readSchemaText, SUBJECT_IDS } from '../../../schemas/avro/codec.ts';
import { answerRegistryRequest, type RegistryAnswer } from '../../../schemas/avro/registry.ts';

const call = (method: string, address: string, body = ''): RegistryAnswer => {
  const [path = '', query = ''] = address.split('?');
  return answerRegistryRequest({ method, path, query: Object.fromEntries(new URLSearchParams(query)), body });
};
const get = (path: string): RegistryAnswer => call('GET', path);
const published = (subject: string, version = 1): unknown => JSON.parse(readSchemaText(subject, version));
const refused = (t: Test, answer: RegistryAnswer, status: number, code: number): void => {
  t.equal(answer.status, status);
  t.match(answer.body, { error_code: code, message: /\S/ });
};

t.test('a deserialiser gets the published schema of the id in a message', (t) => {
  const id = makeMdCodec('mark').id;
  const { status, body } = get(`/schemas/ids/${id}`);
  t.equal(status, 200);
  t.same(Object.keys(body as object), ['schema']);
  t.same(JSON.parse((body as { schema: string }).schema), published('md.mark'), 'with docs and logical types');
  t.same(get(`/schemas/ids/${id}/schema`), { status: 200, body: published('md.mark') });
  t.same(get(`/schemas/ids/${id}/subjects`), { status: 200, body: ['md.mark-value'] });
  t.same(get(`/schemas/ids/${id}/versions`), { status: 200, body: [{ subject: 'md.mark-value', version: 1 }] });
  t.same(get('/schemas/types'), { status: 200, body: ['AVRO'] });
  t.equal(call('HEAD', `/schemas/ids/${id}`).status, 200);
  t.end();
});

t.test('every subject is listed with its versions', (t) => {
  const { body } = get('/subjects');
  t.same(
    body,
    Object.keys(SUBJECT_IDS)
      .map((name) => `${name}-value`)
      .sort(),
  );
  for (const subject of body as string[]) {
    const family = subject.replace('-value', '');
    const ids = SUBJECT_IDS[family] ?? [];
    t.same(get(`/subjects/${subject}/versions`), { status: 200, body: ids.map((_, i) => i + 1) }, subject);
    for (const [i, id] of ids.entries()) {
      const version = i + 1;
      const schema = published(family, version);
      const described = { status: 200, body: { subject, version, id, schema: JSON.stringify(schema) } };
      t.same(get(`/subjects/${subject}/versions/${version}`), described);
      for (const latest of version === ids.length ? ['latest', '-1'] : [])
        t.same(get(`/subjects/${subject}/versions/${latest}`), described);
      t.same(get(`/subjects/${subject}/versions/${version}/referencedby`), { status: 200, body: [] });
      t.same(get(`/subjects/${subject}/versions/${version}/schema`), { status: 200, body: schema });
    }
  }
  t.end();
});

t.test('subjects and schemas are listed by prefix and page, in one context', (t) => {
  const all = get('/subjects').body as readonly string[];
  const subjects = (query: string): unknown => get(`/subjects?${query}`).body;
  for (const prefix of ['md.m', 'raw', 'nothing', ''])
    t.same(
      subjects(`subjectPrefix=${prefix}`),
      all.filter((one) => one.startsWith(prefix)),
      prefix,
    );
  for (const everything of [':*:', ':.:', '::', '']) t.same(subjects(`subjectPrefix=${everything}`), all);
  t.same(subjects('subjectPrefix=:.:md.mark'), ['md.mark-value']);
  t.same(subjects('offset=1&limit=2'), all.slice(1, 3));
  t.same(subjects('offset=-1&limit=-1&deleted=true'), all);
  t.same(subjects('limit=0'), []);
  t.same(get('/contexts'), { status: 200, body: ['.'] });
  const schemas = get('/schemas?latestOnly=true').body as readonly { subject: string }[];
  t.same(
    schemas,
    all.map((subject) => get(`/subjects/${subject}/versions/latest`).body),
  );
  const versions = Object.values(SUBJECT_IDS).flat().length;
  t.equal((get('/schemas').body as readonly unknown[]).length, versions, 'every version');
  t.same(get('/schemas?subjectPrefix=md.mark&latestOnly=true').body, [get('/subjects/md.mark-value/versions/-1').body]);
  t.end();
});

t.test('a schema is compatible when it reads what every version wrote', (t) => {
  const mark = published('md.mark') as { fields: { name: string }[] };
  const [first, ...others] = mark.fields;
  const compatible = (schema: unknown, place = '/latest'): unknown =>
    call(
      'POST',
      `/compatibility/subjects/md.mark-value/versions${place}`,
      JSON.stringify({ schema: JSON.stringify(schema) }),
    ).body;
  const optional = { name: 'added', type: ['null', 'string'], default: null };
  const renamed = { ...first, name: 'another' };
  const cases: readonly (readonly [string, unknown, boolean])[] = [
    ['itself', mark, true],
    ['a member less', { ...mark, fields: others }, true],
    ['a member more, with a default', { ...mark, fields: [...mark.fields, optional] }, true],
    [
      'a member more, without a default',
      { ...mark, fields: [...mark.fields, { name: 'added', type: 'string' }] },
      false,
    ],
    ['a member under another name', { ...mark, fields: [renamed, ...others] }, false],
    ['another type', 'string', false],
  ];
  for (const [what, schema, expected] of cases)
    for (const place of ['/latest', '/1', '/-1', ''])
      t.same(compatible(schema, place), { is_compatible: expected }, what);
  t.same(compatible(mark, '/1?verbose=true'), { is_compatible: true, messages: [] });
  t.match(compatible('string', '?verbose=true'), { is_compatible: false, messages: [/^Version 1: \S/] });
  const test = '/compatibility/subjects';
  refused(t, call('POST', `${test}/none-value/versions/latest`, '{"schema":"\\"int\\""}'), 404, 40401);
  refused(t, call('POST', `${test}/raw-value/versions/9`, '{"schema":"\\"int\\""}'), 404, 40402);
  refused(t, call('POST', `${test}/raw-value/versions/x`, '{"schema":"\\"int\\""}'), 422, 42202);
  refused(t, call('POST', `${test}/raw-value/versions/latest`, '{"schema":"{"}'), 422, 42201);
  for (const path of ['/compatibility', `${test}/raw-value`, `${test}/raw-value/versions/1/x`])
    refused(t, call('POST', path, '{}'), 404, 404);
  t.end();
});

t.test('the topic of a venue has the schema of its family; other topics with a dot do not', (t) => {
  for (const topic of ['raw.binance', 'live.coinbase-intl', 'state.okx', 'rows.okx', 'checkpoints.xt']) {
    const family = topic.split('.')[0] ?? '';
    t.match(get(`/subjects/${topic}-value/versions/latest`), {
      status: 200,
      body: { subject: `${topic}-value`, id: SUBJECT_IDS[family]?.at(-1) },
    });
  }
  t.equal(get('/subjects/raw%2Ebinance-value/versions').status, 200, 'percent-encoded');
  for (const topic of ['watermark.binance', 'md.binance', 'md', 'raw.BINANCE', 'raw.', 'raw.a.b'])
    refused(t, get(`/subjects/${topic}-value/versions`), 404, 40401);
  refused(t, get('/subjects/raw.binance-key/versions'), 404, 40401);
  t.end();
});

t.test('a look-up finds a schema whatever the order of its members, and nothing else', (t) => {
  const found = { status: 200, body: { subject: 'raw.binance-value', version: 1, id: codecs.raw.id } };
  const { fields, doc: _, ...rest } = published('raw') as { doc?: string; fields: unknown[] };
  t.match(call('POST', '/subjects/raw.binance-value', JSON.stringify({ schema: readSchemaText('raw', 1) })), found);
  const reordered = { fields, ...rest };
  t.match(call('POST', '/subjects/raw.binance-value', JSON.stringify({ schema: JSON.stringify(reordered) })), found);
  refused(
    t,
    call('POST', '/subjects/live.binance-value', JSON.stringify({ schema: readSchemaText('raw', 1) })),
    404,
    40403,
  );
  refused(t, call('POST', '/subjects/none-value', JSON.stringify({ schema: '"int"' })), 404, 40401);
  for (const body of ['', '{', '{}', '{"schema":5}', '{"schema":"{"}', '{"schema":"\\"nope\\""}', 'null'])
    refused(t, call('POST', '/subjects/raw-value', body), 422, 42201);
  t.end();
});

t.test('unknown ids, versions and addresses have Confluent’s codes', (t) => {
  refused(t, get('/schemas/ids/9999'), 404, 40403);
  refused(t, get('/schemas/ids/x'), 404, 40403);
  refused(t, get('/subjects/raw-value/versions/2'), 404, 40402);
  refused(t, get('/subjects/none-value/versions/1'), 404, 40401);
  for (const version of ['0', '-2', 'newest', '1.0'])
    refused(t, get(`/subjects/raw-value/versions/${version}`), 422, 42202);
  for (const path of [
    '/nowhere',
    '/schemas/nowhere',
    '/contexts/x',
    '/schemas/ids/1/x',
    '/subjects/raw-value',
    '/subjects/raw-value/versions/1/x',
    '/%',
    '/config/raw-value/x',
  ]) {
    refused(t, get(path), 404, 404);
  }
  t.end();
});

t.test('compatibility is reported, mode is read-only, and every write is refused', (t) => {
  t.same(get('/config'), { status: 200, body: { compatibilityLevel: 'BACKWARD_TRANSITIVE' } });
  t.same(get('/config/raw.binance-value'), { status: 200, body: { compatibilityLevel: 'BACKWARD_TRANSITIVE' } });
  t.same(get('/mode'), { status: 200, body: { mode: 'READONLY' } });
  refused(t, get('/config/none-value'), 404, 40401);
  t.same(get('/'), { status: 200, body: {} });
  const writes = [
    ['POST', '/subjects/raw-value/versions', 'GET, HEAD'],
    ['DELETE', '/subjects/raw-value', 'POST'],
    ['PUT', '/config', 'GET, HEAD'],
    ['PUT', '/mode', 'GET, HEAD'],
    ['POST', '/subjects', 'GET, HEAD'],
    ['DELETE', '/compatibility/subjects/raw-value/versions/latest', 'POST'],
  ] as const;
  for (const [method, path, allow] of writes) {
    const answer = call(method, path, '{}');
    refused(t, answer, 405, 405);
    t.equal(answer.allow, allow, `${method} ${path}: RFC 9110 section 15.5.6`);
  }
  t.end();
});
