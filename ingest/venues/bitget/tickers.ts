// Bitget's tickers and related answers (prices, funding, open interest) as normalised records; three versions, one shape.
import type { Mapped } from '../contract/mapping.ts';
import { mapLayers } from '../shared/map-each.ts';
import { listPresent, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import {
  type Fields,
  isAbsent,
  makeBadFrame,
  readAmountOrNull,
  readFields,
  readFigureOrNull,
  readMsOrNull,
  readSoleAmount,
} from '../shared/wire.ts';
import { type MessageSource, mapElements, readAskedSymbol, toMapped, toSubject } from './mapping.ts';

const { toLast, toMark, toOi } = bindTickerLayers(toMapped);
const MARKS = ['markPrice', 'indexPrice'] as const;

/** The name of a member in v1, v2 or v3: the element has one of them, the others may be null. Named one by one, because a name from a list is looked up slowly. */
const NAMES = {
  last: ({ last, lastPr }: Fields) => (!isAbsent(last) ? 'last' : !isAbsent(lastPr) ? 'lastPr' : 'lastPrice'),
  rate: ({ capitalRate }: Fields) => (!isAbsent(capitalRate) ? 'capitalRate' : 'fundingRate'),
  next: ({ nextSettleTime, nextFundingTime }: Fields) =>
    !isAbsent(nextSettleTime) ? 'nextSettleTime' : !isAbsent(nextFundingTime) ? 'nextFundingTime' : 'nextUpdate',
  hours: ({ fundingRateInterval }: Fields) => (!isAbsent(fundingRateInterval) ? 'fundingRateInterval' : 'ratePeriod'),
  oi: ({ holding, holdingAmount }: Fields) =>
    !isAbsent(holding) ? 'holding' : !isAbsent(holdingAmount) ? 'holdingAmount' : 'openInterest',
  volume: ({ baseVolume }: Fields) => (!isAbsent(baseVolume) ? 'baseVolume' : 'volume24h'),
  turnover: ({ quoteVolume }: Fields) => (!isAbsent(quoteVolume) ? 'quoteVolume' : 'turnover24h'),
  change: ({ priceChangePercent, change24h }: Fields) =>
    !isAbsent(priceChangePercent) ? 'priceChangePercent' : !isAbsent(change24h) ? 'change24h' : 'price24hPcnt',
  stamp: ({ systemTime }: Fields) => (!isAbsent(systemTime) ? 'systemTime' : 'ts'),
} as const;

/** One ticker, of a frame or an answer: the layers whose members it has. */
export const toTicker = (symbol: string, element: Fields, source: MessageSource): readonly Mapped[] => {
  const subject = toSubject({ symbol, stamp: element[NAMES.stamp(element)], element }, source);
  return mapLayers([
    () => toLast(subject, element, NAMES.last(element)),
    () => toMark(subject, element, MARKS),
    () => toFunding(subject, element),
    // Open interest and volume are amounts of the base asset, also for listings margined in the coin.
    () => toOi(subject, element, [NAMES.oi(element), 'base']),
    () => toStats(subject, element),
  ]);
};

const toFunding = (subject: Subject, element: Fields): Mapped | null => {
  const [rate, next, hours] = [NAMES.rate(element), NAMES.next(element), NAMES.hours(element)];
  const funding = readFigureOrNull(element[rate], rate);
  const next_funding_at = readInstant(element[next], next);
  const funding_interval_ms = readHours(element[hours], hours);
  if (funding === null && next_funding_at === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms, next_funding_at });
};

const readInstant = (value: unknown, name: string) => readMsOrNull(value === '' ? null : value, name);

const MS_PER_HOUR = 3_600_000;

const readHours = (value: unknown, name: string): number | null => {
  const hours = readAmountOrNull(value, name);
  if (hours === null) return null;
  const ms = Number(hours) * MS_PER_HOUR;
  if (!Number.isSafeInteger(ms)) throw makeBadFrame(`${name} is not an interval`, 'bad_figure');
  // Zero means: none yet.
  return ms === 0 ? null : ms;
};

/** The change is a fraction in all versions. */
const toStats = (subject: Subject, element: Fields): Mapped | null => {
  const names = [NAMES.volume(element), NAMES.turnover(element), NAMES.change(element)] as const;
  const volume_24h = readAmountOrNull(element[names[0]], names[0]);
  const turnover_24h = readAmountOrNull(element[names[1]], names[1]);
  const change_24h = readFigureOrNull(element[names[2]], names[2]);
  if (volume_24h === null && turnover_24h === null && change_24h === null) return null;
  return toMapped(subject, 'stats', { volume_24h, volume_unit: 'base' as const, turnover_24h, change_24h });
};

export type AnswerMapper = (data: unknown, source: MessageSource) => readonly Mapped[];

const mapEachSymbol =
  (map: (symbol: string, element: Fields, source: MessageSource) => readonly Mapped[]): AnswerMapper =>
  (data, source) =>
    mapElements(data, (element) => {
      const symbol = readAskedSymbol(element, source);
      return symbol === null ? [] : map(symbol, element, source);
    });

export const mapTickers = mapEachSymbol((symbol, element, source) =>
  /^spot$/i.test(String(element.category ?? '')) ? [] : toTicker(symbol, element, source),
);

/** Mark and index only: the docs do not state that `price` is a trade's. */
export const mapSymbolPrice = mapEachSymbol((symbol, element, source) =>
  listPresent([toMark(toSubject({ symbol, stamp: element.ts, element }, source), element, MARKS)]),
);

/** The current rate, or the next settlement alone. */
export const mapFunding = mapEachSymbol((symbol, element, source) =>
  listPresent([toFunding(toSubject({ symbol, stamp: undefined, element }, source), element)]),
);

export const mapOpenInterest: AnswerMapper = (data, source) => {
  const answer = readFields(data, 'data');
  return mapElements(answer.openInterestList ?? answer.list, (element) => {
    const symbol = readAskedSymbol(element, source);
    if (symbol === null) return [];
    const [value, name] = !isAbsent(element.size) ? [element.size, 'size'] : [element.openInterest, 'openInterest'];
    const oi = readSoleAmount(value, name);
    const subject = toSubject({ symbol, stamp: answer.ts, element }, source);
    return oi === null ? [] : [toMapped(subject, 'oi', { oi, oi_unit: 'base' as const })];
  });
};
