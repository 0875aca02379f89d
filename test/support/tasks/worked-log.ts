// A log of a test worked through by its task, into a real store and a memory copy: what an API that has followed it would answer from.
import type { HistoryStore } from '../../../api/history/store.ts';
import { Task, type TaskSpec } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { Feed, testApp } from '../apps/live-fixture.ts';
import type { Teardown, TestEngines } from '../engines/engines.ts';
import { openTestStore } from '../engines/test-store.ts';
import type { TestLog } from './task-driver.ts';

/** A POST of a JSON body; rejects on anything but a 200. */
type Ask = <T>(path: string, body: unknown) => Promise<T>;
type WorkedLog = { readonly feed: Feed; readonly history: HistoryStore; readonly ask: Ask };

/** Everything in the log up to its end is in the store and in memory, and a second has passed. */
export const workLog = async (
  t: Teardown,
  engines: TestEngines,
  { log, spec }: { readonly log: TestLog; readonly spec: TaskSpec },
): Promise<WorkedLog> => {
  const { history, write } = await openTestStore(t, engines);
  const venue = spec.venue.id;
  const feed = new Feed([venue]);
  const task = new Task(spec);
  const outputs = log.records.map((record) => task.process(record));
  const rows = outputs.flatMap((one) => one.rows).flatMap(({ row }) => (row === null ? [] : [row]));
  await write(rows);
  for (const entry of outputs.flatMap((one) => one.live)) feed.memory.applyLive(venue, 0, codecs.live.encode(entry));
  feed.memory.applyHistoryWatermark(venue, 0, log.now);
  const { app, as } = await testApp(feed, { history, nowMicros: () => log.now + 1_000_000 });
  t.teardown(() => app.close());
  const headers = { 'content-type': 'application/json', ...as('pro_plus') };
  const ask: Ask = async <T>(path: string, body: unknown): Promise<T> => {
    const answer = await app.inject({ method: 'POST', url: path, headers, payload: JSON.stringify(body) });
    if (answer.statusCode !== 200) throw new Error(answer.body);
    return answer.json<T>();
  };
  return { feed, history, ask };
};
