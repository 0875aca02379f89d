// Contract of every plan of every venue: each listing covered by what its venue publishes, on slots of its shard, within the venue's limits.
import type { Cover, PollSlot, Slot, SocketSlot } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { factsAbout } from './venue-facts.ts';

/** Listings without data, and those that some venues end the data of; before its launch one that trades has data. */
const UNPLANNED = new Set(['delisted', 'pre_launch', 'settling']);

type Planned = {
  readonly venue: Venue;
  readonly listings: readonly ListingRecord[];
  readonly shards: number;
  readonly slots: readonly Slot[];
};

const shardOf = (shards: number, symbol: string): number => symbol.length % shards;

export const planListings = (venue: Venue, listings: readonly ListingRecord[], shards: number): Planned => {
  const env = { shards, shardOf: (symbol: string) => shardOf(shards, symbol), endpoints: venue.endpoints };
  return { venue, listings, shards, slots: venue.plan(listings, env) };
};

/** A layer that a slot covers, by the name of its policy. */
const toPolicy = (layer: string): string => (layer === 'price_candles' ? 'candles' : layer);

const isOff = ({ off = [] }: ListingRecord, layer: string): boolean => (off as readonly string[]).includes(layer);

/** Slots that are of another shard than a listing they cover. */
const findForeign = ({ slots, shards }: Planned): readonly string[] =>
  slots.flatMap((slot) =>
    slot.covers
      .flatMap(({ symbols }) => symbols ?? [])
      .filter((symbol) => !slot.shards.includes(shardOf(shards, symbol)))
      .map((symbol) => `${slot.id} delivers ${symbol} to shards ${slot.shards}`),
  );

/** Layers of a listing that no slot delivers, or two do. */
const findUncovered = ({ venue, listings, slots }: Planned): readonly string[] => {
  const covers: readonly Cover[] = slots.flatMap((slot) => slot.covers);
  const published = Object.entries(venue.layers).filter(([, { policy }]) => policy === 'on');
  return listings
    .filter(({ values, isTraded }) => isTraded || !UNPLANNED.has(values.status))
    .flatMap((listing) =>
      published.flatMap(([layer]) => {
        const by = covers.filter(
          ({ layers, symbols }) => layers.includes(layer) && (symbols?.includes(listing.venue_symbol) ?? true),
        );
        return by.length === (isOff(listing, layer) ? 0 : 1)
          ? []
          : [`${layer} of ${listing.venue_symbol}: ${by.length}`];
      }),
    );
};

const findUnpublished = ({ venue, slots }: Planned): readonly string[] =>
  slots.flatMap((slot) =>
    slot.covers
      .flatMap(({ layers }) => layers)
      .filter((layer) => venue.layers[toPolicy(layer)]?.policy !== 'on')
      .map((layer) => `${slot.id} covers ${layer}, which the venue does not publish`),
  );

const listStreams = (venue: Venue, { subscribe }: SocketSlot): readonly string[] =>
  subscribe
    .flatMap((frame) => factsAbout(venue).streams(JSON.parse(frame) as Readonly<Record<string, unknown>>))
    .map((stream) => JSON.stringify(stream));

const findCrowded = ({ venue, slots }: Planned): readonly string[] =>
  slots.flatMap((slot) => {
    if (slot.kind !== 'socket') return [];
    const streams = listStreams(venue, slot);
    const most = venue.limits.streamsPerConnection;
    return [
      ...(streams.length > most ? [`${slot.id} has ${streams.length} streams of at most ${most}`] : []),
      ...(new Set(streams).size < streams.length ? [`${slot.id} subscribes to a stream twice`] : []),
    ];
  });

/** Share of the weight that polls may use (F-03): the rest is for books, minutes and confirmations. */
const POLLS_SHARE = 0.8;

const computeWeight = ({ requests, everyMs }: PollSlot): number =>
  requests.reduce((sum, { weight }) => sum + weight, 0) * (60_000 / everyMs);

const findHeavy = ({ venue, slots }: Planned): readonly string[] => {
  const hosts = new Map<string, number>();
  for (const slot of slots) {
    if (slot.kind !== 'poll') continue;
    const host = new URL(slot.requests[0]?.url ?? 'https://none').host;
    hosts.set(host, (hosts.get(host) ?? 0) + computeWeight(slot));
  }
  const most = venue.limits.restWeightPerMinute * POLLS_SHARE;
  return [...hosts]
    .filter(([, weight]) => weight > most)
    .map(([host, weight]) => `${host}: ${weight} of ${most} a minute`);
};

const findRepeatedIds = ({ slots }: Planned): readonly string[] => {
  const ids = slots.map(({ id }) => id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
};

/** Everything that is wrong with a plan. */
export const findPlanFaults = (planned: Planned): readonly string[] =>
  [findRepeatedIds, findForeign, findUncovered, findUnpublished, findCrowded, findHeavy].flatMap((find) =>
    find(planned),
  );
