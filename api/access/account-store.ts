// One key in PostgreSQL: its facts and the day's counted requests (AC-01).
import type { Pool } from 'pg';
import type { Micros } from '../../schemas/records.ts';
import { QUOTAS } from '../contract/quotas.ts';
import { nameQuota } from './quotas.ts';

export type KeyFacts = {
  readonly key_id: string;
  readonly name: string;
  readonly kind: string;
  readonly created_at: Micros;
  readonly expires_at: Micros | null;
  readonly plan_since: Micros;
  /** Counted requests of the day by class, and what else was used by day by its quota. */
  readonly used: Readonly<Record<string, number>>;
};

/** Facts of a key on a UTC day; null when there is no such key. Rejects when the store is unavailable. */
export type AccountStore = { readonly read: (keyId: string, day: string) => Promise<KeyFacts | null> };

type Row = Omit<KeyFacts, 'created_at' | 'expires_at' | 'plan_since'> & {
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly plan_since: Date;
};

const READ = `
  select key_id, name, kind, created_at, expires_at, plan_since,
    (select coalesce(jsonb_object_agg(class, used), '{}') from key_usage u
     where u.key_id = any(array[k.key_id] || $3::text[]) and u.day = $2) as used
  from api_keys k where key_id = $1`;

const toMicros = (date: Date): Micros => date.getTime() * 1_000;

export const openAccountStore = (pool: Pick<Pool, 'query'>): AccountStore => ({
  async read(keyId, day) {
    const { rows } = await pool.query<Row>(READ, [keyId, day, QUOTAS.map((quota) => nameQuota(keyId, quota))]);
    const row = rows[0];
    if (row === undefined) return null;
    return {
      ...row,
      created_at: toMicros(row.created_at),
      expires_at: row.expires_at === null ? null : toMicros(row.expires_at),
      plan_since: toMicros(row.plan_since),
    };
  },
});
