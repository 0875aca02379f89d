// The list of QuestDB tables and their columns (design section 7): tasks fill `Row` by these names; DDL and views are generated from it.
import { CANDLES, EVENTS, READINGS } from '../../schemas/layers/index.ts';
import type { Members, MemberUnit, ReadingDeclaration } from '../../schemas/layers/layer.ts';
import { RETENTION_DAYS, toColumnName } from '../../schemas/tables.ts';

export type ColumnKind = 'symbol' | 'varchar' | 'timestamp' | 'long' | 'double' | 'boolean';
type Columns = Readonly<Record<string, ColumnKind>>;

export type TableSpec = {
  /** Designated timestamp: `Row.at` has its value, so it is not repeated in `Row.instants`. */
  readonly designated: string;
  /** Every column in the order of the table, the designated one first. */
  readonly columns: Columns;
  /** Identity of a row: a repeat with the same keys replaces it, and final rows repeat byte for byte. */
  readonly keys: readonly string[];
  /** Physical retention in days, two longer than the floor in answers; null: unlimited. */
  readonly ttlDays: number | null;
  readonly partition: 'DAY' | 'MONTH' | 'YEAR';
};

const computeTtl = (floorDays: number): number => floorDays + 2;

const listColumns = (
  members: Members,
  kind: ColumnKind,
  isWanted: (unit: MemberUnit) => boolean = () => true,
): Columns =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, { unit }]) =>
      isWanted(unit) ? [[toColumnName(name), kind] as const] : [],
    ),
  );

/** Rows with a quantity have its unit. */
const toUnitColumn = (members: Members): Columns =>
  Object.values(members).some(({ unit }) => unit === 'quantity') ? { quantity_unit: 'symbol' } : {};

/** Listing and status of a row: `present` has a reading, `missing` is a gap with its cause. */
const identity: Columns = {
  listing: 'symbol',
  venue: 'symbol',
  status: 'symbol',
  gap_cause: 'symbol',
  late: 'boolean',
};
const times: Columns = { venue_ts: 'timestamp', received_at: 'timestamp', recorded_at: 'timestamp' };
/**
 * `conn` is text, not a symbol, because the number of connection ids is unbounded. `digits` and `null_reasons` are JSON objects keyed by column
 * and by member. `src_offset` is the offset in `raw.<venue>` of the record that made the row (for a gap: that sealed it).
 */
const origin: Columns = { conn: 'varchar', digits: 'varchar', null_reasons: 'varchar', src_offset: 'long' };

/** `(from_at, at]` is the span a row covers: one sampling window, or for a gap row all windows it closes. */
const toReadingTable = ({ members, instants }: ReadingDeclaration): TableSpec => ({
  designated: 'at',
  columns: {
    at: 'timestamp',
    from_at: 'timestamp',
    ...identity,
    ...times,
    horizon_ms: 'long',
    horizon_source: 'symbol',
    anchor: 'symbol',
    valid_until: 'timestamp',
    ...listColumns(members, 'double'),
    ...toUnitColumn(members),
    ...Object.fromEntries(instants.map((name) => [name, 'timestamp' as const])),
    ...origin,
  },
  keys: ['at', 'listing', 'src_offset', 'late'],
  ttlDays: computeTtl(RETENTION_DAYS.readings),
  partition: 'DAY',
});

const toEventColumn = (unit: MemberUnit): ColumnKind => (unit === 'code' ? 'symbol' : 'double');

/** `id` is the venue's, else `<conn_id>.<seq>.<index>`. A gap is a `missing` row over `(from_at, received_at]` with an id of its own. */
const toEventTable = ({ members }: { readonly members: Members }): TableSpec => ({
  designated: 'received_at',
  columns: {
    received_at: 'timestamp',
    from_at: 'timestamp',
    ...identity,
    venue_ts: 'timestamp',
    recorded_at: 'timestamp',
    id: 'varchar',
    ...Object.fromEntries(Object.entries(members).map(([name, { unit }]) => [name, toEventColumn(unit)])),
    ...toUnitColumn(members),
    ...origin,
  },
  keys: ['received_at', 'listing', 'id'],
  ttlDays: computeTtl(RETENTION_DAYS.events),
  partition: 'DAY',
});

/** `close_time` is exclusive (H-11). A no-trade minute is `present` with volume 0 and no prices (H-12); `minutes_*` are the `base_candles`. */
const candles: TableSpec = {
  designated: 'open_time',
  columns: {
    open_time: 'timestamp',
    close_time: 'timestamp',
    ...identity,
    price_type: 'symbol',
    timeframe: 'symbol',
    ...times,
    ...listColumns(CANDLES.members, 'double', (unit) => unit !== 'count'),
    ...toUnitColumn(CANDLES.members),
    ...listColumns(CANDLES.members, 'long', (unit) => unit === 'count'),
    minutes_expected: 'long',
    minutes_present: 'long',
    minutes_no_trades: 'long',
    ...origin,
  },
  keys: ['open_time', 'listing', 'price_type', 'timeframe', 'src_offset', 'late'],
  ttlDays: computeTtl(RETENTION_DAYS.candles),
  partition: 'DAY',
};

/** Alive spans, written by each task when they end: a current one is not final and has no row. */
const connections: TableSpec = {
  designated: 'from_at',
  columns: {
    from_at: 'timestamp',
    to_at: 'timestamp',
    venue: 'symbol',
    task: 'symbol',
    conn: 'varchar',
    slot: 'varchar',
    cause: 'symbol',
    recorded_at: 'timestamp',
    src_offset: 'long',
  },
  keys: ['from_at', 'task', 'conn', 'src_offset'],
  ttlDays: computeTtl(RETENTION_DAYS.connections),
  partition: 'DAY',
};

/** One row a version; `record` is the whole listing record as JSON, the columns are for joins. */
const listings: TableSpec = {
  designated: 'written_at',
  columns: {
    written_at: 'timestamp',
    listing: 'symbol',
    venue: 'symbol',
    venue_symbol: 'varchar',
    instrument: 'symbol',
    base: 'symbol',
    quote: 'symbol',
    venue_kind: 'symbol',
    status: 'symbol',
    quantity_unit: 'symbol',
    oi_sides: 'symbol',
    contract_size: 'double',
    multiplier: 'double',
    tick_size: 'double',
    lot_size: 'double',
    min_qty: 'double',
    min_notional: 'double',
    funding_interval: 'varchar',
    listed_at: 'timestamp',
    first_seen_at: 'timestamp',
    delisted_at: 'timestamp',
    record: 'varchar',
    digits: 'varchar',
    src_offset: 'long',
  },
  keys: ['written_at', 'listing'],
  ttlDays: null,
  partition: 'YEAR',
};

/** One row a version and task; `layers` is the JSON of `CapabilityVersion.layers`. */
const capabilities: TableSpec = {
  designated: 'written_at',
  columns: { written_at: 'timestamp', venue: 'symbol', task: 'symbol', layers: 'varchar', src_offset: 'long' },
  keys: ['written_at', 'venue', 'task'],
  ttlDays: null,
  partition: 'YEAR',
};

/** Every table by its name without namespace. */
export const TABLES: Readonly<Record<string, TableSpec>> = {
  ...Object.fromEntries(READINGS.map((layer) => [layer.table, toReadingTable(layer)])),
  [CANDLES.table]: candles,
  ...Object.fromEntries(EVENTS.map((layer) => [layer.table, toEventTable(layer)])),
  connections,
  listings,
  capabilities,
};

/** Only listings are looked up individually; any other index would only cost writes. */
export const INDEXED: ReadonlySet<string> = new Set(['listing']);
