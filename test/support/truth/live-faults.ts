// Entries of `live` that a reader from its start would have seen go back, repeat or be missing.
import { LiveMemory } from '../../../api/live/memory.ts';
import { type KafkaHandle, readToEnd } from '../../../infra/runtime/kafka/kafka.ts';
import { nameTopics } from '../../../schemas/topics.ts';

/** Descriptions; also when nothing was published at all. */
export const liveFaults = async (handle: KafkaHandle, namespace: string, shards: number): Promise<string[]> => {
  const memory = new LiveMemory(['binance']);
  const faults: string[] = [];
  let readings = 0;
  memory.observe(({ message: { symbol, reading }, replaced }) => {
    const before = replaced?.reading;
    if (!reading) return;
    readings += 1;
    if (reading.rev !== (before?.rev ?? 0) + 1)
      faults.push(`${symbol} ${reading.layer}: rev ${before?.rev} then ${reading.rev}`);
    if (before && reading.recorded_at < before.recorded_at) faults.push(`${symbol} ${reading.layer} goes back`);
  });
  memory.expectPartitions('binance', [...Array(shards).keys()]);
  const topic = nameTopics(namespace).live('binance');
  await readToEnd(handle, { topic, from: () => 'earliest' }, ({ value }, partition) => {
    if (value) memory.applyLive('binance', partition, value);
  });
  if (readings === 0) faults.push('nothing was published');
  return faults;
};
