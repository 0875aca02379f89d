// The whole service as child processes over real engines: simulator, collector, processors, API. Tests kill and restart them.
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { findProgram } from '../../../infra/dev/build/entries.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { type DemoKeys, ensureDemoKeys } from '../../../infra/dev/local/demo-keys.ts';
import type { TestEndpoints } from '../engines/engines.ts';
import { fetchFrom } from '../engines/http.ts';
import { TEST_FOLDER } from '../engines/test-folder.ts';
import { BOUND_MS, waitFor } from '../wait.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

export type Child = {
  readonly process: ChildProcess;
  /** First line of its standard output. */
  readonly firstLine: Promise<string>;
  readonly exited: Promise<number | null>;
  kill(signal?: NodeJS.Signals): Promise<void>;
};

/** Processes left running by a test that failed end with its process. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Settings of the tests' own: children get none but the paths and the folder of compiled modules, without which each compiles all of ours again. */
const inherited = (): Readonly<Record<string, string>> => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) };
};

/** Starts `file`, or its bundle, with Node; its log goes to `.local/test/log/<name>.log`. */
export const startChild = (
  name: string,
  file: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Child => {
  const logs = join(ROOT, '.local/test/log');
  mkdirSync(logs, { recursive: true });
  const log = createWriteStream(join(logs, `${name}.log`), { flags: 'a' });
  const child = spawn(process.execPath, [findProgram(file), ...args], {
    env: { ...inherited(), LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.pipe(log);
  living.add(child);
  child.once('exit', () => living.delete(child));
  const lines = createInterface({ input: child.stdout });
  const firstLine = new Promise<string>((done) => lines.once('line', done));
  const exited = new Promise<number | null>((done) => child.once('exit', done));
  return {
    process: child,
    firstLine,
    exited,
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      await exited;
    },
  };
};

export type Simulator = {
  readonly child: Child;
  readonly endpoints: string;
  readonly control: string;
  /** For Binance unless `venue` is set. */
  fault(request: Readonly<Record<string, unknown>>): Promise<unknown>;
  get<T>(path: string): Promise<T>;
};

export const startSimulator = async (env: Readonly<Record<string, string>>): Promise<Simulator> => {
  const child = startChild('simulator', 'infra/dev/simulator/main.ts', env);
  const { endpoints, control } = JSON.parse(await child.firstLine) as { endpoints: unknown; control: string };
  const call = async (path: string, init?: Parameters<typeof fetchFrom>[1]): ReturnType<typeof fetchFrom> => {
    const answer = await fetchFrom(`${control}${path}`, init);
    if (!answer.ok) throw new Error(`simulator ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  return {
    child,
    endpoints: JSON.stringify(endpoints),
    control,
    fault: async (request) => {
      const body = JSON.stringify({ venue: 'binance', ...request });
      return (await call('/faults', { method: 'POST', body })).json();
    },
    get: async <T>(path: string) => (await (await call(path)).json()) as T,
  };
};

type Stores = Pick<TestEndpoints, 'kafka' | 'questdb_http' | 'questdb_pg' | 'questdb_user' | 'questdb_password'>;

export type PipelineSpec = {
  readonly stores: Stores;
  readonly namespace: string;
  readonly shards: number;
  /** binance alone by default. */
  readonly venues?: readonly string[];
};

const toVenues = ({ venues = ['binance'] }: PipelineSpec): string => venues.join();

export const startIngest = (
  spec: PipelineSpec,
  venueEndpoints: string,
  collector = 'collector',
  extra: Readonly<Record<string, string>> = {},
): Child =>
  startChild(`${spec.namespace}ingest`, 'ingest/main.ts', {
    KAFKA_BROKERS: spec.stores.kafka,
    VENUES: toVenues(spec),
    SHARDS: String(spec.shards),
    COLLECTOR_ID: collector,
    VENUE_ENDPOINTS: venueEndpoints,
    METRICS_PORT: '0',
    TOPIC_NAMESPACE: spec.namespace,
    // The spool of a killed collector is for its own successors.
    SPOOL_DIR: join(TEST_FOLDER, 'spool', spec.namespace),
    ...extra,
  });

export const startProcessors = (spec: PipelineSpec, extra: Readonly<Record<string, string>> = {}): Child =>
  startChild(`${spec.namespace}processors`, 'processors/main.ts', {
    KAFKA_BROKERS: spec.stores.kafka,
    VENUES: toVenues(spec),
    SHARDS: String(spec.shards),
    TOPIC_NAMESPACE: spec.namespace,
    QUESTDB_HTTP: spec.stores.questdb_http,
    QUESTDB_PG: spec.stores.questdb_pg,
    QUESTDB_USER: spec.stores.questdb_user,
    QUESTDB_PASSWORD: spec.stores.questdb_password,
    METRICS_PORT: '0',
    ...extra,
  });

export type Api = {
  readonly child: Child;
  readonly baseUrl: string;
  readonly keys: DemoKeys;
  /** Answers the parsed body; rejects on anything but a 200. */
  post<T>(path: string, body: Readonly<Record<string, unknown>>): Promise<T>;
};

/** Starts the API on a free port with keys of its own; it answers once `/readyz` does. `settings` are laid over what it is given. */
export const startApi = async (
  spec: PipelineSpec,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Api> => {
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  const keys = await ensureDemoKeys(databaseUrl, join(folder, 'keys.json'));
  await rm(folder, { recursive: true });
  const child = startChild(`${spec.namespace}api`, 'api/main.ts', {
    KAFKA_BROKERS: spec.stores.kafka,
    VENUES: toVenues(spec),
    QUESTDB_PG: spec.stores.questdb_pg,
    QUESTDB_USER: spec.stores.questdb_user,
    QUESTDB_PASSWORD: spec.stores.questdb_password,
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    METRICS_PORT: '0',
    TOPIC_NAMESPACE: spec.namespace,
    SIMULATED: 'true',
    ...settings,
  });
  return {
    child,
    baseUrl,
    keys,
    post: async <T>(path: string, body: Readonly<Record<string, unknown>>) => {
      const headers = { authorization: `Bearer ${keys.pro_plus}`, 'content-type': 'application/json' };
      const answer = await fetchFrom(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as T;
    },
  };
};

/** Polls until `probe` gives a value other than null; rejects naming what was awaited after the common bound, or `timeoutMs` when that is longer. */
export const until = async <T>(
  what: string,
  timeoutMs: number,
  probe: () => Promise<T | null> | T | null,
): Promise<T> => {
  const boundMs = Math.max(timeoutMs, BOUND_MS);
  const look = async (): Promise<{ readonly value: T } | null> => {
    const value = await probe();
    return value === null ? null : { value };
  };
  return (await waitFor(what, look, { boundMs, everyMs: 100 })).value;
};

/** Resolves when the API reports that it is ready; a rejection has its last answer. */
export const apiReady = async ({ baseUrl }: Pick<Api, 'baseUrl'>): Promise<void> => {
  let seen = 'no answer';
  const look = async (): Promise<boolean> => {
    const answer = await fetchFrom(`${baseUrl}/readyz`).catch(() => null);
    seen = answer === null ? 'no answer' : `${answer.status} ${await answer.text()}`;
    return answer?.ok === true;
  };
  await waitFor('the API is ready', look, { everyMs: 100, seen: () => seen });
};
