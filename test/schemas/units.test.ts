// Conversions of quantities, each expected figure worked by hand beside its row (N-07, H-16e, H-16l).
import fc from 'fast-check';
import t from 'tap';
import { multiply } from '../../schemas/decimals.ts';
import type { QuantityUnit } from '../../schemas/records.ts';
import {
  chooseQuantityUnit,
  convertQuantity,
  needsMark,
  type QuantityRule,
  type UnitsMode,
} from '../../schemas/units.ts';

const rule = (
  venue_kind: QuantityRule['venue_kind'],
  multiplier: string | null,
  contract_size: string | null,
): QuantityRule => ({
  venue_kind,
  multiplier,
  contract_size,
});
const LINEAR = rule('linear', '1', '1');
const SIZED = rule('linear', '1', '0.01');
const THOUSANDS = rule('linear', '1000', '1');
const INVERSE = rule('inverse', '1', '100');
const QUANTO = rule('quanto', '1', '0.000001');

type Row = readonly [
  name: string,
  listing: QuantityRule,
  unit: QuantityUnit,
  mode: UnitsMode,
  digits: string,
  mark: string | null,
  expected: string | null,
];

const ROWS: readonly Row[] = [
  ['published is as the venue sent it', QUANTO, 'contracts', 'published', '5', null, '5'],
  ['linear amounts are base already', LINEAR, 'base', 'base', '1.25', null, '1.25'],
  ['linear amounts of thousands: 3 × 1000', THOUSANDS, 'base', 'base', '3', null, '3000'],
  ['linear contracts: 7 × 0.01', SIZED, 'contracts', 'base', '7', null, '0.07'],
  ['inverse contracts: 5 × 100 / 50000', INVERSE, 'contracts', 'base', '5', '50000', '0.01'],
  ['inverse contracts: 1 × 100 / 3, rounded once', INVERSE, 'contracts', 'base', '1', '3', '33.3333333333333333'],
  ['quote amounts: 500 / 50000', rule('inverse', '1', '1'), 'quote', 'base', '500', '50000', '0.01'],
  ['quote amounts of thousands: 6 × 1000 / 0.012', THOUSANDS, 'quote', 'base', '6', '0.012', '500000'],
  ['linear amounts in quote: 1.25 × 63120.4', LINEAR, 'base', 'quote', '1.25', '63120.4', '78900.5'],
  ['thousands in quote: 3 × 0.012, the multiplier cancels', THOUSANDS, 'base', 'quote', '3', '0.012', '0.036'],
  ['linear contracts in quote: 7 × 0.01 × 50000', SIZED, 'contracts', 'quote', '7', '50000', '3500'],
  ['inverse contracts in quote: 5 × 100, no mark', INVERSE, 'contracts', 'quote', '5', null, '500'],
  ['quote amounts in quote', rule('inverse', '1', '1'), 'quote', 'quote', '500', null, '500'],
  ['quanto has no base', QUANTO, 'contracts', 'base', '5', '50000', null],
  ['quanto has no quote', QUANTO, 'contracts', 'quote', '5', '50000', null],
  ['unknown multiplier, base', rule('linear', null, '1'), 'base', 'base', '5', '2', null],
  ['unknown multiplier, quote', rule('linear', null, '1'), 'base', 'quote', '5', '2', null],
  ['unknown contract size, base', rule('linear', '1', null), 'contracts', 'base', '5', '2', null],
  ['unknown contract size, inverse quote', rule('inverse', '1', null), 'contracts', 'quote', '5', '2', null],
  ['unknown kind of contracts', rule(null, '1', '1'), 'contracts', 'base', '5', '2', null],
  ['no mark, inverse base', INVERSE, 'contracts', 'base', '5', null, null],
  ['no mark, linear quote', LINEAR, 'base', 'quote', '5', null, null],
  ['a mark of zero divides nothing', INVERSE, 'contracts', 'base', '5', '0', null],
];

t.test('quantities convert as the table of N-07 defines', (t) => {
  for (const [name, listing, unit, mode, digits, mark, expected] of ROWS) {
    t.equal(convertQuantity({ digits, unit, mode, listing, mark }), expected, name);
  }
  t.end();
});

t.test('a quote figure is an exact product, never rounded to 18 digits (H-16e)', (t) => {
  const figure = fc.stringMatching(/^[1-9][0-9]{0,9}\.[0-9]{0,8}[1-9]$/);
  fc.assert(
    fc.property(figure, figure, (digits, mark) => {
      const quote = convertQuantity({ digits, unit: 'base', mode: 'quote', listing: THOUSANDS, mark });
      return quote === multiply(digits, mark);
    }),
  );
  t.end();
});

t.test('the mark is read exactly when the formula has it', (t) => {
  for (const [name, listing, unit, mode, digits] of ROWS) {
    const [withMark, without] = ['7', null].map((mark) => convertQuantity({ digits, unit, mode, listing, mark }));
    if (withMark === null) continue;
    t.equal(needsMark(unit, mode, listing), without === null, name);
  }
  t.end();
});

t.test('a converted quantity states the unit of its mode (N-08)', (t) => {
  t.equal(chooseQuantityUnit('contracts', 'published'), 'contracts');
  t.equal(chooseQuantityUnit('contracts', 'base'), 'base');
  t.equal(chooseQuantityUnit('base', 'quote'), 'quote');
  t.end();
});
