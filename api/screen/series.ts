// Elements of series: arithmetic element by element, functions over windows that move along, and why an element is none (DQL-26 to DQL-28).
import { FIELDS, SOURCES } from '../language/fields.ts';
import { FUNCTIONS, type FunctionSpec } from '../language/functions.ts';
import { type Arguments, computeAtrs, type Rule } from '../language/indicators.ts';
import type { Timeframe } from '../language/limits.ts';
import { applyOperator } from '../language/operators.ts';
import type { ArithNode, CallNode, FieldNode, Node, SourceNode } from '../language/tree.ts';
import type { CandleMember, ColumnSpec } from '../series/column-spec.ts';

/** The reason why an element is absent, the first one if several apply (DQL-33f); 0: it is present. */
export const REASONS = ['', 'no_value', 'gap', 'not_retained', 'insufficient_history', 'unit_unknown'] as const;
const NO_VALUE_AT = 1;
export const GAP_AT = 2;
export const NOT_RETAINED_AT = 3;
export const INSUFFICIENT_AT = 4;
export const UNIT_UNKNOWN_AT = 5;

/** Consecutive elements, oldest first; NaN where `reasons` is not 0. `reasons` null: all are there. */
export type Elements = { readonly values: Float64Array; readonly reasons: Uint8Array | null };

/** The newest elements of a column, as many as were captured. */
type ReadColumn = (spec: ColumnSpec) => Elements;

const requireTimeframe = (node: SourceNode | FieldNode | CallNode): Timeframe => {
  if (node.period === undefined) throw new Error(`"${node.name}" has no period after checking`);
  return node.period;
};

const toSourceSpec = (node: SourceNode): ColumnSpec => {
  const source = SOURCES.get(node.name);
  if (source === undefined) throw new Error(`"${node.name}" is not a source`);
  return { kind: 'candles', priceType: source.priceType, member: source.member, timeframe: requireTimeframe(node) };
};

const toFieldSpec = (node: FieldNode): ColumnSpec => {
  const layer = FIELDS.get(node.name)?.layer;
  if (layer === undefined || layer === 'reference') throw new Error(`"${node.name}" is not a series`);
  return { kind: 'layer', layer, member: node.name, timeframe: requireTimeframe(node) };
};

const CANDLES_OF = { atr: ['high', 'low', 'close'], gaps: ['present'] } as const satisfies Record<
  string,
  readonly CandleMember[]
>;
const listTradeColumns = (node: CallNode, members: readonly CandleMember[]): ColumnSpec[] =>
  members.map((member) => ({ kind: 'candles', priceType: 'trade', member, timeframe: requireTimeframe(node) }));

export const requireFunction = ({ name }: CallNode): FunctionSpec => {
  const spec = FUNCTIONS.get(name);
  if (spec === undefined) throw new Error(`"${name}" is not a function`);
  return spec;
};

const readBy = (node: Node): ColumnSpec[] => {
  switch (node.type) {
    case 'source':
      return [toSourceSpec(node)];
    case 'field':
      return [toFieldSpec(node)];
    case 'arith':
      return [...listColumns(node.left), ...listColumns(node.right)];
    case 'call': {
      const { how } = requireFunction(node);
      if (how.by === 'candles') return listTradeColumns(node, CANDLES_OF[how.what]);
      return node.args.flatMap(listColumns);
    }
    default:
      return [];
  }
};

/** A node is evaluated for every listing: what follows from it alone is made once. */
const rememberByNode = <T>(make: (node: Node) => T): ((node: Node) => T) => {
  const made = new WeakMap<Node, T>();
  return (node) => {
    const held = made.get(node);
    if (held !== undefined) return held;
    const value = make(node);
    made.set(node, value);
    return value;
  };
};

/** Columns that an expression over periods reads. */
export const listColumns: (node: Node) => readonly ColumnSpec[] = rememberByNode(readBy);
const toColumn = (node: Node): ColumnSpec => listColumns(node)[0] as ColumnSpec;

const readNumber = (node: Node | undefined): string => (node?.type === 'number' ? node.value : '0');

const readLiterals = (node: Node): Arguments => {
  if (node.type !== 'call') return { n: 0, p: '0', isLinear: false };
  const { parameters } = requireFunction(node);
  const method = node.args[parameters.indexOf('method')];
  return {
    n: Number(readNumber(node.args[parameters.indexOf('window')])),
    p: readNumber(node.args[parameters.indexOf('percent')]),
    isLinear: method?.type === 'code' && method.value === 'linear',
  };
};

/** The literal arguments of a call. */
const readArguments: (node: Node) => Arguments = rememberByNode(readLiterals);

const pickNewest = ({ values, reasons }: Elements, count: number): Elements => ({
  values: values.subarray(values.length - count),
  reasons: reasons === null ? null : reasons.subarray(reasons.length - count),
});

const pickFirst = (a: number, b: number): number => (a === 0 ? b : b === 0 ? a : Math.min(a, b));

/** Marks results that are not numbers; returns `reasons` only if there is one. */
const settle = (values: Float64Array, given: Uint8Array | null): Elements => {
  let reasons = given;
  for (let i = 0; i < values.length; i++) {
    if (reasons !== null && reasons[i] !== 0) values[i] = Number.NaN;
    else if (!Number.isFinite(values[i] as number)) {
      reasons ??= new Uint8Array(values.length);
      reasons[i] = NO_VALUE_AT;
      values[i] = Number.NaN;
    }
  }
  return { values, reasons };
};

const join = (a: Uint8Array | null, b: Uint8Array | null): Uint8Array | null => {
  if (a === null || b === null) return a?.slice() ?? b?.slice() ?? null;
  return a.map((reason, i) => pickFirst(reason, b[i] as number));
};

/** A literal at every period. */
const makeConstant = (value: number, count: number): Elements => settle(new Float64Array(count).fill(value), null);

const combineSeries = ({ op, left, right }: ArithNode, count: number, read: ReadColumn): Elements => {
  const [a, b] = [computeSeries(left, count, read), computeSeries(right, count, read)];
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = applyOperator(op, a.values[i] as number, b.values[i] as number);
  return settle(values, join(a.reasons, b.reasons));
};

/** The first reason of each window; null when every window is whole. */
const listReasonsOver = ({ reasons }: Elements, window: number, count: number): Uint8Array | null => {
  if (reasons?.some((reason) => reason !== 0) !== true) return null;
  const over = new Uint8Array(count);
  /** How many elements of the window have each reason. */
  const held = new Uint32Array(REASONS.length);
  const note = (i: number, by: 1 | -1): void => {
    const reason = reasons[i] as number;
    held[reason] = (held[reason] as number) + by;
  };
  for (let i = 0; i < window - 1; i++) note(i, 1);
  for (let i = 0; i < count; i++) {
    note(i + window - 1, 1);
    over[i] = Math.max(
      0,
      held.findIndex((elements, reason) => reason !== 0 && elements > 0),
    );
    note(i, -1);
  }
  return over;
};

const applyRule = (rule: Rule, node: CallNode, { count, read }: { count: number; read: ReadColumn }): Elements => {
  const given = readArguments(node);
  const window = rule.window(given.n);
  const inner = computeSeries(node.args[0] as Node, count + window - 1, read);
  const reasons = listReasonsOver(inner, window, count);
  if ('slide' in rule) return settle(rule.slide(inner.values, window, { ...given, count }), reasons);
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const isWhole = reasons === null || reasons[i] === 0;
    values[i] = isWhole ? rule.compute({ values: inner.values, from: i, length: window }, given) : Number.NaN;
  }
  return settle(values, reasons);
};

const computeAverageTrueRange = (node: CallNode, count: number, read: ReadColumn): Elements => {
  const { n } = readArguments(node);
  const window = 4 * n + 1;
  const [high, low, close] = listColumns(node).map((spec) => pickNewest(read(spec), count + window - 1));
  if (high === undefined || low === undefined || close === undefined) throw new Error('atr reads three columns');
  const reasons = [high, low, close].reduce<Uint8Array | null>(
    (found, column) => join(found, listReasonsOver(column, window, count)),
    null,
  );
  return settle(computeAtrs([high.values, low.values, close.values], { n, count }), reasons);
};

const computeSeriesCall = (node: CallNode, count: number, read: ReadColumn): Elements => {
  const { how } = requireFunction(node);
  switch (how.by) {
    case 'window':
      return applyRule(how.rule, node, { count, read });
    case 'argument': {
      const { values, reasons } = computeSeries(node.args[0] as Node, count, read);
      return { values: values.map(Math.abs), reasons };
    }
    case 'candles':
      if (how.what === 'atr') return computeAverageTrueRange(node, count, read);
      throw new Error(`"${node.name}" is not a series`);
    case 'cross':
    case 'layer':
      throw new Error(`"${node.name}" is not a series`);
    default:
      return how satisfies never;
  }
};

/** The newest `count` elements of a series. */
const computeSeries = (node: Node, count: number, read: ReadColumn): Elements => {
  switch (node.type) {
    case 'number':
      return makeConstant(Number(node.value), count);
    case 'source':
      return pickNewest(read(toColumn(node)), count);
    case 'field':
      return pickNewest(read(toColumn(node)), count);
    case 'arith':
      return combineSeries(node, count, read);
    case 'call':
      return computeSeriesCall(node, count, read);
    default:
      throw new Error(`"${node.type}" is not a series`);
  }
};

const ATR_WEIGHT = 3;

const countCallSteps = (node: CallNode, count: number): number => {
  const { how } = requireFunction(node);
  const { n } = readArguments(node);
  switch (how.by) {
    case 'window': {
      const window = how.rule.window(n);
      return count * window * (how.rule.weight ?? 1) + countSteps(node.args[0] as Node, count + window - 1);
    }
    case 'candles':
      return how.what === 'atr' ? count * (4 * n + 1) * ATR_WEIGHT : n;
    case 'cross':
      return node.args.reduce((sum, side) => sum + countSteps(side, 2), 0);
    case 'argument':
      return count + countSteps(node.args[0] as Node, count);
    default:
      return 0;
  }
};

/** About how many additions the newest `count` elements of a series cost: every window is computed from its own elements (DQL-28). */
export const countSteps = (node: Node, count = 1): number => {
  switch (node.type) {
    case 'arith':
      return count + countSteps(node.left, count) + countSteps(node.right, count);
    case 'call':
      return countCallSteps(node, count);
    default:
      return count;
  }
};

/** The current value of an atom over periods: a number, a truth, or a place in REASONS. */
export type AtomValue = { readonly number: number } | { readonly truth: boolean } | { readonly reason: number };

const findCrossing = (node: CallNode, holds: (a: number, b: number) => boolean, read: ReadColumn): AtomValue => {
  const [a, b] = node.args.map((side) => computeSeries(side, 2, read));
  if (a === undefined || b === undefined) throw new Error(`"${node.name}" has two sides`);
  const reason = join(a.reasons, b.reasons)?.reduce(pickFirst, 0) ?? 0;
  if (reason !== 0) return { reason };
  const at = (i: number): boolean => holds(a.values[i] as number, b.values[i] as number);
  return { truth: at(1) && !at(0) };
};

/** Absent candles among the last n; unknown only when the n reach before what is stored (DQL-27). */
const countGaps = (node: CallNode, read: ReadColumn): AtomValue => {
  const { n } = readArguments(node);
  const { reasons } = pickNewest(read(toColumn(node)), n);
  if (reasons === null) return { number: 0 };
  const before = reasons.filter((reason) => reason !== 0 && reason !== GAP_AT).reduce(pickFirst, 0);
  return before === 0 ? { number: reasons.filter((reason) => reason === GAP_AT).length } : { reason: before };
};

/** The newest element of a series call or bare source. */
export const computeAtom = (node: CallNode | SourceNode, read: ReadColumn): AtomValue => {
  const how = node.type === 'call' ? requireFunction(node).how : null;
  if (node.type === 'call' && how?.by === 'cross') return findCrossing(node, how.holds, read);
  if (node.type === 'call' && how?.by === 'candles' && how.what === 'gaps') return countGaps(node, read);
  const { values, reasons } = computeSeries(node, 1, read);
  const reason = reasons?.[0] ?? 0;
  return reason === 0 ? { number: values[0] as number } : { reason };
};
