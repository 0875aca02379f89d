// A late row and the gap that its own record sealed, in QuestDB: both are kept, also in tables of an earlier version, and leaves have an order (D-634).
import t from 'tap';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { type LeafRow, readLeafRows } from '../../../infra/runtime/questdb/leaf-rows.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createTable } from '../../../processors/sinks/ddl.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { TABLES, type TableSpec } from '../../../processors/sinks/tables.ts';
import { ANCHORED_TABLES, type AnchoredTable } from '../../../schemas/anchored.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import { makeLateCandle, makeLateMark } from '../../support/tasks/late-logs.ts';
import { listCandles } from '../../support/tasks/minute-logs.ts';
import { listRows, runTask, SECOND, START } from '../../support/tasks/task-driver.ts';
import { SPEC } from '../../support/tasks/task-logs.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb']);
const { endpoints, namespace: newNamespace } = engines;
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const DAY = 86_400 * SECOND;
const NAMES = ['mark', 'candles'] as const;

const ROWS: readonly Row[] = [
  ...listRows(runTask(SPEC, makeLateMark().records).outputs, 'mark'),
  ...listCandles(makeLateCandle()),
];

const readLeaves = async (source: Parameters<typeof readLeafRows>[0], name: string): Promise<string[]> => {
  const table = ANCHORED_TABLES.find((candidate) => candidate.table === name) as AnchoredTable;
  const day = new Date(START / 1_000).toISOString().slice(0, 10);
  const rows: LeafRow[] = [];
  for await (const batch of readLeafRows(source, { table, listing: 'binance:BTCUSDT', day, closedAt: START + 7 * DAY }))
    rows.push(...batch);
  const [status, late] = ['status', 'late'].map((column) => table.columns.findIndex((one) => one.name === column));
  return rows.map(({ cells }) => `${cells[status ?? -1]} ${cells[late ?? -1]}`);
};

t.test('both are rows of the store and leaves of the day, the gap first', async (t) => {
  const { reader, namespace, write } = await openTestStore(t, engines);
  await write(ROWS);
  await write([...ROWS].reverse());
  const source = { questdb: reader, namespace };
  t.same(await readLeaves(source, 'mark'), ['present false', 'missing false', 'present true']);
  t.same(await readLeaves(source, 'candles'), ['missing false', 'present true']);
});

t.test('a table of an earlier version is given the key, and its rows stay', async (t) => {
  const reader = openQuestdbReader(endpoints.questdb_pg, {
    max: 1,
    timeoutMs: 15_000,
    auth,
    log: createLog('keys', 'silent'),
  });
  t.teardown(() => reader.close());
  const namespace = `${newNamespace()}.`;
  const sql = (text: string) => reader.query({ text });
  for (const name of NAMES) {
    const spec = TABLES[name] as TableSpec;
    const keys = spec.keys.filter((key) => key !== 'late');
    await sql(createTable(name, { ...spec, keys }, namespace));
  }
  const readKeys = async (name: string): Promise<unknown[]> =>
    (await sql(`SELECT "column" FROM table_columns('${toTableName(namespace, name)}') WHERE upsertKey`)).map(
      ([key]) => key,
    );
  t.notOk((await readKeys('mark')).includes('late'));
  await sql(
    `INSERT INTO '${toTableName(namespace, 'mark')}' (at, listing, src_offset, late) VALUES (${START}, 'a:B', 1, false)`,
  );
  await ensureTables(sql, { namespace });
  for (const name of NAMES) t.same(new Set(await readKeys(name)), new Set(TABLES[name]?.keys));
  const again: string[] = [];
  const sqlAgain = (text: string) => {
    again.push(text);
    return sql(text);
  };
  await ensureTables(sqlAgain, { namespace });
  t.same(
    again.filter((text) => text.startsWith('ALTER')),
    [],
    'a further start changes nothing',
  );
});
