// Bitget's tickers and related answers (prices, funding, open interest) as normalised records; three versions, one shape.
import type { Mapped } from '../contract/mapping.ts';
import {
  badFrame,
  type Fields,
  readAmount,
  readAmountOrNull,
  readFields,
  readFigureOrNull,
  readMsOrNull,
  readPriceOrNull,
} from '../shared/wire.ts';
import { type MessageSource, readAskedSymbol, readElements, readStamp, type Stamps, toMapped } from './mapping.ts';

/** Names of a member in v1, v2 and v3; a message has one of them. */
const NAMES = {
  last: ['last', 'lastPr', 'lastPrice'],
  rate: ['capitalRate', 'fundingRate'],
  next: ['nextSettleTime', 'nextFundingTime', 'nextUpdate'],
  hours: ['fundingRateInterval', 'ratePeriod'],
  oi: ['holding', 'holdingAmount', 'openInterest'],
  volume: ['baseVolume', 'volume24h'],
  turnover: ['quoteVolume', 'turnover24h'],
  change: ['priceChangePercent', 'change24h', 'price24hPcnt'],
  stamp: ['systemTime', 'ts'],
} as const;

const findMember = (element: Fields, member: keyof typeof NAMES): readonly [value: unknown, name: string] => {
  const name = NAMES[member].find((each) => each in element) ?? NAMES[member][0];
  return [element[name], name];
};

/** One ticker, of a frame or an answer: the layers whose members it has. */
export const toTicker = (symbol: string, element: Fields, source: MessageSource): readonly Mapped[] => {
  const at = { symbol, venueTs: readStamp(findMember(element, 'stamp')[0], source), source };
  return [
    ...toLast(at, element),
    ...toMark(at, element),
    ...toFunding(at, element),
    ...toOi(at, element),
    ...toStats(at, element),
  ];
};

/** A last price of zero means no trade yet. */
const toLast = (at: Stamps, element: Fields): Mapped[] => {
  const last = readAmountOrNull(...findMember(element, 'last'));
  return last === null || last === '0' ? [] : [toMapped(at, 'ticker', { last }, element)];
};

const toMark = (at: Stamps, element: Fields): Mapped[] => {
  const mark = readPriceOrNull(element.markPrice, 'markPrice');
  const index = readPriceOrNull(element.indexPrice, 'indexPrice');
  return mark === null && index === null ? [] : [toMapped(at, 'mark', { mark, index }, element)];
};

const toFunding = (at: Stamps, element: Fields): Mapped[] => {
  const funding = readFigureOrNull(...findMember(element, 'rate'));
  const next_funding_at = readInstant(...findMember(element, 'next'));
  const funding_interval_ms = readHours(...findMember(element, 'hours'));
  if (funding === null && next_funding_at === null) return [];
  return [toMapped(at, 'funding', { funding, funding_interval_ms, next_funding_at }, element)];
};

const readInstant = (value: unknown, name: string) => readMsOrNull(value === '' ? null : value, name);

const MS_PER_HOUR = 3_600_000;

const readHours = (value: unknown, name: string): number | null => {
  const hours = readAmountOrNull(value, name);
  if (hours === null) return null;
  const ms = Number(hours) * MS_PER_HOUR;
  if (!Number.isSafeInteger(ms)) throw badFrame(`${name} is no interval`, 'bad_figure');
  // Zero means: none yet.
  return ms === 0 ? null : ms;
};

/** Every size is an amount of the base asset, also for listings margined in the coin. */
const toOi = (at: Stamps, element: Fields): Mapped[] => {
  const oi = readAmountOrNull(...findMember(element, 'oi'));
  return oi === null ? [] : [toMapped(at, 'oi', { oi, oi_unit: 'base' as const }, element)];
};

/** The change is a fraction in all versions. */
const toStats = (at: Stamps, element: Fields): Mapped[] => {
  const volume_24h = readAmountOrNull(...findMember(element, 'volume'));
  const turnover_24h = readAmountOrNull(...findMember(element, 'turnover'));
  const change_24h = readFigureOrNull(...findMember(element, 'change'));
  if (volume_24h === null && turnover_24h === null && change_24h === null) return [];
  return [toMapped(at, 'stats', { volume_24h, volume_unit: 'base' as const, turnover_24h, change_24h }, element)];
};

export type AnswerMapper = (data: unknown, source: MessageSource) => readonly Mapped[];

const forEachSymbol =
  (map: (symbol: string, element: Fields, source: MessageSource) => readonly Mapped[]): AnswerMapper =>
  (data, source) =>
    readElements(data).flatMap((element) => {
      const symbol = readAskedSymbol(element, source);
      return symbol === null ? [] : map(symbol, element, source);
    });

export const mapTickers = forEachSymbol((symbol, element, source) =>
  /^spot$/i.test(String(element.category ?? '')) ? [] : toTicker(symbol, element, source),
);

/** Mark and index only: the docs do not state that `price` is a trade's. */
export const mapSymbolPrice = forEachSymbol((symbol, element, source) =>
  toMark({ symbol, venueTs: readStamp(element.ts, source), source }, element),
);

/** The current rate, or the next settlement alone. */
export const mapFunding = forEachSymbol((symbol, element, source) =>
  toFunding({ symbol, venueTs: readStamp(undefined, source), source }, element),
);

export const mapOpenInterest: AnswerMapper = (data, source) => {
  const answer = readFields(data, 'data');
  return readElements(answer.openInterestList ?? answer.list).flatMap((element) => {
    const symbol = readAskedSymbol(element, source);
    if (symbol === null) return [];
    const [value, name] = 'size' in element ? [element.size, 'size'] : [element.openInterest, 'openInterest'];
    const at = { symbol, venueTs: readStamp(answer.ts, source), source };
    return [toMapped(at, 'oi', { oi: readAmount(value, name), oi_unit: 'base' as const }, element)];
  });
};
