// The tree of a query, the same from both forms: node types of DQL-08, built in the canonical shape of DQL-09 wherever that needs no names.
import type { Status } from '../../schemas/freshness.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { Place } from './faults.ts';
import { LIMITS, type Timeframe } from './limits.ts';
import type { Arithmetic, Comparison } from './operators.ts';
import type { Selection } from './selection.ts';

type Common = {
  readonly place: Place;
  /** The longest chain of nodes from here down, this one counted (DQL-30). */
  readonly depth: number;
};
/** The timeframe a node is read at; the checker sets it. */
type Timed = { readonly period?: Timeframe };

type NumberNode = Common & { readonly type: 'number'; readonly value: Digits };
type DurationNode = Common & { readonly type: 'duration'; readonly value: string };
export type CodeNode = Common & {
  readonly type: 'code';
  readonly value: string;
  /** A name without quotes: where no code is spelt so, a field may be meant. */
  readonly isWord?: boolean;
};
type StatusNode = Common & { readonly type: 'status'; readonly value: Status };
export type Literal = NumberNode | DurationNode | CodeNode | StatusNode;
export type FieldNode = Common & Timed & { readonly type: 'field'; readonly name: string };
export type SourceNode = Common & Timed & { readonly type: 'source'; readonly name: string };
/** `text` is null where the source has no valid one, which is reported already. */
export type OwnTimeframe = { readonly text: string | null; readonly place: Place };
export type CallNode = Common &
  Timed & {
    readonly type: 'call';
    readonly name: string;
    readonly args: readonly Node[];
    readonly timeframe?: OwnTimeframe;
  };
export type ArithNode = Common & {
  readonly type: 'arith';
  readonly op: Arithmetic;
  readonly left: Node;
  readonly right: Node;
};
export type CmpNode = Common & {
  readonly type: 'cmp';
  readonly op: Comparison;
  readonly left: Node;
  readonly right: Node;
};
export type InNode = Common & { readonly type: 'in'; readonly left: Node; readonly values: readonly Literal[] };
export type LogicNode = Common & { readonly type: 'and' | 'or'; readonly args: readonly Node[] };
export type QuantifierNode = Common & { readonly type: 'any' | 'all' | 'count'; readonly where: Node };
export type AggregateNode = Common & {
  readonly type: 'agg';
  readonly fn: 'max' | 'min' | 'sum';
  readonly expr: Node;
  readonly where?: Node;
};
/**
 * A part that could not be read, or lies too deep to be kept as a tree: its parts are still checked for faults, in the place of the whole
 * expression. How a call without a name reads its parts is unknown.
 */
export type BrokenNode = Common & {
  readonly type: 'broken';
  readonly of: 'expression' | 'call';
  readonly parts: Node[];
  /** For a tree that is too deep: the number of nodes in addition to its parts. */
  readonly dropped: number;
};

export type Node =
  | Literal
  | FieldNode
  | SourceNode
  | CallNode
  | ArithNode
  | CmpNode
  | InNode
  | LogicNode
  | QuantifierNode
  | AggregateNode
  | BrokenNode;

export type OrderKey = { readonly expr: Node; readonly descending: boolean };
/** T of a query about the past, and its place. */
export type AsOf = { readonly at: Micros; readonly place: Place };
/** The clauses whose contents are checked. */
export type Clauses = {
  readonly timeframe: OwnTimeframe | null;
  readonly asOf: AsOf | null;
  readonly where: Selection | null;
  readonly select: readonly Node[];
  readonly orderBy: readonly OrderKey[];
};
export const NO_CLAUSES: Clauses = { timeframe: null, asOf: null, where: null, select: [], orderBy: [] };
export type Query = Clauses & {
  readonly condition: Node | null;
  /** What clauses held before they were given again: their faults are found too. */
  readonly repeated: readonly Clauses[];
};

export const QUANTIFIERS = ['any', 'all', 'count'] as const;
export const AGGREGATES = ['max', 'min', 'sum'] as const;
export const STATUSES = ['present', 'stale', 'missing', 'not_published', 'off'] as const satisfies readonly Status[];

/** Deeper trees are refused anyway: beyond this only what decides how its parts are read is kept, which the parsers nest a few dozen times at most. */
const KEPT_DEPTH = LIMITS.depth + 8;

const computeDepthAbove = (children: readonly Node[]): number =>
  children.reduce((most, { depth }) => Math.max(most, depth), 0) + 1;

export const makeBroken = (
  place: Place,
  parts: readonly Node[] = [],
  of: BrokenNode['of'] = 'expression',
): BrokenNode => ({
  type: 'broken',
  of,
  place,
  depth: computeDepthAbove(parts),
  parts: [...parts],
  dropped: 0,
});

/** Parts of too deep a tree lie side by side. The list grows in place: a chain of thousands stays linear. */
const flattenNodes = (children: readonly Node[], depth: number, place: Place): BrokenNode => {
  const isOpen = (child: Node): child is BrokenNode => child.type === 'broken' && child.of === 'expression';
  const held = children.find(isOpen);
  const parts = held?.parts ?? [];
  let dropped = 1 + (held?.dropped ?? 0);
  for (const child of children) {
    if (child === held) continue;
    if (child.type === 'number') dropped++;
    else if (isOpen(child)) {
      dropped += child.dropped;
      for (const part of child.parts) parts.push(part);
    } else parts.push(child);
  }
  return { type: 'broken', of: 'expression', place, depth, parts, dropped };
};

/** A node whose parts are read as those of its own place are. */
const keepNode = <N extends Node>(children: readonly Node[], place: Place, make: (common: Common) => N): Node => {
  const depth = computeDepthAbove(children);
  return depth > KEPT_DEPTH ? flattenNodes(children, depth, place) : make({ place, depth });
};

const makeLeaf = (place: Place): Common => ({ place, depth: 1 });

export const makeNumber = (value: Digits, place: Place): NumberNode => ({ type: 'number', value, ...makeLeaf(place) });
export const makeDuration = (value: string, place: Place): DurationNode => ({
  type: 'duration',
  value,
  ...makeLeaf(place),
});
export const makeCode = (value: string, place: Place): CodeNode => ({ type: 'code', value, ...makeLeaf(place) });
export const makeStatus = (value: Status, place: Place): StatusNode => ({
  type: 'status',
  value,
  ...makeLeaf(place),
});
export const makeField = (name: string, place: Place): FieldNode => ({ type: 'field', name, ...makeLeaf(place) });
export const makeSource = (name: string, place: Place): SourceNode => ({ type: 'source', name, ...makeLeaf(place) });

export const makeCall = (
  name: string,
  { args, timeframe }: { readonly args: readonly Node[]; readonly timeframe?: OwnTimeframe | undefined },
  place: Place,
): CallNode => ({
  type: 'call',
  name,
  args,
  ...(timeframe === undefined ? {} : { timeframe }),
  place,
  depth: computeDepthAbove(args),
});

type Sides = { readonly left: Node; readonly right: Node };

export const makeArith = (op: Arithmetic, { left, right }: Sides, place: Place): Node =>
  keepNode([left, right], place, (common) => ({ type: 'arith', op, left, right, ...common }));

export const makeCmp = (op: Comparison, { left, right }: Sides, place: Place): Node =>
  keepNode([left, right], place, (common) => ({ type: 'cmp', op, left, right, ...common }));

export const makeIn = (left: Node, values: readonly Literal[], place: Place): Node =>
  keepNode([left, ...values], place, (common) => ({ type: 'in', left, values, ...common }));

/** `and` in `and`, `or` in `or` are one (DQL-09.5). */
export const makeLogic = (type: 'and' | 'or', args: readonly Node[], place: Place): Node => {
  const flat = args.flatMap((arg) => (arg.type === type ? arg.args : [arg]));
  return keepNode(flat, place, (common) => ({ type, args: flat, ...common }));
};

export const makeQuantifier = (type: QuantifierNode['type'], where: Node, place: Place): QuantifierNode => ({
  type,
  where,
  place,
  depth: computeDepthAbove([where]),
});

export const makeAggregate = (
  fn: AggregateNode['fn'],
  { expr, where }: { readonly expr: Node; readonly where?: Node | undefined },
  place: Place,
): AggregateNode => ({
  type: 'agg',
  fn,
  expr,
  ...(where === undefined ? {} : { where }),
  place,
  depth: computeDepthAbove(where === undefined ? [expr] : [expr, where]),
});

export const isLiteral = (node: Node): node is Literal =>
  node.type === 'number' || node.type === 'duration' || node.type === 'code' || node.type === 'status';

/** Unary minus folds into a number; on anything else it is `0 - x` (DQL-09.2). */
export const negateNode = (node: Node, place: Place): Node => {
  if (node.type !== 'number') return makeArith('-', { left: makeNumber('0', place), right: node }, place);
  const { value } = node;
  return makeNumber(value === '0' ? '0' : value.startsWith('-') ? value.slice(1) : `-${value}`, place);
};

/** The nodes directly below, in the order of the text. */
export const listChildren = (node: Node): readonly Node[] => {
  switch (node.type) {
    case 'call':
    case 'and':
    case 'or':
      return node.args;
    case 'arith':
    case 'cmp':
      return [node.left, node.right];
    case 'in':
      return [node.left, ...node.values];
    case 'any':
    case 'all':
    case 'count':
      return [node.where];
    case 'agg':
      return node.where === undefined ? [node.expr] : [node.where, node.expr];
    case 'broken':
      return node.parts;
    default:
      return [];
  }
};
