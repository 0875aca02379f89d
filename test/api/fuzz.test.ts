// Whatever is sent, the answer is one of the documented ones: never a 5xx, always the one shape of errors.
import fc from 'fast-check';
import t from 'tap';
import { isKey } from '../../api/access/keys.ts';
import { parseSelection } from '../../api/selection/text.ts';
import { CATALOGUE, ServiceError } from '../../schemas/errors.ts';
import { market, testApp } from './live-fixture.ts';

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
        try {
          parseSelection(text);
          return true;
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const length = [...text].length;
          return error.errors.every(
            ({ position }) =>
              position !== undefined &&
              position.offset <= length &&
              position.offset + position.length <= length &&
              position.line >= 1,
          );
        }
      },
    ),
    { numRuns: 2_000 },
  );
  t.notOk(isKey('sk_'));
  t.end();
});
