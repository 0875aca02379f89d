// The inputs that made a result unknown, because no known input could decide it (SC-07).
import { printNode } from '../language/printer.ts';
import { type AggregateNode, listChildren, type Node } from '../language/tree.ts';
import { listParts } from './evaluate.ts';
import type { Element, Instrument } from './instrument.ts';
import { isLeaf } from './plan.ts';
import { NO_VALUE, type Unknown, type Value } from './values.ts';

type Cause = { readonly expr: string; readonly element: Element | null; readonly unknown: Unknown };

const isOpen = (value: Value): boolean =>
  value.kind === 'unknown' || value.kind === 'interval' || (value.kind === 'truth' && value.value === null);

/** Causes of an expression whose value is open, in the order of its text, then of the listings. */
const listCauses = (node: Node, instrument: Instrument, element: Element | null): Cause[] => {
  const value = instrument.value(node, element);
  if (!isOpen(value)) return [];
  if (isLeaf(node)) return value.kind === 'unknown' ? [{ expr: printNode(node), element, unknown: value }] : [];
  switch (node.type) {
    case 'any':
    case 'all':
    case 'count':
      return instrument.elements.flatMap((each) => listCauses(node.where, instrument, each));
    default: {
      const causes = node.type === 'agg' ? openCauses(node, instrument) : listPartCauses(node, instrument, element);
      // Everything is known and still there is no value: a division by zero, an overflow, an aggregate over nothing.
      if (causes.length > 0 || value.kind !== 'unknown') return causes;
      return [{ expr: printNode(node), element, unknown: NO_VALUE }];
    }
  }
};

const listPartCauses = (node: Node, instrument: Instrument, element: Element | null): Cause[] =>
  listChildren(node).flatMap((child) => listCauses(child, instrument, element));

const openCauses = (node: AggregateNode, instrument: Instrument): Cause[] =>
  listParts(node, instrument.environment).open.flatMap(({ element }) => [
    ...(node.where === undefined ? [] : listCauses(node.where, instrument, element)),
    ...listCauses(node.expr, instrument, element),
  ]);

/** Each input once. */
export const listOwnCauses = (node: Node, instrument: Instrument, element: Element | null): Cause[] => {
  const causes = new Map<string, Cause>();
  for (const cause of listCauses(node, instrument, element)) {
    const place = cause.element === null ? -1 : instrument.elements.indexOf(cause.element);
    const key = `${place}|${cause.expr}`;
    if (!causes.has(key)) causes.set(key, cause);
  }
  return [...causes.values()];
};
