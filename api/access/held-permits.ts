// The accounts of one process for one key: permits held, permits to return, counts to report (AC-03). Values and arithmetic only.
import { MS_PER_DAY } from '../../schemas/instants.ts';
import type { Refusal } from '../contract/limits.ts';
import type { PlanLimits } from '../contract/plans.ts';
import { type Ask, type Grant, TOGETHER_MS } from './permits.ts';

/** The share of a second's permits that a process may hold: what `kill -9` can cost a key. */
const AHEAD_S = 0.25;
/** The time after which a reached day limit is checked again: it may have been raised, or a request may turn out not to count. */
const DAY_AGAIN_MS = 1_000;

export type Limits = Pick<PlanLimits, 'requests_per_second' | 'burst' | 'requests_per_day'> & {
  /** Null: not counted at once. */
  readonly concurrent_requests: number | null;
  /** The most permits that a process may hold; when left out, those of a quarter of a second. */
  readonly ahead?: number;
};
/** Why there was no permit, and the time for which the store is not asked again. */
type Denial = {
  readonly limit: 'requests_per_second' | 'requests_per_day';
  readonly fromMs: number;
  readonly untilMs: number;
};
/** What this process holds and owes of one key; there are as many as keys were used within a minute. */
export type Held = {
  readonly keyId: string;
  limits: Limits;
  day: number;
  permits: number;
  /** Permits on their way back into the bucket; negative: taken alone, and owed to it. */
  returned: number;
  /** What the bucket held when the store last answered; null before. */
  tokens: number | null;
  usedAt: number;
  /** Admitted and not finished. */
  open: number;
  /** Those of them that were admitted on a day that is over. */
  openBefore: number;
  waiting: number;
  /** Granted this day to all processes, by the store's last answer; null before its first. */
  granted: number | null;
  /** Correction of `granted` that was not reported to the store yet. */
  dayChange: number;
  /** Correction that was reported and that the store has not confirmed. */
  unconfirmed: number;
  used: Record<string, number>;
  refused: Denial | null;
  refill: Promise<void> | null;
  /** A question is on its way to the store; its answer may be late. */
  isAsking: boolean;
};

/** The number of permits that a process may hold at the given rate of use per second. */
export const computeAhead = ({
  requests_per_second: rate,
  ahead,
}: Pick<Limits, 'requests_per_second' | 'ahead'>): number => ahead ?? Math.ceil(rate * AHEAD_S);

/** The counts of a key at the start of a day, or of its first request. */
export const makeNoCounts = () => ({
  permits: 0,
  returned: 0,
  granted: null as number | null,
  dayChange: 0,
  unconfirmed: 0,
  used: {} as Record<string, number>,
});

/** UTC midnight of day 0 is that of 1970. */
const formatDay = (day: number): string => new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
export const toDayNumber = ({ day }: Ask): number => Date.parse(day) / MS_PER_DAY;

/** Whether something of the key is to be reported to the store. */
export const isOwing = (held: Held): boolean =>
  held.returned !== 0 || held.dayChange !== 0 || Object.keys(held.used).length > 0;

/**
 * Ends one admission; false: it was one of a day that is over, and what it gives back is nothing to today's count. Which of those that are open it
 * was is not known: the earlier ones are taken to end first, so that never more than the plan passes in a day.
 */
export const endRequest = (held: Held): boolean => {
  held.open -= 1;
  if (held.openBefore === 0) return true;
  held.openBefore -= 1;
  return false;
};

/**
 * Permits in hand of a day that has ended are void, and not returned either: on their way back, beside the permits of the new day, they would let the key
 * have twice what a process may hold.
 */
export const dropPermits = (held: Held): void => {
  held.dayChange -= held.permits;
  held.permits = 0;
};

/** Puts the permits in hand among those to return; the day then does not count them. */
export const giveBack = (held: Held): void => {
  held.returned += held.permits;
  dropPermits(held);
};

/** Requests of the day over all processes, as far as this one knows. */
export const countUsed = ({ granted, dayChange, unconfirmed, permits }: Held): number =>
  (granted ?? 0) + dayChange + unconfirmed - permits;

const toAsk = (held: Held): Ask => ({
  keyId: held.keyId,
  day: formatDay(held.day),
  rate: held.limits.requests_per_second,
  burst: held.limits.burst,
  dayLimit: held.limits.requests_per_day,
  waiting: 0,
  ahead: 0,
  returned: 0,
  dayChange: 0,
  used: {},
});

/**
 * Permits of the day that were taken without the store. What was given back is not set against them: a report of it may reach the store before a
 * question that was asked earlier, and would be admitted twice.
 */
const countUntold = ({ dayChange, unconfirmed }: Held): number => Math.max(0, dayChange) + Math.max(0, unconfirmed);

/** Requests permits and reports nothing. What the store may not know to be taken lowers the day's limit instead. */
export const askForPermits = (held: Held): Ask => ({
  ...toAsk(held),
  waiting: held.waiting,
  ahead: computeAhead(held.limits),
  dayLimit: held.limits.requests_per_day - countUntold(held),
});

/** Whether the day may be full only because the store does not know yet what this process gave back, or counts twice what it took alone. */
export const mayHaveRoom = ({ refused, dayChange, unconfirmed }: Held): boolean =>
  refused?.limit === 'requests_per_day' && (dayChange !== 0 || unconfirmed !== 0);

/** Moves the counts to report out of `held`. The correction of the day is unconfirmed until the store responds. */
export const takeReport = (held: Held): Ask => {
  const { returned, dayChange, used } = held;
  held.unconfirmed += dayChange;
  Object.assign(held, { returned: 0, dayChange: 0, used: {} });
  return { ...toAsk(held), returned, dayChange, used };
};

const findRefusedBy = (grant: Grant, held: Held, nowMs: number): Denial =>
  grant.granted + countUntold(held) >= held.limits.requests_per_day
    ? { limit: 'requests_per_day', fromMs: nowMs, untilMs: nowMs + DAY_AGAIN_MS }
    : {
        limit: 'requests_per_second',
        fromMs: nowMs,
        untilMs: nowMs + Math.max(1, ((1 - grant.tokens) / held.limits.requests_per_second) * 1_000),
      };

/** The reason why no permit is available now; null: the store must be queried. A clock that is back by more than `TOGETHER_MS` was set back. */
export const findDenial = ({ refused }: Held, nowMs: number): Denial | null =>
  refused !== null && refused.untilMs > nowMs && nowMs > refused.fromMs - TOGETHER_MS ? refused : null;

export const toRefusal = ({ limit, untilMs }: Denial, limits: Limits, nowMs: number): Refusal =>
  limit === 'requests_per_day'
    ? { limit, figure: limits.requests_per_day, retryAfterS: computeSecondsToMidnight(nowMs) }
    : { limit, figure: limits.requests_per_second, retryAfterS: Math.ceil((untilMs - nowMs) / 1_000) };

/** Seconds to the next UTC midnight, at least 1. */
export const computeSecondsToMidnight = (nowMs: number): number =>
  Math.ceil((MS_PER_DAY - (nowMs % MS_PER_DAY)) / 1_000);

/** Adds granted permits, or records the reason why there are none. */
export const receiveGrant = (held: Held, grant: Grant, nowMs: number): void => {
  held.permits += grant.permits;
  held.refused = grant.permits > 0 ? null : findRefusedBy(grant, held, nowMs);
};
