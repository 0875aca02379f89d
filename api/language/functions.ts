// The one table of functions, from which checker, cost, catalogue and documents are made (interface, DQL functions; DQL-24, DQL-28, DQL-31).
import { RULES, type Rule } from './indicators.ts';

/** How a call gets its value: over windows of its series, over two series, over trade candles, from a layer, or from its argument. */
type How =
  | { readonly by: 'window'; readonly rule: Rule }
  | { readonly by: 'cross'; readonly holds: (a: number, b: number) => boolean }
  | { readonly by: 'candles'; readonly what: 'atr' | 'gaps' }
  | { readonly by: 'layer'; readonly what: 'age' | 'status' | 'depth' }
  | { readonly by: 'argument' };

/** The kind of an argument of a call. */
export type Parameter =
  /** Read at a timeframe: source, sampleable field, series function, arithmetic over these and numbers (DQL-33i). */
  | 'series'
  /** A series, or a number as a constant one. */
  | 'operand'
  /** A number, a series element by element. */
  | 'value'
  /** Whole number literal 1 to 500. */
  | 'window'
  /** Number literal above 0, at most 100. */
  | 'percent'
  | 'method'
  | 'band'
  /** A venue field of a layer, named and not read. */
  | 'field';

type Given = {
  /** Most bars of any series argument. */
  readonly series: number;
  /** The window argument; 0 without one. */
  readonly n: number;
};

export type FunctionSpec = {
  readonly name: string;
  readonly signature: string;
  readonly parameters: readonly Parameter[];
  /** How many of the last parameters may be left out. */
  readonly optional: number;
  readonly returns: 'series' | 'number' | 'boolean' | 'duration' | 'status' | 'argument';
  readonly scope: 'instrument' | 'venue';
  readonly layer: string;
  readonly unit: string;
  /** Reads periods: takes a trailing timeframe, counts as a series call and an atom (DQL-30). */
  readonly readsPeriods: boolean;
  /** Allowed as the S of another (DQL-33i). */
  readonly isSeries: boolean;
  /** Whether a sum may add its results: as its argument may, always, never (DQL-24). */
  readonly additive: 'argument' | 'always' | 'never';
  readonly bars: (given: Given) => number;
  readonly barsText: string;
  /** Cost of a distinct call beyond nodes and bars (DQL-32). */
  readonly cost: number;
  readonly how: How;
  readonly description: string;
  /** A whole query that uses it. */
  readonly example: string;
};

const DEPTH_COST = 25;

type Described = Pick<FunctionSpec, 'name' | 'signature' | 'bars' | 'barsText' | 'how' | 'description' | 'example'>;

/** A function over the newest periods of a series. */
const makeSeries = (told: Described & Partial<FunctionSpec>): FunctionSpec => ({
  parameters: ['series', 'window'],
  optional: 0,
  returns: 'series',
  scope: 'venue',
  layer: 'candles',
  unit: 'argument',
  readsPeriods: true,
  isSeries: true,
  additive: 'never',
  cost: 0,
  ...told,
});

const makeCross = (told: Pick<FunctionSpec, 'name' | 'how' | 'description' | 'example'>): FunctionSpec =>
  makeSeries({
    signature: `${told.name}(A, B [, timeframe])`,
    parameters: ['operand', 'operand'],
    returns: 'boolean',
    unit: 'code',
    isSeries: false,
    bars: (given) => given.series + 1,
    barsText: 'max(bars(A), bars(B)) + 1',
    ...told,
  });

const makePlain = (
  told: Pick<
    FunctionSpec,
    'name' | 'signature' | 'parameters' | 'returns' | 'layer' | 'unit' | 'how' | 'description' | 'example'
  > &
    Partial<FunctionSpec>,
): FunctionSpec => ({
  optional: 0,
  scope: 'venue',
  readsPeriods: false,
  isSeries: false,
  additive: 'never',
  bars: () => 0,
  barsText: '0',
  cost: 0,
  ...told,
});

const makeDepth = (name: string, unit: string, description: string): FunctionSpec =>
  makePlain({
    name,
    signature: `${name}(band)`,
    parameters: ['band'],
    returns: 'number',
    layer: 'venue_depth',
    unit,
    additive: 'always',
    cost: DEPTH_COST,
    how: { by: 'layer', what: 'depth' },
    description,
    example: `any(venues where ${name}(10bps) > 1000)`,
  });

type Windowed = Omit<Described, 'bars' | 'barsText' | 'signature' | 'how' | 'name'> & Partial<FunctionSpec>;
type RuleName = keyof typeof RULES;
const makeWindowRule = (rule: Rule): How => ({ by: 'window', rule });

/** S over n periods, ending with the newest. */
const makeWindow = (told: Windowed & { readonly name: RuleName }): FunctionSpec =>
  makeSeries({
    how: makeWindowRule(RULES[told.name]),
    signature: `${told.name}(S, n [, timeframe])`,
    bars: (given) => given.series + given.n - 1,
    barsText: 'bars(S) + n - 1',
    ...told,
  });

/** S against its element n periods back. */
const makeShift = (told: Windowed & { readonly name: RuleName }): FunctionSpec =>
  makeSeries({
    how: makeWindowRule(RULES[told.name]),
    signature: `${told.name}(S, n [, timeframe])`,
    bars: (given) => given.series + given.n,
    barsText: 'bars(S) + n',
    ...told,
  });

const TABLE: readonly FunctionSpec[] = [
  makeShift({
    name: 'prev',
    signature: 'prev(S, k [, timeframe])',
    barsText: 'bars(S) + k',
    additive: 'argument',
    description: 'The element k periods before the newest.',
    example: 'any(venues where close > prev(close, 1)) timeframe 1h',
  }),
  makeWindow({
    name: 'sma',
    additive: 'argument',
    description: 'Simple moving average.',
    example: 'any(venues where close > sma(close, 20)) timeframe 1h',
  }),
  makeSeries({
    name: 'ema',
    how: makeWindowRule(RULES.ema),
    signature: 'ema(S, n [, timeframe])',
    bars: (given) => given.series + 4 * given.n - 1,
    barsText: 'bars(S) + 4n - 1',
    description: 'Exponential moving average over a fixed window of 4n.',
    example: 'any(venues where ema(close, 20) > ema(close, 50)) timeframe 1h',
  }),
  makeSeries({
    name: 'rsi',
    how: makeWindowRule(RULES.rsi),
    signature: 'rsi(S, n [, timeframe])',
    unit: 'count',
    bars: (given) => given.series + 4 * given.n,
    barsText: 'bars(S) + 4n',
    description: 'Relative strength index, 0 to 100, Wilder smoothing over 4n.',
    example: 'any(venues where rsi(close, 14, 1h) < 30)',
  }),
  makeSeries({
    name: 'atr',
    how: { by: 'candles', what: 'atr' },
    signature: 'atr(n [, timeframe])',
    parameters: ['window'],
    unit: 'quote',
    bars: (given) => 4 * given.n + 1,
    barsText: '4n + 1',
    description: 'Average true range of trade candles, Wilder smoothing over 4n.',
    example: 'any(venues where close - open > 2 * atr(14)) timeframe 4h',
  }),
  makeWindow({
    name: 'stdev',
    description: 'Population standard deviation.',
    example: 'any(venues where stdev(close, 60, 1m) / sma(close, 60, 1m) < 10bps)',
  }),
  makeWindow({
    name: 'highest',
    description: 'Largest of the last n.',
    example: 'any(venues where last >= highest(high, 20, 1d))',
  }),
  makeWindow({
    name: 'lowest',
    description: 'Smallest of the last n.',
    example: 'any(venues where last <= lowest(low, 20, 1d))',
  }),
  makeShift({
    name: 'change',
    additive: 'argument',
    description: 'S[0] - S[n].',
    example: 'any(venues where change(mark, 1, 1h) > 100)',
  }),
  makeShift({
    name: 'roc',
    unit: 'fraction',
    description: '(S[0] - S[n]) / S[n].',
    example: 'any(venues where roc(oi, 24, 1h) > 5%)',
  }),
  makeCross({
    name: 'crossover',
    how: { by: 'cross', holds: (a, b) => a > b },
    description: 'A[0] > B[0] and A[1] <= B[1].',
    example: 'any(venues where crossover(ema(close, 20), ema(close, 50))) timeframe 1h',
  }),
  makeCross({
    name: 'crossunder',
    how: { by: 'cross', holds: (a, b) => a < b },
    description: 'A[0] < B[0] and A[1] >= B[1].',
    example: 'any(venues where crossunder(funding, 0, 1h))',
  }),
  makeSeries({
    name: 'gaps',
    how: { by: 'candles', what: 'gaps' },
    signature: 'gaps(n [, timeframe])',
    parameters: ['window'],
    returns: 'number',
    unit: 'count',
    isSeries: false,
    bars: (given) => given.n,
    barsText: 'n',
    description: 'Missing trade candles among the last n.',
    example: 'all(venues where gaps(60, 1m) = 0)',
  }),
  makePlain({
    name: 'abs',
    how: { by: 'argument' },
    signature: 'abs(x)',
    parameters: ['value'],
    returns: 'argument',
    scope: 'instrument',
    layer: 'argument',
    unit: 'argument',
    isSeries: true,
    bars: (given) => given.series,
    barsText: 'bars(x)',
    description: 'Absolute value; of a series, element by element.',
    example: 'any(venues where abs(basis) > 0.5%)',
  }),
  makeWindow({
    name: 'rolling_sum',
    additive: 'argument',
    description: 'Sum of the last n.',
    example: 'any(venues where rolling_sum(volume, 24, 1h) > 1000)',
  }),
  makeWindow({
    name: 'percentile',
    signature: 'percentile(S, n, p [, method] [, timeframe])',
    parameters: ['series', 'window', 'percent', 'method'],
    optional: 1,
    description: 'The p-th percentile of the last n; method nearest-rank (default) or linear.',
    example: 'any(venues where spread > percentile(spread, 200, 95, linear, 5m))',
  }),
  makeWindow({
    name: 'percentile_rank',
    unit: 'fraction',
    description: 'Share of the last n that are at most the newest.',
    example: 'any(venues where percentile_rank(funding, 100, 1h) > 0.95)',
  }),
  makePlain({
    name: 'age',
    how: { by: 'layer', what: 'age' },
    signature: 'age(F)',
    parameters: ['field'],
    returns: 'duration',
    layer: 'argument',
    unit: 'ms',
    description: 'Evaluation instant minus received_at of the value used for F.',
    example: 'any(venues where age(bid) < 5s)',
  }),
  makePlain({
    name: 'status',
    how: { by: 'layer', what: 'status' },
    signature: 'status(F)',
    parameters: ['field'],
    returns: 'status',
    layer: 'argument',
    unit: 'code',
    description: 'State of the layer of F.',
    example: 'any(venues where status(funding) = stale)',
  }),
  makeDepth('depth_bid', 'quantity', 'Bid quantity within the band below mid.'),
  makeDepth('depth_ask', 'quantity', 'Ask quantity within the band above mid.'),
  makeDepth('depth_bid_value', 'quote', 'Bid price x size within the band below mid.'),
  makeDepth('depth_ask_value', 'quote', 'Ask price x size within the band above mid.'),
];

export const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = new Map(TABLE.map((spec) => [spec.name, spec]));
