// Rows of an answer as a table instead of one JSON document: NDJSON, CSV, Parquet, with the envelope in headers (N-15).
import { setImmediate as breathe } from 'node:timers/promises';
import { type ParquetCell, type ParquetColumn, type ParquetKind, writeParquet } from '../../infra/runtime/parquet.ts';
import { type JsonValue, RawJson, writeJson } from '../../schemas/json.ts';
import { type Cursor, eachLeaf, elements, endOfValue, members, scalarOf } from './row-text.ts';

export type RowFormat = 'ndjson' | 'csv' | 'parquet';
export const ROW_TYPES: Readonly<Record<RowFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
};
const FORMAT_OF: Readonly<Record<string, RowFormat | 'json'>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
  'application/vnd.apache.parquet': 'parquet',
};

/** The format an `Accept` header likes best, the first of equals; JSON when it names none of ours (RFC 9110 section 12.5.1). */
export const acceptedFormat = (accept: string | undefined): RowFormat | 'json' => {
  let best: { readonly format: RowFormat | 'json'; readonly weight: number } | null = null;
  for (const range of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const format = FORMAT_OF[type];
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    if (format === undefined || !(weight > 0)) continue;
    if (best === null || weight > best.weight) best = { format, weight };
  }
  return best?.format ?? 'json';
};

const LEADING = ['venue', 'venue_symbol', 'instrument', 'quote'];
const LISTING: ReadonlySet<string> = new Set(LEADING);
/** Rows worked on before other requests get their turn. */
const AT_A_TIME = 500;

/** What names the listing and layer of a row: as members, and as the cells that lead its columns. */
type Head = { readonly text: string; readonly cells: readonly (readonly [column: string, cell: string | null])[] };

const headOf = (named: readonly (readonly [string, string])[]): Head => ({
  text: named.map(([name, json]) => `"${name}":${json},`).join(''),
  cells: named.map(([name, json]) => [name, scalarOf(json)] as const),
});

function* rowsOfLayer(cursor: Cursor, head: Head): Generator<Head> {
  for (const name of members(cursor)) {
    if (name === 'rows') for (const _ of elements(cursor)) yield head;
  }
}

function* rowsOfItem(cursor: Cursor): Generator<Head> {
  const listing: [string, string][] = [];
  for (const name of members(cursor)) {
    if (LISTING.has(name)) listing.push([name, cursor.text.slice(cursor.at, endOfValue(cursor.text, cursor.at))]);
    else if (name === 'rows') for (const _ of elements(cursor)) yield headOf(listing);
    else if (name === 'layers') {
      for (const layer of members(cursor)) yield* rowsOfLayer(cursor, headOf([...listing, ['layer', `"${layer}"`]]));
    }
  }
}

/** The head of each row of `items`, with the cursor at the row. */
function* rowsOf(cursor: Cursor): Generator<Head> {
  for (const _ of elements(cursor)) yield* rowsOfItem(cursor);
}

/** Told the bytes made so far, and of what share of the items; what it throws ends the work. */
type Progress = (bytes: number, share: number) => void;

type Table = { readonly text: string; readonly onBytes: Progress };
type Visit = (head: Head, cursor: Cursor, index: number) => void;

/** Visits every row and answers how many there are. */
const visitRows = async ({ text }: Table, visit: Visit): Promise<number> => {
  const cursor: Cursor = { text, at: 0 };
  let count = 0;
  for (const head of rowsOf(cursor)) {
    visit(head, cursor, count++);
    if (count % AT_A_TIME === 0) await breathe();
  }
  return count;
};

const writeNdjson = async (table: Table): Promise<Buffer> => {
  const lines: string[] = [];
  let bytes = 0;
  await visitRows(table, (head, cursor) => {
    const from = cursor.at;
    cursor.at = endOfValue(cursor.text, from);
    const line = `{${head.text}${cursor.text.slice(from + 1, cursor.at)}\n`;
    bytes += Buffer.byteLength(line);
    table.onBytes(bytes, cursor.at / cursor.text.length);
    lines.push(line);
  });
  return Buffer.from(lines.join(''));
};

/** RFC 4180. Absent and null are both empty: the status says why. */
const csvCell = (cell: string | null | undefined): string => {
  if (cell === null || cell === undefined) return '';
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
};

/** Columns stand in the order in which they first appear, so an earlier line only lacks cells at its end. */
const writeCsv = async (table: Table): Promise<Buffer> => {
  const columns = new Map(LEADING.map((name, index) => [name, index]));
  const indexOf = (column: string): number => {
    const known = columns.get(column) ?? columns.size;
    if (known === columns.size) columns.set(column, known);
    return known;
  };
  const lines: { readonly text: string; readonly cells: number }[] = [];
  let bytes = 0;
  await visitRows(table, (head, cursor) => {
    const cells: string[] = [];
    for (const [column, cell] of head.cells) cells[indexOf(column)] = csvCell(cell);
    eachLeaf(cursor, (column, cell) => {
      cells[indexOf(column)] = csvCell(cell);
    });
    // `join` writes nothing where a cell was never set.
    const text = cells.join(',');
    bytes += Buffer.byteLength(text) + 2;
    table.onBytes(bytes, cursor.at / cursor.text.length);
    lines.push({ text, cells: cells.length });
  });
  const missing = (cells: number): string => ','.repeat(columns.size - cells);
  const body = lines.map(({ text, cells }) => text + missing(cells));
  return Buffer.from([[...columns.keys()].map(csvCell).join(','), ...body, ''].join('\r\n'));
};

const INSTANT = /(?:^|[._])(?:at|ts|until|time)$/;
const INTEGER = /^(?:venue_)?age_ms$|^base_candles\.|^trades$|(?:^|\.)values\.levels_/;

/** By its name alone, so that every file of an endpoint has the same types. Figures are texts: their digits are the venue's. */
const kindOf = (column: string): ParquetKind => {
  if (column === 'late') return 'boolean';
  if (column.includes('null_reasons.')) return 'text';
  if (INSTANT.test(column)) return 'instant';
  return INTEGER.test(column) ? 'integer' : 'text';
};

/** Of an instant as answers write it, in a fraction of the time that reading anyone's takes. */
const microsOf = (text: string): number =>
  text.length === 24
    ? Date.parse(text) * 1_000
    : Date.parse(`${text.slice(0, 23)}Z`) * 1_000 + Number(text.slice(23, 26));

const cellOf = (kind: ParquetKind, text: string | null): ParquetCell => {
  if (text === null) return null;
  switch (kind) {
    case 'text':
      return text;
    case 'instant':
      return microsOf(text);
    case 'integer':
      return Number(text);
    case 'boolean':
      return text === 'true';
    default:
      return kind satisfies never;
  }
};

const writeTable = async (table: Table, metadata: Readonly<Record<string, string>>): Promise<Buffer> => {
  type Column = ParquetColumn & { readonly cells: ParquetCell[] };
  const made = (name: string): Column => ({ name, kind: kindOf(name), cells: [] });
  const columns = new Map<string, Column>(LEADING.map((name) => [name, made(name)]));
  const set = (name: string, index: number, text: string | null): void => {
    const column = columns.get(name) ?? made(name);
    if (column.cells.length === 0) columns.set(name, column);
    while (column.cells.length < index) column.cells.push(null);
    column.cells.push(cellOf(column.kind, text));
  };
  const rows = await visitRows(table, (head, cursor, index) => {
    for (const [name, cell] of head.cells) set(name, index, cell);
    eachLeaf(cursor, (name, cell) => set(name, index, cell));
  });
  for (const { cells } of columns.values()) while (cells.length < rows) cells.push(null);
  return writeParquet([...columns.values()], { metadata, onBytes: table.onBytes });
};

export type RowsAsked = {
  readonly format: RowFormat;
  /** The JSON array of items, as it would be sent. */
  readonly itemsText: string;
  /** What stays with a file that can keep it. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly onBytes: Progress;
};

/** The rows of `items` as the bytes of a table. Gives way to other work, so a large one does not hold up small ones. */
export const writeRows = ({ format, itemsText, metadata, onBytes }: RowsAsked): Promise<Buffer> => {
  const table: Table = { text: itemsText, onBytes };
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

const isMap = (value: JsonValue): value is Readonly<Record<string, JsonValue>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

/** Envelope members as headers; `receipt_id` has one of its own already. */
export const envelopeHeaders = (body: JsonValue): Record<string, string> => {
  if (!isMap(body)) return {};
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) {
    if (name === 'items' || name === 'receipt_id' || value === null || value === undefined) continue;
    headers[`x-service-${name.replaceAll('_', '-')}`] = typeof value === 'string' ? value : writeJson(value);
  }
  return headers;
};
