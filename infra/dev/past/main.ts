// The past of a demo, in a process that its starter forks: made while the engines start, written, and its days archived once they are stored.
import { on } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { addDays, findDayStart, toDayAt } from '../../../processors/nightly/day.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { describeError } from '../../../schemas/thrown.ts';
import { nameTopics } from '../../../schemas/topics.ts';
import { toSealInstant } from '../../../schemas/windows.ts';
import { type KafkaHandle, openKafka, readPartitions } from '../../runtime/kafka/kafka.ts';
import { createLog } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { beginLastDays, LAST_VENUE } from './last-days.ts';
import { computeOldDayMs, OLD_VENUES, writeOldDay, writeYesterday } from './old-day.ts';
import { type PastState, readPast, writePast } from './state.ts';
import { createVirtualLog, type PastRecord } from './virtual-log.ts';
import { endKeeping, type Target, writePastLog } from './write-log.ts';

/** Messages to the process, in this order: what to make; the log is available; the settings of the nightly steps. */
export type PastStart = { readonly shards: number; readonly makes: boolean };
export type PastOrder = {
  readonly file: string;
  readonly brokers: string;
  readonly venues: readonly string[];
  readonly shards: number;
};
export type PastSettings = { readonly nightly: Readonly<Record<string, string | undefined>> };
/** Messages from the process. */
export type PastMessage =
  | { readonly progress: string }
  | { readonly written: number }
  | { readonly failed: string }
  | { readonly archived: { readonly oldDay: string; readonly yesterday: string } };

/** Differs from the live market's, so that its walk does not repeat. */
const SEED = 2_026;
const LOOK_EVERY_MS = 500;
const PRINT_EVERY_MS = 4_000;

const post = (message: PastMessage): void => void process.send?.(message);
const postProgress = (line: string): void => post({ progress: line });

type Made = { readonly nowMs: number; readonly recordsTo: (venue: string, nowMs: number) => readonly PastRecord[] };

/** Makes everything up to now; the time that passes until it is written is added then. */
const make = (shards: number): Made => {
  const plan = { nowMs: Date.now(), shards, seed: SEED };
  const logs = new Map(OLD_VENUES.map((venue) => [venue, createVirtualLog()]));
  for (const [venue, log] of logs) {
    writeOldDay(venue, log, plan);
    if (venue !== LAST_VENUE) writeYesterday(venue, log, plan);
  }
  const last = logs.get(LAST_VENUE);
  const lastDays = last && beginLastDays(last, plan);
  lastDays?.writeTo(plan.nowMs);
  return {
    nowMs: plan.nowMs,
    recordsTo: (venue, nowMs) => {
      if (venue === LAST_VENUE) lastDays?.writeTo(nowMs);
      return logs.get(venue)?.records ?? [];
    },
  };
};

const write = async (target: Target, file: string, made: Made): Promise<PastState> => {
  const whole = { nowMs: Date.now(), oldDayMs: computeOldDayMs(made.nowMs) };
  const written = await writePastLog(target, (venue) => made.recordsTo(venue, whole.nowMs));
  const state = { state: 'written', ...whole } as const;
  writePast(file, state);
  post({ written });
  return state;
};

/** Follows history W of each task, as published from now on. Its topic is created with the tasks. */
const followHistory = async ({ handle }: Target) => {
  const { watermark: topic } = nameTopics();
  while (!(await (await handle.admin()).listTopics()).includes(topic)) await pause(LOOK_EVERY_MS);
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const reached = new Map<string, number>();
  const { stop } = await readPartitions(handle, {
    topic,
    from: () => 'earliest',
    onBatch: (_, messages) => {
      for (const { value } of messages) {
        const entry = value && codecs.watermark.decode(value);
        if (entry && entry.kind !== 'checkpoint' && !reached.has(entry.task)) reached.set(entry.task, 0);
        if (entry?.kind === 'history') reached.set(entry.task, entry.watermark / 1_000);
      }
    },
    onFatal: failed.reject,
  });
  return { reached, stop, failed: failed.promise };
};

/** Resolves when the rows of the past are readable, and all of yesterday: just after midnight its last windows are not sealed yet. */
const waitForStored = async (nowMs: number, target: Target): Promise<void> => {
  const wantedMs = Math.max(nowMs, toSealInstant(findDayStart(toDayAt(nowMs)) * 1_000) / 1_000);
  const { reached, stop, failed } = await followHistory(target);
  const tasks = target.venues.length * target.shards;
  let writtenMs = performance.now();
  for (;;) {
    const reachedMs = reached.size < tasks ? 0 : Math.min(...reached.values());
    if (reachedMs >= wantedMs) break;
    if (performance.now() - writtenMs >= PRINT_EVERY_MS) {
      writtenMs = performance.now();
      postProgress(reachedMs === 0 ? 'nothing is stored yet' : `stored up to ${new Date(reachedMs).toISOString()}`);
    }
    await Promise.race([pause(LOOK_EVERY_MS), failed]);
  }
  await stop();
};

/** The nightly steps of its days: closes the old one, archives yesterday as far as it is known. */
const archiveDays = async ({ nowMs, oldDayMs: oldMs }: PastState, context: NightlyContext): Promise<void> => {
  const { runCommand, openLedger, STEPS } = await loadSteps();
  const ledger = openLedger(context.database);
  const quiet = { ...context, progress: () => undefined };
  const run = (...argv: readonly string[]): Promise<string> =>
    runCommand(argv, { steps: STEPS, ledger, context: quiet });
  const oldDay = toDayAt(oldMs);
  const yesterday = toDayAt(nowMs - MS_PER_DAY);
  postProgress(`${oldDay} is archived and closed`);
  // Tiers are ranked by the turnover at the end of a day.
  await run('--step', 'turnover', '--day', addDays(oldDay));
  await run('--day', oldDay);
  postProgress(`${yesterday} is archived`);
  await run('--step', 'turnover', '--day', toDayAt(nowMs));
  // Before 06:00 it is not due yet.
  await run('--step', 'archive', '--day', yesterday, '--early');
};

/** Loaded once the rows are stored: before that everything else is starting. */
const loadSteps = async () => ({
  ...(await import('../../../processors/nightly/command.ts')),
  ...(await import('../../../processors/nightly/ledger.ts')),
  ...(await import('../../../processors/nightly/open-context.ts')),
  ...(await import('../../../processors/nightly/steps/index.ts')),
});

type Finishing = { readonly file: string; readonly target: Target; readonly settings: Promise<PastSettings> };

const finish = async (state: PastState, { file, target, settings }: Finishing): Promise<void> => {
  await waitForStored(state.nowMs, target);
  await endKeeping(target);
  const { openContext } = await loadSteps();
  const { nightly } = await settings;
  const { context, close } = await openContext(nightly, createMetrics(), {
    log: createLog('past', 'error'),
    progress: postProgress,
  });
  try {
    await archiveDays(state, context);
  } finally {
    await close();
  }
  writePast(file, { ...state, state: 'archived' });
  post({ archived: { oldDay: toDayAt(state.oldDayMs), yesterday: toDayAt(state.nowMs - MS_PER_DAY) } });
};

const obey = async (order: PastOrder, made: Made | null, settings: Promise<PastSettings>): Promise<void> => {
  const { file, brokers, shards } = order;
  const handle: KafkaHandle = openKafka({ brokers: [brokers], clientId: 'past' }, createLog('past', 'error'));
  const venues = OLD_VENUES.filter((venue) => order.venues.includes(venue));
  const target = { handle, venues, shards };
  const state = made === null ? readPast(file) : await write(target, file, made);
  if (state !== null) await finish(state, { file, target, settings });
  await handle.close();
};

const run = async (): Promise<void> => {
  const messages = on(process, 'message');
  const readNext = async <T>(): Promise<T> => ((await messages.next()).value as [T])[0];
  const { shards, makes } = await readNext<PastStart>();
  const made = makes ? make(shards) : null;
  const order = await readNext<PastOrder>();
  await obey(order, made, readNext<PastSettings>());
};

// Ctrl-C reaches every process of the terminal; the starter decides when this one ends, and it never outlives the starter.
process.on('SIGINT', () => undefined);
process.once('disconnect', () => process.exit());
run()
  .catch((error: unknown) => post({ failed: describeError(error) }))
  .finally(() => process.disconnect());
