// The digest of stored rows (AN-05): any change of any stored cell changes it.
import t from 'tap';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../../infra/runtime/questdb/reader.ts';
import { digestLeafRows } from '../../../../infra/runtime/questdb/row-digest.ts';
import { createRowSender } from '../../../../infra/runtime/questdb/row-sender.ts';
import { ensureTables } from '../../../../processors/sinks/ensure-tables.ts';
import { ANCHORED_TABLES, type AnchoredColumn, type AnchoredTable, listStored } from '../../../../schemas/anchored.ts';
import { toTableName } from '../../../../schemas/tables.ts';
import { useEngines } from '../../../support/engines/engines.ts';

const DAY = '2026-01-10';
const LISTING = 'binance:BTCUSDT';
const CLOSED = Date.parse('2026-01-17T00:00:00Z') * 1_000;

const { endpoints, namespace: newNamespace } = await useEngines(t, ['questdb']);
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const log = createLog('row-digest', 'silent');
const questdb = openQuestdbReader(endpoints.questdb_pg, { max: 2, timeoutMs: 15_000, auth, log });
const sender = createRowSender(endpoints.questdb_http, { auth, log });
const namespace = `${newNamespace()}.`;
await ensureTables((text) => questdb.query({ text }), { namespace });
t.teardown(async () => {
  await sender.close();
  await questdb.close();
});

/** Doubles of every size, one for each column of a row, from another place in each row. */
const DOUBLES = ['0.1', '63000.25', '1.0E-7', '-0.0001', '1.0E300', '3.0E-320', '0.0', '9007199254740993.0'];
const OTHER: Readonly<Record<AnchoredColumn['kind'], (stored: string, place: number) => string>> = {
  text: () => "'other'",
  instant: (stored) => `dateadd('u', 1, ${stored})`,
  boolean: (stored) => `NOT ${stored}`,
  // The neighbour of 0.1 among doubles, then values of all sizes.
  figure: (_, place) => ['0.10000000000000002', '63000.250000000007', '1.0000000000000002E-7'][place % 3] as string,
  integer: () => '7',
};

/** `received_at` and its like lie in the day, whatever column bounds it. */
const makeValue = ({ kind }: AnchoredColumn, row: number, place: number): string => {
  switch (kind) {
    case 'text':
      return row === 1 ? 'null' : `'text ${place}'`;
    case 'instant':
      return `'${DAY}T0${row + 1}:00:00.00000${place % 10}Z'`;
    case 'boolean':
      return 'false';
    case 'integer':
      return String(row + 1);
    case 'figure':
      return DOUBLES[(row * 3 + place) % DOUBLES.length] as string;
    default:
      return kind satisfies never;
  }
};

const run = async (text: string, table: AnchoredTable): Promise<void> => {
  await questdb.query({ text });
  await sender.waitVisible([toTableName(namespace, table.table)]);
};
const digest = (table: AnchoredTable): Promise<string> =>
  digestLeafRows({ questdb, namespace }, { table, listing: LISTING, day: DAY, closedAt: CLOSED });

const insert = async (table: AnchoredTable): Promise<void> => {
  const columns = listStored(table).filter(({ stored }) => stored !== 'timeframe');
  const names = ['listing', 'src_offset', 'recorded_at', 'digits', ...columns.map(({ stored }) => stored)];
  const rows = [0, 1, 2].map((row) => [
    `'${LISTING}', ${row}, '${DAY}T0${row + 1}:30:00.000000Z', ${row === 2 ? `'{"a":"1"}'` : 'null'}`,
    ...columns.map((column, place) => makeValue(column, row, place)),
  ]);
  const values = rows.map((row) => `(${row.join(', ')})`).join(', ');
  await run(`INSERT INTO '${toTableName(namespace, table.table)}' (${names.join(', ')}) VALUES ${values}`, table);
};

/** Tables whose proofs use the digest: those of readings. */
const READINGS = ANCHORED_TABLES.filter(({ dayIncludes }) => dayIncludes === 'end');

for (const table of READINGS)
  t.test(`${table.table}: each stored cell counts`, async (t) => {
    await insert(table);
    const name = toTableName(namespace, table.table);
    const columns = listStored(table).filter(({ stored }) => stored !== table.designated);
    const figures = columns.filter(({ kind }) => kind === 'figure').map(({ stored }) => stored);
    const changes = [
      ...columns.map(({ stored, kind }, place) => `${stored} = ${OTHER[kind](stored, place)} WHERE src_offset = 1`),
      ...figures.map((stored) => `${stored} = null WHERE src_offset = 1`),
      `digits = '{"a":"2"}' WHERE src_offset = 2`,
      "recorded_at = dateadd('u', 1, recorded_at) WHERE src_offset = 2",
      'src_offset = 12 WHERE src_offset = 2',
    ];
    const seen = new Map([[await digest(table), 'the rows as inserted']]);
    t.same([...seen.keys()], [await digest(table)], 'the same rows have the same digest');
    for (const change of changes) {
      await run(`UPDATE '${name}' SET ${change}`, table);
      const changed = await digest(table);
      t.equal(seen.get(changed), undefined, change);
      seen.set(changed, change);
    }
  });

t.test('figures that two rows exchange count, and so does one that is put back', async (t) => {
  const table = READINGS.find(({ table }) => table === 'mark') as AnchoredTable;
  const name = toTableName(namespace, table.table);
  const set = (first: string, second: string): Promise<void> =>
    run(`UPDATE '${name}' SET mark = CASE WHEN src_offset = 0 THEN ${first} ELSE ${second} END`, table);
  await set('63000.5', '63001.5');
  const before = await digest(table);
  await set('63001.5', '63000.5');
  t.not(await digest(table), before);
  await set('63000.5', '63001.5');
  t.equal(await digest(table), before);
});
