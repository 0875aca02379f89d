// Processes a raw log again into separate tables: with any number of processes, repetitions and interruptions; compares the hashes.
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import {
  type Hashes,
  hashNamespace,
  type LoggedWorld,
  waitForReached,
} from '../../../infra/dev/bench/soak/raw-copy.ts';
import { compareFrames, type FrameAccount, type SentFrames } from '../../../infra/dev/bench/soak/sent-frames.ts';
import { fetchEndOffsets, readToEnd } from '../../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createMetrics } from '../../../infra/runtime/process/metrics.ts';
import { venues as known } from '../../../ingest/venues/index.ts';
import { createProcessorMetrics } from '../../../processors/metrics.ts';
import { createCheckpointPace } from '../../../processors/runner/checkpoint-pace.ts';
import { closePublishers, openPublishers } from '../../../processors/runner/publishers.ts';
import { TaskRunner } from '../../../processors/runner/task-runner.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import { nameTopics } from '../../../schemas/topics.ts';
import { type Child, type PipelineSpec, startProcessors } from '../services/pipeline.ts';

/** A processor that works through a finished log writes no ticks into it. */
export const QUIET = { OWNER_TICKS: 'false' };

/** 100 s after their end windows are sealed (N-11). */
export const SEAL_MS = 115_000;

/** May kill, stop and add processes while they work. */
type Disturb = (children: Child[], start: () => Child) => Promise<void>;

/** Numbers from 0 to 1 that a failure can be run again with. */
export const shares = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const makeSpec = ({ stores, shards, venues }: LoggedWorld, namespace: string): PipelineSpec => ({
  stores,
  namespace,
  shards,
  venues,
});

/** Replays with whole processes; `disturb` may kill and restart them while they work. */
export const replay = async (
  world: LoggedWorld,
  namespace: string,
  processes: number,
  disturb?: Disturb,
): Promise<Hashes> => {
  const start = (): Child => startProcessors(makeSpec(world, namespace), QUIET);
  const children = Array.from({ length: processes }, start);
  if (disturb) await disturb(children, start);
  await waitForReached(world, namespace);
  await Promise.all(children.map((c) => c.kill('SIGTERM')));
  return hashNamespace(world, namespace);
};

/** Kills the process at random moments while it works, until it has had `times` of them. */
export const killAtRandom =
  (times: number, seed: number): Disturb =>
  async (children, start) => {
    const next = shares(seed);
    for (let i = 0; i < times; i++) {
      await pause(2_500 + next() * 4_000);
      await children[0]?.kill('SIGKILL');
      children[0] = start();
    }
  };

/** Hands each batch of a partition to its task twice. */
const applyTwice = async (
  { handle, shards }: LoggedWorld,
  { venue: code, partition, namespace }: { venue: string; partition: number; namespace: string },
): Promise<void> => {
  const venue = known.get(code);
  if (!venue) throw new Error(`no venue ${code}`);
  const publishers = openPublishers(handle);
  const metrics = createProcessorMetrics(createMetrics());
  const log = createLog('twice', 'warn');
  const topic = nameTopics(namespace).raw(code);
  const spec = {
    handle,
    venue,
    partition,
    shards,
    namespace,
    ticks: false,
    publishers,
    pace: createCheckpointPace(),
    metrics,
    log,
  };
  const runner = await TaskRunner.start(spec);
  const end = (await fetchEndOffsets(handle, topic)).get(partition)?.latest ?? 0;
  let batch: Parameters<TaskRunner['apply']>[0][number][] = [];
  const deliver = async (): Promise<void> => {
    const messages = batch;
    batch = [];
    await runner.apply(messages, end);
    await runner.apply(messages, end);
  };
  await readToEnd(handle, { topic, partitions: [partition], from: () => 'earliest' as const }, async (message) => {
    batch.push({ ...message, value: message.value === null ? null : Buffer.from(message.value) });
    if (batch.length >= 200) await deliver();
  });
  await deliver();
  await runner.stop('saved');
  await closePublishers(publishers);
};

/** Each batch of each partition is handed to the task twice, in this process; the sink is an ordinary one. */
export const replayTwice = async (world: LoggedWorld, namespace: string): Promise<Hashes> => {
  for (const venue of world.venues) {
    for (let partition = 0; partition < world.shards; partition++)
      await applyTwice(world, { venue, partition, namespace });
  }
  // A process that owns the group finds everything applied; its sink writes the rows.
  return replay(world, namespace, 1);
};

export const sameHashes = (t: Test, name: string, found: Hashes, wanted: Hashes): void => {
  for (const [table, hash] of Object.entries(wanted))
    t.same(found[table], hash, `${name}: ${table} (${hash.rows} rows)`);
};

/** Every sealed window of a published layer within the listing's life is covered by exactly one row. */
export const checkCoverage = async (
  t: Test,
  { base, reader }: LoggedWorld,
  { layers, listings }: { readonly layers: readonly ReadingLayer[]; readonly listings: number },
): Promise<void> => {
  for (const layer of layers) {
    const { table, windowMs } = LAYERS[layer];
    const name = `${base.replaceAll('.', '_')}${table}`;
    const text = `SELECT listing, at::long, from_at::long FROM '${name}' WHERE late = false ORDER BY listing, at`;
    const rows = await reader.query({ text });
    const last = new Map<string, number>();
    let faults = 0;
    let windows = 0;
    for (const [listing, at, from] of rows) {
      const before = last.get(listing ?? '');
      const whole = (Number(at) - Number(from)) % (windowMs * 1000) === 0 && Number(at) > Number(from);
      if (!whole || (before !== undefined && before !== Number(from))) faults += 1;
      windows += (Number(at) - Number(from)) / (windowMs * 1000);
      last.set(listing ?? '', Number(at));
    }
    t.equal(faults, 0, `${layer}: ${windows} windows of ${last.size} listings, ${rows.length} rows`);
    t.equal(last.size, listings, `${layer} has rows of every listing`);
  }
};

/** Every frame a simulated venue sent is in raw once or inside a recorded loss. */
export const checkSent = async (
  t: Test,
  { handle, base }: LoggedWorld,
  { venue, sent }: { readonly venue: string; readonly sent: SentFrames },
): Promise<FrameAccount> => {
  const account = await compareFrames(handle, nameTopics(base).raw(venue), sent);
  const { connections, stored, lost, earliestLostMs } = account;
  t.ok(account.sent > 0, `${venue}: ${account.sent} frames sent over ${connections} connections`);
  t.same(
    account.unaccounted,
    [],
    `${stored} stored, ${lost} inside recorded losses (the first ${earliestLostMs} ms before its loss)`,
  );
  return account;
};
