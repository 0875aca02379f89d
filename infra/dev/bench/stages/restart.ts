// How long the tasks publish nothing after a kill -9 of the processors, and until they reach the log's end again.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../engines/java.ts';
import { type Figure, makeFigure, makeUpperAim } from '../instruments/figures.ts';
import { findPid } from '../instruments/machine.ts';
import { ROUNDS, runRounds } from '../instruments/rounds.ts';
import { waitUntil } from '../instruments/until.ts';
import type { Run } from '../run.ts';

const PATIENCE = { everyMs: 20, forMs: 60_000 };
const AT_END_MS = 1_000;
/** Longer than the time between two rounds of checkpoints. */
const SETTLE_MS = 8_000;

/** The minimum of any restart: Node's start and the loading of the process's modules (measured by running its parts' imports). */
const measureBareStartMs = (): number => {
  const began = performance.now();
  const parts = ['processors/runner/tasks.ts', 'processors/sinks/sink.ts', 'ingest/venues/index.ts'].map(
    (file) => `import(${JSON.stringify(join(PROJECT_ROOT, file))})`,
  );
  spawnSync(process.execPath, [
    '--input-type=module',
    '-e',
    `await Promise.all([${parts.join(',')}]); process.exit(0)`,
  ]);
  return performance.now() - began;
};

/** One kill. Excludes the supervisor's wait before a restart, which is longer the sooner the process died. */
const measureRound = async (run: Run, rate: number): Promise<Figure[]> => {
  await run.caughtUp(PATIENCE.forMs);
  await pause(SETTLE_MS);
  const pid = findPid(run.dir, 'processors');
  if (pid === null) throw new Error('the processors do not run');
  const before = run.watch.watermark() ?? 0;
  const killedAtMicros = Date.now() * 1_000;
  const killed = performance.now();
  process.kill(pid, 'SIGKILL');
  await waitUntil(() => ![pid, null].includes(findPid(run.dir, 'processors')), PATIENCE);
  const began = performance.now();
  const spoke = await waitUntil(() => (run.watch.watermark() ?? 0) > Math.max(before, killedAtMicros), PATIENCE);
  const spokeMs = performance.now() - began;
  const atEnd = spoke && (await waitUntil(() => (run.watch.lagMs() ?? Number.POSITIVE_INFINITY) < AT_END_MS, PATIENCE));
  const atEndMs = performance.now() - began;
  const limit = measureBareStartMs() / 1_000;
  const parts = { limit, limitIs: 'Node starts and loads the modules' };
  return [
    makeFigure({
      name: 'restart after kill -9: process started to the watermark passing the kill',
      unit: 's',
      measured: spoke ? spokeMs / 1_000 : null,
      ...parts,
      aim: makeUpperAim(5),
      note: `at ${rate}/s; killed ${((began - killed) / 1_000).toFixed(2)} s before`,
    }),
    makeFigure({
      name: "restart after kill -9: process started to the log's end (lag < 1 s)",
      unit: 's',
      measured: atEnd ? atEndMs / 1_000 : null,
      ...parts,
    }),
  ];
};

export const measureRestart = async (run: Run, rate: number): Promise<Figure[]> => {
  await run.setRate(rate);
  return runRounds(ROUNDS, () => measureRound(run, rate));
};
