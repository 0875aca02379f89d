// Sustained raw messages a second: what was sent, what was applied, how far behind the tasks were, what each process used.
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { injectFaults } from './faults.ts';
import { atLeast, below, type Figure, figureOf, quantile } from './figures.ts';
import { coresBetween, machineCpuSeconds, PROCESSES, readUsage } from './machine.ts';
import type { Run } from './run.ts';

export type ThroughputSpec = {
  readonly rate: number;
  readonly seconds: number;
  readonly settleMs: number;
  /** While the rate is held the venue misbehaves. */
  readonly faults: boolean;
};

const SAMPLE_MS = 50;
/** Design section 10. */
const AIM_RATE = 3_000;
const AIM_LAG_MS = 1_000;

const sampleLag = async (run: Run, seconds: number): Promise<number[]> => {
  const samples: number[] = [];
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const lag = run.watch.lagMs();
    if (lag !== null) samples.push(lag);
    await pause(SAMPLE_MS);
  }
  return samples;
};

/** Figures of one rate. The tasks get time to catch up afterwards, so that the next stage begins at the log's end. */
export const measureThroughput = async (run: Run, spec: ThroughputSpec): Promise<Figure[]> => {
  const { rate, seconds, settleMs } = spec;
  await run.setRate(rate);
  await pause(settleMs);
  const before = await run.counters();
  const [usageBefore, machineBefore, began] = [readUsage(run.dir), machineCpuSeconds(), performance.now()];
  const endFaults = spec.faults ? injectFaults(run) : null;
  const lags = await sampleLag(run, seconds);
  const faults = endFaults === null ? '' : `, ${await endFaults()} faults`;
  const after = await run.counters();
  const tookS = (performance.now() - began) / 1_000;
  const [usageAfter, machineAfter] = [readUsage(run.dir), machineCpuSeconds()];
  const cores = coresBetween(usageBefore, usageAfter, tookS);
  const at = `at ${rate.toLocaleString('en-US')}/s`;
  const dead = after.deadLetters - before.deadLetters;
  const lost = after.connectionsLost - before.connectionsLost;
  return [
    figureOf(`raw messages applied ${at}`, '/s', (after.applied - before.applied) / tookS, {
      limit: (after.sent - before.sent) / tookS,
      limitIs: 'frames the simulator sent',
      aim: atLeast(Math.min(rate, AIM_RATE) * 0.98),
      note: `collector wrote ${Math.round((after.collected - before.collected) / tookS)}/s, ${dead} dead letters, ${lost} connections lost${faults}`,
    }),
    figureOf(`task lag p50 ${at}`, 'ms', quantile(lags, 0.5), { note: 'a watermark comes every 250 ms' }),
    figureOf(`task lag p99 ${at}`, 'ms', quantile(lags, 0.99)),
    figureOf(`task lag max ${at}`, 'ms', quantile(lags, 1), rate <= AIM_RATE ? { aim: below(AIM_LAG_MS) } : {}),
    figureOf(`whole machine ${at}`, 'cores', (machineAfter - machineBefore) / tookS, {
      limit: availableParallelism(),
      limitIs: 'cores there are; what the processes below do not account for is not ours',
    }),
    ...PROCESSES.map((name) =>
      figureOf(`${name} ${at}`, 'cores', cores.get(name) ?? null, {
        note: `resident ${Math.round(usageAfter.get(name)?.residentMb ?? 0)} MB`,
      }),
    ),
  ];
};

export const measureMemory = (run: Run): Figure[] =>
  [...readUsage(run.dir)].map(([name, { residentMb }]) => figureOf(`resident memory of ${name}`, 'MB', residentMb));
