// Binance USD-M and COIN-M perpetuals. https://developers.binance.com/docs/derivatives, checked 2026-11-21.
//
// USD-M sockets are split since 2026-04-23: books on /public, everything else on /market; the old path acknowledges and then stays silent.
// COIN-M has one path. Instruments with a delivery date (`BTCUSD_210924`) share the sockets of both and are never mapped.
import type { Digits, Level, ListingRecord, Micros, NormalisedRecord, PriceType } from '../../schemas/records.ts';
import type { QuantityUnit } from '../../schemas/units.ts';
import { type BookRule, type Chain, type Delivery, type MapContext, type Mapped, type Slot, type Venue, VenueError } from '../venue.ts';
import { type Market, mapReference } from './binance-listings.ts';
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
import { multiply } from '../../schemas/decimals.ts';

const ENDPOINTS = {
  usdm_rest: 'https://fapi.binance.com',
  usdm_public_ws: 'wss://fstream.binance.com/public/ws',
  usdm_market_ws: 'wss://fstream.binance.com/market/ws',
  coinm_rest: 'https://dapi.binance.com',
  coinm_ws: 'wss://dstream.binance.com/ws',
};

const OFF: Delivery = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null };
/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1000, horizonMs: 2000, horizonSource: 'documented' };
const ON_CHANGE: Delivery = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };

/** The docs allow 1,024; fewer keep a lost socket small. */
const STREAMS_PER_CONNECTION = 200;
/** Streams named by one SUBSCRIBE frame, which the venue limits to a few kilobytes. */
const STREAMS_PER_FRAME = 50;
const SILENCE_MS = 30_000;
/** The venue closes sockets at 24 h. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/**
 * Snapshot `lastUpdateId`; diffs behind it are dropped, the first kept one contains it or continues it directly (`pu` equals it: seen live,
 * not in the docs), then each `pu` is the previous `u`. A repeat of the last diff says nothing new.
 */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    if (next.previous === last) return 'apply';
    if (joined) return next.last === last ? 'skip' : 'break';
    if (next.last < last) return 'skip';
    return next.first <= last ? 'apply' : 'break';
  },
};

export const binance: Venue = {
  id: 'binance',
  name: 'Binance',
  docs: 'https://developers.binance.com/docs/derivatives',
  endpoints: ENDPOINTS,
  limits: { streamsPerConnection: STREAMS_PER_CONNECTION, subscribePerSecond: 5, restWeightPerMinute: 2400, connectionsPerMinute: 60 },
  layers: {
    ticker: OFF,
    mark: EVERY_SECOND,
    funding: EVERY_SECOND,
    oi: OFF,
    book: ON_CHANGE,
    stats: OFF,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) =>
    [`${endpoints['usdm_rest']}/fapi/v1`, `${endpoints['coinm_rest']}/dapi/v1`].flatMap((base) => [
      { method: 'GET' as const, url: `${base}/fundingInfo`, weight: 1 },
      { method: 'GET' as const, url: `${base}/exchangeInfo`, weight: 1 },
    ]),
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const open = listings.filter(({ values }) => values.status !== 'delisted' && values.status !== 'pre_launch');
    return Array.from({ length: env.shards }, (_, shard) => shard).flatMap((shard) =>
      planShard(open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard), shard, env.endpoints),
    );
  },
  classify: (text) => {
    const head = text.slice(0, 40);
    if (head.startsWith('{"result":')) return 'ack';
    return /^\{"(error|code)":/.test(head) || /^\{"id":[^,]*,"error":/.test(head) ? 'error' : 'data';
  },
  sequence: (text) => readChain(text),
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => {
    const base = marketOf(venue_symbol) === 'usdm' ? `${endpoints['usdm_rest']}/fapi` : `${endpoints['coinm_rest']}/dapi`;
    return { method: 'GET', url: `${base}/v1/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=1000`, weight: 20 };
  },
  map: (_state, message, context) =>
    readMessage(message.payload, (body) => {
      const request = parseRequest(message.request);
      const source = { receivedAt: message.received_at, context, query: request?.query ?? new URLSearchParams(), stream: '' };
      const endpoint = /\/[fd]api\/v\d\/(.+)$/.exec(request?.path ?? '')?.[1];
      return endpoint === undefined ? mapFrame(body, source) : mapAnswer(body, { ...source, endpoint });
    }),
};

// ---- plan ----

/** Slots of one shard: books apart from prices, so that a busy book never delays a mark. */
const planShard = (listings: readonly ListingRecord[], shard: number, endpoints: Readonly<Record<string, string>>): Slot[] => {
  const usdm = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === 'usdm');
  const coinm = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === 'coinm');
  const depth = (listing: ListingRecord): string[] => [`${lower(listing.venue_symbol)}@depth@100ms`];
  const mark = (listing: ListingRecord): string[] => [`${lower(listing.venue_symbol)}@markPrice@1s`];
  // COIN-M sends the index apart, by pair.
  const markAndIndex = (listing: ListingRecord): string[] => [...mark(listing), `${lower(listing.values.pair ?? '')}@indexPrice@1s`];
  const book = ['book', 'venue_depth'];
  const price = ['mark', 'funding'];
  return [
    ...planSockets(usdm, { name: 'usdm-book', shard, url: endpoints['usdm_public_ws'], layers: book, streams: depth }),
    ...planSockets(usdm, { name: 'usdm-mark', shard, url: endpoints['usdm_market_ws'], layers: price, streams: mark }),
    ...planSockets(coinm, { name: 'coinm-book', shard, url: endpoints['coinm_ws'], layers: book, streams: depth }),
    ...planSockets(coinm, { name: 'coinm-mark', shard, url: endpoints['coinm_ws'], layers: price, streams: markAndIndex }),
  ];
};

type SocketPlan = {
  readonly name: string;
  readonly shard: number;
  readonly url: string | undefined;
  readonly layers: readonly string[];
  readonly streams: (listing: ListingRecord) => string[];
};

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = (listings: readonly ListingRecord[], { name, shard, url, layers, streams }: SocketPlan): Slot[] => {
  const byAge = listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );
  const perSocket = Math.floor(STREAMS_PER_CONNECTION / Math.max(1, ...byAge.slice(0, 1).map((first) => streams(first).length)));
  return chunks(byAge, perSocket).map((chunk, i) => ({
    kind: 'socket',
    id: `${name}.${shard}.${i}`,
    shards: [shard],
    url: url ?? '',
    subscribe: toSubscribe([...new Set(chunk.flatMap(streams))]),
    covers: [{ layers, symbols: chunk.map(({ venue_symbol }) => venue_symbol) }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
  }));
};

const toSubscribe = (streams: readonly string[]): string[] =>
  chunks(streams, STREAMS_PER_FRAME).map((params, i) => JSON.stringify({ method: 'SUBSCRIBE', params, id: i + 1 }));

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

const lower = (symbol: string): string => symbol.toLowerCase();

// ---- symbols ----

/** `BTCUSDT`: USD-M; `BTCUSD_PERP`: COIN-M. */
const marketOf = (symbol: string): Market => (symbol.endsWith('_PERP') ? 'coinm' : 'usdm');
/** Delivery contracts end in their date: `BTCUSD_210924`. */
const isDated = (symbol: string): boolean => /_\d{6}$/.test(symbol);
/** USD-M counts base units, COIN-M contracts, in books, trades, open interest and volume. */
const quantityUnitOf = (symbol: string): QuantityUnit => (marketOf(symbol) === 'usdm' ? 'base' : 'contracts');

/** Listings that use a pair's index: the known ones, or before any is known the perpetual of that name. */
const symbolsOfPair = (pair: string, market: Market, { listings }: MapContext): readonly string[] => {
  if (listings.size === 0) return [market === 'usdm' ? pair : `${pair}_PERP`];
  return [...listings.values()].filter((l) => l.values.pair === pair && marketOf(l.venue_symbol) === market).map((l) => l.venue_symbol);
};

// ---- book chain ----

const CHAIN_FIELDS = /"s":"([^"\\]+)"(?:,"ps":"[^"]*")?,"U":(\d+),"u":(\d+),"pu":(-?\d+)/;
/** Streams of the best 5, 10 or 20 levels: whole messages outside the chain of diffs. */
const PARTIAL = /@depth(5|10|20)(@|$)/;

/** Chain of a diff frame, or of a snapshot's body (its symbol is empty where the venue leaves it out). */
const readChain = (text: string): Chain | null => {
  const head = text.slice(0, 200);
  if (head.includes('"e":"depthUpdate"')) {
    const match = PARTIAL.test(head) ? null : CHAIN_FIELDS.exec(text.slice(0, 400));
    if (!match || isDated(match[1] as string)) return null;
    return {
      symbol: match[1] as string,
      kind: 'update',
      first: BigInt(match[2] as string),
      last: BigInt(match[3] as string),
      previous: BigInt(match[4] as string),
    };
  }
  if (head.includes('"e":"')) return null;
  const id = /"lastUpdateId":(\d+)/.exec(text)?.[1];
  return id === undefined ? null : snapshotChain(/"symbol":"([^"\\]+)"/.exec(text)?.[1] ?? '', id);
};

const snapshotChain = (symbol: string, id: string): Chain => ({ symbol, kind: 'snapshot', first: null, last: BigInt(id), previous: null });

// ---- mapping ----

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
  return mapFrame(frame['data'], { ...source, stream: readText(frame['stream'], 'stream') });
};

const mapElement = (element: unknown, source: MessageSource): readonly Mapped[] => {
  if (!isFields(element)) return [];
  const refused = element['error'] ?? (typeof element['code'] === 'number' ? element : undefined);
  if (refused !== undefined) throw badFrame(`the venue refused: ${JSON.stringify(refused).slice(0, 120)}`);
  if (typeof element['e'] === 'string') return EVENTS.get(element['e'])?.(element, source) ?? [];
  if ('lastUpdateId' in element && 'bids' in element) return mapSnapshot(element, source);
  return 'openInterest' in element ? mapOpenInterest(element, source) : [];
};

/** An answer to a request we know. */
const mapAnswer = (body: unknown, source: MessageSource & { readonly endpoint: string }): readonly Mapped[] => {
  if (isFields(body) && typeof body['code'] === 'number' && 'msg' in body) throw badFrame(`the venue refused: ${String(body['msg'])}`);
  const candles = CANDLE_ENDPOINTS[source.endpoint];
  if (candles) return mapKlines(body, source, candles);
  const mapper = ANSWERS.get(source.endpoint);
  if (!mapper) return [];
  return (Array.isArray(body) ? body : [body]).flatMap((element) => mapper(readFields(element, source.endpoint), source));
};

/** Symbol of an element, null when it names an instrument that is not perpetual. */
const readSymbol = (value: unknown): string | null => {
  const symbol = readText(value, 'symbol');
  return isDated(symbol) ? null : symbol;
};

/** The element's own symbol, or the one asked for. */
const readAskedSymbol = (element: Fields, { query, stream }: MessageSource): string | null => {
  const symbol = element['symbol'] ?? query.get('symbol')?.toUpperCase() ?? (stream === '' ? undefined : stream.split('@')[0]?.toUpperCase());
  if (symbol === undefined || symbol === '') throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no symbol and its request is not known');
  return readSymbol(symbol);
};

type Stamps = { readonly symbol: string; readonly venueTs: Micros | null; readonly source: MessageSource };

const toMapped = <R extends NormalisedRecord>(
  { symbol, venueTs, source }: Stamps,
  layer: R['layer'],
  values: R['values'],
  element: unknown,
): Mapped => ({
  record: { layer, venue: 'binance', venue_symbol: symbol, venue_ts: venueTs, received_at: source.receivedAt, values } as NormalisedRecord,
  element,
});

/** Of a message's stamps the transaction time `T`, else the event time `E` (records.md). */
const readStamp = (element: Fields): Micros | null => readMsOrNull(element['T'], 'T') ?? readMsOrNull(element['E'], 'E');

const mapDepth: Mapper = (element, source) => {
  const symbol = readSymbol(element['s']);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readStamp(element), source };
  const sequence = readId(element['u'], 'u');
  const bids = readLevels(element['b'], 'b');
  const asks = readLevels(element['a'], 'a');
  if (PARTIAL.test(source.stream)) {
    return [toMapped(at, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence }, element)];
  }
  const first = BigInt(readId(element['U'], 'U'));
  const chain: Chain = { symbol, kind: 'update', first, last: BigInt(sequence), previous: BigInt(readId(element['pu'], 'pu')) };
  return [{ ...toMapped(at, 'book', { kind: 'update', bids, asks, sequence }, element), chain }];
};

const mapSnapshot: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const sequence = readId(element['lastUpdateId'], 'lastUpdateId');
  const sides = sortSides(readLevels(element['bids'], 'bids'), readLevels(element['asks'], 'asks'));
  const at = { symbol, venueTs: readStamp(element), source };
  return [{ ...toMapped(at, 'book', { kind: 'snapshot', ...sides, sequence }, element), chain: snapshotChain(symbol, sequence) }];
};

const sortSides = (bids: Level[], asks: Level[]): { readonly bids: Level[]; readonly asks: Level[] } => ({
  bids: bids.toSorted((a, b) => Number(b[0]) - Number(a[0])),
  asks: asks.toSorted((a, b) => Number(a[0]) - Number(b[0])),
});

/** Mark, index (absent on COIN-M) and the coming funding; `T` is the next settlement here, not a stamp. Dated contracts have no funding. */
const mapMarkPrice: Mapper = (element, source) => {
  const symbol = readSymbol(element['s']);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element['E'], 'E'), source };
  return [...toMark(at, element, ['p', 'i']), ...toFunding(at, element, ['r', 'T'])];
};

const mapPremiumIndex: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element['time'], 'time'), source };
  return [...toMark(at, element, ['markPrice', 'indexPrice']), ...toFunding(at, element, ['lastFundingRate', 'nextFundingTime'])];
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
  const index = readPrice(element['p'], 'p');
  const venueTs = readMsOrNull(element['E'], 'E');
  return symbolsOfPair(readText(element['i'], 'i'), 'coinm', source.context).map((symbol) =>
    toMapped({ symbol, venueTs, source }, 'mark', { mark: null, index }, element),
  );
};

const mapTicker: Mapper = (element, source) => {
  const symbol = readSymbol(element['s']);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element['E'], 'E'), source };
  return [...toTicker(at, element, 'c'), ...toStats(at, element, ['v', 'q', 'P'])];
};

const mapDayTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const at = { symbol, venueTs: readMsOrNull(element['closeTime'], 'closeTime'), source };
  return [...toTicker(at, element, 'lastPrice'), ...toStats(at, element, ['volume', 'quoteVolume', 'priceChangePercent'])];
};

const mapPriceTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  return symbol === null ? [] : toTicker({ symbol, venueTs: readMsOrNull(element['time'], 'time'), source }, element, 'price');
};

/** A last price of zero means that nothing was traded yet. */
const toTicker = (at: Stamps, element: Fields, name: string): Mapped[] => {
  const last = readAmountOrNull(element[name], name);
  return last === null || last === '0' ? [] : [toMapped(at, 'ticker', { last }, element)];
};

const toStats = (at: Stamps, element: Fields, [volumeName, turnoverName, changeName]: readonly [string, string, string]): Mapped[] => {
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
  const venueTs = readMsOrNull(element['time'], 'time');
  const oi = readAmount(element['openInterest'], 'openInterest');
  return [toMapped({ symbol, venueTs, source }, 'oi', { oi, oi_unit: quantityUnitOf(symbol) }, element)];
};

/** Fills of the insurance fund and of auto-deleveraging are marked in `X` and no trades of the market. */
const mapTrade: Mapper = (element, source) => {
  const symbol = readSymbol(element['s']);
  if (symbol === null || element['X'] === 'INSURANCE_FUND' || element['X'] === 'ADL') return [];
  const id = element['e'] === 'trade' ? element['t'] : element['a'];
  return [toTrade({ symbol, venueTs: readStamp(element), source }, element, { id, price: element['p'], size: element['q'], maker: element['m'] })];
};

const mapPastAggTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element['a'], price: element['p'], size: element['q'], maker: element['m'] };
  return [toTrade({ symbol, venueTs: readStamp(element), source }, element, fields)];
};

const mapPastTrade: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const fields = { id: element['id'], price: element['price'], size: element['qty'], maker: element['isBuyerMaker'] };
  return [toTrade({ symbol, venueTs: readMsOrNull(element['time'], 'time'), source }, element, fields)];
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
  const order = readFields(element['o'], 'o');
  const symbol = readSymbol(order['s']);
  if (symbol === null) return [];
  if (order['S'] !== 'SELL' && order['S'] !== 'BUY') throw badFrame('o.S is no side');
  const filled = readAmountOrNull(order['z'], 'o.z') ?? '0';
  const isFilled = filled !== '0';
  const values = {
    id: null,
    side: order['S'] === 'SELL' ? ('long' as const) : ('short' as const),
    price: isFilled ? readPrice(order['ap'], 'o.ap') : readPrice(order['p'], 'o.p'),
    price_kind: isFilled ? ('fill' as const) : ('order' as const),
    quantity: isFilled ? filled : readAmount(order['q'], 'o.q'),
    quantity_unit: quantityUnitOf(symbol),
  };
  const venueTs = readMsOrNull(order['T'], 'o.T') ?? readMsOrNull(element['E'], 'E');
  return [toMapped({ symbol, venueTs, source }, 'liquidation', values, element)];
};

const mapKline: Mapper = (element, source) => {
  const symbol = readSymbol(element['s']);
  const kline = readFields(element['k'], 'k');
  if (symbol === null || kline['i'] !== '1m') return [];
  if (typeof kline['x'] !== 'boolean') throw badFrame('k.x does not say whether the candle is closed');
  const fields = { t: kline['t'], o: kline['o'], h: kline['h'], l: kline['l'], c: kline['c'], v: kline['v'], q: kline['q'], n: kline['n'] };
  const at = { symbol, venueTs: readMsOrNull(element['E'], 'E'), source };
  return [toCandle(at, element, { ...fields, priceType: 'trade', closed: kline['x'] })];
};

/** Endpoints of candles; those of a pair's index answer for each listing that uses it. */
const CANDLE_ENDPOINTS: Readonly<Record<string, PriceType>> = { klines: 'trade', markPriceKlines: 'mark', indexPriceKlines: 'index' };

const mapKlines = (body: unknown, source: MessageSource & { readonly endpoint: string }, priceType: PriceType): readonly Mapped[] => {
  const interval = source.query.get('interval');
  if (interval !== null && interval !== '1m') return [];
  const asked = source.query.get('symbol') ?? source.query.get('pair');
  if (asked === null || interval === null) {
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the candles name no symbol or interval and their request is not known');
  }
  const pair = source.query.get('symbol') === null ? asked.toUpperCase() : null;
  const market: Market = source.context.listings.has(`${pair}_PERP`) || !/USD[TC]$/.test(asked.toUpperCase()) ? 'coinm' : 'usdm';
  const symbols = pair === null ? [asked.toUpperCase()] : symbolsOfPair(pair, market, source.context);
  return readList(body, 'klines').flatMap((row) => {
    const [t, o, h, l, c, v, , q, n] = readList(row, 'kline');
    const fields = { t, o, h, l, c, v, q, n, priceType, closed: null };
    return symbols.filter((symbol) => !isDated(symbol)).map((symbol) => toCandle({ symbol, venueTs: null, source }, row, fields));
  });
};

type CandleFields = Readonly<Record<'t' | 'o' | 'h' | 'l' | 'c' | 'v' | 'q' | 'n', unknown>> & {
  readonly priceType: PriceType;
  readonly closed: boolean | null;
};

/** Mark and index candles have zeros where volumes would be: they are none. */
const toCandle = (at: Stamps, element: unknown, { t, o, h, l, c, v, q, n, priceType, closed }: CandleFields): Mapped => {
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

/** Events we read. Not read: bookTicker (the book is collected whole), continuous and composite series, contractInfo. */
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
