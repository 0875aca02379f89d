// For any input, the answer is one of the documented ones: never a 5xx, always the one shape of errors.
import { connect } from 'node:net';
import fc from 'fast-check';
import t from 'tap';
import { readSelectionText } from '../../../api/language/where-text.ts';
import { CATALOGUE } from '../../../schemas/errors.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';

const names = [
  'where',
  'units',
  'layers',
  'freshness',
  'number_format',
  'include_raw',
  'allow_stale',
  'as_of',
  'limit',
  'cursor',
  '__proto__',
  'constructor',
  'wher',
];
const texts = fc.oneof(
  fc.constantFrom(
    'venue = okx',
    'base in (BTC, ETH) and quote = USDT',
    'symbol = "BTCUSDT"',
    '60s',
    'base',
    'mark',
    'true',
    '0',
    '2026-01-15',
    '\u0000',
    '"',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
const member = fc.oneof(
  texts,
  fc.array(texts, { maxLength: 3 }),
  fc.dictionary(
    fc.constantFrom('venue', 'mark', 'symbol', '__proto__', 'x'),
    fc.oneof(texts, fc.array(texts, { maxLength: 2 })),
  ),
  fc.jsonValue(),
);
const body = fc.dictionary(fc.constantFrom(...names), member, { maxKeys: 4 });

const isErrors = (text: string): boolean => {
  const { errors } = JSON.parse(text) as { errors: { code: string; message: string }[] };
  return errors.length > 0 && errors.length <= 20 && errors.every((e) => e.code in CATALOGUE && e.message.length > 0);
};

t.test('a thousand mutated requests never fail the service', async (t) => {
  const { app, table } = await testApp(market());
  // A bucket holds a hundred requests: enough keys that none of these is about limits.
  const keys = Array.from({ length: 20 }, () => table.add('pro_plus'));
  let sent = 0;
  t.teardown(() => app.close());
  const headers = () => ({ authorization: `Bearer ${keys[sent++ % keys.length]}`, 'content-type': 'application/json' });
  const counts = new Map<number, number>();
  const check = (answer: { statusCode: number; body: string }) => {
    counts.set(answer.statusCode, (counts.get(answer.statusCode) ?? 0) + 1);
    return answer.statusCode < 500 && (answer.statusCode < 400 || isErrors(answer.body));
  };
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        body.map((b) => JSON.stringify(b)),
        fc.string({ unit: 'binary' }),
      ),
      async (payload) => check(await app.inject({ method: 'POST', url: '/v2/snapshots', headers: headers(), payload })),
    ),
    { numRuns: 600 },
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), texts, { maxKeys: 4 }), async (query) =>
      check(await app.inject({ url: '/v2/instruments', query })),
    ),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(fc.webPath(), fc.webQueryParameters(), async (path, query) =>
      check(await app.inject({ url: `/v2${path}?${query}` })),
    ),
    { numRuns: 100 },
  );
  t.ok((counts.get(200) ?? 0) > 20, 'and some of them are good requests');
  t.ok((counts.get(400) ?? 0) > 200);
  t.equal(counts.get(429), undefined);
});

/** The response to bytes over a separate socket; a reset after it is ignored. */
const exchange = (port: number, sent: string): Promise<string> =>
  new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
    socket.write(sent);
  });

const UNREADABLE = [
  {
    name: 'no HTTP',
    sent: 'nonsense\r\n\r\n',
    message: 'The request cannot be read.',
    hint: 'Send a well-formed URL and body.',
  },
  {
    name: 'a URL of 20 KB',
    sent: `GET /v2/venues?where=${'x'.repeat(20_000)} HTTP/1.1\r\nHost: api.test\r\n\r\n`,
    message: 'The URL and headers are larger than 16 KiB.',
    hint: 'Shorten them; long selections go in a body.',
  },
] as const;

t.test('what never becomes a request is refused in the form of every error (E-05, N-12, N-13)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  for (const { name, sent, message, hint } of UNREADABLE) {
    const [head = '', body] = (await exchange(Number(port), sent)).split('\r\n\r\n');
    t.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, name);
    t.match(head, /^Access-Control-Allow-Origin: \*$/m, name);
    t.match(head, /^Access-Control-Expose-Headers: X-Service-Receipt,/m, name);
    t.match(head, /^Content-Type: application\/json; charset=utf-8$/m, name);
    t.match(head, /^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/m, `${name}: RFC 9110 section 6.6.1`);
    t.match(head, /^X-Service-Receipt: rcp_[0-9A-HJKMNP-TV-Z]{26}$/m, name);
    t.equal(body, JSON.stringify({ errors: [{ code: 'DQL_JSON_SCHEMA', message, hint }] }), name);
  }
});

t.test('a method that Node does not know is refused as every other wrong method is (E-01 step 1)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const ask = async (line: string) => {
    const [head = '', body = ''] = (await exchange(Number(port), `${line}\r\nHost: api.test\r\n\r\n`)).split(
      '\r\n\r\n',
    );
    return { head, body };
  };
  const hint = 'Use GET, HEAD.';
  for (const method of ['FOO', 'get', 'GETX', '!', 'DESCRIBE', 'SET_PARAMETER', 'PRI']) {
    const { head, body } = await ask(`${method} /v2/venues?limit=1 HTTP/1.1`);
    t.match(head, /^HTTP\/1\.1 405 Method Not Allowed\r\n/, method);
    t.match(head, /^Allow: GET, HEAD$/m, method);
    t.match(head, /^X-Service-Receipt: rcp_/m, method);
    const message = `"${method}" is not a method of /v2/venues.`;
    t.equal(body, JSON.stringify({ errors: [{ code: 'METHOD_NOT_ALLOWED', message, hint }] }), method);
  }
  const known = await ask('PROPFIND /v2/venues HTTP/1.1\r\nConnection: close');
  t.match(known.body, `\\"PROPFIND\\" is not a method of /v2/venues.`, 'as one that it knows');
  const long = await ask(`${'X'.repeat(9_000)} /v2/screen HTTP/1.1`);
  t.match(long.body, `\\"${'X'.repeat(40)}…\\" is not a method of /v2/screen.`);
  const nowhere = await ask('FOO /v2/nothing HTTP/1.1');
  t.match(nowhere.head, /^HTTP\/1\.1 404 Not Found\r\n/);
  t.notMatch(nowhere.head, /^Allow:/m);
  t.match(nowhere.body, '"NOT_FOUND"');
  const targets = ['', '?', '#', 'v2/venues', 'http://', '/v2/venues\u0001'].map((target) => `FOO ${target} HTTP/1.1`);
  const versions = ['FOO /v2/venues', 'FOO /v2/venues HTTP/3.0', 'PRI * HTTP/2.0', 'GET /v2/venues HTTX/1.1'];
  for (const line of [...targets, ...versions, 'F(O /v2/venues HTTP/1.1']) {
    const { head, body } = await ask(line);
    t.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/, `${line} is no request line`);
    t.match(body, '"DQL_JSON_SCHEMA"', line);
  }
});

t.test('any text is a selection or a list of faults inside it', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc
          .array(fc.constantFrom('venue', '=', 'in', '(', ')', ',', 'and', '"a"', 'BTC', ' ', '\n', '-'), {
            maxLength: 12,
          })
          .map((p) => p.join(' ')),
      ),
      (text) => {
        const length = [...text].length;
        return readSelectionText(text).errors.every(
          ({ position }) =>
            position !== undefined &&
            position.offset <= length &&
            position.offset + position.length <= length &&
            position.line >= 1,
        );
      },
    ),
    { numRuns: 2_000 },
  );
  t.end();
});
