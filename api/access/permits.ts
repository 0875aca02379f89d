// The source of the permits of keys: one row per key in PostgreSQL for all processes, or memory alone.
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { limitTime } from '../../infra/runtime/time/within.ts';

/** What a process returns, has counted, and requests, for one key. */
export type Ask = {
  readonly keyId: string;
  /** UTC day that the counts belong to, `2026-01-15`. */
  readonly day: string;
  /** Permits a second, and the most that the bucket holds. */
  readonly rate: number;
  readonly burst: number;
  readonly dayLimit: number;
  /** Requests that wait for a permit. */
  readonly waiting: number;
  /** Permits that the process would like to hold when no request waits; at most a quarter of the bucket's level is granted. */
  readonly ahead: number;
  /** Unused permits that go back into the bucket; negative: permits that were taken without it. The bucket's level never falls below `-burst`. */
  readonly returned: number;
  /** The initial level of a bucket that this process opens for itself; full when left out. */
  readonly opening?: number;
  /** Correction of the permits handed out this day. */
  readonly dayChange: number;
  /** Counted requests by class. */
  readonly used: Readonly<Record<string, number>>;
};

export type Grant = {
  readonly permits: number;
  /** The remaining level of the bucket. */
  readonly tokens: number;
  /** Permits handed out this day, to all processes. */
  readonly granted: number;
};

export type Permits = {
  /** Takes permits: one grant per ask, in their order. Rejects when the store does not answer. */
  readonly exchange: (asks: readonly Ask[], nowMs: number) => Promise<readonly Grant[]>;
  /** The same for counts and returned permits. A report that is repeated under its number, since its answer was lost, counts once. */
  readonly report: (sent: PermitExchange, nowMs: number) => Promise<readonly Grant[]>;
};

/** A report and its number, which rises with each report of a process. */
export type PermitExchange = { readonly number: number; readonly asks: readonly Ask[] };

/** Requests that wait together began at different times, at most so far apart. */
export const TOGETHER_MS = 5_000;

type Bucket = { tokens: number; at: number; day: string; granted: number };

/** The arithmetic of `exchange_permits` (infra/postgres) on a bucket in memory. */
const takeFrom = (bucket: Bucket, ask: Ask, nowMs: number): Grant => {
  if (bucket.day !== ask.day) Object.assign(bucket, { day: ask.day, granted: 0 });
  bucket.granted = Math.max(0, bucket.granted + ask.dayChange);
  const refilled = bucket.tokens + ask.returned + (Math.max(0, nowMs - bucket.at) / 1_000) * ask.rate;
  bucket.tokens = Math.max(-ask.burst, Math.min(ask.burst, refilled));
  // Requests that began together come in any order; a clock that is further back was set back, and the bucket is filled from now on.
  bucket.at = bucket.at - nowMs > TOGETHER_MS ? nowMs : Math.max(nowMs, bucket.at);
  const wanted = Math.max(ask.waiting, Math.min(ask.ahead, Math.floor(bucket.tokens / 4)));
  const permits = Math.max(0, Math.min(wanted, Math.floor(bucket.tokens), ask.dayLimit - bucket.granted));
  bucket.tokens -= permits;
  bucket.granted += permits;
  return { permits, tokens: bucket.tokens, granted: bucket.granted };
};

/** `drop-oldest`: a forgotten key starts with a full bucket. */
const MOST_KEYS = 50_000;

/** Permits of this process alone. */
export const createLocalPermits = (): Permits => {
  const buckets = new Map<string, Bucket>();
  const findBucket = (ask: Ask, nowMs: number): Bucket => {
    const known = buckets.get(ask.keyId);
    if (known !== undefined) return known;
    const bucket = { tokens: ask.opening ?? ask.burst, at: nowMs, day: ask.day, granted: 0 };
    buckets.set(ask.keyId, bucket);
    const oldest = buckets.size > MOST_KEYS ? buckets.keys().next().value : undefined;
    if (oldest !== undefined) buckets.delete(oldest);
    return bucket;
  };
  const exchange = async (asks: readonly Ask[], nowMs: number): Promise<Grant[]> =>
    asks.map((ask) => takeFrom(findBucket(ask, nowMs), ask, nowMs));
  return { exchange, report: ({ asks }, nowMs) => exchange(asks, nowMs) };
};

type GrantRow = {
  readonly key_id: string;
  readonly permits: string;
  readonly tokens: number;
  readonly granted: string;
};

const EXCHANGE = 'select key_id, permits, tokens, granted from exchange_permits($1)';
const REPORT = 'select key_id, permits, tokens, granted from tell_permits($1, $2, $3)';
const ANSWER_MS = 30_000;

const toJson = (ask: Ask): Readonly<Record<string, unknown>> => ({
  key_id: ask.keyId,
  day: ask.day,
  rate: ask.rate,
  burst: ask.burst,
  day_limit: ask.dayLimit,
  waiting: ask.waiting,
  ahead: ask.ahead,
  returned: ask.returned,
  day_change: ask.dayChange,
  used: ask.used,
});

/** The function returns grants in its own order; if a key has requests for two days, the later day applies. */
const sortGrants = (asks: readonly Ask[], rows: readonly GrantRow[]): Grant[] => {
  const byKey = new Map(rows.map((row) => [row.key_id, row]));
  return asks.map(({ keyId }) => {
    const row = byKey.get(keyId);
    if (row === undefined) throw new Error('the store granted nothing');
    return { permits: Number(row.permits), tokens: row.tokens, granted: Number(row.granted) };
  });
};

/** Permits that all processes on one database share; the database's clock fills the buckets. */
export const createSharedPermits = (pool: Pick<Pool, 'query'>): Permits => {
  const node = randomUUID();
  const writeAsks = (asks: readonly Ask[]): string => JSON.stringify(asks.map(toJson));
  return {
    async exchange(asks) {
      const { rows } = await limitTime(pool.query<GrantRow>(EXCHANGE, [writeAsks(asks)]), ANSWER_MS);
      return sortGrants(asks, rows);
    },
    async report({ number, asks }) {
      const { rows } = await limitTime(pool.query<GrantRow>(REPORT, [node, number, writeAsks(asks)]), ANSWER_MS);
      return sortGrants(asks, rows);
    },
  };
};
