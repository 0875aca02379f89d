// Kills one process in turn with kill -9, repeatedly; records how long the supervisor of the run took to bring it back.
import { setTimeout as pause } from 'node:timers/promises';
import { findPid } from '../instruments/machine.ts';
import { waitUntil } from '../instruments/until.ts';
import type { Run } from '../run.ts';

/** The sink is a part of the processors. */
export const VICTIMS = ['ingest', 'processors', 'api'] as const;
type Victim = (typeof VICTIMS)[number];
export type Kill = {
  readonly victim: Victim;
  /** Milliseconds until it was ready again; null when it was not within a minute. */
  readonly backMs: number | null;
};

const PATIENCE = { everyMs: 50, forMs: 60_000 };

const toReadyUrl = ({ service }: Run, victim: Victim): string => {
  const { base_url: base, metrics_urls: metrics } = service.endpoints;
  return String(new URL('/readyz', victim === 'api' ? base : metrics[victim]));
};

const isReady = async (url: string): Promise<boolean> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
};

const killOne = async (run: Run, victim: Victim): Promise<Kill> => {
  const pid = findPid(run.dir, victim);
  if (pid === null) {
    run.progress.print(`${victim} does not run: not killed`);
    return { victim, backMs: null };
  }
  run.progress.print(`kill -9 of ${victim}`);
  const began = performance.now();
  process.kill(pid, 'SIGKILL');
  const isBack = await waitUntil(async () => {
    const successor = findPid(run.dir, victim);
    return successor !== null && successor !== pid && (await isReady(toReadyUrl(run, victim)));
  }, PATIENCE);
  return { victim, backMs: isBack ? performance.now() - began : null };
};

/** One every `everyMs` until less than half of that is left of `lastingMs`; none when `everyMs` is 0. */
export const killInTurn = async (run: Run, everyMs: number, lastingMs: number): Promise<readonly Kill[]> => {
  const kills: Kill[] = [];
  if (everyMs === 0) return kills;
  const began = performance.now();
  for (let at = everyMs; at < lastingMs - everyMs / 2; at += everyMs) {
    await pause(Math.max(0, at - (performance.now() - began)));
    kills.push(await killOne(run, VICTIMS[kills.length % VICTIMS.length] ?? 'ingest'));
  }
  return kills;
};
