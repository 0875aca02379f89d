// Sends a slot's requests every period, spread evenly over it. Silence of the venue, or a 429 or 418, ends the connection.
import type { Logger } from '../../infra/runtime/process/log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { PollRequest, PollSlot } from '../venues/contract/feed.ts';
import type { ConnectionLog, Source } from './connection-log.ts';
import { type LossCause, toLossCause } from './loss-cause.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';
import type { SlotRunner } from './slot-runner.ts';

export type PollSlotDeps = {
  readonly connections: ConnectionLog;
  readonly rest: RestClient;
  readonly meters: VenueMeters;
  readonly log: Logger;
  /** Longer than a request's deadline: a request without an answer after this time was never sent. Twelve seconds by default. */
  readonly starvedAfterMs?: number;
  /** The venue's maximum silence (F-02): thirty seconds by default. */
  readonly silenceMs?: number;
  /** Wall time in milliseconds; the machine's by default. */
  readonly wallMs?: () => number;
};

const LOST_AFTER_PERIODS = 3;
/** Consecutive requests without an answer that show silence; a single one of a slot with rare requests does not. */
const LOST_AFTER_REFUSALS = 3;
const SILENCE_MS = 30_000;
/** Unanswered requests of a slot; the next request waits until one is answered (overflow policy `block`). */
const MOST_WAITING = 8;
const STARVED_EVERY_MS = 500;

export const runPollSlot = (slot: PollSlot, deps: PollSlotDeps): SlotRunner<PollSlot> => new PollSlotRunner(slot, deps);

class PollSlotRunner implements SlotRunner<PollSlot> {
  readonly #deps: PollSlotDeps;
  readonly #over = new AbortController();
  readonly #waiting = new Set<Promise<void>>();
  readonly #starving: NodeJS.Timeout;
  #slot: PollSlot;
  #source: Source | null = null;
  /** Number of renewals: answers to requests from before a renewal are not written. */
  #renewals = 0;
  #answeredMs = performance.now();
  /** Since the newest answer. */
  #refusals = 0;
  /** Of the current round. */
  #answers = 0;

  constructor(slot: PollSlot, deps: PollSlotDeps) {
    this.#slot = slot;
    this.#deps = deps;
    void this.#run();
    this.#starving = setInterval(() => this.#endIfStarved(), STARVED_EVERY_MS);
  }

  slot(): PollSlot {
    return this.#slot;
  }

  replace(next: PollSlot): void {
    const predecessor = this.#source;
    this.#slot = next;
    // First, so that the log has no moment without either: a window without an answer was not lost.
    this.#source = this.#open();
    predecessor?.lost('connection_lost', 'its successor took over');
  }

  renew(cause: LossCause, detail: string): void {
    this.#renewals += 1;
    this.#lose(cause, detail);
  }

  stop(cause: LossCause, detail: string): void {
    clearInterval(this.#starving);
    this.#over.abort();
    this.#lose(cause, detail);
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  async #run(): Promise<void> {
    this.#source = this.#open();
    while (!this.#isOver) {
      this.#answers = 0;
      await this.#sendRound();
      if (this.#answers === 0 && !this.#isOver) this.#deps.meters.pollMissed(this.#slot.id);
    }
  }

  async #sendRound(): Promise<void> {
    const startedMs = performance.now();
    const { requests, everyMs } = this.#slot;
    for (const [index, request] of requests.entries()) {
      await this.#sleepUntil(startedMs + (index * everyMs) / requests.length);
      if (this.#isOver) return;
      await this.#send(request);
    }
    await this.#sleepUntil(startedMs + everyMs);
  }

  async #send(request: PollRequest): Promise<void> {
    const { connections } = this.#deps;
    // Polls repeat, so an answer that could not be stored is not requested.
    if (connections.isFull()) await connections.ready();
    if (this.#waiting.size >= MOST_WAITING) await Promise.race(this.#waiting);
    if (this.#isOver) return;
    const asked = this.#ask(request).finally(() => this.#waiting.delete(asked));
    this.#waiting.add(asked);
  }

  async #ask(request: PollRequest): Promise<void> {
    const { rest, log, wallMs = Date.now } = this.#deps;
    const renewals = this.#renewals;
    try {
      const asked = resolveSince(request, wallMs());
      const payload = await rest.ask(asked, asked.urgency ?? 'poll');
      if (this.#isOver || renewals !== this.#renewals) return;
      this.#answeredMs = performance.now();
      this.#refusals = 0;
      this.#answers += 1;
      this.#source ??= this.#open();
      this.#source.response(`${asked.method} ${asked.url}`, payload);
    } catch (error) {
      if (this.#isOver) return;
      if (!(error instanceof RestError)) throw error;
      log.debug({ err: error, slot: this.#slot.id }, 'no answer to a poll');
      await this.#onRefusal(request, error);
    }
  }

  async #onRefusal(request: PollRequest, error: RestError): Promise<void> {
    const { status, retryAtMs, message } = error;
    this.#refusals += 1;
    // The venue answers no request until its pause ends: the connection ends without waiting for silence.
    if (this.#isSilent() || retryAtMs !== null) this.#lose(toLossCause(status, error), message);
    if (retryAtMs === null) return;
    await this.#sleepUntil(retryAtMs);
    if (!this.#isOver) await this.#ask(request);
  }

  /** Three periods of mark and index candles end after a missing minute is sealed, too late to explain its gap, so refusals in a row count too. */
  #isSilent(): boolean {
    const { silenceMs = SILENCE_MS } = this.#deps;
    const sinceMs = performance.now() - this.#answeredMs;
    if (sinceMs >= LOST_AFTER_PERIODS * this.#slot.everyMs) return true;
    return this.#refusals >= LOST_AFTER_REFUSALS && sinceMs >= silenceMs;
  }

  /** Ends the connection when more urgent requests use the venue's whole limit. */
  #endIfStarved(): void {
    const { starvedAfterMs = 12_000 } = this.#deps;
    const isStuck = this.#waiting.size >= Math.min(MOST_WAITING, this.#slot.requests.length);
    if (isStuck && performance.now() - this.#answeredMs >= Math.max(this.#slot.everyMs, starvedAfterMs)) {
      this.#lose('venue_rate_limit', "the venue's rate limit leaves no budget for it");
    }
  }

  #open(): Source {
    const { id, shards, covers, requests } = this.#slot;
    return this.#deps.connections.open({ slot: id, shards, url: requests[0]?.url ?? '', covers });
  }

  #lose(cause: LossCause, detail: string): void {
    this.#source?.lost(cause, detail);
    this.#source = null;
  }

  #sleepUntil(untilMs: number): Promise<void> {
    const waitMs = Math.max(untilMs - performance.now(), 0);
    return pauseUnlessAborted(waitMs, this.#over.signal);
  }
}

const resolveSince = (request: PollRequest, nowMs: number): PollRequest => {
  const { url, sinceMs } = request;
  if (sinceMs === undefined) return request;
  return { ...request, url: url.replace('{since}', String(Math.floor((nowMs - sinceMs) / 1_000))) };
};
