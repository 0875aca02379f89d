// Decimals against hand-worked rows, decimal.js as an independent oracle, and the number vectors of RFC 8785.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import t from 'tap';
import {
  add,
  addPresent,
  compare,
  DecimalError,
  divide,
  findCanonicalDigits,
  formatDouble,
  isExactDouble,
  isPositive,
  joinFigure,
  multiply,
  subtract,
  toCanonicalDigits,
  toFraction,
} from '../../schemas/decimals.ts';

const Exact = Decimal.clone({ precision: 1_000, toExpNeg: -9e15, toExpPos: 9e15 });
const Quotient = Decimal.clone({ precision: 18, rounding: Decimal.ROUND_HALF_EVEN, toExpNeg: -9e15, toExpPos: 9e15 });
const toText = (d: Decimal): string => (d.isZero() ? '0' : d.toFixed());

const digits = fc
  .tuple(fc.boolean(), fc.stringMatching(/^[0-9]{1,24}$/), fc.stringMatching(/^[0-9]{0,18}$/))
  .map(([negative, whole, fraction]) => `${negative ? '-' : ''}${whole}.${fraction}`);
const canonical = digits.map(toCanonicalDigits);
const runs = { numRuns: 2_000 };

t.test('a figure keeps its digits without a redundant sign, zeros and exponent (N-05 rule 1)', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['0', '0'],
    ['-0', '0'],
    ['+0.000', '0'],
    ['-0e5', '0'],
    ['0e-9', '0'],
    ['63120.4', '63120.4'],
    ['+1.250', '1.25'],
    ['007', '7'],
    ['-007.70', '-7.7'],
    ['100', '100'],
    ['100.0', '100'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['-.50', '-0.5'],
    ['1e-7', '0.0000001'],
    ['1E+3', '1000'],
    ['1.5e2', '150'],
    ['-12.50e-3', '-0.0125'],
    ['0.00012e4', '1.2'],
    ['9007199254740993', '9007199254740993'],
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
  ];
  for (const [text, expected] of rows) t.equal(toCanonicalDigits(text), expected, `${text} is ${expected}`);
  t.end();
});

t.test('a percentage is a hundredth of itself', (t) => {
  fc.assert(
    fc.property(canonical, (percent) => toFraction(percent) === multiply(percent, '0.01')),
    runs,
  );
  for (const [percent, fraction] of [
    ['0', '0'],
    ['5', '0.05'],
    ['-0.5', '-0.005'],
    ['100', '1'],
    ['-1234.5', '-12.345'],
  ] as const)
    t.equal(toFraction(percent), fraction, `${percent} %`);
  t.end();
});

t.test('what is no decimal is refused, also when its expansion would be absurdly long', (t) => {
  const wrong = [
    '',
    ' ',
    '.',
    '-',
    '+',
    'e5',
    '1e',
    '1e+',
    '--1',
    '1.2.3',
    '1,5',
    ' 1',
    '1 ',
    '1\n',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    '١',
  ];
  for (const text of [...wrong, '1e400', '1e-399', '1.5e-398', '1e401', '1e-999999999', '9'.repeat(401)]) {
    t.throws(() => toCanonicalDigits(text), DecimalError, JSON.stringify(text.slice(0, 20)));
    t.equal(findCanonicalDigits(text), null, 'without an exception');
  }
  t.end();
});

t.test('canonical form agrees with the oracle and is a fixpoint', (t) => {
  const written = fc.tuple(digits, fc.integer({ min: -60, max: 60 })).map(([text, exponent]) => `${text}e${exponent}`);
  fc.assert(
    fc.property(written, (text) => {
      const form = toCanonicalDigits(text);
      return form === toText(new Exact(text)) && toCanonicalDigits(form) === form;
    }),
    runs,
  );
  t.end();
});

t.test('the longest figures that are accepted are accepted again', (t) => {
  for (const text of ['1e399', '9e399', '1e-398', '-1e-397', '-1e398', '5e-324', '1.7976931348623157e308', '0e-400']) {
    const form = toCanonicalDigits(text);
    t.equal(toCanonicalDigits(form), form, text);
  }
  t.end();
});

t.test('sums, differences, products and order agree with the oracle exactly', (t) => {
  fc.assert(
    fc.property(canonical, canonical, (a, b) => {
      const [x, y] = [new Exact(a), new Exact(b)];
      return (
        add(a, b) === toText(x.plus(y)) &&
        subtract(a, b) === toText(x.minus(y)) &&
        multiply(a, b) === toText(x.times(y)) &&
        compare(a, b) === x.comparedTo(y) &&
        compare(a, a) === 0 &&
        isPositive(a) === x.gt(0)
      );
    }),
    runs,
  );
  t.end();
});

t.test('a quotient is rounded half-even to 18 significant digits (N-05 rule 2)', (t) => {
  const rows: readonly (readonly [string, string, string | null])[] = [
    ['1', '3', '0.333333333333333333'],
    ['2', '3', '0.666666666666666667'],
    ['-2', '3', '-0.666666666666666667'],
    ['1', '0', null],
    ['0', '7', '0'],
    ['0', '-7', '0'],
    ['6', '-2', '-3'],
    ['1', '8', '0.125'],
    // Ties: the kept digit ends even.
    ['1000000000000000005', '10', '100000000000000000'],
    ['1000000000000000015', '10', '100000000000000002'],
    ['1000000000000000005.0000000001', '10', '100000000000000001'],
    // Rounding up through all the nines.
    ['9999999999999999995', '10', '1000000000000000000'],
    ['123456789012345678901', '1', '123456789012345679000'],
  ];
  for (const [a, b, expected] of rows) t.equal(divide(a, b), expected, `${a} / ${b}`);
  const nonZero = canonical.filter((text) => text !== '0');
  fc.assert(
    fc.property(canonical, nonZero, (a, b) => divide(a, b) === toText(new Quotient(a).div(b))),
    runs,
  );
  fc.assert(
    fc.property(canonical, fc.integer({ min: 1, max: 12 }), (a, k) => {
      const b = `0.${'0'.repeat(k)}5`;
      return divide(a, b) === toText(new Quotient(a).div(b));
    }),
    runs,
  );
  t.end();
});

t.test('a binary64 prints as its shortest decimal without exponent, for every vector', (t) => {
  const file = readFileSync(new URL('../fixtures/jcs/es6-numbers-1000.csv', import.meta.url));
  const stated = 'be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687';
  t.equal(createHash('sha256').update(file).digest('hex'), stated, 'the vectors are the published ones');
  const lines = file.toString().trim().split('\n');
  t.equal(lines.length, 1_000);
  const failed = lines.filter((line) => {
    const [hex = '', expected = ''] = line.split(',');
    const n = Buffer.from(hex.padStart(16, '0'), 'hex').readDoubleBE();
    return formatDouble(n) !== toText(new Exact(expected)) || Number(formatDouble(n)) !== n;
  });
  t.same(failed, []);
  for (const n of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    t.throws(() => formatDouble(n), DecimalError);
  t.end();
});

t.test('a figure fits a double when the double gives the same digits back', (t) => {
  for (const text of ['0', '0.1', '63120.45', '-1000', '0.0000001', '9007199254740992', '1'.padEnd(22, '0')])
    t.ok(isExactDouble(text), text);
  for (const text of ['9007199254740993', '0.1234567890123456789', '1'.padEnd(400, '0')])
    t.notOk(isExactDouble(text), text.slice(0, 20));
  t.end();
});

t.test("a stored double's text, however the store writes it, gives the shortest digits of its double", (t) => {
  const doubles = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.nat(12)).map(([whole, scale]) => whole / 10 ** scale),
  );
  const forms = fc.constantFrom(
    (n: number) => String(n),
    (n: number) => n.toExponential(),
    (n: number) => (Number.isInteger(n) && Math.abs(n) < 1e15 ? n.toFixed(1) : String(n)),
    (n: number) => (Math.abs(n) < 1e9 && Math.abs(n) > 1e-6 ? new Exact(n).toFixed(17) : String(n)),
    (n: number) => `0${String(Math.abs(n))}`,
  );
  fc.assert(
    fc.property(doubles, forms, (n, write) => joinFigure(write(n), undefined) === formatDouble(Number(write(n)) || 0)),
    { numRuns: 20_000 },
  );
  for (const nothing of [null, 'NaN']) t.equal(joinFigure(nothing, undefined), null, 'nothing is stored');
  t.equal(joinFigure('0.1', '0.10000000000000000001'), '0.10000000000000000001', 'exact digits go before the double');
  t.throws(() => joinFigure('many', undefined), DecimalError, 'no number is not zero');
  t.end();
});

t.test('a sum of figures that may be absent has those that are there, and is absent while none is', (t) => {
  const figures = fc.array(fc.option(digits));
  fc.assert(
    fc.property(figures, (given) => {
      const there = given.filter((one) => one !== null);
      const expected = there.length === 0 ? null : there.reduce((sum, one) => add(sum, one), '0');
      return given.reduce<string | null>(addPresent, null) === expected;
    }),
  );
  t.equal(addPresent('1.5', null), '1.5');
  t.equal(addPresent(null, '0'), '0', 'zero is a figure');
  t.end();
});
