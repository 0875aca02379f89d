// Bybit's frames and answers as normalised records (records.md). Not read: premium index candles, funding history, spot, options,
// spreads, dated futures.
import type { Micros, PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { MapContext, Mapped, MapState } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach } from '../shared/map-each.ts';
import type { Subject } from '../shared/mapped.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  makeBadFrame,
  makeRefusal,
  NO_QUERY,
  parseRequest,
  readAmount,
  readFields,
  readIdTextOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readSequence,
  readSide,
  readSoleAmount,
  readTaker,
} from '../shared/wire.ts';
import { type MessageSource, readSymbol, readTurnover, toMapped } from './mapping.ts';
import { CONFIRMING_LEVELS } from './plan.ts';
import { toBookKind, toChain, toQuantityUnit } from './symbols.ts';
import { mapTickerAnswer, mapTickerFrame, readPosition } from './tickers.ts';

const cutLevels = createCutter({ names: ['b', 'a'] });

const readMessage = createMessageReader('"topic":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (state: MapState, message: VenueMessage, context: MapContext): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const request = parseRequest(message.request);
    const fields = readFields(body, 'message');
    const query = request?.query ?? NO_QUERY;
    const source: MessageSource = { receivedAt: message.received_at, context, state, query };
    if (message.kind === 'frame') return mapFrame(fields, source);
    return mapAnswer(request && (/\/v5\/market\/([a-z/-]+)$/.exec(request.path)?.[1] ?? ''), fields, source);
  });

const mapFrame = (frame: Fields, source: MessageSource): readonly Mapped[] => {
  if (frame.success === false) throw makeRefusal(String(frame.ret_msg));
  if (typeof frame.topic !== 'string') return [];
  const channel = frame.topic.slice(0, Math.max(0, frame.topic.indexOf('.')));
  const mapper = FRAMES.get(channel);
  return mapper ? mapper(frame, source) : noteUnread();
};

const mapAnswer = (endpoint: string | null, body: Fields, source: MessageSource): readonly Mapped[] => {
  if (Number(body.retCode ?? 0) !== 0) throw makeRefusal(String(body.retMsg));
  if (endpoint === null) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the request of this answer is not known');
  const mapper = ANSWERS.get(endpoint);
  if (!mapper) return [];
  const result = readFields(body.result, 'result');
  const market = isAbsent(result.category) ? source.query.get('category') : result.category;
  return market === 'spot' || market === 'option' ? [] : mapper(result, { ...source, sentAt: body.time });
};

type FrameMapper = (frame: Fields, source: MessageSource) => readonly Mapped[];
/** `sentAt`: the message's stamp in milliseconds. */
type SentSource = MessageSource & { readonly sentAt: unknown };
type AnswerMapper = (result: Fields, source: SentSource) => readonly Mapped[];

/** A row has a stamp of its own; where it lacks one, its message's is the only one of the value. */
const readRowStamp = (row: Fields, name: string, { sentAt }: SentSource): Micros | null =>
  readMsOrNull(row[name], name) ?? readMsOrNull(sentAt, 'ts');

const mapBookFrame: FrameMapper = (frame, source) => {
  const book = readFields(frame.data, 'data');
  const symbol = readSymbol(book.s);
  if (symbol === null) return [];
  const depth = readDepth(String(frame.topic));
  if (depth === null) return noteUnread();
  const u = readSequence(book.u, 'u');
  const bids = readLevels(book.b, 'b');
  const asks = readLevels(book.a, 'a');
  const kind = toBookKind(frame.type, u);
  // `cts` is the matching engine's.
  const venueTs = readMsOrNull(frame.cts, 'cts') ?? readMsOrNull(frame.ts, 'ts');
  const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: book };
  const sides = kind === 'snapshot' ? sortSides(bids, asks) : { bids, asks };
  const mapped = toMapped(subject, 'book', { kind, bids: sides.bids, asks: sides.asks, sequence: String(u) });
  const chain = toChain({ symbol, depth, kind, u, sides });
  return [chain ? { record: mapped.record, element: book, chain, channel: depth } : mapped];
};

/** `50` of `orderbook.50.BTCUSDT`; null for books with orders of retail price improvement (`orderbook.rpi`) and whole ones (`orderbook.full`). */
const readDepth = (topic: string): string | null => /^orderbook\.(\d+)\./.exec(topic)?.[1] ?? null;

/** The answer's depth differs from the socket's: it is never joined, but its id may confirm the book. */
const mapBookAnswer: AnswerMapper = (result, source) => {
  const symbol = readSymbol(result.s);
  if (symbol === null) return [];
  const venueTs = readMsOrNull(result.cts, 'cts') ?? readRowStamp(result, 'ts', source);
  const sides = sortSides(readLevels(result.b, 'b'), readLevels(result.a, 'a'));
  const u = readSequence(result.u, 'u');
  const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: result };
  const mapped = toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: String(u) });
  if (source.query.get('limit') !== CONFIRMING_LEVELS) return [mapped];
  return [{ ...mapped, chain: { ...makeSnapshotChain(symbol, u), kind: 'confirmation' } }];
};

const mapTrades: FrameMapper = (frame, source) => {
  const sent = { ...source, sentAt: frame.ts };
  return mapElements(frame.data, (trade) => toTrade(trade, sent, ['s', 'T', 'i', 'S', 'p', 'v']));
};

const mapPastTrades: AnswerMapper = (result, source) =>
  mapElements(result.list, (trade) => toTrade(trade, source, ['symbol', 'time', 'execId', 'side', 'price', 'size']));

const mapElements = (value: unknown, map: (element: Fields) => readonly Mapped[]): readonly Mapped[] =>
  mapEach(readList(value, 'data'), (element) => map(readFields(element, 'element')));

type TradeNames = readonly [symbol: string, time: string, id: string, side: string, price: string, size: string];

const toTrade = (trade: Fields, source: SentSource, names: TradeNames): readonly Mapped[] => {
  const [symbolName, time, id, sideName, price, size] = names;
  const symbol = readSymbol(trade[symbolName]);
  if (symbol === null) return [];
  const side = readTaker(trade[sideName], SIDES, sideName);
  if (side === null) return [];
  const values = {
    id: readIdTextOrNull(trade[id], id),
    side,
    price: readPrice(trade[price], price),
    quantity: readAmount(trade[size], size),
    quantity_unit: toQuantityUnit(symbol),
  };
  const venueTs = readRowStamp(trade, time, source);
  return [toMapped({ symbol, venueTs, receivedAt: source.receivedAt, element: trade }, 'trade', values)];
};

const SIDES = ['Buy', 'Sell'] as const;

const mapAllLiquidations: FrameMapper = (frame, source) => {
  const sent = { ...source, sentAt: frame.ts };
  return mapElements(frame.data, (element) => toLiquidation(element, sent, ['s', 'T', 'S', 'p', 'v']));
};

/** The topic before February 2025: one object, at most one a second and symbol. */
const mapLiquidation: FrameMapper = (frame, source) => {
  const names = ['symbol', 'updatedTime', 'side', 'price', 'size'] as const;
  return toLiquidation(readFields(frame.data, 'data'), { ...source, sentAt: frame.ts }, names);
};

type LiquidationNames = readonly [symbol: string, time: string, side: string, price: string, size: string];

/** The side is the position's (`Buy`: a long was closed); the price is the bankruptcy price, no fill. */
const toLiquidation = (element: Fields, source: SentSource, names: LiquidationNames): readonly Mapped[] => {
  const [symbolName, time, side, price, size] = names;
  const symbol = readSymbol(element[symbolName]);
  if (symbol === null) return [];
  const values = {
    id: null,
    side: readSide(element[side], SIDES, side) === 'buy' ? ('long' as const) : ('short' as const),
    price: readPrice(element[price], price),
    price_kind: 'bankruptcy' as const,
    quantity: readAmount(element[size], size),
    quantity_unit: toQuantityUnit(symbol),
  };
  const venueTs = readRowStamp(element, time, source);
  return [toMapped({ symbol, venueTs, receivedAt: source.receivedAt, element }, 'liquidation', values)];
};

const mapPastOpenInterest: AnswerMapper = (result, source) => {
  const symbol = readSymbol(result.symbol);
  if (symbol === null) return [];
  return mapElements(result.list, (row) => {
    const oi = readSoleAmount(row.openInterest, 'openInterest');
    if (oi === null) return [];
    const venueTs = readMsOrNull(row.timestamp, 'timestamp');
    const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: row };
    return [toMapped(subject, 'oi', { oi, oi_unit: toQuantityUnit(symbol) })];
  });
};

const mapKlines: FrameMapper = (frame, source) => {
  const [, interval, name] = /^kline\.([^.]+)\.(.+)$/.exec(String(frame.topic)) ?? [];
  const symbol = interval === '1' ? readSymbol(name) : null;
  if (symbol === null) return [];
  return mapElements(frame.data, (kline) => {
    if (typeof kline.confirm !== 'boolean') throw makeBadFrame('confirm does not say whether the candle is closed');
    const { start, open, high, low, close, volume, turnover } = kline;
    const fields = {
      start,
      open,
      high,
      low,
      close,
      volume,
      turnover,
      priceType: 'trade' as const,
      closed: kline.confirm,
    };
    // `timestamp` is the last match of the candle.
    const venueTs = readMsOrNull(kline.timestamp, 'timestamp') ?? readMsOrNull(frame.ts, 'ts');
    return toCandle({ symbol, venueTs, receivedAt: source.receivedAt, element: kline }, fields);
  });
};

const mapPastKlines =
  (priceType: PriceType): AnswerMapper =>
  (result, source) => {
    const symbol = readSymbol(result.symbol);
    const interval = source.query.get('interval');
    if (symbol === null || (interval !== null && interval !== '1')) return [];
    if (interval === null)
      throw new VenueError('VENUE_UNKNOWN_LISTING', 'the candles name no interval and their request is not known');
    const venueTs = readMsOrNull(source.sentAt, 'time');
    return mapEach(readList(result.list, 'list'), (row) => {
      const [start, open, high, low, close, volume, turnover] = readList(row, 'kline');
      const fields = { start, open, high, low, close, volume, turnover, priceType, closed: null };
      return toCandle({ symbol, venueTs, receivedAt: source.receivedAt, element: row }, fields);
    });
  };

type CandleFields = Readonly<Record<'start' | 'open' | 'high' | 'low' | 'close' | 'volume' | 'turnover', unknown>> & {
  readonly priceType: PriceType;
  readonly closed: boolean | null;
};

const toCandle = (subject: Subject, fields: CandleFields): readonly Mapped[] => {
  const open_time = readMsOrNull(fields.start, 'start');
  if (open_time === null) throw makeBadFrame('start is not an instant');
  const isTraded = fields.priceType === 'trade';
  const volume = isTraded ? readSoleAmount(fields.volume, 'volume') : null;
  const prices = readCandlePrices(fields, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: fields.priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? toQuantityUnit(subject.symbol) : null,
    turnover: isTraded ? readTurnover(subject.symbol, fields.turnover, 'turnover') : null,
    trades: null,
    closed: fields.closed,
  };
  return [toMapped(subject, 'candle', values)];
};

const mapTickers: FrameMapper = (frame, source) => {
  const data = readFields(frame.data, 'data');
  const symbol = readSymbol(data.symbol);
  if (symbol === null) return [];
  return mapTickerFrame({ symbol, source }, data, { ...readPosition(frame), isFull: frame.type === 'snapshot' });
};

const mapTickersAnswer: AnswerMapper = (result, source) =>
  mapElements(result.list, (ticker) => {
    const symbol = readSymbol(ticker.symbol);
    if (symbol === null) return [];
    const venueTs = readMsOrNull(source.sentAt, 'time');
    return mapTickerAnswer({ symbol, venueTs, receivedAt: source.receivedAt, element: ticker }, ticker);
  });

const FRAMES: ReadonlyMap<string, FrameMapper> = new Map([
  ['tickers', mapTickers],
  ['orderbook', mapBookFrame],
  ['publicTrade', mapTrades],
  ['allLiquidation', mapAllLiquidations],
  ['liquidation', mapLiquidation],
  ['kline', mapKlines],
]);

const ANSWERS: ReadonlyMap<string, AnswerMapper> = new Map([
  ['tickers', mapTickersAnswer],
  ['orderbook', mapBookAnswer],
  ['recent-trade', mapPastTrades],
  ['open-interest', mapPastOpenInterest],
  ['kline', mapPastKlines('trade')],
  ['mark-price-kline', mapPastKlines('mark')],
  ['index-price-kline', mapPastKlines('index')],
]);
