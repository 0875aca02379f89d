// Rows of an answer as a table instead of one JSON document: NDJSON, CSV, Parquet, with the envelope in headers (N-15).
import { setImmediate as breathe } from 'node:timers/promises';
import {
  type ParquetCell,
  type ParquetColumn,
  type ParquetKind,
  writeParquet,
} from '../../infra/runtime/files/parquet.ts';
import {
  beginObject,
  Figure,
  finishObject,
  type JsonValue,
  type NumberFormat,
  RawJson,
  writeJson,
} from '../../schemas/json.ts';
import { chooseMediaType } from '../contract/negotiation.ts';
import type { LineSizes } from '../history/fitting.ts';
import type { Row, RowGroup } from '../history/row-groups.ts';

export type RowFormat = 'ndjson' | 'csv' | 'parquet';
export const ROW_TYPES: Readonly<Record<RowFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
};
/** In the order in which formats are preferred where a media range takes several. */
const FORMAT_OF = {
  'application/json': 'json',
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/vnd.apache.parquet': 'parquet',
} as const satisfies Readonly<Record<string, RowFormat | 'json'>>;
const OFFERED = Object.keys(FORMAT_OF) as readonly (keyof typeof FORMAT_OF)[];

/** The format an `Accept` header likes best; JSON when it takes none of ours. */
export const chooseFormat = (accept: string | undefined): RowFormat | 'json' =>
  FORMAT_OF[chooseMediaType(accept, OFFERED) ?? 'application/json'];

/** Rows worked on before other requests get their turn. */
const AT_A_TIME = 500;

/** Called with the bytes that the rows so far have as a whole body, and their share of all rows; what it throws ends the work. */
type Progress = (bytes: number, share: number) => void;

type Table = {
  /** Columns that are always first, with or without rows. */
  readonly columns: readonly string[];
  readonly groups: readonly RowGroup[];
  readonly numberFormat: NumberFormat;
  readonly onBytes: Progress;
};
type Place = { readonly index: number; readonly share: number };
type Visit = (row: Row, head: RowGroup['head'], place: Place) => void;

/** Visits every row and answers how many there are. */
const visitRows = async ({ groups }: Table, visit: Visit): Promise<number> => {
  const count = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  let index = 0;
  for (const { head, rows } of groups) {
    for (const row of rows) {
      visit(row, head, { index, share: (index + 1) / count });
      index += 1;
      if (index % AT_A_TIME === 0) await breathe();
    }
  }
  return count;
};

/** Whether a value is an object with members. */
export const isMap = (value: JsonValue): value is Row =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof RawJson) &&
  !(value instanceof Figure);

/** A value as the text of a cell: digits as they are, arrays as JSON; null for `null`. */
const toCell = (value: JsonValue, numberFormat: NumberFormat): string | null => {
  if (value === null || typeof value === 'string') return value;
  return value instanceof Figure ? value.digits : writeJson(value, { numberFormat });
};

/** Takes cells by the path of their member (`values.mark`). */
type Cells = { readonly numberFormat: NumberFormat; readonly set: (path: string, cell: string | null) => void };

const setCells = (cells: Cells, row: Row, prefix = ''): void => {
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined) continue;
    if (isMap(value)) setCells(cells, value, `${prefix}${name}.`);
    else cells.set(prefix + name, toCell(value, cells.numberFormat));
  }
};

type HeadCells = ReadonlyMap<RowGroup['head'], readonly (readonly [path: string, cell: string | null])[]>;

/** Cells of each head, which all its rows share. */
const listHeadCells = ({ groups, numberFormat }: Table): HeadCells =>
  new Map(
    groups.map(({ head }) => {
      const cells: [string, string | null][] = [];
      setCells({ numberFormat, set: (path, cell) => cells.push([path, cell]) }, head);
      return [head, cells] as const;
    }),
  );

const writeNdjson = async (table: Table): Promise<Buffer> => {
  const { groups, numberFormat, onBytes } = table;
  const lines: string[] = [];
  const begun = new Map(groups.map(({ head }) => [head, beginObject(head)]));
  let bytes = 0;
  await visitRows(table, (row, head, { share }) => {
    const line = `${finishObject(begun.get(head) ?? '', row, { numberFormat })}\n`;
    bytes += Buffer.byteLength(line);
    onBytes(bytes, share);
    lines.push(line);
  });
  return Buffer.from(lines.join(''));
};

const LINE_END = '\r\n';

/** RFC 4180. Absent and null are both empty: the status gives the reason. */
const formatCsvCell = (cell: string | null | undefined): string => {
  if (cell === null || cell === undefined) return '';
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
};

/** Other columns are in the order in which they first appear, so an earlier line only lacks cells at its end. */
const writeCsv = async (table: Table): Promise<Buffer> => {
  const { numberFormat, onBytes } = table;
  const columns = new Map<string, number>();
  // The first line without its line end; later lines with it, and without the empty cells of columns that were added later.
  let headBytes = -1;
  const addColumn = (column: string): number => {
    headBytes += Buffer.byteLength(formatCsvCell(column)) + 1;
    columns.set(column, columns.size);
    return columns.size - 1;
  };
  for (const name of table.columns) addColumn(name);
  const headCells = listHeadCells(table);
  const lines: { readonly text: string; readonly cells: number }[] = [];
  let [lineBytes, writtenCells] = [0, 0];
  await visitRows(table, (row, head, { share }) => {
    const cells: string[] = [];
    const set: Cells['set'] = (column, cell) => {
      cells[columns.get(column) ?? addColumn(column)] = formatCsvCell(cell);
    };
    for (const [column, cell] of headCells.get(head) ?? []) set(column, cell);
    setCells({ numberFormat, set }, row);
    // `join` writes nothing where a cell was never set.
    const text = cells.join(',');
    lines.push({ text, cells: cells.length });
    lineBytes += Buffer.byteLength(text) + LINE_END.length;
    writtenCells += cells.length;
    const emptyCells = lines.length * columns.size - writtenCells;
    onBytes(headBytes + LINE_END.length + lineBytes + emptyCells, share);
  });
  const missing = (cells: number): string => ','.repeat(columns.size - cells);
  const body = lines.map(({ text, cells }) => text + missing(cells));
  return Buffer.from([[...columns.keys()].map(formatCsvCell).join(','), ...body, ''].join(LINE_END));
};

const TEXT = /(?:^|\.)(?:null_reasons|units)\./;
const INSTANT = /(?:^|[._])(?:at|ts|until|time)$|^retention_from$/;
const INTEGER = /^(?:venue_)?age_ms$|^base_candles\.|^trades$|(?:^|\.)values\.levels_/;

/** Chosen by the name alone, so that every file of an endpoint has the same types. Figures are texts: their digits are the venue's. */
const findKind = (column: string): ParquetKind => {
  if (column === 'late') return 'boolean';
  if (TEXT.test(column)) return 'text';
  if (INSTANT.test(column)) return 'instant';
  return INTEGER.test(column) ? 'integer' : 'text';
};

/** Parses an instant as answers write it, much faster than a general parser. */
const toMicros = (text: string): number =>
  text.length === 24
    ? Date.parse(text) * 1_000
    : Date.parse(`${text.slice(0, 23)}Z`) * 1_000 + Number(text.slice(23, 26));

const toParquetCell = (kind: ParquetKind, text: string | null): ParquetCell => {
  if (text === null) return null;
  switch (kind) {
    case 'text':
      return text;
    case 'instant':
      return toMicros(text);
    case 'integer':
      return Number(text);
    case 'boolean':
      return text === 'true';
    default:
      return kind satisfies never;
  }
};

const writeTable = async (table: Table, metadata: Readonly<Record<string, string>>): Promise<Buffer> => {
  const { numberFormat, onBytes } = table;
  type Column = ParquetColumn & { readonly cells: ParquetCell[] };
  const made = (name: string): Column => ({ name, kind: findKind(name), cells: [] });
  const columns = new Map<string, Column>(table.columns.map((name) => [name, made(name)]));
  const set = (name: string, index: number, text: string | null): void => {
    const column = columns.get(name) ?? made(name);
    if (column.cells.length === 0) columns.set(name, column);
    while (column.cells.length < index) column.cells.push(null);
    column.cells.push(toParquetCell(column.kind, text));
  };
  const headCells = listHeadCells(table);
  const rows = await visitRows(table, (row, head, { index }) => {
    for (const [name, cell] of headCells.get(head) ?? []) set(name, index, cell);
    setCells({ numberFormat, set: (name, cell) => set(name, index, cell) }, row);
  });
  for (const { cells } of columns.values()) while (cells.length < rows) cells.push(null);
  return writeParquet([...columns.values()], { metadata, onBytes });
};

export type RowsRequest = Table & {
  readonly format: RowFormat;
  /** Metadata that a file keeps where its format can. */
  readonly metadata: Readonly<Record<string, string>>;
};

/** The rows of an answer as the bytes of a table. Gives way to other work, so a large one does not hold up small ones. */
export const writeRows = ({ format, metadata, ...table }: RowsRequest): Promise<Buffer> => {
  switch (format) {
    case 'ndjson':
      return writeNdjson(table);
    case 'csv':
      return writeCsv(table);
    case 'parquet':
      return writeTable(table, metadata);
    default:
      return format satisfies never;
  }
};

/** Number of rows that are read to measure a table. */
const MEASURED_ROWS = 20_000;

type Sample = { readonly every: number; readonly groups: readonly RowGroup[] };

/** Every n-th row of very many. The first rows say nothing of those that follow: they may be gaps. */
const takeSample = ({ groups }: Table): Sample => {
  const count = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const every = Math.max(1, Math.ceil(count / MEASURED_ROWS));
  let index = 0;
  return {
    every,
    groups: groups.map(({ head, rows }) => ({ head, rows: rows.filter(() => index++ % every === 0) })),
  };
};

/** Bytes of a table with these rows only. */
const measureWith = async (table: RowsRequest, groups: readonly RowGroup[]): Promise<number> =>
  (await writeRows({ ...table, groups, onBytes: () => undefined })).length;

/** The lines of a table of lines. */
const measureLines = async (table: RowsRequest, { every, groups }: Sample): Promise<LineSizes> => {
  const head = await measureWith(table, []);
  let bytes = head;
  const lines: number[] = [];
  const onBytes: Progress = (soFar, share) => {
    lines.push(soFar - bytes);
    bytes = soFar;
    table.onBytes(soFar, share);
  };
  await writeRows({ ...table, groups, onBytes });
  return { head, every, lines };
};

/** A part of a Parquet file is compressed less than the whole. */
const COMPRESSED_LESS = 1.25;
const INSTANT_BYTES = 8;

/** What a row has that the one before has not: the rest takes next to nothing in a column that is compressed. */
const measureNews = async (table: Table): Promise<number[]> => {
  const { numberFormat, onBytes } = table;
  const news: number[] = [];
  const before = new Map<string, string>();
  let group: RowGroup['head'] | null = null;
  await visitRows(table, (row, head, { share }) => {
    if (head !== group) before.clear();
    group = head;
    let length = 1;
    const set: Cells['set'] = (path, cell) => {
      if (cell === null || before.get(path) === cell) return;
      before.set(path, cell);
      length += findKind(path) === 'text' ? cell.length : INSTANT_BYTES;
    };
    setCells({ numberFormat, set }, row);
    news.push(length);
    onBytes(0, share);
  });
  return news;
};

/** The bytes of each row in a table of `whole` bytes: its line; in Parquet, a share of the bytes beyond those of a one-row file, by its new values. */
export const measureTable = async (table: RowsRequest, whole: number): Promise<LineSizes> => {
  const sample = takeSample(table);
  if (table.format !== 'parquet') return measureLines(table, sample);
  const first = table.groups.filter(({ rows }) => rows.length > 0).slice(0, 1);
  const head = await measureWith(
    table,
    first.map(({ head, rows }) => ({ head, rows: rows.slice(0, 1) })),
  );
  const { every, groups } = sample;
  const news = await measureNews({ ...table, groups });
  const sum = every * news.reduce((all, length) => all + length, 0);
  const scale = (COMPRESSED_LESS * Math.max(0, whole - head)) / Math.max(1, sum);
  return { head, every, lines: news.map((length) => scale * length) };
};
