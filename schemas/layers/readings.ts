// Layers of readings by name, with the units of their members (L-01, L-02, F-03), derived from the registry of layers.
import { READINGS, type ReadingLayer } from './index.ts';
import type { MemberUnit, ReadingDeclaration } from './layer.ts';

export const READING_LAYERS: readonly ReadingLayer[] = READINGS.map(({ name }) => name);

type LayerSpec = Omit<ReadingDeclaration<ReadingLayer>, 'members'> & {
  /** Units of the members of `values`, in documented order. */
  readonly members: Readonly<Record<string, MemberUnit>>;
  /** Members computed at storage time from others (N-05 rule 2). */
  readonly derived: readonly string[];
};

const toSpec = (declared: ReadingDeclaration<ReadingLayer>): LayerSpec => {
  const members = Object.entries(declared.members);
  return {
    ...declared,
    members: Object.fromEntries(members.map(([name, { unit }]) => [name, unit])),
    derived: members.flatMap(([name, { from }]) => (from === undefined ? [] : [name])),
  };
};

export const LAYERS = Object.fromEntries(READINGS.map((declared) => [declared.name, toSpec(declared)])) as Readonly<
  Record<ReadingLayer, LayerSpec>
>;

/** Whether a layer has a quantity: its rows then have the unit. */
export const hasQuantity = (layer: ReadingLayer): boolean => Object.values(LAYERS[layer].members).includes('quantity');
