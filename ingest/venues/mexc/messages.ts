// MEXC's frames and answers as normalised records (records.md). Not read: changes of contracts (the reference is polled), past funding,
// books by steps of price. The venue sends figures as JSON numbers, sometimes with an exponent.
import type { Digits, Micros, PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides, toFullSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
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
  readAmountOrNull,
  readFields,
  readFigureOrNull,
  readId,
  readIdOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readPriceUnlessZero,
  readSequence,
  readSequenceOrNull,
  readSoleAmount,
  readSoleFigure,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { readAnswer, readCycle } from './listings.ts';
import { isDated, isInverse, updateChain } from './symbols.ts';

type Source = {
  readonly receivedAt: Micros;
  /** From the frame or the request's path; an element's own symbol takes precedence. */
  readonly symbol: unknown;
  /** Send time of the frame. */
  readonly sentAt: Micros | null;
  /** The request's query; empty for frames. */
  readonly query: URLSearchParams;
};

type Mapper = (element: Fields, source: Source) => readonly Mapped[];

const toMapped = bindMapped('mexc');
const { toLast, toMark } = bindTickerLayers(toMapped);

const cutLevels = createCutter({ names: ['bids', 'asks'] });

const readMessage = createMessageReader('"channel":"push.', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const request = parseRequest(message.request);
    if (request !== null) return mapAnswer(body, message, request);
    return message.kind === 'frame' ? mapFrame(body, message) : [];
  });

const mapFrame = (body: unknown, { received_at }: VenueMessage): readonly Mapped[] => {
  const frame = readFields(body, 'message');
  if (frame.channel === 'rs.error') throw makeRefusal(String(frame.data));
  const channel = readText(frame.channel, 'channel');
  const mapper = CHANNELS.get(channel);
  // Acknowledgements, and the answer to a ping.
  if (!mapper) return channel.startsWith('rs.') || channel === 'pong' ? [] : noteUnread();
  const source = {
    receivedAt: received_at,
    symbol: frame.symbol,
    sentAt: readMsOrNull(frame.ts, 'ts'),
    query: NO_QUERY,
  };
  return mapElements(frame.data, mapper, source);
};

/** Contracts with a delivery share the lists, and are none of ours. */
const mapElements = (data: unknown, mapper: Mapper, source: Source): readonly Mapped[] =>
  mapEach<unknown>(Array.isArray(data) ? data : [data], (item) => {
    const element = readFields(item, 'data');
    const symbol = element.symbol || source.symbol;
    return typeof symbol === 'string' && isDated(symbol) ? [] : mapper(element, source);
  });

const mapAnswer = (
  body: unknown,
  { received_at }: VenueMessage,
  { path, query }: { readonly path: string; readonly query: URLSearchParams },
): readonly Mapped[] => {
  const endpoint = /\/api\/v1\/contract\/(.+)$/.exec(path)?.[1] ?? '';
  const [pattern, mapper] = ANSWERS.find(([found]) => found.test(endpoint)) ?? [];
  if (pattern === undefined || mapper === undefined) return [];
  const symbol = endpoint.match(pattern)?.[1] ?? query.get('symbol') ?? undefined;
  const source = { receivedAt: received_at, symbol, sentAt: null, query };
  return mapElements(readAnswer(body), mapper, source);
};

/** The first of the element's stamps that exists, else the frame's send time. */
const toSubject = (element: Fields, { receivedAt, symbol, sentAt }: Source, stamps: readonly string[]): Subject => {
  const named = element.symbol || symbol;
  if (isAbsent(named)) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the message names no symbol');
  const own = stamps.map((name) => readMsOrNull(element[name], name)).find((stamp) => stamp !== null);
  return { symbol: readText(named, 'symbol'), venueTs: own ?? sentAt, receivedAt, element };
};

const mapTicker: Mapper = (element, source) => {
  const subject = toSubject(element, source, ['timestamp']);
  return mapLayers([
    () => toLast(subject, element, 'lastPrice'),
    () => toMark(subject, element, ['fairPrice', 'indexPrice']),
    () => toTickerFunding(subject, element),
    () => toOpenInterest(subject, element),
    () => toStats(subject, element),
  ]);
};

const toTickerFunding = (subject: Subject, element: Fields): Mapped | null => {
  const funding = readFigureOrNull(element.fundingRate, 'fundingRate');
  if (funding === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at: null });
};

const toOpenInterest = (subject: Subject, element: Fields): Mapped | null => {
  const oi = readAmountOrNull(element.holdVol, 'holdVol');
  return oi === null ? null : toMapped(subject, 'oi', { oi, oi_unit: 'contracts' });
};

/** `amount24` of an inverse contract counts coins and is no quote amount. */
const toStats = (subject: Subject, element: Fields): Mapped | null => {
  const volume_24h = readAmountOrNull(element.volume24, 'volume24');
  const change_24h = readFigureOrNull(element.riseFallRate, 'riseFallRate');
  const turnover_24h = isInverse(subject.symbol) ? null : readAmountOrNull(element.amount24, 'amount24');
  const values = { volume_24h, volume_unit: 'contracts' as const, turnover_24h, change_24h };
  return isEmptyDay(values) ? null : toMapped(subject, 'stats', values);
};

const mapPrice =
  (name: string, type: 'mark' | 'index'): Mapper =>
  (element, source) => {
    const price = readPriceUnlessZero(element[name], name);
    if (price === null) return [];
    const values = { mark: type === 'mark' ? price : null, index: type === 'index' ? price : null };
    return [toMapped(toSubject(element, source, ['timestamp']), 'mark', values)];
  };

/** The rate of the coming settlement, at `nextSettleTime`; answers contain mark and index since 2026-04-18. */
const mapFunding: Mapper = (element, source) => {
  const subject = toSubject(element, source, ['timestamp']);
  return mapLayers([
    () => toMark(subject, element, ['fairPrice', 'idxPrice']),
    () => toFunding(subject, element, nameRate(element)),
  ]);
};

/** Frames send `rate`, which the page of their members calls `fundingRate`, as answers do. */
const nameRate = ({ rate }: Fields): string => (isAbsent(rate) ? 'fundingRate' : 'rate');

const toFunding = (subject: Subject, element: Fields, name: string): Mapped | null => {
  const funding = readSoleFigure(element[name], name);
  const next_funding_at = readMsOrNull(element.nextSettleTime, 'nextSettleTime');
  if (funding === null && next_funding_at === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: readCycle(element), next_funding_at });
};

/** Levels are `[price, contracts, orders]`. `cts` is the matching engine's time. */
const readBook = (element: Fields, source: Source) => ({
  subject: toSubject(element, source, ['cts', 'timestamp']),
  bids: readLevels(element.bids, 'bids'),
  asks: readLevels(element.asks, 'asks'),
  version: readSequence(element.version, 'version'),
});

const mapUpdate: Mapper = (element, source) => {
  const { subject, bids, asks, version } = readBook(element, source);
  const begin = readSequenceOrNull(element.begin, 'begin');
  const end = readSequenceOrNull(element.end, 'end') ?? version;
  const sequence = String(end);
  const chain = updateChain(subject.symbol, { begin, end });
  return [{ ...toMapped(subject, 'book', { kind: 'update', bids, asks, sequence }), chain }];
};

/** The best levels only: whole messages outside the chain. */
const mapTop: Mapper = (element, source) => {
  const { subject, bids, asks, version } = readBook(element, source);
  return [toMapped(subject, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence: String(version) })];
};

const mapWhole: Mapper = (element, source) => {
  const { subject, bids, asks, version } = readBook(element, source);
  const limit = Number(source.query.get('limit') ?? 0);
  const full = limit === 0 ? undefined : toFullSides({ bids, asks }, limit);
  const values = { kind: 'snapshot' as const, ...sortSides(bids, asks), sequence: String(version) };
  const chain = { ...makeSnapshotChain(subject.symbol, version), full };
  return [{ ...toMapped(subject, 'book', values), chain }];
};

/** `T`: the taker bought (1) or sold (2). */
const mapTrade: Mapper = (element, source) => {
  const side = readTaker(toSideWord(element.T), ['1', '2'], 'T');
  if (side === null) return [];
  const values = {
    id: readIdOrNull(element.i, 'i'),
    side,
    price: readPrice(element.p, 'p'),
    quantity: readAmount(element.v, 'v'),
    quantity_unit: 'contracts' as const,
  };
  return [toMapped(toSubject(element, source, ['cts', 't']), 'trade', values)];
};

/** A number, or its text. */
const toSideWord = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value);

type CandleFields = Readonly<Record<'t' | 'o' | 'h' | 'l' | 'c' | 'q' | 'a', unknown>>;

/** `t` is the start in seconds; never marked as closed. */
const mapKline: Mapper = (element, source) => {
  if (element.interval !== 'Min1') return [];
  const { t, o, h, l, c, q, a } = element;
  return toCandle(toSubject(element, source, []), { fields: { t, o, h, l, c, q, a }, priceType: 'trade' });
};

/** Columns `time open high low close vol amount`. The request's default is minutes. */
const mapKlines =
  (priceType: PriceType): Mapper =>
  (element, source) => {
    if ((source.query.get('interval') ?? 'Min1') !== 'Min1') return [];
    const subject = toSubject(element, source, []);
    const column = (name: string): readonly unknown[] => (isAbsent(element[name]) ? [] : readList(element[name], name));
    const [o, h, l, c, q, a] = ['open', 'high', 'low', 'close', 'vol', 'amount'].map(column);
    const rows = column('time').map((t, i) => ({
      t,
      o: o?.[i],
      h: h?.[i],
      l: l?.[i],
      c: c?.[i],
      q: q?.[i],
      a: a?.[i],
    }));
    return mapEach(rows, (fields) => toCandle({ ...subject, element: fields }, { fields, priceType }));
  };

type CandleParts = { readonly fields: CandleFields; readonly priceType: PriceType };

/** Candles of mark and index have no volumes. */
const toCandle = (subject: Subject, { fields, priceType }: CandleParts): readonly Mapped[] => {
  const isTraded = priceType === 'trade';
  const volume = isTraded ? readSoleAmount(fields.q, 'volume') : null;
  const prices = readCandlePrices({ open: fields.o, high: fields.h, low: fields.l, close: fields.c }, volume);
  if (prices === null) return [];
  const values = {
    open_time: readStart(fields.t),
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? ('contracts' as const) : null,
    turnover: isTraded ? readTurnover(subject.symbol, fields.a) : null,
    trades: null,
    closed: null,
  };
  return [toMapped(subject, 'candle', values)];
};

const readTurnover = (symbol: string, value: unknown): Digits | null =>
  isInverse(symbol) ? null : readAmountOrNull(value, 'amount');

const readStart = (value: unknown): Micros => {
  const seconds = readId(value, 'start');
  const at = readMsOrNull(Number(seconds) * 1000, 'start');
  if (at === null) throw makeBadFrame('the candle has no start');
  return at;
};

/** The last is an answer as wrapped by recorders. */
const CHANNELS: ReadonlyMap<string, Mapper> = new Map([
  ['push.ticker', mapTicker],
  ['push.tickers', mapTicker],
  ['push.fair.price', mapPrice('price', 'mark')],
  ['push.index.price', mapPrice('price', 'index')],
  ['push.funding.rate', mapFunding],
  ['push.depth', mapUpdate],
  ['push.depth.full', mapTop],
  ['push.deal', mapTrade],
  ['push.kline', mapKline],
  ['push.depth.snapshot', mapWhole],
]);

const ANSWERS: readonly (readonly [pattern: RegExp, mapper: Mapper])[] = [
  [/^ticker$/, mapTicker],
  [/^fair_price\/([^/]+)$/, mapPrice('fairPrice', 'mark')],
  [/^index_price\/([^/]+)$/, mapPrice('indexPrice', 'index')],
  [/^funding_rate(?:\/(?!history$)([^/]+))?$/, mapFunding],
  [/^depth\/([^/]+)$/, mapWhole],
  [/^deals\/([^/]+)$/, mapTrade],
  [/^kline\/fair_price\/([^/]+)$/, mapKlines('mark')],
  [/^kline\/index_price\/([^/]+)$/, mapKlines('index')],
  [/^kline\/([^/]+)$/, mapKlines('trade')],
];
