// BitMEX' tables and answers as normalised records (records.md). Contracts with a delivery, indices and spot share the tables and are never mapped.
//
// A table starts with a `partial`, which is whole; then rows are inserted, updated (changes only) and deleted. Earlier messages are ignored.
import { MICROS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Digits, Level, Micros } from '../../../schemas/records.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import { LostChange, type Mapped, type MapState } from '../contract/mapping.ts';
import { sortSides } from '../shared/book-sides.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { giveReadable, mapEach, readOrElse } from '../shared/map-each.ts';
import type { Subject } from '../shared/mapped.ts';
import { noteUnexpected, noteUnread } from '../shared/unexpected.ts';
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
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readIdTextOrNull,
  readInstantOrNull,
  readLevels,
  readList,
  readPrice,
  readPriceOrNull,
  readSide,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { type Instrument, mapChange, readInstrument, toMapped } from './instruments.ts';
import {
  type BookPrices,
  type LevelId,
  LevelPrices,
  readLevelId,
  restoreBookPrices,
  toAskKey,
} from './level-prices.ts';
import { type BookTable, isBookTable, isOtherType, isPerpetual, OTHER_POOL, toChain } from './symbols.ts';

type Source = { readonly receivedAt: Micros; readonly state: MapState; readonly query: URLSearchParams };
const SIDES = ['Buy', 'Sell'] as const;
type Action = 'partial' | 'insert' | 'update' | 'delete';

const readMessage = createMessageReader('"table":"');

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (state: MapState, message: VenueMessage): readonly Mapped[] =>
  message.kind === 'frame' && isText(message.payload, 'pong')
    ? []
    : readMessage(message.payload, (body) => {
        const request = parseRequest(message.request);
        const source = { receivedAt: message.received_at, state, query: request?.query ?? NO_QUERY };
        return message.kind === 'frame' ? mapFrame(body, source) : mapAnswer(request?.path ?? null, body, source);
      });

const mapFrame = (body: unknown, source: Source): readonly Mapped[] => {
  const frame = readFields(body, 'message');
  if (!isAbsent(frame.error)) throw makeRefusal(String(frame.error));
  if (typeof frame.table !== 'string') return [];
  const action = readAction(frame.action);
  if (isBookTable(frame.table)) return mapBook(frame, { table: frame.table, action, source });
  const mapper = TABLES.get(frame.table);
  return mapper ? mapper(readRows(frame.data), action, source) : noteUnread();
};

const isOtherPool = ({ pool }: Fields): boolean => pool === OTHER_POOL;

/** Rows of the other pool are another book and other bins; its trades are trades of the contract. */
const dropOtherPool =
  (mapper: TableMapper): TableMapper =>
  (rows, action, source) => {
    const own = rows.some(isOtherPool) ? rows.filter((row) => !isOtherPool(row)) : rows;
    return own.length === 0 && rows.length > 0 ? noteUnread() : mapper(own, action, source);
  };

const readAction = (value: unknown): Action => {
  if (value === 'partial' || value === 'insert' || value === 'update' || value === 'delete') return value;
  throw makeBadFrame('action is not a known action');
};

/** Rows of perpetuals. A full row of an instrument has its type. */
const readRows = (data: unknown): readonly Fields[] => {
  const rows: Fields[] = [];
  // Most messages concern one symbol.
  let symbol = '';
  let isOne = false;
  for (const item of readList(data, 'data')) {
    const row = readFields(item, 'row');
    const named = readText(row.symbol, 'symbol');
    if (named !== symbol) isOne = isPerpetual(named);
    symbol = named;
    if (isOne && (row.typ === undefined || !isOtherType(row.typ))) rows.push(row);
  }
  return rows;
};

const readSymbol = (row: Fields): string => readText(row.symbol, 'symbol');

const toSubject = (row: Fields, { receivedAt }: Source): Subject => ({
  symbol: readSymbol(row),
  venueTs: readInstantOrNull(row.timestamp, 'timestamp'),
  receivedAt,
  element: row,
});

type TableMapper = (rows: readonly Fields[], action: Action, source: Source) => readonly Mapped[];

const mapInstruments: TableMapper = (rows, action, source) => {
  source.state.instruments ??= {};
  const held = source.state.instruments as Record<string, Instrument>;
  const isFull = action === 'partial' || action === 'insert';
  return mapEach(rows, (row) => {
    const symbol = readSymbol(row);
    if (action === 'delete') delete held[symbol];
    const before = isFull ? {} : held[symbol];
    if (before === undefined) return [];
    const { instrument, fault } = readInstrument(row);
    const after = { ...before, ...instrument };
    // First, so that a later change is never laid over a replaced value.
    held[symbol] = after;
    return giveReadable(mapChange(toSubject(row, source), { before, after }), fault);
  });
};

type BookFrame = { readonly table: BookTable; readonly action: Action; readonly source: Source };
type Row = {
  readonly id: LevelId;
  readonly isBid: boolean;
  /** Null where the venue omits it. */
  readonly price: Digits | null;
  readonly size: Digits;
  readonly fields: Fields;
};

/** Changes have no ids: one that is left out would not be noticed. The books of its message wait for their next partial. */
const mapBook = (frame: Fields, of: BookFrame): readonly Mapped[] =>
  readOrElse(
    () => mapWholeBook(frame, of),
    (fault) => {
      const symbols = listNamed(frame.data);
      const books = openBooks(of);
      for (const symbol of symbols) books.delete(symbol);
      throw new LostChange(fault, symbols);
    },
  );

/** The symbols that rows name, whatever else of them cannot be read. */
const listNamed = (data: unknown): readonly string[] => {
  const rows: readonly unknown[] = Array.isArray(data) ? data : [];
  const named = rows.map((row) => (isFields(row) ? row.symbol : null)).filter((symbol) => typeof symbol === 'string');
  return [...new Set(named)];
};

const openBooks = ({ table, source }: BookFrame): BookPrices => {
  const books = restoreBookPrices((source.state[table] ?? {}) as Parameters<typeof restoreBookPrices>[0]);
  source.state[table] = books;
  return books;
};

const mapWholeBook = (frame: Fields, { table, action, source }: BookFrame): readonly Mapped[] => {
  const asked = isFields(frame.filter) ? frame.filter : {};
  const filter = typeof asked.symbol === 'string' ? asked.symbol : null;
  const given = readRows(frame.data);
  // A subscription, and so a frame, is of one pool.
  if (isOtherPool(asked) || given.some(isOtherPool)) return noteUnread();
  const bySymbol = new Map<string, Row[]>();
  if (action === 'partial' && filter !== null && isPerpetual(filter)) bySymbol.set(filter, []);
  // All rows are read before any is applied, so that an unreadable message changes nothing.
  for (const fields of given) {
    const row = readRow(fields, action);
    const symbol = readSymbol(fields);
    const own = bySymbol.get(symbol);
    if (own === undefined) bySymbol.set(symbol, [row]);
    else own.push(row);
  }
  const books = [...bySymbol].map(([symbol, rows]) => ({
    symbol,
    rows,
    venueTs: readNewest(rows.map(({ fields }) => fields)),
  }));
  return books.flatMap((book) => takeRows(book, { table, action, source }, frame));
};

const readRow = (row: Fields, action: Action): Row => {
  const side = readSide(row.side, SIDES, 'side');
  const price = readPriceOrNull(row.price, 'price');
  if (price === null && (action === 'partial' || action === 'insert')) throw makeBadFrame('price is absent');
  const size = action === 'delete' ? '0' : readAmount(row.size, 'size');
  return { id: readLevelId(row.id), isBid: side === 'buy', price, size, fields: row };
};

/** The newest stamp of the rows; the matching engine's takes precedence over the table's. */
const readNewest = (rows: readonly Fields[]): Micros | null => {
  const newest = (name: string): number => {
    let most = 0;
    for (const row of rows) most = Math.max(most, readInstantOrNull(row[name], name) ?? 0);
    return most;
  };
  return newest('transactTime') || newest('timestamp') || null;
};

type BookRows = { readonly symbol: string; readonly rows: readonly Row[]; readonly venueTs: Micros | null };

const takeRows = ({ symbol, rows, venueTs }: BookRows, of: BookFrame, frame: Fields): readonly Mapped[] => {
  const { table, action, source } = of;
  const books = openBooks(of);
  const prices = action === 'partial' ? new LevelPrices() : books.get(symbol);
  if (prices === undefined) return [];
  books.set(symbol, prices);
  const sides = takeLevels(prices, rows, action);
  const isPartial = action === 'partial';
  if (!isPartial && sides.bids.length + sides.asks.length === 0) return [];
  const values = {
    kind: isPartial ? ('snapshot' as const) : ('update' as const),
    ...(isPartial ? sortSides(sides.bids, sides.asks) : sides),
    sequence: null,
  };
  const mapped = toMapped({ symbol, venueTs, receivedAt: source.receivedAt, element: frame }, 'book', values);
  return [{ ...mapped, chain: toChain(symbol, table, values.kind), channel: table }];
};

/** A level whose id never came with a price is unknown, and is omitted. */
const takeLevels = (prices: LevelPrices, rows: readonly Row[], action: Action): { bids: Level[]; asks: Level[] } => {
  const sides: { bids: Level[]; asks: Level[] } = { bids: [], asks: [] };
  for (const { id, isBid, price: named, size } of rows) {
    const [key, other] = isBid ? [id, toAskKey(id)] : [toAskKey(id), id];
    const known = prices.get(key);
    // The row of the other side has the same price.
    const price = named ?? known ?? prices.get(other);
    if (price === undefined) {
      noteUnexpected('bad_level');
      continue;
    }
    if (action === 'delete') prices.delete(key);
    else if (price !== known) prices.set(key, price);
    (isBid ? sides.bids : sides.asks).push([price, size]);
  }
  return sides;
};

/** The best ten a side, whole in every message, outside the chain. */
const mapBook10: TableMapper = (rows, _action, source) =>
  rows
    .filter((row) => row.bids !== undefined && row.asks !== undefined)
    .map((row) => {
      const sides = sortSides(readLevels(row.bids, 'bids'), readLevels(row.asks, 'asks'));
      return toMapped(toSubject(row, source), 'book', { kind: 'snapshot', ...sides, sequence: null });
    });

/** The REST book, outside the chain of the socket. */
const mapBookAnswer: TableMapper = (rows, _action, source) =>
  [...new Set(rows.map(readSymbol))].map((symbol) => {
    const own = rows.filter((row) => row.symbol === symbol);
    const { bids, asks } = takeLevels(
      new LevelPrices(),
      own.map((row) => readRow(row, 'partial')),
      'partial',
    );
    const subject = { symbol, venueTs: readNewest(own), receivedAt: source.receivedAt, element: own };
    return toMapped(subject, 'book', { kind: 'snapshot', ...sortSides(bids, asks), sequence: null });
  });

/** A partial repeats the past. A trade without a side (a referential one) has no taker. */
const mapTrades: TableMapper = (rows, action, source) =>
  action !== 'insert' ? [] : mapEach(rows, (row) => toTrade(row, source));

const toTrade = (row: Fields, source: Source): readonly Mapped[] => {
  const side = readTaker(row.side, SIDES, 'side');
  if (side === null) return [];
  const values = {
    id: readIdTextOrNull(row.trdMatchID, 'trdMatchID'),
    side,
    price: readPrice(row.price, 'price'),
    quantity: readAmount(row.size, 'size'),
    quantity_unit: 'contracts' as const,
  };
  return [toMapped(toSubject(row, source), 'trade', values)];
};

/** An order of the liquidation engine when placed; updates are its fills, the deletion is its end. It buys back a short or sells a long. */
const mapLiquidations: TableMapper = (rows, action, source) =>
  action !== 'insert'
    ? []
    : mapEach(rows, (row) => {
        const values = {
          id: readIdTextOrNull(row.orderID, 'orderID'),
          side: readSide(row.side, SIDES, 'side') === 'buy' ? ('short' as const) : ('long' as const),
          price: readPrice(row.price, 'price'),
          price_kind: 'order' as const,
          quantity: readAmount(row.leavesQty, 'leavesQty'),
          quantity_unit: 'contracts' as const,
        };
        return [toMapped(toSubject(row, source), 'liquidation', values)];
      });

/** Bins are stamped with their end. */
const mapBins: TableMapper = (rows, _action, source) =>
  mapEach(rows, (row) => {
    const end = readInstantOrNull(row.timestamp, 'timestamp');
    if (end === null) throw makeBadFrame('timestamp is absent');
    const volume = readSoleAmount(row.volume, 'volume');
    const { open, high, low, close } = row;
    const prices = readCandlePrices({ open, high, low, close }, volume, readFigureOrNull);
    if (prices === null) return [];
    const values = {
      open_time: end - MICROS_PER_MINUTE,
      price_type: 'trade' as const,
      timeframe: '1m' as const,
      ...prices,
      volume,
      volume_unit: 'contracts' as const,
      turnover: readAmountOrNull(row.foreignNotional, 'foreignNotional'),
      trades: readCountOrNull(row.trades, 'trades'),
      closed: null,
    };
    return [toMapped({ ...toSubject(row, source), venueTs: null }, 'candle', values)];
  });

/** The request's default is bins of a minute. */
const mapBinAnswer: TableMapper = (rows, action, source) => {
  const size = source.query.get('binSize') ?? (source.query.has('symbol') ? '1m' : null);
  if (size === null && rows.length > 0)
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the bins have no length and their request is not known');
  return size === '1m' ? mapBins(rows, action, source) : [];
};

const TABLES: ReadonlyMap<string, TableMapper> = new Map([
  ['instrument', mapInstruments],
  ['orderBook10', dropOtherPool(mapBook10)],
  ['trade', mapTrades],
  ['liquidation', mapLiquidations],
  ['tradeBin1m', dropOtherPool(mapBins)],
]);

/** Rows of an answer are whole, whatever came before. */
const mapInstrumentAnswer: TableMapper = (rows, _action, source) =>
  mapInstruments(rows, 'partial', { ...source, state: {} });

const ANSWERS: ReadonlyMap<string, TableMapper> = new Map([
  ['instrument', mapInstrumentAnswer],
  ['instrument/active', mapInstrumentAnswer],
  ['instrument/activeAndIndices', mapInstrumentAnswer],
  ['orderBook/L2', dropOtherPool(mapBookAnswer)],
  ['trade', mapTrades],
  ['trade/bucketed', dropOtherPool(mapBinAnswer)],
  ['liquidation', mapLiquidations],
]);

const mapAnswer = (path: string | null, body: unknown, source: Source): readonly Mapped[] => {
  if (isFields(body) && !isAbsent(body.error)) throw makeRefusal(JSON.stringify(body.error));
  if (path === null) throw new VenueError('VENUE_UNKNOWN_LISTING', 'the request of this answer is not known');
  const mapper = ANSWERS.get(/\/api\/v1\/(.+)$/.exec(path)?.[1] ?? '');
  return mapper ? mapper(readRows(body), 'insert', source) : [];
};
