// Rows of an answer as lines instead of one JSON document: NDJSON and CSV, with the envelope in headers (N-15).
import { type JsonValue, RawJson, rawJson, writeJson } from '../../schemas/json.ts';

export type RowFormat = 'ndjson' | 'csv';
export const ROW_TYPES: Readonly<Record<RowFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};
const FORMAT_OF: Readonly<Record<string, RowFormat | 'json'>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
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

type Members = Readonly<Record<string, JsonValue>>;
type Layer = { readonly rows: readonly Members[] };
type Item = Members & { readonly layers?: Readonly<Record<string, Layer>>; readonly rows?: readonly Members[] };

/** Numbers keep the digits they were written with. */
const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined ? rawJson(context.source) : value;

/** Every row with the members that name its listing, and its layer where an item has several. */
const rowsOf = (itemsText: string): Members[] => {
  const items = JSON.parse(itemsText, keepDigits) as readonly Item[];
  return items.flatMap(({ venue, venue_symbol, instrument, quote, layers, rows = [] }) => {
    const listing = { venue, venue_symbol, instrument, quote } as Members;
    if (layers === undefined) return rows.map((row) => ({ ...listing, ...row }));
    return Object.entries(layers).flatMap(([layer, { rows: ofLayer }]) =>
      ofLayer.map((row) => ({ ...listing, layer, ...row })),
    );
  });
};

const isMap = (value: JsonValue): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

/** Members of members by their path: `values.mark`. */
const flatten = (row: Members, prefix = ''): [column: string, cell: JsonValue][] =>
  Object.entries(row).flatMap(([name, value]) =>
    isMap(value) ? flatten(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]],
  );

/** RFC 4180. Absent and null are both empty: the status says why. */
const cell = (value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : writeJson(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const LEADING = ['venue', 'venue_symbol', 'instrument', 'quote'];

/** Columns stand in the order in which they first appear. */
const writeCsv = (rows: readonly Members[]): string => {
  const flat = rows.map((row) => new Map(flatten(row)));
  const columns = [...new Set([...LEADING, ...flat.flatMap((row) => [...row.keys()])])];
  const lines = flat.map((row) => columns.map((column) => cell(row.get(column))).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
};

const writeNdjson = (rows: readonly Members[]): string => rows.map((row) => `${writeJson(row)}\n`).join('');

/** The rows of `items` as lines. */
export const writeRows = (format: RowFormat, itemsText: string): string =>
  format === 'csv' ? writeCsv(rowsOf(itemsText)) : writeNdjson(rowsOf(itemsText));

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
