// SQL text of the QuestDB tables and of the analysts' views, generated from the list of tables (design section 7).
import { EVENTS, READINGS } from '../../schemas/layers/index.ts';
import { toTableName, toTablePrefix } from '../../schemas/tables.ts';
import { type ColumnKind, INDEXED, TABLES, type TableSpec } from './tables.ts';

const formatColumn = (name: string, kind: ColumnKind): string =>
  `${name} ${kind.toUpperCase()}${INDEXED.has(name) ? ' INDEX' : ''}`;

/** TTL precedes DEDUP: the server refuses the reverse order. */
export function createTable(table: string, spec: TableSpec, namespace: string): string {
  const columns = Object.entries(spec.columns).map(([name, kind]) => `  ${formatColumn(name, kind)}`);
  const ttl = spec.ttlDays === null || namespace !== '' ? '' : ` TTL ${spec.ttlDays} DAYS`;
  return [
    `CREATE TABLE IF NOT EXISTS '${toTableName(namespace, table)}' (`,
    columns.join(',\n'),
    `) TIMESTAMP(${spec.designated}) PARTITION BY ${spec.partition}${ttl} WAL`,
    `DEDUP UPSERT KEYS(${spec.keys.join(', ')})`,
  ].join('\n');
}

/** `table`: its name with the namespace. */
export const addColumn = (table: string, name: string, kind: ColumnKind): string =>
  `ALTER TABLE '${table}' ADD COLUMN IF NOT EXISTS ${formatColumn(name, kind)}`;

/** `table`: its name with the namespace. Rows that are there stay as they are. */
export const setKeys = (table: string, keys: readonly string[]): string =>
  `ALTER TABLE '${table}' DEDUP ENABLE UPSERT KEYS(${keys.join(', ')})`;

/** Columns for the service only: the origin of a row, not its content. */
const INTERNAL: ReadonlySet<string> = new Set(['status', 'gap_cause', 'late', 'from_at', 'src_offset']);

const selectPresentRows = (table: string, spec: TableSpec, namespace: string): string => {
  const columns = Object.keys(spec.columns).filter((name) => !INTERNAL.has(name));
  return `SELECT ${columns.join(', ')} FROM '${toTableName(namespace, table)}' WHERE status = 'present' AND NOT late`;
};

/** Layers with gaps as rows of their table. Gaps of candles are rows of `candles`. */
const GAP_SOURCES = [...READINGS, ...EVENTS];

/** Adjacent gap rows with one cause are one interval: a row that does not start at the last one's end opens an island. */
function makeGapsView(namespace: string): string {
  const rows = GAP_SOURCES.map(
    ({ table, recordName }) =>
      `SELECT listing, venue, '${recordName}' layer, from_at from_at, ${TABLES[table]?.designated} to_at, gap_cause cause` +
      ` FROM '${toTableName(namespace, table)}' WHERE status = 'missing' AND NOT late`,
  ).join('\nUNION ALL\n');
  const over = 'OVER (PARTITION BY listing, layer, cause ORDER BY from_at';
  return `SELECT listing, venue, layer, min(from_at) from_at, max(to_at) to_at, cause FROM (
SELECT listing, venue, layer, from_at, to_at, cause,
  sum(opens) ${over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) island FROM (
SELECT listing, venue, layer, from_at, to_at, cause,
  CASE WHEN lag(to_at) ${over}) = from_at THEN 0 ELSE 1 END opens FROM (
${rows}
))) GROUP BY listing, venue, layer, cause, island`;
}

/** The analysts' contract: `v_<table>` are final present rows, `v_gaps` the intervals without any. */
export function listViewTexts(namespace: string): readonly (readonly [name: string, select: string])[] {
  const present = Object.entries(TABLES).filter(([, spec]) => 'late' in spec.columns);
  const prefix = toTablePrefix(namespace);
  return [
    ...present.map(([table, spec]) => [`${prefix}v_${table}`, selectPresentRows(table, spec, namespace)] as const),
    [`${prefix}v_gaps`, makeGapsView(namespace)],
  ];
}

export const createView = (name: string, select: string): string =>
  `CREATE OR REPLACE VIEW '${name}' AS (\n${select}\n)`;

/** Everything that `ensureTables` creates in an empty database, as one text for people (infra/questdb/schema.sql). */
export const formatSchema = (namespace: string): string =>
  [
    '-- Made by infra/dev/tools/print-ddl.ts from processors/sinks/tables.ts: change those, then print again.',
    ...Object.entries(TABLES).map(([table, spec]) => `${createTable(table, spec, namespace)};`),
    ...listViewTexts(namespace).map(([name, select]) => `${createView(name, select)};`),
  ].join('\n\n');
