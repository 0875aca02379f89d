// Shapes shared by several venues: the record around mapped values, sides of a snapshot, sockets by a stable spread.
import { isPriceOff } from '../../../schemas/layers.ts';
import type { Digits, Level, ListingRecord, Micros, NormalisedRecord, StatsRecord } from '../../../schemas/records.ts';
import { shardOf } from '../../../schemas/shards.ts';
import type { Delivery, PlanEnv, Slot } from '../contract/feed.ts';
import type { Mapped } from '../contract/mapping.ts';
import type { Chain } from './book-sync.ts';
import { words } from './wire.ts';

export { TIMEFRAMES } from '../../../schemas/layers/candle.ts';

const OFF: Delivery = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null };
export const NOT_PUBLISHED: Delivery = { ...OFF, policy: 'not_published' };
export const ON_CHANGE: Delivery = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };

/** The listing without the layers that exceed the venue's limits (V-03a). */
export const leaveOff = (listing: ListingRecord, off: readonly string[]): ListingRecord => ({ ...listing, off });

/** Whether candles of mark and index prices are collected for a listing. */
export const hasPriceCandles = ({ off }: ListingRecord): boolean => !isPriceOff(off, 'mark');

/** What a record is about, and the piece of the message that it is read from. */
export type Subject = {
  readonly symbol: string;
  readonly venueTs: Micros | null;
  readonly receivedAt: Micros;
  readonly element: unknown;
};

/** `of(subject, layer, values)` builds a venue's mapped records. */
export const bindMapped =
  (venue: string) =>
  <R extends NormalisedRecord>(
    { symbol, venueTs, receivedAt, element }: Subject,
    layer: R['layer'],
    values: R['values'],
  ): Mapped => ({
    record: {
      layer,
      venue,
      venue_symbol: symbol,
      venue_ts: venueTs,
      received_at: receivedAt,
      values,
    } as NormalisedRecord,
    element,
  });

/** The records that a message has. */
export const listPresent = (mapped: readonly (Mapped | null)[]): readonly Mapped[] =>
  mapped.includes(null) ? mapped.filter((one) => one !== null) : (mapped as readonly Mapped[]);

type Day = Pick<StatsRecord['values'], 'volume_24h' | 'turnover_24h' | 'change_24h'>;

/** Whether no figure of the day was published: then there is no record. */
export const isEmptyDay = ({ volume_24h, turnover_24h, change_24h }: Day): boolean =>
  volume_24h === null && turnover_24h === null && change_24h === null;

/** Sorts prices ascending (`1`) or descending (`-1`); levels already in order, which most venues send, are only checked. */
const sortLevels = (levels: readonly Level[], direction: 1 | -1): readonly Level[] => {
  for (let at = 1; at < levels.length; at++) {
    if (direction * comparePrices((levels[at] as Level)[0], (levels[at - 1] as Level)[0]) < 0)
      return levels.toSorted((a, b) => direction * comparePrices(a[0], b[0]));
  }
  return levels;
};

/** Compares positive figures by their digits: the longer whole part is larger, else the first different digit decides. */
const comparePrices = (a: Digits, b: Digits): number => {
  if (a === b) return 0;
  const wholes = countWholeDigits(a) - countWholeDigits(b);
  return wholes === 0 ? (a < b ? -1 : 1) : wholes;
};

const countWholeDigits = (digits: Digits): number => {
  const point = digits.indexOf('.');
  return point < 0 ? digits.length : point;
};

/** Levels of a book message, best first when it is whole. */
export type Sides = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };

/** A snapshot's sides, best first. */
export const sortSides = (bids: readonly Level[], asks: readonly Level[]): Sides => ({
  bids: sortLevels(bids, -1),
  asks: sortLevels(asks, 1),
});

/** The chain of a message that is whole. */
export const snapshotChain = (symbol: string, last: bigint | null = null): Chain => ({
  symbol,
  kind: 'snapshot',
  first: null,
  last,
  previous: null,
});

/** Listings that can be subscribed to. A listing whose end has passed is over, whatever word the venue still has for it. */
export const isOpen = ({ values: { status, delisted_at }, received_at }: ListingRecord): boolean =>
  status !== 'delisted' && status !== 'pre_launch' && (delisted_at === null || delisted_at > received_at);

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
    const tag = `${shard}.${shardOf(`socket ${listing.venue_symbol}`, perShard)}`;
    const group = groups.get(tag) ?? { place: { shard, tag }, members: [] };
    groups.set(tag, group);
    group.members.push(listing);
  }
  return [...groups.values()]
    .toSorted((a, b) => (a.place.tag < b.place.tag ? -1 : 1))
    .flatMap(({ place, members }) =>
      chunks(members.toSorted(compareSymbols), most ?? members.length).map((some, i) =>
        slot(some, most === undefined ? place : { ...place, tag: `${place.tag}.${i}` }),
      ),
    );
};

const compareSymbols = (a: ListingRecord, b: ListingRecord): number => (a.venue_symbol < b.venue_symbol ? -1 : 1);

/** Oldest first, so that a new listing changes only the end. */
export const byAge = (listings: readonly ListingRecord[]): readonly ListingRecord[] =>
  listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );

export const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

/** `1000PEPE`, `10000000AIDOGE`, `1000X`, `1MBABYDOGE`: one listed unit is that many of the base (V-04). `1INCH` is a name. */
export const splitMultiplier = (asset: string): { readonly base: string; readonly multiplier: Digits } => {
  const [, ahead, name] = /^(10{3,7}|1M)([A-Z][A-Z0-9]*)$/.exec(MILLIONS[asset] ?? asset) ?? [];
  if (ahead === undefined || name === undefined) return { base: asset, multiplier: '1' };
  return { base: name, multiplier: ahead === '1M' ? '1000000' : ahead };
};

/** Names whose `M` means a million, as their price shows; MANA's does not. */
const MILLIONS = words({ MBABYDOGE: '1MBABYDOGE' });

/** 10^-n, the step of figures with `n` decimals; below zero a multiple of ten. */
export const toStep = (decimals: number): Digits =>
  decimals > 0 ? `0.${'0'.repeat(decimals - 1)}1` : `1${'0'.repeat(-decimals)}`;

/** Whether a symbol ends in a digit, as a date does: spares most symbols a slower test. */
export const endsInDigit = (symbol: string): boolean => {
  const last = symbol.charCodeAt(symbol.length - 1);
  return last >= 0x30 && last <= 0x39;
};
