// The store of history of one test: its own tables in the shared QuestDB, written as the sink writes them.
import { createHistoryStore, type HistoryStore } from '../../../api/history/store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import type { Teardown, TestEngines } from './engines.ts';

export type TestStore = {
  readonly history: HistoryStore;
  readonly reader: QuestdbReader;
  /** Prefix of its tables. */
  readonly namespace: string;
  /** Resolves when all the rows can be read. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
};

const log = createLog('test-store', 'silent');

/** Closed when the test ends; its tables are there and empty. */
export const openTestStore = async (
  t: Teardown,
  { endpoints, namespace: newNamespace }: TestEngines,
): Promise<TestStore> => {
  const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
  const namespace = `${newNamespace()}.`;
  const reader = openQuestdbReader(endpoints.questdb_pg, { max: 4, timeoutMs: 10_000, auth, log });
  const sender = createRowSender(endpoints.questdb_http, { auth, log });
  t.teardown(async () => {
    await sender.close();
    await reader.close();
  });
  await ensureTables((text) => reader.query({ text }), { namespace });
  const write = async (rows: readonly Row[]): Promise<void> => {
    const byTable = Map.groupBy(rows, ({ table }) => toTableName(namespace, table));
    for (const [table, own] of byTable) await sender.send(table, own);
    await sender.waitVisible([...byTable.keys()]);
  };
  return { history: createHistoryStore(reader, namespace), reader, namespace, write };
};

/** A store that cannot be reached. */
export const storeAway = (t: Teardown): HistoryStore => {
  const reader = openQuestdbReader('127.0.0.1:1', { max: 1, timeoutMs: 1_000, log });
  t.teardown(() => reader.close());
  return createHistoryStore(reader, 'away.');
};
