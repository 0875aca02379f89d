// The anchored tables: columns, their kinds and their order (AN-07), and the canonical text of a row (AN-11). Archive files, leaves and SQL come from it.
import { type CanonicalValue, canonicalJson, canonicalString } from './canonical-json.ts';
import { BANDS } from './layers.ts';
import { compareBytes } from './text-order.ts';

/** Changes only with the day it applies from (VER-03). */
export const ANCHOR_SCHEMA_VERSION = 1;

/** Figures are texts of decimal digits; integers are digits too, and INT64 in files (AR-07). */
export type AnchoredKind = 'text' | 'figure' | 'integer' | 'instant' | 'boolean';

export type AnchoredColumn = {
  readonly name: string;
  readonly kind: AnchoredKind;
  /** Column of the stored table; null when it is derived from the listing or from the order of leaves. */
  readonly stored: string | null;
};

export type AnchoredTable = {
  readonly table: string;
  /** Name of the layer in the archive and in proofs (L-01). */
  readonly layer: string;
  /** Column of the stored table that decides the UTC day of a row. */
  readonly designated: string;
  /** Whether a row at 00:00 belongs to the day that ends there (sampling windows) or to the one that begins. */
  readonly dayIncludes: 'end' | 'begin';
  /** Every column: `segment`, `symbol`, those of the table, `seq`, `late`. */
  readonly columns: readonly AnchoredColumn[];
  /** Names of the columns that order the rows of one listing. */
  readonly order: readonly string[];
};

/** A cell as it is hashed: digits, instants with six fractional digits, texts; null is empty. */
export type AnchoredCell = string | boolean | null;

type Part = { readonly [name: string]: AnchoredKind | readonly [AnchoredKind, string] };

const listColumns = (part: Part): AnchoredColumn[] =>
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

const READING: Part = {
  window_end: ['instant', 'at'],
  window_start: ['instant', 'from_at'],
  status: 'text',
  gap_cause: 'text',
  received_at: 'instant',
  venue_ts: 'instant',
};

const readingTable = (table: string, layer: string, figures: Part): AnchoredTable => ({
  table,
  layer,
  designated: 'at',
  dayIncludes: 'end',
  columns: [...identity, ...listColumns({ ...READING, ...figures }), ...ending],
  order: ['window_end', 'seq'],
});

const eventTable = (table: string, layer: string, figures: Part): AnchoredTable => ({
  table,
  layer,
  designated: 'received_at',
  dayIncludes: 'begin',
  columns: [
    ...identity,
    ...listColumns({
      received_at: 'instant',
      gap_start: ['instant', 'from_at'],
      status: 'text',
      gap_cause: 'text',
      venue_ts: 'instant',
      id: 'text',
      ...figures,
    }),
    ...ending,
  ],
  order: ['received_at', 'id', 'seq'],
});

const bandColumns: Part = Object.fromEntries(
  BANDS.flatMap((band) => [
    [`depth_bid_${band}`, 'figure'],
    [`depth_ask_${band}`, 'figure'],
    [`depth_bid_value_${band}`, 'figure'],
    [`depth_ask_value_${band}`, 'figure'],
    [`levels_bid_${band}`, 'integer'],
    [`levels_ask_${band}`, 'integer'],
  ]),
);

const candles: AnchoredTable = {
  table: 'candles',
  layer: 'candles',
  designated: 'open_time',
  dayIncludes: 'begin',
  columns: [
    ...identity,
    ...listColumns({
      open_time: 'instant',
      price_type: 'text',
      status: 'text',
      gap_cause: 'text',
      open: 'figure',
      high: 'figure',
      low: 'figure',
      close: 'figure',
      volume: 'figure',
      volume_unit: ['text', 'quantity_unit'],
      turnover: 'figure',
      trades: 'integer',
      received_at: 'instant',
    }),
    ...ending,
  ],
  order: ['open_time', 'price_type', 'seq'],
};

/** In the order of the day tree: ascending bytes of the table's name. */
export const ANCHORED_TABLES: readonly AnchoredTable[] = [
  readingTable('book_bands', 'book_bands', {
    mid: 'figure',
    ...bandColumns,
    quantity_unit: 'text',
  }),
  candles,
  readingTable('funding', 'funding', {
    funding: 'figure',
    funding_interval_ms: ['integer', 'funding_interval'],
    next_funding_at: 'instant',
  }),
  eventTable('liquidations', 'liquidation', {
    side: 'text',
    price: 'figure',
    price_kind: 'text',
    quantity: 'figure',
    quantity_unit: 'text',
  }),
  readingTable('mark', 'mark', { mark: 'figure', index: ['figure', 'index_price'] }),
  readingTable('open_interest', 'oi', { oi: 'figure', oi_unit: ['text', 'quantity_unit'] }),
  readingTable('stats', 'stats', {
    volume_24h: 'figure',
    volume_unit: ['text', 'quantity_unit'],
    turnover_24h: 'figure',
    change_24h: 'figure',
  }),
  readingTable('ticker', 'ticker', { last: 'figure' }),
  eventTable('trades', 'trades', { side: 'text', price: 'figure', quantity: 'figure', quantity_unit: 'text' }),
];

/** Place of a column in a row; throws for a name that is no column of the table. */
export const placeOf = ({ table, columns }: AnchoredTable, name: string): number => {
  const place = columns.findIndex((column) => column.name === name);
  if (place < 0) throw new Error(`table ${table} has no anchored column ${name}`);
  return place;
};

/** Writes rows of a table as they are hashed; cells stand in the order of `columns`. Throws CanonicalJsonError for a lone surrogate. */
export const createRowWriter = ({ columns }: AnchoredTable): ((cells: readonly AnchoredCell[]) => string) => {
  const sorted = columns.map(({ name }, place) => ({ name, place })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const labels = sorted.map(({ name }, at) => `${at === 0 ? '{' : ','}${canonicalString(name)}:`);
  const places = sorted.map(({ place }) => place);
  return (cells) => {
    let text = '';
    for (let at = 0; at < places.length; at++) {
      const cell = cells[places[at] as number] ?? null;
      text += labels[at] + (typeof cell === 'string' ? canonicalString(cell) : String(cell));
    }
    return `${text}}`;
  };
};

/** Null comes before any text; texts ascend by UTF-8 bytes. */
const compareTexts = (a: AnchoredCell, b: AnchoredCell): number => {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareBytes(String(a), String(b));
};

/** For `sort`: rows of one listing of one table in leaf order; `seq` compares as a number, instants and texts by bytes. */
export const createLeafOrder = (
  table: AnchoredTable,
): ((a: readonly AnchoredCell[], b: readonly AnchoredCell[]) => number) => {
  const keys = table.order.map((name) => ({ place: placeOf(table, name), isSeq: name === 'seq' }));
  return (a, b) => {
    for (const { place, isSeq } of keys) {
      const [x, y] = [a[place] ?? null, b[place] ?? null];
      const order = isSeq ? Number(x) - Number(y) : compareTexts(x, y);
      if (order !== 0) return order;
    }
    return 0;
  };
};

export type Partition = { readonly day: string; readonly table: string; readonly rows: number; readonly root: string };

/** Canonical text of a leaf of the day tree; `root` is 64 lower-case hex digits, `day` is YYYY-MM-DD (AN-11). */
export const partitionText = ({ day, table, rows, root }: Partition): string =>
  canonicalJson({ day, root, rows, schema_version: ANCHOR_SCHEMA_VERSION, table } satisfies CanonicalValue);
