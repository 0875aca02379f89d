// Numbers that a double rounds are known by their digits; everything else is as JSON.parse has it.
import fc from 'fast-check';
import t from 'tap';
import { findRoundedDigits, parseExactly } from '../../../api/language/exact-json.ts';
import { isExactDouble, toCanonicalDigits } from '../../../schemas/decimals.ts';

t.test('digits are known of what a double rounds, where it stood', (t) => {
  const body = parseExactly(
    '{"a": {"value": 12345678901234567890, "b": [1e400, 5, 0.10000000000000000001]}, "value": "12345678901234567890"}',
  ) as { a: { value: number; b: number[] }; value: string };
  t.equal(findRoundedDigits(body.a, 'value'), '12345678901234567890');
  t.equal(findRoundedDigits(body.a.b, '0'), '1e400', 'longer than any figure, so as sent');
  t.equal(findRoundedDigits(body.a.b, '1'), undefined);
  t.equal(findRoundedDigits(body.a.b, '2'), '0.10000000000000000001');
  t.equal(findRoundedDigits(body, 'value'), undefined, 'a string has its own');
  const short = parseExactly('{"value": 1e300}') as object;
  t.equal(findRoundedDigits(short, 'value'), undefined, 'what a double prints exactly needs none');
  t.equal(findRoundedDigits(parseExactly('{"value": 12345.1234567891}') as object, 'value'), undefined);
  t.equal(
    findRoundedDigits(parseExactly('{"value": 12345.12345678912345}') as object, 'value'),
    '12345.12345678912345',
  );
  t.end();
});

t.test('every number is its double or its digits, and every value that of JSON.parse', (t) => {
  const number = fc
    .tuple(
      fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
      fc.nat({ max: 999_999_999 }),
      fc.integer({ min: -9, max: 9 }),
    )
    .map(([whole, fraction, exponent]) => `${whole}.${fraction}e${exponent}`);
  fc.assert(
    fc.property(number, (text) => {
      const holder = parseExactly(`{"value":${text}}`) as { value: number };
      const digits = toCanonicalDigits(text);
      const held = findRoundedDigits(holder, 'value');
      return holder.value === Number(text) && held === (isExactDouble(digits) ? undefined : digits);
    }),
    { numRuns: 5_000 },
  );
  fc.assert(
    fc.property(fc.json(), (text) => JSON.stringify(parseExactly(text)) === JSON.stringify(JSON.parse(text))),
    { numRuns: 2_000 },
  );
  t.pass('5,000 numbers and 2,000 texts');
  t.end();
});
