// Admits attempts in the order of their arrival, at most as many per minute as the venue allows.
import { setTimeout as pause } from 'node:timers/promises';
import type { Burst } from '../venues/contract/feed.ts';
import { createRateWindow } from './rate-window.ts';

/** Resolves when the caller may proceed; rejects with AbortError when `signal` aborts first. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

export const createPacer = (perMinute: number, burst?: Burst): Pacer => {
  const window = createRateWindow(perMinute, burst);
  let tail: Promise<void> = Promise.resolve();
  const pass = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      const waitMs = window.waitMs(1, performance.now());
      if (waitMs <= 0) break;
      await pause(Math.ceil(waitMs), undefined, { signal });
    }
    window.spend(1, performance.now());
  };
  return (signal) => {
    const turn = tail.then(() => pass(signal));
    tail = turn.catch(() => undefined);
    return turn;
  };
};
