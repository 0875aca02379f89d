// How long nothing moved: the watermarks of the tasks as any reader sees them, which move when a record went all the way through the log and back.
import { type KafkaHandle, readPartitions } from '../../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../../schemas/avro/codec.ts';

export type ProgressWatch = {
  /** Longest time without a newer watermark of some task, of those that ended after `fromMs` and began before `toMs` (performance.now). */
  readonly longestMs: (fromMs: number, toMs: number) => number;
  readonly stop: () => Promise<void>;
};

type Rest = { readonly fromMs: number; readonly toMs: number };

/** Shorter ones are the usual beat of a watermark: 250 ms and a busy machine. */
const LEAST_MS = 500;

export const watchProgress = async (handle: KafkaHandle, watermarkTopic: string): Promise<ProgressWatch> => {
  const newest = new Map<string, { readonly watermark: number; readonly atMs: number }>();
  const rests: Rest[] = [];
  const reader = await readPartitions(handle, {
    topic: watermarkTopic,
    from: () => 'latest',
    onBatch: (_partition, messages) => {
      const atMs = performance.now();
      for (const { value } of messages) {
        const entry = value === null ? null : codecs.watermark.decode(value);
        if (entry?.kind !== 'task') continue;
        const before = newest.get(entry.task);
        if (before !== undefined && entry.watermark <= before.watermark) continue;
        if (before !== undefined && atMs - before.atMs >= LEAST_MS) rests.push({ fromMs: before.atMs, toMs: atMs });
        newest.set(entry.task, { watermark: entry.watermark, atMs });
      }
    },
  });
  return {
    longestMs: (fromMs, toMs) => {
      const now = performance.now();
      const open = [...newest.values()].map(({ atMs }) => ({ fromMs: atMs, toMs: now }));
      const of = [...rests, ...open].filter((rest) => rest.toMs > fromMs && rest.fromMs < toMs);
      return Math.max(0, ...of.map((rest) => rest.toMs - rest.fromMs));
    },
    stop: () => reader.stop(),
  };
};
