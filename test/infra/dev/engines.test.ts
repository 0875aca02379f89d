/** The embedded engines as processes: started, refused, killed, taken over and never left behind. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import t from 'tap';
import { openDataDir, readRun } from '../../../infra/dev/engines/data-dir.ts';
import { type EngineName, startEngines } from '../../../infra/dev/engines/engines.ts';
import { findFreePort, isFree } from '../../../infra/dev/engines/ports.ts';
import { choosePostgresHome } from '../../../infra/dev/engines/postgres.ts';
import { endProcess, isAlive, readIdentity } from '../../../infra/dev/engines/process-identity.ts';
import { ownEngines } from '../../support/engines/engines.ts';
import { noSmallDisk, smallDisk } from '../../support/engines/small-disk.ts';
import { waitFor } from '../../support/wait.ts';

const ONLY_ANVIL = { kafka: false, questdb: false, postgres: false } as const;
const SMALL = { kafka: false, questdb: false } as const;
const quiet = (): void => undefined;

function scratch(t: { teardown(work: () => unknown): unknown }): string {
  // A folder only we can enter, like a home: as root, PostgreSQL's user then needs another place for its data.
  const root = mkdtempSync(join(tmpdir(), 'engines-'));
  const dir = join(root, 'dáta ňu');
  t.teardown(() => {
    for (const folder of [choosePostgresHome(dir), root]) rmSync(folder, { recursive: true, force: true });
  });
  return dir;
}

async function askChain(url: string | null, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url ?? '', { method: 'POST', headers, body });
  return ((await response.json()) as { result: unknown }).result;
}

const chainId = (url: string | null): Promise<unknown> => askChain(url, 'eth_chainId');

async function sql(url: string | null, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url ?? '' });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** A process of its own that starts engines in `dir`, so that it can be killed without taking the test along. */
async function startedElsewhere(dir: string): Promise<{ pid: number; kill(): Promise<void> }> {
  const engines = new URL('../../../infra/dev/engines/engines.ts', import.meta.url).href;
  const script = `
    const { startEngines } = await import(${JSON.stringify(engines)});
    await startEngines({ dir: ${JSON.stringify(dir)}, kafka: false, questdb: false, ports: 'free', env: {} });
    console.log('up');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((settle) => child.once('exit', () => settle()));
  await new Promise<void>((settle) => createInterface({ input: child.stdout }).once('line', () => settle()));
  return {
    pid: child.pid ?? 0,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

t.test('engines start, keep their data and passwords to themselves, and stop without leaving a process', async (t) => {
  const dir = scratch(t);
  const engines = await startEngines({ dir, ...SMALL, ports: 'free', env: {} });
  t.equal(await chainId(engines.endpoints.rpc_url), '0x2105', 'the chain has the id of Base');
  t.same(await sql(engines.endpoints.database_url, 'SELECT 1 AS one'), [{ one: 1 }]);
  t.equal(engines.endpoints.kafka, null, 'an engine that was not requested has no address');
  t.equal(statSync(join(dir, 'secrets.json')).mode & 0o777, 0o600);
  await sql(engines.endpoints.database_url, 'CREATE TABLE kept (one int)');

  await t.rejects(
    startEngines({ dir, ...SMALL, ports: 'free', env: {} }),
    { message: new RegExp(`in use by process ${process.pid}.*DATA_DIR`) },
    'a second start on the same data is refused and names the process that uses it',
  );
  t.equal(await chainId(engines.endpoints.rpc_url), '0x2105', 'the refused start harmed nothing');

  const pids = (['postgres', 'anvil'] as const).map((name) => engines.pid(name) ?? 0);
  await engines.stop();
  t.same(pids.map(readIdentity), [null, null]);
  t.notOk(existsSync(join(dir, 'lock')));

  const again = await startEngines({ dir, ...SMALL, ports: 'free', env: {} });
  t.same(await sql(again.endpoints.database_url, 'SELECT count(*)::int AS n FROM kept'), [{ n: 0 }], 'data are kept');
  await again.stop();
  const wiped = await startEngines({ dir, ...SMALL, ports: 'free', env: {}, data: 'wipe' });
  await t.rejects(sql(wiped.endpoints.database_url, 'SELECT * FROM kept'), /does not exist/, 'wipe removes them');
  await wiped.stop();
});

t.test('a chain mines by the clock where it is told to, and at once what is sent', async (t) => {
  const start = async (blockSeconds: number): Promise<string | null> => {
    const engines = await startEngines({ dir: scratch(t), ...ONLY_ANVIL, ports: 'free', env: {}, blockSeconds });
    t.teardown(() => engines.stop());
    return engines.endpoints.rpc_url;
  };
  const [slow, quick] = [await start(3_600), await start(1)];
  const [from, to] = (await askChain(slow, 'eth_accounts')) as readonly string[];
  const hash = await askChain(slow, 'eth_sendTransaction', [{ from, to, value: '0x1' }]);
  await waitFor('a receipt within the hour', async () =>
    Boolean(await askChain(slow, 'eth_getTransactionReceipt', [hash])),
  );
  t.equal(await askChain(slow, 'eth_blockNumber'), '0x1');
  await askChain(slow, 'anvil_mine', ['0x200']);
  t.match(await askChain(slow, 'eth_getTransactionReceipt', [hash]), { blockNumber: '0x1' });
  t.equal(await askChain(slow, 'eth_getBalance', [to, '0x1']), undefined, 'a day of blocks does not fill the disk');
  await waitFor('blocks of nothing', async () => Number(await askChain(quick, 'eth_blockNumber')) > 1);
});

t.test('killing the starting process with -9 leaves nothing behind, and its lock is taken over', async (t) => {
  const dir = scratch(t);
  const elsewhere = await startedElsewhere(dir);
  const runs = (['postgres', 'anvil'] as const).map((name) => readRun(dir, name));
  t.ok(
    runs.every((run) => run !== null),
    'both run',
  );
  await elsewhere.kill();
  await waitFor('the engines end with their starter', () => runs.every((run) => run !== null && !isAlive(run)));
  t.ok(existsSync(join(dir, 'lock')), 'the lock is still there');
  const lines: string[] = [];
  const engines = await startEngines({ dir, ...SMALL, ports: 'free', env: {}, log: (line) => lines.push(line) });
  t.match(lines.join('\n'), `the process that held it (${elsewhere.pid}) has ended`);
  t.same(await sql(engines.endpoints.database_url, 'SELECT 1 AS one'), [{ one: 1 }]);
  await engines.stop();
});

t.test(
  'a process left over from an earlier run is ended at the next start, a stranger with its pid is not',
  async (t) => {
    const dir = scratch(t);
    mkdirSync(join(dir, 'run'), { recursive: true });
    const ending = { signal: 'SIGTERM', graceMs: 10_000, order: 0 };
    const sleepers = ['leftover', 'stranger'].map((name) => {
      const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
      child.unref();
      const identity = readIdentity(child.pid ?? 0);
      if (identity === null) throw new Error('sleep did not start');
      const started = name === 'leftover' ? identity.started : 'another start';
      writeFileSync(join(dir, 'run', `${name}.json`), JSON.stringify({ ...identity, started, ...ending }));
      t.teardown(() => endProcess(identity, 'SIGKILL', 1000));
      return identity;
    });
    const dataDir = await openDataDir(dir, quiet);
    t.same(sleepers.map(isAlive), [false, true]);
    dataDir.release();
  },
);

t.test('a taken port is refused before anything starts, with the setting that changes it', async (t) => {
  const port = await findFreePort();
  const server = createServer().listen(port, '127.0.0.1');
  t.teardown(() => server.close());
  await waitFor('the port is taken', async () => !(await isFree(port)));
  const dir = scratch(t);
  await t.rejects(startEngines({ dir, ...ONLY_ANVIL, env: { RPC_PORT: String(port) } }), {
    message: `port ${port} is taken by another program: set RPC_PORT to a free one`,
  });
  t.notOk(existsSync(join(dir, 'lock')), 'the folder is free again');
  await t.rejects(startEngines({ dir, ...ONLY_ANVIL, env: { RPC_PORT: '99999' } }), /RPC_PORT=99999 is not a port/);
});

t.test('a start that fails shows the log of the engine and stops the others', async (t) => {
  const dir = scratch(t);
  const first = await startEngines({ dir, ...SMALL, ports: 'free', env: {} });
  await first.stop();
  rmSync(join(choosePostgresHome(dir), 'data', 'global'), { recursive: true });
  await t.rejects(
    startEngines({ dir, ...SMALL, ports: 'free', env: {} }),
    /postgres ended before it was ready[\s\S]*global[\s\S]*whole log/,
  );
  t.equal(readRun(dir, 'anvil'), null);
  t.notOk(existsSync(join(dir, 'lock')));
});

t.test('engines named by the environment are used as they are and not started', async (t) => {
  const env = {
    KAFKA_BROKERS: 'broker.example:9092',
    QUESTDB_HTTP: 'http://quest.example:9000',
    QUESTDB_PG: 'postgres://quest.example:8812/qdb',
    QUESTDB_USER: 'writer',
    QUESTDB_PASSWORD: 'secret',
    DATABASE_URL: 'postgres://accounts.example/market',
  };
  const dir = scratch(t);
  const engines = await startEngines({ dir, ports: 'free', env });
  const names: readonly EngineName[] = ['kafka', 'questdb', 'postgres'];
  t.same(
    names.map((name) => readRun(dir, name)),
    [null, null, null],
  );
  t.match(engines.endpoints, {
    kafka: env.KAFKA_BROKERS,
    questdb_http: env.QUESTDB_HTTP,
    questdb_pg: env.QUESTDB_PG,
    questdb_user: 'writer',
    questdb_readonly_user: null,
    database_url: env.DATABASE_URL,
  });
  t.equal(await chainId(engines.endpoints.rpc_url), '0x2105', 'what the environment does not name is embedded');
  t.throws(() => engines.pid('kafka'), /not run by this process/);
  await engines.stop();
  await t.rejects(
    startEngines({ dir, env: { QUESTDB_HTTP: env.QUESTDB_HTTP } }),
    /QUESTDB_HTTP and QUESTDB_PG go together/,
  );
});

t.test('engines killed with -9 return on the same ports with what they had acknowledged', async (t) => {
  const engines = await ownEngines(t, ['kafka', 'questdb', 'anvil']);
  const kafka = new Kafka({ brokers: [engines.endpoints.kafka], logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 1 }], waitForLeaders: true });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: 'kept', acks: -1, messages: [{ value: 'one' }] });
  const questdb = (text: string): Promise<unknown[]> => {
    const { questdb_pg, questdb_user, questdb_password } = engines.endpoints;
    return sql(questdb_pg.replace('//', `//${questdb_user}:${questdb_password}@`), text);
  };
  await questdb('CREATE TABLE kept (at TIMESTAMP) TIMESTAMP(at) PARTITION BY DAY WAL');

  const names = ['kafka', 'questdb', 'anvil'] as const;
  const before = names.map(engines.pid);
  await Promise.all(names.map((name) => engines.kill(name)));
  await Promise.all(names.map((name) => engines.ready(name)));
  t.notMatch(names.map(engines.pid), before, 'new processes');
  await waitFor('the broker leads the partition again', async () => {
    const offsets = await admin.fetchTopicOffsets('kept').catch(() => []);
    return offsets[0]?.high === '1';
  });
  t.same(await questdb("SELECT count() AS count FROM tables() WHERE table_name = 'kept'"), [{ count: '1' }]);
  t.equal(await chainId(engines.endpoints.rpc_url), '0x2105');
  await producer.disconnect();
  await admin.disconnect();
});

t.test('an engine that died on a full disk is back when there is space', { skip: noSmallDisk }, async (t) => {
  const disk = smallDisk(t, '4m') as string;
  const dir = join(disk, 'data');
  const logged: string[] = [];
  const fillers: string[] = [];
  let isFull = true;
  const fill = (): void => {
    const filler = join(disk, `filler-${fillers.length}`);
    fillers.push(filler);
    t.throws(() => writeFileSync(filler, Buffer.alloc(8 * 1_024 * 1_024)), { code: 'ENOSPC' });
  };
  const log = (line: string): void => {
    // The record of the dead process is gone by now: its place is taken too.
    if (isFull && line.includes('died')) fill();
    logged.push(line);
  };
  const wasLogged = (words: string) => () => logged.some((line) => line.includes(words));
  const engines = await startEngines({ dir, ...ONLY_ANVIL, ports: 'free', env: {}, log });
  fill();
  await engines.kill('anvil');
  await waitFor('a start that fails', wasLogged('anvil cannot be started again: ENOSPC'));
  isFull = false;
  for (const filler of fillers.splice(0)) rmSync(filler);
  await waitFor('anvil is back', wasLogged('anvil is back'));
  t.equal(await chainId(engines.endpoints.rpc_url), '0x2105');
  fill();
  await engines.stop();
  t.equal(readRun(dir, 'anvil'), null, 'a full disk does not stand in the way of the end');
});

t.test('the read-only user of QuestDB and its HTTP page need their passwords', async (t) => {
  const engines = await ownEngines(t, ['questdb']);
  const { questdb_http, questdb_pg, questdb_readonly_user, questdb_readonly_password } = engines.endpoints;
  const page = await fetch(`${questdb_http}/exec?query=SELECT%201`);
  await page.arrayBuffer();
  t.equal(page.status, 401);
  const url = questdb_pg.replace('//', `//${questdb_readonly_user}:${questdb_readonly_password}@`);
  t.same(await sql(url, 'SELECT 1 AS one'), [{ one: 1 }]);
  await t.rejects(sql(url, 'CREATE TABLE mine (at TIMESTAMP)'), /denied/i);
  await t.rejects(sql(questdb_pg.replace('//', '//admin:quest@'), 'SELECT 1'), /invalid username\/password/i);
});

t.test('QuestDB keeps no table about its own work', async (t) => {
  const { endpoints, dir } = await ownEngines(t, ['questdb']);
  const { questdb_pg, questdb_user, questdb_password } = endpoints;
  const url = questdb_pg.replace('//', `//${questdb_user}:${questdb_password}@`);
  await sql(url, 'CREATE TABLE kept (at TIMESTAMP) TIMESTAMP(at) PARTITION BY DAY WAL');
  await sql(url, 'INSERT INTO kept VALUES (now())');
  await waitFor('the row is applied', async () => {
    const [found] = (await sql(url, 'SELECT count() AS count FROM kept')) as { readonly count: string }[];
    return found?.count === '1';
  });
  const kept = readdirSync(join(dir, 'questdb', 'db')).filter((name) => name.startsWith('sys.telemetry'));
  t.same(kept, [], 'it would grow with every commit');
});

t.test('the read-only user cannot import, and its statements of seconds leave writing alone', async (t) => {
  const engines = await ownEngines(t, ['questdb']);
  const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
  const { questdb_readonly_user, questdb_readonly_password } = engines.endpoints;
  const url = questdb_pg.replace('//', `//${questdb_readonly_user}:${questdb_readonly_password}@`);
  for (const text of ["COPY mine FROM 'readme.txt'", 'SELECT * FROM import_files()'])
    await t.rejects(sql(url, text), /disabled/, text);
  const busy = [1, 2].map(async () => {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    client.query('SELECT * FROM long_sequence(1000000000) WHERE x = -1').catch(() => undefined);
    return client;
  });
  const clients = await Promise.all(busy);
  // One that comes before a thread has taken the second statement is served.
  let refusal: unknown = null;
  for (let tries = 0; refusal === null && tries < 5; tries++) {
    const late = new pg.Client({ connectionString: url, connectionTimeoutMillis: 700 });
    late.on('error', () => undefined);
    refusal = await late.connect().then(
      () => late.end().then(() => null),
      (error: unknown) => error,
    );
  }
  t.match(String(refusal), /timeout/, 'both threads of SQL are held');
  const authorization = `Basic ${Buffer.from(`${questdb_user}:${questdb_password}`).toString('base64')}`;
  const page = await fetch(`${questdb_http}/exec?query=SELECT%201`, {
    headers: { authorization },
    signal: AbortSignal.timeout(20_000),
  });
  t.equal(page.status, 200, 'the listener that rows are written to answers');
  await page.arrayBuffer();
  for (const client of clients) Object(client).connection.stream.destroy();
});

t.test('a process is known by its start, not by its pid alone', (t) => {
  const me = readIdentity(process.pid);
  t.ok(me !== null && isAlive(me));
  t.notOk(isAlive({ pid: process.pid, started: 'earlier' }), 'a reused pid is a stranger');
  t.equal(readIdentity(2 ** 22 + 1), null, 'no process has this pid');
  t.end();
});
