// Sustained raw messages a second: sent, applied, the lag of the tasks, and the resources of each process.
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Figure, findQuantile, makeFigure, makeLowerAim, makeUpperAim } from '../instruments/figures.ts';
import {
  computeCores,
  findPid,
  PROCESSES,
  readMachineCpuSeconds,
  readMainThread,
  readUsage,
  type ThreadTimes,
} from '../instruments/machine.ts';
import { combineRounds, computeSpread } from '../instruments/rounds.ts';
import { readSteps, toStepFigures } from '../instruments/steps.ts';
import type { Run } from '../run.ts';
import { injectFaults } from './faults.ts';
import { readLogSizes, toCostFigures } from './frame-costs.ts';

type ThroughputSpec = {
  readonly rate: number;
  /** How long the rate is held: divided into as many parts as there are rounds. */
  readonly seconds: number;
  readonly rounds: number;
  readonly settleMs: number;
  /** Whether the venue misbehaves while the rate is held. */
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

type Part = { readonly figures: readonly Figure[]; readonly lags: readonly number[] };

const formatRate = (rate: number): string => `at ${rate.toLocaleString('en-US')}/s`;

/** The processes on the path of a record or a response: each works on one thread, so none can use more than a second of it in a second. */
const ON_ONE_THREAD = ['ingest', 'processors', 'api'] as const;

type Threads = readonly (ThreadTimes | null)[];
const readMainThreads = ({ dir }: Run): Threads => ON_ONE_THREAD.map((name) => readMainThread(findPid(dir, name) ?? 0));

const toMainThreadFigures = (
  at: string,
  { before, after, tookS }: { before: Threads; after: Threads; tookS: number },
): Figure[] =>
  ON_ONE_THREAD.map((name, i) => {
    const [from, to] = [before[i], after[i]];
    const share = (time: keyof ThreadTimes): number | null =>
      from == null || to == null ? null : (to[time] - from[time]) / 1_000 / tookS;
    const [ran, waited] = [share('ranMs'), share('waitedMs')];
    return makeFigure({
      name: `${name} ${at}: its main thread ran or waited for a core`,
      unit: 's',
      measured: ran === null || waited === null ? null : ran + waited,
      limit: 1,
      limitIs: 'a second has no more',
      note: `of a second; it ran ${ran?.toFixed(2)}, it waited ${waited?.toFixed(2)}`,
    });
  });

const measurePart = async (run: Run, { rate, seconds, rounds }: ThroughputSpec): Promise<Part> => {
  const before = await run.counters();
  const [usageBefore, machineBefore, began] = [readUsage(run.dir), readMachineCpuSeconds(), performance.now()];
  const threadsBefore = readMainThreads(run);
  const lags = await sampleLag(run, seconds / rounds);
  const after = await run.counters();
  const tookS = (performance.now() - began) / 1_000;
  const [usageAfter, machineAfter] = [readUsage(run.dir), readMachineCpuSeconds()];
  const threads = { before: threadsBefore, after: readMainThreads(run), tookS };
  const cores = computeCores(usageBefore, usageAfter, tookS);
  const at = formatRate(rate);
  const figures = [
    makeFigure({
      name: `raw messages applied ${at}`,
      unit: '/s',
      measured: (after.applied - before.applied) / tookS,
      limit: (after.sent - before.sent) / tookS,
      limitIs: 'frames the simulator sent',
      aim: makeLowerAim(Math.min(rate, AIM_RATE) * 0.98),
      note: `collector wrote ${Math.round((after.collected - before.collected) / tookS)}/s`,
    }),
    makeFigure({
      name: `task lag p50 ${at}`,
      unit: 'ms',
      measured: findQuantile(lags, 0.5),
      note: 'a watermark comes every 250 ms',
    }),
    makeFigure({ name: `task lag p99 ${at}`, unit: 'ms', measured: findQuantile(lags, 0.99) }),
    makeFigure({
      name: `whole machine ${at}`,
      unit: 'cores',
      measured: (machineAfter - machineBefore) / tookS,
      limit: availableParallelism(),
      limitIs: 'cores there are; what the processes below do not account for is not ours',
    }),
    ...PROCESSES.map((name) =>
      makeFigure({
        name: `${name} ${at}`,
        unit: 'cores',
        measured: cores.get(name) ?? null,
        note: `resident ${Math.round(usageAfter.get(name)?.residentMb ?? 0)} MB`,
      }),
    ),
    ...toMainThreadFigures(at, threads),
  ];
  return { figures, lags };
};

/** Figures of one rate. The tasks then have time to catch up, so that the next stage begins at the log's end. */
export const measureThroughput = async (run: Run, spec: ThroughputSpec): Promise<Figure[]> => {
  const { rate, rounds, settleMs } = spec;
  await run.setRate(rate);
  await pause(settleMs);
  const [before, sizesBefore, stepsBefore] = [await run.counters(), await readLogSizes(run), await readSteps(run)];
  const endFaults = spec.faults ? injectFaults(run) : null;
  const parts: Part[] = [];
  for (let round = 0; round < rounds; round += 1) parts.push(await measurePart(run, spec));
  const faults = endFaults === null ? '' : `, ${await endFaults()} faults`;
  const [after, sizesAfter, stepsAfter] = [await run.counters(), await readLogSizes(run), await readSteps(run)];
  const dead = after.deadLetters - before.deadLetters;
  const lost = after.connectionsLost - before.connectionsLost;
  const highest = parts.map(({ lags }) => findQuantile(lags, 1));
  return [
    ...combineRounds(parts.map(({ figures }) => figures)),
    makeFigure({
      name: `task lag max ${formatRate(rate)}`,
      unit: 'ms',
      measured: findQuantile(
        parts.flatMap(({ lags }) => lags),
        1,
      ),
      spread: computeSpread(highest),
      ...(rate <= AIM_RATE ? { aim: makeUpperAim(AIM_LAG_MS) } : {}),
      note: `of the whole time, not the median; ${dead} dead letters, ${lost} connections lost${faults}`,
    }),
    ...toStepFigures(formatRate(rate), stepsBefore, stepsAfter),
    ...toCostFigures(formatRate(rate), {
      before: sizesBefore,
      after: sizesAfter,
      frames: after.collected - before.collected,
    }),
  ];
};

export const measureMemory = (run: Run): Figure[] =>
  [...readUsage(run.dir)].map(([name, { residentMb }]) =>
    makeFigure({ name: `resident memory of ${name}`, unit: 'MB', measured: residentMb }),
  );
