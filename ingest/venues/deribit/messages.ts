// Deribit's notifications and answers as normalised records (records.md). Not read: quote (the book is collected whole), price groups of books,
// incremental tickers, anything but perpetuals.
import { toFraction } from '../../../schemas/decimals.ts';
import type { Level } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import type { VenueMessage } from '../contract/listings.ts';
import type { MapContext, Mapped } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { ChangeList, createCutter } from '../shared/level-lists.ts';
import { giveReadable, mapEach, mapLayers, readOrElse } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readFields,
  readFigureOrNull,
  readIdTextOrNull,
  readLevels,
  readList,
  readMsOrNull,
  readPrice,
  readPriceUnlessZero,
  readSequence,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { isLinear, isPerpetual, listSymbolsOfIndex, toQuantityUnit } from './symbols.ts';

const toMapped = bindMapped('deribit');
const { toLast, toMark, toOi } = bindTickerLayers(toMapped);
const MARKS = ['mark_price', 'index_price'] as const;

type Source = { readonly receivedAt: VenueMessage['received_at']; readonly context: MapContext };

const cutLevels = createCutter({ names: ['bids', 'asks'] });
const cutChanges = createCutter({ names: ['bids', 'asks'], words: ['new', 'change', 'delete'] });

/** The first list of a book's message is one of levels; only `book.<instrument>.none.…`, named before it, sends them without words. */
const cutBook: typeof cutLevels = (text) => {
  const list = text.indexOf('[');
  if (text[list + 1] !== '[') return null;
  return text.slice(0, list).includes('.none.') ? cutLevels(text) : cutChanges(text);
};

const readMessage = createMessageReader('"channel":"', cutBook);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage, context: MapContext): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const frame = readFields(body, 'message');
    const source = { receivedAt: message.received_at, context };
    if (isFields(frame.error)) throw makeRefusal(JSON.stringify(frame.error));
    if (frame.method === 'subscription') return mapNotification(readFields(frame.params, 'params'), source);
    return 'result' in frame ? mapResult(frame.result, parseRequest(message.request)?.query, source) : [];
  });

const mapNotification = (params: Fields, source: Source): readonly Mapped[] => {
  const { data } = params;
  const channel = readText(params.channel, 'channel');
  const dot = channel.indexOf('.');
  switch (dot < 0 ? channel : channel.slice(0, dot)) {
    case 'ticker':
      return mapTicker(readFields(data, 'data'), source);
    case 'book':
      return mapBook(channel, readFields(data, 'data'), source);
    case 'trades':
      return mapTrades(data, source);
    case 'chart':
      return mapCandle(channel.split('.'), readFields(data, 'data'), source);
    case 'perpetual':
      return mapPerpetual(channel.split('.')[1] ?? '', readFields(data, 'data'), source);
    case 'deribit_price_index':
      return mapIndex(readFields(data, 'data'), source);
    default:
      return noteUnread();
  }
};

/** An answer is recognised by its shape: summaries, a ticker, a book with its ticker, past trades, or candles (without an instrument). */
const mapResult = (result: unknown, query: URLSearchParams | undefined, source: Source): readonly Mapped[] => {
  if (Array.isArray(result)) return mapEach(result.filter(isFields), (row) => mapSummary(row, source));
  if (!isFields(result)) return [];
  if (Array.isArray(result.trades)) return mapTrades(result.trades, source);
  if (Array.isArray(result.ticks)) return mapCandles(result, query, source);
  if (!('instrument_name' in result && 'mark_price' in result)) return [];
  const isBook = Array.isArray(result.bids) && Array.isArray(result.asks);
  const readBook = (): Mapped | null => (isBook ? (mapLevels(result, source)[0] ?? null) : null);
  return mapTickerRow({ element: result, ticker: result, readBook }, source);
};

type TickerRow = {
  /** The ticker as the venue sent it. */
  readonly element: Fields;
  readonly ticker: Fields;
  /** Reads the book beside it, whose layer comes before that of the day (records.md). */
  readonly readBook?: () => Mapped | null;
};

const mapTicker = (ticker: Fields, source: Source): readonly Mapped[] =>
  mapTickerRow({ element: ticker, ticker }, source);

const readNoBook = (): null => null;

const mapTickerRow = (
  { element, ticker, readBook = readNoBook }: TickerRow,
  { receivedAt }: Source,
): readonly Mapped[] => {
  const symbol = readText(ticker.instrument_name, 'instrument_name');
  if (!isPerpetual(symbol)) return [];
  const subject = { symbol, venueTs: readMsOrNull(ticker.timestamp, 'timestamp'), receivedAt, element };
  return mapLayers([
    () => toLast(subject, ticker, 'last_price'),
    () => toMark(subject, ticker, MARKS),
    () => toFunding(subject, ticker.current_funding),
    () => toOi(subject, ticker, ['open_interest', toQuantityUnit(subject.symbol)]),
    readBook,
    () => toDay(subject, ticker),
  ]);
};

/** A row of `get_book_summary_by_currency` or `_by_instrument`: a ticker without an index, with the day's figures beside the others. */
const mapSummary = (row: Fields, source: Source): readonly Mapped[] => {
  if (!('instrument_name' in row && 'mark_price' in row)) return [];
  const { last: last_price, creation_timestamp: timestamp } = row;
  return mapTickerRow({ element: row, ticker: { ...row, last_price, timestamp, stats: row } }, source);
};

/** `current_funding` accrues now, stated for eight hours; `funding_8h` is the cost of the last eight hours. */
const toFunding = (subject: Subject, rate: unknown): Mapped | null => {
  const funding = readFigureOrNull(rate, 'current funding');
  if (funding === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at: null });
};

/** The day's volume is in base for both kinds; the change is a percentage, null without trades. */
const toDay = (subject: Subject, ticker: Fields): Mapped | null => {
  if (!isFields(ticker.stats)) return null;
  const { volume, volume_usd, volume_notional, price_change } = ticker.stats;
  const percent = readFigureOrNull(price_change, 'price_change');
  const inUsd = isLinear(subject.symbol) ? null : volume_usd;
  const turnover = isAbsent(volume_notional) ? inUsd : volume_notional;
  const stats = {
    volume_24h: readAmountOrNull(volume, 'volume'),
    volume_unit: 'base' as const,
    turnover_24h: readAmountOrNull(turnover, 'turnover'),
    change_24h: percent === null ? null : toFraction(percent),
  };
  return isEmptyDay(stats) ? null : toMapped(subject, 'stats', stats);
};

/** `perpetual.<instrument>`: its index; `interest` is the ticker's `current_funding` with more digits. */
const mapPerpetual = (symbol: string, data: Fields, { receivedAt }: Source): readonly Mapped[] => {
  if (!isPerpetual(symbol)) return [];
  const subject = { symbol, venueTs: readMsOrNull(data.timestamp, 'timestamp'), receivedAt, element: data };
  return mapLayers([
    () => toMark(subject, { index_price: data.index_price }, MARKS),
    () => toFunding(subject, data.interest),
  ]);
};

const mapIndex = (data: Fields, { receivedAt, context }: Source): readonly Mapped[] => {
  const index = readPriceUnlessZero(data.price, 'price');
  if (index === null) return [];
  const venueTs = readMsOrNull(data.timestamp, 'timestamp');
  return listSymbolsOfIndex(readText(data.index_name, 'index_name'), context).map((symbol) =>
    toMapped({ symbol, venueTs, receivedAt, element: data }, 'mark', { mark: null, index }),
  );
};

const BOOK = 'book.';

/** `book.<instrument>.<interval>` is whole, then changes; `book.<instrument>.none.<depth>.<interval>` repeats the best levels. */
const mapBook = (channel: string, data: Fields, source: Source): readonly Mapped[] => {
  const dot = channel.indexOf('.', BOOK.length);
  const interval = dot < 0 ? '' : channel.slice(dot + 1);
  if (interval.includes('.')) return interval.startsWith('none.') ? mapLevels(data, source) : [];
  const symbol = readText(data.instrument_name, 'instrument_name');
  if (!isPerpetual(symbol)) return [];
  const subject = {
    symbol,
    venueTs: readMsOrNull(data.timestamp, 'timestamp'),
    receivedAt: source.receivedAt,
    element: data,
  };
  const last = readSequence(data.change_id, 'change_id');
  const bids = readChanges(data.bids, 'bids');
  const asks = readChanges(data.asks, 'asks');
  const chain = toChain(data, symbol, last);
  const { kind } = chain;
  const sides = kind === 'snapshot' ? sortSides(bids, asks) : { bids, asks };
  const mapped = toMapped(subject, 'book', { kind, bids: sides.bids, asks: sides.asks, sequence: String(last) });
  return [{ record: mapped.record, element: data, chain, channel: interval }];
};

/** Before 2021 there was no `type`; a snapshot was a message without a previous change. */
const toOldType = (previous: unknown): 'snapshot' | 'change' => (isAbsent(previous) ? 'snapshot' : 'change');

const toChain = (data: Fields, symbol: string, last: bigint): BookChain => {
  const type = isAbsent(data.type) ? toOldType(data.prev_change_id) : data.type;
  if (type !== 'snapshot' && type !== 'change')
    throw makeBadFrame('type is neither a snapshot nor a change', 'unknown_word');
  if (type === 'snapshot') return { symbol, kind: 'snapshot', first: null, last, previous: null, full: WHOLE };
  return { symbol, kind: 'update', first: null, last, previous: readSequence(data.prev_change_id, 'prev_change_id') };
};

type BookChain = Chain & { readonly kind: 'snapshot' | 'update' };

/** The first notification holds every level the venue has. */
const WHOLE = { bids: true, asks: true };

/** `[new | change | delete, price, amount]`. */
const readChanges = (value: unknown, name: string): readonly Level[] => {
  if (value instanceof ChangeList) return value.levels;
  return readList(value, name).map((item): Level => {
    const change = readList(item, name);
    const action = change[0];
    if (action === 'delete') return [readPrice(change[1], name), '0'];
    if (action !== 'new' && action !== 'change') throw makeBadFrame(`${name} holds no change`, 'bad_level');
    return [readPrice(change[1], name), readAmount(change[2], name)];
  });
};

/** `[price, amount]` levels outside the chain of changes. */
const mapLevels = (data: Fields, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = readText(data.instrument_name, 'instrument_name');
  if (!isPerpetual(symbol)) return [];
  const subject = { symbol, venueTs: readMsOrNull(data.timestamp, 'timestamp'), receivedAt, element: data };
  const { bids, asks } = sortSides(readLevels(data.bids, 'bids'), readLevels(data.asks, 'asks'));
  const sequence = String(readSequence(data.change_id, 'change_id'));
  return [toMapped(subject, 'book', { kind: 'snapshot', bids, asks, sequence })];
};

const HEAD_LENGTH = 200;

/** The channel of a notification. */
export const readChannel = (text: string): string | null =>
  /"channel":"([^"\\]+)"/.exec(text.slice(0, HEAD_LENGTH))?.[1] ?? null;

/** The members of the data come in any order, after the channel. */
export const readChain = (text: string): Chain | null => {
  const symbol = /"channel":"book\.([^".]+)\.[^".]+"/.exec(text.slice(0, HEAD_LENGTH))?.[1];
  const last = /"change_id":"?(\d{1,40})/.exec(text)?.[1];
  if (symbol === undefined || last === undefined || !isPerpetual(symbol)) return null;
  const previous = /"prev_change_id":"?(\d{1,40})/.exec(text)?.[1];
  const type = /"type":(?!null|"")"?([^"]*)/.exec(text)?.[1] ?? toOldType(previous);
  if (type === 'snapshot') return { ...makeSnapshotChain(symbol, BigInt(last)), full: WHOLE };
  return type !== 'change' || previous === undefined
    ? null
    : { symbol, kind: 'update', first: null, last: BigInt(last), previous: BigInt(previous) };
};

/** The minute of a notification of candles. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  const symbol = /"channel":"chart\.trades\.([^".]+)\.1"/.exec(text.slice(0, HEAD_LENGTH))?.[1];
  if (symbol === undefined || !isPerpetual(symbol)) return null;
  const tick = /"tick":"?(\d+)/.exec(text)?.[1];
  return tick === undefined ? null : { symbol, openMs: Number(tick) };
};

const mapTrades = (data: unknown, source: Source): readonly Mapped[] =>
  mapEach(readList(data, 'trades'), (item) => toTrades(readFields(item, 'trade'), source));

/** A trade, and the liquidations it filled. A mark of a liquidation that is not known leaves the trade. */
const toTrades = (trade: Fields, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = readText(trade.instrument_name, 'instrument_name');
  if (!isPerpetual(symbol)) return [];
  const side = readTaker(trade.direction, SIDES, 'direction');
  if (side === null) return [];
  const subject = { symbol, venueTs: readMsOrNull(trade.timestamp, 'timestamp'), receivedAt, element: trade };
  const id = readIdTextOrNull(trade.trade_id, 'trade_id');
  const price = readPrice(trade.price, 'price');
  const quantity = readAmount(trade.amount, 'amount');
  const quantity_unit = toQuantityUnit(symbol);
  const mapped = toMapped(subject, 'trade', { id, side, price, quantity, quantity_unit });
  if (isAbsent(trade.liquidation)) return [mapped];
  const fill = { price, price_kind: 'fill' as const, quantity, quantity_unit };
  // Two liquidations of one trade share its id, if it has one: the second gets a suffix.
  const toLiquidations = (): readonly Mapped[] =>
    listClosedSides(trade.liquidation, side).map((closed, i) =>
      toMapped(subject, 'liquidation', { id: i === 0 || id === null ? id : `${id}.maker`, side: closed, ...fill }),
    );
  return readOrElse(
    () => [mapped, ...toLiquidations()],
    (fault) => giveReadable([mapped], fault),
  );
};

const SIDES = ['buy', 'sell'] as const;

/** The liquidated party: `T` the taker, `M` the maker, whose side is opposite, `MT` both. A sale closes a long. */
const listClosedSides = (liquidation: unknown, taker: 'buy' | 'sell'): readonly ('long' | 'short')[] => {
  const closedByTaker = taker === 'sell' ? 'long' : 'short';
  const closedByMaker = taker === 'sell' ? 'short' : 'long';
  switch (liquidation) {
    case undefined:
    case null:
    case 'none':
      return [];
    case 'T':
      return [closedByTaker];
    case 'M':
      return [closedByMaker];
    case 'MT':
      return [closedByTaker, closedByMaker];
    default:
      throw makeBadFrame('liquidation names neither taker nor maker', 'unknown_word');
  }
};

/** `chart.trades.<instrument>.1`: volume in base, cost in quote; no member marks the candle as closed. */
const mapCandle = (channel: readonly string[], data: Fields, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = channel[2] ?? '';
  if (channel[1] !== 'trades' || channel[3] !== '1' || !isPerpetual(symbol)) return [];
  return toCandle({ symbol, venueTs: null, receivedAt, element: data }, data);
};

const COLUMNS = ['open', 'high', 'low', 'close', 'volume', 'cost'] as const;

/** Candles in columns; the request names the instrument and the minutes. */
const mapCandles = (result: Fields, query: URLSearchParams | undefined, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = query?.get('instrument_name') ?? '';
  if (query?.get('resolution') !== '1' || !isPerpetual(symbol)) return [];
  const columns = COLUMNS.map((name) => [name, readList(result[name], name)] as const);
  const rows = readList(result.ticks, 'ticks').map((tick, i) => ({
    tick,
    ...Object.fromEntries(columns.map(([name, values]) => [name, values[i]])),
  }));
  return mapEach(rows, (row) => {
    return toCandle({ symbol, venueTs: null, receivedAt, element: row }, row);
  });
};

/** `tick` is the start. */
const toCandle = (subject: Subject, fields: Fields): readonly Mapped[] => {
  const open_time = readMsOrNull(fields.tick, 'tick');
  if (open_time === null) throw makeBadFrame('tick is not an instant');
  const volume = readSoleAmount(fields.volume, 'volume');
  const { open, high, low, close } = fields;
  const prices = readCandlePrices({ open, high, low, close }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: 'trade' as const,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: 'base' as const,
    turnover: readAmountOrNull(fields.cost, 'cost'),
    trades: null,
    closed: null,
  };
  return [toMapped(subject, 'candle', values)];
};
