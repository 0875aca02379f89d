// Listings spread over sockets so that a new one changes one socket only.
import type { ListingRecord } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import type { PlanEnv, Slot } from '../contract/feed.ts';
import { isOpen } from './chosen-listings.ts';

type Spread = {
  readonly sockets: number;
  /** Maximum number of listings on a socket; more make another. */
  readonly most?: number;
  readonly slot: (listings: readonly ListingRecord[], place: Place) => Slot;
};
/** `tag` is unique among the slots of one spread. */
export type Place = { readonly shard: number; readonly tag: string };

/** Spreads open listings over about `sockets` sockets by their names: a new listing changes one socket, whatever the order. */
export const spreadListings = (
  listings: readonly ListingRecord[],
  env: PlanEnv,
  { sockets, most, slot }: Spread,
): Slot[] => {
  const perShard = Math.max(1, Math.ceil(sockets / env.shards));
  const groups = new Map<string, { readonly place: Place; readonly members: ListingRecord[] }>();
  for (const listing of listings.filter(isOpen)) {
    const shard = env.shardOf(listing.venue_symbol);
    // Salted, because the same hash already chose the shard.
    const tag = `${shard}.${toShard(`socket ${listing.venue_symbol}`, perShard)}`;
    const group = groups.get(tag) ?? { place: { shard, tag }, members: [] };
    groups.set(tag, group);
    group.members.push(listing);
  }
  return [...groups.values()]
    .toSorted((a, b) => (a.place.tag < b.place.tag ? -1 : 1))
    .flatMap(({ place, members }) =>
      splitChunks(members.toSorted(compareSymbols), most ?? members.length).map((some, i) =>
        slot(some, most === undefined ? place : { ...place, tag: `${place.tag}.${i}` }),
      ),
    );
};

const compareSymbols = (a: ListingRecord, b: ListingRecord): number => (a.venue_symbol < b.venue_symbol ? -1 : 1);

export const splitChunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
