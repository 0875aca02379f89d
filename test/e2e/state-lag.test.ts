// A stopped pipeline is reported: values are stale with `state_lag`, and present again when it continues.
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import { nameTopics } from '../../schemas/topics.ts';
import { answerWhen, isPresent, PAIRS, startWorld, type World } from '../support/truth/true-world.ts';
import { formatState, type Seen } from '../support/truth/truth.ts';

t.setTimeout(900_000);

/** W of the venue by its log: the smallest of its tasks' newest. */
const readWatermark = async ({ handle, spec }: World): Promise<Micros> => {
  const newest = new Map<number, Micros>();
  const from = () => 'earliest' as const;
  await readToEnd(handle, { topic: nameTopics(spec.namespace).live('binance'), from }, ({ value }, partition) => {
    const watermark = value === null ? null : codecs.live.decode(value).watermark;
    if (watermark !== null) newest.set(partition, watermark);
  });
  return Math.min(...newest.values());
};

t.test('while the processors are stopped values are stale with state_lag, and back when they continue', async (t) => {
  const world = await startWorld(t);
  const { api, processors } = world;
  const ready = async (): Promise<boolean> => (await fetch(`${api.baseUrl}/readyz`)).ok;
  const mostly = (seen: Parameters<Parameters<typeof answerWhen>[2]>[0]): boolean =>
    seen.filter(isPresent).length >= 0.99 * PAIRS;
  const { seen: before } = await answerWhen(world, '99 % present', mostly, 90_000);
  const wasPresent = new Set(before.filter(isPresent).map(({ symbol, layer }) => `${symbol} ${layer}`));
  processors.process.kill('SIGSTOP');
  const { seen, before: last, ms } = await answerWhen(world, 'nothing present', (all) => !all.some(isPresent));
  t.comment(`nothing was present ${Math.round(ms)} ms after the stop`);
  const w = await readWatermark(world);
  const behind = (answer: readonly Seen[]): number => (answer[0]?.at ?? Number.NaN) - w;
  t.ok(last.some(isPresent), 'values were present after the stop for a while');
  t.ok(behind(last) <= STATE_LAG, `the last of them ${behind(last)} us after W (L-07)`);
  t.ok(behind(seen) > STATE_LAG, `none was present ${behind(seen)} us after W`);
  const others = seen.filter(({ symbol, layer, object }) => {
    return wasPresent.has(`${symbol} ${layer}`) && formatState(object) !== 'stale state_lag';
  });
  t.same(
    others.slice(0, 3).map(({ symbol, layer, object }) => `${symbol} ${layer} ${formatState(object)}`),
    [],
  );
  t.notOk(await ready(), '/readyz reports that the state is behind');
  await pause(10_000);
  processors.process.kill('SIGCONT');
  const back = await answerWhen(world, '99 % present again', mostly, 60_000);
  t.comment(`present again ${Math.round(back.ms)} ms after the processors went on`);
  t.ok(await ready());
});
