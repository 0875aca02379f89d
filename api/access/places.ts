// Concurrent places of keys, for requests being answered and open streams, counted over all processes (AC-02, ST-08). A process holds
// places that the store granted; a free one serves the next request without a query, and is returned when another process needs it.
import { setTimeout as pause } from 'node:timers/promises';
import { limitTime } from '../../infra/runtime/time/within.ts';
import {
  createLocalPlaces,
  grantAlone,
  type PlaceAnswer,
  type PlaceAsk,
  type PlaceGrant,
  type PlaceStore,
} from './place-store.ts';

/** A free place that is unused for this long is returned. */
const IDLE_MS = 500;
/** Others are given this long to give back places they hold and do not use. */
const WAIT_MS = 150;
const ASK_AGAIN_MS = 15;
/** After a refusal the key is regarded as full for this time, so that further refusals need no query. */
const FULL_MS = 50;
/** A process reports itself and its use this often; the store forgets a process after five seconds. */
const SEEN_EVERY_MS = 500;
const ANSWER_MS = 1_000;
/** After a failure the store is not used for this time, and the process counts alone. */
const AWAY_MS = 2_000;

type Usage = { readonly held: number; readonly busy: number };
const NOTHING: Usage = { held: 0, busy: 0 };
/** Equal to no possible value, so it is reported again. */
const UNKNOWN: Usage = { held: -1, busy: -1 };

type Held = {
  readonly name: string;
  most: number;
  held: number;
  busy: number;
  /** Takers that found no free place here. */
  waiting: number;
  usedAt: number;
  fullUntil: number;
  /** What the store knows of this process. */
  told: Usage;
  othersBusy: number;
};

export class Places {
  readonly #store: PlaceStore;
  readonly #held = new Map<string, Held>();
  #exchanging: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #awayUntil = 0;
  #isLate = false;
  #processes = 1;
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(store: PlaceStore = createLocalPlaces()) {
    this.#store = store;
  }

  /** Takes one of the `most` places that all processes share; false when all are in use. The caller must free it. */
  async take(name: string, most: number): Promise<boolean> {
    const held = this.#of(name, most);
    if (occupyPlace(held)) return true;
    if (this.isFull(name, most)) return false;
    held.waiting += 1;
    const deadline = performance.now() + WAIT_MS;
    try {
      for (;;) {
        await this.#exchange();
        if (occupyPlace(held)) return true;
        if (performance.now() >= deadline || held.busy >= held.most) break;
        await pause(ASK_AGAIN_MS);
        if (occupyPlace(held)) return true;
      }
    } finally {
      held.waiting -= 1;
    }
    held.fullUntil = performance.now() + FULL_MS;
    return false;
  }

  /** Whether it is certain that no place is free: this process uses all of them, or all processes together did a moment ago. */
  isFull(name: string, most: number): boolean {
    const held = this.#held.get(name);
    return held !== undefined && (held.busy >= most || (held.busy >= held.held && held.fullUntil > performance.now()));
  }

  /** Frees a place; it stays here for the next taker until it is idle or wanted elsewhere. */
  free(name: string): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    held.busy -= 1;
    held.usedAt = performance.now();
  }

  /** Frees a place and returns it immediately: for places that are taken rarely and held for long. */
  async giveUp(name: string): Promise<void> {
    this.free(name);
    await this.giveBackIdle(name);
  }

  /** Another process needs places of this name: free ones here are returned. */
  async giveBackIdle(name: string): Promise<void> {
    const held = this.#held.get(name);
    if (held !== undefined && giveBack(held)) await this.#exchange();
  }

  /** Processes that lived when the store last answered. */
  get processes(): number {
    return this.#processes;
  }

  /** In use in this process. */
  busy(name: string): number {
    return this.#held.get(name)?.busy ?? 0;
  }

  /** In use in all processes: exact for this process, for others as reported within the last half second. */
  async busyEverywhere(name: string, most: number): Promise<number> {
    const held = this.#of(name, most);
    held.told = UNKNOWN;
    await this.#exchange();
    return held.busy + held.othersBusy;
  }

  /** Returns idle places and reports that this process is alive; `idleMs` 0 returns all free places. */
  async settle({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): Promise<void> {
    const now = performance.now();
    let isOwing = now - this.#seenAt >= SEEN_EVERY_MS;
    for (const held of this.#held.values()) {
      if (now - held.usedAt >= idleMs) giveBack(held);
      if (held.told.held !== held.held) isOwing = true;
      else if (held.held === 0 && held.waiting === 0) this.#held.delete(held.name);
    }
    if (isOwing) await this.#exchange();
  }

  #of(name: string, most: number): Held {
    let held = this.#held.get(name);
    if (held === undefined) {
      const nothing = { held: 0, busy: 0, waiting: 0, fullUntil: 0, told: NOTHING, othersBusy: 0 };
      held = { name, most, usedAt: performance.now(), ...nothing };
      this.#held.set(name, held);
    }
    held.most = most;
    return held;
  }

  /** The next exchange: one at a time; callers that arrive meanwhile share the one after it. */
  #exchange(): Promise<void> {
    this.#next ??= this.#exchanging.then(() => {
      const running = this.#report();
      this.#exchanging = running;
      this.#next = null;
      return running;
    });
    return this.#next;
  }

  async #report(): Promise<void> {
    const owing = [...this.#held.values()].filter((held) => isUnreported(held) || held.waiting > 0);
    const asks = owing.map(toAsk);
    const answer = await this.#requestPlaces(asks);
    owing.forEach((held, i) => {
      const [ask, grant] = [asks[i], answer[i]];
      if (ask === undefined || grant === undefined) return;
      held.held += grant.granted;
      held.othersBusy = grant.othersBusy;
    });
  }

  /** From the store; while it is unavailable, from this process's own count. Never rejects. */
  async #requestPlaces(asks: readonly PlaceAsk[]): Promise<readonly PlaceGrant[]> {
    const now = performance.now();
    if (now < this.#awayUntil || this.#isLate) return this.#grantWithoutStore(asks);
    try {
      const { grants, isForgotten, processes } = await limitTime(this.#exchangeOnce(asks), ANSWER_MS);
      this.#seenAt = now;
      this.#processes = Math.max(1, processes);
      if (isForgotten) for (const held of this.#held.values()) held.told = UNKNOWN;
      asks.forEach(({ name, held, busy }, i) => {
        const known = this.#held.get(name);
        if (known !== undefined) known.told = { held: held + (grants[i]?.granted ?? 0), busy };
      });
      return grants;
    } catch {
      this.#awayUntil = performance.now() + AWAY_MS;
      return this.#grantWithoutStore(asks);
    }
  }

  /** The places that this process may take while the store is unavailable; everything is reported to the store again afterwards. */
  #grantWithoutStore(asks: readonly PlaceAsk[]): readonly PlaceGrant[] {
    for (const { name } of asks) {
      const held = this.#held.get(name);
      if (held !== undefined) held.told = UNKNOWN;
    }
    return grantAlone(asks);
  }

  /** A late report must not overtake the next one: the next report starts only after this one has ended. */
  async #exchangeOnce(asks: readonly PlaceAsk[]): Promise<PlaceAnswer> {
    this.#isLate = true;
    try {
      return await this.#store.exchange(asks);
    } finally {
      this.#isLate = false;
    }
  }
}

const occupyPlace = (held: Held): boolean => {
  if (held.busy >= held.held || held.busy >= held.most) return false;
  held.busy += 1;
  held.usedAt = performance.now();
  return true;
};

/** Whether there was anything to give. */
const giveBack = (held: Held): boolean => {
  const kept = Math.min(held.held, held.busy + held.waiting);
  if (kept === held.held) return false;
  held.held = kept;
  return true;
};

const isUnreported = ({ told, held, busy }: Held): boolean => told.held !== held || told.busy !== busy;

const toAsk = ({ name, most, held, busy, waiting }: Held): PlaceAsk => ({
  name,
  most,
  held,
  busy,
  wanted: Math.max(0, Math.min(waiting - (held - busy), most - held)),
});
