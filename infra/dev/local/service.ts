/** The whole service on one machine: engines, the four processes, demo keys; on live or on simulated venues. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type EngineEndpoints, type Engines, startEngines } from '../engines/engines.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import type { PortSetting } from '../engines/ports.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';
import { ensureDemoKeys } from '../tools/demo-keys.ts';
import type { Progress } from './progress.ts';

export interface ServiceOptions {
  /** Engines, logs and keys lie under this folder; live and simulated data never share one. */
  readonly dir: string;
  readonly venues: readonly string[];
  /** Simulated venues on loopback, and said so in every answer that names its source. */
  readonly source: 'live' | 'simulated';
  readonly data?: 'keep' | 'wipe';
  readonly ports?: 'free' | 'standard';
  /** Further settings of the processes, over `env`: LOG_LEVEL, SIM_*, SHARDS. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  /** Where the addresses are written besides being returned; none when absent. */
  readonly endpointsFile?: string;
  /** Ends a start in order: what has begun is stopped, and the start fails. */
  readonly signal?: AbortSignal;
  readonly progress: Progress;
}

export type DemoKeys = Record<'free' | 'mini' | 'standard' | 'pro' | 'pro_plus', string>;

/** What `.local/endpoints.json` says; an address is null while nothing answers there. */
export interface ServiceEndpoints extends EngineEndpoints {
  readonly base_url: string;
  readonly mcp_url: string | null;
  readonly account_url: string | null;
  readonly auth_url: string | null;
  readonly facilitator_url: string | null;
  /** The simulator's control page; null on live venues. */
  readonly control_url: string | null;
  readonly metrics_urls: Readonly<Record<'ingest' | 'processors' | 'api' | 'nightly', string>>;
  readonly keys: DemoKeys;
}

export interface Service {
  readonly endpoints: ServiceEndpoints;
  readonly engines: Engines;
  stop(): Promise<void>;
}

/** On a busy machine the API takes minutes to follow five minutes of `live`; a process that has died is seen at once. */
const READY_TIMEOUT_MS = 600_000;

type Ports = Engines['ports'];

const PROCESS_PORTS = [
  'PORT',
  'INGEST_METRICS_PORT',
  'PROCESSORS_METRICS_PORT',
  'API_METRICS_PORT',
  'NIGHTLY_METRICS_PORT',
] as const;

/** Starts everything and resolves once the API serves; on a failure nothing is left running. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dir, progress } = options;
  const env = options.env ?? process.env;
  const simulated = options.source === 'simulated';
  const settings: PortSetting[] = [...PROCESS_PORTS, ...(simulated ? (['SIM_PORT'] as const) : [])];
  const engines = await progress.during(
    'the engines',
    startEngines({
      dir,
      ...(options.data === undefined ? {} : { data: options.data }),
      ports: options.ports ?? 'standard',
      alsoPorts: settings,
      env,
      log: progress.say,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    }),
  );
  try {
    // Addresses of an earlier run that was killed; not removed before the folder is known to be ours.
    if (options.endpointsFile !== undefined) rmSync(options.endpointsFile, { force: true });
    const endpoints = await startProcesses(options, engines);
    if (options.endpointsFile !== undefined) writeEndpoints(options.endpointsFile, endpoints);
    return { endpoints, engines, stop: engines.stop };
  } catch (error) {
    await engines.stop();
    throw error;
  }
}

async function startProcesses(options: ServiceOptions, engines: Engines): Promise<ServiceEndpoints> {
  const { progress } = options;
  const { ports } = engines;
  const begin = async (spec: ProcessSpec): Promise<void> => {
    await progress.during(spec.name, engines.supervisor.start(spec));
    progress.say(`${spec.name} is ready`);
  };
  const keysFile = join(engines.dataDir.path, 'keys.json');
  const database = engines.endpoints.database_url ?? '';
  const keys = progress.during('the demo keys', ensureDemoKeys(database, keysFile));
  // Observed below; a failure meanwhile must not count as unhandled.
  keys.catch(() => undefined);
  const simulator = options.source === 'simulated' ? await startSimulator(options, ports, begin) : null;
  const common = { ...commonEnv(options, engines.endpoints), ...simulator?.env };
  // Each waits by itself for what another one makes; they end in the opposite order of their start.
  const feeding = [
    begin(nodeProcess('ingest', common, ports.INGEST_METRICS_PORT)),
    begin(nodeProcess('processors', common, ports.PROCESSORS_METRICS_PORT)),
  ];
  for (const one of feeding) one.catch(() => undefined);
  // The account tables are made with the keys, and the API expects them.
  const madeKeys = await keys;
  const archive = { ARCHIVE_DIR: join(engines.dataDir.path, 'archive') };
  await Promise.all([...feeding, begin(apiProcess({ ...common, ...archive }, ports))]);
  await begin(nightlyProcess({ ...common, ...archive, RECHECK_KEY: madeKeys.pro_plus }, ports));
  return {
    ...engines.endpoints,
    base_url: `http://127.0.0.1:${ports.PORT}`,
    mcp_url: null,
    account_url: null,
    auth_url: null,
    facilitator_url: null,
    control_url: simulator?.control ?? null,
    metrics_urls: {
      ingest: metricsUrl(ports.INGEST_METRICS_PORT),
      processors: metricsUrl(ports.PROCESSORS_METRICS_PORT),
      api: metricsUrl(ports.API_METRICS_PORT),
      nightly: metricsUrl(ports.NIGHTLY_METRICS_PORT),
    },
    keys: madeKeys,
  };
}

/** Settings every process of ours reads; the ones a process does not know are none of its business. */
function commonEnv(options: ServiceOptions, endpoints: EngineEndpoints): Record<string, string> {
  const given: Record<string, string | null> = {
    KAFKA_BROKERS: endpoints.kafka,
    QUESTDB_HTTP: endpoints.questdb_http,
    QUESTDB_PG: endpoints.questdb_pg,
    QUESTDB_USER: endpoints.questdb_user,
    QUESTDB_PASSWORD: endpoints.questdb_password,
    DATABASE_URL: endpoints.database_url,
    RPC_URL: endpoints.rpc_url,
    VENUES: options.venues.join(','),
    SIMULATED: String(options.source === 'simulated'),
    // What one of them left on disk must never reach the other's topics.
    SPOOL_DIR: resolve(options.dir, 'spool'),
  };
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null);
  return { ...Object.fromEntries(set), ...options.settings };
}

async function startSimulator(
  options: ServiceOptions,
  ports: Ports,
  begin: (spec: ProcessSpec) => Promise<void>,
): Promise<{ env: Record<string, string>; control: string }> {
  let announced: { endpoints: unknown; control: string } | null = null;
  await begin({
    name: 'simulator',
    command: process.execPath,
    args: [join(PROJECT_ROOT, 'infra', 'dev', 'simulator', 'main.ts')],
    // A port that survives a restart: the collectors are told once where the venues are.
    env: { SIM_VENUES: options.venues.join(','), ...options.settings, SIM_PORT: String(ports.SIM_PORT) },
    readyTimeoutMs: 20_000,
    isReady: async () => announced !== null,
    onLine: (line) => {
      announced ??= parseAnnouncement(line);
    },
  });
  // Ready means announced; the compiler cannot see the assignment in the callback.
  const { endpoints, control } = announced as unknown as { endpoints: unknown; control: string };
  return { env: { VENUE_ENDPOINTS: JSON.stringify(endpoints) }, control };
}

function parseAnnouncement(line: string): { endpoints: unknown; control: string } | null {
  try {
    const said: unknown = JSON.parse(line);
    if (typeof said !== 'object' || said === null || !('endpoints' in said) || !('control' in said)) return null;
    return { endpoints: said.endpoints, control: String(said.control) };
  } catch {
    return null;
  }
}

function nodeProcess(name: 'ingest' | 'processors', common: Record<string, string>, metricsPort: number): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: [join(PROJECT_ROOT, name, 'main.ts')],
    // One process of each kind: after a restart it takes its predecessor's place at once.
    env: { ...common, PROCESSOR_ID: 'processors-local', METRICS_PORT: String(metricsPort) },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopGraceMs: 16_000,
    isReady: () => isOk(`http://127.0.0.1:${metricsPort}/healthz`),
  };
}

function apiProcess(common: Record<string, string>, ports: Ports): ProcessSpec {
  const base = `http://127.0.0.1:${ports.PORT}`;
  return {
    name: 'api',
    command: process.execPath,
    args: [join(PROJECT_ROOT, 'api', 'main.ts')],
    env: {
      ...common,
      HOST: '127.0.0.1',
      PORT: String(ports.PORT),
      BASE_URL: base,
      METRICS_PORT: String(ports.API_METRICS_PORT),
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopGraceMs: 16_000,
    isReady: () => isOk(`${base}/readyz`),
  };
}

/** Asks the API as any client does, so it starts after it. */
function nightlyProcess(env: Record<string, string>, ports: Ports): ProcessSpec {
  const port = String(ports.NIGHTLY_METRICS_PORT);
  return {
    name: 'nightly',
    command: process.execPath,
    args: [join(PROJECT_ROOT, 'processors', 'nightly.ts')],
    env: { ...env, BASE_URL: `http://127.0.0.1:${ports.PORT}`, METRICS_PORT: port },
    readyTimeoutMs: 60_000,
    stopGraceMs: 16_000,
    isReady: () => isOk(`http://127.0.0.1:${port}/readyz`),
  };
}

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
  await response.arrayBuffer();
  return response.ok;
}

function metricsUrl(port: number): string {
  return `http://127.0.0.1:${port}/metrics`;
}

/** The file holds keys and passwords: only its owner may read it. Analysts' credentials stand in `questdb_pg` itself. */
function writeEndpoints(file: string, endpoints: ServiceEndpoints): void {
  mkdirSync(dirname(file), { recursive: true });
  const shown = { ...endpoints, questdb_pg: analystUrl(endpoints) };
  writeFileSync(file, `${JSON.stringify(shown, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}

/** The PostgreSQL-wire address of QuestDB as its read-only user; without a user where none is known. */
export function analystUrl(endpoints: EngineEndpoints): string | null {
  if (endpoints.questdb_pg === null) return null;
  const url = new URL(endpoints.questdb_pg);
  if (endpoints.questdb_readonly_user !== null) url.username = endpoints.questdb_readonly_user;
  if (endpoints.questdb_readonly_password !== null) url.password = endpoints.questdb_readonly_password;
  return url.href;
}
