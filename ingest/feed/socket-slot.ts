// Keeps one socket slot connected: backoff after a loss, a successor before a venue's age limit or a new plan, both overlapping.
import { setTimeout as pause } from 'node:timers/promises';
import { createBackoff } from '../../infra/runtime/backoff.ts';
import type { SocketSlot } from '../venues/contract/feed.ts';
import type { ClosedMinutes } from './candle-watch.ts';
import type { Pacer } from './pacer.ts';
import type { SlotRunner } from './slot-runner.ts';
import { ConnectFailure, type Link, type LinkDeps, openLink } from './socket-link.ts';

type SocketSlotDeps = Omit<LinkDeps, 'closed'> & {
  readonly pacer: Pacer;
  /** In [0, 1). */
  readonly random: () => number;
};

const BACKOFF = { minMs: 250, maxMs: 10_000 };
/** A connection that held so long begins a new series of attempts. */
const HELD_MS = 30_000;
const LOOK_EVERY_MS = 100;
/** Renewals of slots opened together are spread over this share of their age. */
const RENEW_SPREAD = 0.05;

type Live = { readonly link: Link; readonly renewAtMs: number };

export const runSocketSlot = (first: SocketSlot, deps: SocketSlotDeps): SlotRunner<SocketSlot> => {
  const { connections, pacer, random, log } = deps;
  const over = new AbortController();
  const closed: ClosedMinutes = new Map();
  const backoff = createBackoff({ ...BACKOFF, random });
  let slot = first;
  let live: Live[] = [];
  let attempting = false;
  let waitMs = 0;

  const isCurrent = ({ link, renewAtMs }: Live): boolean => link.slot === slot && performance.now() < renewAtMs;

  const adopt = (link: Link): void => {
    live.push({ link, renewAtMs: link.openedMs + slot.renewAfterMs * (1 - RENEW_SPREAD * random()) });
    void link.ended.then(() => {
      live = live.filter((l) => l.link !== link);
      if (performance.now() - link.openedMs >= HELD_MS) backoff.reset();
      waitMs = backoff.next();
      look();
    });
  };

  const attempt = async (): Promise<void> => {
    await pause(waitMs, undefined, { signal: over.signal });
    await connections.ready();
    await pacer(over.signal);
    const asked = slot;
    try {
      const link = await openLink(asked, { ...deps, closed });
      adopt(link);
      waitMs = 0;
      if (over.signal.aborted) link.end('collector_down', 'stopped while connecting');
    } catch (error) {
      if (!(error instanceof ConnectFailure)) throw error;
      connections.failed({ slot: asked.id, shards: asked.shards }, error.loss, error.message);
      waitMs = Math.max(backoff.next(), error.waitMs);
      log.warn({ slot: asked.id, cause: error.loss, detail: error.message, wait_ms: waitMs }, 'could not connect');
    }
  };

  const tryAgain = async (): Promise<void> => {
    attempting = true;
    await attempt()
      .catch((error: unknown) => {
        if (!over.signal.aborted) throw error;
      })
      .finally(() => {
        attempting = false;
      });
  };

  const look = (): void => {
    if (over.signal.aborted) return;
    const newest = live.at(-1);
    if (newest?.link.isSettled()) {
      for (const { link } of live.slice(0, -1)) link.end('connection_lost', 'its successor took over');
    }
    if (!attempting && (!newest || !isCurrent(newest))) void tryAgain();
  };

  const timer = setInterval(look, LOOK_EVERY_MS);
  look();
  return {
    slot: () => slot,
    replace: (next) => {
      slot = next;
      look();
    },
    stop: (cause, detail) => {
      clearInterval(timer);
      over.abort();
      for (const { link } of [...live]) link.end(cause, detail);
    },
  };
};
