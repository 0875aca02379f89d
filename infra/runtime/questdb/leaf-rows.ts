// Reads the leaves of one listing, table and day from stored history, in leaf order and with their `seq` (AN-02, AN-07), in bounded memory.
import {
  type AnchoredCell,
  type AnchoredColumn,
  type AnchoredTable,
  listStored,
  type StoredColumn,
} from '../../../schemas/anchored.ts';
import { joinFigure } from '../../../schemas/decimals.ts';
import { formatInstantMicros, MICROS_PER_DAY, parseInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { parseListingId, toTableName } from '../../../schemas/tables.ts';
import { compareBytes } from '../../../schemas/text-order.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import type { Cell, QuestdbReader } from './reader.ts';

/** Rows of one statement, where they are spread evenly over the day: they live until all of them are read, and a day of one listing may be millions. */
const SLICE_ROWS = 2_000;
/** The shortest slice is a minute. */
const MOST_SLICES = 1_440;
/** Rows of one batch: the garbage of a batch is free before the next one is read. */
const BATCH_ROWS = 1_000;

export type LeafSource = {
  readonly questdb: QuestdbReader;
  readonly namespace: string;
};
export type LeafQuestion = {
  readonly table: AnchoredTable;
  /** `venue:venue_symbol`. */
  readonly listing: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  /** The day's closing instant; rows recorded at or after it are no leaves. */
  readonly closedAt: Micros;
};
export type LeafRow = {
  /** In the order of the table's columns. */
  readonly cells: readonly AnchoredCell[];
  /** Null for gaps, which stem from no single message. */
  readonly recordedAt: Micros | null;
};

/** The column that orders rows of one instant before `seq`; null where none does. */
const findTieColumn = ({ order }: AnchoredTable): string | null => (order.length === 3 ? (order[1] as string) : null);
const isEventTable = ({ dayIncludes, designated }: AnchoredTable): boolean =>
  dayIncludes === 'begin' && designated === 'received_at';

/** An instant as a literal. */
const quoteInstant = (at: string): string => `'${at}'`;

type Slice = { readonly from: Micros; readonly to: Micros };
const sliceDay = (day: string, rows: number): Slice[] => {
  const { from: begin } = parseDaySlice(day);
  const count = Math.min(MOST_SLICES, Math.max(1, Math.ceil(rows / SLICE_ROWS)));
  const width = Math.ceil(MICROS_PER_DAY / count);
  return Array.from({ length: count }, (_, at) => ({
    from: begin + at * width,
    to: Math.min(begin + MICROS_PER_DAY, begin + (at + 1) * width),
  }));
};

/** Rows of a table in a span of its day, of any listing. */
export const sliceConditions = ({ table, designated, dayIncludes }: AnchoredTable, { from, to }: Slice): string[] => {
  const [above, upTo] = dayIncludes === 'end' ? ['>', '<='] : ['>=', '<'];
  return [
    `${designated} ${above} ${quoteInstant(formatInstantMicros(from))}`,
    `${designated} ${upTo} ${quoteInstant(formatInstantMicros(to))}`,
    ...(table === 'candles' ? ["timeframe = '1m'"] : []),
  ];
};

/** Throws for a text that is no day. */
export const parseDaySlice = (day: string): Slice => {
  const from = parseInstant(day);
  if (from === null) throw new Error(`"${day}" is not a day such as 2026-01-15`);
  return { from, to: from + MICROS_PER_DAY };
};

/** Rows of a slice by the rules of AN-02: sealed by the closing, recorded before it. The listing is the first parameter. */
export const makeCondition = ({ table, closedAt }: LeafQuestion, slice: Slice): string => {
  const ended = table.table === 'candles' ? 'close_time' : table.designated;
  return [
    'listing = $1',
    ...sliceConditions(table, slice),
    `${ended} <= ${quoteInstant(formatInstantMicros(closedAt - SEALS_AFTER))}`,
    `(recorded_at IS NULL OR recorded_at < ${quoteInstant(formatInstantMicros(closedAt))})`,
  ].join(' AND ');
};

const selectColumn = ({ stored, kind }: StoredColumn): string => (kind === 'instant' ? `${stored}::long` : stored);
const OWN = 'recorded_at::long, src_offset, digits';
/** The same places, for reading in which order rows are. */
const OWN_OF_KEYS = 'null::long, src_offset, null::string';

type Exact = Readonly<Record<string, string>>;
const NO_DIGITS: Exact = {};

/** A cell of a column from the stored cell and the digits kept beside it. */
const decodeCell = ({ kind, stored }: AnchoredColumn, cell: Cell, exact: Exact): AnchoredCell => {
  switch (kind) {
    case 'text':
      return cell;
    case 'instant':
      return cell === null ? null : formatInstantMicros(Number(cell));
    case 'boolean':
      return cell === 't';
    case 'figure':
    case 'integer':
      return joinFigure(cell, exact[stored ?? '']);
    default:
      return kind satisfies never;
  }
};

/** Columns in the order of the statement: OWN, then the table's. */
const findStoredPlace = (table: AnchoredTable, name: string | null | undefined): number =>
  3 + listStored(table).findIndex((column) => column.name === name);

/** Rows as the store returned them. */
type Line = readonly Cell[];
const readOffset = (line: Line): number => Number(line[1]);

/** Cells of a row, `seq` among them; one decoder for the rows of one listing, in order. */
const createDecoder = ({ table, listing }: LeafQuestion): ((line: Line, seq: number) => LeafRow) => {
  const { venue, symbol } = parseListingId(listing);
  const known: Readonly<Record<string, string>> = { segment: venue, symbol };
  const { columns } = table;
  const names = columns.map(({ name }) => name);
  const given = columns.map(({ name }) => known[name] ?? null);
  const [status, id] = [names.indexOf('status'), isEventTable(table) ? names.indexOf('id') : -1];
  const seqPlace = names.indexOf('seq');
  return (line, seq) => {
    const [recordedAt = null, , digits = null] = line;
    const exact = digits === null ? NO_DIGITS : (JSON.parse(digits) as Exact);
    const cells: AnchoredCell[] = given.slice();
    let place = 3;
    for (let at = 0; at < columns.length; at++) {
      const column = columns[at] as AnchoredColumn;
      if (column.stored !== null) cells[at] = decodeCell(column, line[place++] ?? null, exact);
    }
    // Gap rows of events have an id of the service's own, which the venue did not send (AN-07).
    if (id >= 0 && cells[status] === 'missing') cells[id] = null;
    cells[seqPlace] = String(seq);
    return { cells, recordedAt: recordedAt === null ? null : Number(recordedAt) };
  };
};

/** Leaf order without `seq`, which follows the raw offset among rows that are equal otherwise; of one offset a late row is last (D-634). */
const createLineOrder = (table: AnchoredTable): ((a: Line, b: Line) => number) => {
  const tie = findTieColumn(table);
  const [atPlace, tiePlace] = [findStoredPlace(table, table.order[0]), findStoredPlace(table, tie)];
  const [statusPlace, tieIsId] = [findStoredPlace(table, 'status'), isEventTable(table)];
  const latePlace = findStoredPlace(table, 'late');
  const readTie = (line: Line): string | null => {
    const isGap = tieIsId && line[statusPlace] === 'missing';
    return tie === null || isGap ? null : (line[tiePlace] ?? null);
  };
  return (a, b) => {
    const apart = Number(a[atPlace]) - Number(b[atPlace]);
    if (apart !== 0) return apart;
    const [x, y] = [readTie(a), readTie(b)];
    if (x === y) return readOffset(a) - readOffset(b) || Number(a[latePlace] === 't') - Number(b[latePlace] === 't');
    if (x === null || y === null) return x === null ? -1 : 1;
    return compareBytes(x, y);
  };
};

/** Sorts in place. Stored rows are nearly always in order, and a look costs less than a sort. */
const sortLines = (lines: Line[], compare: (a: Line, b: Line) => number): void => {
  for (let at = 1; at < lines.length; at++)
    if (compare(lines[at - 1] as Line, lines[at] as Line) > 0) {
      lines.sort(compare);
      return;
    }
};

/** Rank of each row by raw offset; rows of one record keep their leaf order. */
const rankByOffset = (offsets: Float64Array): Uint32Array => {
  const places = Uint32Array.from(offsets, (_, place) => place);
  if (offsets.every((offset, at) => at === 0 || (offsets[at - 1] as number) <= offset)) return places;
  places.sort((a, b) => (offsets[a] as number) - (offsets[b] as number) || a - b);
  const ranks = new Uint32Array(offsets.length);
  places.forEach((place, rank) => {
    ranks[place] = rank;
  });
  return ranks;
};

type SliceReader = (slice: Slice) => Promise<readonly Line[]>;

/** Rows of one slice in leaf order; `own` are the columns before the table's. */
const createSliceReader = ({ questdb, namespace }: LeafSource, question: LeafQuestion, own = OWN): SliceReader => {
  const columns = listStored(question.table).map(selectColumn);
  const compare = createLineOrder(question.table);
  const table = toTableName(namespace, question.table.table);
  return async (slice) => {
    const text = `SELECT ${[own, ...columns].join(', ')} FROM '${table}' WHERE ${makeCondition(question, slice)}`;
    const lines = await questdb.query({ text, values: [question.listing] });
    sortLines(lines, compare);
    return lines;
  };
};

/** The table with only the columns that order its rows. */
const withKeysOnly = (table: AnchoredTable): AnchoredTable => ({
  ...table,
  columns: table.columns.filter(({ name }) => table.order.includes(name) || name === 'status' || name === 'late'),
});

/** Raw offsets of all rows in leaf order, from which `seq` is computed. */
const readOffsets = async (slices: readonly Slice[], read: SliceReader): Promise<Float64Array> => {
  const parts: Float64Array[] = [];
  for (const slice of slices) parts.push(Float64Array.from(await read(slice), readOffset));
  const offsets = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    offsets.set(part, place);
    place += part.length;
  }
  return offsets;
};

/**
 * The leaves of a listing, table and day, batch by batch in leaf order. A day that fits one slice is read once; another is read twice, because
 * `seq` ranks the whole day. Rejects with the store's own error.
 */
export async function* readLeafRows(source: LeafSource, question: LeafQuestion): AsyncGenerator<readonly LeafRow[]> {
  const read = createSliceReader(source, question);
  const slices = sliceDay(question.day, await countLeafRows(source, question));
  const only = slices.length === 1 ? await read(slices[0] as Slice) : null;
  const readKeys = createSliceReader(source, { ...question, table: withKeysOnly(question.table) }, OWN_OF_KEYS);
  const offsets = only === null ? await readOffsets(slices, readKeys) : Float64Array.from(only, readOffset);
  const ranks = rankByOffset(offsets);
  const decode = createDecoder(question);
  let place = 0;
  for (const slice of slices) {
    const rows = only ?? (await read(slice));
    if (place + rows.length > ranks.length) throw new Error(`rows of ${question.listing} came while they were read`);
    for (let from = 0; from < rows.length; from += BATCH_ROWS) {
      yield rows.slice(from, from + BATCH_ROWS).map((line) => decode(line, ranks[place++] as number));
    }
  }
  if (place !== ranks.length) throw new Error(`rows of ${question.listing} went while they were read`);
}

/** Number of leaves, by the same rules. */
export const countLeafRows = async ({ questdb, namespace }: LeafSource, question: LeafQuestion): Promise<number> => {
  const table = toTableName(namespace, question.table.table);
  const text = `SELECT count() FROM '${table}' WHERE ${makeCondition(question, parseDaySlice(question.day))}`;
  const [line] = await questdb.query({ text, values: [question.listing] });
  return Number(line?.[0] ?? 0);
};

/** The leaves of one instant in leaf order, with their `seqs`. Only of a table whose rows an instant and `seq` order. */
export const readLeafRowsAt = async (
  source: LeafSource,
  question: LeafQuestion,
  { at, seqs }: { readonly at: Micros; readonly seqs: readonly number[] },
): Promise<readonly LeafRow[]> => {
  const rows = await createSliceReader(source, question)({ from: at - 1, to: at });
  const decode = createDecoder(question);
  return rows.map((line, place) => decode(line, seqs[place] ?? -1));
};
