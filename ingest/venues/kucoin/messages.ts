// KuCoin's frames and answers as normalised records (records.md). Not read: tickerV2 (the book is collected whole), announcements of
// settlements, past funding; contracts with a delivery date.
import type { Digits, FundingRecord, Level, Micros } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { MapContext, Mapped } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, listPresent, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnexpected, noteUnread } from '../shared/unexpected.ts';
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
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readIdOrNull,
  readIdTextOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readPriceUnlessZero,
  readSequence,
  readSide,
  readSoleFigure,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { isPerpetual, readAnswer, readInterval } from './listings.ts';
import {
  isDated,
  isInverse,
  listSymbolsOfIndex,
  readStamp,
  toFundedSymbol,
  toVolumeUnit,
  updateChain,
} from './symbols.ts';

type Source = {
  readonly receivedAt: Micros;
  readonly context: MapContext;
  /** From a frame's topic, or a request's path or query; null without either. */
  readonly asked: string | null;
  /** The request's query; empty for frames. */
  readonly query: URLSearchParams;
};

type Mapper = (data: Fields, source: Source) => readonly Mapped[];

const toMapped = bindMapped('kucoin');
const { toLast, toMark } = bindTickerLayers(toMapped);

const cutLevels = createCutter({ names: ['bids', 'asks'] });

const readMessage = createMessageReader('"subject":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage, context: MapContext): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const source = { receivedAt: message.received_at, context, asked: null, query: NO_QUERY };
    const request = parseRequest(message.request);
    if (request !== null) return mapAnswer(body, source, request);
    return message.kind === 'frame' ? mapFrame(body, source) : [];
  });

const mapFrame = (body: unknown, source: Source): readonly Mapped[] => {
  const frame = readFields(body, 'message');
  if (frame.type === 'error') throw makeRefusal(`${String(frame.code)} ${String(frame.data)}`);
  // The second protocol names its topic in `T`.
  if (isAbsent(frame.topic)) return isAbsent(frame.T) ? [] : noteUnread();
  const [topic, name] = readText(frame.topic, 'topic').split(':');
  const mapper = TOPICS.get(`${topic} ${String(frame.subject)}`);
  if (!mapper) return noteUnread();
  if (name === undefined) return [];
  const [symbol = '', timeframe] = name.split('_');
  if (timeframe !== undefined && timeframe !== '1min') return [];
  return isDated(symbol) ? [] : mapper(readFields(frame.data, 'data'), { ...source, asked: symbol });
};

const mapAnswer = (
  body: unknown,
  source: Source,
  { path, query }: { readonly path: string; readonly query: URLSearchParams },
): readonly Mapped[] => {
  const endpoint = /\/api\/v1\/(.+)$/.exec(path)?.[1] ?? '';
  const [pattern, mapper] = ANSWERS.find(([found]) => found.test(endpoint)) ?? [];
  if (pattern === undefined || mapper === undefined) return [];
  const asked = query.get('symbol') ?? endpoint.match(pattern)?.[1] ?? null;
  const answer = readAnswer(body);
  return mapEach<unknown>(Array.isArray(answer) ? answer : [answer], (item) =>
    mapper(Array.isArray(item) ? { row: item } : readFields(item, 'data'), { ...source, asked, query }),
  );
};

/** The message's own symbol, else the requested one; null when it is no perpetual. */
const readSymbol = (data: Fields, { asked }: Source): string | null => {
  const named = data.symbol || asked;
  if (isAbsent(named))
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no symbol and its request neither');
  const symbol = readText(named, 'symbol');
  return isDated(symbol) ? null : symbol;
};

/** Runs `map` for a perpetual, with the stamp from the given member. */
const mapSymbol =
  (stamp: string, map: (subject: Subject, data: Fields) => readonly Mapped[]): Mapper =>
  (data, source) => {
    const symbol = readSymbol(data, source);
    if (symbol === null) return [];
    return map({ symbol, venueTs: readStamp(data[stamp], stamp), receivedAt: source.receivedAt, element: data }, data);
  };

const toPredicted = (subject: Subject, funding: Digits | null): Mapped | null =>
  toFunding(subject, { funding, funding_interval_ms: null, next_funding_at: null });

const toFunding = (subject: Subject, values: FundingRecord['values']): Mapped | null =>
  values.funding === null && values.next_funding_at === null ? null : toMapped(subject, 'funding', values);

type DayNames = Readonly<Record<'volume' | 'turnover', string>>;

const toStats = (subject: Subject, data: Fields, { volume, turnover }: DayNames): Mapped | null => {
  const values = {
    volume_24h: readAmountOrNull(data[volume], volume),
    volume_unit: toVolumeUnit(subject.symbol),
    turnover_24h: isInverse(subject.symbol) ? null : readAmountOrNull(data[turnover], turnover),
    change_24h: readFigureOrNull(data.priceChgPct, 'priceChgPct'),
  };
  return isEmptyDay(values) ? null : toMapped(subject, 'stats', values);
};

const mapTicker = mapSymbol('ts', (subject, data) => listPresent([toLast(subject, data, 'price')]));

/** The day of a contract and, since autumn 2026, the rate of its coming settlement. */
const mapDay = mapSymbol('ts', (subject, data) =>
  mapLayers([
    () => toLast(subject, data, 'lastPrice'),
    () => toPredicted(subject, readFigureOrNull(data.fundingRate, 'fundingRate')),
    () => toStats(subject, data, { volume: 'volume', turnover: 'turnover' }),
  ]),
);

const mapMark = mapSymbol('timestamp', (subject, data) =>
  listPresent([toMark(subject, data, ['markPrice', 'indexPrice'])]),
);
const mapCurrentMark = mapSymbol('timePoint', (subject, data) =>
  listPresent([toMark(subject, data, ['value', 'indexPrice'])]),
);

/** An index is recorded for each listing that uses it. */
const mapIndex: Mapper = (data, source) =>
  mapEach(readList(data.dataList, 'dataList'), (item) => {
    const entry = readFields(item, 'index');
    const index = readPriceUnlessZero(entry.value, 'value');
    if (index === null) return [];
    const venueTs = readStamp(entry.timePoint, 'timePoint');
    return listSymbolsOfIndex(readText(entry.symbol, 'symbol'), source.context).map((symbol) =>
      toMapped({ symbol, venueTs, receivedAt: source.receivedAt, element: entry }, 'mark', { mark: null, index }),
    );
  });

/** One subject, two figures: each minute the rate of the coming settlement, at a settlement the rate just settled, which is the past. */
const PREDICTED_MS = 60_000;

const mapFunding = mapSymbol('timestamp', (subject, data) => {
  if (readCountOrNull(data.granularity, 'granularity') !== PREDICTED_MS) return [];
  return listPresent([toPredicted(subject, readSoleFigure(data.fundingRate, 'fundingRate'))]);
});

/** `timePoint` is the previous settlement, no stamp of the rate. */
const mapCurrentFunding: Mapper = (data, source) => {
  const symbol = toFundedSymbol(readText(data.symbol, 'symbol'));
  if (isDated(symbol)) return [];
  const values = {
    funding: readSoleFigure(data.value, 'value'),
    funding_interval_ms: readCountOrNull(data.granularity, 'granularity') || null,
    next_funding_at: readMsOrNull(data.fundingTime, 'fundingTime'),
  };
  return listPresent([toFunding({ symbol, venueTs: null, receivedAt: source.receivedAt, element: data }, values)]);
};

/** All data of a contract but its book; no stamp. `nextFundingRateTime` is the remaining time, not an instant. */
const mapContract: Mapper = (data, source) => {
  if (!isPerpetual(data)) return [];
  const symbol = readText(data.symbol, 'symbol');
  const subject = { symbol, venueTs: null, receivedAt: source.receivedAt, element: data };
  return mapLayers([
    () => toLast(subject, data, 'lastTradePrice'),
    () => toMark(subject, data, ['markPrice', 'indexPrice']),
    () => toContractFunding(subject, data),
    () => toContractOi(subject, data),
    () => toStats(subject, data, { volume: 'volumeOf24h', turnover: 'turnoverOf24h' }),
  ]);
};

const toContractOi = (subject: Subject, data: Fields): Mapped | null => {
  const oi = readAmountOrNull(data.openInterest, 'openInterest');
  return oi === null ? null : toMapped(subject, 'oi', { oi, oi_unit: 'contracts' });
};

const toContractFunding = (subject: Subject, data: Fields): Mapped | null =>
  toFunding(subject, {
    funding: readFigureOrNull(data.fundingFeeRate, 'fundingFeeRate'),
    funding_interval_ms: readInterval(data),
    next_funding_at: readMsOrNull(data.nextFundingRateDateTime, 'nextFundingRateDateTime'),
  });

const SIDES = ['buy', 'sell'] as const;

/** `price,side,size`: one level a message. A price of zero changes nothing but the sequence. */
const mapChange = mapSymbol('timestamp', (subject, data) => {
  const sequence = readSequence(data.sequence, 'sequence');
  const [price, sideText, size] = readText(data.change, 'change').split(',');
  const side = readSide(sideText, SIDES, 'side');
  const isNone = readAmount(price, 'change') === '0';
  const levels: Level[] = isNone ? [] : [[readPrice(price, 'change'), readAmount(size, 'change')]];
  const values = {
    kind: 'update' as const,
    bids: side === 'buy' ? levels : [],
    asks: side === 'sell' ? levels : [],
    sequence: String(sequence),
  };
  return [{ ...toMapped(subject, 'book', values), chain: updateChain(subject.symbol, sequence) }];
});

/** The best levels only: whole messages outside the chain. */
const mapTop = mapSymbol('ts', (subject, data) => {
  const sides = sortSides(readLevels(data.bids ?? [], 'bids'), readLevels(data.asks ?? [], 'asks'));
  const sequence = readIdOrNull(data.sequence, 'sequence');
  return [toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence })];
});

/** All levels the venue has. */
const mapWhole: Mapper = (data, source) =>
  mapTop(data, source).map((mapped) => ({
    ...mapped,
    chain: {
      ...makeSnapshotChain(mapped.record.venue_symbol ?? '', readSequence(data.sequence, 'sequence')),
      full: { bids: true, asks: true },
    },
  }));

const mapTrade = mapSymbol('ts', (subject, data) => {
  const side = readTaker(data.side, SIDES, 'side');
  if (side === null) return [];
  const values = {
    id: readIdTextOrNull(data.tradeId, 'tradeId'),
    side,
    price: readPrice(data.price, 'price'),
    quantity: readAmount(data.size, 'size'),
    quantity_unit: 'contracts' as const,
  };
  return [toMapped(subject, 'trade', values)];
});

/** `[start in seconds, open, close, high, low, turnover, lots]`; before 2026 the lots were there twice. Never marked as closed. */
const mapCandle = mapSymbol('time', (subject, data) => {
  const [start, open, close, high, low, amount, volume] = readList(data.candles, 'candles');
  const seconds = readCountOrNull(start, 'candles');
  const startMs = seconds === null ? null : seconds * 1000;
  const lots = readAmountOrNull(volume, 'candles');
  // Without lots the turnover is zero in either form.
  const isTwice = lots !== '0' && readAmountOrNull(amount, 'candles') === lots;
  return toCandle(subject, { startMs, open, high, low, close, volume, turnover: isTwice ? null : amount });
});

/** `[start in milliseconds, open, high, low, close, volume, turnover]`; answers before 2025 without the last. `granularity` counts minutes. */
const mapKline: Mapper = (data, source) => {
  const granularity = source.query.get('granularity');
  if (source.asked === null || granularity === null) {
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the candles name no symbol and their request is not known');
  }
  const [startMs, open, high, low, close, volume, turnover] = readList(data.row, 'candle');
  // Indices and premiums are requested by their own names, which start with a dot.
  if (granularity !== '1' || source.asked.startsWith('.') || isDated(source.asked)) return [];
  const subject = { symbol: source.asked, venueTs: null, receivedAt: source.receivedAt, element: data.row };
  return toCandle(subject, { startMs, open, high, low, close, volume, turnover });
};

type CandleParts = Readonly<Record<'startMs' | 'open' | 'high' | 'low' | 'close' | 'volume' | 'turnover', unknown>>;

const toCandle = (subject: Subject, parts: CandleParts): readonly Mapped[] => {
  const open_time = readMsOrNull(parts.startMs, 'start');
  if (open_time === null) throw makeBadFrame('the candle has no start');
  const volume = readAmountOrNull(parts.volume, 'volume');
  const prices = readCandlePrices(parts, volume);
  // A row that is cut short is refused for its prices, and counted once.
  if (parts.volume === undefined) noteUnexpected('missing_member');
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: 'trade' as const,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: 'contracts' as const,
    turnover: isInverse(subject.symbol) ? null : readAmountOrNull(parts.turnover, 'turnover'),
    trades: null,
    closed: null,
  };
  return [toMapped(subject, 'candle', values)];
};

/** By topic and subject: a topic may have several. The last two are answers as wrapped by recorders. */
const TOPICS: ReadonlyMap<string, Mapper> = new Map([
  ['/contractMarket/ticker ticker', mapTicker],
  ['/contractMarket/snapshot snapshot.24h', mapDay],
  ['/contract/instrument mark.index.price', mapMark],
  ['/contract/instrument funding.rate', mapFunding],
  ['/contractMarket/level2 level2', mapChange],
  ['/contractMarket/level2Depth5 level2', mapTop],
  ['/contractMarket/level2Depth50 level2', mapTop],
  ['/contractMarket/execution match', mapTrade],
  ['/contractMarket/limitCandle candle.stick', mapCandle],
  ['/contractMarket/level2Snapshot level2Snapshot', mapWhole],
  ['/contract/details contractDetails', mapContract],
]);

const ANSWERS: readonly (readonly [pattern: RegExp, mapper: Mapper])[] = [
  [/^ticker$/, mapTicker],
  [/^allTickers$/, mapTicker],
  [/^mark-price\/([^/]+)\/current$/, mapCurrentMark],
  [/^index\/query$/, mapIndex],
  [/^funding-rate\/([^/]+)\/current$/, mapCurrentFunding],
  [/^contracts\/[^/]+$/, mapContract],
  [/^level2\/snapshot$/, mapWhole],
  [/^level2\/depth[^/]*$/, mapTop],
  [/^trade\/history$/, mapTrade],
  [/^kline\/query$/, mapKline],
];
