// The load of a soak: a rate held for a long time while processes are killed, clients send requests, and everything is sampled every ten seconds.
import { setTimeout as pause } from 'node:timers/promises';
import { describeError } from '../../../../schemas/thrown.ts';
import type { QuestdbReader } from '../../../runtime/questdb/reader.ts';
import type { ApiClient } from '../instruments/api-client.ts';
import type { SoakPlan } from '../plan.ts';
import type { Run } from '../run.ts';
import { type HealthWatch, type Sample, watchHealth } from './health.ts';
import { type Kill, killInTurn } from './kills.ts';
import { readSentFrames, type SentFrames } from './sent-frames.ts';

type Answers = { readonly answeredMs: readonly number[]; readonly failed: number };

export type Load = {
  readonly samples: readonly Sample[];
  /** Samples that failed because a process was down. */
  readonly missed: number;
  readonly kills: readonly Kill[];
  readonly answers: Answers;
  /** Once the rate is down and the tasks are at the log's end. */
  readonly rest: Sample;
  readonly caughtUp: boolean;
  readonly sent: SentFrames;
};

const SAMPLE_MS = 10_000;
const PRINT_EVERY_MS = 60_000;
/** A run this short prints each sample. */
const SHORT_MS = 300_000;
const ASK_EVERY_MS = 1_000;
const CATCH_UP_MS = 180_000;

/** One client that requests every listing once a second; the returned function ends it. */
const askOften = (client: ApiClient): (() => Promise<Answers>) => {
  const answeredMs: number[] = [];
  let [failed, isAsking] = [0, true];
  const asking = (async () => {
    while (isAsking) {
      try {
        answeredMs.push((await client.post('/v2/snapshots', { layers: ['mark', 'book'] })).ms);
      } catch {
        failed += 1;
      }
      await pause(ASK_EVERY_MS);
    }
  })();
  return async () => {
    isAsking = false;
    await asking;
    return { answeredMs, failed };
  };
};

const count = (n: number): string => Math.round(n).toLocaleString('en-US');

const describe = (sample: Sample, before: Sample | undefined): string => {
  const { atMs, lag, tables, totals, processes } = sample;
  const sentPerS = before === undefined ? 0 : ((totals.sent - before.totals.sent) * 1_000) / (atMs - before.atMs);
  const memory = [...processes].map(([name, { ownMb }]) => `${name} ${count(ownMb)}`).join(', ');
  const behind = lag === null ? 'unknown' : `${count(lag.usualMs)} ms (highest ${count(lag.highestMs)})`;
  return [
    `${(atMs / 60_000).toFixed(1)} min: ${count(sentPerS)} frames/s, lag ${behind}`,
    `${count(totals.published - totals.written)} rows and ${count(tables.waiting)} transactions waiting, ${tables.suspended.length} tables suspended`,
    `MB: ${memory}`,
  ].join('; ');
};

type Looks = { readonly samples: readonly Sample[]; readonly missed: number };

const lookOften = async (run: Run, watch: HealthWatch, lastingMs: number): Promise<Looks> => {
  const samples: Sample[] = [];
  const printEveryMs = lastingMs <= SHORT_MS ? 0 : PRINT_EVERY_MS;
  const began = performance.now();
  let [missed, printedAtMs] = [0, 0];
  for (let at = 0; at <= lastingMs; at += SAMPLE_MS) {
    await pause(Math.max(0, at - (performance.now() - began)));
    try {
      const sample = await watch.sample();
      if (sample.atMs - printedAtMs >= printEveryMs) {
        run.progress.print(describe(sample, samples.at(-1)));
        printedAtMs = sample.atMs;
      }
      samples.push(sample);
    } catch (error) {
      missed += 1;
      run.progress.print(`no look: ${describeError(error)}`);
    }
  }
  return { samples, missed };
};

type SoakParts = { readonly run: Run; readonly client: ApiClient; readonly reader: QuestdbReader };

/** Ends with the rate down to one frame a second; reads the frames sent until then from the simulator. */
export const runSoak = async ({ run, client, reader }: SoakParts, plan: SoakPlan): Promise<Load> => {
  const lastingMs = plan.minutes * 60_000;
  const watch = watchHealth(run, reader);
  const endAsking = askOften(client);
  try {
    await run.setRate(plan.rate);
    const [looks, kills] = await Promise.all([
      lookOften(run, watch, lastingMs),
      killInTurn(run, plan.killEvery * 1_000, lastingMs),
    ]);
    await run.setRate(1);
    const caughtUp = await run.progress.during('the tasks', run.caughtUp(CATCH_UP_MS));
    const answers = await endAsking();
    const rest = await watch.sample();
    run.progress.print('reading what was sent');
    const sent = await readSentFrames(run.service.endpoints.control_url ?? '');
    return { ...looks, kills, answers, rest, caughtUp, sent };
  } finally {
    watch.stop();
    await endAsking();
  }
};
