// Bybit's tickers: a full message, then only changes. Merged here explicitly, so that a member omitted by a delta is neither null nor published
// again, and a message that arrives out of order restores no old value.
import type { FundingRecord, Micros, QuantityUnit, StatsRecord } from '../../../schemas/records.ts';
import type { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { giveReadable, readOrElse } from '../shared/map-each.ts';
import type { Subject } from '../shared/mapped.ts';
import {
  type Fields,
  makeBadFrame,
  readAmountOrNull,
  readFigureOrNull,
  readId,
  readIdOrNull,
  readMsOrNull,
  readPriceUnlessZero,
} from '../shared/wire.ts';
import { type MessageSource, toMapped } from './mapping.ts';
import { toQuantityUnit } from './symbols.ts';

const MS_PER_HOUR = 3_600_000;

const readHoursOrNull = (value: unknown, name: string): string | null => {
  const hours = readAmountOrNull(value, name);
  if (!Number.isSafeInteger(Number(hours) * MS_PER_HOUR))
    throw makeBadFrame(`${name} is not an interval`, 'bad_figure');
  return hours;
};

const readMsTextOrNull = (value: unknown, name: string): string | null =>
  readMsOrNull(value === '' ? null : value, name) === null ? null : readId(value, name);

/** Position of a message: the venue's time and its cross sequence. */
type Position = { readonly venueTs: Micros | null; readonly cs: string | null };
type Placed = { readonly position: Position; readonly fault: VenueError | null };
type Sent = Placed & { readonly isFull: boolean };

const NO_POSITION: Position = { venueTs: null, cs: null };

/** A message whose position cannot be read still replaces values. */
export const readPosition = ({ ts, cs }: Fields): Placed =>
  readOrElse<Placed>(
    () => ({
      position: { venueTs: readMsOrNull(ts, 'ts'), cs: readIdOrNull(cs, 'cs') },
      fault: null,
    }),
    (fault) => ({ position: NO_POSITION, fault }),
  );

/** A member's value as text, with the position of its message. */
type Kept = readonly [value: string | null, position: Position];

type Member =
  | 'lastPrice'
  | 'markPrice'
  | 'indexPrice'
  | 'fundingRate'
  | 'nextFundingTime'
  | 'fundingIntervalHour'
  | 'openInterest'
  | 'volume24h'
  | 'turnover24h'
  | 'price24hPcnt';
/** The members kept of a ticker, under the venue's names. */
type Ticker = Readonly<Partial<Record<Member, Kept>>>;
type OwnTicker = Partial<Record<Member, Kept>>;

/** The members present in a message; an empty text is a member without a value. */
const readTicker = (data: Fields, position: Position): OwnTicker => {
  const ticker: OwnTicker = {};
  const { lastPrice, markPrice, indexPrice, fundingRate, nextFundingTime, fundingIntervalHour } = data;
  const { openInterest, volume24h, turnover24h, price24hPcnt } = data;
  if (lastPrice !== undefined) ticker.lastPrice = [readPriceUnlessZero(lastPrice, 'lastPrice'), position];
  if (markPrice !== undefined) ticker.markPrice = [readPriceUnlessZero(markPrice, 'markPrice'), position];
  if (indexPrice !== undefined) ticker.indexPrice = [readPriceUnlessZero(indexPrice, 'indexPrice'), position];
  if (fundingRate !== undefined) ticker.fundingRate = [readFigureOrNull(fundingRate, 'fundingRate'), position];
  if (nextFundingTime !== undefined)
    ticker.nextFundingTime = [readMsTextOrNull(nextFundingTime, 'nextFundingTime'), position];
  if (fundingIntervalHour !== undefined)
    ticker.fundingIntervalHour = [readHoursOrNull(fundingIntervalHour, 'fundingIntervalHour'), position];
  if (openInterest !== undefined) ticker.openInterest = [readAmountOrNull(openInterest, 'openInterest'), position];
  if (volume24h !== undefined) ticker.volume24h = [readAmountOrNull(volume24h, 'volume24h'), position];
  if (turnover24h !== undefined) ticker.turnover24h = [readAmountOrNull(turnover24h, 'turnover24h'), position];
  if (price24hPcnt !== undefined) ticker.price24hPcnt = [readFigureOrNull(price24hPcnt, 'price24hPcnt'), position];
  return ticker;
};

const READERS: Readonly<Record<Member, (value: unknown, name: string) => string | null>> = {
  lastPrice: readPriceUnlessZero,
  markPrice: readPriceUnlessZero,
  indexPrice: readPriceUnlessZero,
  fundingRate: readFigureOrNull,
  nextFundingTime: readMsTextOrNull,
  fundingIntervalHour: readHoursOrNull,
  openInterest: readAmountOrNull,
  volume24h: readAmountOrNull,
  turnover24h: readAmountOrNull,
  price24hPcnt: readFigureOrNull,
};

type Read = { readonly ticker: OwnTicker; readonly fault: VenueError | null };

/** A member that cannot be read has no value: the venue has replaced the old one. */
const readMembers = (data: Fields, position: Position): Read => {
  const ticker: OwnTicker = {};
  let fault: VenueError | null = null;
  for (const name of Object.keys(READERS) as Member[]) {
    if (data[name] === undefined) continue;
    const read = (): string | null => READERS[name](data[name], name);
    const value = readOrElse<string | null>(read, (error) => {
      fault ??= error;
      return null;
    });
    ticker[name] = [value, position];
  }
  return { ticker, fault };
};

/** Nearly all messages can be read whole, which is faster. */
const readSent = (data: Fields, position: Position): Read =>
  readOrElse<Read>(
    () => ({ ticker: readTicker(data, position), fault: null }),
    () => readMembers(data, position),
  );

/** State kept of a listing's ticker. Plain data. */
type Held = {
  /** A full message has arrived. */
  readonly isWhole: boolean;
  readonly newest: Position;
  readonly members: Ticker;
};

/**
 * Maps a frame of `tickers.<symbol>`. A delta before its listing's full message maps to nothing. A layer is published again only when one of its
 * members changes (the venue also repeats unchanged members and full messages). Values carry the newest stamp: an overtaken message adds only members
 * that no newer one had. The whole message is held, whatever of it cannot be read.
 */
export const mapTickerFrame = (
  { symbol, source }: { readonly symbol: string; readonly source: MessageSource },
  data: Fields,
  { isFull, position, fault }: Sent,
): readonly Mapped[] => {
  if (isFull && isOfSpot(data)) return [];
  const all = openTickers(source.state);
  const held = Object.hasOwn(all, symbol) ? all[symbol] : undefined;
  const { ticker: sent, fault: unread } = readSent(data, position);
  const merged: Held = {
    isWhole: isFull || held?.isWhole === true,
    newest: held && isOvertaken(position, held.newest) ? held.newest : position,
    members: held === undefined ? sent : isFull ? replace(held.members, sent, position) : merge(held.members, sent),
  };
  const subject = { symbol, venueTs: merged.newest.venueTs, receivedAt: source.receivedAt, element: data };
  const before = held?.isWhole === true ? held.members : NONE;
  all[symbol] = merged;
  return giveReadable(merged.isWhole ? mapChanged(subject, before, merged.members) : [], fault ?? unread);
};

const OF_CONTRACTS: readonly Member[] = [
  'markPrice',
  'indexPrice',
  'fundingRate',
  'nextFundingTime',
  'fundingIntervalHour',
  'openInterest',
];

/** The spot market has the same topics and names: of contracts alone are these members, of which a full message may lack some. */
const isOfSpot = (data: Fields): boolean => OF_CONTRACTS.every((name) => data[name] === undefined);

const NONE: Ticker = {};

/** A full message replaces every member that is not newer; `sent` becomes the result. */
const replace = (held: Ticker, sent: OwnTicker, position: Position): Ticker => {
  for (const name of Object.keys(held) as Member[]) {
    const old = held[name];
    if (old !== undefined && isOvertaken(position, old[1])) sent[name] = old;
  }
  return sent;
};

/** A delta replaces the members that it has. */
const merge = (held: Ticker, sent: Ticker): Ticker => {
  const members: OwnTicker = { ...held };
  for (const name of Object.keys(sent) as Member[]) {
    const [old, next] = [held[name], sent[name]];
    if (next !== undefined && (old === undefined || !isOvertaken(next[1], old[1]))) members[name] = next;
  }
  return members;
};

/** Messages may arrive out of order by this much; a larger step back means that the venue's clock was set back. */
const NEIGHBOURS: Micros = 2_000_000;

/** A message this far behind was not overtaken on its connection: recordings that are read one after another may be years apart. */
const OVERTAKEN_FOR: Micros = 10_000_000;

/** Behind by clock or sequence, and not ahead by the other: either may restart, but not both with one message. */
const isOvertaken = (position: Position, by: Position): boolean => {
  const clock = position.venueTs === null || by.venueTs === null ? 0 : position.venueTs - by.venueTs;
  if (clock > 0 || clock < -OVERTAKEN_FOR) return false;
  const sequence = position.cs === null || by.cs === null ? 0n : BigInt(position.cs) - BigInt(by.cs);
  if (clock < -NEIGHBOURS && sequence === 0n) return false;
  return sequence <= 0n && (clock < 0 || sequence < 0n);
};

/** A row of the REST answer is always full. */
export const mapTickerAnswer = (subject: Subject, data: Fields): readonly Mapped[] => {
  const { ticker, fault } = readSent(data, { venueTs: subject.venueTs, cs: null });
  return giveReadable(mapChanged(subject, NONE, ticker), fault);
};

const openTickers = (state: Record<string, unknown>): Record<string, Held> => {
  state.held ??= {};
  return state.held as Record<string, Held>;
};

const toValue = (kept: Kept | undefined): string | null => (kept === undefined ? null : kept[0]);

const isOther = (before: Kept | undefined, after: Kept | undefined): boolean =>
  before !== after && toValue(before) !== toValue(after);

/** A record of each layer that has a changed member. */
const mapChanged = (subject: Subject, before: Ticker, after: Ticker): readonly Mapped[] => {
  const mapped: Mapped[] = [];
  if (isOther(before.lastPrice, after.lastPrice))
    mapped.push(toMapped(subject, 'ticker', { last: toValue(after.lastPrice) }));
  if (isOther(before.markPrice, after.markPrice) || isOther(before.indexPrice, after.indexPrice))
    mapped.push(toMapped(subject, 'mark', { mark: toValue(after.markPrice), index: toValue(after.indexPrice) }));
  if (
    isOther(before.fundingRate, after.fundingRate) ||
    isOther(before.nextFundingTime, after.nextFundingTime) ||
    isOther(before.fundingIntervalHour, after.fundingIntervalHour)
  )
    mapped.push(toMapped(subject, 'funding', toFunding(after)));
  const unit = toQuantityUnit(subject.symbol);
  // The record counts both sides; `singleOpenInterest` would count one.
  if (isOther(before.openInterest, after.openInterest))
    mapped.push(toMapped(subject, 'oi', { oi: toValue(after.openInterest), oi_unit: unit }));
  // The turnover of an inverse listing is not used.
  const isTurnoverOther = unit === 'base' && isOther(before.turnover24h, after.turnover24h);
  if (isTurnoverOther || isOther(before.volume24h, after.volume24h) || isOther(before.price24hPcnt, after.price24hPcnt))
    mapped.push(toMapped(subject, 'stats', toStats(after, unit)));
  return mapped;
};

const toFunding = ({ fundingRate, nextFundingTime, fundingIntervalHour }: Ticker): FundingRecord['values'] => {
  const next = toValue(nextFundingTime);
  return {
    funding: toValue(fundingRate),
    funding_interval_ms: toIntervalMs(toValue(fundingIntervalHour)),
    next_funding_at: next === null ? null : ((Number(next) * 1000) as Micros),
  };
};

/** Zero means: none yet. */
const toIntervalMs = (hours: string | null): number | null => Number(hours) * MS_PER_HOUR || null;

/** The change is a fraction already. */
const toStats = ({ volume24h, turnover24h, price24hPcnt }: Ticker, unit: QuantityUnit): StatsRecord['values'] => ({
  volume_24h: toValue(volume24h),
  volume_unit: unit,
  turnover_24h: unit === 'base' ? toValue(turnover24h) : null,
  change_24h: toValue(price24hPcnt),
});
