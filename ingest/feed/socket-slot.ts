// Keeps one socket slot connected: backoff after a loss; an overlapping successor before a venue's age limit or for a new plan.
import { setTimeout as pause } from 'node:timers/promises';
import { createOutageLog, type OutageLog } from '../../infra/runtime/process/outage-log.ts';
import { type Backoff, createBackoff } from '../../infra/runtime/time/backoff.ts';
import type { SocketSlot } from '../venues/contract/feed.ts';
import type { ClosedMinutes } from './candle-watch.ts';
import { ConnectFailure } from './handshake.ts';
import type { LossCause } from './loss-cause.ts';
import type { Pacer } from './pacer.ts';
import type { SlotRunner } from './slot-runner.ts';
import { type Link, type LinkDeps, openLink } from './socket-link.ts';

export type SocketSlotDeps = Omit<LinkDeps, 'closed'> & {
  readonly pacer: Pacer;
  /** In [0, 1). */
  readonly random: () => number;
};

const BACKOFF = { minMs: 250, maxMs: 10_000 };
/** A connection that lasted this long resets the backoff. */
const HELD_MS = 30_000;
const LOOK_EVERY_MS = 100;
/** Renewals of slots opened together are spread over this share of their age. */
const RENEW_SPREAD = 0.05;

type Live = { readonly link: Link; readonly renewAtMs: number };

export type SocketSlotRunner = SlotRunner<SocketSlot> & {
  /** Whether a connection delivers what the newest definition covers. */
  readonly isSettled: () => boolean;
  /** No connection is opened any more; those that are open go on until `stop`. */
  readonly retire: () => void;
};

export const runSocketSlot = (slot: SocketSlot, deps: SocketSlotDeps): SocketSlotRunner => new LinkKeeper(slot, deps);

class LinkKeeper implements SocketSlotRunner {
  readonly #deps: SocketSlotDeps;
  /** Aborted when no further connection is opened. */
  readonly #over = new AbortController();
  readonly #closed: ClosedMinutes = new Map();
  readonly #backoff: Backoff;
  readonly #timer: NodeJS.Timeout;
  readonly #outages: OutageLog;
  #slot: SocketSlot;
  /** Oldest first: a successor overlaps with its predecessor. */
  #live: Live[] = [];
  #attempting = false;
  /** An attempt of before a renewal ends: frames may have come with its handshake long before they are read. */
  #renewals = 0;
  #waitMs = 0;

  constructor(slot: SocketSlot, deps: SocketSlotDeps) {
    this.#slot = slot;
    this.#deps = deps;
    this.#outages = createOutageLog(deps.log, 'could not connect');
    this.#backoff = createBackoff({ ...BACKOFF, random: deps.random });
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#look();
  }

  slot(): SocketSlot {
    return this.#slot;
  }

  replace(next: SocketSlot): void {
    this.#slot = next;
    this.#look();
  }

  isSettled(): boolean {
    const newest = this.#live.at(-1);
    return newest !== undefined && newest.link.slot === this.#slot && newest.link.isSettled();
  }

  retire(): void {
    clearInterval(this.#timer);
    this.#over.abort();
  }

  renew(cause: LossCause, detail: string): void {
    this.#renewals += 1;
    for (const { link } of [...this.#live]) link.end(cause, detail);
  }

  stop(cause: LossCause, detail: string): void {
    this.retire();
    this.renew(cause, detail);
  }

  /** Ends the predecessors of a settled link; opens a link when none serves the current slot. */
  #look(): void {
    if (this.#over.signal.aborted) return;
    const newest = this.#live.at(-1);
    if (newest?.link.isSettled()) {
      for (const { link } of this.#live.slice(0, -1)) link.end('connection_lost', 'its successor took over');
    }
    if (!this.#attempting && (!newest || !this.#isCurrent(newest))) void this.#tryAgain();
  }

  #isCurrent({ link, renewAtMs }: Live): boolean {
    return link.slot === this.#slot && performance.now() < renewAtMs;
  }

  async #tryAgain(): Promise<void> {
    this.#attempting = true;
    try {
      await this.#attempt();
    } catch (error) {
      if (!this.#over.signal.aborted) throw error;
    } finally {
      this.#attempting = false;
    }
  }

  async #attempt(): Promise<void> {
    const { connections, pacer } = this.#deps;
    await pause(this.#waitMs, undefined, { signal: this.#over.signal });
    await connections.ready();
    await pacer(this.#over.signal);
    const slot = this.#slot;
    const renewals = this.#renewals;
    try {
      const link = await openLink(slot, { ...this.#deps, closed: this.#closed });
      this.#adopt(link);
      this.#outages.noteSuccess();
      this.#waitMs = 0;
      if (this.#over.signal.aborted) link.end('collector_down', 'stopped while connecting');
      else if (renewals !== this.#renewals) link.end('collector_down', 'this process stood still while connecting');
    } catch (error) {
      if (!(error instanceof ConnectFailure)) throw error;
      // What did not answer meanwhile may have answered to nobody.
      const isOurs = renewals !== this.#renewals && error.loss === 'venue_down';
      this.#onFailure(slot, isOurs ? new ConnectFailure('collector_down', error.message, error.waitMs) : error);
    }
  }

  #adopt(link: Link): void {
    const { renewAfterMs } = this.#slot;
    const renewAtMs = link.openedMs + renewAfterMs * (1 - RENEW_SPREAD * this.#deps.random());
    this.#live.push({ link, renewAtMs });
    void link.ended.then(() => {
      this.#live = this.#live.filter((live) => live.link !== link);
      if (performance.now() - link.openedMs >= HELD_MS) this.#backoff.reset();
      this.#waitMs = this.#backoff.next();
      this.#look();
    });
  }

  #onFailure({ id, shards, covers }: SocketSlot, failure: ConnectFailure): void {
    const { connections } = this.#deps;
    const { loss, message, waitMs } = failure;
    connections.failed({ slot: id, shards, covers }, loss, message);
    this.#waitMs = Math.max(this.#backoff.next(), waitMs);
    this.#outages.noteFailure(failure, { slot: id, cause: loss, wait_ms: this.#waitMs });
  }
}
