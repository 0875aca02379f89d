// One instrument under evaluation: its listings, the value of each for every leaf (read once), and the values of expressions over them.
import type { Node } from '../language/tree.ts';
import { type Environment, evaluate, type Leaf } from './evaluate.ts';
import type { Facts } from './facts.ts';
import { type LeafValue, readLeaf } from './leaf-values.ts';
import type { Plan } from './plan.ts';
import type { Truth, Value } from './values.ts';

export type Element = { readonly facts: Facts; readonly said: (LeafValue | undefined)[] };

export class Instrument {
  readonly code: string;
  readonly plan: Plan;
  /** Ascending by (venue, venue_symbol); at least one. */
  readonly elements: readonly Element[];
  readonly environment: Environment<Element>;
  readonly #group: readonly Facts[];

  constructor(code: string, plan: Plan, group: readonly Facts[]) {
    this.code = code;
    this.plan = plan;
    this.#group = group;
    this.elements = group.map((facts) => ({ facts, said: new Array<LeafValue | undefined>(plan.slots.length) }));
    this.environment = { elements: this.elements, read: (leaf, element) => this.said(leaf, element).value };
  }

  /** The value of a leaf for an element; at instrument level only reference fields are allowed, and any listing has them. */
  said(leaf: Leaf, at: Element | null): LeafValue {
    const element = at ?? (this.elements[0] as Element);
    const slot = this.plan.slotOf.get(leaf);
    if (slot === undefined) throw new Error(`"${leaf.name}" is not a leaf of the plan`);
    const held = element.said[slot];
    if (held !== undefined) return held;
    const said = readLeaf(leaf, element.facts, this.#group);
    element.said[slot] = said;
    return said;
  }

  value(node: Node, element: Element | null): Value {
    return evaluate(node, this.environment, element);
  }

  /** DQL-19; a query without a condition holds for every instrument (DQL-07). */
  result(): Truth {
    const { condition } = this.plan.query;
    if (condition === null) return true;
    const value = this.value(condition, null);
    return value.kind === 'truth' ? value.value : null;
  }
}
