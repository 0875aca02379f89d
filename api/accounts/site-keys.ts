// Keys that the processes of the account site share: made once an installation, kept in PostgreSQL unless a setting gives one.
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';

/** `forms` signs form tokens, `connections` makes the keys of connections, `internal` opens the private listener. */
type SiteKeyName = 'forms' | 'connections' | 'internal';

/** 32 bytes. The first process that reads the key makes it; `given`, the text of a setting, replaces it. */
export const readSiteKey = async (
  pool: Pick<Pool, 'query'>,
  name: SiteKeyName,
  given: string | null,
): Promise<Buffer> => {
  if (given !== null) return createHash('sha256').update(given).digest();
  await pool.query('insert into site_keys (name, secret) values ($1, $2) on conflict do nothing', [
    name,
    randomBytes(32),
  ]);
  const { rows } = await pool.query<{ secret: Buffer }>('select secret from site_keys where name = $1', [name]);
  if (rows[0] === undefined) throw new Error(`site_keys has no ${name}`);
  return rows[0].secret;
};

/** Read on first use, and again while that fails: a process starts without its database. */
export const keepSiteKey = (
  pool: Pick<Pool, 'query'>,
  name: SiteKeyName,
  given: string | null,
): (() => Promise<Buffer>) => {
  let kept: Promise<Buffer> | null = null;
  return () => {
    kept ??= readSiteKey(pool, name, given).catch((error: unknown) => {
      kept = null;
      throw error;
    });
    return kept;
  };
};
