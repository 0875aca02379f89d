// The plan of a checked query: numbered leaves, the layers and columns to read, and the members of its answer (DQL-18, SC-03).
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { compareBytes } from '../../schemas/text-order.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { type CheckedQuery, listExpressions } from '../language/check-query.ts';
import { countBars } from '../language/cost.ts';
import type { Place } from '../language/faults.ts';
import { FIELDS } from '../language/fields.ts';
import { printNode } from '../language/printer.ts';
import { listChildren, type Node } from '../language/tree.ts';
import type { Need } from '../series/cache.ts';
import { toSpecId } from '../series/column-spec.ts';
import type { Leaf } from './evaluate.ts';
import { countSteps, listColumns, requireFunction } from './series.ts';

type Level = 'instrument' | 'venue';
/** A leaf of the query; leaves of one text are one slot. */
type Slot = { readonly leaf: Leaf; readonly text: string; readonly level: Level };
/** An expression that the answer shows, by its canonical text. */
export type Shown = { readonly key: string; readonly node: Node };

export type Plan = {
  readonly query: CheckedQuery;
  readonly slots: readonly Slot[];
  readonly slotOf: ReadonlyMap<Node, number>;
  readonly layers: readonly ReadingLayer[];
  readonly needs: readonly Need[];
  /** About how many additions the series of one listing cost. */
  readonly steps: number;
  readonly shown: Readonly<Record<Level, readonly Shown[]>>;
};

/** Distinguishes a leaf from other nodes of its type, for the compiler: `abs` is a call and no leaf. */
declare const LEAF: unique symbol;
type LeafNode = Leaf & { readonly [LEAF]: true };

export const isLeaf = (node: Node): node is LeafNode =>
  node.type === 'field' ||
  node.type === 'source' ||
  (node.type === 'call' && requireFunction(node).how.by !== 'argument');

/** A leaf that reads periods. */
const needsPeriods = (leaf: Leaf): boolean =>
  leaf.type === 'source' || (leaf.type === 'call' && requireFunction(leaf).readsPeriods);

const toLevel = (leaf: Leaf): Level =>
  leaf.type === 'field' && FIELDS.get(leaf.name)?.scope === 'instrument' ? 'instrument' : 'venue';

/** Whether an expression has a value a listing, or one for the instrument (DQL-10). */
const findLevel = (node: Node): Level => {
  if (isLeaf(node)) return toLevel(node);
  if (node.type === 'any' || node.type === 'all' || node.type === 'count' || node.type === 'agg') return 'instrument';
  return listChildren(node).some((child) => findLevel(child) === 'venue') ? 'venue' : 'instrument';
};

const visitNode = (node: Node, see: (node: Node) => void): void => {
  see(node);
  if (!isLeaf(node)) for (const child of listChildren(node)) visitNode(child, see);
};

/** The layer whose reading a leaf is about; null for reference fields and series. */
const findLayerOfLeaf = (leaf: Leaf): ReadingLayer | null => {
  if (leaf.type === 'source' || needsPeriods(leaf)) return null;
  if (leaf.type === 'call' && requireFunction(leaf).layer === 'venue_depth') return 'venue_depth';
  const name = leaf.type === 'call' ? (leaf.args[0]?.type === 'field' ? leaf.args[0].name : '') : leaf.name;
  const layer = FIELDS.get(name)?.layer;
  return layer === undefined || layer === 'reference' ? null : layer;
};

/** Where the query first reads a layer; null when only a conversion needs it. */
export const findLayerPlace = ({ slots }: Plan, layer: ReadingLayer): Place =>
  slots.find(({ leaf }) => findLayerOfLeaf(leaf) === layer)?.leaf.place ?? null;

const listLayers = (slots: readonly Slot[], units: UnitsMode): ReadingLayer[] => {
  const read = new Set(slots.map(({ leaf }) => findLayerOfLeaf(leaf)));
  // Conversions need the mark, and so does the count of venues that answered.
  if (units !== 'published' || slots.some(({ text }) => text === 'venues_answered')) read.add('mark');
  return READING_LAYERS.filter((layer) => read.has(layer));
};

const listNeeds = (slots: readonly Slot[]): Need[] => {
  const needs = new Map<string, Need>();
  for (const { leaf } of slots) {
    if (!needsPeriods(leaf)) continue;
    for (const spec of listColumns(leaf)) {
      const bars = Math.max(countBars(leaf), needs.get(toSpecId(spec))?.bars ?? 0);
      needs.set(toSpecId(spec), { spec, bars });
    }
  }
  return [...needs.values()];
};

/** Values of the condition's atoms and the order's keys, or exactly what is selected (SC-03, DQL-33j). */
const listShownNodes = ({ condition, select, orderBy }: CheckedQuery): Node[] => {
  if (select.length > 0) return [...select];
  const shown: Node[] = orderBy.map(({ expr }) => expr);
  for (const root of [...(condition === null ? [] : [condition]), ...shown]) {
    visitNode(root, (node) => {
      if (isLeaf(node) || node.type === 'agg' || node.type === 'count') shown.push(node);
    });
  }
  return shown;
};

const listShownAt = (nodes: readonly Node[], level: Level): Shown[] => {
  const shown = new Map<string, Shown>();
  for (const node of nodes) if (findLevel(node) === level) shown.set(printNode(node), { key: printNode(node), node });
  return [...shown.values()].sort((a, b) => compareBytes(a.key, b.key));
};

/** Made once a query; holds for every instrument. */
export const makePlan = (query: CheckedQuery, units: UnitsMode): Plan => {
  const slots: Slot[] = [];
  const numbers = new Map<string, number>();
  const slotByNode = new Map<Node, number>();
  for (const root of listExpressions(query)) {
    visitNode(root, (node) => {
      if (!isLeaf(node)) return;
      const text = printNode(node);
      const number = numbers.get(text) ?? slots.length;
      if (number === slots.length) slots.push({ leaf: node, text, level: toLevel(node) });
      numbers.set(text, number);
      slotByNode.set(node, number);
    });
  }
  const nodes = listShownNodes(query);
  return {
    query,
    slots,
    slotOf: slotByNode,
    layers: listLayers(slots, units),
    needs: listNeeds(slots),
    steps: slots.reduce((sum, { leaf }) => sum + (needsPeriods(leaf) ? countSteps(leaf) : 0), 0),
    shown: { instrument: listShownAt(nodes, 'instrument'), venue: listShownAt(nodes, 'venue') },
  };
};
