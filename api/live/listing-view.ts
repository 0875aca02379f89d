// The view of one listing at T for an answer: its readings with their policy, connection and mark.
import { findStatusAt } from '../../schemas/freshness.ts';
import type { JsonValue, NumberFormat } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { findListingPolicy, wasOff } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion, Reading } from '../../schemas/topics.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import type { Bounds } from './bounds.ts';
import { makeLayerObject } from './layer-object.ts';
import { findVersionAt, type LiveListing, type Selected } from './listing-book.ts';
import type { Mark } from './members.ts';
import type { LiveMemory, LiveVenue } from './memory.ts';
import { findLoss } from './partition.ts';

export type ViewOptions = {
  readonly at: Micros;
  readonly units: UnitsMode;
  readonly bounds: Bounds;
  readonly allowStale: boolean;
  readonly includeRaw: boolean;
  readonly numberFormat: NumberFormat;
  /** Levels of a book that its object shows (ST-09); none when left out. */
  readonly depth?: number;
};

type MarkOptions = Pick<ViewOptions, 'at' | 'bounds'> & { readonly newest?: Reading | null };

/** The data that all listings of a venue share in one answer. */
export type VenueView = {
  readonly venue: LiveVenue;
  readonly capability: CapabilityVersion | null;
  readonly stateLag: boolean;
};

export const makeVenueView = (live: LiveMemory, venue: LiveVenue, at: Micros): VenueView => ({
  venue,
  capability: findVersionAt(venue.capabilities, at),
  stateLag: live.isBehind(venue.venue, at),
});

/** The views of all venues, by code. */
export const makeVenueViews = (live: LiveMemory, at: Micros): ReadonlyMap<string, VenueView> =>
  new Map([...live.venues()].map((venue) => [venue.venue, makeVenueView(live, venue, at)]));

/** The versions that decide whether a layer is collected, ascending, and T. */
type Versions = {
  readonly capabilities: readonly CapabilityVersion[];
  readonly versions: readonly ListingVersion[];
  readonly at: Micros;
};

/** Instants of `(from, to]` at which a version replaced another. Readings are mostly newer than all of them. */
const listTurns = (
  { capabilities, versions }: Omit<Versions, 'at'>,
  { from, to }: { readonly from: Micros; readonly to: Micros },
): readonly Micros[] => {
  const turns: Micros[] = [];
  for (const written of [capabilities, versions])
    for (let i = written.length - 1; i >= 0; i--) {
      const turn = (written[i] as CapabilityVersion | ListingVersion).written_at;
      if (turn <= from) break;
      if (turn <= to) turns.push(turn);
    }
  return turns;
};

/** The reading; null when its layer was off at an instant from then to T: then nothing is held until the next one (F-04). */
export const findHeldAt = <R extends Pick<Reading, 'layer' | 'recorded_at'>>(
  reading: R | null,
  { capabilities, versions, at }: Versions,
): R | null => {
  if (reading === null) return null;
  const { layer, recorded_at: since } = reading;
  const turns = listTurns({ capabilities, versions }, { from: since, to: at });
  return wasOff(layer, { since, turns }, (instant) => ({
    capability: findVersionAt(capabilities, instant),
    version: findVersionAt(versions, instant),
  }))
    ? null
    : reading;
};

/** Whether a layer is collected at an instant; what was known of its venue at none is collected. */
const isOnAt = (layer: ReadingLayer, { capabilities, versions, at }: Versions): boolean => {
  const capability = findVersionAt(capabilities, at);
  return capability === null || findListingPolicy(capability, layer, findVersionAt(versions, at)) === 'on';
};

/**
 * Whether readings of a layer are shown at later instants of a stretch: the layer is on there, and holds them (`findHeldAt`). Null when it was on
 * throughout: then all are.
 */
export const createHeldWithin = (
  layer: ReadingLayer,
  { capabilities, versions }: Omit<Versions, 'at'>,
  { from, to }: { readonly from: Micros; readonly to: Micros },
): ((recordedAt: Micros, at: Micros) => boolean) | null => {
  const turns = listTurns({ capabilities, versions }, { from, to });
  const stops = turns.some((at) => !isOnAt(layer, { capabilities, versions, at }));
  if (!stops) return null;
  return (recordedAt, at) => {
    const of = { capabilities, versions, at };
    return isOnAt(layer, of) && findHeldAt({ layer, recorded_at: recordedAt }, of) !== null;
  };
};

/** The newest reading of a listing's layer, as `findHeldAt`. */
export const findHeldReading = (
  { venue }: VenueView,
  { readings, versions }: LiveListing,
  { layer, at }: { readonly layer: ReadingLayer; readonly at: Micros },
): Reading | null => findHeldAt(readings.get(layer), { capabilities: venue.capabilities, versions, at });

export const findLostAt = (
  { venue: { partitions } }: VenueView,
  { venueSymbol }: Pick<LiveListing, 'venueSymbol'>,
  reading: Reading | null,
): Micros | null => (reading === null ? null : findLoss(partitions, venueSymbol, reading));

/** The listing's mark when it is present at T under the bound in force (N-07): of its newest reading, or of the one given. */
export const findPresentMark = (
  view: VenueView,
  listing: LiveListing,
  { at, bounds, newest = listing.readings.get('mark') }: MarkOptions,
): Mark | null => {
  const { capabilities } = view.venue;
  const reading = findHeldAt(newest, { capabilities, versions: listing.versions, at });
  const { status } = findStatusAt({
    reading,
    policy: findListingPolicy(view.capability, 'mark', findVersionAt(listing.versions, at)),
    lostAt: findLostAt(view, listing, reading),
    boundMs: bounds.mark,
    at,
    stateLag: view.stateLag,
  });
  const digits = reading?.values.mark;
  return status === 'present' && reading !== null && digits !== undefined
    ? { digits, receivedAt: reading.received_at }
    : null;
};

/** The same of a listing that no view is made of. */
export const findMarkNow = (
  live: LiveMemory,
  listing: LiveListing,
  { at, bounds }: Pick<MarkOptions, 'at' | 'bounds'>,
): Mark | null => {
  const venue = live.venue(listing.venue);
  return venue === undefined ? null : findPresentMark(makeVenueView(live, venue, at), listing, { at, bounds });
};

/** The object of one layer, of the reading given: the newest one, or one that was. */
export const makeLayerState = (
  view: VenueView,
  { listing, version, mark }: Selected & { readonly mark?: (() => Mark | null) | undefined },
  shown: { readonly layer: ReadingLayer; readonly reading: Reading | null; readonly options: ViewOptions },
): JsonValue => {
  const { layer, options } = shown;
  const { capabilities } = view.venue;
  const reading = findHeldAt(shown.reading, { capabilities, versions: listing.versions, at: options.at });
  return makeLayerObject({
    ...options,
    reading,
    policy: findListingPolicy(view.capability, layer, version),
    lostAt: findLostAt(view, listing, reading),
    boundMs: options.bounds[layer],
    stateLag: view.stateLag,
    version: reading === null ? version : (findVersionAt(listing.versions, reading.recorded_at) ?? version),
    mark: mark ?? (() => findPresentMark(view, listing, options)),
  });
};

/** The layer objects of a listing; `layers` ascend by bytes. */
export const makeLayerObjects = (
  view: VenueView,
  subject: Selected,
  { layers, options }: { readonly layers: readonly ReadingLayer[]; readonly options: ViewOptions },
): JsonValue => {
  let held: Mark | null | undefined;
  const mark = (): Mark | null => {
    if (held === undefined) held = findPresentMark(view, subject.listing, options);
    return held;
  };
  const objects: Record<string, JsonValue> = {};
  for (const layer of layers) {
    const reading = subject.listing.readings.get(layer);
    objects[layer] = makeLayerState(view, { ...subject, mark }, { layer, reading, options });
  }
  return objects;
};
