// The leaves of one listing, table and day out of stored history, in leaf order and with their `seq` (AN-02, AN-07), in bounded memory.

import type { AnchoredCell, AnchoredColumn, AnchoredTable } from '../../../schemas/anchored.ts';
import { joinFigure } from '../../../schemas/decimals.ts';
import { formatInstantMicros, parseInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { tableName } from '../../../schemas/tables.ts';
import { compareBytes } from '../../../schemas/text-order.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import type { Cell, QuestdbReader } from './questdb.ts';

const DAY: Micros = 86_400_000_000;
/** Event tables are read in slices: a day of one listing may be millions of rows. */
const EVENT_SLICES = 96;

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
  /** Null for gaps, which no single message made. */
  readonly recordedAt: Micros | null;
};

/** What the order of leaves and `seq` need of a row; a million of these are 40 MB. */
type Key = { readonly at: string; readonly tie: string | null; readonly srcOffset: number };

/** The column that orders rows of one instant before `seq`; null where none does. */
const tieColumn = ({ order }: AnchoredTable): string | null => (order.length === 3 ? (order[1] as string) : null);
const isEventTable = ({ dayIncludes, designated }: AnchoredTable): boolean =>
  dayIncludes === 'begin' && designated === 'received_at';

/** An instant as a literal. */
const quote = (at: string): string => `'${at}'`;

type Slice = { readonly from: Micros; readonly to: Micros };
const sliceDay = (question: LeafQuestion): Slice[] => {
  const { from: begin } = daySlice(question.day);
  const count = isEventTable(question.table) ? EVENT_SLICES : 1;
  const width = DAY / count;
  return Array.from({ length: count }, (_, at) => ({ from: begin + at * width, to: begin + (at + 1) * width }));
};

/** Rows of a table that belong to a stretch of its day, whatever their listing. */
export const sliceConditions = ({ table, designated, dayIncludes }: AnchoredTable, { from, to }: Slice): string[] => {
  const [above, upTo] = dayIncludes === 'end' ? ['>', '<='] : ['>=', '<'];
  return [
    `${designated} ${above} ${quote(formatInstantMicros(from))}`,
    `${designated} ${upTo} ${quote(formatInstantMicros(to))}`,
    ...(table === 'candles' ? ["timeframe = '1m'"] : []),
  ];
};

/** Throws for a text that is no day. */
export const daySlice = (day: string): Slice => {
  const from = parseInstant(day);
  if (from === null) throw new Error(`"${day}" is no day such as 2026-01-15`);
  return { from, to: from + DAY };
};

/** Rows of a slice by the rules of AN-02: sealed by the closing, recorded before it. The listing is the first parameter. */
const conditionOf = ({ table, closedAt }: LeafQuestion, slice: Slice): string => {
  const ended = table.table === 'candles' ? 'close_time' : table.designated;
  return [
    'listing = $1',
    ...sliceConditions(table, slice),
    `${ended} <= ${quote(formatInstantMicros(closedAt - SEALS_AFTER))}`,
    `(recorded_at IS NULL OR recorded_at < ${quote(formatInstantMicros(closedAt))})`,
  ].join(' AND ');
};

type Read = { readonly key: Key; readonly cells: readonly AnchoredCell[]; readonly recordedAt: Micros | null };

const selectColumn = ({ stored, kind }: AnchoredColumn): string | null => {
  if (stored === null) return null;
  return kind === 'instant' ? `${stored}::long` : stored;
};
const OWN = 'recorded_at::long, src_offset, digits';

const toCell = (
  { kind, stored }: AnchoredColumn,
  cell: Cell,
  exact: Readonly<Record<string, string>>,
): AnchoredCell => {
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

/** Gap rows of events have an id of the service's own, which is no venue's word (AN-07). */
const toId = (cells: readonly AnchoredCell[], status: number, id: number): readonly AnchoredCell[] =>
  id >= 0 && cells[status] === 'missing' ? cells.with(id, null) : cells;

const NO_DIGITS: Readonly<Record<string, string>> = {};

const createDecoder = ({ table, listing }: LeafQuestion): ((line: readonly Cell[]) => Read) => {
  const colon = listing.indexOf(':');
  const segment = listing.slice(0, colon);
  const symbol = listing.slice(colon + 1);
  const names = table.columns.map(({ name }) => name);
  const [status, id] = [names.indexOf('status'), isEventTable(table) ? names.indexOf('id') : -1];
  const tie = tieColumn(table);
  const tiePlace = tie === null ? -1 : names.indexOf(tie);
  const atPlace = names.indexOf(table.order[0] as string);
  return (line) => {
    const [recordedAt = null, srcOffset = null, digits = null] = line;
    const exact = digits === null ? NO_DIGITS : (JSON.parse(digits) as Readonly<Record<string, string>>);
    let place = 3;
    const read = table.columns.map((column): AnchoredCell => {
      if (column.stored !== null) return toCell(column, line[place++] ?? null, exact);
      return column.name === 'segment' ? segment : column.name === 'symbol' ? symbol : null;
    });
    const cells = toId(read, status, id);
    const key = {
      at: String(cells[atPlace]),
      tie: tiePlace < 0 ? null : ((cells[tiePlace] as string | null) ?? null),
      srcOffset: Number(srcOffset),
    };
    return { key, cells, recordedAt: recordedAt === null ? null : Number(recordedAt) };
  };
};

/** Leaf order without `seq`, which follows the raw offset among rows that are equal otherwise. Instants of one form compare as texts. */
const compareKeys = (a: Key, b: Key): number => {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  if (a.tie !== b.tie) {
    if (a.tie === null || b.tie === null) return a.tie === null ? -1 : 1;
    return compareBytes(a.tie, b.tie);
  }
  return a.srcOffset - b.srcOffset;
};

/** Rank of each row by raw offset; rows of one record keep their leaf order. */
const rankByOffset = (offsets: Float64Array): Uint32Array => {
  const places = Uint32Array.from(offsets, (_, place) => place);
  places.sort((a, b) => (offsets[a] as number) - (offsets[b] as number) || a - b);
  const ranks = new Uint32Array(offsets.length);
  places.forEach((place, rank) => {
    ranks[place] = rank;
  });
  return ranks;
};

type SliceReader = (slice: Slice) => Promise<Read[]>;

/** Rows of one slice in leaf order but for their `seq`. */
const createSliceReader = ({ questdb, namespace }: LeafSource, question: LeafQuestion): SliceReader => {
  const columns = question.table.columns.map(selectColumn).filter((column) => column !== null);
  const decode = createDecoder(question);
  const table = tableName(namespace, question.table.table);
  return async (slice) => {
    const text = `SELECT ${OWN}, ${columns.join(', ')} FROM '${table}' WHERE ${conditionOf(question, slice)}`;
    const lines = await questdb.query({ text, values: [question.listing] });
    return lines.map(decode).sort((a, b) => compareKeys(a.key, b.key));
  };
};

/** Raw offsets of all rows in leaf order: what `seq` is made of. */
const readOffsets = async (slices: readonly Slice[], read: SliceReader): Promise<Float64Array> => {
  const parts: Float64Array[] = [];
  for (const slice of slices) parts.push(Float64Array.from(await read(slice), ({ key }) => key.srcOffset));
  const offsets = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    offsets.set(part, place);
    place += part.length;
  }
  return offsets;
};

/**
 * The leaves of a listing, table and day, batch by batch in leaf order. A table that is read in one slice is read once; event tables are
 * read twice, because `seq` ranks the whole day. Rejects with the store's own error.
 */
export async function* readLeafRows(source: LeafSource, question: LeafQuestion): AsyncGenerator<readonly LeafRow[]> {
  const read = createSliceReader(source, question);
  const slices = sliceDay(question);
  const seqPlace = question.table.columns.findIndex(({ name }) => name === 'seq');
  const only = slices.length === 1 ? await read(slices[0] as Slice) : null;
  const offsets = only === null ? await readOffsets(slices, read) : Float64Array.from(only, ({ key }) => key.srcOffset);
  const ranks = rankByOffset(offsets);
  let place = 0;
  for (const slice of slices) {
    const rows = only ?? (await read(slice));
    if (place + rows.length > ranks.length) throw new Error(`rows of ${question.listing} came while they were read`);
    yield rows.map(({ cells, recordedAt }) => ({ cells: cells.with(seqPlace, String(ranks[place++])), recordedAt }));
  }
  if (place !== ranks.length) throw new Error(`rows of ${question.listing} went while they were read`);
}

/** Number of leaves, by the same rules. */
export const countLeafRows = async ({ questdb, namespace }: LeafSource, question: LeafQuestion): Promise<number> => {
  const table = tableName(namespace, question.table.table);
  const text = `SELECT count() FROM '${table}' WHERE ${conditionOf(question, daySlice(question.day))}`;
  const [line] = await questdb.query({ text, values: [question.listing] });
  return Number(line?.[0] ?? 0);
};
