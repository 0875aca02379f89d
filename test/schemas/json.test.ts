// The serialiser: digits, order, escapes and what it refuses.
import fc from 'fast-check';
import t from 'tap';
import { type JsonValue, makeFigure, makeRawJson, sortByKey, writeJson } from '../../schemas/json.ts';

t.test('a figure keeps its digits in both formats; counts stay numbers (N-05, N-06)', (t) => {
  const item = {
    age_ms: 315,
    values: { oi: makeFigure('9007199254740993.000000000000000001'), levels: 12 },
    none: null,
  };
  t.equal(
    writeJson(item),
    '{"age_ms":315,"values":{"oi":9007199254740993.000000000000000001,"levels":12},"none":null}',
  );
  t.equal(
    writeJson(item, { numberFormat: 'string' }),
    '{"age_ms":315,"values":{"oi":"9007199254740993.000000000000000001","levels":12},"none":null}',
  );
  t.equal(
    writeJson([makeFigure('-0.5'), [makeFigure('1')]], { numberFormat: 'string' }),
    '["-0.5",["1"]]',
    'at any depth',
  );
  t.end();
});

t.test('members keep the order they were written in; undefined ones are left out (N-01)', (t) => {
  t.equal(writeJson({ b: 1, a: undefined, c: [], d: {} }), '{"b":1,"c":[],"d":{}}');
  t.equal(writeJson({ a: undefined }), '{}');
  t.equal(writeJson({ a: undefined, b: 2 }), '{"b":2}', 'no comma is left behind');
  t.end();
});

t.test('maps keyed by data ascend by the bytes of their keys (N-01, H-16a)', (t) => {
  t.equal(writeJson(sortByKey({ mark: 1, index: 2, basis: 3 })), '{"basis":3,"index":2,"mark":1}');
  t.equal(
    writeJson(sortByKey({ '50bps': 1, '100bps': 2, '10bps': 3, Z: 4, a: 5 })),
    '{"100bps":2,"10bps":3,"50bps":1,"Z":4,"a":5}',
  );
  // UTF-16 order would put the first of these last: U+FF5E is EF BD 9E, U+1F600 is F0 9F 98 80.
  t.equal(writeJson(sortByKey({ '\u{1f600}': 1, '～': 2 })), '{"～":2,"\u{1f600}":1}');
  t.end();
});

t.test('a map keeps its order whatever its keys are (N-01)', (t) => {
  const map = new Map<string, JsonValue | undefined>([
    ['-5', 1],
    ['1 / 0', makeFigure('2')],
    ['10', new Map([['b', 1]])],
    ['5', undefined],
    ['6', new Map()],
  ]);
  t.equal(writeJson({ values: map }), '{"values":{"-5":1,"1 / 0":2,"10":{"b":1},"6":{}}}');
  t.equal(writeJson(map, { numberFormat: 'string' }), '{"-5":1,"1 / 0":"2","10":{"b":1},"6":{}}');
  t.end();
});

t.test('plain numbers print without exponent and never as NaN or infinity', (t) => {
  t.equal(writeJson([1e-7, 1e21, -0, 0.1]), '[0.0000001,1000000000000000000000,0,0.1]');
  for (const n of [Number.NaN, Number.POSITIVE_INFINITY])
    t.throws(() => writeJson({ a: [n] }), /does not exist on the wire/);
  t.end();
});

t.test('strings are escaped as JSON.stringify does; lone surrogates survive; other text goes out as it is', (t) => {
  for (const text of [
    '',
    '"',
    '\\',
    '[',
    ']',
    '~',
    '\u007f',
    '"\\/\b\f\n\r\t\u0000\u001f\u007f',
    '币安人生',
    '\u2028\u{1f600}',
    '\ud800',
    'x\udfff',
  ]) {
    t.equal(writeJson(text), JSON.stringify(text));
    t.equal(JSON.parse(writeJson({ [text]: text }))[text], text);
  }
  t.equal(writeJson({ raw: makeRawJson('{"p":1.10,"q":[1e5]}') }), '{"raw":{"p":1.10,"q":[1e5]}}');
  t.end();
});

t.test('for values without figures the text is that of JSON.stringify', (t) => {
  const values = fc.jsonValue({ noUnicodeString: false }).filter((v) => !/[0-9]e[+-]?[0-9]/.test(JSON.stringify(v)));
  fc.assert(
    fc.property(values, (value) => {
      const text = writeJson(value as JsonValue);
      return text === JSON.stringify(value) && writeJson(value as JsonValue, { numberFormat: 'string' }) === text;
    }),
    { numRuns: 500 },
  );
  t.end();
});

t.test('more names and texts than are remembered are written as before', (t) => {
  const members = Array.from({ length: 5_000 }, (_, i): [string, string] => [`"name ${i}`, `t"${i}`]);
  const texts = Array.from({ length: 20_000 }, (_, i) => ({ first: `é${i}\n`, later: i % 2 === 0 ? `"${i}` : null }));
  for (const value of [Object.fromEntries(members), texts, Object.fromEntries(members), texts]) {
    t.equal(writeJson(value), JSON.stringify(value));
  }
  t.end();
});
