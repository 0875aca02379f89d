// Counters of keys: requests per second, per day and at once, and the other things a plan counts by day (AC-02, AC-03). A process
// takes a few permits at a time from the store that all processes share, so most requests need no query, and no number of
// processes admits more than the plan.
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import type { RequestClass } from '../contract/endpoint.ts';
import type { Refusal } from '../contract/limits.ts';
import {
  askForPermits,
  computeSecondsToMidnight,
  countUsed,
  dropPermits,
  endRequest,
  findDenial,
  giveBack,
  type Held,
  isOwing,
  type Limits,
  makeNoCounts,
  mayHaveRoom,
  receiveGrant,
  takeReport,
  toDayNumber,
  toRefusal,
} from './held-permits.ts';
import { type Ask, createLocalPermits, type Grant, type PermitExchange, type Permits } from './permits.ts';
import { Places } from './places.ts';

/** Permits unused for this long are returned to where other processes find them. */
const IDLE_MS = 500;
/** A key unused for this long is forgotten. */
const FORGET_MS = 60_000;
/** A request waits no longer than this for the store; then its process meters alone. */
const ANSWER_MS = 1_000;
/** After a failure the store is not used for this time, and the process meters alone. */
const AWAY_MS = 2_000;

const UNCOUNTED = new Set([401, 429, 304]);

export class Meter {
  readonly #permits: Permits;
  /** Buckets for while the store is unavailable; discarded once it is back. */
  #alone: Permits = createLocalPermits();
  #isAlone = false;
  #takenAlone = 0;
  readonly #held = new Map<string, Held>();
  /** Counts of a past day, still to be reported. */
  #past: Ask[] = [];
  /** A report whose answer did not arrive: it is repeated unchanged, before anything else. */
  #unconfirmed: PermitExchange | null = null;
  #lastReport = 0;
  #reports: Promise<void> = Promise.resolve();
  #awayUntilMs = 0;

  /** Concurrent places of keys; requests in flight are counted under the key's name. */
  readonly places: Places;

  constructor(permits: Permits = createLocalPermits(), places: Places = new Places()) {
    this.#permits = permits;
    this.places = places;
  }

  /** Takes a permit and a place in flight, or returns the limit that is reached. Every admitted request must be finished. */
  async admit(keyId: string, limits: Limits, nowMs: number): Promise<Refusal | null> {
    const most = limits.concurrent_requests;
    if (most !== null && this.places.isFull(keyId, most)) return refuseTooMany(most);
    const held = this.#of(keyId, limits, nowMs);
    // Open before it has its permit: what it waits for must not be forgotten meanwhile.
    held.open += 1;
    const refused = await this.#takePermit(held, limits, nowMs);
    if (refused !== null) {
      // It took nothing of any day: those of the day before stay open.
      held.open -= 1;
      held.openBefore = Math.min(held.openBefore, held.open);
      return refused;
    }
    if (most === null || (await this.places.take(keyId, most))) return null;
    this.putBack(keyId);
    return refuseTooMany(most);
  }

  async #takePermit(held: Held, limits: Limits, nowMs: number): Promise<Refusal | null> {
    held.waiting += 1;
    try {
      while (held.permits < 1) {
        const denial = findDenial(held, nowMs);
        if (denial !== null) return toRefusal(denial, limits, nowMs);
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
    this.places.free(keyId);
    this.end(keyId, status >= 500 || UNCOUNTED.has(status) || requestClass === 'account' ? null : requestClass);
  }

  /** Ends what was admitted without a place: counted under this name, or given back to the day when null. */
  end(name: string, countedAs: string | null): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    const isOfToday = endRequest(held);
    if (countedAs !== null) held.used[countedAs] = (held.used[countedAs] ?? 0) + 1;
    else if (isOfToday) held.dayChange -= 1;
  }

  /** Returns an admission that was not used at all: its permit serves the next request. */
  putBack(name: string): void {
    const held = this.#held.get(name);
    if (held !== undefined && endRequest(held)) held.permits += 1;
  }

  /** `RateLimit-Policy` and `RateLimit` (AC-03); requests in flight count as used. */
  headers(keyId: string, limits: Limits, nowMs: number): { readonly policy: string; readonly state: string } {
    const held = this.#of(keyId, limits, nowMs);
    const left = Math.min(limits.requests_per_day, Math.max(0, limits.requests_per_day - countUsed(held)));
    return {
      policy: `"second";q=${limits.requests_per_second};w=1, "day";q=${limits.requests_per_day};w=86400`,
      state: `"day";r=${left};t=${computeSecondsToMidnight(nowMs)}`,
    };
  }

  /** Permits this process gave itself while the store was away, since it started. */
  get takenAlone(): number {
    return this.#takenAlone;
  }

  /** Requests of the key that this process is answering. */
  inFlight(keyId: string): number {
    return this.places.busy(keyId);
  }

  /** Whether this process knows the key's usage of the day. */
  knows(keyId: string): boolean {
    return (this.#held.get(keyId)?.granted ?? null) !== null;
  }

  /** Reports the counts of this key to the store and reads its day; for `others` it only reports the counts. Rejects when the store is unavailable. */
  async report(
    keyId: string,
    limits: Limits,
    { nowMs, others }: { nowMs: number; others: readonly string[] },
  ): Promise<void> {
    const owing = others.flatMap((name) => this.#held.get(name) ?? []).filter(isOwing);
    await limitTime(this.#sendReport([this.#of(keyId, limits, nowMs), ...owing], nowMs), ANSWER_MS);
  }

  /** Reports all counts, of places too, and returns unused permits; `idleMs` 0 returns all of them. Rejects when the store is unavailable. */
  async settle(nowMs: number, { idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): Promise<void> {
    // Never rejects: a process without the store counts alone.
    const placesSettled = this.places.settle({ idleMs });
    const owing: Held[] = [];
    for (const held of this.#held.values()) {
      const idle = held.waiting === 0 && nowMs - held.usedAt >= idleMs;
      if (idle) giveBack(held);
      if (isOwing(held)) owing.push(held);
      else if (idle && isUnneeded(held) && nowMs - held.usedAt >= FORGET_MS) this.#held.delete(held.keyId);
    }
    if (owing.length > 0 || this.#past.length > 0 || this.#unconfirmed !== null) await this.#sendReport(owing, nowMs);
    await placesSettled;
  }

  #of(keyId: string, limits: Limits, nowMs: number): Held {
    const day = Math.floor(nowMs / MS_PER_DAY);
    let held = this.#held.get(keyId);
    if (held === undefined) {
      held = {
        keyId,
        limits,
        day,
        usedAt: nowMs,
        refused: null,
        refill: null,
        ...makeNoCounts(),
        tokens: null,
        open: 0,
        openBefore: 0,
        waiting: 0,
        isAsking: false,
      };
      this.#held.set(keyId, held);
    }
    held.limits = limits;
    if (held.day < day) {
      dropPermits(held);
      if (isOwing(held)) this.#past.push(takeReport(held));
      Object.assign(held, { day, refused: null, openBefore: held.open, ...makeNoCounts() });
    }
    return held;
  }

  async #refill(held: Held, nowMs: number): Promise<void> {
    try {
      if (await this.#requestPermits(held, nowMs)) return;
      const { day } = held;
      const grant = await this.#takeAlone(held, nowMs);
      if (held.day === day) receiveGrant(held, grant, nowMs);
    } finally {
      held.refill = null;
    }
  }

  /** Permits from the store; false when it is unavailable or late. A late answer is still applied. */
  async #requestPermits(held: Held, nowMs: number): Promise<boolean> {
    if (nowMs < this.#awayUntilMs || held.isAsking) return false;
    const isAnswered = await limitTime(this.#exchange(held, nowMs), ANSWER_MS).catch(() => false);
    if (!isAnswered) this.#awayUntilMs = nowMs + AWAY_MS;
    return isAnswered;
  }

  async #exchange(held: Held, nowMs: number): Promise<boolean> {
    held.isAsking = true;
    try {
      if (!(await this.#exchangeOnce(held, nowMs))) return false;
      if (!mayHaveRoom(held)) return true;
      held.refused = null;
      await this.#sendReport([held].filter(isOwing), nowMs);
      return await this.#exchangeOnce(held, nowMs);
    } catch {
      return false;
    } finally {
      held.isAsking = false;
    }
  }

  async #exchangeOnce(held: Held, nowMs: number): Promise<boolean> {
    const ask = askForPermits(held);
    const [grant] = await this.#permits.exchange([ask], nowMs);
    if (grant === undefined) return false;
    this.#endAlone();
    held.tokens = grant.tokens;
    // Permits of a day that has ended meanwhile are void; a waiting request requests new ones.
    if (held.day !== toDayNumber(ask)) return true;
    held.granted = grant.granted;
    receiveGrant(held, grant, nowMs);
    return true;
  }

  /**
   * While the store is unavailable: this process's share of the plan, from the last known level of the bucket. It is owed to the
   * bucket and reported to the day later, so that in the end no more requests passed than the plan allows.
   */
  async #takeAlone(held: Held, nowMs: number): Promise<Grant> {
    const { limits } = held;
    const left = limits.requests_per_day - countUsed(held);
    if (left <= 0) return { permits: 0, tokens: 0, granted: limits.requests_per_day };
    const share = 1 / this.places.processes;
    const bucket = {
      rate: limits.requests_per_second * share,
      burst: Math.max(1, limits.burst * share),
      opening: Math.max(0, held.tokens ?? limits.burst) * share,
      dayLimit: Number.MAX_SAFE_INTEGER,
    };
    this.#isAlone = true;
    const ask = askForPermits(held);
    const wanted = { waiting: Math.min(ask.waiting, left), ahead: Math.min(ask.ahead, left) };
    const [grant = { permits: 0, tokens: 0 }] = await this.#alone.exchange([{ ...ask, ...bucket, ...wanted }], nowMs);
    this.#takenAlone += grant.permits;
    held.dayChange += grant.permits;
    held.returned = Math.max(-limits.burst, held.returned - grant.permits);
    return { ...grant, granted: held.granted ?? 0 };
  }

  #endAlone(): void {
    if (this.#isAlone) this.#alone = createLocalPermits();
    this.#isAlone = false;
  }

  /** One report at a time. */
  #sendReport(owing: readonly Held[], nowMs: number): Promise<void> {
    const sent = this.#reports.then(() => this.#sendReportNow(owing, nowMs));
    this.#reports = sent.catch(() => undefined);
    return sent;
  }

  async #sendReportNow(owing: readonly Held[], nowMs: number): Promise<void> {
    if (this.#unconfirmed !== null) await this.#confirm(this.#unconfirmed, nowMs);
    const asks = [...this.#past, ...owing.map(takeReport)];
    this.#past = [];
    if (asks.length === 0) return;
    this.#lastReport += 1;
    this.#unconfirmed = { number: this.#lastReport, asks };
    await this.#confirm(this.#unconfirmed, nowMs);
  }

  async #confirm(sent: PermitExchange, nowMs: number): Promise<void> {
    try {
      const grants = await this.#permits.report(sent, nowMs);
      this.#unconfirmed = null;
      this.#awayUntilMs = 0;
      this.#endAlone();
      sent.asks.forEach((ask, i) => {
        const held = this.#held.get(ask.keyId);
        if (held === undefined || held.day !== toDayNumber(ask)) return;
        held.unconfirmed -= ask.dayChange;
        held.granted = grants[i]?.granted ?? held.granted;
      });
    } catch (error) {
      this.#awayUntilMs = nowMs + AWAY_MS;
      throw error;
    }
  }
}

/** A report that is unconfirmed changes the counts of the key once more. */
const isUnneeded = ({ open, isAsking, unconfirmed }: Held): boolean => open === 0 && !isAsking && unconfirmed === 0;

const refuseTooMany = (figure: number): Refusal => ({ limit: 'concurrent_requests', figure, retryAfterS: 1 });

const SETTLE_EVERY_MS = 250;

/** Settles the meter again and again; the function it gives settles once more, everything, and ends it. */
export const keepSettled = (meter: Meter, log: Pick<Logger, 'warn'>): (() => Promise<void>) => {
  let settling: Promise<void> = Promise.resolve();
  const outages = createOutageLog(log, 'the store of counters is unavailable: this process meters alone');
  const settle = async (options?: { readonly idleMs: number }): Promise<void> => {
    try {
      await meter.settle(Date.now(), options);
      outages.noteSuccess();
    } catch (err) {
      outages.noteFailure(err);
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
