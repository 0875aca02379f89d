// BitMEX' table of instruments: a full row, then only changes. Merged here explicitly, so that a member omitted by an update is neither null
// nor published again.
import type { Micros } from '../../../schemas/records.ts';
import type { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { readOrElse } from '../shared/map-each.ts';
import { bindMapped, type Subject } from '../shared/mapped.ts';
import {
  type Fields,
  makeBadFrame,
  readAmountOrNull,
  readFigureOrNull,
  readInstantOrNull,
  readPriceUnlessZero,
} from '../shared/wire.ts';

export const toMapped = bindMapped('bitmex');

/** Intervals are written as instants of the year 2000: `2000-01-01T08:00:00.000Z` is eight hours. */
const ZERO_INTERVAL_MS = Date.UTC(2000, 0, 1);

/** Milliseconds; null: none. */
export const readInterval = (value: unknown): number | null => {
  const at = readInstantOrNull(value, 'fundingInterval');
  if (at === null) return null;
  const ms = at / 1000 - ZERO_INTERVAL_MS;
  if (!Number.isSafeInteger(ms) || ms > 366 * 86_400_000) throw makeBadFrame('fundingInterval is not an interval');
  return ms === 0 ? null : ms;
};

/** The members kept of a row, under the venue's names: figures as digits, instants in microseconds, the interval in milliseconds. */
const READERS = {
  lastPrice: readPriceUnlessZero,
  markPrice: readPriceUnlessZero,
  indicativeSettlePrice: readPriceUnlessZero,
  fundingRate: readFigureOrNull,
  fundingTimestamp: readInstantOrNull,
  fundingInterval: readInterval,
  openInterest: readAmountOrNull,
  volume24h: readAmountOrNull,
  foreignNotional24h: readAmountOrNull,
  lastChangePcnt: readFigureOrNull,
} as const;
type Member = keyof typeof READERS;
const MEMBERS = Object.keys(READERS) as readonly Member[];

export type Instrument = { readonly [M in Member]?: ReturnType<(typeof READERS)[M]> };

type Layer = 'ticker' | 'mark' | 'funding' | 'oi' | 'stats';
const LAYER_MEMBERS: Readonly<Record<Layer, readonly Member[]>> = {
  ticker: ['lastPrice'],
  mark: ['markPrice', 'indicativeSettlePrice'],
  funding: ['fundingRate', 'fundingTimestamp', 'fundingInterval'],
  oi: ['openInterest'],
  stats: ['volume24h', 'foreignNotional24h', 'lastChangePcnt'],
};
const LAYERS = Object.keys(LAYER_MEMBERS) as readonly Layer[];

type Read = { readonly instrument: Instrument; readonly fault: VenueError | null };

/** The members present in a row. One that cannot be read has no value: the venue has replaced the old one. */
export const readInstrument = (row: Fields): Read => {
  let fault: VenueError | null = null;
  const read = (name: Member): string | number | null =>
    readOrElse<string | number | null>(
      () => READERS[name](row[name], name),
      (error) => {
        fault ??= error;
        return null;
      },
    );
  const instrument = Object.fromEntries(MEMBERS.filter((name) => name in row).map((name) => [name, read(name)]));
  return { instrument, fault };
};

type Change = { readonly before: Instrument; readonly after: Instrument };

/** One record for each layer with a changed member. */
export const mapChange = (subject: Subject, { before, after }: Change): readonly Mapped[] =>
  LAYERS.filter((layer) => LAYER_MEMBERS[layer].some((name) => (before[name] ?? null) !== (after[name] ?? null))).map(
    (layer) => toLayer(subject, layer, after),
  );

const toLayer = (subject: Subject, layer: Layer, held: Instrument): Mapped => {
  switch (layer) {
    case 'ticker':
      return toMapped(subject, layer, { last: held.lastPrice ?? null });
    case 'mark':
      return toMapped(subject, layer, { mark: held.markPrice ?? null, index: held.indicativeSettlePrice ?? null });
    case 'funding':
      return toMapped(subject, layer, toFunding(held));
    // `openValue` counts the settlement currency's smallest units.
    case 'oi':
      return toMapped(subject, layer, { oi: held.openInterest ?? null, oi_unit: 'contracts' });
    case 'stats':
      return toMapped(subject, layer, toStats(held));
    default:
      return layer satisfies never;
  }
};

const toFunding = ({ fundingRate, fundingTimestamp, fundingInterval }: Instrument) => ({
  funding: fundingRate ?? null,
  funding_interval_ms: fundingInterval ?? null,
  next_funding_at: (fundingTimestamp ?? null) as Micros | null,
});

/** `turnover24h` counts satoshis (or millionths of USDT), `foreignNotional24h` the quote currency; the change is a fraction despite its name. */
const toStats = ({ volume24h, foreignNotional24h, lastChangePcnt }: Instrument) => ({
  volume_24h: volume24h ?? null,
  volume_unit: 'contracts' as const,
  turnover_24h: foreignNotional24h ?? null,
  change_24h: lastChangePcnt ?? null,
});
