// Layers of readings by name, with the units of their members (L-01, L-02, F-03), derived from the registry of layers.
import type { PriceType } from './layers/candle.ts';
import { type LayerName, READINGS, type ReadingLayer } from './layers/index.ts';
import type { MemberUnit, ReadingDeclaration } from './layers/layer.ts';

export { BANDS, type Band } from './layers/book-bands.ts';
export type { ReadingLayer } from './layers/index.ts';
export type { MemberUnit } from './layers/layer.ts';

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

/** Candles of mark and index prices, where they have another source than those of trades. */
export const PRICE_CANDLES = 'price_candles';

/** What a connection can cover and a listing can turn off: a layer, or the candles of mark and index prices. */
export type CoverName = LayerName | typeof PRICE_CANDLES;

const SOURCES: ReadonlyMap<string, CoverName> = new Map(
  READINGS.flatMap(({ name, source }) => (source === undefined ? [] : [[name, source as ReadingLayer]])),
);

/** The layer whose messages contain it: its own, unless it is derived from another layer. */
export const resolveSource = (name: CoverName): CoverName => SOURCES.get(name) ?? name;

/** Whether the venue's limits exclude candles of a price, by `off` of the listing's record (V-03a). */
export const isPriceOff = (off: readonly string[] | undefined, priceType: PriceType): boolean =>
  priceType !== 'trade' && off?.includes(PRICE_CANDLES) === true;
