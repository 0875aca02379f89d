// The table of layers: names, aliases, members with their units, freshness bounds, sampling windows (L-01, L-02, F-03).
import type { PriceType } from './records.ts';
import type { Unit } from './units.ts';

/** Layers whose readings are sampled into windows and answered by snapshots and history. */
export const READING_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'book', 'stats', 'venue_depth'] as const;
export type ReadingLayer = (typeof READING_LAYERS)[number];

/** The depth bands of the catalogue, ascending. */
export const BANDS = ['10bps', '25bps', '50bps', '100bps'] as const;
export type Band = (typeof BANDS)[number];

/** Unit of a member, or `quantity`: resolved per listing to base, contracts or quote (N-08). */
export type MemberUnit = Unit | 'quantity';

export type LayerSpec = {
  readonly name: ReadingLayer;
  /** Name in the listing record, stream, archive and proof (L-01). */
  readonly recordName: string;
  readonly aliases: readonly string[];
  /** QuestDB table of its rows. */
  readonly table: string;
  /** Freshness bound in milliseconds (F-03). */
  readonly freshnessMs: number;
  /** Sampling window in milliseconds (design: 10 s, or 60 s for funding and stats). */
  readonly windowMs: number;
  /** Members of `values`, in documented order. */
  readonly members: Readonly<Record<string, MemberUnit>>;
  /** Members computed at storage time from others (N-05 rule 2). */
  readonly derived: readonly string[];
};

const bandMembers = Object.fromEntries(
  BANDS.flatMap((b) => [
    [`depth_bid_${b}`, 'quantity'],
    [`depth_ask_${b}`, 'quantity'],
    [`depth_bid_value_${b}`, 'quote'],
    [`depth_ask_value_${b}`, 'quote'],
    [`levels_bid_${b}`, 'count'],
    [`levels_ask_${b}`, 'count'],
  ]),
) as Record<string, MemberUnit>;

export const LAYERS: Readonly<Record<ReadingLayer, LayerSpec>> = {
  ticker: {
    name: 'ticker',
    recordName: 'ticker',
    aliases: [],
    table: 'ticker',
    freshnessMs: 30_000,
    windowMs: 10_000,
    members: { last: 'quote' },
    derived: [],
  },
  mark: {
    name: 'mark',
    recordName: 'mark',
    aliases: [],
    table: 'mark',
    freshnessMs: 30_000,
    windowMs: 10_000,
    members: { mark: 'quote', index: 'quote', basis: 'fraction' },
    derived: ['basis'],
  },
  funding: {
    name: 'funding',
    recordName: 'funding',
    aliases: [],
    table: 'funding',
    freshnessMs: 300_000,
    windowMs: 60_000,
    members: { funding: 'fraction', funding_8h: 'fraction', funding_interval: 'ms' },
    derived: ['funding_8h'],
  },
  oi: {
    name: 'oi',
    recordName: 'oi',
    aliases: ['open_interest'],
    table: 'open_interest',
    freshnessMs: 30_000,
    windowMs: 10_000,
    members: { oi: 'quantity' },
    derived: [],
  },
  book: {
    name: 'book',
    recordName: 'book',
    aliases: [],
    table: 'book',
    freshnessMs: 30_000,
    windowMs: 10_000,
    members: {
      bid: 'quote',
      ask: 'quote',
      mid: 'quote',
      bid_size: 'quantity',
      ask_size: 'quantity',
      spread: 'fraction',
    },
    derived: ['mid', 'spread'],
  },
  stats: {
    name: 'stats',
    recordName: 'stats',
    aliases: [],
    table: 'stats',
    freshnessMs: 120_000,
    windowMs: 60_000,
    members: { volume_24h: 'quantity', turnover_24h: 'quote', change_24h: 'fraction' },
    derived: [],
  },
  venue_depth: {
    name: 'venue_depth',
    recordName: 'book_bands',
    aliases: ['book_bands'],
    table: 'book_bands',
    freshnessMs: 30_000,
    windowMs: 10_000,
    members: { mid: 'quote', ...bandMembers },
    derived: [],
  },
};

/** Whether a layer counts anything: its rows state the unit. */
export const hasQuantity = (layer: ReadingLayer): boolean => Object.values(LAYERS[layer].members).includes('quantity');

/** Candles of mark and index prices, where something else brings them than those of trades. */
export const PRICE_CANDLES = 'price_candles';

/** Whether the venue's limits leave no room for candles of a price, by what a listing's record has `off` (V-03a). */
export const isPriceOff = (off: readonly string[] | undefined, priceType: PriceType): boolean =>
  priceType !== 'trade' && off?.includes(PRICE_CANDLES) === true;
