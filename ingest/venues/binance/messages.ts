// Binance's frames and answers as normalised records (records.md). Not read: bookTicker (the book is collected whole), rpiDepth, composite and
// contract series; options, instruments with a delivery date, and continuous series of them.
import { toFraction } from '../../../schemas/decimals.ts';
import type { VenueMessage } from '../contract/listings.ts';
import type { MapContext, Mapped } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides, toFullSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { listPresent } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isFields,
  makeRefusal,
  NO_QUERY,
  parseRequest,
  readAmountOrNull,
  readFields,
  readFigureOrNull,
  readLevels,
  readMsOrNull,
  readPriceUnlessZero,
  readSequence,
  readSoleAmount,
  readText,
} from '../shared/wire.ts';
import {
  CANDLE_ENDPOINTS,
  mapContinuousKline,
  mapForceOrder,
  mapIndexKline,
  mapKline,
  mapKlines,
  mapMarkKline,
  mapPastAggTrade,
  mapPastTrade,
  mapTrade,
} from './events.ts';
import {
  type Mapper,
  type MessageSource,
  readAnswer,
  readAskedSymbol,
  readStamp,
  readSymbol,
  readTurnover,
  type Subject,
  toMapped,
} from './mapping.ts';
import { CONFIRMING_LEVELS, listSymbolsOfPair, PARTIAL, RETAIL, toMarketOfPath, toQuantityUnit } from './symbols.ts';

const { toLast, toMark } = bindTickerLayers(toMapped);

const cutLevels = createCutter({ names: ['b', 'a', 'bids', 'asks'] });

const readMessage = createMessageReader('"e":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (venue: string, message: VenueMessage, context: MapContext): readonly Mapped[] => {
  const map = (body: unknown): readonly Mapped[] => {
    const request = parseRequest(message.request);
    const source = {
      venue,
      receivedAt: message.received_at,
      context,
      query: request?.query ?? NO_QUERY,
      market: request === null ? null : toMarketOfPath(request.path),
      stream: '',
    };
    const endpoint = /\/[fd]api\/v\d\/(.+)$/.exec(request?.path ?? '')?.[1];
    if (endpoint !== undefined) return mapAnswer(body, { ...source, endpoint });
    return request === null ? mapFrame(body, source) : [];
  };
  return readMessage(message.payload, map);
};

/** Maps a frame, wrapped `{stream, data}` or bare; an answer without a known request is recognised by its shape. */
const mapFrame = (body: unknown, source: MessageSource): readonly Mapped[] => {
  if (Array.isArray(body)) return mapEach<unknown>(body, (element) => mapElement(element, source));
  const frame = readFields(body, 'message');
  if (!('stream' in frame && 'data' in frame)) return mapElement(frame, source);
  return mapFrame(frame.data, { ...source, stream: readText(frame.stream, 'stream') });
};

const mapElement = (element: unknown, source: MessageSource): readonly Mapped[] => {
  if (!isFields(element)) return [];
  const refused = element.error ?? (typeof element.code === 'number' ? element : undefined);
  if (refused !== undefined) throw makeRefusal(JSON.stringify(refused));
  if (typeof element.e === 'string') {
    const mapper = EVENTS.get(element.e);
    return mapper ? mapper(element, source) : noteUnread();
  }
  if ('lastUpdateId' in element && 'bids' in element) return mapSnapshot(element, source);
  return 'openInterest' in element ? mapOpenInterest(element, source) : [];
};

/** Maps an answer to a known request. */
const mapAnswer = (answer: unknown, source: MessageSource & { readonly endpoint: string }): readonly Mapped[] => {
  const body = readAnswer(answer);
  const candles = CANDLE_ENDPOINTS[source.endpoint];
  if (candles) return mapKlines(body, source, candles);
  const mapper = ANSWERS.get(source.endpoint);
  if (!mapper) return [];
  return mapEach<unknown>(Array.isArray(body) ? body : [body], (element) =>
    mapper(readFields(element, source.endpoint), source),
  );
};

const mapDepth: Mapper = (element, source) => {
  if (RETAIL.test(source.stream)) return noteUnread();
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readStamp(element), source, element };
  const last = readSequence(element.u, 'u');
  const sequence = String(last);
  const bids = readLevels(element.b, 'b');
  const asks = readLevels(element.a, 'a');
  if (PARTIAL.test(source.stream)) {
    return [toMapped(subject, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence })];
  }
  const chain: Chain = {
    symbol,
    kind: 'update',
    first: readSequence(element.U, 'U'),
    last,
    previous: readSequence(element.pu, 'pu'),
  };
  return [{ ...toMapped(subject, 'book', { kind: 'update', bids, asks, sequence }), chain }];
};

const mapSnapshot: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const last = readSequence(element.lastUpdateId, 'lastUpdateId');
  const sides = sortSides(readLevels(element.bids, 'bids'), readLevels(element.asks, 'asks'));
  const subject = { symbol, venueTs: readStamp(element), source, element };
  const limit = source.query.get('limit');
  const chain: Chain = {
    ...makeSnapshotChain(symbol, last),
    kind: limit === CONFIRMING_LEVELS ? 'confirmation' : 'snapshot',
    full: limit === null ? undefined : toFullSides(sides, Number(limit)),
  };
  return [{ ...toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: String(last) }), chain }];
};

/** Mark, index (absent on COIN-M) and the coming funding; `T` is the next settlement here, not a stamp. Dated contracts have no funding. */
const mapMarkPrice: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(element.E, 'E'), source, element };
  return mapLayers([() => toMark(subject, element, ['p', 'i']), () => toFunding(subject, element, ['r', 'T'])]);
};

const mapPremiumIndex: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(element.time, 'time'), source, element };
  return mapLayers([
    () => toMark(subject, element, ['markPrice', 'indexPrice']),
    () => toFunding(subject, element, ['lastFundingRate', 'nextFundingTime']),
  ]);
};

const toFunding = (
  subject: Subject,
  element: Fields,
  [rateName, nextName]: readonly [string, string],
): Mapped | null => {
  const funding = readFigureOrNull(element[rateName], rateName);
  const next_funding_at = readMsOrNull(element[nextName], nextName);
  if (funding === null && next_funding_at === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at });
};

/** An index by pair (`i` before 2026-06-30): one record for each listing that uses it. */
const mapIndexPrice: Mapper = (element, source) => {
  const index = readPriceUnlessZero(element.p, 'p');
  if (index === null) return [];
  const venueTs = readMsOrNull(element.E, 'E');
  const pair = readText(element.i ?? element.s, 's');
  return listSymbolsOfPair(pair, source.market, source.context).map((symbol) =>
    toMapped({ symbol, venueTs, source, element }, 'mark', { mark: null, index }),
  );
};

const mapTicker: Mapper = (element, source) => {
  const symbol = readSymbol(element.s);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(element.E, 'E'), source, element };
  return mapLayers([() => toLast(subject, element, 'c'), () => toStats(subject, element, ['v', 'q', 'P'])]);
};

const mapDayTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(element.closeTime, 'closeTime'), source, element };
  return mapLayers([
    () => toLast(subject, element, 'lastPrice'),
    () => toStats(subject, element, ['volume', 'quoteVolume', 'priceChangePercent']),
  ]);
};

const mapPriceTicker: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(element.time, 'time'), source, element };
  return listPresent([toLast(subject, element, 'price')]);
};

const toStats = (
  subject: Subject,
  element: Fields,
  [volumeName, turnoverName, changeName]: readonly [string, string, string],
): Mapped | null => {
  const percent = readFigureOrNull(element[changeName], changeName);
  const volume_24h = readAmountOrNull(element[volumeName], volumeName);
  const volume_unit = toQuantityUnit(subject.symbol);
  const turnover_24h = readTurnover(subject.symbol, element[turnoverName], turnoverName);
  const change_24h = percent === null ? null : toFraction(percent);
  // Tickers may have the last price alone.
  if (volume_24h === null && turnover_24h === null && change_24h === null) return null;
  return toMapped(subject, 'stats', { volume_24h, volume_unit, turnover_24h, change_24h });
};

const mapOpenInterest: Mapper = (element, source) => {
  const symbol = readAskedSymbol(element, source);
  if (symbol === null) return [];
  const venueTs = readMsOrNull(element.time, 'time');
  const oi = readSoleAmount(element.openInterest, 'openInterest');
  if (oi === null) return [];
  return [toMapped({ symbol, venueTs, source, element }, 'oi', { oi, oi_unit: toQuantityUnit(symbol) })];
};

const EVENTS: ReadonlyMap<string, Mapper> = new Map([
  ['depthUpdate', mapDepth],
  ['markPriceUpdate', mapMarkPrice],
  // The first name is from its docs, the second is the one sent (gocryptotrader, `binance_websocket.go`).
  ['indexPriceUpdate', mapIndexPrice],
  ['IndexUpdate', mapIndexPrice],
  ['24hrTicker', mapTicker],
  ['24hrMiniTicker', mapTicker],
  ['aggTrade', mapTrade],
  ['trade', mapTrade],
  ['forceOrder', mapForceOrder],
  ['kline', mapKline],
  ['continuous_kline', mapContinuousKline],
  ['markPrice_kline', mapMarkKline],
  ['indexPrice_kline', mapIndexKline],
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
