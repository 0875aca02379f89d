// Counters of keys: requests per second, per day and at once (AC-03). A process takes a few permits of a key at a time from
// the store that all processes share, so most requests ask nobody, and no number of processes admits more than the plan.
import type { Logger } from '../../infra/runtime/log.ts';
import { within } from '../../infra/runtime/within.ts';
import type { RequestClass } from '../operations/operation.ts';
import { type Ask, type Grant, localPermits, type Permits } from './permits.ts';
import type { PlanLimits } from './plans.ts';

const DAY_MS = 86_400_000;
/** Permits nobody used for this long go back to where other processes find them. */
const IDLE_MS = 500;
/** A key nobody used for this long is forgotten. */
const FORGET_MS = 60_000;
/** The share of a second's permits that a process may hold: what `kill -9` can cost a key. */
const AHEAD_S = 0.25;
/** A reached day is asked about again after this: a limit may have been raised, a request may not have counted. */
const DAY_AGAIN_MS = 1_000;
/** A request waits no longer than this for the store; then its process meters alone. */
const ANSWER_MS = 1_000;
/** After a failure the store is left alone for this long, and the process meters by itself. */
const AWAY_MS = 2_000;

const UNCOUNTED = new Set([401, 429, 304]);

export type Limits = Pick<PlanLimits, 'requests_per_second' | 'burst' | 'requests_per_day' | 'concurrent_requests'>;
export type Refusal = {
  readonly limit: 'requests_per_second' | 'requests_per_day' | 'concurrent_requests';
  readonly figure: number;
  readonly retryAfterS: number;
};

/** What this process holds and owes of one key; there are as many as keys were used within a minute. */
type Held = {
  readonly keyId: string;
  limits: Limits;
  day: number;
  permits: number;
  /** Permits on their way back into the bucket. */
  returned: number;
  usedAt: number;
  inFlight: number;
  waiting: number;
  /** Handed out this day to all processes, as the store last said; null before it said anything. */
  granted: number | null;
  /** Correction of `granted` that the store does not know yet. */
  dayChange: number;
  used: Record<string, number>;
  refused: { readonly limit: Refusal['limit']; readonly untilMs: number } | null;
  refill: Promise<void> | null;
};

export class Meter {
  readonly #permits: Permits;
  readonly #alone: Permits = localPermits();
  readonly #held = new Map<string, Held>();
  /** Counts of a day that is over, still to be told. */
  #past: Ask[] = [];
  #awayUntilMs = 0;

  constructor(permits: Permits = localPermits()) {
    this.#permits = permits;
  }

  /** Takes a permit and a place in flight, or says which limit is reached. Every admitted request must be finished. */
  async admit(keyId: string, limits: Limits, nowMs: number): Promise<Refusal | null> {
    const held = this.#of(keyId, limits, nowMs);
    if (held.inFlight >= limits.concurrent_requests) {
      return { limit: 'concurrent_requests', figure: limits.concurrent_requests, retryAfterS: 1 };
    }
    held.inFlight += 1;
    held.waiting += 1;
    try {
      while (held.permits < 1) {
        if (held.refused !== null && held.refused.untilMs > nowMs) {
          held.inFlight -= 1;
          return refusalOf(held.refused, limits, nowMs);
        }
        held.refill ??= this.#refill(held, nowMs);
        await held.refill;
      }
    } finally {
      held.waiting -= 1;
    }
    held.permits -= 1;
    held.usedAt = nowMs;
    return null;
  }

  /** Ends an admitted request: 5xx, 401, 429, 304 and account calls are not counted for the day (AC-03). */
  finish(keyId: string, requestClass: RequestClass, status: number): void {
    const held = this.#held.get(keyId);
    if (held === undefined) return;
    held.inFlight -= 1;
    if (status >= 500 || UNCOUNTED.has(status) || requestClass === 'account') held.dayChange -= 1;
    else held.used[requestClass] = (held.used[requestClass] ?? 0) + 1;
  }

  /** `RateLimit-Policy` and `RateLimit` (AC-03); requests in flight count as used. */
  headers(keyId: string, limits: Limits, nowMs: number): { readonly policy: string; readonly state: string } {
    const held = this.#of(keyId, limits, nowMs);
    const used = (held.granted ?? 0) + held.dayChange - held.permits;
    const left = Math.min(limits.requests_per_day, Math.max(0, limits.requests_per_day - used));
    return {
      policy: `"second";q=${limits.requests_per_second};w=1, "day";q=${limits.requests_per_day};w=86400`,
      state: `"day";r=${left};t=${secondsToMidnight(nowMs)}`,
    };
  }

  /** Requests of the key that this process is answering. */
  inFlight(keyId: string): number {
    return this.#held.get(keyId)?.inFlight ?? 0;
  }

  /** Whether this process has heard where the key's day stands. */
  knows(keyId: string): boolean {
    return (this.#held.get(keyId)?.granted ?? null) !== null;
  }

  /** Tells the store what is owed of this key and hears where its day stands. Rejects when the store is away. */
  async report(keyId: string, limits: Limits, nowMs: number): Promise<void> {
    await within(this.#tell([this.#of(keyId, limits, nowMs)], nowMs), ANSWER_MS);
  }

  /** Tells all counts and gives back what was not used; `idleMs` 0 gives back everything. Rejects when the store is away. */
  async settle(nowMs: number, { idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): Promise<void> {
    const owing: Held[] = [];
    for (const held of this.#held.values()) {
      const idle = held.waiting === 0 && nowMs - held.usedAt >= idleMs;
      if (idle) giveBack(held);
      if (isOwing(held)) owing.push(held);
      else if (idle && held.inFlight === 0 && nowMs - held.usedAt >= FORGET_MS) this.#held.delete(held.keyId);
    }
    if (owing.length > 0 || this.#past.length > 0) await this.#tell(owing, nowMs);
  }

  #of(keyId: string, limits: Limits, nowMs: number): Held {
    const day = Math.floor(nowMs / DAY_MS);
    let held = this.#held.get(keyId);
    if (held === undefined) {
      held = { keyId, limits, day, usedAt: nowMs, refused: null, refill: null, ...nothing(), inFlight: 0, waiting: 0 };
      this.#held.set(keyId, held);
    }
    held.limits = limits;
    if (held.day < day) {
      giveBack(held);
      if (isOwing(held)) this.#past.push(takeAsk(held));
      Object.assign(held, { day, refused: null, ...nothing() });
    }
    return held;
  }

  async #refill(held: Held, nowMs: number): Promise<void> {
    const { day } = held;
    const ahead = Math.ceil(held.limits.requests_per_second * AHEAD_S);
    try {
      const grant = (await this.#take(held, { waiting: held.waiting, ahead }, nowMs)) ?? this.#nothingLeft(held);
      // Permits of a day that ended meanwhile are worth nothing; whoever waits asks again.
      if (held.day !== day) return;
      held.permits += grant.permits;
      held.refused = grant.permits > 0 ? null : refusedBy(grant, held.limits, nowMs);
    } finally {
      held.refill = null;
    }
  }

  /** From the store; while it is away from this process alone, to be told later. Null when the day is known to be over. */
  async #take(held: Held, want: Want, nowMs: number): Promise<Grant | null> {
    if (nowMs >= this.#awayUntilMs) {
      const grant = await this.#exchangeOne(held, want, nowMs).catch(() => null);
      if (grant !== null) return grant;
    }
    const left = held.limits.requests_per_day - (held.granted ?? 0) - held.dayChange;
    if (left <= 0) return null;
    const ask = { ...askOf(held, want), returned: 0, dayChange: 0, used: {}, dayLimit: Number.MAX_SAFE_INTEGER };
    const [grant] = await this.#alone.exchange([ask], nowMs);
    if (grant === undefined) return null;
    held.dayChange += grant.permits;
    return { ...grant, granted: 0 };
  }

  #nothingLeft({ limits }: Held): Grant {
    return { permits: 0, tokens: 0, granted: limits.requests_per_day };
  }

  async #exchangeOne(held: Held, want: Want, nowMs: number): Promise<Grant> {
    // Counts are told by `settle` alone, which waits: an answer that comes too late must not have them counted twice.
    const ask = { ...askOf(held, want), used: {} };
    Object.assign(held, { returned: 0, dayChange: 0 });
    try {
      const [grant] = await within(this.#permits.exchange([ask], nowMs), ANSWER_MS);
      if (grant === undefined) throw new Error('no grant came');
      if (held.day === dayNumber(ask)) held.granted = grant.granted;
      return grant;
    } catch (error) {
      this.#awayUntilMs = nowMs + AWAY_MS;
      this.#owe(ask);
      throw error;
    }
  }

  async #tell(owing: readonly Held[], nowMs: number): Promise<void> {
    const asks = [...this.#past, ...owing.map(takeAsk)];
    const past = this.#past.length;
    this.#past = [];
    try {
      const grants = await this.#permits.exchange(asks, nowMs);
      owing.forEach((held, i) => {
        const [ask, grant] = [asks[past + i], grants[past + i]];
        if (ask && grant && held.day === dayNumber(ask)) held.granted = grant.granted;
      });
      this.#awayUntilMs = 0;
    } catch (error) {
      this.#awayUntilMs = nowMs + AWAY_MS;
      for (const ask of asks) this.#owe(ask);
      throw error;
    }
  }

  /** What could not be told is owed again; permits were given back for nothing, but their day is still to be corrected. */
  #owe(ask: Ask): void {
    const held = this.#held.get(ask.keyId);
    if (held === undefined || held.day !== dayNumber(ask)) {
      this.#past.push({ ...ask, waiting: 0, ahead: 0, returned: 0 });
      return;
    }
    held.dayChange += ask.dayChange;
    for (const [name, count] of Object.entries(ask.used)) held.used[name] = (held.used[name] ?? 0) + count;
  }
}

const SETTLE_EVERY_MS = 250;

/** Settles the meter again and again; the function it gives settles once more, everything, and ends it. */
export const keepSettled = (meter: Meter, log: Pick<Logger, 'warn'>): (() => Promise<void>) => {
  let settling: Promise<void> = Promise.resolve();
  let isAway = false;
  const settle = async (options?: { readonly idleMs: number }): Promise<void> => {
    try {
      await meter.settle(Date.now(), options);
      isAway = false;
    } catch (err) {
      if (!isAway) log.warn({ err }, 'the store of counters is away: this process meters alone');
      isAway = true;
    }
  };
  let timer: NodeJS.Timeout;
  const again = (): void => {
    timer = setTimeout(() => {
      settling = settle().then(again);
    }, SETTLE_EVERY_MS);
  };
  again();
  return async () => {
    clearTimeout(timer);
    await settling;
    clearTimeout(timer);
    await settle({ idleMs: 0 });
  };
};

type Want = Pick<Ask, 'waiting' | 'ahead'>;

const nothing = () => ({
  permits: 0,
  returned: 0,
  granted: null as number | null,
  dayChange: 0,
  used: {} as Record<string, number>,
});

/** UTC midnight of day 0 is that of 1970. */
const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
const dayNumber = ({ day }: Ask): number => Date.parse(day) / DAY_MS;

const isOwing = (held: Held): boolean => held.returned > 0 || held.dayChange !== 0 || Object.keys(held.used).length > 0;

const giveBack = (held: Held): void => {
  held.returned += held.permits;
  held.dayChange -= held.permits;
  held.permits = 0;
};

const askOf = (held: Held, want: Want): Ask => ({
  keyId: held.keyId,
  day: dayText(held.day),
  rate: held.limits.requests_per_second,
  burst: held.limits.burst,
  dayLimit: held.limits.requests_per_day,
  ...want,
  returned: held.returned,
  dayChange: held.dayChange,
  used: held.used,
});

/** What is owed goes into the ask, and is owed no longer. */
const takeAsk = (held: Held): Ask => {
  const ask = askOf(held, { waiting: 0, ahead: 0 });
  Object.assign(held, { returned: 0, dayChange: 0, used: {} });
  return ask;
};

const refusedBy = (grant: Grant, limits: Limits, nowMs: number): Held['refused'] =>
  grant.granted >= limits.requests_per_day
    ? { limit: 'requests_per_day', untilMs: nowMs + DAY_AGAIN_MS }
    : {
        limit: 'requests_per_second',
        untilMs: nowMs + Math.max(1, ((1 - grant.tokens) / limits.requests_per_second) * 1_000),
      };

const refusalOf = ({ limit, untilMs }: NonNullable<Held['refused']>, limits: Limits, nowMs: number): Refusal =>
  limit === 'requests_per_day'
    ? { limit, figure: limits.requests_per_day, retryAfterS: secondsToMidnight(nowMs) }
    : { limit, figure: limits.requests_per_second, retryAfterS: Math.max(1, Math.ceil((untilMs - nowMs) / 1_000)) };

const secondsToMidnight = (nowMs: number): number => Math.max(1, Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1_000));
