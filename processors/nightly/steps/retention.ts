// Deletes data past its retention: whole days of QuestDB, rows of PostgreSQL.
import type { Pool } from 'pg';
import type { QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { TABLES, type TableSpec } from '../../sinks/tables.ts';
import { findDayStart, toDayAt } from '../day.ts';
import type { Step } from '../step.ts';

const DUE_MS = 5 * 3_600_000;

/** Retention of PostgreSQL's rows in days, counted from an instant column. Audits, ledgers and open incidents stay. */
const ROW_DAYS: readonly (readonly [table: string, instant: string, days: number, where: string])[] = [
  ['settled_requests', 'asked_at', 60, 'true'],
  ['nightly_steps', 'day', 400, 'true'],
  ['daily_turnover', 'day', 90, 'true'],
  ['daily_presence', 'day', 400, 'true'],
  ['key_usage', 'day', 400, 'true'],
  ['key_meters', 'refilled_at', 30, 'true'],
  ['incidents', 'closed_at', 400, "state <> 'open'"],
  // One row an API process. It repeats a report within minutes, if at all.
  ['meter_tellings', 'told_at', 30, 'true'],
  // The states that a caller received last: a key that has ended reads no more, a payer may.
  [
    'rule_told',
    'told_at',
    30,
    'exists (select from api_keys k where k.key_id = caller and least(k.revoked_at, k.expires_at) < $1)',
  ],
];

/**
 * Drops the partitions of a table that end before the floor; returns their number. QuestDB's own TTL runs only when rows
 * arrive, so a table without new rows would never expire. The newest partition always stays.
 */
export const dropPartitions = async (
  questdb: QuestdbReader,
  table: string,
  { designated, floorMs }: { readonly designated: string; readonly floorMs: number },
): Promise<number> => {
  const floor = new Date(floorMs).toISOString();
  const [found] = await questdb.query({
    text: `SELECT count() FROM table_partitions('${table}') WHERE NOT active AND maxTimestamp < '${floor}'`,
  });
  const count = Number(found?.[0] ?? 0);
  if (count > 0)
    await questdb.query({ text: `ALTER TABLE '${table}' DROP PARTITION WHERE ${designated} < '${floor}'` });
  return count;
};

const listExpiring = (): [string, TableSpec & { readonly ttlDays: number }][] =>
  Object.entries(TABLES).flatMap(([name, spec]) =>
    spec.ttlDays === null ? [] : [[name, { ...spec, ttlDays: spec.ttlDays }]],
  );

const dropRows = async (database: Pool, nowMs: number): Promise<number> => {
  let dropped = 0;
  for (const [table, instant, days, where] of ROW_DAYS) {
    const floor = new Date(nowMs - days * MS_PER_DAY);
    const { rowCount } = await database.query(`delete from ${table} where ${instant} < $1 and ${where}`, [floor]);
    dropped += rowCount ?? 0;
  }
  return dropped;
};

export const retention: Step = {
  name: 'retention',
  summary: 'partitions and rows past their time are dropped',
  dueMs: DUE_MS,
  lock: 'retention',
  run: async (day, { database, questdb, namespace, nowMs }) => {
    const fromMs = Math.min(findDayStart(day), nowMs());
    let partitions = 0;
    // Tables of a replay never expire.
    for (const [name, { designated, ttlDays }] of namespace === '' ? listExpiring() : []) {
      const floorMs = findDayStart(toDayAt(fromMs - ttlDays * MS_PER_DAY));
      partitions += await dropPartitions(questdb, toTableName(namespace, name), { designated, floorMs });
    }
    return `${partitions} partitions and ${await dropRows(database, fromMs)} rows dropped`;
  },
};
