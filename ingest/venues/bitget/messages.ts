// Bitget's frames and answers of v1, v2 and v3 as normalised records (records.md). Not read: spot, margin, dated futures, settled funding.
import type { PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { sortSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach } from '../shared/map-each.ts';
import type { Subject } from '../shared/mapped.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  isText,
  makeBadFrame,
  makeRefusal,
  NO_QUERY,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readFields,
  readIdOrNull,
  readIdTextOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readSide,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import {
  type MessageSource,
  mapElements,
  readAskedSymbol,
  readElements,
  readSymbol,
  SIDES,
  toMapped,
  toSideWord,
  toSubject,
} from './mapping.ts';
import { type BookIds, isFutures, readIds, toChain, toQuantityUnit } from './symbols.ts';
import { type AnswerMapper, mapFunding, mapOpenInterest, mapSymbolPrice, mapTickers, toTicker } from './tickers.ts';

const cutLevels = createCutter({ names: ['bids', 'asks', 'b', 'a'] });

const readMessage = createMessageReader('"channel":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] => {
  if (isText(message.payload, 'pong')) return [];
  return readMessage(message.payload, (body, text) => {
    const fields = readFields(body, 'message');
    const receivedAt = message.received_at;
    if (message.kind === 'frame') return mapFrame(fields, { receivedAt, query: NO_QUERY, sentAt: fields.ts, text });
    const request = parseRequest(message.request);
    if (request === null) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the request of this answer is not known');
    const endpoint = /\/api\/(v2\/mix|v3)\/market\/([a-z-]+)$/.exec(request.path)?.[2];
    return mapAnswer(endpoint, fields, { receivedAt, query: request.query, sentAt: fields.requestTime, text });
  });
};

type Frame = { readonly arg: Fields; readonly channel: string; readonly action: unknown; readonly data: unknown };
type FrameMapper = (frame: Frame, source: MessageSource) => readonly Mapped[];

const mapFrame = (body: Fields, source: MessageSource): readonly Mapped[] => {
  if (body.event === 'error') throw makeRefusal(String(body.msg));
  if (!isAbsent(body.event) || (isAbsent(body.data) && isAbsent(body.action))) return [];
  const arg = readFields(body.arg, 'arg');
  if (!isFutures(arg.instType)) return [];
  const channel = readText(arg.channel ?? arg.topic, 'channel');
  const mapper = FRAMES.get(channel) ?? (/^books\d*$/.test(channel) ? mapBook : undefined);
  return mapper ? mapper({ arg, channel, action: body.action, data: body.data }, source) : noteUnread();
};

const mapAnswer = (endpoint: string | undefined, body: Fields, source: MessageSource): readonly Mapped[] => {
  if (body.code !== '00000') throw makeRefusal(`${String(body.code)} ${String(body.msg)}`);
  const isSpot = /^(spot|margin)$/i.test(source.query.get('category') ?? '');
  return isSpot ? [] : (ANSWERS.get(endpoint ?? '')?.(body.data, source) ?? []);
};

/** Symbol of a frame: `instId` in v1 and v2, `symbol` in v3. Null: no perpetual. */
const readFrameSymbol = ({ arg }: Frame): string | null => readSymbol(arg.symbol ?? arg.instId);

/** `symbolType` 2 is a future with a delivery (v2). */
const mapTicker: FrameMapper = (frame, source) => {
  const symbol = readFrameSymbol(frame);
  if (symbol === null) return [];
  return mapElements(frame.data, (element) =>
    String(element.symbolType ?? 1) === '2' ? [] : toTicker(symbol, element, source),
  );
};

const mapBook: FrameMapper = (frame, source) => {
  const symbol = readFrameSymbol(frame);
  if (symbol === null) return [];
  const { channel, action } = frame;
  if (action !== 'snapshot' && action !== 'update') throw makeBadFrame('action says neither snapshot nor update');
  const books = readElements(frame.data);
  return books.map((book) => {
    // Read from the text: v3's ids exceed 2^53, and the slow parse would be expensive for every book.
    const ids = books.length === 1 ? pickIds(book, readIds(source.text)) : readParsedIds(book);
    const bids = readLevels(book.bids ?? book.b, 'bids');
    const asks = readLevels(book.asks ?? book.a, 'asks');
    const sides = action === 'snapshot' ? sortSides(bids, asks) : { bids, asks };
    const subject = toSubject({ symbol, stamp: book.ts, element: book }, source);
    const mapped = toMapped(subject, 'book', { kind: action, ...sides, sequence: ids.seq });
    const chain = toChain({ symbol, channel, action }, ids, sides);
    return chain ? { ...mapped, chain, channel: `${frame.arg.instType} ${channel}` } : mapped;
  });
};

const readParsedIds = ({ seq, pseq }: Fields): BookIds => ({
  seq: readIdOrNull(seq, 'seq'),
  pseq: readIdOrNull(pseq, 'pseq'),
});

/** The ids read from the text where the book has them; ids in another spelling are read again. */
const pickIds = (book: Fields, seen: BookIds): BookIds => {
  const isSeen = (id: unknown, text: string | null): boolean =>
    id === undefined || id === null ? text === null : text !== null && Number(id) === Number(text);
  return isSeen(book.seq, seen.seq) && isSeen(book.pseq, seen.pseq) ? seen : readParsedIds(book);
};

/** A whole requested book: recorded, never joined. A book merged to coarser prices has none of the venue's own levels. */
const mapBookAnswer: AnswerMapper = (data, source) => {
  const book = readFields(data, 'data');
  if (!isAbsent(book.precision) && book.precision !== 'scale0') return [];
  const symbol = readAskedSymbol(book, source);
  if (symbol === null) return [];
  const sides = sortSides(readLevels(book.bids ?? book.b, 'bids'), readLevels(book.asks ?? book.a, 'asks'));
  const subject = toSubject({ symbol, stamp: book.ts, element: book }, source);
  return [toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: readParsedIds(book).seq })];
};

/** The first message after a subscription (`snapshot`) repeats the past. */
const mapTrades: FrameMapper = (frame, source) => {
  const symbol = readFrameSymbol(frame);
  if (symbol === null || frame.action !== 'update') return [];
  return mapEach(readList(frame.data, 'data'), (element) =>
    toTrade(symbol, toTradeFields(element), { element, source }),
  );
};

type TradeFields = Readonly<Record<'time' | 'price' | 'size' | 'side' | 'id', unknown>>;

/** v1 sends rows without an id; v2 and the answers use long names, v3 letters. */
const toTradeFields = (element: unknown): TradeFields => {
  if (Array.isArray(element)) {
    const [time, price, size, side] = element;
    return { time, price, size, side, id: null };
  }
  const trade = readFields(element, 'trade');
  if (!isAbsent(trade.p)) return { time: trade.T, price: trade.p, size: trade.v, side: trade.S, id: trade.i };
  return { time: trade.ts, price: trade.price, size: trade.size, side: trade.side, id: trade.tradeId ?? trade.execId };
};

type Origin = { readonly element: unknown; readonly source: MessageSource };

const toTrade = (symbol: string, trade: TradeFields, { element, source }: Origin): readonly Mapped[] => {
  const { time, price, size, id } = trade;
  const side = readTaker(toSideWord(trade.side), SIDES, 'side');
  if (side === null) return [];
  const values = {
    id: readIdTextOrNull(id, 'id'),
    side,
    price: readPrice(price, 'price'),
    quantity: readAmount(size, 'size'),
    quantity_unit: toQuantityUnit(symbol),
  };
  return [toMapped(toSubject({ symbol, stamp: time, element }, source), 'trade', values)];
};

const mapFills: AnswerMapper = (data, source) =>
  mapElements(data, (element) => {
    const symbol = readAskedSymbol(element, source);
    return symbol === null ? [] : toTrade(symbol, toTradeFields(element), { element, source });
  });

/** One topic for all listings of a product type: the largest of a second and side. The side is the position's, the amount one of the quote coin. */
const mapLiquidations: FrameMapper = (frame, source) =>
  mapElements(frame.data, (element) => {
    const symbol = readSymbol(element.symbol);
    if (symbol === null) return [];
    const values = {
      id: null,
      side: readSide(toSideWord(element.side), SIDES, 'side') === 'buy' ? ('long' as const) : ('short' as const),
      price: readPrice(element.price, 'price'),
      price_kind: 'bankruptcy' as const,
      quantity: readAmount(element.amount, 'amount'),
      quantity_unit: 'quote' as const,
    };
    return [toMapped(toSubject({ symbol, stamp: element.ts, element }, source), 'liquidation', values)];
  });

const mapCandles: FrameMapper = (frame, source) => {
  const symbol = readFrameSymbol(frame);
  if (symbol === null || (frame.channel === 'kline' && frame.arg.interval !== '1m')) return [];
  const at = { symbol, venueTs: readMsOrNull(source.sentAt, 'ts'), receivedAt: source.receivedAt };
  return mapEach(readList(frame.data, 'data'), (row) => toCandle(at, row, 'trade'));
};

const mapPastCandles =
  (ofEndpoint: PriceType | null): AnswerMapper =>
  (data, source) => {
    const { query } = source;
    const length = query.get('granularity') ?? query.get('interval');
    if (length !== null && length !== '1m') return [];
    const symbol = readAskedSymbol({}, source);
    if (symbol === null) return [];
    if (length === null)
      throw new VenueError('VENUE_UNKNOWN_LISTING', 'the candles name no length and their request is not known');
    const priceName = query.get('type') ?? query.get('kLineType') ?? 'market';
    const priceType = ofEndpoint ?? PRICE_TYPES[priceName.toLowerCase()];
    if (priceType === undefined) return [];
    const at = { symbol, venueTs: readMsOrNull(source.sentAt, 'requestTime'), receivedAt: source.receivedAt };
    return mapEach(readList(data, 'data'), (row) => toCandle(at, row, priceType));
  };

/** The request names the price: `kLineType` (v2), `type` (v3). */
const PRICE_TYPES: Readonly<Record<string, PriceType | undefined>> = { market: 'trade', mark: 'mark', index: 'index' };

/** Rows of v1 end with the base volume; v3's socket sends objects. No version marks a candle as closed. */
const toCandle = (
  { symbol, venueTs, receivedAt }: Omit<Subject, 'element'>,
  row: unknown,
  priceType: PriceType,
): readonly Mapped[] => {
  const [start, open, high, low, close, volume, turnover] = isFields(row)
    ? [row.start, row.open, row.high, row.low, row.close, row.volume, row.turnover]
    : readList(row, 'candle');
  const open_time = readMsOrNull(start, 'start');
  if (open_time === null) throw makeBadFrame('start is not an instant');
  const isTraded = priceType === 'trade';
  const traded = isTraded ? readSoleAmount(volume, 'volume') : null;
  const prices = readCandlePrices({ open, high, low, close }, traded);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume: traded,
    volume_unit: isTraded ? ('base' as const) : null,
    turnover: isTraded ? readAmountOrNull(turnover, 'turnover') : null,
    trades: null,
    closed: null,
  };
  return [toMapped({ symbol, venueTs, receivedAt, element: row }, 'candle', values)];
};

const FRAMES: ReadonlyMap<string, FrameMapper> = new Map([
  ['ticker', mapTicker],
  ['trade', mapTrades],
  ['publicTrade', mapTrades],
  ['liquidation', mapLiquidations],
  ['candle1m', mapCandles],
  ['kline', mapCandles],
]);

/** v2 and v3 share the last part of their paths. */
const ANSWERS: ReadonlyMap<string, AnswerMapper> = new Map([
  ['ticker', mapTickers],
  ['tickers', mapTickers],
  ['symbol-price', mapSymbolPrice],
  ['current-fund-rate', mapFunding],
  ['funding-time', mapFunding],
  ['open-interest', mapOpenInterest],
  ['merge-depth', mapBookAnswer],
  ['orderbook', mapBookAnswer],
  ['fills', mapFills],
  ['fills-history', mapFills],
  ['candles', mapPastCandles(null)],
  ['history-candles', mapPastCandles(null)],
  ['history-mark-candles', mapPastCandles('mark')],
  ['history-index-candles', mapPastCandles('index')],
]);
