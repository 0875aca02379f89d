// The cost of a query, from its canonical form alone: nodes, bars, cost, and the limits on them (DQL-30 to DQL-32).
import { type CheckedQuery, listExpressions } from './check-query.ts';
import type { Faults, Place } from './faults.ts';
import { FUNCTIONS, type FunctionSpec } from './functions.ts';
import { describeOverLimit, LIMITS, TIMEFRAMES, type Timeframe } from './limits.ts';
import { printNode } from './printer.ts';
import { SELECTION_KEYS, type Selection } from './selection.ts';
import { type CallNode, listChildren, type Node, type SourceNode } from './tree.ts';

export type Complexity = { readonly nodes: number; readonly bars: number; readonly cost: number };

/** A series call that is not inside another one, or a bare source: it is read once for each listing. */
type Atom = {
  readonly node: CallNode | SourceNode;
  readonly period: Timeframe | undefined;
  readonly bars: number;
};

const visitNode = (node: Node, see: (node: Node) => void): void => {
  see(node);
  for (const child of listChildren(node)) visitNode(child, see);
};

/** Whether every part of the query was read and kept. */
export const isWhole = (query: CheckedQuery): boolean => {
  let whole = true;
  for (const root of listExpressions(query)) {
    visitNode(root, ({ type }) => {
      whole &&= type !== 'broken';
    });
  }
  return whole;
};

const countSelectionNodes = (where: Selection | null): number =>
  SELECTION_KEYS.reduce((sum, key) => sum + (where?.[key] === undefined ? 0 : 1 + where[key].length), 0);

const readWindow = (spec: FunctionSpec, { args }: CallNode): number => {
  const node = args[spec.parameters.indexOf('window')];
  return node?.type === 'number' ? Number(node.value) : 0;
};

/** Elements read by a node (DQL-31); a field counts only in the place of S, that is, with a period. */
export const countBars = (node: Node): number => {
  switch (node.type) {
    case 'source':
      return 1;
    case 'field':
      return node.period === undefined ? 0 : 1;
    case 'arith':
      return Math.max(countBars(node.left), countBars(node.right));
    case 'call': {
      const spec = FUNCTIONS.get(node.name);
      const series = node.args.reduce((most, arg) => Math.max(most, countBars(arg)), 0);
      return spec?.bars({ series, n: readWindow(spec, node) }) ?? 0;
    }
    default:
      return 0;
  }
};

const isSeriesCall = (node: Node): node is CallNode =>
  node.type === 'call' && FUNCTIONS.get(node.name)?.readsPeriods === true;

const collectAtoms = (node: Node, found: Map<string, Atom>): void => {
  if (node.type !== 'source' && !isSeriesCall(node)) {
    for (const child of listChildren(node)) collectAtoms(child, found);
    return;
  }
  const key = `${printNode(node)}@${node.period}`;
  if (!found.has(key)) found.set(key, { node, period: node.period, bars: countBars(node) });
};

/** Distinct atoms: the same canonical text at the same timeframe is one (DQL-30). */
const listAtoms = (query: CheckedQuery): readonly Atom[] => {
  const found = new Map<string, Atom>();
  for (const node of listExpressions(query)) collectAtoms(node, found);
  return [...found.values()];
};

/** Timeframes that are read, ascending by length; an unused clause is not included (DQL-34b). */
export const listTimeframes = (query: CheckedQuery): readonly Timeframe[] => {
  const read = new Set<string>();
  for (const root of listExpressions(query)) {
    visitNode(root, (node) => {
      if ('period' in node && node.period !== undefined) read.add(node.period);
    });
  }
  return TIMEFRAMES.filter((timeframe) => read.has(timeframe));
};

type Limit = {
  readonly figure: number;
  readonly most: number;
  readonly what: string;
  readonly hint: string;
  readonly place?: Place;
};

const refuseOver = (faults: Faults, { figure, most, what, hint, place = null }: Limit): void => {
  if (figure > most) faults.add('DQL_COMPLEXITY', place, { message: describeOverLimit(what, figure, most), hint });
};

const countNodes = (query: CheckedQuery): { nodes: number; quantifiers: number; seriesCalls: number } => {
  const count = { nodes: countSelectionNodes(query.where), quantifiers: 0, seriesCalls: 0 };
  for (const root of listExpressions(query)) {
    visitNode(root, (node) => {
      count.nodes += node.type === 'broken' && node.dropped > 0 ? node.dropped : 1;
      if (node.type === 'any' || node.type === 'all' || node.type === 'count' || node.type === 'agg')
        count.quantifiers++;
      if (isSeriesCall(node)) count.seriesCalls++;
    });
  }
  return count;
};

/** Limits that hold whether or not the query has other faults. `depth` is the deepest chain as written. */
export const checkSize = (query: CheckedQuery, depth: number, faults: Faults): void => {
  const { nodes, quantifiers } = countNodes(query);
  if (!faults.isTooDeep) {
    refuseOver(faults, {
      figure: depth,
      most: LIMITS.depth,
      what: 'The nodes of the query nest to a depth of',
      hint: 'Split the condition, or write fewer terms in one chain.',
    });
  }
  refuseOver(faults, {
    figure: nodes,
    most: LIMITS.nodes,
    what: 'The nodes of the query number',
    hint: 'Ask in several queries.',
  });
  refuseOver(faults, {
    figure: quantifiers,
    most: LIMITS.quantifiers_and_aggregates,
    what: 'Quantifiers and aggregates number',
    hint: 'Ask in several queries.',
  });
};

const computeDepthCost = (query: CheckedQuery): number => {
  const calls = new Map<string, number>();
  for (const root of listExpressions(query)) {
    visitNode(root, (node) => {
      const cost = node.type === 'call' ? (FUNCTIONS.get(node.name)?.cost ?? 0) : 0;
      if (cost > 0) calls.set(printNode(node), cost);
    });
  }
  return [...calls.values()].reduce((sum, cost) => sum + cost, 0);
};

/** Complexity of a query without faults; exceeded limits are added to `faults`. */
export const checkCost = (query: CheckedQuery, faults: Faults): Complexity => {
  const { nodes, seriesCalls } = countNodes(query);
  const atoms = listAtoms(query);
  const bars = atoms.reduce((sum, atom) => sum + atom.bars, 0);
  const largest = atoms.reduce<Atom | null>(
    (most, atom) => (most === null || atom.bars > most.bars ? atom : most),
    null,
  );
  const cost = nodes + bars + computeDepthCost(query);
  const place = largest?.node.place ?? null;
  const read = {
    figure: largest?.bars ?? 0,
    most: LIMITS.bars_per_atom,
    what: 'Bars read by the largest series number',
  };
  refuseOver(faults, { ...read, hint: 'Use a smaller window.', place });
  refuseOver(faults, {
    figure: seriesCalls,
    most: LIMITS.series_calls,
    what: 'Series calls number',
    hint: 'Ask in several queries.',
  });
  refuseOver(faults, {
    figure: listTimeframes(query).length,
    most: LIMITS.timeframes,
    what: 'Timeframes number',
    hint: 'Use fewer timeframes.',
  });
  const costly = { figure: cost, most: LIMITS.cost, what: 'The cost of the query is', hint: 'Use smaller windows.' };
  refuseOver(faults, bars > 0 ? { ...costly, place } : costly);
  return { nodes, bars, cost };
};
