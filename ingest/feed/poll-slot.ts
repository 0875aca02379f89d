// Asks a slot's requests every period within the budget; three periods without an answer are a lost connection.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../infra/runtime/log.ts';
import type { Slot, VenueRequest } from '../venue.ts';
import type { ConnectionLog, LossCause, Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';
import type { SlotRunner } from './socket-slot.ts';

export type PollSlot = Extract<Slot, { kind: 'poll' }>;

export type PollSlotDeps = {
  readonly connections: ConnectionLog;
  readonly rest: RestClient;
  readonly meters: VenueMeters;
  readonly log: Logger;
};

const LOST_AFTER_PERIODS = 3;

export const runPollSlot = (first: PollSlot, deps: PollSlotDeps): SlotRunner<PollSlot> => {
  const { connections, rest, meters, log } = deps;
  const over = new AbortController();
  let slot = first;
  let source: Source | null = null;
  let answeredMs = performance.now();

  const open = (): Source => {
    const { id, shards, covers, requests } = slot;
    return connections.open({ slot: id, shards, url: requests[0]?.url ?? '', covers });
  };

  const ask = async (request: VenueRequest): Promise<boolean> => {
    try {
      const payload = await rest.ask(request);
      if (over.signal.aborted) return false;
      answeredMs = performance.now();
      source ??= open();
      source.response(`${request.method} ${request.url}`, payload);
      return true;
    } catch (error) {
      if (over.signal.aborted) return false;
      if (!(error instanceof RestError)) throw error;
      log.debug({ err: error, slot: slot.id }, 'no answer to a poll');
      if (performance.now() - answeredMs < LOST_AFTER_PERIODS * slot.everyMs) return false;
      source?.lost(toLoss(error.status), error.message);
      source = null;
      return false;
    }
  };

  const round = async (): Promise<void> => {
    let answers = 0;
    for (const request of slot.requests) {
      if (over.signal.aborted) return;
      // Polls come again by themselves: what cannot be kept is not asked for.
      if (connections.isFull()) await connections.ready();
      if (await ask(request)) answers += 1;
    }
    if (answers === 0) meters.pollMissed(slot.id);
  };

  const run = async (): Promise<void> => {
    source = open();
    while (!over.signal.aborted) {
      const startedMs = performance.now();
      await round();
      const leftMs = startedMs + slot.everyMs - performance.now();
      await pause(Math.max(leftMs, 0), undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  void run();

  return {
    slot: () => slot,
    replace: (next) => {
      slot = next;
      source?.lost('connection_lost', 'its successor took over');
      source = open();
    },
    stop: (cause, detail) => {
      over.abort();
      source?.lost(cause, detail);
    },
  };
};

/** The cause of a loss by the status that showed it; null is no answer at all. */
export const toLoss = (status: number | null): LossCause => {
  if (status === 429 || status === 418) return 'venue_rate_limit';
  return status === null || status >= 500 ? 'venue_down' : 'connection_lost';
};
