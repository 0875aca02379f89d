// Gate's books as normalised records: diffs (`order_book_update`), streams of a depth (`obu`), the old `order_book`, and the REST snapshot.
import { isNegative } from '../../../schemas/decimals.ts';
import type { Level } from '../../../schemas/records.ts';
import { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { type Sides, sortSides, toFullSides } from '../shared/book-sides.ts';
import type { Chain, FullSides } from '../shared/book-sync.ts';
import {
  type Fields,
  makeBadFrame,
  readFields,
  readFigure,
  readLevels,
  readMsOrNull,
  readNamedLevels,
  readPrice,
  readSequence,
  readSequenceOrNull,
  readText,
} from '../shared/wire.ts';
import { type Frame, readSeconds, readSentAt, type Source, toMapped } from './mapping.ts';
import { isPerpetual, parseStream, toSnapshotChain, updateChain } from './symbols.ts';

const NAMES = ['p', 's'] as const;

/** The channel of diffs, whose snapshot is the REST book. */
const DIFFS = 'order_book_update';

/** A message omits a side that it does not change. */
const toList = (value: unknown): unknown => value ?? [];

/** Levels a side of a subscription with a depth; one without it, as ours, brings the changes of all levels. */
const readDepth = ({ l }: Fields): number | undefined => (/^[1-9]\d*$/.test(String(l)) ? Number(l) : undefined);

export const mapDiff: Frame = (result, envelope, source) => {
  const body = readFields(result, 'result');
  const symbol = readText(body.s, 's');
  if (!isPerpetual(symbol)) return [];
  const sides = {
    bids: readNamedLevels(toList(body.b), NAMES, 'b'),
    asks: readNamedLevels(toList(body.a), NAMES, 'a'),
  };
  const depth = readDepth(body);
  const full = depth === undefined ? undefined : toFullSides(sides, depth);
  return [toBook(body, { symbol, sides, full, depth, channel: DIFFS }, { envelope, source })];
};

export const mapStream: Frame = (result, envelope, source) => {
  const body = readFields(result, 'result');
  const stream = parseStream(readText(body.s, 's'));
  if (stream === null || !isPerpetual(stream.symbol)) return [];
  const sides = { bids: readLevels(toList(body.b), 'b'), asks: readLevels(toList(body.a), 'a') };
  const full = toFullSides(sides, stream.depth);
  const { symbol, depth } = stream;
  return [toBook(body, { symbol, sides, full, depth, channel: `obu.${depth}` }, { envelope, source })];
};

type BookOf = {
  readonly symbol: string;
  readonly sides: Sides;
  readonly full: FullSides | undefined;
  /** Levels a side that the channel reaches; absent where it reaches all. */
  readonly depth?: number | undefined;
  readonly channel: string;
};

/** `full` marks a whole book among diffs; it needs no first id, and may have none. */
const toBook = (
  body: Fields,
  { symbol, sides, full, depth, channel }: BookOf,
  { envelope, source }: { readonly envelope: Fields; readonly source: Source },
): Mapped => {
  const last = readSequence(body.u, 'u');
  const venueTs = readMsOrNull(body.t, 't') ?? readSentAt(envelope);
  const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: body };
  const sequence = String(last);
  if (body.full !== true) {
    const chain = updateChain(symbol, { first: readSequence(body.U, 'U'), last });
    const { bids, asks } = sides;
    const { record, element } = toMapped(subject, 'book', { kind: 'update', bids, asks, sequence });
    return { record, element, chain: { ...chain, depth }, channel };
  }
  const whole = sortSides(sides.bids, sides.asks);
  const mapped = toMapped(subject, 'book', { kind: 'snapshot', ...whole, sequence });
  return { ...mapped, chain: toSnapshotChain(symbol, last, full), channel };
};

/** The old channel: first a whole book, then single changes; the sign of a size is its side. */
export const mapOldBook: Frame = (result, envelope, source) =>
  Array.isArray(result) ? mapOldChanges(result, envelope, source) : mapOldWhole(result, envelope, source);

const mapOldWhole: Frame = (result, envelope, source) => {
  const body = readFields(result, 'result');
  const symbol = readText(body.contract, 'contract');
  if (!isPerpetual(symbol)) return [];
  const venueTs = readMsOrNull(body.t, 't') ?? readSentAt(envelope);
  const { bids, asks } = sortSides(
    readNamedLevels(body.bids, NAMES, 'bids'),
    readNamedLevels(body.asks, NAMES, 'asks'),
  );
  const id = readSequenceOrNull(body.id, 'id');
  const last = id === 0n ? null : id;
  const sequence = last === null ? null : String(last);
  const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: body };
  const mapped = toMapped(subject, 'book', { kind: 'snapshot', bids, asks, sequence });
  return [withChain(mapped, last === null ? null : toSnapshotChain(symbol, last))];
};

const withChain = (mapped: Mapped, chain: Chain | null): Mapped =>
  chain === null ? mapped : { record: mapped.record, element: mapped.element, chain, channel: 'order_book' };

const mapOldChanges = (rows: readonly unknown[], envelope: Fields, source: Source): readonly Mapped[] => {
  const bySymbol = Map.groupBy(rows as readonly Fields[], (row) => readText(readFields(row, 'change').c, 'c'));
  const mapped: Mapped[] = [];
  for (const [symbol, own] of bySymbol) {
    if (!isPerpetual(symbol)) continue;
    const ids = own.map(({ id }) => readSequenceOrNull(id, 'id'));
    const first = ids[0] ?? null;
    const last = ids.at(-1) ?? null;
    const sequence = last === null ? null : String(last);
    const subject = { symbol, venueTs: readSentAt(envelope), receivedAt: source.receivedAt, element: own };
    const { bids, asks } = toSides(own);
    const book = toMapped(subject, 'book', { kind: 'update', bids, asks, sequence });
    mapped.push(withChain(book, first === null || last === null ? null : updateChain(symbol, { first, last })));
  }
  return mapped;
};

/** A size of zero has no side: the level is removed from both. */
const toSides = (changes: readonly Fields[]): Sides => {
  const sides: { readonly bids: Level[]; readonly asks: Level[] } = { bids: [], asks: [] };
  for (const { p, s } of changes) {
    const price = readPrice(p, 'p');
    const signed = readFigure(s, 's');
    if (isNegative(signed)) {
      sides.asks.push([price, signed.slice(1)]);
      continue;
    }
    sides.bids.push([price, signed]);
    if (signed === '0') sides.asks.push([price, signed]);
  }
  return sides;
};

/** Price steps of a requested book that are the contract's own; a book merged to coarser ones has none of the venue's levels. */
const UNMERGED: ReadonlySet<string | null> = new Set([null, '', '0']);

/** The body omits the symbol. `update` is the time of the book's last change, `current` the time of sending, in seconds. */
export const mapBookAnswer = (body: unknown, source: Source): readonly Mapped[] => {
  const symbol = source.query.get('contract');
  if (symbol === null || symbol === '')
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the order book names no contract and its request is not known');
  if (!isPerpetual(symbol) || !UNMERGED.has(source.query.get('interval'))) return [];
  const book = readFields(body, 'order book');
  const sides = sortSides(readNamedLevels(book.bids, NAMES, 'bids'), readNamedLevels(book.asks, NAMES, 'asks'));
  const venueTs = readSeconds(book.update, 'update') ?? readSeconds(book.current, 'current');
  const last = readSequenceOrNull(book.id, 'id');
  const subject = { symbol, venueTs, receivedAt: source.receivedAt, element: book };
  const mapped = toMapped(subject, 'book', {
    kind: 'snapshot',
    ...sides,
    sequence: last === null ? null : String(last),
  });
  if (last === null) return [mapped];
  const limit = source.query.get('limit');
  if (limit !== null && !/^\d+$/.test(limit)) throw makeBadFrame('limit is not a number of levels');
  const full = limit === null ? undefined : toFullSides(sides, Number(limit));
  return [{ ...mapped, chain: toSnapshotChain(symbol, last, full), channel: DIFFS }];
};
