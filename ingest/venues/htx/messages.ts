// HTX's frames and answers as normalised records (records.md). Not read: top of book (`bbo`), merged levels, premium and estimated rates,
// notices about contracts, instruments with a date. Figures are JSON numbers and some ids exceed 2^53: both keep their digits.
import type { Level, Micros, PriceType } from '../../../schemas/records.ts';
import type { VenueMessage } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { sortSides, toFullSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, listPresent, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  makeBadFrame,
  makeRefusal,
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
  readSequenceOrNull,
  readSide,
  readSoleAmount,
  readSoleFigure,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { readAnswer } from './listings.ts';
import { isChained, isSwap, readDepth, splitChannel, toBookKind, toChain, toMarket } from './symbols.ts';

/** Context of an element: its channel's contract (null: the element has its own), and the message's send time. */
type Source = {
  readonly receivedAt: Micros;
  readonly isFrame: boolean;
  readonly symbol: string | null;
  readonly sentAt: Micros | null;
};

type Mapper = (element: Fields, source: Source) => readonly Mapped[];

const toMapped = bindMapped('htx');
const { toLast } = bindTickerLayers(toMapped);

const cutLevels = createCutter({ names: ['bids', 'asks'] });

/** Rows of bare numbers differ too much to be read by shape (docs/performance.md). */
const readMessage = createMessageReader(null, cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const answer = readAnswer(body);
    const source = {
      receivedAt: message.received_at,
      isFrame: message.kind === 'frame',
      symbol: null,
      sentAt: readMsOrNull(answer.ts, 'ts'),
    };
    if (typeof answer.ch === 'string') return mapChannel(answer, splitChannel(answer.ch), source);
    if (answer.op === 'notify') return mapNotice(answer, source);
    if (!isAbsent(answer.op)) return mapOperation(answer);
    return mapAnswer(answer, parseRequest(message.request)?.path ?? '', source);
  });

type Channel = ReturnType<typeof splitChannel>;

/** Frames and some answers have a channel, with one `tick` or, in answers about the past, `data`. */
const mapChannel = (message: Fields, channel: Channel, source: Source): readonly Mapped[] => {
  if (channel === null) return [];
  const { symbol, topic } = channel;
  const named = { ...source, symbol: symbol === '*' ? null : symbol };
  const mapper = readDepth(topic) === null ? TOPICS.get(topic) : mapDepth(topic);
  if (!mapper) return noteUnread();
  return mapEach(listElements(message), (element) => mapper(readFields(element, 'data'), named));
};

const listElements = ({ tick, data }: Fields): readonly unknown[] =>
  isAbsent(tick) ? readList(data, 'data') : [readFields(tick, 'tick')];

/** Pushes of the notification socket, such as `public.*.funding_rate`. */
const mapNotice = (message: Fields, source: Source): readonly Mapped[] => {
  const topic = /^public\.[^.]+\.(\w+)$/.exec(readText(message.topic, 'topic'))?.[1];
  const mapper = topic === undefined ? undefined : NOTICES.get(topic);
  return mapper === undefined ? noteUnread() : mapElements(message.data, (element) => mapper(element, source));
};

/** The answer to an operation of the notification socket, which gives no record, or a ping. */
const mapOperation = (message: Fields): readonly Mapped[] => {
  const code = message['err-code'] ?? 0;
  if (String(code) !== '0') throw makeRefusal(`${String(code)} ${String(message['err-msg'])}`);
  return [];
};

/** An answer without a channel. */
const mapAnswer = (answer: Fields, path: string, source: Source): readonly Mapped[] => {
  const mapper = ANSWERS.get(path.slice(path.lastIndexOf('/') + 1));
  if (!mapper) return [];
  return mapElements(answer.ticks ?? answer.data, (element) =>
    'orders' in element ? mapElements(element.orders, (order) => mapper(order, source)) : mapper(element, source),
  );
};

/** One element or many. */
const mapElements = (value: unknown, map: (element: Fields) => readonly Mapped[]): readonly Mapped[] =>
  mapEach<unknown>(Array.isArray(value) ? value : [value], (element) => map(readFields(element, 'data')));

/** Symbol and time of an element; null when it is no swap. The time is the first of `stamps` that exists, else the message's. */
const readSubject = (element: Fields, source: Source, stamps: readonly string[] = ['ts']): Subject | null => {
  const symbol = source.symbol ?? readText(element.contract_code, 'contract_code');
  if (!isSwap(symbol)) return null;
  const stamped = stamps.map((name) => readMsOrNull(element[name], name)).find((stamp) => stamp !== null);
  return { symbol, venueTs: stamped ?? source.sentAt, receivedAt: source.receivedAt, element };
};

const mapSwap =
  (map: (subject: Subject, element: Fields) => readonly Mapped[], stamps?: readonly string[]): Mapper =>
  (element, source) => {
    const subject = readSubject(element, source, stamps);
    return subject === null ? [] : map(subject, element);
  };

const mapDetail = mapSwap((subject, element) =>
  mapLayers([() => toLast(subject, element, 'close'), () => toStats(subject, element)]),
);

/** `vol` counts contracts; where `number_of` counts them, `vol` is the turnover (the second version of the batch). */
const toStats = (subject: Subject, element: Fields): Mapped | null => {
  const isBatch = !isAbsent(element.number_of);
  const volume_24h = isBatch ? readAmount(element.number_of, 'number_of') : readAmountOrNull(element.vol, 'vol');
  const turnover = isBatch ? readAmountOrNull(element.vol, 'vol') : readTurnover(subject.symbol, element);
  const stats = { volume_24h, volume_unit: 'contracts' as const, turnover_24h: turnover, change_24h: null };
  return isEmptyDay(stats) ? null : toMapped(subject, 'stats', stats);
};

/** Coin-margined swaps have no turnover in dollars. */
const readTurnover = (symbol: string, element: Fields): string | null =>
  toMarket(symbol) === 'linear' ? readAmountOrNull(element.trade_turnover, 'trade_turnover') : null;

const toIndex = (subject: Subject, element: Fields): readonly Mapped[] => {
  const index = readPriceUnlessZero(element.index_price, 'index_price');
  return index === null ? [] : [toMapped(subject, 'mark', { mark: null, index })];
};

/** Index at the close of the running period, the newest one. Other price types refer to the past. */
const mapBasis = mapSwap(toIndex);

const mapIndex = mapSwap(toIndex, ['index_ts']);

/** The venue pushes its mark as the running minute's candle: the close is the current mark. Past minutes (answers) are only candles. */
const mapMarkMinute: Mapper = (element, source) => {
  const subject = readSubject(element, source);
  if (subject === null) return [];
  return mapLayers([
    () => (source.isFrame ? toPushedMark(subject, element) : null),
    () => toCandle(subject, element, 'mark'),
  ]);
};

const toPushedMark = (subject: Subject, element: Fields): Mapped | null => {
  const mark = readPriceUnlessZero(element.close, 'close');
  return mark === null ? null : toMapped(subject, 'mark', { mark, index: null });
};

/** A push calls the coming settlement `settlement_time`; its `funding_time` is when the rate was computed. */
const mapPushedFunding = mapSwap((subject, element) => {
  const funding = readFigureOrNull(element.funding_rate, 'funding_rate');
  const next_funding_at = readMsOrNull(element.settlement_time, 'settlement_time');
  if (funding === null && next_funding_at === null) return [];
  return [toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at })];
});

/** An answer calls the coming settlement `funding_time`. One of v5, or an old one of v1, has the settlement after it too: the two define the interval. */
const mapFunding = mapSwap((subject, element) => {
  const next_funding_at = readMsOrNull(element.funding_time, 'funding_time');
  const after = readMsOrNull(element.next_funding_time, 'next_funding_time');
  const isKnown = next_funding_at !== null && after !== null && after > next_funding_at;
  const funding = readSoleFigure(element.funding_rate, 'funding_rate');
  if (funding === null && next_funding_at === null) return [];
  const funding_interval_ms = isKnown ? (after - next_funding_at) / 1000 : null;
  return [toMapped(subject, 'funding', { funding, funding_interval_ms, next_funding_at })];
});

/** Contracts (`volume`) are the unit of trades and books; coins (`amount`) and quote (`value`) are not read. */
const mapOpenInterest = mapSwap((subject, element) => {
  const oi = readSoleAmount(element.volume, 'volume');
  return oi === null ? [] : [toMapped(subject, 'oi', { oi, oi_unit: 'contracts' })];
});

/** An empty side is omitted. */
const readLevelsOrNone = (value: unknown, name: string): readonly Level[] =>
  isAbsent(value) ? [] : readLevels(value, name);

const mapDepth =
  (topic: string): Mapper =>
  (element, source) => {
    const subject = readSubject(element, source);
    if (subject === null) return [];
    const version = readSequenceOrNull(element.version, 'version');
    const sequence = version === null ? null : String(version);
    const kind = isAbsent(element.event) ? 'snapshot' : toBookKind(element.event);
    if (kind === null) throw makeBadFrame('event is neither a snapshot nor an update', 'unknown_word');
    const bids = readLevelsOrNone(element.bids, 'bids');
    const asks = readLevelsOrNone(element.asks, 'asks');
    const values = kind === 'update' ? { kind, bids, asks, sequence } : { kind, ...sortSides(bids, asks), sequence };
    const mapped = toMapped(subject, 'book', values);
    if (!source.isFrame || !isChained(topic)) return [mapped];
    const chain = toChain(subject.symbol, kind, version);
    const depth = readDepth(topic) ?? 0;
    const reach = kind === 'update' ? { depth } : { full: toFullSides({ bids, asks }, depth) };
    return [{ ...mapped, chain: { ...chain, ...reach }, channel: topic }];
  };

/** Trades come in the `data` of a tick. One without direction has no taker: it was no trade of the market. */
const mapTrades: Mapper = (element, source) =>
  mapEach(readList(element.data, 'data'), (item) => {
    const trade = readFields(item, 'trade');
    const subject = readSubject(trade, source);
    const side = subject === null ? null : readTaker(trade.direction, SIDES, 'direction');
    if (subject === null || side === null) return [];
    const values = {
      id: readIdOrNull(trade.id, 'id'),
      side,
      price: readPrice(trade.price, 'price'),
      quantity: readAmount(trade.amount, 'amount'),
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(subject, 'trade', values)];
  });

const SIDES = ['buy', 'sell'] as const;

/** The closing order: a sale closes a long. Its price is the bankruptcy price (documented). */
const mapLiquidation = mapSwap(
  (subject, element) => {
    const values = {
      id: null,
      side: readSide(element.direction, SIDES, 'direction') === 'sell' ? ('long' as const) : ('short' as const),
      price: readPrice(element.price, 'price'),
      price_kind: 'bankruptcy' as const,
      quantity: readAmount(element.volume, 'volume'),
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(subject, 'liquidation', values)];
  },
  ['created_at'],
);

/** v5 has the closed position; a one-way one is `both`, and the order's side shows its direction. */
const mapClosedPosition = mapSwap(
  (subject, element) => {
    const { position_side, side } = element;
    const closed = position_side === 'long' || position_side === 'short' ? position_side : null;
    const values = {
      id: readIdTextOrNull(element.id, 'id'),
      side: closed ?? (readSide(side, SIDES, 'side') === 'sell' ? ('long' as const) : ('short' as const)),
      price: readPrice(element.bankrupt_price, 'bankrupt_price'),
      price_kind: 'bankruptcy' as const,
      quantity: readAmount(element.volume, 'volume'),
      quantity_unit: 'contracts' as const,
    };
    return [toMapped(subject, 'liquidation', values)];
  },
  ['liquidation_time'],
);

/** `id` is the start in seconds. Mark and index candles have zeros as volumes; they are no figures. */
const toCandle = (subject: Subject, element: Fields, priceType: PriceType): Mapped | null => {
  const seconds = readCountOrNull(element.id, 'id');
  const open_time = seconds === null ? null : readMsOrNull(seconds * 1000, 'id');
  if (open_time === null) throw makeBadFrame('id is not an instant');
  const isTraded = priceType === 'trade';
  const volume = isTraded ? readSoleAmount(element.vol, 'vol') : null;
  const { open, high, low, close } = element;
  const prices = readCandlePrices({ open, high, low, close }, volume);
  if (prices === null) return null;
  const values = {
    open_time,
    price_type: priceType,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: isTraded ? ('contracts' as const) : null,
    turnover: isTraded ? readTurnover(subject.symbol, element) : null,
    trades: isTraded ? readCountOrNull(element.count, 'count') : null,
    closed: null,
  };
  return toMapped(subject, 'candle', values);
};

const mapCandle = (priceType: PriceType): Mapper =>
  mapSwap((subject, element) => listPresent([toCandle(subject, element, priceType)]));

/** `open_interest` is an answer as wrapped by recorders. */
const TOPICS: ReadonlyMap<string, Mapper> = new Map([
  ['open_interest', mapOpenInterest],
  ['detail', mapDetail],
  ['detail.merged', mapDetail],
  ['trade.detail', mapTrades],
  ['kline.1min', mapCandle('trade')],
  ['mark_price.1min', mapMarkMinute],
  ['index.1min', mapCandle('index')],
  ...['1min', '5min', '15min', '30min', '60min', '4hour', '12hour', '1day', '1week', '1mon'].map(
    (period): [string, Mapper] => [`basis.${period}.close`, mapBasis],
  ),
]);

const NOTICES: ReadonlyMap<string, Mapper> = new Map([
  ['funding_rate', mapPushedFunding],
  ['liquidation_orders', mapLiquidation],
]);

const ANSWERS: ReadonlyMap<string, Mapper> = new Map([
  ['batch_merged', mapDetail],
  ['swap_index', mapIndex],
  ['swap_funding_rate', mapFunding],
  ['swap_batch_funding_rate', mapFunding],
  ['swap_open_interest', mapOpenInterest],
  // A list (v3), or one within an object (v1).
  ['swap_liquidation_orders', mapLiquidation],
  // v5.
  ['open_interest', mapOpenInterest],
  ['funding_rate', mapFunding],
  ['liquidation_orders', mapClosedPosition],
]);
