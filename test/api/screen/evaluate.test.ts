// Values of conditions over listings whose values are present, stale or absent (DQL-14 to DQL-24, Annex B).
import t from 'tap';
import { compile } from '../../../api/language/compile.ts';
import { COMPARISONS } from '../../../api/language/operators.ts';
import { type Environment, evaluate, type Leaf } from '../../../api/screen/evaluate.ts';
import {
  compare,
  joinAnd,
  joinOr,
  makeUnknown,
  type Truth,
  toInterval,
  toNumber,
  type Value,
} from '../../../api/screen/values.ts';
import { CODES } from '../language/codes.ts';

type Listing = { readonly venue: string; readonly values: Readonly<Record<string, Value>> };
const STALE = makeUnknown('stale', 'connection_lost');

/** One instrument, three listings: two that are known, one whose every layer is stale. */
const LISTINGS: readonly Listing[] = [
  { venue: 'binance', values: { funding: toNumber(0.0003), turnover_24h: toNumber(0.1), mark: toNumber(10) } },
  { venue: 'bybit', values: { funding: toNumber(0.00005), turnover_24h: toNumber(0.2), mark: toNumber(12) } },
  { venue: 'okx', values: { funding: STALE, turnover_24h: STALE, mark: STALE, oi: makeUnknown('off', 'policy_off') } },
];

const makeStatus = (value: Value): Value => ({
  kind: 'text',
  value: value.kind === 'unknown' ? value.status : 'present',
});

const read = (leaf: Leaf, listing: Listing | null): Value => {
  if (leaf.name === 'venues_listed') return toNumber(LISTINGS.length);
  if (listing === null) throw new Error(`${leaf.name} is read at no listing`);
  if (leaf.name === 'venue') return { kind: 'text', value: listing.venue };
  const name = leaf.type === 'call' && leaf.args[0]?.type === 'field' ? leaf.args[0].name : leaf.name;
  const value = listing.values[name] ?? makeUnknown('not_published', 'venue_capability');
  return leaf.name === 'status' ? makeStatus(value) : value;
};

const evaluateWorth = (text: string, elements = LISTINGS): Value => {
  const { condition } = compile({ text }, CODES).query;
  const environment: Environment<Listing> = { elements, read };
  return condition === null ? makeUnknown('missing', 'no_value') : evaluate(condition, environment, null);
};
const findResult = (text: string, elements = LISTINGS): Truth => {
  const value = evaluateWorth(text, elements);
  return value.kind === 'truth' ? value.value : null;
};

t.test('the three-valued cases of Annex B', async (t) => {
  const cases: readonly (readonly [string, Truth])[] = [
    ['any(venues where funding > 1bps)', true],
    ['any(venues where funding > 5bps)', null],
    ['all(venues where funding > 1bps)', false],
    ['all(venues where funding > 0)', null],
    ['count(venues where funding > 1bps) >= 1', true],
    ['count(venues where funding > 1bps) >= 2', null],
    ['count(venues where funding > 1bps) >= 3', false],
    ['max(venues, funding) > 1bps', true],
    ['max(venues, funding) < 5bps', null],
    ['min(venues, funding) < 1bps', true],
    ['max(venues where status(funding) = present, funding) < 5bps', true],
    ['sum(venues, turnover_24h) > 0', null],
    ['any(venues where status(funding) = stale)', true],
    ['any(venues where funding / 0 > 1)', null],
  ];
  for (const [text, expected] of cases) t.equal(findResult(text), expected, text);
});

t.test('the truth tables of DQL-14', async (t) => {
  const [T, F, U] = [true, false, null];
  const values: readonly Truth[] = [T, F, U];
  const table = (join: (truths: readonly Truth[]) => Truth) => values.map((a) => values.map((b) => join([a, b])));
  t.same(table(joinAnd), [
    [T, F, U],
    [F, F, F],
    [U, F, U],
  ]);
  t.same(table(joinOr), [
    [T, T, T],
    [T, F, U],
    [T, U, U],
  ]);
});

t.test('an interval compares as every value within it does (DQL-17)', async (t) => {
  for (const op of COMPARISONS) {
    for (let k = 0; k <= 5; k++) {
      const each = [2, 3].map((n) => compare(op, toNumber(n), toNumber(k)));
      const expected = each[0] === each[1] ? (each[0] ?? null) : null;
      // Equality with a value between the bounds may hold.
      t.equal(compare(op, toInterval(2, 3), toNumber(k)), expected, `2..3 ${op} ${k}`);
      const mirrored = { '=': '=', '<': '>', '>': '<', '<=': '>=', '>=': '<=' }[op] as typeof op;
      t.equal(compare(mirrored, toNumber(k), toInterval(2, 3)), expected, `${k} ${mirrored} 2..3`);
    }
  }
  t.equal(compare('>', toInterval(1, 2), toInterval(0, 1)), null);
  t.same(toInterval(2, 2), toNumber(2));
});

t.test(
  'an element without the layer does not take part, any other unknown one is open (DQL-21 to DQL-24)',
  async (t) => {
    const known = LISTINGS.slice(0, 2);
    t.equal(findResult('sum(venues, turnover_24h) > 0.2', known), true);
    t.equal(findResult('sum(venues, oi) > 0'), null);
    t.equal(findResult('max(venues, oi) > 0'), null);
    t.equal(findResult('max(venues where venue in (binance, bybit), mark) = 12'), true);
    t.equal(findResult('max(venues where funding > 1bps, mark) >= 10'), true);
    t.equal(findResult('max(venues where funding > 1bps, mark) < 11'), null);
    t.equal(findResult('max(venues, mark) - min(venues, mark) = 2', known), true);
    t.equal(findResult('max(venues, mark) - min(venues, mark) = 2'), null);
    t.equal(findResult('abs(min(venues, mark) - 12) = venues_listed - 1'), null);
    t.equal(findResult('abs(min(venues, mark) - 12) = venues_listed - 1', known), true);
  },
);

t.test('the first unknown by status, then reason, is the cause (DQL-33f)', async (t) => {
  const { select } = compile({ text: 'select sum(venues, turnover_24h), sum(venues, oi)' }, CODES).query;
  const values = select.map((node) => evaluate(node, { elements: LISTINGS, read }, null));
  t.same(values, [STALE, makeUnknown('missing', 'no_value')]);
});
