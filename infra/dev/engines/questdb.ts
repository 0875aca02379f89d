/** One QuestDB on loopback, run from the archive of pom.xml with the machine's JDK. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { DataDir } from './data-dir.ts';
import { FEW_ARENAS, findEngineJars, findJavaCommand, LIGHT_JVM, listClassArchiveOptions, SMALL_HEAP } from './java.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

interface QuestdbPorts {
  readonly http: number;
  readonly pg: number;
  readonly min: number;
}

export const QUESTDB_USER = 'market';
export const QUESTDB_READONLY_USER = 'analyst';

const MOST_NATIVE_MEMORY_BYTES = 6 * 1024 ** 3;

/** `isLight`: for a run of minutes (LIGHT_JVM). */
type QuestdbOptions = { readonly ports: QuestdbPorts; readonly isLight?: boolean };

/** Starts the server; resolves once its health page and `SELECT 1` succeed. */
export async function startQuestdb(
  supervisor: Supervisor,
  dataDir: DataDir,
  { ports, isLight = false }: QuestdbOptions,
): Promise<Supervised> {
  const folder = join(dataDir.path, 'questdb');
  const temporary = join(folder, 'tmp');
  mkdirSync(join(folder, 'conf'), { recursive: true });
  // The server unpacks its native libraries here at every start and leaves them after kill -9.
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary);
  writeFileSync(join(folder, 'conf', 'server.conf'), makeServerConf(dataDir, { ports, isLight }), { mode: 0o600 });
  writeFileSync(join(folder, 'conf', 'log.conf'), LOGGING);
  return supervisor.start({
    name: 'questdb',
    command: findJavaCommand(),
    args: [
      ...(isLight ? LIGHT : JVM),
      ...ALWAYS,
      ...listClassArchiveOptions('questdb'),
      `-Djava.io.tmpdir=${temporary}`,
      '-p',
      findEngineJars('questdb'),
      ...MAIN,
      '-d',
      folder,
      '-n',
    ],
    env: FEW_ARENAS,
    stopGraceMs: 15_000,
    isReady: () => isAnswering(ports, dataDir.secrets.questdb_password),
  });
}

// -Xmn, -Xms, AlwaysPreTouch: otherwise the heap grows within the first hour, its young generation doubles later, and promoted objects fill the
// rest before the first full collection. Taken at once, any observed growth is real. Some 60 MB are in use.
// -n: no hang-up handler. --add-exports: the documented flag for Java 17.
const JVM = ['-Xms640m', '-Xmx640m', '-Xmn128m', '-XX:+UseParallelGC', '-XX:+AlwaysPreTouch'];
const LIGHT = [...SMALL_HEAP, '-Xmn8m', '-Xmx640m', ...LIGHT_JVM];
const ALWAYS = ['-Dnoebug', '-Dcontainerized=false'];
const MAIN = ['--add-exports', 'java.base/jdk.internal.math=io.questdb', '-m', 'io.questdb/io.questdb.ServerMain'];

async function isAnswering(ports: QuestdbPorts, password: string): Promise<boolean> {
  const health = await fetch(`http://127.0.0.1:${ports.min}/status`, { signal: AbortSignal.timeout(2000) });
  await health.arrayBuffer();
  if (!health.ok) return false;
  const client = new pg.Client({
    host: '127.0.0.1',
    port: ports.pg,
    user: QUESTDB_USER,
    password,
    database: 'qdb',
    connectionTimeoutMillis: 2000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } finally {
    await client.end();
  }
}

function makeServerConf(dataDir: DataDir, { ports, isLight = false }: QuestdbOptions): string {
  const lines: Record<string, string | number | boolean> = {
    'http.bind.to': `127.0.0.1:${ports.http}`,
    'http.min.net.bind.to': `127.0.0.1:${ports.min}`,
    // With few cores the health page starves without its own thread.
    'http.min.worker.count': 1,
    'http.user': QUESTDB_USER,
    'http.password': dataDir.secrets.questdb_password,
    'http.health.check.authentication.required': false,
    'pg.net.bind.to': `127.0.0.1:${ports.pg}`,
    'pg.user': QUESTDB_USER,
    'pg.password': dataDir.secrets.questdb_password,
    'pg.readonly.user.enabled': true,
    'pg.readonly.user': QUESTDB_READONLY_USER,
    'pg.readonly.password': dataDir.secrets.questdb_readonly_password,
    'line.tcp.enabled': false,
    'line.udp.enabled': false,
    // A row must never create a table or a column; this also makes one ILP request atomic.
    'line.auto.create.new.tables': false,
    'line.auto.create.new.columns': false,
    // Without the second one QuestDB writes a row about itself for each step of each commit into a table that is kept for four weeks.
    'telemetry.enabled': false,
    'telemetry.disable.completely': true,
    'metrics.enabled': true,
    'shared.network.worker.count': 2,
    // SQL has threads of its own: QuestDB does not interrupt a statement that only generates rows (`long_sequence`), and writes must go on beside it.
    'pg.worker.count': 2,
    'shared.query.worker.count': 2,
    'shared.write.worker.count': 2,
    ...(isLight ? FEW_WORKERS : {}),
    ...makeCalmWorkers(),
    // The default is 90 % of the machine, which other processes share.
    'ram.usage.limit.bytes': Math.min(MOST_NATIVE_MEMORY_BYTES, Math.floor(totalmem() * 0.4)),
    // Defaults are 16 MB per column, table and writer, and for the values of each symbol.
    'cairo.writer.data.append.page.size': '1M',
    'cairo.writer.data.index.value.append.page.size': '1M',
    'cairo.o3.column.memory.size': '256k',
    ...(isLight ? SMALL_PAGES : {}),
    // Each column of a table is some files to its writer, its log's writer and its readers: some 220 a table. The defaults keep them open for
    // two to ten minutes after the last use, and check every five. Without free file handles QuestDB suspends tables.
    'cairo.idle.check.interval': 10_000,
    'cairo.inactive.reader.ttl': 30_000,
    'cairo.wal.inactive.writer.ttl': 30_000,
    'cairo.inactive.writer.ttl': 60_000,
    // A query over a year leaves a reader with every day open.
    'cairo.inactive.reader.max.open.partitions': 8,
    // Without an export folder COPY TO is refused: the read-only user could fill the disk with it.
    'cairo.sql.copy.export.root': '',
    // Without an import folder COPY FROM and `import_files` are refused, which write a log of imports and list files.
    'cairo.sql.copy.root': '',
    'query.timeout': '15s',
    ...SMALL_POOLS,
    // Two threads look for refreshes of materialised views, of which the schema has none, and two for views whose tables have changed.
    'mat.view.refresh.worker.sleep.timeout': 200,
    'view.compiler.worker.sleep.timeout': 200,
  };
  return `${Object.entries(lines)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
}

/** What each compiler of statements keeps ready grows on demand. Seven compilers take 100 MB of the heap with the defaults, which are 16 times larger. */
const SMALL_POOLS = {
  'cairo.model.pool.capacity': 64,
  'cairo.expression.pool.capacity': 512,
  'cairo.column.pool.capacity': 256,
  'cairo.lexer.pool.capacity': 128,
};

/** Each thread that looks for work costs as much as what it finds in a run of minutes; a statement and a commit work in their own threads too (D-1072). */
const FEW_WORKERS = { 'shared.query.worker.count': 1, 'shared.write.worker.count': 1, 'wal.apply.worker.count': 1 };

/** A file of a column grows by a page, and is made with one: of the processor time of tests, whose tables are many and small, half of QuestDB's. */
const SMALL_PAGES = Object.fromEntries(
  [
    'cairo.writer.data.append.page.size',
    'cairo.writer.data.index.key.append.page.size',
    'cairo.writer.data.index.value.append.page.size',
    'cairo.wal.writer.data.append.page.size',
    'cairo.symbol.table.append.page.size',
  ].map((setting) => [setting, '128k']),
);

/** Threads that look for work: after so many looks in vain they sleep a millisecond, after so many more ten. */
const POOLS = ['shared', 'pg', 'wal.apply', 'mat.view.refresh', 'view.compiler', 'export', 'http.min'];
const LOOKS = 50;
const LOOKS_ASLEEP = 200;

/** By default a thread looks 7,000 times at full speed after each piece of work: with work every tenth of a second that is half a core for nothing. */
function makeCalmWorkers(): Record<string, number> {
  return Object.fromEntries(
    POOLS.flatMap((pool) => [
      [`${pool}.worker.nap.threshold`, LOOKS],
      [`${pool}.worker.sleep.threshold`, LOOKS + LOOKS_ASLEEP],
    ]),
  );
}

// Standard output goes to the supervisor's log file; the default is a second set of files in the data folder.
const LOGGING = `writers=stdout
w.stdout.class=io.questdb.log.LogConsoleWriter
w.stdout.level=ADVISORY,ERROR,CRITICAL
`;
