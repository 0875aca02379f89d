// The layers of a venue that are present now: checked every ten seconds, some listings at a time (OP-01, OP-02).
import { setImmediate as turn } from 'node:timers/promises';
import { findStatusAt, type Policy } from '../../schemas/freshness.ts';
import { READINGS, type ReadingLayer } from '../../schemas/layers/index.ts';
import { findListingPolicy, findPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import { findVersionAt, isListed, type LiveListing } from '../live/listing-book.ts';
import { findHeldReading, findLostAt, makeVenueView, type VenueView } from '../live/listing-view.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';
import { SlidingQuantiles } from './sliding-quantiles.ts';

/** Listings looked at before other work has its turn. */
const SLICE = 50;

export type LayerCoverage = {
  readonly layer: ReadingLayer;
  readonly policy: Policy;
  /** Listings that publish it, and those of them whose value is present. */
  readonly listings: number;
  readonly present: number;
  readonly lastReceived: Micros | null;
  /** Receipt minus the venue's stamp, of the newest readings, sampled for an hour. */
  readonly receiptLag: SlidingQuantiles;
};

type Count = { listings: number; present: number; lastReceived: Micros | null };

const makeEmptyCounts = (): Map<ReadingLayer, Count> =>
  new Map(READINGS.map(({ name }) => [name, { listings: 0, present: 0, lastReceived: null }]));

/** The receipt lags of one layer of one venue, kept from look to look. */
export type ReceiptLags = Map<string, SlidingQuantiles>;

const ensureLags = (lags: ReceiptLags, venue: string, layer: string): SlidingQuantiles => {
  const key = `${venue} ${layer}`;
  const held = lags.get(key) ?? new SlidingQuantiles();
  lags.set(key, held);
  return held;
};

const lookAt = (
  view: VenueView,
  listing: LiveListing,
  { counts, lags, at }: { readonly counts: Map<ReadingLayer, Count>; readonly lags: ReceiptLags; readonly at: Micros },
): void => {
  const version = findVersionAt(listing.versions, at);
  if (version === null || !isListed(version, at)) return;
  for (const { name } of READINGS) {
    const count = counts.get(name);
    if (count === undefined || findListingPolicy(view.capability, name, version) !== 'on') continue;
    const reading = findHeldReading(view, listing, { layer: name, at });
    const { status } = findStatusAt({
      ...{ reading, policy: 'on', at, stateLag: view.stateLag },
      lostAt: findLostAt(view, listing, reading),
      boundMs: Number.POSITIVE_INFINITY,
    });
    count.listings++;
    if (status === 'present') count.present++;
    if (reading === null) continue;
    const { received_at: received, venue_ts: stamped } = reading;
    count.lastReceived = Math.max(count.lastReceived ?? received, received);
    if (stamped !== null) ensureLags(lags, listing.venue, name).add((received - stamped) / 1_000, at / 1_000);
  }
};

/** Every layer of readings of one venue at `at`. Gives other work a turn now and then; what comes meanwhile may be seen. */
export const lookAtVenue = async (
  live: LiveMemory,
  venue: LiveVenue,
  { lags, at }: { readonly lags: ReceiptLags; readonly at: Micros },
): Promise<readonly LayerCoverage[]> => {
  const view = makeVenueView(live, venue, at);
  const counts = makeEmptyCounts();
  let looked = 0;
  for (const listing of venue.listings.values()) {
    lookAt(view, listing, { counts, lags, at });
    if (++looked % SLICE === 0) await turn();
  }
  return [...counts].map(([layer, count]) => ({
    ...{ layer, policy: findPolicy(view.capability, layer), ...count },
    receiptLag: ensureLags(lags, venue.venue, layer),
  }));
};
