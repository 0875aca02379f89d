// A simulated venue for the past: with some of its listings, a reduced cadence, and a virtual clock.
import { type CollectedVenue, toCapability } from '../../../ingest/venues/contract/feed.ts';
import { collectedVenues } from '../../../ingest/venues/index.ts';
import type { CapabilityBody } from '../../../schemas/topics.ts';
import type { SimListing } from '../simulator/listings.ts';
import { createSentLog } from '../simulator/sent-log.ts';
import type { SimulatedVenue } from '../simulator/venue.ts';
import { openVenue, type VenueHost } from '../simulator/venue-host.ts';
import { simulatedVenues } from '../simulator/venues/index.ts';
import type { VirtualClock } from './virtual-log.ts';

/** More than a venue of the demo lists. */
const KNOWN_LISTINGS = 12;

export const findSimulatedVenue = (id: string): SimulatedVenue => {
  const venue = simulatedVenues.find((known) => known.id === id);
  if (venue === undefined) throw new TypeError(`found venue ${id}, simulated are ${simulatedVenues.map((v) => v.id)}`);
  return venue;
};

export const findCollectedVenue = (id: string): CollectedVenue => {
  const venue = collectedVenues.get(id);
  if (venue === undefined) throw new TypeError(`found venue ${id}, which no collector knows`);
  return venue;
};

export const findListings = (venue: SimulatedVenue, symbols: readonly string[]): readonly SimListing[] =>
  venue.listings(KNOWN_LISTINGS).filter(({ symbol }) => symbols.includes(symbol));

/** Frames that a venue of the past sends less often than the simulator would; its market moves at the usual rate. */
type Pace = {
  /** Whether the streams of each second send at this instant. */
  readonly sendsSecond: (atMs: number) => boolean;
  /** Books and trades between the seconds. */
  readonly sendsChanges: boolean;
};

const SILENT = {
  diff: () => undefined,
  trade: () => undefined,
  liquidation: () => undefined,
};

const paceVenue = (venue: SimulatedVenue, { sendsSecond, sendsChanges }: Pace): SimulatedVenue => ({
  ...venue,
  open: (deps) => {
    const running = venue.open(deps);
    const { events } = running;
    return {
      ...running,
      events: {
        ...events,
        ...(sendsChanges ? {} : SILENT),
        turn: (instrument, atMs) => void (sendsSecond(toSecond(atMs)) && events.turn?.(instrument, atMs)),
        second: (eventMs, atMs) => void (sendsSecond(atMs) && events.second(eventMs, atMs)),
      },
    };
  },
});

const toSecond = (ms: number): number => Math.floor(ms / 1_000) * 1_000;

type PastVenue = {
  readonly id: string;
  readonly listings: readonly SimListing[];
  readonly clock: VirtualClock;
  readonly seed: number;
  /** Book levels a side. */
  readonly levels: number;
  readonly pace: Pace;
};

export const openPastVenue = ({ id, listings, clock, seed, levels, pace }: PastVenue): VenueHost =>
  openVenue(paceVenue({ ...findSimulatedVenue(id), listings: () => listings }, pace), {
    nowMs: () => clock.ms,
    seed,
    listings: listings.length,
    levels,
    // The least a market does: a change of each book every five seconds.
    rate: 0,
    stepMs: 1_000,
    truthPerListing: 1,
    // Venues end connections that are a day old; here a connection of several days stays open.
    limits: { maxAgeMs: Number.POSITIVE_INFINITY },
    sent: createSentLog(),
    faultLog: [],
    onFault: () => undefined,
    onTruth: null,
  });

/** What the venue's collector publishes about its layers. */
export const makeCapability = (venue: CollectedVenue): CapabilityBody => toCapability(venue);

/** No layer is collected until the next capability. */
export const withoutCollected = ({ name, layers }: CapabilityBody): CapabilityBody => ({
  name,
  layers: Object.fromEntries(
    Object.entries(layers).map(([layer, stated]) => [
      layer,
      stated.policy === 'on' ? { ...stated, policy: 'off' as const } : stated,
    ]),
  ),
});
