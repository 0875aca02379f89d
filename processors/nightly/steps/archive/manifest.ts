// The archive's contents, in PostgreSQL: a set of files is visible only once all of its files are in the store (AR-01, AR-03).
import type { Pool, PoolClient } from 'pg';
import { runInTransaction } from '../../../../infra/runtime/postgres/postgres.ts';
import { ANCHOR_SCHEMA_VERSION } from '../../../../schemas/anchored.ts';
import type { Micros } from '../../../../schemas/records.ts';
import type { Day } from '../../day.ts';
import type { ArchiveFormat } from './row-files.ts';
import type { Tier } from './tiers.ts';

/** Listing, layer and day of a set of files. */
type SetName = {
  readonly day: Day;
  readonly venue: string;
  readonly venueSymbol: string;
  /** Name of L-01: `oi`, `book_bands`, … */
  readonly layer: string;
};
export type StoredFile = {
  readonly format: ArchiveFormat;
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
};
export type FileSet = SetName & {
  readonly instrument: string;
  readonly tier: Tier;
  readonly rows: number;
  /** For a final set the position of its first leaf in the partition; null until the day is closed. */
  readonly firstLeaf: number | null;
  readonly files: readonly StoredFile[];
};

const PUT_SET = `insert into archive_sets as s
  (day, venue, venue_symbol, layer, instrument, tier, rows, schema_version, final, first_leaf)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint is not null, $9)
  on conflict (day, venue, venue_symbol, layer) do update set rows = excluded.rows, final = excluded.final,
    first_leaf = excluded.first_leaf, schema_version = excluded.schema_version, written_at = now()
  where not s.final`;
const REPLACE = `update archive_files set replaced_at = now()
  where day = $1 and venue = $2 and venue_symbol = $3 and layer = $4 and replaced_at is null and not object_key = any($5)`;
const PUT_FILE = `insert into archive_files (object_key, day, venue, venue_symbol, layer, format, bytes, sha256)
  values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (object_key) do update set replaced_at = null`;

/** Makes `set` current, inside the caller's transaction; a final set is never replaced. */
export const putSet = async (client: PoolClient, set: FileSet): Promise<void> => {
  const name = [set.day, set.venue, set.venueSymbol, set.layer];
  const { rowCount } = await client.query(PUT_SET, [
    ...name,
    ...[set.instrument, set.tier, set.rows, ANCHOR_SCHEMA_VERSION, set.firstLeaf],
  ]);
  if (rowCount !== 1) return;
  await client.query(REPLACE, [...name, set.files.map(({ key }) => key)]);
  for (const { key, format, bytes, sha256 } of set.files)
    await client.query(PUT_FILE, [key, ...name, format, bytes, sha256]);
};

export const recordSet = (database: Pool, set: FileSet): Promise<void> =>
  runInTransaction(database, (client) => putSet(client, set));

type RecordedSet = SetName & { readonly rows: number; readonly final: boolean };

/** The current sets of a day. */
export const readSets = async (database: Pool, day: Day): Promise<readonly RecordedSet[]> => {
  const { rows } = await database.query<Omit<RecordedSet, 'day'>>(
    'select venue, venue_symbol as "venueSymbol", layer, rows, final from archive_sets where day = $1',
    [day],
  );
  return rows.map((row) => ({ ...row, day }));
};

/** Files without a reference whose links have expired. */
export const readReplaced = async (database: Pool, before: Date): Promise<readonly string[]> => {
  const { rows } = await database.query<{ object_key: string }>(
    'select object_key from archive_files where replaced_at < $1',
    [before],
  );
  return rows.map(({ object_key }) => object_key);
};

export const forgetFile = async (database: Pool, key: string): Promise<void> => {
  await database.query('delete from archive_files where object_key = $1 and replaced_at is not null', [key]);
};

/** The closing instant; null until it is fixed. */
export const readClosing = async (database: Pool, day: Day): Promise<Micros | null> => {
  const { rows } = await database.query<{ closed_at: Date | null }>(
    'select closed_at from archive_days where day = $1',
    [day],
  );
  return rows[0]?.closed_at == null ? null : rows[0].closed_at.getTime() * 1_000;
};
