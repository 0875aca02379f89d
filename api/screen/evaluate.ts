// Evaluates a checked expression over the listings of one instrument: total and without short circuit (DQL-14 to DQL-24). The caller
// passes the reader that gives a listing's fields, series and depths.
import { parseDuration } from '../../schemas/durations.ts';
import { type Arithmetic, applyOperator } from '../language/operators.ts';
import { computeSum } from '../language/sums.ts';
import type { AggregateNode, CallNode, FieldNode, InNode, Node, QuantifierNode, SourceNode } from '../language/tree.ts';
import {
  compare,
  findFirstUnknown,
  isAbsent,
  joinAnd,
  joinOr,
  NO_VALUE,
  type Truth,
  toInterval,
  toNumber,
  type Unknown,
  type Value,
} from './values.ts';

/** Leaves that are read, not computed: fields, sources, and calls other than `abs`. */
export type Leaf = FieldNode | SourceNode | CallNode;

export type Environment<Element> = {
  /** The instrument's selected listings at T, ascending by (venue, venue_symbol); at least one. */
  readonly elements: readonly Element[];
  /** The value of a leaf at a listing; `null` at instrument level. */
  readonly read: (leaf: Leaf, element: Element | null) => Value;
};

/** How the elements of an aggregate took part (DQL-21). */
export type Parts<Element> = {
  readonly contributing: readonly { readonly element: Element; readonly value: number }[];
  readonly open: readonly { readonly element: Element; readonly value: Value }[];
};

const makeTruth = (value: Truth): Value => ({ kind: 'truth', value });
const toTruth = (value: Value): Truth => (value.kind === 'truth' ? value.value : null);
const isUnknown = (value: Value): value is Unknown => value.kind === 'unknown';

/** Binary64; with an interval nothing is known (DQL-17). */
const computeArithmetic = (op: Arithmetic, left: Value, right: Value): Value => {
  const unknowns = [left, right].filter(isUnknown);
  if (unknowns.length > 0) return findFirstUnknown(unknowns);
  return left.kind === 'number' && right.kind === 'number'
    ? toNumber(applyOperator(op, left.value, right.value))
    : NO_VALUE;
};

const toDurationValue = (text: string): Value => toNumber(parseDuration(text) ?? Number.NaN);

const evaluateMembership = <E>({ left, values }: InNode, environment: Environment<E>, element: E | null): Value => {
  const value = evaluate(left, environment, element);
  return makeTruth(joinOr(values.map((each) => compare('=', value, evaluate(each, environment, element)))));
};

const evaluateQuantifier = <E>({ type, where }: QuantifierNode, environment: Environment<E>): Value => {
  const truths = environment.elements.map((element) => toTruth(evaluate(where, environment, element)));
  if (type === 'any') return makeTruth(joinOr(truths));
  if (type === 'all') return makeTruth(joinAnd(truths));
  const known = truths.filter((t) => t === true).length;
  return toInterval(known, known + truths.filter((t) => t === null).length);
};

/** Which elements contribute and which may (DQL-21, DQL-33b). */
export const listParts = <E>({ expr, where }: AggregateNode, environment: Environment<E>): Parts<E> => {
  const contributing: { element: E; value: number }[] = [];
  const open: { element: E; value: Value }[] = [];
  for (const element of environment.elements) {
    const holds = where === undefined ? true : toTruth(evaluate(where, environment, element));
    const value = evaluate(expr, environment, element);
    if (holds === false || isAbsent(value)) continue;
    if (holds && value.kind === 'number') contributing.push({ element, value: value.value });
    else open.push({ element, value });
  }
  return { contributing, open };
};

/** DQL-22, DQL-23. */
export const computeAggregate = <E>(fn: AggregateNode['fn'], { contributing, open }: Parts<E>): Value => {
  const values = contributing.map(({ value }) => value);
  const isOpen = open.length > 0;
  if (values.length === 0 || (fn === 'sum' && isOpen))
    return findFirstUnknown(open.map(({ value }) => value).filter(isUnknown));
  switch (fn) {
    case 'sum':
      return toNumber(computeSum(values));
    case 'max':
      return toInterval(Math.max(...values), isOpen ? Number.POSITIVE_INFINITY : Math.max(...values));
    case 'min':
      return toInterval(isOpen ? Number.NEGATIVE_INFINITY : Math.min(...values), Math.min(...values));
    default: {
      const never: never = fn;
      return never;
    }
  }
};

const evaluateCall = <E>(node: CallNode, environment: Environment<E>, element: E | null): Value => {
  const [argument] = node.args;
  if (node.name !== 'abs' || argument === undefined) return environment.read(node, element);
  const value = evaluate(argument, environment, element);
  if (value.kind === 'number') return toNumber(Math.abs(value.value));
  return value.kind === 'unknown' ? value : NO_VALUE;
};

/** The value of an expression at a listing, or at instrument level with `null`. */
export const evaluate = <E>(node: Node, environment: Environment<E>, element: E | null): Value => {
  const at = (child: Node): Value => evaluate(child, environment, element);
  switch (node.type) {
    case 'number':
      return toNumber(Number(node.value));
    case 'duration':
      return toDurationValue(node.value);
    case 'code':
    case 'status':
      return { kind: 'text', value: node.value };
    case 'field':
    case 'source':
      return environment.read(node, element);
    case 'call':
      return evaluateCall(node, environment, element);
    case 'arith':
      return computeArithmetic(node.op, at(node.left), at(node.right));
    case 'cmp':
      return makeTruth(compare(node.op, at(node.left), at(node.right)));
    case 'in':
      return evaluateMembership(node, environment, element);
    case 'and':
      return makeTruth(joinAnd(node.args.map((arg) => toTruth(at(arg)))));
    case 'or':
      return makeTruth(joinOr(node.args.map((arg) => toTruth(at(arg)))));
    case 'any':
    case 'all':
    case 'count':
      return evaluateQuantifier(node, environment);
    case 'agg':
      return computeAggregate(node.fn, listParts(node, environment));
    case 'broken':
      throw new Error('a query with faults has no value');
    default: {
      const never: never = node;
      return never;
    }
  }
};
