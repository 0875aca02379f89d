// Watches the tasks from outside, as any reader may: their watermarks, and when a sealed row became readable in QuestDB.
import { codecs } from '../../../../schemas/avro/codec.ts';
import { LAYERS } from '../../../../schemas/layers/readings.ts';
import type { Micros } from '../../../../schemas/records.ts';
import { nameTopics } from '../../../../schemas/topics.ts';
import { toSealInstant } from '../../../../schemas/windows.ts';
import { type KafkaHandle, type Message, readPartitions } from '../../../runtime/kafka/kafka.ts';
import { sum } from '../instruments/figures.ts';

/** Milliseconds from the earliest instant a row could be sealed, and from its publication, until it is visible. */
export type SealDelay = { readonly fromSealMs: number; readonly fromRowMs: number };

export type LogWatch = {
  /** Now minus the smallest watermark of the tasks; null before the first. */
  readonly lagMs: () => number | null;
  readonly watermark: () => Micros | null;
  /** Raw records the tasks have applied since the log's beginning, across restarts. */
  readonly applied: () => number;
  /** Rows of sampled layers that became visible since the last call. */
  readonly takeSealed: () => readonly SealDelay[];
  readonly stop: () => Promise<void>;
};

type Waiting = { readonly offset: number; readonly end: Micros; readonly publishedMs: number };

const SAMPLED: ReadonlySet<string> = new Set(Object.values(LAYERS).map(({ table }) => table));

/** Rows wait until a history watermark of their task covers their raw offset. */
class SealWatch {
  readonly #waiting = new Map<string, Waiting[]>();
  #done: SealDelay[] = [];

  addRow(task: string, { value, timestampMs }: Message): void {
    const entry = value === null ? null : codecs.rows.decode(value);
    if (entry?.row == null || !SAMPLED.has(entry.row.table)) return;
    const held = this.#waiting.get(task) ?? [];
    held.push({ offset: entry.offset, end: entry.row.at, publishedMs: timestampMs });
    this.#waiting.set(task, held);
  }

  addVisible(task: string, offset: number, visibleMs: number): void {
    const held = this.#waiting.get(task) ?? [];
    const covered = held.findIndex((row) => row.offset > offset);
    for (const { end, publishedMs } of held.splice(0, covered < 0 ? held.length : covered)) {
      this.#done.push({ fromSealMs: visibleMs - toSealInstant(end) / 1_000, fromRowMs: visibleMs - publishedMs });
    }
  }

  take(): readonly SealDelay[] {
    const done = this.#done;
    this.#done = [];
    return done;
  }
}

export const watchLog = async (handle: KafkaHandle, venue: string): Promise<LogWatch> => {
  const names = nameTopics();
  const watermarks = new Map<string, Micros>();
  const offsets = new Map<string, number>();
  const seals = new SealWatch();
  const readers = await Promise.all([
    readPartitions(handle, {
      topic: names.watermark,
      from: () => 'latest',
      onBatch: (_partition, messages) => {
        for (const { value, timestampMs } of messages) {
          const entry = value === null ? null : codecs.watermark.decode(value);
          if (entry?.kind === 'task') {
            watermarks.set(entry.task, entry.watermark);
            offsets.set(entry.task, entry.offset);
          }
          if (entry?.kind === 'history') seals.addVisible(entry.task, entry.offset, timestampMs);
        }
      },
    }),
    readPartitions(handle, {
      topic: names.rows(venue),
      from: () => 'latest',
      onBatch: (partition, messages) => {
        for (const message of messages) seals.addRow(`${venue}/${partition}`, message);
      },
    }),
  ]);
  const watermark = (): Micros | null => (watermarks.size === 0 ? null : Math.min(...watermarks.values()));
  return {
    lagMs: () => {
      const at = watermark();
      return at === null ? null : Date.now() - at / 1_000;
    },
    watermark,
    applied: () => sum(offsets.values()) + offsets.size,
    takeSealed: () => seals.take(),
    stop: async () => {
      await Promise.all(readers.map((reader) => reader.stop()));
    },
  };
};
