// History W: the instant up to which every task's final rows are readable, as published by the sink (design section 5).
import { type KafkaHandle, readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { topics } from '../../schemas/topics.ts';

const ANSWERS_WITHIN_MS = 10_000;

/** The minimum over all tasks; a task without written rows keeps it at 0. Rejects while Kafka does not answer. */
export const readHistoryWatermark = async (kafka: KafkaHandle, namespace: string): Promise<Micros> => {
  const history = new Map<string, Micros>();
  const topic = topics(namespace).watermark;
  await readToEnd(
    kafka,
    { topic, from: () => 'earliest' as const, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) },
    ({ value }) => {
      if (value === null) return;
      const { kind, task, watermark } = codecs.watermark.decode(value);
      if (kind === 'task') history.set(task, history.get(task) ?? 0);
      if (kind === 'history') history.set(task, Math.max(history.get(task) ?? 0, watermark));
    },
  );
  return history.size === 0 ? 0 : Math.min(...history.values());
};
