// Binance's frames and answers as normalised records (records.md). Not read: bookTicker (the book is collected whole) and continuous, composite
// and contract series; instruments with a delivery date.
import { multiply } from '../../schemas/decimals.ts';
import type { Digits, Level, Micros, NormalisedRecord, PriceType } from '../../schemas/records.ts';
import { type Chain, type FullSides, type MapContext, type Mapped, VenueError, type VenueMessage } from '../venue.ts';
import {
  isDated,
  type Market,
  marketOf,
  PARTIAL,
  quantityUnitOf,
  snapshotChain,
  symbolsOfPair,
} from './binance-symbols.ts';
import {
  badFrame,
  type Fields,
  isFields,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readId,
  readLevels,
  readList,
  readMessage,
  readMsOrNull,
  readPrice,
  readPriceOrNull,
  readText,
} from './wire.ts';

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage, context: MapContext): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const request = parseRequest(message.request);
    const source = {
      receivedAt: message.received_at,
      context,
      query: request?.query ?? new URLSearchParams(),
      stream: '',
    };
    const endpoint = /\/[fd]api\/v\d\/(.+)$/.exec(request?.path ?? '')?.[1];
    return endpoint === undefined ? mapFrame(body, source) : mapAnswer(body, { ...source, endpoint });
  });

type MessageSource = {
  readonly receivedAt: Micros;
  readonly context: MapContext;
  /** Of the request; empty for frames. */
  readonly query: URLSearchParams;
  /** Name of the wrapped frame's stream; empty for bare frames and answers. */
  readonly stream: string;
};

type Mapper = (element: Fields, source: MessageSource) => readonly Mapped[];

/** A frame, wrapped `{stream, data}` or bare; an answer whose request is not known is read by its shape. */
const mapFrame = (body: unknown, source: MessageSource): readonly Mapped[] => {
  if (Array.isArray(body)) return body.flatMap((element) => mapElement(element, source));
  const frame = readFields(body, 'message');
  if (!('stream' in frame && 'data' in frame)) return mapElement(frame, source);
  return mapFrame(frame.data, { ...source, stream: readText(frame.stream, 'stream') });
};

const mapElement = (element: unknown, source: MessageSource): readonly Mapped[] => {
  if (!isFields(element)) return [];
  const refused = element.error ?? (typeof element.code === 'number' ? element : undefined);
  if (refused !== undefined) throw badFrame(`the venue refused: ${JSON.stringify(refused).slice(0, 120)}`);
  if (typeof element.e === 'string') return EVENTS.get(element.e)?.(element, source) ?? [];
  if ('lastUpdateId' in element && 'bids' in element) return mapSnapshot(element, source);
  return 'openInterest' in element ? mapOpenInterest(element, source) : [];
};

/** An answer to a request we know. */
const mapAnswer = (body: unknown, source: MessageSource & { readonly endpoint: string }): readonly Mapped[] => {
  if (isFields(body) && typeof body.code === 'number' && 'msg' in body)
    throw badFrame(`the venue refused: ${String(body.msg)}`);
  const candles = CANDLE_ENDPOINTS[source.endpoint];
  if (candles) return mapKlines(body, source, candles);
  const mapper = ANSWERS.get(source.endpoint);
  if (!mapper) return [];
  return (Array.isArray(body) ? body : [body]).flatMap((element) =>
    mapper(readFields(element, source.endpoint), source),
  );
};

/** Symbol of an element, null when it names an instrument that is not perpetual. */
const readSymbol = (value: unknown): string | null => {
  const symbol = readText(value, 'symbol');
  return isDated(symbol) ? null : symbol;
};

/** The element's own symbol, or the one asked for. */
const readAskedSymbol = (element: Fields, { query, stream }: MessageSource): string | null => {
  const symbol =
    element.symbol ??
    query.get('symbol')?.toUpperCase() ??
    (stream === '' ? undefined : stream.split('@')[0]?.toUpperCase());
  if (symbol === undefined || symbol === '')
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no symbol and its request is not known');
  return readSymbol(symbol);
};

type Stamps = { readonly symbol: string; readonly venueTs: Micros | null; readonly source: MessageSource };

const toMapped = <R extends NormalisedRecord>(
  { symbol, venueTs, source }: Stamps,
  layer: R['layer'],
  values: R['values'],
  element: unknown,
): Mapped => ({
  record: {
    layer,
    venue: 'binance',
    venue_symbol: symbol,
    venue_ts: venueTs,
    received_at: source.receivedAt,
    values,
  } as NormalisedRecord,
  element,
});

/** Of a message's stamps the transaction time `T`, else the event time `E` (records.md). */
const readStamp = (element: Fields): Micros | null => readMsOrNull(element.T, 'T') ?? readMsOrNull(element.E, 'E');

const mapDepth: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readStamp(element), source };
  const sequence = readId(element.u, 'u');
  const bids = readLevels(element.b, 'b');
  const asks = readLevels(element.a, 'a');
  if (PARTIAL.test(source.stream)) {
    return [toMapped(at, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence }, element)];
  }
  const first = BigInt(readId(element.U, 'U'));
  const chain: Chain = {
    symbol,
    kind: 'update',
    first,
    last: BigInt(sequence),
    previous: BigInt(readId(element.pu, 'pu')),
  };
  return [{ ...toMapped(at, 'book', { kind: 'update', bids, asks, sequence }, element), chain }];
};

const mapSnapshot: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const sequence = readId(element.lastUpdateId, 'lastUpdateId');
  const sides = sortSides(readLevels(element.bids, 'bids'), readLevels(element.asks, 'asks'));
  const at = { symbol, venueTs: readStamp(element), source };
  const chain: Chain = { ...snapshotChain(symbol, sequence), full: fullSides(sides, source.query.get('limit')) };
  return [{ ...toMapped(at, 'book', { kind: 'snapshot', ...sides, sequence }, element), chain }];
};

type Sides = { readonly bids: Level[]; readonly asks: Level[] };

/** A side with fewer levels than asked has no more. */
const fullSides = ({ bids, asks }: Sides, limit: string | null): FullSides | undefined =>
  limit === null ? undefined : { bids: bids.length < Number(limit), asks: asks.length < Number(limit) };

const sortSides = (bids: Level[], asks: Level[]): Sides => ({
  bids: bids.toSorted((a, b) => Number(b[0]) - Number(a[0])),
  asks: asks.toSorted((a, b) => Number(a[0]) - Number(b[0])),
});

/** Mark, index (absent on COIN-M) and the coming funding; `T` is the next settlement here, not a stamp. Dated contracts have no funding. */
const mapMarkPrice: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element.E, 'E'), source };
  return [...toMark(at, element, ['p', 'i']), ...toFunding(at, element, ['r', 'T'])];
};

const mapPremiumIndex: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element.time, 'time'), source };
  return [
    ...toMark(at, element, ['markPrice', 'indexPrice']),
    ...toFunding(at, element, ['lastFundingRate', 'nextFundingTime']),
  ];
};

const toMark = (at: Stamps, element: Fields, [markName, indexName]: readonly [string, string]): Mapped[] => {
  const mark = readPriceOrNull(element[markName], markName);
  const index = readPriceOrNull(element[indexName], indexName);
  return mark === null && index === null ? [] : [toMapped(at, 'mark', { mark, index }, element)];
};

const toFunding = (at: Stamps, element: Fields, [rateName, nextName]: readonly [string, string]): Mapped[] => {
  const funding = readFigureOrNull(element[rateName], rateName);
  const next_funding_at = readMsOrNull(element[nextName], nextName);
  if (funding === null && next_funding_at === null) return [];
  return [toMapped(at, 'funding', { funding, funding_interval_ms: null, next_funding_at }, element)];
};

/** COIN-M's index by pair: a record for each listing that uses it. */
const mapIndexPrice: Mapper = (element, source) => {
  const index = readPrice(element.p, 'p');
  const venueTs = readMsOrNull(element.E, 'E');
  return symbolsOfPair(readText(element.i, 'i'), 'coinm', source.context).map((symbol) =>
    toMapped({ symbol, venueTs, source }, 'mark', { mark: null, index }, element),
  );
};

const mapTicker: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element.E, 'E'), source };
  return [...toTicker(at, element, 'c'), ...toStats(at, element, ['v', 'q', 'P'])];
};

const mapDayTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element.closeTime, 'closeTime'), source };
  return [
    ...toTicker(at, element, 'lastPrice'),
    ...toStats(at, element, ['volume', 'quoteVolume', 'priceChangePercent']),
  ];
};

const mapPriceTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  return symbol === null
    ? []
    : toTicker({ symbol, venueTs: readMsOrNull(element.time, 'time'), source }, element, 'price');
};

/** A last price of zero means that nothing was traded yet. */
const toTicker = (at: Stamps, element: Fields, name: string): Mapped[] => {
  const last = readAmountOrNull(element[name], name);
  return last === null || last === '0' ? [] : [toMapped(at, 'ticker', { last }, element)];
};

const toStats = (
  at: Stamps,
  element: Fields,
  [volumeName, turnoverName, changeName]: readonly [string, string, string],
): Mapped[] => {
  const percent = readFigureOrNull(element[changeName], changeName);
  const volume_24h = readAmountOrNull(element[volumeName], volumeName);
  const volume_unit = quantityUnitOf(at.symbol);
  const turnover_24h = turnoverOf(at.symbol, element[turnoverName], turnoverName);
  const change_24h = percent === null ? null : multiply(percent, '0.01');
  return [toMapped(at, 'stats', { volume_24h, volume_unit, turnover_24h, change_24h }, element)];
};

/** COIN-M's `q` is a volume in base, no turnover in quote. */
const turnoverOf = (symbol: string, value: unknown, name: string): Digits | null =>
  marketOf(symbol) === 'usdm' ? readAmountOrNull(value, name) : null;

const mapOpenInterest: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const venueTs = readMsOrNull(element.time, 'time');
  const oi = readAmount(element.openInterest, 'openInterest');
  return [toMapped({ symbol, venueTs, source }, 'oi', { oi, oi_unit: quantityUnitOf(symbol) }, element)];
};

/** What `X` marks as no trade of the market: fills of the insurance fund, of auto-deleveraging, and `NA` (sent without price and quantity). */
const NO_TRADES: ReadonlySet<string> = new Set(['INSURANCE_FUND', 'ADL', 'NA']);

const mapTrade: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null || NO_TRADES.has(String(element.X))) return [];
  const id = element.e === 'trade' ? element.t : element.a;
  return [
    toTrade({ symbol, venueTs: readStamp(element), source }, element, {
      id,
      price: element.p,
      size: element.q,
      maker: element.m,
    }),
  ];
};

const mapPastAggTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element.a, price: element.p, size: element.q, maker: element.m };
  return [toTrade({ symbol, venueTs: readStamp(element), source }, element, fields)];
};

const mapPastTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element.id, price: element.price, size: element.qty, maker: element.isBuyerMaker };
  return [toTrade({ symbol, venueTs: readMsOrNull(element.time, 'time'), source }, element, fields)];
};

type TradeFields = Readonly<Record<'id' | 'price' | 'size' | 'maker', unknown>>;

/** `maker`: the buyer's order was in the book, so the taker sold. */
const toTrade = (at: Stamps, element: Fields, { id, price, size, maker }: TradeFields): Mapped => {
  if (typeof maker !== 'boolean') throw badFrame('m does not say who made the trade');
  const values = {
    id: id === undefined || id === null ? null : readId(id, 'id'),
    side: maker ? ('sell' as const) : ('buy' as const),
    price: readPrice(price, 'price'),
    quantity: readAmount(size, 'quantity'),
    quantity_unit: quantityUnitOf(at.symbol),
  };
  return toMapped(at, 'trade', values, element);
};

/** A forced order sells a long or buys back a short. What was filled (`z` at `ap`) when it was, else the order itself (`q` at `p`). */
const mapForceOrder: Mapper = (element, source) => {
  const order = readFields(element.o, 'o');
  const symbol = readSymbol(order.s);
  if (symbol === null) return [];
  if (order.S !== 'SELL' && order.S !== 'BUY') throw badFrame('o.S is no side');
  const filled = readAmountOrNull(order.z, 'o.z') ?? '0';
  const isFilled = filled !== '0';
  const values = {
    id: null,
    side: order.S === 'SELL' ? ('long' as const) : ('short' as const),
    price: isFilled ? readPrice(order.ap, 'o.ap') : readPrice(order.p, 'o.p'),
    price_kind: isFilled ? ('fill' as const) : ('order' as const),
    quantity: isFilled ? filled : readAmount(order.q, 'o.q'),
    quantity_unit: quantityUnitOf(symbol),
  };
  const venueTs = readMsOrNull(order.T, 'o.T') ?? readMsOrNull(element.E, 'E');
  return [toMapped({ symbol, venueTs, source }, 'liquidation', values, element)];
};

const mapKline: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  const kline = readFields(element.k, 'k');
  if (symbol === null || kline.i !== '1m') return [];
  if (typeof kline.x !== 'boolean') throw badFrame('k.x does not say whether the candle is closed');
  const fields = {
    t: kline.t,
    o: kline.o,
    h: kline.h,
    l: kline.l,
    c: kline.c,
    v: kline.v,
    q: kline.q,
    n: kline.n,
  };
  const at = { symbol, venueTs: readMsOrNull(element.E, 'E'), source };
  return [toCandle(at, element, { ...fields, priceType: 'trade', closed: kline.x })];
};

/** Endpoints of candles; those of a pair's index answer for each listing that uses it. */
const CANDLE_ENDPOINTS: Readonly<Record<string, PriceType>> = {
  klines: 'trade',
  markPriceKlines: 'mark',
  indexPriceKlines: 'index',
};

const mapKlines = (
  body: unknown,
  source: MessageSource & { readonly endpoint: string },
  priceType: PriceType,
): readonly Mapped[] => {
  const interval = source.query.get('interval');
  if (interval !== null && interval !== '1m') return [];
  const asked = source.query.get('symbol') ?? source.query.get('pair');
  if (asked === null || interval === null) {
    throw new VenueError(
      'VENUE_UNKNOWN_LISTING',
      'the candles name no symbol or interval and their request is not known',
    );
  }
  const pair = source.query.get('symbol') === null ? asked.toUpperCase() : null;
  const market: Market =
    source.context.listings.has(`${pair}_PERP`) || !/USD[TC]$/.test(asked.toUpperCase()) ? 'coinm' : 'usdm';
  const symbols = pair === null ? [asked.toUpperCase()] : symbolsOfPair(pair, market, source.context);
  return readList(body, 'klines').flatMap((row) => {
    const [t, o, h, l, c, v, , q, n] = readList(row, 'kline');
    const fields = { t, o, h, l, c, v, q, n, priceType, closed: null };
    return symbols
      .filter((symbol) => !isDated(symbol))
      .map((symbol) => toCandle({ symbol, venueTs: null, source }, row, fields));
  });
};

type CandleFields = Readonly<Record<'t' | 'o' | 'h' | 'l' | 'c' | 'v' | 'q' | 'n', unknown>> & {
  readonly priceType: PriceType;
  readonly closed: boolean | null;
};

/** Mark and index candles have zeros where volumes would be: they are none. */
const toCandle = (
  at: Stamps,
  element: unknown,
  { t, o, h, l, c, v, q, n, priceType, closed }: CandleFields,
): Mapped => {
  const open_time = readMsOrNull(t, 't');
  if (open_time === null) throw badFrame('t is no instant');
  const isTraded = priceType === 'trade';
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    open: readPrice(o, 'o'),
    high: readPrice(h, 'h'),
    low: readPrice(l, 'l'),
    close: readPrice(c, 'c'),
    volume: isTraded ? readAmount(v, 'v') : null,
    volume_unit: isTraded ? quantityUnitOf(at.symbol) : null,
    turnover: isTraded ? turnoverOf(at.symbol, q, 'q') : null,
    trades: isTraded ? readCountOrNull(n, 'n') : null,
    closed,
  };
  return toMapped(at, 'candle', values, element);
};

const EVENTS: ReadonlyMap<string, Mapper> = new Map([
  ['depthUpdate', mapDepth],
  ['markPriceUpdate', mapMarkPrice],
  ['indexPriceUpdate', mapIndexPrice],
  ['24hrTicker', mapTicker],
  ['24hrMiniTicker', mapTicker],
  ['aggTrade', mapTrade],
  ['trade', mapTrade],
  ['forceOrder', mapForceOrder],
  ['kline', mapKline],
]);

const ANSWERS: ReadonlyMap<string, Mapper> = new Map([
  ['depth', mapSnapshot],
  ['premiumIndex', mapPremiumIndex],
  ['ticker/24hr', mapDayTicker],
  ['ticker/price', mapPriceTicker],
  ['openInterest', mapOpenInterest],
  ['trades', mapPastTrade],
  ['historicalTrades', mapPastTrade],
  ['aggTrades', mapPastAggTrade],
]);
