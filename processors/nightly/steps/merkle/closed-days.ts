// Records of closed days, in PostgreSQL: the closing instant, partitions with their final sets, the day's root.
import type { Pool } from 'pg';
import { runInTransaction } from '../../../../infra/runtime/postgres/postgres.ts';
import { ANCHOR_SCHEMA_VERSION, type Partition } from '../../../../schemas/anchored.ts';
import type { Micros } from '../../../../schemas/records.ts';
import type { Day } from '../../day.ts';
import { type FileSet, putSet, readClosing } from '../archive/manifest.ts';

/** Fixes the closing instant of a day with fixed tiers; returns the effective one, which may be an earlier run's. */
export const fixClosing = async (database: Pool, day: Day, closedAt: Micros): Promise<Micros> => {
  await database.query('update archive_days set closed_at = $2 where day = $1 and closed_at is null', [
    day,
    new Date(closedAt / 1_000),
  ]);
  return (await readClosing(database, day)) ?? closedAt;
};

type ClosedPartition = Partition & { readonly leaf: string };

/** Complete partitions, in the order of the day tree. */
export const readPartitions = async (database: Pool, day: Day): Promise<readonly ClosedPartition[]> => {
  const { rows } = await database.query<{ table: string; rows: string; root: string; leaf: string }>(
    `select table_name as "table", rows, root, leaf from anchor_partitions where day = $1 order by table_name collate "C"`,
    [day],
  );
  return rows.map((row) => ({ ...row, day, rows: Number(row.rows) }));
};

/** Records a partition and the final sets of its listings in one transaction: a kill leaves both or neither. */
export const recordPartition = (
  database: Pool,
  { day, table, rows, root, leaf, treeKey }: ClosedPartition & { readonly treeKey: string },
  sets: readonly FileSet[],
): Promise<void> =>
  runInTransaction(database, async (client) => {
    for (const set of sets) await putSet(client, set);
    await client.query(
      `insert into anchor_partitions (day, table_name, rows, root, leaf, tree_key) values ($1, $2, $3, $4, $5, $6)
       on conflict (day, table_name) do nothing`,
      [day, table, rows, root, leaf, treeKey],
    );
  });

/** Whether the day has its root, which no later run changes (AN-12). */
export const hasRoot = async (database: Pool, day: Day): Promise<boolean> =>
  ((await database.query('select 1 from anchor_days where day = $1', [day])).rowCount ?? 0) > 0;

export const recordDay = async (database: Pool, day: Day, root: string): Promise<void> => {
  await database.query(
    'insert into anchor_days (day, schema_version, day_root) values ($1, $2, $3) on conflict (day) do nothing',
    [day, ANCHOR_SCHEMA_VERSION, root],
  );
};

/** Sets of a closed day without a leaf: their rows were archived but not readable at the closing. */
export const readLostSets = async (database: Pool, day: Day): Promise<readonly string[]> => {
  const { rows } = await database.query<{ name: string }>(
    `select layer || ' of ' || venue || ':' || venue_symbol as name from archive_sets where day = $1 and not final order by 1`,
    [day],
  );
  return rows.map(({ name }) => name);
};
