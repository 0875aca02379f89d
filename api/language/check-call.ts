// Checks a function call: name, number and kinds of arguments, timeframe, scope (DQL-10, DQL-12, DQL-13, DQL-34).
import { compare } from '../../schemas/decimals.ts';
import { findNearest } from '../../schemas/errors.ts';
import { BANDS } from '../../schemas/layers/book-bands.ts';
import type { Digits } from '../../schemas/records.ts';
import { clip } from '../contract/sent-text.ts';
import { describeUnknown, type Place } from './faults.ts';
import { FIELDS } from './fields.ts';
import { FUNCTIONS, type FunctionSpec, type Parameter } from './functions.ts';
import {
  type Check,
  type Checked,
  describeKind,
  type Findings,
  isNumeric,
  makeChecked,
  meetPeriods,
  type Period,
  type Where,
} from './kinds.ts';
import { NO_NOT } from './lexer.ts';
import { findTimeframe, isBand, LIMITS, TIMEFRAMES } from './limits.ts';
import { type CallNode, isLiteral, makeCode, type Node, type OwnTimeframe } from './tree.ts';

type Call = {
  readonly spec: FunctionSpec;
  readonly node: CallNode;
  readonly inner: Where;
  readonly period: Period | null;
};
type Tools = { readonly check: Check; readonly findings: Findings };

const toNamePlace = ({ place, name }: CallNode): Place =>
  place !== null && 'from' in place ? { from: place.from, to: place.from + name.length } : place;

const refuseFunction = (node: CallNode, { faults }: Findings): void =>
  faults.add('DQL_UNKNOWN_FUNCTION', toNamePlace(node), () => {
    const near = findNearest(node.name, FUNCTIONS.keys());
    const message = describeUnknown(node.name, 'a function', node.name === 'not' ? [] : near);
    if (node.name === 'not') return { message, hint: NO_NOT };
    const hint =
      near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Functions are ${[...FUNCTIONS.keys()].join(', ')}.`;
    return { message, hint };
  });

type ScopeAt = { readonly where: Where; readonly findings: Findings };

export const refuseScope = (place: Place, name: string, { where, findings }: ScopeAt): void =>
  findings.faults.add('DQL_SCOPE', place, {
    message: `"${name}" has one value per venue and cannot be used where one value per instrument is expected.`,
    hint:
      where.isKey === true
        ? 'Order by one value of the instrument: write max(venues, ...) or min(venues, ...) around it.'
        : 'Write any(venues where ...) around the condition, or max(venues, ...) around the value.',
  });

const refusePeriod = (text: string, place: Place, { faults }: Findings): void =>
  faults.add('DQL_TIMEFRAME_UNSUPPORTED', place, {
    message: `The timeframe "${clip(text)}" is not offered: offered are ${TIMEFRAMES.join(', ')}.`,
    hint: `Use one of ${TIMEFRAMES.join(', ')}.`,
  });

/** A timeframe as written; `unknown` after its fault. */
export const readPeriod = (written: OwnTimeframe, findings: Findings): Period => {
  const { text, place } = written;
  if (text === null) return 'unknown';
  const period = findTimeframe(text);
  // One of more than nine digits is no duration, which is reported already (DQL-34e).
  if (period === undefined && !/^\d{10}/.test(text)) refusePeriod(text, place, findings);
  return period ?? 'unknown';
};

/** The timeframe of a node without its own: the enclosing call's, else the clause's, else a fault. */
export const findInheritedPeriod = (
  node: Node & { readonly name: string },
  where: Where,
  { clause, faults }: Findings,
): Period => {
  const inherited = where.series ?? clause;
  if (inherited !== null) return inherited;
  faults.add('DQL_TIMEFRAME_REQUIRED', node.place, {
    message: `"${clip(node.name)}" has no timeframe.`,
    hint: `Add a clause such as "timeframe 1h"${node.type === 'call' ? ', or a last argument such as 1h' : ''}.`,
  });
  return 'unknown';
};

/** Whether an argument could not be read: it may have been several, or the timeframe. */
const hasBroken = ({ args }: CallNode): boolean => args.some(({ type }) => type === 'broken');

/** A duration is no argument of a function that reads periods: it is a timeframe in a wrong place, or with something about it. */
const isMisplacedPeriod = (node: Node): boolean =>
  node.type === 'duration' ||
  ((node.type === 'arith' || node.type === 'cmp') && [node.left, node.right].some(({ type }) => type === 'duration'));

/** Whether a call without a timeframe may have one that another fault hides: that fault alone is reported. */
const mayHaveOwnPeriod = ({ args }: CallNode): boolean =>
  args.at(-1)?.type === 'broken' || args.some(isMisplacedPeriod);

const findCallPeriod = (node: CallNode, where: Where, findings: Findings): Period => {
  const mayHaveOwn = (where.series ?? findings.clause) === null && mayHaveOwnPeriod(node);
  if (node.timeframe === undefined) return mayHaveOwn ? 'unknown' : findInheritedPeriod(node, where, findings);
  const own = readPeriod(node.timeframe, findings);
  const outer = where.series;
  if (outer !== null && outer !== 'unknown' && own !== 'unknown' && own !== outer) {
    findings.faults.add('DQL_TIMEFRAME_MISMATCH', node.timeframe.place, {
      message: `"${clip(node.name)}" of "${own}" is inside a series of "${outer}".`,
      hint: 'Use one timeframe inside a call.',
    });
    return 'unknown';
  }
  return own;
};

const refuseArgument = (
  place: Place,
  message: string,
  { hint, findings }: { hint: string; findings: Findings },
): void => findings.faults.add('DQL_ARGUMENT', place, { message, hint });

const countArguments = ({ spec, node }: Call, findings: Findings): void => {
  const most = spec.parameters.length;
  const { length } = node.args;
  if (hasBroken(node)) return;
  if (length >= most - spec.optional && length <= most) return;
  const wanted = spec.optional > 0 ? `${most - spec.optional} or ${most}` : String(most);
  refuseArgument(
    node.place,
    `"${spec.name}" takes ${wanted} ${wanted === '1' ? 'argument' : 'arguments'} and has ${length}.`,
    {
      hint: `Write ${spec.signature}.`,
      findings,
    },
  );
};

/** Digits of a number as written: a double would round a value close to a limit. */
const readLiteral = (node: Node): Digits | null => (node.type === 'number' ? node.value : null);

type Argument = { readonly node: Node; readonly call: Call };

const NAMED_OR_LITERAL: readonly Parameter[] = ['window', 'percent', 'method', 'band', 'field'];
const BARE: readonly Node['type'][] = ['number', 'duration', 'code', 'status', 'field', 'source'];

/** An expression in the place of a literal or a name is checked like an argument of an unknown function (Q-02, DQL-11). */
const checkInside = ({ node, call }: Argument, tools: Tools): void => {
  if (!BARE.includes(node.type)) checkArgumentsOfUnknown([node], call.inner, tools);
};

const checkWindow = ({ node, call }: Argument, { findings }: Tools): Checked => {
  const n = readLiteral(node);
  const isWindow = n !== null && /^[1-9]\d{0,8}$/.test(n) && Number(n) <= LIMITS.window;
  if (node.type !== 'broken' && !isWindow) {
    const message = `"${call.spec.name}" takes a whole number from 1 to ${LIMITS.window}${n === null ? '' : `, not "${clip(n)}"`}.`;
    const hint = `Write ${call.spec.signature} with a number of periods from 1 to ${LIMITS.window}.`;
    refuseArgument(node.place, message, { hint, findings });
  }
  return makeChecked(node, 'number');
};

const checkPercent = ({ node, call }: Argument, { findings }: Tools): Checked => {
  const p = readLiteral(node);
  if (node.type !== 'broken' && (p === null || compare(p, '0') <= 0 || compare(p, '100') > 0)) {
    const message = `"${call.spec.name}" takes a percentage above 0 and at most 100${p === null ? '' : `, not "${clip(p)}"`}.`;
    refuseArgument(node.place, message, { hint: 'Write a number such as 95.', findings });
  }
  return makeChecked(node, 'number');
};

const METHODS: Readonly<Record<string, string>> = {
  'nearest-rank': 'nearest-rank',
  nearest_rank: 'nearest-rank',
  linear: 'linear',
};

const checkMethod = ({ node }: Argument, { findings }: Tools): Checked => {
  const method = node.type === 'code' && Object.hasOwn(METHODS, node.value) ? METHODS[node.value] : undefined;
  if (method !== undefined) return makeChecked(makeCode(method, node.place), 'code');
  if (node.type !== 'broken') {
    const shown = node.type === 'code' ? `"${clip(node.value)}"` : 'This';
    refuseArgument(node.place, `${shown} is not a method.`, { hint: 'Write nearest-rank or linear.', findings });
  }
  return makeChecked(node, 'code');
};

const checkBand = ({ node, call }: Argument, { findings }: Tools): Checked => {
  if (node.type !== 'broken' && (node.type !== 'code' || !isBand(node.value))) {
    const message = `"${call.spec.name}" takes a band${node.type === 'code' ? `, not "${clip(node.value)}"` : ''}.`;
    refuseArgument(node.place, message, { hint: `Write one of ${BANDS.join(', ')}.`, findings });
  }
  return makeChecked(node, 'code');
};

const checkNamedField = ({ node, call }: Argument, { check, findings }: Tools): Checked => {
  if (node.type === 'broken') return makeChecked(node, 'broken');
  const field = node.type === 'field' ? FIELDS.get(node.name) : undefined;
  const isKnownElsewhere = node.type !== 'field' || field !== undefined;
  if (isKnownElsewhere && (field === undefined || field.layer === 'reference')) {
    findings.faults.add('DQL_TYPE', node.place, {
      message: `"${call.spec.name}" takes a venue field of a layer.`,
      hint: `Write ${call.spec.name}(funding), for example.`,
    });
    return makeChecked(node, 'broken');
  }
  return check(node, { ...call.inner, series: null });
};

const checkValue = ({ node, call }: Argument, { check, findings }: Tools): Checked => {
  const result = check(node, call.inner);
  if (!isNumeric(result.kind)) {
    findings.faults.add('DQL_TYPE', node.place, {
      message: `"${call.spec.name}" takes a number, not ${describeKind(result.kind)}.`,
      hint: `Write ${call.spec.signature}.`,
    });
  }
  return result;
};

const checkSeries = (
  { node, call }: Argument,
  parameter: 'series' | 'operand',
  { check, findings }: Tools,
): Checked => {
  const result = check(node, { ...call.inner, series: call.period ?? 'unknown' });
  const fits = parameter === 'operand' ? isNumeric(result.kind) : result.kind === 'series' || result.kind === 'broken';
  if (!fits) {
    findings.faults.add('DQL_TYPE', node.place, {
      message: `"${call.spec.name}" takes a series, not ${describeKind(result.kind)}.`,
      hint: 'Write a candle source such as close, a sampleable field, or a series function.',
    });
  }
  return fits ? result : makeChecked(result.node, 'broken');
};

const checkArgument = (parameter: Parameter, argument: Argument, tools: Tools): Checked => {
  if (NAMED_OR_LITERAL.includes(parameter)) checkInside(argument, tools);
  switch (parameter) {
    case 'series':
    case 'operand':
      return checkSeries(argument, parameter, tools);
    case 'value':
      return checkValue(argument, tools);
    case 'window':
      return checkWindow(argument, tools);
    case 'percent':
      return checkPercent(argument, tools);
    case 'method':
      return checkMethod(argument, tools);
    case 'band':
      return checkBand(argument, tools);
    case 'field':
      return checkNamedField(argument, tools);
    default: {
      const never: never = parameter;
      return never;
    }
  }
};

const isConstantPair = ({ spec }: Call, args: readonly Checked[]): boolean =>
  args.length === 2 && spec.parameters[0] === 'operand' && args.every(({ kind }) => kind === 'number');

const checkResult = ({ spec, period }: Call, node: CallNode, args: readonly Checked[]): Checked => {
  const [first] = args;
  const ofArgument = first === undefined || first.kind === 'broken' ? null : first.additive;
  const additive = spec.additive === 'argument' ? ofArgument : spec.additive === 'always';
  // A rank or a change of a quantity is not itself a quantity (N-08).
  const isQuantity = spec.unit === 'quantity' || (spec.unit === 'argument' && first?.isQuantity === true);
  if (spec.returns === 'argument') {
    const kind = first?.kind === 'series' || first?.kind === 'number' ? first.kind : 'broken';
    return makeChecked(node, kind, { period: first?.period ?? null, isQuantity });
  }
  return makeChecked(node, spec.returns, { period: spec.returns === 'series' ? period : null, additive, isQuantity });
};

/** The default method is dropped, and a timeframe that would be inherited (DQL-09.6). */
const toCanonicalCall = ({ node, period }: Call, args: readonly Checked[], inherited: Period | null): CallNode => {
  const nodes = args.map((arg) => arg.node);
  const last = nodes.at(-1);
  const { timeframe: own, ...rest } = node;
  const isDefault = nodes.length === 4 && last?.type === 'code' && last.value === 'nearest-rank';
  return {
    ...rest,
    args: isDefault ? nodes.slice(0, -1) : nodes,
    ...(own === undefined || own.text === inherited ? {} : { timeframe: own }),
    ...(period === null || period === 'unknown' ? {} : { period }),
  };
};

const refuseTimeframe = (node: CallNode, spec: FunctionSpec, findings: Findings): void => {
  if (node.timeframe === undefined || node.timeframe.place === null || spec.readsPeriods) return;
  refuseArgument(node.timeframe.place, `"${spec.name}" takes no timeframe.`, {
    hint: `Write ${spec.signature}.`,
    findings,
  });
};

/** Checks arguments of an unknown function, or beyond those of a known one: their places and the timeframe they are read at are unknown. */
export const checkArgumentsOfUnknown = (args: readonly Node[], where: Where, { check, findings }: Tools): void => {
  for (const arg of args.filter((one) => !isLiteral(one))) {
    findings.faults.without('DQL_TIMEFRAME_REQUIRED', () => {
      check(arg, { ...where, venueNames: true, series: null });
    });
  }
};

/** Checks a call and its arguments; `check` is the checker of expressions. */
export const checkCall = (node: CallNode, where: Where, tools: Tools): Checked => {
  const { findings } = tools;
  const spec = FUNCTIONS.get(node.name);
  if (spec === undefined) {
    refuseFunction(node, findings);
    checkArgumentsOfUnknown(node.args, where, tools);
    return makeChecked(node, 'broken');
  }
  findings.functions.add(spec.name);
  if (where.series !== null && !spec.isSeries) {
    const message = `"${spec.name}" is not a series.`;
    findings.faults.add('DQL_TYPE', node.place, {
      message,
      hint: 'A series consists of sources, sampleable fields and series functions.',
    });
  }
  const isVenue = spec.scope === 'venue';
  if (isVenue && !where.venueNames) refuseScope(node.place, spec.name, { where, findings });
  refuseTimeframe(node, spec, findings);
  const period = spec.readsPeriods ? findCallPeriod(node, where, findings) : null;
  const inner: Where = isVenue ? { ...where, venueNames: true } : where;
  const call: Call = { spec, node, inner, period };
  countArguments(call, findings);
  const args = node.args.map((arg, i) => {
    const parameter = spec.parameters[i];
    if (parameter !== undefined) return checkArgument(parameter, { node: arg, call }, tools);
    checkArgumentsOfUnknown([arg], inner, tools);
    return makeChecked(arg, 'broken');
  });
  if (isConstantPair(call, args)) {
    const message = `"${spec.name}" has two numbers and no series.`;
    findings.faults.add('DQL_TYPE', node.place, {
      message,
      hint: `Write ${spec.signature} with a series on one side.`,
    });
  }
  const [a, b] = args;
  if (spec.parameters[0] === 'operand' && a && b) meetPeriods(a, b, { faults: findings.faults, place: node.place });
  const canonical = toCanonicalCall(call, args, where.series ?? findings.clause);
  return where.series !== null && !spec.isSeries
    ? makeChecked(canonical, 'broken')
    : checkResult(call, canonical, args);
};
