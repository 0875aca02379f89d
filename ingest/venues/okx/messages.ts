// OKX's frames and answers as normalised records (records.md). Not read: top of book (`bbo-tbt`), settled funding rates, instruments that are
// no swaps. Quantities are contracts everywhere. `checksum` is ignored: the venue sends 0 since 2026.
import type { Digits, PriceType } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { MapContext, Mapped } from '../contract/mapping.ts';
import { sortSides, toFullSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isText,
  makeBadFrame,
  makeRefusal,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readIdOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readPriceUnlessZero,
  readSequenceOrNull,
  readSide,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { readAnswer, readInterval } from './listings.ts';
import { DEPTHS, isFirst, isSwap, listSymbolsOfIndex, toChain } from './symbols.ts';

type Source = {
  readonly receivedAt: number;
  readonly context: MapContext;
  /** Channel of a frame; empty for answers. */
  readonly channel: string;
  /** `snapshot` or `update` of a frame of the book. */
  readonly action: unknown;
  /** From the frame's argument or the request; an element's own instrument takes precedence. */
  readonly instId: string | null;
};

type Mapper = (element: Fields, source: Source) => readonly Mapped[];

const toMapped = bindMapped('okx');
const { toLast } = bindTickerLayers(toMapped);

const cutLevels = createCutter({ names: ['bids', 'asks'] });

const readMessage = createMessageReader('"channel":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage, context: MapContext): readonly Mapped[] => {
  if (isText(message.payload, 'pong')) return [];
  return readMessage(message.payload, (body) => {
    const source = { receivedAt: message.received_at, context, channel: '', action: undefined, instId: null };
    const request = parseRequest(message.request);
    if (request !== null) return mapAnswer(body, source, request);
    return message.kind === 'frame' ? mapFrame(body, source) : [];
  });
};

const mapFrame = (body: unknown, source: Source): readonly Mapped[] => {
  const frame = readFields(body, 'message');
  if (frame.event === 'error') throw makeRefusal(`${String(frame.code)} ${String(frame.msg)}`);
  if (frame.event === 'channel-conn-count-error') throw makeRefusal(`${frame.event} ${String(frame.channel)}`);
  // Acknowledgements and notices, and answers to operations of an account.
  if (!isAbsent(frame.event) || !isAbsent(frame.op)) return [];
  const arg = readFields(frame.arg, 'arg');
  const channel = readText(arg.channel, 'channel');
  const mapper = CHANNELS.get(channel);
  if (!mapper) return noteUnread();
  const instId = isAbsent(arg.instId) ? null : readText(arg.instId, 'instId');
  return mapEach(readList(frame.data, 'data'), (item) =>
    mapper(Array.isArray(item) ? { row: item } : readFields(item, 'data'), {
      ...source,
      channel,
      action: frame.action,
      instId,
    }),
  );
};

type Request = { readonly path: string; readonly query: URLSearchParams };

const mapAnswer = (body: unknown, source: Source, { path, query }: Request): readonly Mapped[] => {
  const endpoint = /\/api\/v5\/((?:market|public)\/.+)$/.exec(path)?.[1] ?? '';
  const mapper = ANSWERS.get(endpoint);
  if (!mapper) return [];
  // The default of `bar` is one minute.
  if (endpoint.endsWith('candles') && (query.get('bar') ?? '1m') !== '1m') return [];
  return mapEach(readAnswer(body), (item) => mapper(item, { ...source, instId: query.get('instId') }));
};

/** Symbol of an element: its own instrument, else the argument's; null when it is no swap. */
const readSwap = (element: Fields, source: Source): string | null => {
  const instId = readInstrument(element, source);
  return isSwap(instId) ? instId : null;
};

const readInstrument = (element: Fields, { instId }: Source): string => {
  const named = isAbsent(element.instId) ? instId : element.instId;
  if (named === null) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the message names no instrument');
  return readText(named, 'instId');
};

const toSubject = (symbol: string, element: Fields, { receivedAt }: Source): Subject => ({
  symbol,
  venueTs: readMsOrNull(element.ts, 'ts'),
  receivedAt,
  element,
});

const mapSwap =
  (map: (subject: Subject, element: Fields, source: Source) => readonly Mapped[]): Mapper =>
  (element, source) => {
    const symbol = readSwap(element, source);
    return symbol === null ? [] : map(toSubject(symbol, element, source), element, source);
  };

const mapTicker = mapSwap((subject, element) =>
  mapLayers([() => toLast(subject, element, 'last'), () => toStats(subject, element)]),
);

/** `volCcy24h` counts base: it is no turnover. */
const toStats = (subject: Subject, element: Fields): Mapped | null => {
  const volume_24h = readAmountOrNull(element.vol24h, 'vol24h');
  if (volume_24h === null) return null;
  return toMapped(subject, 'stats', { volume_24h, volume_unit: 'contracts', turnover_24h: null, change_24h: null });
};

const mapMark = mapSwap((subject, element) => {
  const mark = readPriceUnlessZero(element.markPx, 'markPx');
  return mark === null ? [] : [toMapped(subject, 'mark', { mark, index: null })];
});

/** An index is recorded for each listing that uses it. */
const mapIndex: Mapper = (element, source) => {
  const index = readPriceUnlessZero(element.idxPx, 'idxPx');
  if (index === null) return [];
  return listSymbolsOfIndex(readInstrument(element, source), source.context).map((symbol) =>
    toMapped(toSubject(symbol, element, source), 'mark', { mark: null, index }),
  );
};

/** `fundingTime` is the coming settlement; `nextFundingRate` is for the one after it and is not read. */
const mapFunding = mapSwap((subject, element) => {
  const funding = readFigureOrNull(element.fundingRate, 'fundingRate');
  const next_funding_at = readMsOrNull(element.fundingTime, 'fundingTime');
  if (funding === null && next_funding_at === null) return [];
  return [toMapped(subject, 'funding', { funding, funding_interval_ms: readInterval(element), next_funding_at })];
});

/** Contracts are the unit of trades and books; coins (`oiCcy`) are not read. */
const mapOpenInterest = mapSwap((subject, element) => {
  const oi = readSoleAmount(element.oi, 'oi');
  return oi === null ? [] : [toMapped(subject, 'oi', { oi, oi_unit: 'contracts' })];
});

const mapBook = mapSwap((subject, element, { channel, action }) => {
  const last = readSequenceOrNull(element.seqId, 'seqId');
  const previous = readSequenceOrNull(element.prevSeqId, 'prevSeqId');
  if (action !== undefined && action !== 'snapshot' && action !== 'update') throw makeBadFrame('action is unknown');
  const bids = readLevels(element.bids, 'bids');
  const asks = readLevels(element.asks, 'asks');
  const sequence = last === null ? null : String(last);
  const depth = DEPTHS.get(channel);
  if (depth === undefined) return [toMapped(subject, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence })];
  const chain = toChain(subject.symbol, { action, last, previous });
  if (!isFirst(action, previous))
    return [
      { ...toMapped(subject, 'book', { kind: 'update', bids, asks, sequence }), chain: { ...chain, depth }, channel },
    ];
  const values = { kind: 'snapshot' as const, ...sortSides(bids, asks), sequence };
  const full = toFullSides(values, depth);
  return [{ ...toMapped(subject, 'book', values), chain: { ...chain, full }, channel }];
});

const SIDES = ['buy', 'sell'] as const;

const mapTrade = mapSwap((subject, element) => {
  const side = readTaker(element.side, SIDES, 'side');
  if (side === null) return [];
  const values = {
    id: readIdOrNull(element.tradeId, 'tradeId'),
    side,
    price: readPrice(element.px, 'px'),
    quantity: readAmount(element.sz, 'sz'),
    quantity_unit: 'contracts' as const,
  };
  return [toMapped(subject, 'trade', values)];
});

/** `posSide` is the closed position, `bkPx` its bankruptcy price: the fill is not published. */
const mapLiquidations: Mapper = (element, source) => {
  const symbol = readSwap(element, source);
  if (symbol === null) return [];
  // Recorders wrap the details of an answer as elements (`liquidations`).
  const details = source.channel === 'liquidations' ? [element] : readList(element.details, 'details');
  return mapEach<unknown>(details, (item) => {
    const detail = readFields(item, 'detail');
    const values = {
      id: null,
      side: readClosedSide(detail),
      price: readPrice(detail.bkPx, 'bkPx'),
      price_kind: 'bankruptcy' as const,
      quantity: readAmount(detail.sz, 'sz'),
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(toSubject(symbol, detail, source), 'liquidation', values)];
  });
};

/** One-way positions are `net`: the order's side shows their direction. */
const readClosedSide = ({ posSide, side }: Fields): 'long' | 'short' => {
  if (posSide === 'long' || posSide === 'short') return posSide;
  return readSide(side, SIDES, 'side') === 'sell' ? 'long' : 'short';
};

/** `[ts, o, h, l, c, vol, volCcy, volCcyQuote, confirm]`; before 2022-07 without the last two. */
const mapCandle: Mapper = (element, source) => {
  const row = readList(element.row, 'candle');
  const symbol = readSwap(element, source);
  if (symbol === null) return [];
  const confirm = row.length < 9 ? null : readConfirm(row[8]);
  const traded = {
    volume: readSoleAmount(row[5], 'vol'),
    volume_unit: 'contracts' as const,
    turnover: row.length < 9 ? null : readAmountOrNull(row[7], 'volCcyQuote'),
  };
  return toCandle(symbol, row, { ...traded, priceType: 'trade', closed: confirm, source });
};

/** `[ts, o, h, l, c, confirm]`. */
const mapPriceCandle =
  (priceType: 'mark' | 'index'): Mapper =>
  (element, source) => {
    const row = readList(element.row, 'candle');
    const asked = readInstrument(element, source);
    const ofAsked = isSwap(asked) ? [asked] : [];
    const symbols = priceType === 'mark' ? ofAsked : listSymbolsOfIndex(asked, source.context);
    const untraded = { volume: null, volume_unit: null, turnover: null };
    const closed = row[5] === undefined ? null : readConfirm(row[5]);
    return symbols.flatMap((symbol) => toCandle(symbol, row, { ...untraded, priceType, closed, source }));
  };

const readConfirm = (value: unknown): boolean => {
  const flag = readCountOrNull(value, 'confirm');
  if (flag !== 0 && flag !== 1) throw makeBadFrame('confirm does not say whether the candle is closed');
  return flag === 1;
};

type CandleParts = {
  readonly volume: Digits | null;
  readonly volume_unit: 'contracts' | null;
  readonly turnover: Digits | null;
  readonly priceType: PriceType;
  readonly closed: boolean | null;
  readonly source: Source;
};

/** Its only stamp is its start. */
const toCandle = (symbol: string, row: readonly unknown[], parts: CandleParts): readonly Mapped[] => {
  const { volume, volume_unit, turnover, priceType, closed, source } = parts;
  const [start, open, high, low, close] = row;
  const open_time = readMsOrNull(start, 'ts');
  if (open_time === null) throw makeBadFrame('ts is not an instant');
  const prices = readCandlePrices({ open, high, low, close }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit,
    turnover,
    trades: null,
    closed,
  };
  return [toMapped({ symbol, venueTs: null, receivedAt: source.receivedAt, element: row }, 'candle', values)];
};

const CHANNELS: ReadonlyMap<string, Mapper> = new Map([
  ['tickers', mapTicker],
  ['mark-price', mapMark],
  ['index-tickers', mapIndex],
  ['funding-rate', mapFunding],
  ['open-interest', mapOpenInterest],
  ['books', mapBook],
  ['books-l2-tbt', mapBook],
  ['books50-l2-tbt', mapBook],
  ['books5', mapBook],
  ['trades', mapTrade],
  ['trades-all', mapTrade],
  ['liquidation-orders', mapLiquidations],
  ['liquidations', mapLiquidations],
  ['candle1m', mapCandle],
  ['mark-price-candle1m', mapPriceCandle('mark')],
  ['index-candle1m', mapPriceCandle('index')],
]);

const ANSWERS: ReadonlyMap<string, Mapper> = new Map([
  ['market/ticker', mapTicker],
  ['market/tickers', mapTicker],
  ['public/mark-price', mapMark],
  ['market/index-tickers', mapIndex],
  ['public/funding-rate', mapFunding],
  ['public/open-interest', mapOpenInterest],
  ['market/books', mapBook],
  ['market/books-full', mapBook],
  ['market/trades', mapTrade],
  ['market/history-trades', mapTrade],
  ['public/liquidation-orders', mapLiquidations],
  ['market/candles', mapCandle],
  ['market/history-candles', mapCandle],
  ['market/mark-price-candles', mapPriceCandle('mark')],
  ['market/history-mark-price-candles', mapPriceCandle('mark')],
  ['market/index-candles', mapPriceCandle('index')],
  ['market/history-index-candles', mapPriceCandle('index')],
]);
