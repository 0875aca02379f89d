// Answers as people and programs read them: a table on a terminal, else an object a line; CSV and files of tables on request.
import { stripVTControlCharacters, styleText } from 'node:util';

export type Cell = string | number | boolean | null | undefined;
/** One flat row, for tables and CSV: its columns have the API's names. */
export type Row = Readonly<Record<string, Cell>>;
export type Format = 'table' | 'json' | 'csv' | 'parquet';

/** The world of one run: tests give their own. */
export type Streams = {
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean };
};

const STATUS_STYLES: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'gray'>> = {
  present: 'green',
  live: 'green',
  ok: 'green',
  stale: 'yellow',
  degraded: 'yellow',
  warn: 'yellow',
  missing: 'red',
  down: 'red',
  FAIL: 'red',
  not_published: 'gray',
  off: 'gray',
};

/** Colours only where the stream shows them: NO_COLOR and FORCE_COLOR are honoured. */
export const colourText = (text: string, stream: Streams['out']): string => {
  const style = STATUS_STYLES[text.trim()];
  return style === undefined ? text : styleText(style, text, { stream, validateStream: true });
};

const formatCell = (cell: Cell): string => (cell === null || cell === undefined ? '' : String(cell));
/** What steers a terminal, or turns the text beside it. */
const STEERING = /[\p{Cc}\p{Bidi_Control}]/gu;
/** Nothing that came over the network steers the terminal. */
export const cleanText = (text: string): string => text.replaceAll(STEERING, '?');
/** The same JSON, in which what would steer a terminal is escaped: its strings alone may have such characters. */
export const formatJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(STEERING, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A line of at most so many characters; colours take no room, and end. */
export const clipLine = (line: string, columns: number): string => {
  if (stripVTControlCharacters(line).length <= columns) return line;
  let shown = 0;
  return line.replaceAll(/(\p{Cc}\[[\d;]*m)|./gsu, (part, style?: string) =>
    style === undefined && ++shown > columns ? '' : part,
  );
};

/** A column of this name and another column's states the units of that one. */
export const UNIT_OF = 'units.';

/** Columns of these names and another column's state why that one has no value: of a screen, of a reading or candle. */
export const REASON_OF = 'reason.';
export const NULL_REASON_OF = 'null_reasons.';

export const formatSeconds = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)}s`;

/** What stands for a column of CSV in a table, whose columns are narrow; null: nothing. */
const toShortCell = (row: Row, name: string): readonly [string, Cell] | null => {
  const { reason, gap_cause: cause, age_ms: age } = row;
  if (name.startsWith(REASON_OF) || name.startsWith(NULL_REASON_OF) || name === 'venue_age_ms') return null;
  if (name === 'venue_symbol') return ['symbol', row[name]];
  if (name === 'age_ms') return ['age', typeof age === 'number' ? formatSeconds(age) : age];
  if (name === 'reason' && 'gap_cause' in row) return ['why', cause ?? reason];
  if (name === 'gap_cause') return 'reason' in row ? null : ['why', cause];
  return [name, row[name] ?? row[REASON_OF + name] ?? row[NULL_REASON_OF + name]];
};
const toTableRow = (row: Row): Row =>
  Object.fromEntries(Object.keys(row).flatMap((name) => [toShortCell(row, name)].filter((cell) => cell !== null)));

const listColumns = (rows: readonly Row[]): string[] => [...new Set(rows.flatMap((row) => Object.keys(row)))];

const isFigure = (text: string): boolean => /^-?\d[\d.,e+-]*$/.test(text);

/** Units that all figures of a column have, by the column. */
const findCommonUnits = (rows: readonly Row[]): ReadonlyMap<string, string> => {
  const common = new Map<string, string>();
  for (const name of listColumns(rows)) {
    const counted = rows.filter((row) => formatCell(row[name]) !== '');
    const units = new Set(counted.map((row) => formatCell(row[UNIT_OF + name])));
    const [unit = ''] = units;
    if (units.size === 1 && unit !== '') common.set(name, unit);
  }
  return common;
};

/** Rows under their names, figures to the right; a column without a value is left out, and a unit that a whole column has is in its heading. */
export const listTableLines = (full: readonly Row[], stream: Streams['out']): readonly string[] => {
  const rows = full.map(toTableRow);
  const common = findCommonUnits(rows);
  const columns = listColumns(rows).filter(
    (name) =>
      rows.some((row) => formatCell(row[name]) !== '') &&
      !(name.startsWith(UNIT_OF) && common.has(name.slice(UNIT_OF.length))),
  );
  const headings = columns.map((name) => cleanText(common.has(name) ? `${name} (${common.get(name)})` : name));
  const texts = rows.map((row) => columns.map((name) => cleanText(formatCell(row[name]))));
  const widths = headings.map((heading, at) =>
    texts.reduce((most, row) => Math.max(most, (row[at] ?? '').length), heading.length),
  );
  const right = columns.map((_, at) => texts.every((row) => row[at] === '' || isFigure(row[at] ?? '')));
  const pad = (text: string, at: number): string =>
    right[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0);
  const heading = headings.map(pad).join('  ');
  return [heading, ...texts.map((row) => row.map((text, at) => colourText(pad(text, at), stream)).join('  '))].map(
    (line) => line.trimEnd(),
  );
};

const quoteCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** RFC 4180. */
export const formatCsv = (rows: readonly Row[]): string => {
  const columns = listColumns(rows);
  const lines = [columns, ...rows.map((row) => columns.map((name) => formatCell(row[name])))];
  return lines.map((line) => `${line.map(quoteCell).join(',')}\r\n`).join('');
};

export type Printed = {
  /** One a line in JSON: as the API has them. */
  readonly objects: readonly unknown[];
  readonly rows: readonly Row[];
  /** Values beside the rows of a table, such as the instant of the answer. */
  readonly note?: string;
};

/** CSV as it is looked at: every line is one, and steers nothing. */
const cleanRows = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [cleanText(name), cleanText(formatCell(cell))])),
  );

export const printAnswer = ({ objects, rows, note }: Printed, format: Format, { out, err }: Streams): void => {
  if (format === 'json') for (const one of objects) out.write(`${formatJson(one)}\n`);
  else if (format === 'csv') out.write(formatCsv(out.isTTY === true ? cleanRows(rows) : rows));
  else {
    if (rows.length > 0) out.write(`${listTableLines(rows, out).join('\n')}\n`);
    err.write(`${rows.length === 0 ? 'Nothing.' : ''}${cleanText(note ?? '')}\n`);
  }
};
