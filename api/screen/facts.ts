// The facts of a listing at T, now or past: its version, the state of each layer the query reads, its mark.
import { findStatusAt, type StatusAnswer } from '../../schemas/freshness.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import type { StoredReading } from '../history/stored-row.ts';
import type { Bounds } from '../live/bounds.ts';
import { findVersionAt, type Selected } from '../live/listing-book.ts';
import { findHeldReading, findLostAt, type VenueView } from '../live/listing-view.ts';
import type { Windows } from './capture.ts';

/** How an answer reads: T, the unit of quantities, freshness bounds. */
export type Terms = { readonly at: Micros; readonly units: UnitsMode; readonly bounds: Bounds };

/** A layer of a listing at T: its reading, and whether it holds. */
export type LayerAnswer = Omit<StatusAnswer, 'reason'> & { readonly reason: string | null };
export type LayerState = { readonly reading: StoredReading | null; readonly answer: LayerAnswer };
export type LayerStates = Readonly<Partial<Record<ReadingLayer, LayerState>>>;

export type Facts = Selected & {
  readonly terms: Terms;
  /** Of the layers that the query reads. */
  readonly layers: LayerStates;
  readonly windows: Windows;
};

/** The state of each layer named, from the memory copy. */
export const readLiveLayers = (
  view: VenueView,
  { listing }: Pick<Selected, 'listing'>,
  { layers, terms }: { readonly layers: readonly ReadingLayer[]; readonly terms: Terms },
): LayerStates => {
  const states: Partial<Record<ReadingLayer, LayerState>> = {};
  for (const layer of layers) {
    const reading = findHeldReading(view, listing, { layer, at: terms.at });
    const answer = findStatusAt({
      reading,
      policy: findListingPolicy(view.capability, layer, findVersionAt(listing.versions, terms.at)),
      lostAt: findLostAt(view, listing, reading),
      boundMs: terms.bounds[layer],
      at: terms.at,
      stateLag: view.stateLag,
    });
    states[layer] = { reading, answer };
  }
  return states;
};

export const requireLayer = ({ layers }: Facts, layer: ReadingLayer): LayerState => {
  const state = layers[layer];
  if (state === undefined) throw new Error(`layer "${layer}" was not read`);
  return state;
};

/** The listing's mark when it is present at T (N-07). */
export const findMark = (facts: Facts): Digits | null => {
  const { reading, answer } = requireLayer(facts, 'mark');
  return answer.status === 'present' ? (reading?.values.mark ?? null) : null;
};
