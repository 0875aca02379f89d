// Sends a slot's requests every period, spread evenly over it; three periods without an answer, or a 429 or 418, end the connection.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../infra/runtime/log.ts';
import type { PollRequest, PollSlot } from '../venues/contract/feed.ts';
import type { ConnectionLog, LossCause, Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';
import { type SlotRunner, toLossCause } from './slot-runner.ts';

type PollSlotDeps = {
  readonly connections: ConnectionLog;
  readonly rest: RestClient;
  readonly meters: VenueMeters;
  readonly log: Logger;
  /** Above the deadline of a request: what is not answered by then was not sent. Twelve seconds unless told. */
  readonly starvedAfterMs?: number;
  /** Wall time in milliseconds; the machine's unless told. */
  readonly wallMs?: () => number;
};

const LOST_AFTER_PERIODS = 3;
/** Requests of a slot that wait for their answers; the next one waits for one of them (overflow policy `block`). */
const MOST_WAITING = 8;
const STARVED_EVERY_MS = 500;

export const runPollSlot = (first: PollSlot, deps: PollSlotDeps): SlotRunner<PollSlot> => {
  const { connections, rest, meters, log, starvedAfterMs = 12_000, wallMs = Date.now } = deps;
  const over = new AbortController();
  const waiting = new Set<Promise<void>>();
  let slot = first;
  let source: Source | null = null;
  let answeredMs = performance.now();
  let answers = 0;

  const open = (): Source => {
    const { id, shards, covers, requests } = slot;
    return connections.open({ slot: id, shards, url: requests[0]?.url ?? '', covers });
  };

  const lose = (cause: LossCause, detail: string): void => {
    source?.lost(cause, detail);
    source = null;
  };

  const ask = async (request: PollRequest): Promise<void> => {
    try {
      const asked = atInstant(request, wallMs());
      const payload = await rest.ask(asked, asked.urgency ?? 'poll');
      if (over.signal.aborted) return;
      answeredMs = performance.now();
      answers += 1;
      source ??= open();
      source.response(`${asked.method} ${asked.url}`, payload);
    } catch (error) {
      if (over.signal.aborted) return;
      if (!(error instanceof RestError)) throw error;
      log.debug({ err: error, slot: slot.id }, 'no answer to a poll');
      await onRefusal(request, error);
    }
  };

  const onRefusal = async (request: PollRequest, { status, retryAtMs, message }: RestError): Promise<void> => {
    const isLong = performance.now() - answeredMs >= LOST_AFTER_PERIODS * slot.everyMs;
    // Nobody is answered until the venue's pause is over: that is known at once.
    if (isLong || retryAtMs !== null) lose(toLossCause(status), message);
    if (retryAtMs === null) return;
    await sleep(retryAtMs);
    if (!over.signal.aborted) await ask(request);
  };

  /** The venue's limit leaves nothing for this slot: what is more urgent takes all of it. */
  const onStarvation = (): void => {
    const isStuck = waiting.size >= Math.min(MOST_WAITING, slot.requests.length);
    if (isStuck && performance.now() - answeredMs >= Math.max(slot.everyMs, starvedAfterMs)) {
      lose('venue_rate_limit', "the venue's limit leaves nothing for it");
    }
  };

  const sleep = (untilMs: number): Promise<void> =>
    pause(Math.max(untilMs - performance.now(), 0), undefined, { signal: over.signal }).catch(() => undefined);

  const send = async (request: PollRequest): Promise<void> => {
    // Polls come again by themselves: what cannot be kept is not asked for.
    if (connections.isFull()) await connections.ready();
    if (waiting.size >= MOST_WAITING) await Promise.race(waiting);
    if (over.signal.aborted) return;
    const asked = ask(request).finally(() => waiting.delete(asked));
    waiting.add(asked);
  };

  const round = async (): Promise<void> => {
    const startedMs = performance.now();
    const { requests, everyMs } = slot;
    for (const [index, request] of requests.entries()) {
      await sleep(startedMs + (index * everyMs) / requests.length);
      if (over.signal.aborted) return;
      await send(request);
    }
    await sleep(startedMs + everyMs);
  };

  const run = async (): Promise<void> => {
    source = open();
    while (!over.signal.aborted) {
      answers = 0;
      await round();
      if (answers === 0 && !over.signal.aborted) meters.pollMissed(slot.id);
    }
  };
  void run();
  const starving = setInterval(onStarvation, STARVED_EVERY_MS);

  return {
    slot: () => slot,
    replace: (next) => {
      slot = next;
      lose('connection_lost', 'its successor took over');
      source = open();
    },
    stop: (cause, detail) => {
      clearInterval(starving);
      over.abort();
      lose(cause, detail);
    },
  };
};

const atInstant = (request: PollRequest, nowMs: number): PollRequest => {
  const { url, sinceMs } = request;
  if (sinceMs === undefined) return request;
  return { ...request, url: url.replace('{since}', String(Math.floor((nowMs - sinceMs) / 1_000))) };
};
