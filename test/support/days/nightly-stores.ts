// The stores of nightly steps on the shared engines, with tables of a namespace of their own, and a folder for archive files.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { type Teardown, useEngines } from '../engines/engines.ts';

/** `readers`: connections to QuestDB at once. All is closed, and the folder removed, at the end of the test. */
export const openNightlyStores = async (t: Teardown, { readers }: { readonly readers: number }) => {
  const engines = await useEngines(t, ['postgres', 'questdb']);
  const { endpoints } = engines;
  const log = createLog('nightly-stores', 'silent');
  const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
  const questdb = openQuestdbReader(endpoints.questdb_pg, { max: readers, timeoutMs: 15_000, auth, log });
  const sender = createRowSender(endpoints.questdb_http, { auth, log });
  /** A namespace with its tables, which are empty. */
  const openNamespace = async (): Promise<string> => {
    const opened = `${engines.namespace()}.`;
    await ensureTables((text) => questdb.query({ text }), { namespace: opened });
    return opened;
  };
  const namespace = await openNamespace();
  const databaseUrl = await engines.database();
  const pool = openPostgres(databaseUrl, { max: 4 });
  const folder = mkdtempSync(join(tmpdir(), 'nightly-'));
  const store = openFolderStore(folder);
  await migrate(pool);
  t.teardown(async () => {
    await sender.close();
    await questdb.close();
    await pool.end();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Stores rows, and waits until they can be read. */
  const write = async (rows: readonly Row[], into = namespace): Promise<void> => {
    const tables = Map.groupBy(rows, ({ table }) => toTableName(into, table));
    for (const [table, own] of tables) await sender.send(table, own);
    await sender.waitVisible([...tables.keys()]);
  };
  /** A context of steps over these stores. Its history has reached its clock, unless `own` says otherwise. */
  const makeContext = (own: Pick<NightlyContext, 'nowMs'> & Partial<NightlyContext>): NightlyContext => ({
    ...{ database: pool, questdb, namespace, api: null, store, log },
    historyWatermark: async () => ({ at: own.nowMs() * 1_000, of: 'binance/0' }),
    isBinding: async () => false,
    progress: () => undefined,
    metrics: createNightlyMetrics(new Registry()),
    ...own,
  });
  return { endpoints, namespace, openNamespace, questdb, databaseUrl, pool, folder, store, write, makeContext };
};
