// Which rules this process evaluates: shards of all rules, leased in PostgreSQL and shared evenly by the processes that live.
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

/** More than processes there will be; each rule is in one, by its phase. */
export const SHARDS = 64;
const LEASE_MS = 10_000;
/** A lease is renewed this often in its time. */
const RENEWALS = 4;

export type Leases = {
  readonly renewEveryMs: number;
  /** Renews, and returns the shards that are held from now on. Rejects when the store is unavailable. */
  readonly renew: () => Promise<ReadonlySet<number>>;
  /** Others may take them at once. */
  readonly release: () => Promise<void>;
};

const RELEASE = `with gone as (delete from rule_nodes where node = $1) delete from rule_shards where node = $1`;

export const openLeases = (pool: Pick<Pool, 'query'>, leaseMs = LEASE_MS): Leases => {
  const node = `rules_${randomUUID()}`;
  return {
    renewEveryMs: leaseMs / RENEWALS,
    async renew() {
      const { rows } = await pool.query<{ shard: number }>('select lease_rule_shards($1, $2, $3) as shard', [
        node,
        SHARDS,
        Math.round(leaseMs),
      ]);
      return new Set(rows.map(({ shard }) => shard));
    },
    async release() {
      await pool.query(RELEASE, [node]);
    },
  };
};
