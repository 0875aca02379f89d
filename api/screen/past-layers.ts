// The state of each layer at a past instant, from stored history and what memory holds of it (H-06, DQL-07, N-11).
import { findStatusAt } from '../../schemas/freshness.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import { gatherLosses, gatherSeries, type Losses } from '../history/gather.ts';
import { computeRetentionFrom } from '../history/past.ts';
import { findNewestAt, listReadings, type ReadingRow } from '../history/series.ts';
import type { HistoryReader } from '../history/store.ts';
import { findVersionAt, type Selected, toListingId } from '../live/listing-book.ts';
import { findHeldAt } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { LayerAnswer, LayerState, LayerStates, Terms } from './facts.ts';

type PastQuestion = {
  readonly reader: HistoryReader;
  readonly live: LiveMemory;
  readonly listings: readonly Selected[];
  readonly layers: readonly ReadingLayer[];
  readonly terms: Terms;
  readonly evaluatedAt: Micros;
};

const NOT_RETAINED: LayerAnswer = {
  status: 'missing',
  reason: 'not_retained',
  gap_cause: null,
  age_ms: null,
  venue_age_ms: null,
  valid_until: null,
};

type ReceivedRow = { readonly selected: Selected; readonly layer: ReadingLayer; readonly row: ReadingRow | null };

const toState = ({ selected, layer, row }: ReceivedRow, losses: Losses, question: PastQuestion): LayerState => {
  const { terms, live, evaluatedAt } = question;
  const { listing, version } = selected;
  const capabilities = live.venue(listing.venue)?.capabilities ?? [];
  const capability = findVersionAt(capabilities, terms.at);
  const policy = findListingPolicy(capability, layer, version);
  // After `off` and `not_published` (L-07); the policy of a venue of which nothing was known yet is unknown.
  const isKept = terms.at >= computeRetentionFrom('readings', version, evaluatedAt);
  if (!isKept && (capability === null || policy === 'on')) return { reading: null, answer: NOT_RETAINED };
  const reading = findHeldAt(row?.reading ?? null, { capabilities, versions: listing.versions, at: terms.at });
  const answer = findStatusAt({
    reading,
    policy,
    lostAt: reading === null ? null : losses(listing, reading, terms.at),
    boundMs: terms.bounds[layer],
    at: terms.at,
    stateLag: false,
  });
  return { reading, answer };
};

/** By listing id. Rejects as the store does. */
export const readPastLayers = async (question: PastQuestion): Promise<ReadonlyMap<string, LayerStates>> => {
  const { reader, live, listings, layers, terms } = question;
  const gathering = { reader, live, listings, asked: { mode: 'at', instants: [terms.at] } } as const;
  // Side by side: all of memory is copied before the first statement is answered.
  const series = await Promise.all(layers.map((layer) => gatherSeries(gathering, layer)));
  const received = listings.flatMap((selected) =>
    layers.map((layer, i): ReceivedRow => {
      const rows = series[i]?.get(toListingId(selected)) ?? [];
      return { selected, layer, row: findNewestAt(listReadings(rows), terms.at) };
    }),
  );
  const spoken = received.flatMap(({ selected, row }) => (row === null ? [] : [[selected.listing, row] as const]));
  const losses = await gatherLosses({ reader, live }, spoken, terms.at);
  const states = new Map<string, Partial<Record<ReadingLayer, LayerState>>>();
  for (const one of received) {
    const id = toListingId(one.selected);
    const held = states.get(id) ?? {};
    held[one.layer] = toState(one, losses, question);
    states.set(id, held);
  }
  return states;
};
