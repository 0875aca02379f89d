// A log of a test worked through by its task, into a real store and a memory copy: what an API that has followed it would answer from.
import { createHistoryStore, type HistoryStore } from '../../api/history/store.ts';
import { createLog } from '../../infra/runtime/log.ts';
import { createRowSender, openQuestdbReader } from '../../infra/runtime/questdb.ts';
import { ensureTables } from '../../processors/sinks/ensure-tables.ts';
import { Task, type TaskSpec } from '../../processors/task/task.ts';
import { tableName } from '../../schemas/tables.ts';
import { Feed, testApp } from '../api/live-fixture.ts';
import type { Teardown, TestEngines } from './engines.ts';
import type { TestLog } from './task-driver.ts';

const ROWS_AT_A_TIME = 10_000;

/** A POST of a JSON body; rejects on anything but a 200. */
export type Ask = <T>(path: string, body: unknown) => Promise<T>;
export type WorkedLog = { readonly feed: Feed; readonly history: HistoryStore; readonly ask: Ask };

/** Everything that the log says up to its end is in the store and in memory, and a second has passed. */
export const workLog = async (
  t: Teardown,
  { endpoints, namespace: newNamespace }: TestEngines,
  { log, spec }: { readonly log: TestLog; readonly spec: TaskSpec },
): Promise<WorkedLog> => {
  const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
  const silent = createLog('test', 'silent');
  const namespace = `${newNamespace()}.`;
  const reader = openQuestdbReader(endpoints.questdb_pg, { max: 4, timeoutMs: 10_000, auth, log: silent });
  const sender = createRowSender(endpoints.questdb_http, { auth, log: silent });
  t.teardown(async () => {
    await sender.close();
    await reader.close();
  });
  await ensureTables((text) => reader.query({ text }), { namespace });

  const venue = spec.venue.id;
  const feed = new Feed([venue]);
  const task = new Task(spec);
  const outputs = log.records.map((record) => task.process(record));
  const rows = outputs.flatMap((one) => one.rows).flatMap(({ row }) => (row === null ? [] : [row]));
  for (const table of new Set(rows.map((row) => row.table))) {
    const own = rows.filter((row) => row.table === table);
    const name = tableName(namespace, table);
    for (let i = 0; i < own.length; i += ROWS_AT_A_TIME) await sender.send(name, own.slice(i, i + ROWS_AT_A_TIME));
    await sender.waitVisible([name]);
  }
  for (const entry of outputs.flatMap((one) => one.live)) feed.memory.applyLive(venue, 0, entry);
  feed.memory.applyHistoryWatermark(venue, 0, log.now);

  const history = createHistoryStore(reader, namespace);
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
