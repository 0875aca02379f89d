// The anchored tables: columns, kinds and order (AN-07), and the canonical text of a row (AN-11). Archive files, leaves and SQL are derived from it.
import { type CanonicalValue, formatCanonicalJson, formatCanonicalString } from './canonical-json.ts';
import { CANDLES, EVENTS, READINGS } from './layers/index.ts';
import type { AnchoredKind, AnchoredPart } from './layers/layer.ts';
import { compareBytes } from './text-order.ts';

export type { AnchoredKind } from './layers/layer.ts';

/** Changes only with the day from which it applies (VER-03). */
export const ANCHOR_SCHEMA_VERSION = 1;

export type AnchoredColumn = {
  readonly name: string;
  readonly kind: AnchoredKind;
  /** Column of the stored table; null when derived from the listing or from the order of leaves. */
  readonly stored: string | null;
};

export type AnchoredTable = {
  readonly table: string;
  /** Name of the layer in the archive and in proofs (L-01). */
  readonly layer: string;
  /** Column of the stored table that determines the UTC day of a row. */
  readonly designated: string;
  /** Whether a row at 00:00 belongs to the day that ends there (sampling windows) or to the one that starts. */
  readonly dayIncludes: 'end' | 'begin';
  /** Every column: `segment`, `symbol`, those of the table, `seq`, `late`. */
  readonly columns: readonly AnchoredColumn[];
  /** Names of the columns that order the rows of one listing. */
  readonly order: readonly string[];
};

/** A cell in its hashed form: digits, instants with six fractional digits, texts; null is empty. */
export type AnchoredCell = string | boolean | null;

const listColumns = (part: AnchoredPart): AnchoredColumn[] =>
  Object.entries(part).map(([name, given]) =>
    typeof given === 'string' ? { name, kind: given, stored: name } : { name, kind: given[0], stored: given[1] },
  );

const identity: readonly AnchoredColumn[] = [
  { name: 'segment', kind: 'text', stored: null },
  { name: 'symbol', kind: 'text', stored: null },
];
const ending: readonly AnchoredColumn[] = [
  { name: 'seq', kind: 'integer', stored: null },
  { name: 'late', kind: 'boolean', stored: 'late' },
];

/** Columns of rows of a kind, around those of the layer. */
const READING: AnchoredPart = {
  window_end: ['instant', 'at'],
  window_start: ['instant', 'from_at'],
  status: 'text',
  gap_cause: 'text',
  received_at: 'instant',
  venue_ts: 'instant',
};
const EVENT: AnchoredPart = {
  received_at: 'instant',
  gap_start: ['instant', 'from_at'],
  status: 'text',
  gap_cause: 'text',
  venue_ts: 'instant',
  id: 'text',
};
const CANDLE: AnchoredPart = { open_time: 'instant', price_type: 'text', status: 'text', gap_cause: 'text' };

type Family = Pick<AnchoredTable, 'designated' | 'dayIncludes' | 'order'> & {
  readonly before: AnchoredPart;
  readonly after?: AnchoredPart;
};
const READING_ROWS: Family = {
  designated: 'at',
  dayIncludes: 'end',
  order: ['window_end', 'seq'],
  before: READING,
};
const EVENT_ROWS: Family = {
  designated: 'received_at',
  dayIncludes: 'begin',
  order: ['received_at', 'id', 'seq'],
  before: EVENT,
};
const CANDLE_ROWS: Family = {
  designated: 'open_time',
  dayIncludes: 'begin',
  order: ['open_time', 'price_type', 'seq'],
  before: CANDLE,
  after: { received_at: 'instant' },
};

type Declared = { readonly table: string; readonly recordName: string; readonly anchored: AnchoredPart | null };

const toTable =
  ({ before, after = {}, ...family }: Family) =>
  ({ table, recordName, anchored }: Declared): readonly AnchoredTable[] => {
    if (anchored === null) return [];
    const columns = [...identity, ...listColumns({ ...before, ...anchored, ...after }), ...ending];
    return [{ table, layer: recordName, ...family, columns }];
  };

/** In the order of the day tree: ascending bytes of the table's name. */
export const ANCHORED_TABLES: readonly AnchoredTable[] = [
  ...READINGS.flatMap(toTable(READING_ROWS)),
  ...EVENTS.flatMap(toTable(EVENT_ROWS)),
  ...toTable(CANDLE_ROWS)(CANDLES),
].sort((a, b) => compareBytes(a.table, b.table));

export type StoredColumn = AnchoredColumn & { readonly stored: string };

/** Columns that are stored; the others are known from the listing or counted. */
export const listStored = ({ columns }: AnchoredTable): StoredColumn[] =>
  columns.filter((column): column is StoredColumn => column.stored !== null);

/** Index of a column in a row; throws for an unknown name. */
export const toPlace = ({ table, columns }: AnchoredTable, name: string): number => {
  const place = columns.findIndex((column) => column.name === name);
  if (place < 0) throw new Error(`table ${table} has no anchored column ${name}`);
  return place;
};

/** Writes the hashed text of a table's rows; cells are in the order of `columns`. Throws CanonicalJsonError for a lone surrogate. */
export const createRowWriter = ({ columns }: AnchoredTable): ((cells: readonly AnchoredCell[]) => string) => {
  const sorted = columns.map(({ name }, place) => ({ name, place })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const labels = sorted.map(({ name }, at) => `${at === 0 ? '{' : ','}${formatCanonicalString(name)}:`);
  const places = sorted.map(({ place }) => place);
  // Digits and instants contain nothing to escape.
  const mayEscape = places.map((place) => columns[place]?.kind === 'text');
  return (cells) => {
    let text = '';
    for (let at = 0; at < places.length; at++) {
      const cell = cells[places[at] as number] ?? null;
      text += labels[at];
      if (typeof cell !== 'string') text += String(cell);
      else text += mayEscape[at] ? formatCanonicalString(cell) : `"${cell}"`;
    }
    return `${text}}`;
  };
};

export type Partition = { readonly day: string; readonly table: string; readonly rows: number; readonly root: string };

/** Canonical text of a leaf of the day tree; `root` is 64 lower-case hex digits, `day` is YYYY-MM-DD (AN-11). */
export const formatPartitionLeaf = ({ day, table, rows, root }: Partition): string =>
  formatCanonicalJson({ day, root, rows, schema_version: ANCHOR_SCHEMA_VERSION, table } satisfies CanonicalValue);
