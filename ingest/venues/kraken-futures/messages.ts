// Kraken Futures' frames and answers as normalised records (records.md). Instruments with a maturity and indices are never mapped.
//
// Figures are JSON numbers. A frame of the feed `ticker` is always complete; a figure of zero may be omitted (the docs), and is then null.
import { isNegative, toFraction } from '../../../schemas/decimals.ts';
import type { Digits, Level, Micros, PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { Mapped, SymbolQuantity } from '../contract/mapping.ts';
import { sortSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, listPresent, type Subject as MappedSubject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  makeWords,
  NO_QUERY,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readFields,
  readFigure,
  readFigureOrNull,
  readIdTextOrNull,
  readInstantOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readSequence,
  readSide,
  readSoleAmount,
  readTaker,
  readText,
  toParsedLevels,
  toScannedNames,
} from '../shared/wire.ts';
import { readBookFrame } from './book-frames.ts';
import { PRICE_TYPES, toChain, toQuantity } from './symbols.ts';

type Source = {
  readonly receivedAt: Micros;
  /** The request's path; empty when unknown. */
  readonly path: string;
  readonly query: URLSearchParams;
};
/** What a record is about, with the unit of its quantities. */
type Subject = MappedSubject & { readonly unit: SymbolQuantity['quantity_unit'] };
type Mapper = (body: Fields, source: Source) => readonly Mapped[];

const cutLevels = createCutter({ names: ['bids', 'asks'], keys: ['price', 'qty'] });

const readMessage = createMessageReader('"feed":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] => {
  const change = message.kind === 'frame' ? readBookFrame(message.payload) : null;
  if (change !== null) return mapBook(change, { receivedAt: message.received_at, path: '', query: NO_QUERY });
  return readMessage(message.payload, (content) => {
    const request = parseRequest(message.request);
    const source = {
      receivedAt: message.received_at,
      path: request?.path ?? '',
      query: request?.query ?? NO_QUERY,
    };
    const body = readFields(content, 'message');
    if (message.kind === 'frame') return mapFrame(body, source);
    if (body.result === 'error') throw makeRefusal(String(body.error));
    return ANSWERS.find(([member]) => !isAbsent(body[member]))?.[1](body, source) ?? [];
  });
};

/** Events of a request that the venue does not serve: an unreadable one or an unknown feed, an unknown product, a subscription that failed. */
const REFUSALS: ReadonlySet<unknown> = new Set(['alert', 'error', 'subscribed_failed', 'unsubscribed_failed']);

/** Data of the Unified WebSocket, another protocol. */
const isUnified = ({ channel, data }: Fields): boolean =>
  typeof channel === 'string' && channel !== 'status' && Array.isArray(data);

const mapFrame: Mapper = (body, source) => {
  if (REFUSALS.has(body.event)) throw makeRefusal(String(body.message ?? body.event));
  if (isUnified(body)) return noteUnread();
  if (!isAbsent(body.event) || typeof body.feed !== 'string') return [];
  const mapper = FEEDS.get(body.feed);
  if (mapper) return mapper(body, source);
  return PASSED_OVER.has(body.feed) ? [] : noteUnread();
};

type Stamped = Pick<MappedSubject, 'venueTs' | 'element'>;

/** Null when the symbol is no perpetual. */
const readSubject = (symbol: unknown, { venueTs, element }: Stamped, source: Source): Subject | null => {
  const name = readText(symbol, 'symbol');
  const quantity = toQuantity(name);
  if (quantity === null) return null;
  return { symbol: name, venueTs, receivedAt: source.receivedAt, element, unit: quantity.quantity_unit };
};

const toMapped = bindMapped('kraken-futures');
const { toLast, toMark, toOi } = bindTickerLayers(toMapped);

const mapTicker: Mapper = (body, source) => {
  const subject = readSubject(body.product_id, { venueTs: readMsOrNull(body.time, 'time'), element: body }, source);
  if (subject === null) return [];
  return mapLayers([
    () => toLast(subject, body, 'last'),
    () => toMark(subject, body, ['markPrice', 'index']),
    () => toFunding(subject, body),
    () => toOi(subject, body, ['openInterest', subject.unit]),
    () => toStats(subject, body, ['volume', 'change']),
  ]);
};

/** Top of book with the day's figures, without a stamp. */
const mapTickerLite: Mapper = (body, source) => {
  const subject = readSubject(body.product_id, { venueTs: readMsOrNull(body.time, 'time'), element: body }, source);
  return subject === null ? [] : listPresent([toStats(subject, body, ['volume', 'change'])]);
};

/** All tickers at once. `lastTime` is the stamp of `last` alone; the rate is an amount here, hence no funding. */
const mapTickers: Mapper = (body, source) => {
  const sentAt = readInstantOrNull(body.serverTime, 'serverTime');
  const tickers = 'ticker' in body ? [body.ticker] : readList(body.tickers, 'tickers');
  return mapEach(tickers.filter(isFields), (ticker) => {
    const subject = readSubject(ticker.symbol, { venueTs: sentAt, element: ticker }, source);
    if (subject === null) return [];
    return mapLayers([
      () => toLast({ ...subject, venueTs: readInstantOrNull(ticker.lastTime, 'lastTime') ?? sentAt }, ticker, 'last'),
      () => toMark(subject, ticker, ['markPrice', 'indexPrice']),
      () => toOi(subject, ticker, ['openInterest', subject.unit]),
      () => toStats(subject, ticker, ['vol24h', 'change24h']),
    ]);
  });
};

/** The rate of the current hour, paid at its end; an end of zero means no funding. */
const toFunding = (subject: Subject, body: Fields): Mapped | null => {
  const funding = readFigureOrNull(body.relative_funding_rate, 'relative_funding_rate');
  const next_funding_at = readMsOrNull(body.next_funding_rate_time, 'next_funding_rate_time');
  const isNone = !isAbsent(body.next_funding_rate_time) && next_funding_at === null;
  if (isNone || (funding === null && next_funding_at === null)) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at });
};

/** The change is a percentage; `volumeQuote` is the volume in quote currency. */
const toStats = (
  subject: Subject,
  body: Fields,
  [volumeName, changeName]: readonly [string, string],
): Mapped | null => {
  const percent = readFigureOrNull(body[changeName], changeName);
  const values = {
    volume_24h: readAmountOrNull(body[volumeName], volumeName),
    volume_unit: subject.unit,
    turnover_24h: readAmountOrNull(body.volumeQuote, 'volumeQuote'),
    change_24h: percent === null ? null : toFraction(percent),
  };
  return isEmptyDay(values) ? null : toMapped(subject, 'stats', values);
};

const SIDES = ['buy', 'sell'] as const;

/** A size below zero was observed; it means zero. */
const readSize = (value: unknown): Digits => {
  const size = readFigure(value, 'qty');
  return isNegative(size) ? '0' : size;
};

/** One level a message. */
const mapBook: Mapper = (body, source) => {
  const subject = readSubject(
    body.product_id,
    { venueTs: readMsOrNull(body.timestamp, 'timestamp'), element: body },
    source,
  );
  if (subject === null) return [];
  const side = readSide(body.side, SIDES, 'side');
  const level: Level = [readPrice(body.price, 'price'), readSize(body.qty)];
  const last = readSequence(body.seq, 'seq');
  const bids = side === 'buy' ? [level] : [];
  const asks = side === 'sell' ? [level] : [];
  const { record, element } = toMapped(subject, 'book', { kind: 'update', bids, asks, sequence: String(last) });
  return [{ record, element, chain: toChain(subject.symbol, 'update', last) }];
};

const mapBookSnapshot: Mapper = (body, source) => {
  const subject = readSubject(
    body.product_id,
    { venueTs: readMsOrNull(body.timestamp, 'timestamp'), element: body },
    source,
  );
  if (subject === null) return [];
  const last = readSequence(body.seq, 'seq');
  const sides = sortSides(readSizedLevels(body.bids, 'bids'), readSizedLevels(body.asks, 'asks'));
  const mapped = toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: String(last) });
  return [{ ...mapped, chain: toChain(subject.symbol, 'snapshot', last) }];
};

const readSizedLevels = (value: unknown, name: string): readonly Level[] =>
  toScannedNames(value) ??
  readList(toParsedLevels(value), name).map((item): Level => {
    const level = readFields(item, name);
    return [readPrice(level.price, name), readSize(level.qty)];
  });

/** Has no sequence: it is not part of the feed's chain. */
const mapOrderBook: Mapper = (body, source) => {
  const subject = readSubject(
    readParameters(source, 'order book'),
    { venueTs: readInstantOrNull(body.serverTime, 'serverTime'), element: body },
    source,
  );
  if (subject === null) return [];
  const book = readFields(body.orderBook, 'orderBook');
  const sides = sortSides(readLevels(book.bids, 'bids'), readLevels(book.asks, 'asks'));
  return [toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: null })];
};

const readParameters = ({ query }: Source, what: string): string => {
  const symbol = query.get('symbol');
  if (symbol === null || symbol === '')
    throw new VenueError('VENUE_UNKNOWN_LISTING', `the ${what} names no symbol and its request is not known`);
  return symbol;
};

/** Types of a transferred position: to a market maker, or back to the winning side (auto-deleveraging). */
const HANDED_OVER: ReadonlySet<unknown> = new Set(['assignment', 'termination', 'unwind']);

const mapTrade: Mapper = (body, source) => {
  const subject = readSubject(body.product_id, { venueTs: readMsOrNull(body.time, 'time'), element: body }, source);
  return subject === null ? [] : toTrades(subject, body, { id: body.uid, size: body.qty });
};

const mapHistory: Mapper = (body, source) => {
  const symbol = readParameters(source, 'history');
  return mapEach(readList(body.history, 'history').filter(isFields), (trade) => {
    const subject = readSubject(symbol, { venueTs: readInstantOrNull(trade.time, 'time'), element: trade }, source);
    return subject === null ? [] : toTrades(subject, trade, { id: trade.uid || trade.trade_id, size: trade.size });
  });
};

/** A trade with a liquidated taker is a liquidation too: its sale closed a long. */
const toTrades = (
  subject: Subject,
  body: Fields,
  { id, size }: { readonly id: unknown; readonly size: unknown },
): Mapped[] => {
  if (HANDED_OVER.has(body.type)) return [];
  const taker = readTaker(body.side, SIDES, 'side');
  if (taker === null) return [];
  const values = {
    id: readIdTextOrNull(id, 'uid'),
    side: taker,
    price: readPrice(body.price, 'price'),
    quantity: readAmount(size, 'quantity'),
    quantity_unit: subject.unit,
  };
  const trade = toMapped(subject, 'trade', values);
  if (body.type !== 'liquidation') return [trade];
  const liquidation = {
    id: values.id,
    side: taker === 'sell' ? ('long' as const) : ('short' as const),
    price: values.price,
    price_kind: 'fill' as const,
    quantity: values.quantity,
    quantity_unit: values.quantity_unit,
  };
  return [trade, toMapped(subject, 'liquidation', liquidation)];
};

/** Types of an order in the market history, by the types of trades in the feed. */
const ORDER_TYPES = makeWords({
  Liquidation: 'liquidation',
  PartialLiquidation: 'liquidation',
  CoveredLiquidation: 'liquidation',
  Assignment: 'assignment',
  HedgeAssignment: 'assignment',
  Unwind: 'unwind',
});

/** Executions of the market history: the taker's order has the side and the type. */
const mapExecutions: Mapper = (body, source) =>
  mapEach(readList(body.elements, 'elements'), (element) => {
    const event = readFields(readFields(element, 'element').event, 'event');
    if (!isFields(event.Execution)) return [];
    const execution = readFields(event.Execution.execution, 'execution');
    const order = readFields(execution.takerOrder, 'takerOrder');
    const side = typeof order.direction === 'string' ? order.direction.toLowerCase() : order.direction;
    const trade = { ...execution, side };
    const typed = { ...trade, type: ORDER_TYPES[String(order.orderType)] };
    const stamped = { venueTs: readMsOrNull(execution.timestamp, 'timestamp'), element: trade };
    const subject = readSubject(order.tradeable, stamped, source);
    if (subject === null) return [];
    return toTrades(subject, typed, { id: execution.uid, size: execution.quantity });
  });

const mapCandles: Mapper = (body, source) => {
  const [, type, symbol, resolution] = /\/charts\/v1\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(source.path) ?? [];
  if (symbol === undefined)
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the candles name no symbol and their request is not known');
  const priceType = PRICE_TYPES.get(type ?? '');
  const subject = readSubject(symbol, { venueTs: null, element: body }, source);
  if (resolution !== '1m' || priceType === undefined || subject === null) return [];
  return mapEach(readList(body.candles, 'candles'), (candle) =>
    toCandle(subject, readFields(candle, 'candle'), priceType),
  );
};

/** The running minute of trades: its last state at subscription, then its changes. No docs name the feed (captured 2026-09-25). */
const mapMinute: Mapper = (body, source) => {
  const subject = readSubject(body.product_id, { venueTs: null, element: body }, source);
  return subject === null ? [] : toCandle(subject, readFields(body.candle, 'candle'), 'trade');
};

/** Mark and index candles have a volume of zero; it is no figure. */
const toCandle = (subject: Subject, candle: Fields, price_type: PriceType): readonly Mapped[] => {
  const open_time = readMsOrNull(candle.time, 'time');
  if (open_time === null) throw makeBadFrame('time is not an instant');
  const isTraded = price_type === 'trade';
  const volume = isTraded ? readSoleAmount(candle.volume, 'volume') : null;
  const { open, high, low, close } = candle;
  const prices = readCandlePrices({ open, high, low, close }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? subject.unit : null,
    turnover: null,
    trades: null,
    closed: null,
  };
  return [toMapped({ ...subject, element: candle }, 'candle', values)];
};

/** The first repeats the past, the other shows only that the venue is alive. */
const PASSED_OVER: ReadonlySet<string> = new Set(['trade_snapshot', 'heartbeat']);

const FEEDS: ReadonlyMap<string, Mapper> = new Map([
  ['ticker', mapTicker],
  ['ticker_lite', mapTickerLite],
  ['book', mapBook],
  ['book_snapshot', mapBookSnapshot],
  ['trade', mapTrade],
  ['candles_trade_1m_snapshot', mapMinute],
  ['candles_trade_1m', mapMinute],
]);

/** Answers by their characteristic member, independent of the request. */
const ANSWERS: readonly (readonly [string, Mapper])[] = [
  ['tickers', mapTickers],
  ['ticker', mapTickers],
  ['orderBook', mapOrderBook],
  ['history', mapHistory],
  ['elements', mapExecutions],
  ['candles', mapCandles],
];
