// Machine forms of valid queries: typed by the language's own tables, small enough to be within its limits; and invalid forms and texts.
import fc from 'fast-check';
import type { CodeKey, Codes } from '../../../api/language/codes.ts';
import { FIELDS, SOURCES } from '../../../api/language/fields.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { TIMEFRAMES } from '../../../api/language/limits.ts';
import { STATUSES } from '../../../api/language/tree.ts';
import { BANDS } from '../../../schemas/layers/book-bands.ts';
import { CODES } from './codes.ts';

export type Json = Readonly<Record<string, unknown>>;

const fields = [...FIELDS.values()];
const listNames = (wanted: (field: (typeof fields)[number]) => boolean) =>
  fields.filter(wanted).map(({ name }) => name);
const field = (names: readonly string[]) => fc.constantFrom(...names).map((name): Json => ({ type: 'field', name }));
const source = fc.constantFrom(...SOURCES.keys()).map((name): Json => ({ type: 'source', name }));

/** More digits than a double has: only text and strings carry them. */
const TOO_LONG = '123456789012345678901234567890.5';
/** The largest and the smallest that a text may write (DQL-34d). */
const BEYOND_DOUBLES = `1${'0'.repeat(400)}`;
const BELOW_DOUBLES = `0.${'0'.repeat(399)}1`;
const digits = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }),
  fc.double({ min: -1e9, max: 1e9, noNaN: true }),
  fc.constantFrom(
    '0.0001',
    '1000000',
    '-0',
    '-0.50',
    '0.10',
    '5',
    '100.25',
    '0.000001',
    TOO_LONG,
    BEYOND_DOUBLES,
    BELOW_DOUBLES,
  ),
);
const number = digits.map((value): Json => ({ type: 'number', value }));
const count = fc
  .oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 60 }) }, fc.integer({ min: 1, max: 500 }))
  .map((value): Json => ({ type: 'number', value }));
const percent = fc.integer({ min: 1, max: 100 }).map((value): Json => ({ type: 'number', value }));
const durationText = fc
  .tuple(fc.integer({ min: 0, max: 9999 }), fc.constantFrom('s', 'm', 'h', 'd'))
  .map(([n, unit]) => `${n}${unit}`);
const duration = durationText.map((value): Json => ({ type: 'duration', value }));
const anyCase = (code: string) => fc.constantFrom(code, code.toLowerCase(), code.toUpperCase());
const arith = (left: fc.Arbitrary<Json>, right: fc.Arbitrary<Json>, operators = ['+', '-', '*', '/']) =>
  fc.record({ type: fc.constant('arith'), op: fc.constantFrom(...operators), left, right });
const compare = (left: fc.Arbitrary<Json>, right: fc.Arbitrary<Json>) =>
  fc.record({ type: fc.constant('cmp'), op: fc.constantFrom('=', '<', '>', '<=', '>='), left, right });
const call = (name: string, ...args: fc.Arbitrary<Json>[]): fc.Arbitrary<Json> =>
  fc.tuple(...args).map((made): Json => ({ type: 'call', name, args: made }));
const named = (parameters: string): string[] =>
  [...FUNCTIONS.values()].filter((spec) => spec.parameters.join() === parameters).map(({ name }) => name);

const sampleable = field(listNames((f) => f.sampleable));
const venueNumbers = field(listNames((f) => f.scope === 'venue' && f.type === 'number'));
const status = call('status', sampleable).chain((left) =>
  fc.constantFrom(...STATUSES).map((value): Json => ({ type: 'cmp', op: '=', left, right: { type: 'status', value } })),
);

/** Names that a query may use. */
export type Names = {
  readonly codes: Codes;
  /** Instants behind `as of`. */
  readonly instants: fc.Arbitrary<string>;
};
type CodeOf = (key: CodeKey) => fc.Arbitrary<string>;

/** Expressions inside a quantifier; series take their timeframe from the clause or repeat it. */
const venueTree = (timeframe: string, codeOf: CodeOf) =>
  fc.letrec<Record<'series' | 'number' | 'condition', Json>>((tie) => {
    const timed = (made: fc.Arbitrary<Json>) =>
      fc.tuple(made, fc.boolean()).map(([node, own]): Json => (own ? { ...node, timeframe } : node));
    const windowed = fc
      .constantFrom(...named('series,window'))
      .chain((name) => timed(call(name, tie('series'), count)));
    const method = fc
      .constantFrom('nearest-rank', 'nearest_rank', 'linear')
      .map((value): Json => ({ type: 'code', value }));
    return {
      series: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        source,
        sampleable,
        windowed,
        timed(call('percentile', tie('series'), count, percent, method)),
        call('abs', tie('series')),
        arith(tie('series'), number),
      ),
      number: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        venueNumbers,
        number,
        source,
        windowed,
        timed(fc.constantFrom('atr', 'gaps').chain((name) => call(name, count))),
        fc.constantFrom(...named('band')).chain((name) =>
          call(
            name,
            fc.constantFrom(...BANDS).map((value): Json => ({ type: 'code', value })),
          ),
        ),
        call('abs', tie('number')),
        arith(tie('number'), tie('number')),
        arith(field(['funding_interval']), duration, ['/']),
      ),
      condition: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        compare(tie('number'), tie('number')),
        compare(call('age', venueNumbersOfLayers), duration),
        status,
        fc.constantFrom('crossover', 'crossunder').chain((name) => timed(call(name, tie('series'), number))),
        fc
          .record({ key: fc.constantFrom('venue' as const, 'quote' as const), more: fc.integer({ min: 1, max: 3 }) })
          .chain(({ key, more }) =>
            fc.array(codeOf(key), { minLength: more, maxLength: more }).map(
              (codes): Json => ({
                type: 'in',
                left: { type: 'field', name: key },
                values: codes.map((value) => ({ type: 'code', value })),
              }),
            ),
          ),
        fc.record({
          type: fc.constantFrom('and', 'or'),
          args: fc.array(tie('condition'), { minLength: 2, maxLength: 3 }),
        }),
      ),
    };
  });

const venueNumbersOfLayers = field(listNames((f) => f.layer !== 'reference' && f.type === 'number'));

/** Known names in any combination: many of them select nothing, and those of one venue mostly something. */
const makeSelection = (codeOf: CodeOf) => {
  const base = fc.array(codeOf('base'), { minLength: 1, maxLength: 3 });
  const [instrument, quote, venue] = [codeOf('instrument'), codeOf('quote'), codeOf('venue')];
  const symbol = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
  return fc.oneof(
    { weight: 2, arbitrary: fc.record({ base, venue }, { requiredKeys: ['venue'] }) },
    { weight: 1, arbitrary: fc.record({ instrument, base, quote, venue, symbol }, { requiredKeys: ['quote'] }) },
  );
};

const additive = field(listNames((f) => f.additive));
const codeTest = (codeOf: CodeOf) =>
  fc
    .constantFrom('base' as const, 'instrument' as const)
    .chain((key) =>
      codeOf(key).map(
        (value): Json => ({ type: 'cmp', op: '=', left: { type: 'field', name: key }, right: { type: 'code', value } }),
      ),
    );

const validAt = (timeframe: string, { codes, instants }: Names): fc.Arbitrary<Json> => {
  const codeOf: CodeOf = (key) => fc.constantFrom(...codes[key].values()).chain(anyCase);
  const { number: value, condition } = venueTree(timeframe, codeOf);
  const quantified = fc.record({ type: fc.constantFrom('any', 'all'), where: condition });
  const amount = fc.oneof(
    fc.record({ type: fc.constant('count'), where: condition }),
    fc.record({ type: fc.constant('agg'), fn: fc.constantFrom('max', 'min'), expr: value }),
    fc.record({ type: fc.constant('agg'), fn: fc.constantFrom('max', 'min'), expr: value, where: condition }),
    fc.record({ type: fc.constant('agg'), fn: fc.constant('sum'), expr: additive, where: condition }),
    field(['venues_listed', 'venues_answered']),
  );
  const top = fc.oneof(quantified, codeTest(codeOf), compare(arith(amount, number), amount), compare(amount, number));
  const whole = fc.oneof(
    top,
    fc.record({ type: fc.constantFrom('and', 'or'), args: fc.array(top, { minLength: 2, maxLength: 3 }) }),
  );
  return fc.record(
    {
      dql: fc.constant('1'),
      condition: whole,
      timeframe: fc.constant(timeframe),
      as_of: instants,
      where: makeSelection(codeOf),
      select: fc.array(fc.oneof(value, amount, condition), { minLength: 1, maxLength: 2 }),
      order_by: fc.array(
        fc.record({ expr: fc.oneof(amount, field(['instrument'])), dir: fc.constantFrom('asc', 'desc') }),
        {
          minLength: 1,
          maxLength: 2,
        },
      ),
    },
    { requiredKeys: ['dql', 'timeframe'] },
  );
};

/** A valid query, apart from the limits. */
export const validQueries = (names: Names): fc.Arbitrary<Json> =>
  fc.constantFrom(...TIMEFRAMES).chain((timeframe) => validAt(timeframe, names));

export const queries = validQueries({
  codes: CODES,
  instants: fc.constantFrom('2026-01-01', '2026-01-01T09:30:00.5+02:00'),
});

/** Pieces of a valid object replaced by anything. */
export const spoiledObjects: fc.Arbitrary<unknown> = fc
  .tuple(queries, fc.array(fc.tuple(fc.nat(60), fc.jsonValue()), { maxLength: 3 }))
  .map(([object, changes]) => {
    let place = 0;
    return JSON.parse(JSON.stringify(object), (_key, value: unknown) => {
      place++;
      const change = changes.find(([at]) => at === place);
      return change === undefined ? value : change[1];
    }) as unknown;
  });

const WORDS = [
  ...[...FIELDS.keys()].slice(0, 30),
  ...['close', 'volume', ...FUNCTIONS.keys()],
  ...'any all count max min sum venues where timeframe as of select order by asc desc and or in'.split(' '),
  ...['BTC', 'USDT', 'binance', 'present', '1h', '7m', '0', '1.5', '1e6', '1e400', '1bps', '5%', '10bps', '20', '501'],
  ...['"BTCUSDT"', '"', '2026-01-01', '2026-01-01T00:00', 'nearest-rank', 'linear', '1E5', '.5', '!=', '&&', '\u0000'],
  ...['=', '<', '>', '<=', '>=', '+', '-', '*', '/', '(', ')', ',', '(', ')', '((((', '----', '币', '\n'],
];

/** Texts that look like queries: tokens of the language in any order, long runs of one of them, broken pieces. */
export const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...WORDS), { maxLength: 60 }).map((words) => words.join(' ')),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 30 }).map((words) => words.join('')),
  fc
    .tuple(fc.constantFrom(...WORDS, 'abs(', 'any(venues where ', '1+', 'x and '), fc.nat(3_000))
    .map(([word, n]) => word.repeat(n).slice(0, 8_192)),
  fc.string({ unit: 'binary', maxLength: 200 }),
);
