// Figures as text: exact shifts, rounding by the decimal rule, ages in one unit.
import t from 'tap';
import {
  alignPoints,
  type Form,
  formatAgeMs,
  formatForm,
  formatQuantity,
  formatShortQuantity,
  formatSpan,
  groupThousands,
  roundDigits,
  shiftPoint,
} from '../../../../api/explorer/board/figure-text.ts';
import { createRandom } from '../../../support/mutations.ts';

t.test('the point is moved without a figure being calculated', (t) => {
  for (const [digits, places, moved] of [
    ['0.00009985', 2, '0.009985'],
    ['-0.0000024959754082528627', 4, '-0.024959754082528627'],
    ['12.5', 4, '125000'],
    ['0', 4, '0'],
    ['-0.01', 2, '-1'],
    ['1e-7', 2, '1e-7'],
  ] as const)
    t.equal(shiftPoint(digits, places), moved);
  t.end();
});

t.test('rounding is half away from zero, with carries, and keeps no sign of a zero', (t) => {
  for (const [digits, decimals, rounded] of [
    ['0.009985', 4, '0.0100'],
    ['9.9995', 3, '10.000'],
    ['-0.00004', 4, '0.0000'],
    ['-1.25', 1, '-1.3'],
    ['99.5', 0, '100'],
    ['7', 2, '7.00'],
  ] as const)
    t.equal(roundDigits(digits, decimals), rounded);
  t.end();
});

t.test('a quantity names its unit, and one in the quote currency its currency', (t) => {
  t.equal(formatQuantity('151718', 'contracts', 'USDT'), '151\u202f718 contracts');
  t.equal(formatQuantity('1675309', 'base', 'USD'), '1.675M base');
  t.equal(formatQuantity('169000000', 'quote', 'USD'), '169.0M USD');
  t.equal(formatQuantity('169000000', 'quote', undefined), '169.0M quote');
  t.equal(formatQuantity('169000000', 'quote', ''), '169.0M', 'where the currency is named beside it');
  t.end();
});

t.test('rounding agrees with whole numbers of any length', (t) => {
  const random = createRandom(3);
  for (let round = 0; round < 3_000; round++) {
    const scale = 1 + random(8);
    const decimals = random(scale + 1);
    const units = BigInt(random(1_000_000_000)) * (random(2) === 0 ? 1n : -1n);
    const [size, unit] = [units < 0n ? -units : units, 10n ** BigInt(scale - decimals)];
    const text = size.toString().padStart(scale + 1, '0');
    const digits = `${units < 0n ? '-' : ''}${text.slice(0, -scale)}.${text.slice(-scale)}`;
    const expected = ((size + unit / 2n) / unit).toString().padStart(decimals + 1, '0');
    const got = roundDigits(digits, decimals).replace('-', '').replace('.', '');
    if (got !== expected) t.equal(got, expected, `${digits} to ${decimals}`);
  }
  t.pass('3000 figures');
  t.end();
});

t.test('a figure is shown in the form of its measure', (t) => {
  for (const [form, digits, text] of [
    ['rate', '0.00009985', '+0.0100 %'],
    ['rate', '-0.0000125', '\u22120.0013 %'],
    ['rate', '0', '0.0000 %'],
    ['bps', '0.0000186617561846709654', '+0.19 bps'],
    ['width', '0.0000010308263464782592', '0.01 bps'],
    ['price', '97009.6', '97\u202f009.6'],
    ['price', '97009.60', '97\u202f009.60'],
    ['price', '96995.01722774', '96\u202f995.0172'],
    ['price', '99999.99996', '100\u202f000.0000'],
    ['price', '123456789.5', '123\u202f456\u202f790'],
    ['price', '0.523456789', '0.5234568'],
    ['price', '0.0000123456789', '0.00001234568'],
    ['price', '0.0000000000012345', '0.00000000000123'],
    ['price', '0.00', '0.00'],
    ['digits', '96995.01722774', '96\u202f995.01722774'],
    ['quantity', '1284000.5', '1.284M'],
    ['quantity', '97010.4', '97\u202f010'],
    ['quantity', '0.04210000', '0.0421'],
    ['quantity', '45600000000', '45.600B'],
    ['quantity', '12.345', '12.35'],
  ] as const satisfies readonly (readonly [Form, string, string])[])
    t.equal(formatForm(form, digits), text, `${form} ${digits}`);
  t.equal(groupThousands('1234567.1234567'), '1\u202f234\u202f567.1234567', 'decimals are not grouped');
  t.equal(formatShortQuantity('not a number'), 'not a number');
  t.end();
});

t.test('a price takes fourteen characters at most, and is nothing only when it is nothing', (t) => {
  const random = createRandom(5);
  for (let round = 0; round < 3_000; round++) {
    const whole = random(2) === 0 ? '0' : String(random(10 ** (1 + random(9))));
    const fraction = `${'0'.repeat(random(8))}${1 + random(999_999_999)}`;
    const text = formatForm('price', `${whole}.${fraction}`);
    if (text.length > 14 || !/[1-9]/.test(text)) t.fail(`${whole}.${fraction} is ${text}`);
  }
  t.pass('3000 prices');
  t.end();
});

t.test('an age is shown in its largest whole unit', (t) => {
  t.same([-5, 999, 59_999, 60_000, 3_599_999, 7_200_000, 200_000_000].map(formatAgeMs), [
    '0 s',
    '0 s',
    '59 s',
    '1 min',
    '59 min',
    '2 h',
    '2 d',
  ]);
  t.end();
});

t.test('points of a column stand below each other, and no digit is added', (t) => {
  t.same(alignPoints(['97 187', '97 185.1', '97 180.25']), ['97 187\u2008\u2007\u2007', '97 185.1\u2007', '97 180.25']);
  t.same(alignPoints(['12', '3']), ['12', '3']);
  t.same(alignPoints([]), []);
  t.end();
});

t.test('a span names its day once, and its milliseconds where it is shorter than a second', (t) => {
  const at = (text: string): number => Date.parse(`${text}Z`);
  for (const [from, to, shown] of [
    ['2026-11-29T06:39:03.100', '2026-11-29T06:40:00.900', '2026-11-29 06:39:03 to 06:40:00'],
    ['2026-11-28T06:39:03.100', '2026-11-29T06:39:03.100', '2026-11-28 06:39:03 to 2026-11-29 06:39:03'],
    ['2026-11-29T06:39:03.100', '2026-11-29T06:39:03.904', '2026-11-29 06:39:03.100 to 06:39:03.904'],
    ['2026-11-29T06:39:03.100', '2026-11-29T06:39:04.100', '2026-11-29 06:39:03 to 06:39:04'],
    ['2026-11-29T23:59:59.900', '2026-11-30T00:00:00.100', '2026-11-29 23:59:59.900 to 2026-11-30 00:00:00.100'],
  ] as const)
    t.equal(formatSpan(at(from), at(to)), shown);
  t.end();
});
