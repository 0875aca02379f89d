// Keys in PostgreSQL behind a small cache, so that a request costs no query. A changed key is removed when the database
// notifies; without a notification an entry lives half a minute, so a revocation applies within a minute all the same (E-03).
import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';
import { isPlanCode, PLANS, type Plan } from '../contract/plans.ts';
import { hashKey } from './keys.ts';

/** Half of the 60 s of E-03; notices of changes only make it sooner, so a lost listening connection breaks no promise. */
const FRESH_MS = 30_000;
/** While PostgreSQL is unavailable, keys known good stay good for this long: a node alone cut off still keeps the 60 s of E-03. */
const STALE_MS = 55_000;
/** A database that does not answer for this long is unavailable. */
const ANSWER_MS = 2_000;
/** `drop-oldest`, for good and refused keys apart: callers that invent keys cannot push the good ones out. */
const MOST_ENTRIES = 10_000;

export type Account = { readonly keyId: string; readonly plan: Plan };
/** `unknown` covers revoked and expired keys too. */
export type KeyAnswer = Account | 'unknown' | 'unreachable';

export type KeyStore = {
  readonly find: (key: string, nowMs: number) => Promise<KeyAnswer>;
  /** Notes that keys were seen in a URL; they stay valid until their owners revoke them (E-02). */
  readonly markCompromised: (keys: readonly string[]) => Promise<void>;
  /** The key with this SHA-256 (base64, as the database's notice has it) was changed. */
  readonly forget: (hash: string) => void;
  /** Notices may have been missed. */
  readonly forgetAll: () => void;
};

/** The PostgreSQL channel for changed keys. */
export const KEYS_CHANNEL = 'api_keys';

type KeyRow = {
  readonly key_id: string;
  readonly hash: Buffer;
  readonly plan: string;
  readonly expires_at: Date | null;
};
type Found = { readonly answer: Account | 'unknown'; readonly readAt: number; readonly expiresAt: number };
/** `epoch`: how often the line of notices had broken when it was read. */
type Cached = Found & { readonly epoch: number };

const FIND = `
  select key_id, hash, plan, expires_at
  from api_keys
  where hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`;
/**
 * One statement marks all keys of a URL, because a URL can contain hundreds of texts in the form of a key. The first occurrence is written to the audit
 * and sent to the owner by mail; the account site shows it. The account is locked first, as in every change of its keys, so that the statement waits
 * for a closing in progress: a closed account gets no mail. Keys are locked in one order; otherwise two URLs that share keys could wait for each other.
 */
const MARK = `
  with owner as (
    select a.account_id, a.email from accounts a
    where a.account_id in (select account_id from api_keys where hash = any($1::bytea[]) and compromised_at is null) for share),
  seen as (
    select k.key_id, o.account_id, o.email from api_keys k join owner o on k.account_id = o.account_id
    where k.hash = any($1::bytea[]) and k.compromised_at is null order by k.key_id for update of k),
  marked as (
    update api_keys k set compromised_at = now() from seen s where k.key_id = s.key_id
    returning k.key_id, s.account_id, s.email, name, display, revoked_at is not null as is_revoked,
      coalesce(expires_at <= now(), false) as is_expired),
  letter as (
    insert into mail_outbox (account_id, recipient, subject, body)
    select account_id, email, 'Your API key was seen in a URL',
      format(E'The API key "%s" (%s...) was sent in a URL, where proxies and logs keep it. %s\\n', m.name, m.display,
        case when m.is_revoked then E'It is revoked and no longer works.\\n\\nSee that no program of yours still sends it.'
          when m.is_expired then E'It has expired and no longer works.\\n\\nSee that no program of yours still sends it.'
          else E'It still works.\\n\\nMake another one and revoke this one on the page of your keys.' end)
    from marked m where email is not null)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'compromised', 'api', jsonb_build_object('seen_in', 'url') from marked`;

export const openKeyStore = (pool: Pick<Pool, 'query'>): KeyStore => new CachedKeys(pool);

/** Callers hand `forget` and the others on by themselves: each is bound. */
class CachedKeys implements KeyStore {
  readonly #pool: Pick<Pool, 'query'>;
  readonly #good = new Map<string, Cached>();
  readonly #refused = new Map<string, Cached>();
  /** Lookups under way: many requests of one key share a lookup. */
  readonly #lookups = new Map<string, { readonly notices: number; readonly found: Promise<Found> }>();
  /** A row read before a notice may be the one from before the change: it answers once and is not kept. */
  #notices = 0;
  #epoch = 0;

  constructor(pool: Pick<Pool, 'query'>) {
    this.#pool = pool;
  }

  readonly find = async (key: string, nowMs: number): Promise<KeyAnswer> => {
    const hash = hashKey(key);
    const id = hash.toString('base64');
    const held = this.#good.get(id) ?? this.#refused.get(id);
    const isUsable = (forMs: number): boolean =>
      held !== undefined && isYounger(forMs, held.readAt, nowMs) && nowMs < held.expiresAt;
    if (held !== undefined && held.epoch === this.#epoch && isUsable(FRESH_MS)) return held.answer;
    const noticesBefore = this.#notices;
    try {
      const found = await this.#lookUpOnce(hash, id, nowMs);
      if (this.#notices === noticesBefore) this.#keep(id, { ...found, epoch: this.#epoch });
      return found.answer;
    } catch {
      if (held === undefined || this.#good.get(id) !== held || !isUsable(STALE_MS)) return 'unreachable';
      return held.answer;
    }
  };

  readonly markCompromised = async (keys: readonly string[]): Promise<void> => {
    await this.#pool.query(MARK, [keys.map(hashKey)]);
  };

  readonly forget = (hash: string): void => {
    this.#notices += 1;
    this.#drop(hash);
  };

  readonly forgetAll = (): void => {
    this.#notices += 1;
    this.#epoch += 1;
  };

  /** One lookup for all concurrent callers, unless a notice came after it began. */
  #lookUpOnce(hash: Buffer, id: string, nowMs: number): Promise<Found> {
    const under = this.#lookups.get(id);
    if (under !== undefined && under.notices === this.#notices) return under.found;
    const found = limitTime(this.#lookUp(hash, nowMs), ANSWER_MS).finally(() => {
      if (this.#lookups.get(id)?.found === found) this.#lookups.delete(id);
    });
    this.#lookups.set(id, { notices: this.#notices, found });
    return found;
  }

  async #lookUp(hash: Buffer, nowMs: number): Promise<Found> {
    const { rows } = await this.#pool.query<KeyRow>(FIND, [hash]);
    const row = rows[0];
    if (row === undefined || !timingSafeEqual(row.hash, hash) || !isPlanCode(row.plan)) {
      return { answer: 'unknown', readAt: nowMs, expiresAt: Number.POSITIVE_INFINITY };
    }
    const expiresAt = row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
    return { answer: { keyId: row.key_id, plan: PLANS[row.plan] }, readAt: nowMs, expiresAt };
  }

  #keep(id: string, cached: Cached): void {
    this.#drop(id);
    const cache = cached.answer === 'unknown' ? this.#refused : this.#good;
    cache.set(id, cached);
    const oldest = cache.size > MOST_ENTRIES ? cache.keys().next().value : undefined;
    if (oldest !== undefined) cache.delete(oldest);
  }

  #drop(id: string): void {
    this.#good.delete(id);
    this.#refused.delete(id);
  }
}
