/** Real engines for tests: one shared set for the whole run, or a private set for a test that kills them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import {
  ENGINE_NAMES,
  type EngineEndpoints,
  type EngineName,
  type Engines,
  startEngines,
} from '../../../infra/dev/engines/engines.ts';
import { choosePostgresHome } from '../../../infra/dev/engines/postgres.ts';
import { isAlive, type ProcessIdentity } from '../../../infra/dev/engines/process-identity.ts';
import { TEST_FOLDER } from './test-folder.ts';

/** As EngineEndpoints; an engine that was not requested is an empty string. */
export type TestEndpoints = { readonly [K in keyof EngineEndpoints]: string };

export interface TestEngines {
  readonly endpoints: TestEndpoints;
  /**
   * A unique name of letters and digits, for the topics, tables and groups of one test. Tables of the shared QuestDB
   * whose name has it in it are dropped when the test ends.
   */
  namespace(): string;
  /** URL of a fresh, empty PostgreSQL database, dropped when the test ends. */
  database(): Promise<string>;
}

export interface OwnEngines extends TestEngines {
  /** Folder of their data, a folder for each. */
  readonly dir: string;
  readonly kill: Engines['kill'];
  readonly ready: Engines['ready'];
  readonly hold: Engines['hold'];
  readonly restart: Engines['restart'];
  readonly pid: Engines['pid'];
}

/** The part of a tap test that this module uses. */
export interface Teardown {
  teardown(work: () => unknown): unknown;
}

export interface HostAddress extends ProcessIdentity {
  readonly port: number;
  readonly token: string;
}

export interface EngineRequest {
  readonly pid: number;
  readonly names: readonly EngineName[];
}

const HOST_START_MS = 30_000;

/** Where a run keeps its shared engines; test/run.ts gives each run a folder of its own. */
function sharedEnginesDir(): string {
  return process.env.TEST_ENGINES_DIR ?? join(TEST_FOLDER, 'shared');
}

/**
 * The shared engines, started on first use. Never kill or restart them: other test files use them at the same time
 * (`ownEngines` is for that). They end with the test run, or ten minutes after the last test process of a run by hand.
 */
export async function useEngines(t: Teardown, names: readonly EngineName[]): Promise<TestEngines> {
  const host = await findHost(sharedEnginesDir());
  const request: EngineRequest = { pid: process.pid, names };
  const response = await fetch(`http://127.0.0.1:${host.port}/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.token}` },
    body: JSON.stringify(request),
  });
  const body = (await response.json()) as Partial<EngineEndpoints> & { error?: string };
  if (!response.ok) throw new Error(`the shared engines did not start: ${body.error}`);
  const endpoints = filled(body);
  const words: string[] = [];
  // An open table holds files: a whole run of tests has more of them than one QuestDB may open.
  if (endpoints.questdb_http !== '') t.teardown(() => dropTables(endpoints, words));
  const namespace = (): string => {
    const word = newName();
    words.push(word);
    return word;
  };
  return { ...testEngines(t, endpoints), namespace };
}

/** Engines of this test alone, which it may kill and restart; stopped, and their data removed, when it ends. */
export async function ownEngines(t: Teardown, names: readonly EngineName[]): Promise<OwnEngines> {
  const dir = join(TEST_FOLDER, `own-${process.pid}-${newName()}`);
  mkdirSync(dir, { recursive: true });
  const others = Object.fromEntries(ENGINE_NAMES.filter((name) => !names.includes(name)).map((name) => [name, false]));
  const engines = await startEngines({ dir, ...others, ports: 'free', isLight: true, env: {} });
  t.teardown(async () => {
    await engines.stop();
    rmSync(choosePostgresHome(dir), { recursive: true, force: true });
    rmSync(dir, { recursive: true, force: true });
  });
  const { kill, ready, hold, restart, pid } = engines;
  return { ...testEngines(t, filled(engines.endpoints)), dir, kill, ready, hold, restart, pid };
}

function testEngines(t: Teardown, endpoints: TestEndpoints): TestEngines {
  return { endpoints, namespace: newName, database: () => freshDatabase(t, endpoints.database_url) };
}

function newName(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

async function freshDatabase(t: Teardown, url: string): Promise<string> {
  const name = newName();
  await runSql(url, `CREATE DATABASE ${name}`);
  t.teardown(() => runSql(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const fresh = new URL(url);
  fresh.pathname = `/${name}`;
  return fresh.href;
}

/** Views and tables of namespaces made with one of the names, also those of their replays. Tables that cannot be dropped are left. */
async function dropTables(endpoints: TestEndpoints, words: readonly string[]): Promise<void> {
  if (words.length === 0) return;
  const { questdb_http: http, questdb_user: user, questdb_password: password } = endpoints;
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const ask = async (query: string): Promise<readonly (readonly string[])[]> => {
    const answer = await fetch(`${http}/exec?query=${encodeURIComponent(query)}`, { headers: { authorization } });
    return ((await answer.json()) as { dataset?: readonly (readonly string[])[] }).dataset ?? [];
  };
  try {
    const like = (column: string): string => words.map((word) => `${column} LIKE '%${word}%'`).join(' OR ');
    const views = await ask(`SELECT view_name FROM views() WHERE ${like('view_name')}`);
    for (const [name] of views) await ask(`DROP VIEW IF EXISTS '${name}'`);
    const tables = await ask(`SELECT table_name FROM tables() WHERE ${like('table_name')}`);
    for (const [name] of tables) await ask(`DROP TABLE IF EXISTS '${name}'`);
  } catch {
    // The engines of a run by hand may be gone by now.
  }
}

async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function filled(endpoints: Partial<EngineEndpoints>): TestEndpoints {
  return {
    kafka: endpoints.kafka ?? '',
    questdb_http: endpoints.questdb_http ?? '',
    questdb_pg: endpoints.questdb_pg ?? '',
    questdb_user: endpoints.questdb_user ?? '',
    questdb_password: endpoints.questdb_password ?? '',
    questdb_readonly_user: endpoints.questdb_readonly_user ?? '',
    questdb_readonly_password: endpoints.questdb_readonly_password ?? '',
    database_url: endpoints.database_url ?? '',
    rpc_url: endpoints.rpc_url ?? '',
  };
}

async function findHost(dir: string): Promise<HostAddress> {
  const running = readHost(dir);
  if (running !== null) return running;
  startHost(dir);
  return waitForHost(dir);
}

/** The address of a host that was just started. */
export async function waitForHost(dir: string): Promise<HostAddress> {
  const deadline = performance.now() + HOST_START_MS;
  while (performance.now() < deadline) {
    const host = readHost(dir);
    if (host !== null) return host;
    await delay(50);
  }
  throw new Error(`the shared engines did not come up; see ${join(dir, 'host.log')}`);
}

/** A host outlives the test that started it, so that the next one finds warm engines; two that race share one lock. */
export function startHost(dir: string, owner?: number): ChildProcess {
  mkdirSync(dir, { recursive: true });
  const log = openSync(join(dir, 'host.log'), 'a');
  const script = fileURLToPath(new URL('./engine-host.ts', import.meta.url));
  const args = [script, dir, ...(owner === undefined ? [] : [String(owner)])];
  const host = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log], env: { ...process.env } });
  host.unref();
  closeSync(log);
  return host;
}

function readHost(dir: string): HostAddress | null {
  const file = join(dir, 'host.json');
  if (!existsSync(file)) return null;
  try {
    const host = JSON.parse(readFileSync(file, 'utf8')) as HostAddress;
    return isAlive(host) ? host : null;
  } catch {
    return null;
  }
}
