// The sink on a real Kafka and a real QuestDB: tables, rows digit by digit, repeats, kills, the history watermark, the analysts' SQL.
import { randomBytes } from 'node:crypto';
import { existsSync, globSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { hashTables } from '../../../infra/dev/tools/hash-tables.ts';
import {
  createPublisher,
  ensureTopics,
  type KafkaHandle,
  openKafka,
  readPartitions,
} from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender, type RowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { createTable, formatSchema } from '../../../processors/sinks/ddl.ts';
import { ensureTables, type Sql, TableMismatch } from '../../../processors/sinks/ensure-tables.ts';
import { createSinkMetrics } from '../../../processors/sinks/metrics.ts';
import { type RunningSink, startSink } from '../../../processors/sinks/sink.ts';
import { TABLES, type TableSpec } from '../../../processors/sinks/tables.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { nameTopics, type Row, type WatermarkEntry } from '../../../schemas/topics.ts';
import { ownEngines, useEngines } from '../../support/engines/engines.ts';
import { BOUND_MS, waitFor } from '../../support/wait.ts';

/** 2026-01-15T12:00:00Z in microseconds. */
const START = 1_768_478_400_000_000;
const SECOND = 1_000_000;
const WINDOW = 10 * SECOND;

t.setTimeout(900_000);
const { endpoints: shared } = await useEngines(t, ['kafka']);
/** Its own, because it is killed. */
const { endpoints, dir, kill, ready, hold, restart } = await ownEngines(t, ['questdb']);
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const log = createLog('sink-test');

const handle: KafkaHandle = openKafka({ brokers: [shared.kafka], clientId: 'sink-test' }, log);
const reader: QuestdbReader = openQuestdbReader(endpoints.questdb_pg, { max: 4, timeoutMs: 15_000, auth, log });
t.teardown(async () => {
  await reader.close();
  await handle.close();
});
const sql = (text: string) => reader.query({ text });

const freshNamespace = (): string => `t${randomBytes(4).toString('hex')}.`;

/** Topics of a namespace with what a task would write to them. */
const openNamespace = async (t: Test, shards = 1) => {
  const namespace = freshNamespace();
  const names = nameTopics(namespace);
  const wanted = new Set([names.rows('binance'), names.watermark]);
  await ensureTopics(
    handle,
    listTopicSpecs({ venues: ['binance'], shards, namespace }).filter(({ topic }) => wanted.has(topic)),
  );
  const publisher = createPublisher(handle);
  t.teardown(() => publisher.close());
  let offset = 0;
  const put = (row: Row | null, watermark: number | null, partition: number): void => {
    const kind = row === null ? 'watermark' : 'row';
    const value = codecs.rows.encode({ offset: offset++, index: 0, kind, row, watermark });
    publisher.publish({ topic: names.rows('binance'), partition, key: null, value });
  };
  return {
    namespace,
    names,
    row: (row: Row, partition = 0) => put(row, null, partition),
    mark: (watermark: number, partition = 0) => put(null, watermark, partition),
    published: () => publisher.flush(),
    ready: () => publisher.ready(),
  };
};
type Namespace = Awaited<ReturnType<typeof openNamespace>>;

/** Every sink of this file, for the message of a failure. */
const sinksBegun: RunningSink[] = [];

const runSink = async (
  t: Test,
  { namespace }: Namespace,
  { groupId = `${namespace}sink`, sender = createRowSender(endpoints.questdb_http, { auth, log }) } = {},
): Promise<RunningSink> => {
  const metrics = createSinkMetrics(new Registry());
  const running = await startSink({
    handle,
    sender,
    reader,
    venues: ['binance'],
    namespace,
    groupId,
    metrics,
    log,
    flushEveryMs: 100,
  });
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= running.stop().then(() => sender.close());
    return stopped;
  };
  t.teardown(stop);
  const sink = { ...running, stop };
  sinksBegun.push(sink);
  return sink;
};

/** Every history watermark of the namespace as it is published. */
const followHistory = async (
  t: Test,
  { names }: Namespace,
  onEntry: (entry: WatermarkEntry) => Promise<void> | void,
) => {
  const follower = await readPartitions(handle, {
    topic: names.watermark,
    from: () => 'earliest',
    onBatch: async (_partition, messages) => {
      for (const { value } of messages) if (value !== null) await onEntry(codecs.watermark.decode(value));
    },
  });
  t.teardown(() => follower.stop());
};

const historyReaches = async (t: Test, space: Namespace, watermark: number, boundMs = BOUND_MS): Promise<void> => {
  let reached = 0;
  await followHistory(t, space, (entry) => {
    reached = Math.max(reached, entry.watermark);
  });
  const seen = () => ({ reached, problems: sinksBegun.map((sink) => sink.problem()) });
  await waitFor(`history watermark ${watermark}`, () => reached >= watermark, { boundMs, seen });
};

const markRow = (
  n: number,
  figures: Record<string, string> = { mark: '63120.5', index_price: '63100', basis: '0.0003' },
): Row => ({
  table: 'mark',
  at: START + n * WINDOW,
  texts: {
    listing: `binance:S${n % 7}USDT`,
    venue: 'binance',
    status: 'present',
    conn: 'c1',
    anchor: 'venue',
    horizon_source: 'connection',
  },
  instants: { from_at: START + (n - 1) * WINDOW, received_at: START + n * WINDOW - 1, recorded_at: START + n * WINDOW },
  integers: { src_offset: n },
  figures,
  flags: { late: false },
});

const gapRow = (table: string, from: number, to: number, cause: string): Row => ({
  table,
  at: START + to * WINDOW,
  texts: { listing: 'binance:BTCUSDT', venue: 'binance', status: 'missing', gap_cause: cause },
  instants: { from_at: START + from * WINDOW },
  integers: { src_offset: to },
  figures: {},
  flags: { late: false },
});

t.test('a wall clock that is set back while rows are written does not hold up the next ones', async (t) => {
  const space = await openNamespace(t);
  const sender = createRowSender(endpoints.questdb_http, { auth, log });
  const wallMs = Date.now;
  const restore = (): void => {
    Date.now = wallMs;
  };
  t.teardown(restore);
  const setBack: RowSender = {
    ...{ waitVisible: (tables) => sender.waitVisible(tables), problem: () => sender.problem() },
    ...{ close: () => sender.close() },
    send: (table, rows) => {
      Date.now = () => wallMs() - 3_600_000;
      return sender.send(table, rows);
    },
  };
  await runSink(t, space, { sender: setBack });
  space.row(markRow(1));
  space.mark(START + 1);
  await historyReaches(t, space, START + 1);
  space.row(markRow(2));
  space.mark(START + 2);
  await historyReaches(t, space, START + 2);
});

t.test('schema.sql is what the list of tables makes', (t) => {
  const file = readFileSync(new URL('../../../infra/questdb/schema.sql', import.meta.url), 'utf8');
  t.equal(file, `${formatSchema('')}\n`, 'if not: node infra/dev/tools/print-ddl.ts > infra/questdb/schema.sql');
  t.end();
});

t.test('every member of every layer has its column', (t) => {
  for (const { table, members } of Object.values(LAYERS)) {
    for (const member of Object.keys(members)) {
      const column = member === 'index' ? 'index_price' : member;
      t.equal(TABLES[table]?.columns[column], 'double', `${table}.${column}`);
    }
  }
  t.end();
});

t.test(
  'creates tables and views once, however many processes start, adds what is missing and drops nothing',
  async (t) => {
    const namespace = freshNamespace();
    await Promise.all([ensureTables(sql, { namespace }), ensureTables(sql, { namespace })]);
    const readColumns = async () =>
      (await sql(`SELECT "column" FROM table_columns('${toTableName(namespace, 'mark')}')`)).flat();
    await sql(`ALTER TABLE '${toTableName(namespace, 'mark')}' DROP COLUMN basis`);
    await sql(`ALTER TABLE '${toTableName(namespace, 'mark')}' ADD COLUMN note VARCHAR`);
    const changed = (columns: readonly (string | null)[]) => !columns.includes('basis') && columns.includes('note');
    await waitFor('the change of columns', async () => changed(await readColumns()));
    await ensureTables(sql, { namespace });
    t.match(await readColumns(), [
      ...Object.keys(TABLES['mark']?.columns ?? {}).filter((name) => name !== 'basis'),
      'note',
      'basis',
    ]);
  },
);

t.test('waits with a view until the column it names has reached the table', async (t) => {
  const namespace = freshNamespace();
  const mark = toTableName(namespace, 'mark');
  const spec = TABLES['mark'] as TableSpec;
  const { basis: _, ...columns } = spec.columns;
  await sql(createTable('mark', { ...spec, columns }, namespace));
  const held: string[] = [];
  const refusals: string[] = [];
  const slow: Sql = async (text) => {
    if (text.startsWith('ALTER')) {
      held.push(text);
      return [];
    }
    return sql(text).catch(async (error: Error) => {
      // Tables are asked for that are not there yet.
      if (!error.message.startsWith('table does not exist')) refusals.push(error.message);
      // Once: a busy machine refuses the view again while the table's writer comes to the column.
      for (const behind of held.splice(0)) await sql(behind);
      throw error;
    });
  };
  await ensureTables(slow, { namespace });
  t.match(refusals[0], 'Invalid column: basis');
  t.same(held, [], 'the column was added behind it');
  t.ok(await sql(`SELECT basis FROM '${mark}' LIMIT 1`));
});

/** What QuestDB 9.3.4 leaves of a table that it was killed in the creation of: metadata of the log that is all zeros, and no log. */
const cutTableShort = (table: string): void => {
  // The folder of a table that was dropped stays for a while.
  for (const log of globSync(join(dir, 'questdb', 'db', `${table}~*`, 'txn_seq'))) {
    if (!existsSync(join(log, '_meta'))) continue;
    truncateSync(join(log, '_meta'), 0);
    truncateSync(join(log, '_meta'), 4_096);
    for (const file of globSync(join(log, '_txnlog*'))) rmSync(file, { recursive: true });
  }
};

/** Of a view: no folder of the log. */
const cutViewShort = (view: string): void => {
  for (const log of globSync(join(dir, 'questdb', 'db', `${view}~*`, 'txn_seq'))) rmSync(log, { recursive: true });
};

t.test(
  'makes anew what QuestDB was killed in the creation of, and leaves a table with rows to an operator',
  async (t) => {
    const space = await openNamespace(t);
    const { namespace } = space;
    const cutWhileAway = async (cut: () => void): Promise<void> => {
      await hold('questdb');
      cut();
      await restart('questdb');
      await ready('questdb');
    };
    await ensureTables(sql, { namespace });
    const mark = toTableName(namespace, 'mark');
    await cutWhileAway(() => {
      cutTableShort(mark);
      cutViewShort(toTableName(namespace, 'v_funding'));
    });
    space.row(markRow(1));
    space.mark(START + 1);
    const sink = await runSink(t, space);
    await historyReaches(t, space, START + 1);
    t.same(await sql(`SELECT count() FROM ${mark}`), [['1']]);
    t.same(await sql(`SELECT count() FROM ${toTableName(namespace, 'v_funding')}`), [['0']]);
    await sink.stop();
    await cutWhileAway(() => cutTableShort(mark));
    await t.rejects(ensureTables(sql, { namespace }), { name: 'TableUnreadable', message: mark });
    t.same(await sql(`SELECT count() FROM ${mark}`), [['1']], 'its row is there');
  },
);

t.test('live tables expire two days after the floor, those of a replay never', async (t) => {
  const namespace = freshNamespace();
  await ensureTables(sql, { namespace });
  await ensureTables(sql, { namespace: '' });
  const readTtl = async (name: string) => sql(`SELECT ttlValue, ttlUnit FROM tables() WHERE table_name = '${name}'`);
  t.same(await readTtl('mark'), [['402', 'DAY']]);
  t.same(await readTtl(toTableName(namespace, 'mark')), [['0', 'HOUR']]);
});

t.test('refuses a column that exists with another type, by name', async (t) => {
  const namespace = freshNamespace();
  await sql(
    `CREATE TABLE ${toTableName(namespace, 'ticker')} (at TIMESTAMP, last LONG) TIMESTAMP(at) PARTITION BY DAY WAL`,
  );
  await t.rejects(
    ensureTables(sql, { namespace }),
    new TableMismatch(
      `${toTableName(namespace, 'ticker')}.last is LONG, this version writes DOUBLE: use a new namespace or migrate the column`,
    ),
  );
});

t.test('a row of every table returns digit by digit, also figures that no double holds', async (t) => {
  const space = await openNamespace(t);
  const digits = [
    '0.1',
    '1234567890123456789',
    '123456789012.123456',
    '0.000012500000000001',
    '98765432101234.56',
    '0.0000001',
    '-0.000125',
    '3',
  ];
  const rows = Object.entries(TABLES).map(([table, spec], n): Row => {
    const of = (kind: string) =>
      Object.entries(spec.columns)
        .filter(([name, k]) => k === kind && name !== spec.designated)
        .map(([name]) => name);
    const fill = <T>(names: readonly string[], make: (i: number) => T) =>
      Object.fromEntries(names.map((name, i) => [name, make(i)]));
    return {
      table,
      at: START + n,
      texts: fill(
        [...of('symbol'), ...of('varchar')].filter((name) => name !== 'digits'),
        (i) => `text "${i}", ü\n;=${table}`,
      ),
      instants: fill(of('timestamp'), (i) => START + 123_456 + i),
      integers: fill(of('long'), (i) => 9_007_199_254_740_990 - i - 1),
      figures: fill(of('double'), (i) => digits[(i + n) % digits.length] ?? '0'),
      flags: fill(of('boolean'), () => true),
    };
  });
  for (const row of rows) space.row(row);
  space.mark(START);
  await runSink(t, space);
  await historyReaches(t, space, START);
  for (const row of rows) {
    const columns = Object.keys(TABLES[row.table]?.columns ?? {});
    const [cells, ...more] = await sql(`SELECT ${columns.join(', ')} FROM ${toTableName(space.namespace, row.table)}`);
    t.equal(more.length, 0, `${row.table} has one row`);
    const stored = new Map(columns.map((name, i) => [name, cells?.[i] ?? null]));
    const kept: Record<string, string> = JSON.parse(stored.get('digits') ?? '{}');
    const instant = (micros: number) =>
      `${new Date(micros / 1000).toISOString().slice(0, 19).replace('T', ' ')}.${String(micros % SECOND).padStart(6, '0')}`;
    for (const [name, text] of Object.entries(row.texts)) t.equal(stored.get(name), text, `${row.table}.${name}`);
    for (const [name, micros] of Object.entries(row.instants))
      t.equal(stored.get(name), instant(micros), `${row.table}.${name}`);
    for (const [name, integer] of Object.entries(row.integers))
      t.equal(stored.get(name), String(integer), `${row.table}.${name}`);
    for (const [name, flag] of Object.entries(row.flags))
      t.equal(stored.get(name), flag ? 't' : 'f', `${row.table}.${name}`);
    for (const [name, figure] of Object.entries(row.figures)) {
      t.equal(kept[name] ?? plain(Number(stored.get(name))), figure, `${row.table}.${name}`);
      t.equal(Number(stored.get(name)), Number(figure), `${row.table}.${name} as a double`);
    }
  }
});

/** JavaScript's shortest digits without an exponent, for the few figures of the test above. */
const plain = (n: number): string => (Math.abs(n) < 1e-6 ? n.toFixed(20).replace(/0+$/, '') : String(n));

t.test('absent stays absent: a gap row has no reading, and nothing is nought', async (t) => {
  const space = await openNamespace(t);
  space.row(gapRow('mark', 0, 3, 'connection_lost'));
  space.mark(START);
  await runSink(t, space);
  await historyReaches(t, space, START);
  const cells = await sql(
    `SELECT received_at, mark, index_price, horizon_ms, conn, digits, status, gap_cause, late FROM ${toTableName(space.namespace, 'mark')}`,
  );
  t.same(cells, [[null, null, null, null, null, null, 'missing', 'connection_lost', 'f']]);
});

t.test('the same rows twice and in another order give the same hashes; another digit gives another', async (t) => {
  const [once, twice, other] = [await openNamespace(t), await openNamespace(t), await openNamespace(t)];
  const rows = Array.from({ length: 500 }, (_, n) => markRow(n));
  for (const row of rows) once.row(row);
  for (const row of [...rows.toReversed(), ...rows]) twice.row(row);
  for (const row of rows)
    other.row(row === rows[250] ? { ...row, figures: { ...row.figures, mark: '63120.50000000000000001' } } : row);
  for (const space of [once, twice, other]) {
    space.mark(START);
    await runSink(t, space);
    await historyReaches(t, space, START);
  }
  const hashRows = ({ namespace }: Namespace) => hashTables({ url: endpoints.questdb_http, auth, namespace });
  const [a, b, c] = [await hashRows(once), await hashRows(twice), await hashRows(other)];
  t.equal(a['mark']?.rows, 500);
  t.same(b, a);
  t.equal(c['mark']?.rows, 500);
  t.not(c['mark']?.sha256, a['mark']?.sha256, 'a digit only the column digits holds counts too');
  t.same(c['funding'], a['funding']);
});

t.test(
  'history W is published only when every row before it can be read, rises, and has the next rows offset',
  async (t) => {
    const space = await openNamespace(t);
    const perMark = 40;
    const marks = 50;
    const name = toTableName(space.namespace, 'mark');
    const seen: WatermarkEntry[] = [];
    const short: string[] = [];
    await runSink(t, space);
    await followHistory(t, space, async (entry) => {
      const [[count = '0'] = []] = await sql(`SELECT count() FROM ${name}`);
      const due = (entry.watermark - START) * perMark;
      if (Number(count) < due) short.push(`W ${entry.watermark - START}: ${count} rows of ${due}`);
      seen.push(entry);
    });
    for (let m = 1; m <= marks; m++) {
      for (let n = 0; n < perMark; n++) space.row(markRow(m * perMark + n));
      space.mark(START + m);
      await space.published();
      if (m % 10 === 1) await waitFor(`watermark ${m}`, () => (seen.at(-1)?.watermark ?? 0) >= START + m);
    }
    await waitFor('the last watermark', () => (seen.at(-1)?.watermark ?? 0) === START + marks);
    t.same(short, []);
    t.ok(seen.length >= 5, `${seen.length} watermarks`);
    t.ok(seen.every(({ watermark }, i) => watermark > (seen[i - 1]?.watermark ?? 0)));
    t.match(seen.at(-1), {
      task: 'binance/0',
      kind: 'history',
      offset: marks * (perMark + 1) - 1,
      positions: { [space.names.rows('binance')]: marks * (perMark + 1) },
    });
  },
);

t.test('a sink that reads everything again takes no watermark back', async (t) => {
  const space = await openNamespace(t);
  for (let m = 1; m <= 3; m++) {
    space.row(markRow(m));
    space.mark(START + m);
    await space.published();
  }
  await (
    await runSink(t, space).then(async (sink) => {
      await historyReaches(t, space, START + 3);
      return sink;
    })
  ).stop();
  const seen: number[] = [];
  await followHistory(t, space, ({ watermark }) => void seen.push(watermark - START));
  await runSink(t, space, { groupId: `${space.namespace}another-group` });
  await waitFor('what was published before', () => seen.length > 0);
  space.mark(START + 4);
  await waitFor('the new watermark', () => seen.at(-1) === 4);
  t.ok(
    seen.every((watermark, i) => watermark > (seen[i - 1] ?? 0)),
    seen.join(' '),
  );
});

t.test(
  'records that another producer wrote to rows and watermark are passed over, and rows around them are written (D-1010)',
  async (t) => {
    const space = await openNamespace(t);
    const stranger = createPublisher(handle);
    t.teardown(() => stranger.close());
    const before = handle.foreign.count;
    const disturb = async (): Promise<void> => {
      for (const topic of [space.names.rows('binance'), space.names.watermark])
        for (const value of [Buffer.from('not Avro'), Buffer.from([0, 9, 9, 9, 9, 0]), Buffer.alloc(0)])
          stranger.publish({ topic, partition: 0, key: 'stranger', value });
      await stranger.flush();
    };
    await disturb();
    space.row(markRow(1));
    await space.published();
    await disturb();
    space.row(markRow(2));
    space.mark(START + 2);
    await space.published();
    await runSink(t, space);
    await waitFor('both rows', async () => {
      const found = await sql(`SELECT count() n FROM '${toTableName(space.namespace, 'mark')}'`).catch(() => []);
      return Number(found[0]?.[0] ?? 0) === 2;
    });
    t.ok(handle.foreign.count - before >= 12, 'all are counted');
  },
);

t.test('each partition of rows has a watermark of its own', async (t) => {
  const space = await openNamespace(t, 2);
  const reached = new Map<string, number>();
  await runSink(t, space);
  await followHistory(t, space, ({ task, watermark }) => void reached.set(task, watermark - START));
  space.row(markRow(1), 0);
  space.mark(START + 5, 0);
  space.row(markRow(2), 1);
  space.mark(START + 9, 1);
  await waitFor('both', () => reached.size === 2);
  t.same([...reached].toSorted(), [
    ['binance/0', 5],
    ['binance/1', 9],
  ]);
});

t.test(
  'nothing is lost or doubled when QuestDB is killed while rows are written, and when the sink is',
  { timeout: 900_000 },
  async (t) => {
    const [calm, rough] = [await openNamespace(t), await openNamespace(t)];
    const count = 12_000;
    const sinks = [await runSink(t, rough)];
    const tables = ['mark', 'funding', 'book'];
    const makeRow = (n: number): Row => {
      const row = markRow(n);
      const table = tables[n % 3] ?? 'mark';
      const figures: Record<string, string> =
        table === 'mark'
          ? row.figures
          : table === 'funding'
            ? { funding: '0.0001' }
            : { bid: '63120.4', ask: '63120.5' };
      return { ...row, table, figures };
    };
    for (let n = 0; n < count; n++) {
      rough.row(makeRow(n));
      if (n % 100 === 99) rough.mark(START + n);
      if (n === 3_000) await kill('questdb');
      if (n === 6_000) await ready('questdb');
      if (n === 9_000) {
        await sinks[0]?.stop();
        sinks.push(await runSink(t, rough));
      }
      if (n % 300 === 0) await pause(5);
      await rough.ready();
    }
    for (let n = 0; n < count; n++) calm.row(makeRow(n));
    calm.mark(START + count - 1);
    await Promise.all([rough.published(), calm.published()]);
    await runSink(t, calm);
    await Promise.all([historyReaches(t, rough, START + count - 1), historyReaches(t, calm, START + count - 1)]);
    const hashRows = ({ namespace }: Namespace) => hashTables({ url: endpoints.questdb_http, auth, namespace });
    const [calmly, roughly] = [await hashRows(calm), await hashRows(rough)];
    t.same(roughly, calmly);
    t.equal(
      tables.reduce((sum, table) => sum + (roughly[table]?.rows ?? 0), 0),
      count,
    );
  },
);

t.test(
  'a sink that QuestDB refuses waits and reports it, drops nothing, and continues when it is accepted',
  { timeout: 900_000 },
  async (t) => {
    const space = await openNamespace(t);
    const sink = await runSink(t, space);
    space.row(markRow(1));
    space.mark(START + 1);
    await historyReaches(t, space, START + 1);
    const name = toTableName(space.namespace, 'mark');
    const row = markRow(2);
    space.row({ ...row, texts: { ...row.texts, remark: 'of a newer version' } });
    space.row(gapRow('funding', 0, 1, 'no_update'));
    space.mark(START + 2);
    await waitFor('a problem', () => sink.problem() !== null);
    t.match(sink.problem(), /remark/);
    t.same(await sql(`SELECT count() FROM ${name}`), [['1']]);
    await sql(`ALTER TABLE ${name} ADD COLUMN remark VARCHAR`);
    // QuestDB shows a new column only to connections that wrote nothing before it.
    await restart('questdb');
    await ready('questdb');
    await historyReaches(t, space, START + 2);
    t.equal(sink.problem(), null);
    t.same(await sql(`SELECT count() FROM ${name}`), [['2']]);
    t.same(await sql(`SELECT count() FROM ${toTableName(space.namespace, 'funding')}`), [['1']]);
  },
);

t.test('views show what counts: present rows in time, and gaps as intervals', async (t) => {
  const space = await openNamespace(t);
  const counted = markRow(1);
  const late = { ...markRow(2), flags: { late: true } };
  const gaps = [
    gapRow('mark', 2, 3, 'connection_lost'),
    gapRow('mark', 3, 9, 'connection_lost'),
    gapRow('mark', 9, 10, 'collector_down'),
    gapRow('mark', 12, 13, 'connection_lost'),
    gapRow('funding', 3, 9, 'connection_lost'),
    { ...gapRow('mark', 20, 21, 'crossed_book'), flags: { late: true } },
  ];
  for (const row of [counted, late, ...gaps]) space.row(row);
  space.mark(START);
  await runSink(t, space);
  await historyReaches(t, space, START);
  t.same(await sql(`SELECT listing, mark FROM ${toTableName(space.namespace, 'v_mark')}`), [
    ['binance:S1USDT', '63120.5'],
  ]);
  const intervals = await sql(
    `SELECT layer, (from_at::long - ${START}) / ${WINDOW}, (to_at::long - ${START}) / ${WINDOW}, cause FROM ${toTableName(space.namespace, 'v_gaps')} ORDER BY layer, from_at`,
  );
  t.same(intervals, [
    ['funding', '3', '9', 'connection_lost'],
    ['mark', '2', '9', 'connection_lost'],
    ['mark', '9', '10', 'collector_down'],
    ['mark', '12', '13', 'connection_lost'],
  ]);
  t.same(await sql(`SELECT count() FROM ${toTableName(space.namespace, 'v_gaps')}`), [['4']]);
});

const asAnalyst = async (t: Test, options = ''): Promise<pg.Client> => {
  const connectionString = new URL(endpoints.questdb_pg);
  connectionString.username = endpoints.questdb_readonly_user;
  connectionString.password = encodeURIComponent(endpoints.questdb_readonly_password);
  const analyst = new pg.Client({ connectionString: connectionString.href, options });
  await analyst.connect();
  t.teardown(() => analyst.end());
  return analyst;
};

const readExamples = (manual: string): string[] => {
  const text = readFileSync(new URL(`../../../${manual}`, import.meta.url), 'utf8');
  return [...text.matchAll(/```sql\n([^`]+)```/g)].map(([, example]) => example ?? '');
};

/** Rows of the live tables a while ago, as their tasks would have made them. */
const recentRows = (now: number): Row[] => {
  const identity = { listing: 'binance:BTCUSDT', venue: 'binance', status: 'present' };
  const hour = 3_600 * SECOND;
  const candle = (openTime: number, over: { close?: string; minutes?: number }): Row => {
    const isWhole = over.minutes === undefined;
    return {
      table: 'candles',
      at: openTime,
      texts: {
        ...{ ...identity, timeframe: '1h', price_type: 'trade', status: isWhole ? 'present' : 'missing' },
        ...(isWhole ? {} : { gap_cause: 'collector_down' }),
      },
      instants: { close_time: openTime + hour, recorded_at: openTime + hour },
      integers: { src_offset: openTime / hour, minutes_expected: 60, minutes_present: over.minutes ?? 60 },
      figures: over.close === undefined ? {} : { close: over.close },
      flags: { late: false },
    };
  };
  const reading = (
    table: string,
    at: number,
    row: { figures: Row['figures']; next?: number; late?: boolean },
  ): Row => ({
    table,
    at,
    texts: { ...identity, conn: 'c1' },
    instants: {
      ...{ from_at: at - WINDOW, received_at: at - 1, recorded_at: at },
      ...(row.next === undefined ? {} : { next_funding_at: row.next }),
    },
    integers: { src_offset: Math.floor(at / SECOND) },
    figures: row.figures,
    flags: { late: row.late ?? false },
  });
  const today = Math.floor(now / hour) * hour;
  const funding = (at: number, next: number, figure: string, late = false): Row =>
    reading('funding', at, { figures: { funding: figure, funding_8h: figure }, next, late });
  return [
    ...['100', '110', '99'].map((close, i) => candle(today - (9 - i) * hour, { close })),
    candle(today - 6 * hour, { minutes: 57 }),
    // A whole hour without trades has no price.
    candle(today - 5 * hour, { close: '50' }),
    candle(today - 4 * hour, {}),
    candle(today - 3 * hour, { close: '60' }),
    candle(today - 2 * hour, { close: '75' }),
    funding(today - 10 * hour, today - 8 * hour, '0.0001'),
    funding(today - 9 * hour, today - 8 * hour, '0.0002'),
    funding(today - 8.5 * hour, today - 8 * hour, '0.0009', true),
    funding(now - 700 * SECOND, today + 8 * hour, '0.0003'),
    funding(now - 400 * SECOND, today + 8 * hour, '0.0004'),
    reading('mark', now - 1_500 * SECOND, { figures: { mark: '7', basis: '0' } }),
    reading('mark', now - 500 * SECOND, { figures: { mark: '8', basis: '0' } }),
    reading('mark', now - 300 * SECOND, { figures: { mark: '9', basis: '0' } }),
  ];
};

t.test('the README’s examples return the results shown', async (t) => {
  await ensureTables(sql, { namespace: '' });
  const now = Date.now() * 1_000;
  const sender = createRowSender(endpoints.questdb_http, { auth, log });
  t.teardown(() => sender.close());
  const rows = recentRows(now);
  const tables = [...new Set(rows.map(({ table }) => table))];
  for (const table of tables)
    await sender.send(
      table,
      rows.filter((row) => row.table === table),
    );
  await sender.waitVisible(tables);
  const analyst = await asAnalyst(t);
  const examples = ['README.md', 'infra/questdb/README.md'].flatMap(readExamples);
  const answerTo = async (word: string) => {
    const text = examples.find((example) => example.includes(word)) ?? '';
    return (await analyst.query<Record<string, unknown>>(text)).rows;
  };
  t.same(
    (await answerTo('ASOF JOIN')).map(({ mark, funding }) => [mark, funding]),
    [
      [7, null],
      [8, 0.0003],
      [9, 0.0004],
    ],
    'never a rate of the future, nor one of ten minutes ago',
  );
  t.same(
    (await answerTo('v_candles')).map(({ close, change }) => [close, Math.round(Number(change) * 1_000)]),
    [
      [110, 100],
      [99, -100],
      [75, 250],
    ],
    'no return goes across a gap, nor across an hour without a price',
  );
  t.same(
    (await answerTo('GROUP BY listing, next_funding_at')).map(({ funding, funding_8h }) => [funding, funding_8h]),
    [
      [0.0002, 0.0002],
      [0.0004, 0.0004],
    ],
    'the last rate that counts of each interval',
  );
});

t.test('the analysts’ user runs the README’s examples, and every write is denied', async (t) => {
  await ensureTables(sql, { namespace: '' });
  const analyst = await asAnalyst(t);
  const examples = ['README.md', 'infra/questdb/README.md'].flatMap(readExamples);
  t.ok(examples.length >= 5 && examples.some((text) => text.includes('ASOF JOIN')));
  for (const text of examples) await t.resolves(analyst.query(text), text);
  const writes = [
    'INSERT INTO mark(at) VALUES (now())',
    'UPDATE mark SET mark = 1',
    'TRUNCATE TABLE mark',
    'DROP TABLE mark',
    'DROP ALL TABLES',
    'CREATE TABLE mine (a LONG)',
    'CREATE TABLE mine AS (SELECT * FROM mark)',
    'ALTER TABLE mark ADD COLUMN mine LONG',
    'ALTER TABLE mark DROP COLUMN mark',
    `ALTER TABLE mark DROP PARTITION LIST '2026-01-01'`,
    'ALTER TABLE mark SET TTL 1 DAY',
    'ALTER TABLE mark DEDUP DISABLE',
    'RENAME TABLE mark TO mine',
    'DROP VIEW v_mark',
    'CREATE OR REPLACE VIEW v_mark AS (SELECT * FROM mark)',
    'CREATE VIEW mine AS (SELECT * FROM mark)',
    'CREATE MATERIALIZED VIEW mine AS (SELECT at, avg(mark) m FROM mark SAMPLE BY 1h)',
    'VACUUM TABLE mark',
    'CHECKPOINT CREATE',
  ];
  for (const text of writes) await t.rejects(analyst.query(text), /denied/i, text);
  const copy = `COPY (SELECT * FROM mark) TO 'mine' WITH FORMAT PARQUET`;
  await t.rejects(analyst.query(copy), /disabled/, 'no file on the server’s disk');
});

t.test(
  'the manual’s limits of SQL clients are QuestDB’s: its timeout, instants with a zone, COPY, cursors (D-1161)',
  async (t) => {
    await ensureTables(sql, { namespace: '' });
    const analyst = await asAnalyst(t);
    const { rows } = await analyst.query<Record<string, unknown>>(
      `SELECT value FROM (SHOW PARAMETERS) WHERE property_path = 'query.timeout'`,
    );
    t.same(rows, [{ value: '15s' }], 'of a connection that sets none');
    await sql('CREATE TABLE numbers AS (SELECT x FROM long_sequence(3000))');
    t.teardown(() => sql('DROP TABLE numbers'));
    const impatient = await asAnalyst(t, '-c statement_timeout=50');
    const long = 'SELECT count() FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c WHERE a.x + b.x > c.x + 6000';
    await t.rejects(impatient.query(long), /timeout=50ms/, 'a connection sets its own');
    const instant = `'2026-01-15T12:00:00.5+00:00'`;
    await t.resolves(analyst.query(`SELECT count() FROM v_mark WHERE at < ${instant}`), 'a text with a zone');
    await t.rejects(analyst.query(`SELECT count() FROM v_mark WHERE at < ${instant}::timestamptz`), /timestamptz/);
    await t.rejects(
      analyst.query('COPY (SELECT at FROM v_mark) TO STDOUT (FORMAT BINARY)'),
      'what connectorx and DuckDB send unless told',
    );
    await t.rejects(analyst.query('DECLARE "mine" CURSOR FOR SELECT at FROM v_mark'), 'what named cursors send');
  },
);
