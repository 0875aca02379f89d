// Counters of keys: requests per second, per day and at once (AC-03), kept in this process.
import type { Plan } from './plans.ts';

const DAY_MS = 86_400_000;
/** `drop-oldest`: a forgotten key starts with a full bucket. */
const MOST_KEYS = 50_000;

type Count = { tokens: number; at: number; day: number; used: number; inFlight: number };
export type Refusal = {
  readonly limit: 'requests_per_second' | 'requests_per_day' | 'concurrent_requests';
  readonly figure: number;
  readonly retryAfterS: number;
};

export class Meter {
  readonly #counts = new Map<string, Count>();

  /** Takes a token and a place in flight, or says which limit is reached. Every admitted request must be finished. */
  admit(keyId: string, { limits }: Plan, nowMs: number): Refusal | null {
    const count = this.#count(keyId, limits.burst, nowMs);
    if (count.used >= limits.requests_per_day) {
      return refusal('requests_per_day', limits.requests_per_day, secondsToMidnight(nowMs));
    }
    if (count.inFlight >= limits.concurrent_requests) {
      return refusal('concurrent_requests', limits.concurrent_requests, 1);
    }
    const refilled = count.tokens + ((nowMs - count.at) / 1_000) * limits.requests_per_second;
    count.tokens = Math.min(limits.burst, refilled);
    count.at = nowMs;
    if (count.tokens < 1) {
      const wait = Math.ceil((1 - count.tokens) / limits.requests_per_second);
      return refusal('requests_per_second', limits.requests_per_second, Math.max(1, wait));
    }
    count.tokens -= 1;
    count.inFlight += 1;
    return null;
  }

  /** Ends a request: 5xx, 401, 429 and 304 are not counted for the day (AC-03). */
  finish(keyId: string, status: number): void {
    const count = this.#counts.get(keyId);
    if (count === undefined) return;
    count.inFlight -= 1;
    if (status < 500 && status !== 401 && status !== 429 && status !== 304) count.used += 1;
  }

  /** `RateLimit-Policy` and `RateLimit` (AC-03); the request being answered is counted already. */
  headers(keyId: string, { limits }: Plan, nowMs: number): { readonly policy: string; readonly state: string } {
    const used = (this.#counts.get(keyId)?.used ?? 0) + 1;
    return {
      policy: `"second";q=${limits.requests_per_second};w=1, "day";q=${limits.requests_per_day};w=86400`,
      state: `"day";r=${Math.max(0, limits.requests_per_day - used)};t=${secondsToMidnight(nowMs)}`,
    };
  }

  #count(keyId: string, burst: number, nowMs: number): Count {
    const day = Math.floor(nowMs / DAY_MS);
    let count = this.#counts.get(keyId);
    if (count === undefined) {
      count = { tokens: burst, at: nowMs, day, used: 0, inFlight: 0 };
      this.#counts.set(keyId, count);
      if (this.#counts.size > MOST_KEYS) this.#forgetOldest();
    }
    if (count.day !== day) {
      count.day = day;
      count.used = 0;
    }
    return count;
  }

  #forgetOldest(): void {
    for (const [id, { inFlight }] of this.#counts) if (inFlight === 0) return void this.#counts.delete(id);
  }
}

const refusal = (limit: Refusal['limit'], figure: number, retryAfterS: number): Refusal => ({
  limit,
  figure,
  retryAfterS,
});
const secondsToMidnight = (nowMs: number): number => Math.max(1, Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1_000));
