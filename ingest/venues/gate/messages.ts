// Gate's frames and answers as normalised records (records.md). Not read: top of book, premium index, past funding; contracts with a delivery.
import { toFraction } from '../../../schemas/decimals.ts';
import type { Digits, Micros, PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { isEmptyDay, type Subject } from '../shared/mapped.ts';
import { noteUnexpected, noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  NO_QUERY,
  parseRequest,
  readAmountOrNull,
  readFields,
  readFigure,
  readFigureOrNull,
  readIdOrNull,
  readList,
  readMsOrNull,
  readPrice,
  readPriceUnlessZero,
  readSoleAmount,
  readText,
} from '../shared/wire.ts';
import { mapBookAnswer, mapDiff, mapOldBook, mapStream } from './books.ts';
import { type Frame, readAnswer, readInterval, readSeconds, readSentAt, type Source, toMapped } from './mapping.ts';
import { isPerpetual, toMarket } from './symbols.ts';

const cutLevels = createCutter({ names: ['b', 'a', 'bids', 'asks'], keys: ['p', 's'] });

const readMessage = createMessageReader('"channel":"futures.', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const request = parseRequest(message.request);
    const source = { receivedAt: message.received_at, query: request?.query ?? NO_QUERY };
    return message.kind === 'frame' ? mapFrame(body, source) : mapAnswer(request?.path ?? null, body, source);
  });

/** `obu` had no event at first (May 2025); a pong has neither an event nor a result. Acknowledgements have other events. */
const isPush = ({ event, result }: Fields): boolean =>
  event === 'update' || event === 'all' || (isAbsent(event) && !isAbsent(result));

const mapFrame = (body: unknown, source: Source): readonly Mapped[] => {
  const frame = readFields(body, 'message');
  if (isFields(frame.error)) throw makeRefusal(JSON.stringify(frame.error));
  if (!isPush(frame)) return [];
  const mapper = findMapper(String(frame.channel));
  return mapper === null ? noteUnread() : mapper(frame.result, frame, source);
};

const mapAnswer = (path: string | null, answer: unknown, source: Source): readonly Mapped[] => {
  const body = readAnswer(answer);
  if (path === null) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the request of this answer is not known');
  const endpoint = /\/futures\/(?:usdt|usd1|btc)\/([a-z_]+)(?:\/[^/]+)?$/.exec(path)?.[1] ?? '';
  return ANSWERS.get(endpoint)?.(body, source) ?? [];
};

/** Maps the perpetuals' elements of a result: a list, a list within a list (2021), or a single one. */
const mapElements = (result: unknown, map: (element: Fields) => readonly Mapped[]): readonly Mapped[] =>
  mapEach(listElements(result), (item) => {
    const element = readFields(item, 'element');
    return isPerpetual(readText(element.contract, 'contract')) ? map(element) : [];
  });

const listElements = (result: unknown): readonly unknown[] => {
  if (!Array.isArray(result)) return [result];
  return result.some(Array.isArray) ? result.flat() : result;
};

const toSubject = (element: Fields, venueTs: Micros | null, { receivedAt }: Source): Subject => ({
  symbol: readText(element.contract, 'contract'),
  venueTs,
  receivedAt,
  element,
});

/** `t` is when the ticker changed; older frames have the stamp of sending alone, and neither interval nor settlement. */
const mapTickers: Frame = (result, envelope, source) =>
  mapElements(result, (ticker) => {
    const subject = toSubject(ticker, readMsOrNull(ticker.t, 't') ?? readSentAt(envelope), source);
    return mapLayers([
      () => toTicker(subject, ticker.last),
      () => toMark(subject, { mark: ticker.mark_price, index: ticker.index_price }),
      () => toFunding(subject, ticker),
      () => toOi(subject, ticker.total_size),
      () => toStats(subject, ticker),
    ]);
  });

const toTicker = (subject: Subject, price: unknown): Mapped | null => {
  const last = readPriceUnlessZero(price, 'last');
  return last === null ? null : toMapped(subject, 'ticker', { last });
};

type Prices = { readonly mark: unknown; readonly index: unknown };

const toMark = (subject: Subject, prices: Prices): Mapped | null => {
  const mark = readPriceUnlessZero(prices.mark, 'mark_price');
  const index = readPriceUnlessZero(prices.index, 'index_price');
  return mark === null && index === null ? null : toMapped(subject, 'mark', { mark, index });
};

/** `funding_rate_indicative` is for the period after the next settlement. */
const toFunding = (subject: Subject, fields: Fields): Mapped | null => {
  const funding = readFigureOrNull(fields.funding_rate, 'funding_rate');
  const next_funding_at = readSeconds(fields.funding_next_apply, 'funding_next_apply');
  if (funding === null && next_funding_at === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: readInterval(fields), next_funding_at });
};

const toOi = (subject: Subject, size: unknown): Mapped | null => {
  const oi = readAmountOrNull(size, 'open interest');
  return oi === null ? null : toMapped(subject, 'oi', { oi, oi_unit: 'contracts' });
};

const toStats = (subject: Subject, ticker: Fields): Mapped | null => {
  const percent = readFigureOrNull(ticker.change_percentage, 'change_percentage');
  const values = {
    volume_24h: readAmountOrNull(ticker.volume_24h, 'volume_24h'),
    volume_unit: 'contracts' as const,
    turnover_24h: readAmountOrNull(ticker.volume_24h_quote, 'volume_24h_quote'),
    change_24h: percent === null ? null : toFraction(percent),
  };
  return isEmptyDay(values) ? null : toMapped(subject, 'stats', values);
};

/** Prices and the coming settlement; the positions are those of one side, and the sizes traded those of all time. The body is a list, or one. */
const mapContracts = (body: unknown, { receivedAt }: Source): readonly Mapped[] =>
  mapEach<unknown>(Array.isArray(body) ? body : [body], (item) => {
    const contract = readFields(item, 'contract');
    const symbol = readText(contract.name, 'name');
    if (!isPerpetual(symbol)) return [];
    const subject = { symbol, venueTs: null, receivedAt, element: contract };
    return mapLayers([
      () => toTicker(subject, contract.last_price),
      () => toMark(subject, { mark: contract.mark_price, index: contract.index_price }),
      () => toFunding(subject, contract),
    ]);
  });

/** Statistics of a minute, stamped with it: the mark and the open interest at its end. */
const mapContractStats: Frame = (result, envelope, source) =>
  mapElements(result, (stats) => {
    const subject = toSubject(stats, readSeconds(stats.time, 'time') ?? readSentAt(envelope), source);
    const prices = { mark: stats.mark_price, index: undefined };
    return mapLayers([() => toMark(subject, prices), () => toOi(subject, stats.open_interest)]);
  });

type Signed = { readonly isNegative: boolean; readonly amount: Digits };

const toSigned = (value: unknown, name: string): Signed => {
  const digits = readFigure(value, name);
  const isNegative = digits.startsWith('-');
  return { isNegative, amount: isNegative ? digits.slice(1) : digits };
};

/** A size whose sign is the side; null, and counted, for zero, which has none (V-03a). */
const toSided = (size: unknown): Signed | null => {
  const signed = toSigned(size, 'size');
  if (signed.amount !== '0') return signed;
  noteUnexpected('no_side');
  return null;
};

/** Answers have none. */
const NO_ENVELOPE: Fields = {};

/** Frames stamp in milliseconds; answers write the same in seconds with a fraction. */
const readTradeStamp = ({ create_time_ms, create_time }: Fields): Micros | null => {
  const fine = isSeconds(create_time_ms)
    ? readSeconds(create_time_ms, 'create_time_ms')
    : readMsOrNull(create_time_ms, 'create_time_ms');
  return fine ?? readSeconds(create_time, 'create_time');
};

const isSeconds = (value: unknown): boolean => {
  if (value === undefined) return false;
  const isWhole = typeof value === 'number' && Number.isInteger(value);
  return isWhole ? value >= 0 && value < 1e11 : /^\d{1,11}(\.\d+)?$/.test(String(value));
};

/** Positive sizes: the taker bought. An internal trade belongs to the insurance fund or an auto-deleveraging. */
const mapTrades: Frame = (result, envelope, source) =>
  mapElements(result, (trade) => {
    if (trade.is_internal === true) return [];
    const sided = toSided(trade.size);
    if (sided === null) return [];
    const values = {
      id: readIdOrNull(trade.id, 'id'),
      side: sided.isNegative ? ('sell' as const) : ('buy' as const),
      price: readPrice(trade.price, 'price'),
      quantity: sided.amount,
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(toSubject(trade, readTradeStamp(trade) ?? readSentAt(envelope), source), 'trade', values)];
  });

/** `time` is in milliseconds, as documented since 2026-08-20; older frames have `time_ms`. */
const readOrderStamp = ({ time_ms, time }: Fields): Micros | null =>
  readMsOrNull(time_ms, 'time_ms') ??
  (/^\d{13}$/.test(String(time)) ? readMsOrNull(time, 'time') : readSeconds(time, 'time'));

/** The liquidation's order: a sale (a size below zero) closes a long. */
const mapLiquidations: Frame = (result, envelope, source) =>
  mapElements(result, (order) => {
    const sided = toSided(order.size);
    if (sided === null) return [];
    const values = {
      id: null,
      side: sided.isNegative ? ('long' as const) : ('short' as const),
      price: readPrice(order.price, 'price'),
      price_kind: 'order' as const,
      quantity: sided.amount,
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(toSubject(order, readOrderStamp(order) ?? readSentAt(envelope), source), 'liquidation', values)];
  });

/** The answer has the position instead: above zero it was a long. Each step of a close repeats the whole position, so the order's size is read. */
const mapPastLiquidations = (body: unknown, source: Source): readonly Mapped[] =>
  mapElements(body, (order) => {
    const position = toSided(order.size);
    if (position === null) return [];
    const { amount } = toSigned(isAbsent(order.order_size) ? order.size : order.order_size, 'order_size');
    const filled = readPriceUnlessZero(order.fill_price, 'fill_price');
    const values = {
      id: null,
      side: position.isNegative ? ('short' as const) : ('long' as const),
      price: filled ?? readPrice(order.order_price, 'order_price'),
      price_kind: filled === null ? ('order' as const) : ('fill' as const),
      quantity: amount,
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(toSubject(order, readSeconds(order.time, 'time'), source), 'liquidation', values)];
  });

/** `1m_BTC_USDT`, `1m_mark_BTC_USDT`, `mark_BTC_USDT`. */
const parseName = (name: string): { readonly symbol: string; readonly priceType: PriceType } => {
  const [, prefix, symbol = name] = /^(?:(mark|index)_)?(.+)$/.exec(name) ?? [];
  return { symbol, priceType: prefix === 'mark' || prefix === 'index' ? prefix : 'trade' };
};

const mapCandles: Frame = (result, envelope, source) =>
  mapEach(readList(result, 'result'), (item) => {
    const candle = readFields(item, 'candle');
    const [, interval, name = ''] = /^([^_]+)_(.+)$/.exec(readText(candle.n, 'n')) ?? [];
    const { symbol, priceType } = parseName(name);
    if (interval !== '1m' || !isPerpetual(symbol)) return [];
    const subject = { symbol, venueTs: readSentAt(envelope), receivedAt: source.receivedAt, element: candle };
    // In quote currency; of contracts settled in bitcoin its unit is not known.
    const turnover = toMarket(symbol) === 'btc' ? null : readAmountOrNull(candle.a, 'a');
    return toCandle(subject, candle, { priceType, turnover });
  });

const mapCandleAnswer = (body: unknown, source: Source): readonly Mapped[] => {
  const name = source.query.get('contract');
  const interval = source.query.get('interval');
  if (name === null || interval === null)
    throw new VenueError(
      'VENUE_UNKNOWN_LISTING',
      'the candles name no contract or interval and their request is not known',
    );
  const { symbol, priceType } = parseName(name);
  if (interval !== '1m' || !isPerpetual(symbol)) return [];
  return mapEach(readList(body, 'candlesticks'), (item) => {
    const candle = readFields(item, 'candle');
    const subject = { symbol, venueTs: null, receivedAt: source.receivedAt, element: candle };
    return toCandle(subject, candle, { priceType, turnover: readAmountOrNull(candle.sum, 'sum') });
  });
};

type CandleOf = { readonly priceType: PriceType; readonly turnover: Digits | null };

/** `w` marks a closed window. The turnover is `a` in frames (since 2026), `sum` in answers. */
const toCandle = (subject: Subject, candle: Fields, { priceType, turnover }: CandleOf): readonly Mapped[] => {
  const open_time = readSeconds(candle.t, 't');
  if (open_time === null) throw makeBadFrame('t is not an instant');
  const isTraded = priceType === 'trade';
  const volume = isTraded ? readSoleAmount(candle.v, 'v') : null;
  const prices = readCandlePrices(
    { open: candle.o, high: candle.h, low: candle.l, close: candle.c },
    volume,
    readFigureOrNull,
  );
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? ('contracts' as const) : null,
    turnover: isTraded ? turnover : null,
    trades: null,
    closed: typeof candle.w === 'boolean' ? candle.w : null,
  };
  return [toMapped(subject, 'candle', values)];
};

/** A comparison is faster than a hash of a text that was never looked up. */
const findMapper = (channel: string): Frame | null => {
  switch (channel) {
    case 'futures.tickers':
      return mapTickers;
    case 'futures.order_book_update':
      return mapDiff;
    case 'futures.obu':
      return mapStream;
    case 'futures.trades':
      return mapTrades;
    case 'futures.candlesticks':
      return mapCandles;
    case 'futures.contract_stats':
      return mapContractStats;
    case 'futures.public_liquidates':
      return mapLiquidations;
    case 'futures.order_book':
      return mapOldBook;
    default:
      return null;
  }
};

const ANSWERS: ReadonlyMap<string, (body: unknown, source: Source) => readonly Mapped[]> = new Map([
  ['tickers', (body: unknown, source: Source) => mapTickers(body, {}, source)],
  ['contracts', mapContracts],
  ['order_book', mapBookAnswer],
  ['trades', (body, source) => mapTrades(body, NO_ENVELOPE, source)],
  ['liq_orders', mapPastLiquidations],
  ['candlesticks', mapCandleAnswer],
]);
