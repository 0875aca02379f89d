// Bybit's tickers: a full message, then only changes. Merged here explicitly, so that a member omitted by a delta is neither null nor published
// again, and a message that arrives out of order restores no old value.
import type { Micros } from '../../../schemas/records.ts';
import type { Mapped } from '../contract/mapping.ts';
import {
  badFrame,
  type Fields,
  readAmountOrNull,
  readFigureOrNull,
  readId,
  readMsOrNull,
  readPriceOrNull,
} from '../shared/wire.ts';
import { readTurnover, type Stamps, toMapped } from './mapping.ts';
import { toQuantityUnit } from './symbols.ts';

/** A last price of zero means no trade yet. */
const readLastOrNull = (value: unknown, name: string): string | null =>
  readAmountOrNull(value, name) === '0' ? null : readPriceOrNull(value, name);

const readMsTextOrNull = (value: unknown, name: string): string | null =>
  readMsOrNull(value === '' ? null : value, name) === null ? null : readId(value, name);

/** The members kept of a ticker, under the venue's names, as text. */
const READERS = {
  lastPrice: readLastOrNull,
  markPrice: readPriceOrNull,
  indexPrice: readPriceOrNull,
  fundingRate: readFigureOrNull,
  nextFundingTime: readMsTextOrNull,
  fundingIntervalHour: readAmountOrNull,
  openInterest: readAmountOrNull,
  volume24h: readAmountOrNull,
  turnover24h: readAmountOrNull,
  price24hPcnt: readFigureOrNull,
} as const;
type Member = keyof typeof READERS;
const MEMBERS = Object.keys(READERS) as readonly Member[];

type Ticker = Readonly<Partial<Record<Member, string | null>>>;
type Layer = 'ticker' | 'mark' | 'funding' | 'oi' | 'stats';
const LAYER_MEMBERS: Readonly<Record<Layer, readonly Member[]>> = {
  ticker: ['lastPrice'],
  mark: ['markPrice', 'indexPrice'],
  funding: ['fundingRate', 'nextFundingTime', 'fundingIntervalHour'],
  oi: ['openInterest'],
  stats: ['volume24h', 'turnover24h', 'price24hPcnt'],
};
const LAYERS = Object.keys(LAYER_MEMBERS) as readonly Layer[];

/** The members present in a message; an empty text is a member without a value. */
const readTicker = (data: Fields): Ticker => {
  const ticker: Partial<Record<Member, string | null>> = {};
  for (const name of MEMBERS) if (name in data) ticker[name] = READERS[name](data[name], name);
  return ticker;
};

/** Position of a message: the venue's time and its cross sequence. */
type Position = { readonly venueTs: Micros | null; readonly cs: string | null };
type Sent = Position & { readonly isFull: boolean };

/** State kept of a listing's ticker: each member with the position of its message. Plain data. */
type Held = {
  /** A full message has arrived. */
  readonly isWhole: boolean;
  readonly newest: Position;
  readonly members: Readonly<Partial<Record<Member, readonly [value: string | null, position: Position]>>>;
};

/**
 * Maps a frame of `tickers.<symbol>`. A delta before its listing's full message maps to nothing. A layer is published again only when one of its
 * members changes (the venue also repeats unchanged members). A full message without a mark is the spot market's. Values carry the newest stamp:
 * an overtaken message adds only members that no newer one had.
 */
export const mapTickerFrame = (
  { symbol, source }: Pick<Stamps, 'symbol' | 'source'>,
  data: Fields,
  { isFull, ...position }: Sent,
): readonly Mapped[] => {
  if (isFull && !('markPrice' in data)) return [];
  const all = openTickers(source.state);
  const held = Object.hasOwn(all, symbol) ? all[symbol] : undefined;
  const merged = merge(held, readTicker(data), { ...position, isFull });
  const at = { symbol, source, venueTs: merged.newest.venueTs };
  const before = isFull || !held ? {} : takeValues(held);
  const after = takeValues(merged);
  const changed = merged.isWhole ? LAYERS.filter((layer) => isChanged(at, layer, before, after)) : [];
  const mapped = changed.map((layer) => toLayer(at, layer, after, data));
  // Last, so that an unreadable message changes nothing.
  all[symbol] = merged;
  return mapped;
};

const merge = (held: Held | undefined, sent: Ticker, { isFull, ...position }: Sent): Held => {
  const members: Partial<Record<Member, readonly [string | null, Position]>> = {};
  for (const name of MEMBERS) {
    const old = held?.members[name];
    const isSent = isFull || name in sent;
    if (old && (!isSent || isOvertaken(position, old[1]))) members[name] = old;
    else if (name in sent) members[name] = [sent[name] ?? null, position];
  }
  return {
    isWhole: isFull || held?.isWhole === true,
    newest: held && isOvertaken(position, held.newest) ? held.newest : position,
    members,
  };
};

/** Messages may arrive out of order by this much; a larger step back means that the venue's clock was set back. */
const NEIGHBOURS: Micros = 2_000_000;

/** Behind by clock or sequence, and not ahead by the other: either may restart, but not both with one message. */
const isOvertaken = (position: Position, by: Position): boolean => {
  const clock = position.venueTs === null || by.venueTs === null ? 0 : position.venueTs - by.venueTs;
  const sequence = position.cs === null || by.cs === null ? 0n : BigInt(position.cs) - BigInt(by.cs);
  if (clock < -NEIGHBOURS && sequence === 0n) return false;
  return clock <= 0 && sequence <= 0n && (clock < 0 || sequence < 0n);
};

const takeValues = ({ members }: Held): Ticker =>
  Object.fromEntries(Object.entries(members).map(([name, [value]]) => [name, value]));

/** A row of the REST answer is always full. */
export const mapTickerAnswer = (at: Stamps, data: Fields): readonly Mapped[] => {
  const ticker = readTicker(data);
  return LAYERS.filter((layer) => isChanged(at, layer, {}, ticker)).map((layer) => toLayer(at, layer, ticker, data));
};

const openTickers = (state: Record<string, unknown>): Record<string, Held> => {
  state.held ??= {};
  return state.held as Record<string, Held>;
};

const isChanged = ({ symbol }: Stamps, layer: Layer, before: Ticker, after: Ticker): boolean =>
  LAYER_MEMBERS[layer].some((name) => isMember(symbol, name) && (before[name] ?? null) !== (after[name] ?? null));

/** The turnover of an inverse listing is not used. */
const isMember = (symbol: string, name: Member): boolean => name !== 'turnover24h' || toQuantityUnit(symbol) === 'base';

const toLayer = (at: Stamps, layer: Layer, ticker: Ticker, data: Fields): Mapped => {
  switch (layer) {
    case 'ticker':
      return toMapped(at, layer, { last: ticker.lastPrice ?? null }, data);
    case 'mark':
      return toMapped(at, layer, { mark: ticker.markPrice ?? null, index: ticker.indexPrice ?? null }, data);
    case 'funding':
      return toMapped(at, layer, toFunding(ticker), data);
    // The record counts both sides; `singleOpenInterest` would count one.
    case 'oi':
      return toMapped(at, layer, { oi: ticker.openInterest ?? null, oi_unit: toQuantityUnit(at.symbol) }, data);
    case 'stats':
      return toMapped(at, layer, toStats(at.symbol, ticker), data);
    default:
      return layer satisfies never;
  }
};

const MS_PER_HOUR = 3_600_000;

const toFunding = ({ fundingRate, nextFundingTime, fundingIntervalHour }: Ticker) => ({
  funding: fundingRate ?? null,
  funding_interval_ms: toIntervalMs(fundingIntervalHour ?? null),
  next_funding_at: nextFundingTime ? ((Number(nextFundingTime) * 1000) as Micros) : null,
});

const toIntervalMs = (hours: string | null): number | null => {
  if (hours === null) return null;
  const ms = Number(hours) * MS_PER_HOUR;
  if (!Number.isSafeInteger(ms)) throw badFrame('fundingIntervalHour is no interval', 'bad_figure');
  // Zero means: none yet.
  return ms === 0 ? null : ms;
};

/** The change is a fraction already. */
const toStats = (symbol: string, { volume24h, turnover24h, price24hPcnt }: Ticker) => ({
  volume_24h: volume24h ?? null,
  volume_unit: toQuantityUnit(symbol),
  turnover_24h: readTurnover(symbol, turnover24h, 'turnover24h'),
  change_24h: price24hPcnt ?? null,
});
