// Finished logs handed to whole processes in a namespace of their own, at once or by and by, and what became of them.
import { setTimeout as pause } from 'node:timers/promises';
import { LiveMemory } from '../../api/live/memory.ts';
import { createPublisher, endOffsets, ensureTopics, type KafkaHandle, readToEnd } from '../../infra/runtime/kafka.ts';
import { topicSpecs } from '../../infra/runtime/topics.ts';
import { historyReached } from '../../infra/tools/history-reached.ts';
import type { LogRecord } from '../../processors/task/task.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { shardOf } from '../../schemas/shards.ts';
import { topics } from '../../schemas/topics.ts';
import { busyLog } from './task-logs.ts';

/** Two symbols of a shard. */
const symbolsOf = (shard: number, shards: number): readonly [string, string] => {
  const names = Array.from({ length: 1000 }, (_, i) => `S${i}USDT`).filter((name) => shardOf(name, shards) === shard);
  return [names[0] ?? '', names[1] ?? ''];
};

/** The busy log once a shard, each about listings of its own. */
export const busyShards = (shards: number): readonly (readonly LogRecord[])[] => {
  const { records } = busyLog();
  return Array.from({ length: shards }, (_, shard) => {
    const [first, second] = symbolsOf(shard, shards);
    const rename = (text: string): string => text.replaceAll('BTCUSDT', first).replaceAll('ETHUSDT', second);
    return records.map((record) => {
      const { payload, request } = record.message;
      const message = {
        ...record.message,
        request: request === null ? null : rename(request),
        payload: Buffer.from(rename(Buffer.from(payload).toString())),
      };
      return { ...record, message };
    });
  });
};

const WRITE_EVERY_MS = 100;

/** Makes the topics of a replay with so many shards. */
export const makeTopics = (handle: KafkaHandle, namespace: string, shards: number): Promise<void> =>
  ensureTopics(handle, topicSpecs({ venues: ['binance'], shards, namespace, replay: true }));

/** Writes a log to each shard of the raw topic of `binance`, spread over `ms`; rejects when a record stands there twice. */
export const writeLogs = async (
  handle: KafkaHandle,
  namespace: string,
  logs: readonly (readonly LogRecord[])[],
  ms = 0,
): Promise<void> => {
  const topic = topics(namespace).raw('binance');
  await Promise.all(logs.map((log, partition) => writeLog(handle, { topic, partition }, log, ms)));
  const ends = await endOffsets(handle, topic);
  for (const [partition, { latest }] of ends) {
    if (latest !== logs[partition]?.length) throw new Error(`${topic}/${partition} holds repeats: write it again`);
  }
};

/** A publisher a partition: a request that a broker takes in part is repeated whole, and offsets would move. */
const writeLog = async (
  handle: KafkaHandle,
  at: { readonly topic: string; readonly partition: number },
  log: readonly LogRecord[],
  ms: number,
): Promise<void> => {
  const publisher = createPublisher(handle);
  const steps = Math.max(1, Math.round(ms / WRITE_EVERY_MS));
  for (let step = 0; step < steps; step++) {
    const [from, to] = [step, step + 1].map((done) => Math.round((done * log.length) / steps));
    for (const { message, timestampMs } of log.slice(from, to)) {
      const value = message && codecs.raw.encode(message);
      publisher.publish({ ...at, key: null, value, timestamp: timestampMs });
    }
    await publisher.ready();
    if (ms > 0) await pause(WRITE_EVERY_MS);
  }
  await publisher.close();
};

/** Resolves when everything in the raw topic has become rows that can be read. */
export const rowsReached = (handle: KafkaHandle, namespace: string): Promise<void> =>
  historyReached(handle, {
    venues: ['binance'],
    namespace,
    sinkGroup: `${namespace}processors.sink`,
    timeoutMs: 300_000,
  });

/** What an API node that follows `live` from its start would have seen go back, or come twice, or be left out. */
export const liveFaults = async (handle: KafkaHandle, namespace: string, shards: number): Promise<string[]> => {
  const memory = new LiveMemory(['binance']);
  const faults: string[] = [];
  let readings = 0;
  memory.observe(({ entry: { symbol, reading }, replaced: before }) => {
    if (!reading) return;
    readings += 1;
    if (reading.rev !== (before?.rev ?? 0) + 1)
      faults.push(`${symbol} ${reading.layer}: rev ${before?.rev} then ${reading.rev}`);
    if (before && reading.recorded_at < before.recorded_at) faults.push(`${symbol} ${reading.layer} goes back`);
  });
  memory.expectPartitions('binance', [...Array(shards).keys()]);
  const topic = topics(namespace).live('binance');
  await readToEnd(handle, { topic, from: () => 'earliest' }, ({ value }, partition) => {
    if (value) memory.applyLive('binance', partition, value);
  });
  if (readings === 0) faults.push('nothing was said');
  return faults;
};
