// Binance's trades, liquidations and candles as normalised records (records.md).
import type { PriceType } from '../../../schemas/records.ts';
import { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import type { Venue } from '../contract/venue.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { mapEach } from '../shared/map-each.ts';
import {
  type Fields,
  makeBadFrame,
  NO_QUERY,
  readAmount,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readIdOrNull,
  readList,
  readMsOrNull,
  readPrice,
  readSide,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import {
  type Mapper,
  type MessageSource,
  readAskedSymbol,
  readStamp,
  readSymbol,
  readTurnover,
  type Subject,
  toMapped,
} from './mapping.ts';
import { isDated, listSymbolsOfPair, toMarketOfPath, toQuantityUnit } from './symbols.ts';

/** Values of `X` for fills that are no trades of the market: insurance fund, auto-deleveraging, and `NA` (sent without price and quantity). */
const NO_TRADES: ReadonlySet<string> = new Set(['INSURANCE_FUND', 'ADL', 'NA']);

export const mapTrade: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null || NO_TRADES.has(String(element.X))) return [];
  const id = element.e === 'trade' ? element.t : element.a;
  const fields = { id, price: element.p, size: element.q, maker: element.m };
  return toTrade({ symbol, venueTs: readStamp(element), source, element }, fields);
};

export const mapPastAggTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element.a, price: element.p, size: element.q, maker: element.m };
  return toTrade({ symbol, venueTs: readStamp(element), source, element }, fields);
};

export const mapPastTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element.id, price: element.price, size: element.qty, maker: element.isBuyerMaker };
  return toTrade({ symbol, venueTs: readMsOrNull(element.time, 'time'), source, element }, fields);
};

type TradeFields = Readonly<Record<'id' | 'price' | 'size' | 'maker', unknown>>;

/** `maker`: the buyer's order was in the book, so the taker sold. */
const toTrade = (subject: Subject, { id, price, size, maker }: TradeFields): readonly Mapped[] => {
  const side = readTaker(maker, [false, true], 'm');
  if (side === null) return [];
  const values = {
    id: readIdOrNull(id, 'id'),
    side,
    price: readPrice(price, 'price'),
    quantity: readAmount(size, 'quantity'),
    quantity_unit: toQuantityUnit(subject.symbol),
  };
  return [toMapped(subject, 'trade', values)];
};

/** A forced order sells a long or buys back a short. The record has the fill (`z` at `ap`) if there is one, else the order (`q` at `p`). */
export const mapForceOrder: Mapper = (element, source) => {
  const order = readFields(element.o, 'o');
  const symbol = readSymbol(order.s);
  if (symbol === null) return [];
  const filled = readAmountOrNull(order.z, 'o.z') ?? '0';
  const isFilled = filled !== '0';
  const values = {
    id: null,
    side: readSide(order.S, ['BUY', 'SELL'], 'o.S') === 'sell' ? ('long' as const) : ('short' as const),
    price: isFilled ? readPrice(order.ap, 'o.ap') : readPrice(order.p, 'o.p'),
    price_kind: isFilled ? ('fill' as const) : ('order' as const),
    quantity: isFilled ? filled : readAmount(order.q, 'o.q'),
    quantity_unit: toQuantityUnit(symbol),
  };
  const venueTs = readMsOrNull(order.T, 'o.T') ?? readMsOrNull(element.E, 'E');
  return [toMapped({ symbol, venueTs, source, element }, 'liquidation', values)];
};

export const mapKline: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  const kline = readFields(element.k, 'k');
  return symbol === null ? [] : toLiveCandles([symbol], element, { kline, priceType: 'trade', source });
};

/** Contract type of a pair's perpetual (`PERPETUAL`, `TRADIFI_PERPETUAL`); other continuous series change their contract with each delivery. */
const PERPETUAL = /(^|_)PERPETUAL$/i;

/** The candles of a pair's perpetual, under the pair's name. */
export const mapContinuousKline: Mapper = (element, source) => {
  if (!PERPETUAL.test(readText(element.ct, 'ct'))) return [];
  const kline = readFields(element.k, 'k');
  const symbols = listSymbolsOfPair(readText(element.ps, 'ps'), source.market, source.context);
  return toLiveCandles(symbols, element, { kline, priceType: 'trade', source });
};

/** Its `k` names the symbol. */
export const mapMarkKline: Mapper = (element, source) => {
  const kline = readFields(element.k, 'k');
  const symbol = readSymbol(kline.s);
  return symbol === null ? [] : toLiveCandles([symbol], element, { kline, priceType: 'mark', source });
};

/** Of a pair, of either market since 2026-06-30. */
export const mapIndexKline: Mapper = (element, source) => {
  const kline = readFields(element.k, 'k');
  const symbols = listSymbolsOfPair(readText(element.ps, 'ps'), source.market, source.context);
  return toLiveCandles(symbols, element, { kline, priceType: 'index', source });
};

type LiveCandle = { readonly kline: Fields; readonly priceType: PriceType; readonly source: MessageSource };

const toLiveCandles = (
  symbols: readonly string[],
  element: Fields,
  { kline, priceType, source }: LiveCandle,
): readonly Mapped[] => {
  if (kline.i !== '1m') return [];
  const { t, o, h, l, c, v, q, n, x: closed } = kline;
  if (typeof closed !== 'boolean') throw makeBadFrame('k.x does not say whether the candle is closed');
  const venueTs = readMsOrNull(element.E, 'E');
  const fields = { t, o, h, l, c, v, q, n, priceType, closed };
  return symbols.flatMap((symbol) => toCandle({ symbol, venueTs, source, element }, fields));
};

/** Endpoints of candles; those of a pair's index answer for each listing that uses it, continuous ones for the pair's perpetual. */
export const CANDLE_ENDPOINTS: Readonly<Record<string, PriceType>> = {
  klines: 'trade',
  continuousKlines: 'trade',
  markPriceKlines: 'mark',
  indexPriceKlines: 'index',
};

type Asked = Pick<MessageSource, 'query' | 'market' | 'context'>;

/** Perpetuals whose candles were requested; null when the request names none. */
const findAskedSymbols = ({ query, market, context }: Asked): readonly string[] | null => {
  const asked = (query.get('symbol') ?? query.get('pair'))?.toUpperCase();
  if (asked === undefined) return null;
  if (!PERPETUAL.test(query.get('contractType') ?? 'PERPETUAL')) return [];
  const symbols = query.get('symbol') === null ? listSymbolsOfPair(asked, market, context) : [asked];
  return symbols.filter((symbol) => !isDated(symbol));
};

/** Maximum number of candles in an answer when the request sets none. */
const DEFAULT_LIMIT = 500;

/** With `startTime` the venue returns the first candles since then. */
export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message, context) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const priceType = CANDLE_ENDPOINTS[path.slice(path.lastIndexOf('/') + 1)];
  const symbols = findAskedSymbols({ query, market: toMarketOfPath(path), context });
  if (priceType === undefined || symbols === null || query.get('interval') !== '1m') return null;
  const [fromMs, toMs] = [readNumber(query, 'startTime'), readNumber(query, 'endTime')];
  return toAsked(symbols, priceType, { fromMs, toMs, limit: readNumber(query, 'limit') ?? DEFAULT_LIMIT });
};

export const mapKlines = (
  body: unknown,
  source: MessageSource & { readonly endpoint: string },
  priceType: PriceType,
): readonly Mapped[] => {
  const interval = source.query.get('interval');
  if (interval !== null && interval !== '1m') return [];
  const symbols = findAskedSymbols(source);
  if (symbols === null || interval === null) {
    throw new VenueError(
      'VENUE_UNKNOWN_LISTING',
      'the candles name no symbol or interval and their request is not known',
    );
  }
  return mapEach(readList(body, 'klines'), (row) => {
    const [t, o, h, l, c, v, , q, n] = readList(row, 'kline');
    const fields = { t, o, h, l, c, v, q, n, priceType, closed: null };
    return symbols.flatMap((symbol) => toCandle({ symbol, venueTs: null, source, element: row }, fields));
  });
};

type CandleFields = Readonly<Record<'t' | 'o' | 'h' | 'l' | 'c' | 'v' | 'q' | 'n', unknown>> & {
  readonly priceType: PriceType;
  readonly closed: boolean | null;
};

/** Mark and index candles have zeros as volumes; they are no figures. */
const toCandle = (subject: Subject, { t, o, h, l, c, v, q, n, priceType, closed }: CandleFields): readonly Mapped[] => {
  const open_time = readMsOrNull(t, 't');
  if (open_time === null) throw makeBadFrame('t is not an instant');
  const isTraded = priceType === 'trade';
  const volume = isTraded ? readSoleAmount(v, 'v') : null;
  const prices = readCandlePrices({ open: o, high: h, low: l, close: c }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? toQuantityUnit(subject.symbol) : null,
    turnover: isTraded ? readTurnover(subject.symbol, q, 'q') : null,
    trades: isTraded ? readCountOrNull(n, 'n') : null,
    closed,
  };
  return [toMapped(subject, 'candle', values)];
};
