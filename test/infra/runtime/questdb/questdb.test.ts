// Rows into QuestDB and back, and a PostgreSQL pool, against real engines; QuestDB is killed in the middle.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openPostgres } from '../../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../../infra/runtime/questdb/reader.ts';
import { createRowSender, RowsRefused } from '../../../../infra/runtime/questdb/row-sender.ts';
import type { Row } from '../../../../schemas/topics.ts';
import { ownEngines } from '../../../support/engines/engines.ts';

// A loaded machine takes its time to start a broker or a database again.
t.setTimeout(900_000);
const engines = await ownEngines(t, ['questdb', 'postgres']);
const { endpoints } = engines;
const log = createLog('runtime-test', 'silent');
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const reader = openQuestdbReader(endpoints.questdb_pg, { max: 2, timeoutMs: 2_000, auth, log });
const sender = createRowSender(endpoints.questdb_http, { auth, log });
t.teardown(async () => {
  await sender.close();
  await reader.close();
});

const createTable = (table: string) =>
  reader.query({
    text: `CREATE TABLE ${table} (at TIMESTAMP, listing SYMBOL INDEX, status SYMBOL, note VARCHAR, seen TIMESTAMP,
      src_offset LONG, mark DOUBLE, index_price DOUBLE, late BOOLEAN, digits VARCHAR)
      TIMESTAMP(at) PARTITION BY DAY WAL DEDUP UPSERT KEYS(at, listing, src_offset)`,
  });

const AT = 1_763_683_200_123_456;
const makeRow = (table: string, n: number, figures: Row['figures'] = {}): Row => ({
  table,
  at: AT + n * 10_000_000,
  texts: { listing: 'binance:BTCUSDT', status: 'present' },
  instants: { seen: AT + n },
  integers: { src_offset: n },
  figures,
  flags: { late: false },
});

t.test('rows return as they were written, digit by digit and to the microsecond', async (t) => {
  await createTable('whole');
  const figures = { mark: '98765432101234.56', index_price: '1234567890123456789.5' };
  const note = 'ä "quoted", line\nbreak \\ and = sign';
  const full = makeRow('whole', 1, figures);
  await sender.send('whole', [{ ...full, texts: { ...full.texts, note } }, makeRow('whole', 2)]);
  await sender.waitVisible(['whole']);
  const rows = await reader.query({
    text: 'SELECT at, listing, status, note, seen, src_offset, mark, late, digits FROM whole WHERE listing IN ($1, $2) ORDER BY at',
    values: ['binance:BTCUSDT', null],
    name: 'whole',
  });
  t.strictSame(rows, [
    [
      '2025-11-21 00:00:10.123456',
      'binance:BTCUSDT',
      'present',
      note,
      '2025-11-21 00:00:00.123457',
      '1',
      '9.876543210123456E13',
      'f',
      '{"index_price":"1234567890123456789.5"}',
    ],
    [
      '2025-11-21 00:00:20.123456',
      'binance:BTCUSDT',
      'present',
      null,
      '2025-11-21 00:00:00.123458',
      '2',
      null,
      'f',
      null,
    ],
  ]);
});

t.test('instants, lists and limits are bound as texts', async (t) => {
  const rows = await reader.query({
    text: 'SELECT src_offset FROM whole WHERE at >= $1::long::timestamp AND at <= $2 ORDER BY at LIMIT $3::long',
    values: [String(AT + 10_000_000), '2025-11-21T00:00:20.123456Z', '5'],
  });
  t.strictSame(rows, [['1'], ['2']]);
});

t.test('the same rows again change nothing', async (t) => {
  await createTable('again');
  const rows = Array.from({ length: 12_000 }, (_, n) => makeRow('again', n, { mark: '1.5' }));
  await sender.send('again', rows);
  await sender.send('again', rows);
  await sender.waitVisible(['again']);
  t.strictSame(await reader.query({ text: 'SELECT count() FROM again' }), [['12000']]);
});

t.test('a row that does not fit its table is refused with the reason, and nothing of its request stays', async (t) => {
  await createTable('strict');
  const stranger: Row = { ...makeRow('strict', 1), texts: { listing: 'x', nonsense: 'y' } };
  await t.rejects(sender.send('strict', [makeRow('strict', 0), stranger]), RowsRefused);
  await t.rejects(sender.send('absent', [makeRow('absent', 0)]), RowsRefused);
  await sender.send('strict', [makeRow('strict', 2)]);
  await sender.waitVisible(['strict']);
  t.strictSame(await reader.query({ text: 'SELECT src_offset FROM strict' }), [['2']]);
});

t.test('a query that takes too long is ended by the server', async (t) => {
  const slow = 'SELECT sum(sqrt(rnd_double())) FROM long_sequence(3000000000)';
  const hurried = openQuestdbReader(endpoints.questdb_pg, { max: 1, timeoutMs: 300, auth, log });
  await t.rejects(hurried.query({ text: slow }), /timeout/);
  await hurried.close();
});

t.test('rows sent while QuestDB dies and returns are there once, and the problem is reported meanwhile', async (t) => {
  await createTable('killed');
  const sends: Promise<void>[] = [];
  for (let n = 0; n < 200; n += 1) {
    sends.push(sender.send('killed', [makeRow('killed', n, { mark: String(n) })]));
    if (n === 50) {
      await sends[25];
      await engines.kill('questdb');
    }
  }
  await Promise.all(sends);
  await sender.waitVisible(['killed']);
  t.equal(sender.problem(), null, 'over again');
  const [first] = await reader.query({ text: 'SELECT count(), count_distinct(src_offset), sum(mark) FROM killed' });
  t.strictSame(first?.slice(0, 2), ['200', '200']);
  t.equal(Number(first?.[2]), (199 * 200) / 2);
});

/** QuestDB as far as a suspended table goes: only its dev mode can suspend one on request. */
const suspendedTable = async (t: Test) => {
  const statements: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://questdb').searchParams.get('query') ?? '';
    if (query.startsWith('ALTER')) statements.push(query);
    const isSuspended = statements.length === 0;
    const cause = isSuspended ? ['DISK FULL', 'no space left [errno=28]'] : ['', ''];
    response.end(JSON.stringify({ dataset: [['full', isSuspended, isSuspended ? 4 : 5, 5, ...cause]] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { statements, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

t.test('a suspended table is resumed, and the problem is reported meanwhile', async (t) => {
  const { statements, url } = await suspendedTable(t);
  const other = createRowSender(url, { log });
  const visible = other.waitVisible(['full']);
  while (other.problem() === null) await setImmediate();
  t.equal(other.problem(), 'suspended: full (DISK FULL: no space left [errno=28])');
  await visible;
  t.strictSame(statements, ["ALTER TABLE 'full' RESUME WAL"]);
  t.equal(other.problem(), null);
  await other.close();
});

t.test('a closed sender gives up what waits', async (t) => {
  const other = createRowSender('http://127.0.0.1:1', { log });
  const waiting = other.send('nowhere', [makeRow('nowhere', 1)]);
  const refused = t.rejects(waiting, /closed/);
  await other.close();
  await refused;
});

t.test('PostgreSQL answers through the pool', async (t) => {
  const pool = openPostgres(endpoints.database_url);
  const { rows } = await pool.query<{ sum: number }>('SELECT $1::int + 1 AS sum', [41]);
  t.strictSame(rows, [{ sum: 42 }]);
  await pool.end();
});
