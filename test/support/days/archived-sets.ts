// Sets of archive files as the nightly step leaves them, in a real PostgreSQL and a real folder store; their bytes are random.
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { ObjectStore } from '../../../infra/runtime/files/object-store.ts';

const FORMATS = { parquet: 'parquet', csv: 'csv.zst', jsonl: 'jsonl.zst' };

export type SetOf = {
  readonly day?: string;
  readonly venue?: string;
  readonly symbol?: string;
  readonly layer?: string;
  readonly tier?: string;
  readonly instrument?: string;
};

/** Adds one set: its files to the store, then the manifest's rows. */
export const addArchivedSet = async (pool: Pool, store: ObjectStore, set: SetOf = {}): Promise<void> => {
  const { day = '2026-01-14', venue = 'binance', symbol = 'BTCUSDT', layer = 'mark' } = set;
  const { tier = 'core', instrument = 'BTC-PERP' } = set;
  await pool.query("insert into archive_days (day, tiers) values ($1, '{}') on conflict do nothing", [day]);
  const name = [day, venue, symbol, layer];
  await pool.query(
    `insert into archive_sets (day, venue, venue_symbol, layer, instrument, tier, rows, schema_version, written_at)
     values ($1, $2, $3, $4, $5, $6, 3, 1, '2026-01-15T06:00:12.345678Z')`,
    [...name, instrument, tier],
  );
  for (const [format, ending] of Object.entries(FORMATS)) {
    const bytes = randomBytes(100 + format.length);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const key = `${day}/${layer}/${encodeURIComponent(`${venue}:${symbol}`)}/${sha256}.${ending}`;
    const path = join(await store.workFolder('one'), 'rows');
    writeFileSync(path, bytes);
    await store.put(key, path);
    await pool.query(
      `insert into archive_files (object_key, day, venue, venue_symbol, layer, format, bytes, sha256)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [key, ...name, format, bytes.length, sha256],
    );
  }
};
