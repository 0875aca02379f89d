// Links to archive files: signed by the key that all API processes share, or by the object store where it has an address (AR-02, AR-06).
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { ObjectStore } from '../../infra/runtime/files/object-store.ts';
import { LINK_S, writeLink } from './link.ts';
import { readObjectName } from './object-name.ts';

export type FileLinks = {
  /** Rejects while the database is unavailable and has not returned it before. */
  readonly secret: () => Promise<Uint8Array>;
  readonly store: ObjectStore;
  /** A URL that leads to the file for 15 minutes, and its end in milliseconds since 1970. */
  readonly make: (key: string, nowMs: number) => Promise<{ readonly url: string; readonly endsMs: number }>;
};

/** The key of the installation; the first process that reads it makes it. */
export const readLinkSecret = async (pool: Pick<Pool, 'query'>): Promise<Uint8Array> => {
  await pool.query('insert into link_key (secret) values ($1) on conflict do nothing', [randomBytes(32)]);
  const { rows } = await pool.query<{ secret: Buffer }>('select secret from link_key');
  if (rows[0] === undefined) throw new Error('link_key is empty');
  return rows[0].secret;
};

/** Read once, when a link is first made or followed: a process starts without its database. */
export const keepLinkSecret = (pool: Pick<Pool, 'query'>): FileLinks['secret'] => {
  let kept: Promise<Uint8Array> | null = null;
  return () => {
    kept ??= readLinkSecret(pool).catch((error: unknown) => {
      kept = null;
      throw error;
    });
    return kept;
  };
};

export const openFileLinks = (store: ObjectStore, secret: FileLinks['secret'], baseUrl: string): FileLinks => ({
  secret,
  store,
  make: async (key, nowMs) => {
    const expires = Math.floor(nowMs / 1_000) + LINK_S;
    const name = readObjectName(key);
    if (name === null) throw new Error(`"${key}" is not an archive file`);
    const url =
      store.presign === null
        ? `${baseUrl.replace(/\/$/, '')}${writeLink(await secret(), key, expires)}`
        : await store.presign(key, { expiresInS: LINK_S, disposition: name.disposition, type: name.type });
    return { url, endsMs: expires * 1_000 };
  },
});
