// The best this machine does for single steps: parsing frames, moving records through Kafka, receiving frames from a socket.
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { codecs } from '../../../../schemas/avro/codec.ts';
import { nameTopics } from '../../../../schemas/topics.ts';
import {
  createPublisher,
  ensureTopics,
  fetchEndOffsets,
  readPartitions,
  readToEnd,
} from '../../../runtime/kafka/kafka.ts';
import { type Figure, findQuantile, makeFigure } from '../instruments/figures.ts';
import { runRounds } from '../instruments/rounds.ts';
import { type Run, VENUE } from '../run.ts';

export const nameKafkaHop = (q: string): string => `machine: Kafka hop ${q} at 200/s`;

const SAMPLED_FRAMES = 3_000;
const BENCH_TOPIC = 'bench.limit';

/** The newest frames of the raw topic, as they were received. */
const sampleFrames = async (run: Run): Promise<readonly Buffer[]> => {
  const topic = nameTopics().raw(VENUE);
  const ends = await fetchEndOffsets(run.handle, topic);
  const frames: Buffer[] = [];
  const from = (partition: number): number => Math.max(0, (ends.get(partition)?.latest ?? 0) - SAMPLED_FRAMES);
  await readToEnd(run.handle, { topic, from }, ({ value }) => {
    const raw = value === null ? null : codecs.raw.decode(value);
    if (raw?.kind === 'frame') frames.push(Buffer.from(raw.payload));
  });
  return frames;
};

const computePerSecond = (count: number, beganMs: number): number => (count * 1_000) / (performance.now() - beganMs);

const parseRate = (frames: readonly Buffer[], seconds: number): number => {
  const began = performance.now();
  let count = 0;
  while (performance.now() - began < seconds * 1_000) {
    for (const frame of frames) JSON.parse(frame.toString('utf8'));
    count += frames.length;
  }
  return computePerSecond(count, began);
};

type Moved = { readonly rate: number; readonly hopP50: number | null; readonly hopP99: number | null };

/** One producer and one reader in this process: first at full speed, then 200 records a second to measure the time of a hop. */
const moveRecords = async (run: Run, frames: readonly Buffer[], seconds: number): Promise<Moved> => {
  await ensureTopics(run.handle, [{ topic: BENCH_TOPIC, partitions: 1, config: { 'retention.ms': '600000' } }]);
  const publisher = createPublisher(run.handle, { maxQueuedBytes: 8 * 1024 * 1024 });
  let read = 0;
  const hops: number[] = [];
  const reader = await readPartitions(run.handle, {
    topic: BENCH_TOPIC,
    from: () => 'latest',
    onBatch: (_partition, messages) => {
      const now = performance.now();
      read += messages.length;
      for (const { key } of messages) if (key !== null && key.length > 0) hops.push(now - Number(key.toString()));
    },
  });
  const began = performance.now();
  let sent = 0;
  while (performance.now() - began < seconds * 1_000) {
    const value = frames[sent % frames.length] ?? null;
    publisher.publish({ topic: BENCH_TOPIC, partition: 0, key: null, value });
    sent += 1;
    if (sent % 500 === 0) await publisher.ready();
  }
  await publisher.flush();
  while (read < sent) await pause(1);
  const rate = computePerSecond(sent, began);
  for (let i = 0; i < seconds * 100; i += 1) {
    const value = frames[i % frames.length] ?? null;
    publisher.publish({ topic: BENCH_TOPIC, partition: 0, key: String(performance.now()), value });
    publisher.publish({ topic: BENCH_TOPIC, partition: 0, key: String(performance.now()), value });
    await pause(10);
  }
  await publisher.close();
  await reader.stop();
  return { rate, hopP50: findQuantile(hops, 0.5), hopP99: findQuantile(hops, 0.99) };
};

/** Frames from another thread over a loopback WebSocket: the most that a collector without other work could receive. */
const measureSocketRate = async (frames: readonly Buffer[], seconds: number): Promise<number> => {
  const worker = new Worker(new URL('./frame-sender.ts', import.meta.url), {
    workerData: frames.map((frame) => frame.toString('utf8')),
  });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
    let count = 0;
    socket.on('message', () => {
      count += 1;
    });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    const began = performance.now();
    await pause(seconds * 1_000);
    const rate = computePerSecond(count, began);
    socket.terminate();
    return rate;
  } finally {
    await worker.terminate();
  }
};

const measureRound = async (run: Run, frames: readonly Buffer[], seconds: number): Promise<Figure[]> => {
  const bytes = frames.reduce((total, frame) => total + frame.length, 0) / Math.max(1, frames.length);
  const parsed = parseRate(frames, seconds);
  const moved = await moveRecords(run, frames, seconds);
  const received = await measureSocketRate(frames, seconds);
  return [
    makeFigure({
      name: 'machine: JSON.parse of the same frames, one core',
      unit: '/s',
      measured: parsed,
      note: `${Math.round(bytes)} bytes a frame`,
    }),
    makeFigure({
      name: 'machine: loopback WebSocket frames',
      unit: '/s',
      measured: received,
      note: 'sender in another thread',
    }),
    makeFigure({ name: 'machine: Kafka, written and read by one process', unit: '/s', measured: moved.rate }),
    makeFigure({
      name: nameKafkaHop('p50'),
      unit: 'ms',
      measured: moved.hopP50,
      note: 'of it 5 ms the publisher lingers',
    }),
    makeFigure({ name: nameKafkaHop('p99'), unit: 'ms', measured: moved.hopP99 }),
  ];
};

type LimitsSpec = { readonly seconds: number; readonly rounds: number };

/** Measured while the venue refuses connections, so that the service idles. */
export const measureLimits = async (run: Run, { seconds, rounds }: LimitsSpec): Promise<Figure[]> => {
  const frames = await sampleFrames(run);
  await run.fault({ venue: VENUE, kind: 'disconnect', durationMs: rounds * seconds * 6_000 + 20_000 });
  await pause(1_000);
  return runRounds(rounds, () => measureRound(run, frames, seconds));
};
