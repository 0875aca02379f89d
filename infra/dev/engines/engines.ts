/** The engines of one run: started in parallel, each embedded unless the environment names one from outside. */
import { rmSync } from 'node:fs';
import { startAnvil } from './anvil.ts';
import { type DataDir, openDataDir } from './data-dir.ts';
import { startKafka } from './kafka.ts';
import { choosePorts, type PortSetting } from './ports.ts';
import { choosePostgresHome, makeDatabaseUrl, startPostgres } from './postgres.ts';
import { QUESTDB_READONLY_USER, QUESTDB_USER, startQuestdb } from './questdb.ts';
import { createSupervisor, type Supervised, type Supervisor } from './supervisor.ts';

export type EngineName = 'kafka' | 'questdb' | 'postgres' | 'anvil';

export const ENGINE_NAMES: readonly EngineName[] = ['kafka', 'questdb', 'postgres', 'anvil'];

/** Addresses of the engines; null for one that was not requested. */
export interface EngineEndpoints {
  readonly kafka: string | null;
  readonly questdb_http: string | null;
  /** `postgres://host:port/qdb` without a user: three users connect to it. */
  readonly questdb_pg: string | null;
  readonly questdb_user: string | null;
  readonly questdb_password: string | null;
  readonly questdb_readonly_user: string | null;
  readonly questdb_readonly_password: string | null;
  readonly database_url: string | null;
  readonly rpc_url: string | null;
}

interface EngineOptions {
  /** Folder of all data of the engines. */
  readonly dir: string;
  readonly kafka?: boolean;
  readonly questdb?: boolean;
  readonly postgres?: boolean;
  readonly anvil?: boolean;
  /** `wipe` removes the data of earlier runs, once the folder is ours. */
  readonly data?: 'keep' | 'wipe';
  /** `free` takes random free ports (tests); `standard` the documented ones or their settings. */
  readonly ports?: 'free' | 'standard';
  /** Where KAFKA_BROKERS, QUESTDB_HTTP, DATABASE_URL, RPC_URL and the port settings are read. */
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
  /** Ports of processes that will run beside the engines, chosen with theirs. */
  readonly alsoPorts?: readonly PortSetting[];
  /** For a run of minutes, such as a test or a demo: Kafka and QuestDB start with less work and serve more slowly. */
  readonly isLight?: boolean;
  /** Interval in which the chain mines blocks, as a real one does; absent: a block for each transaction only. */
  readonly blockSeconds?: number;
  /** Aborts a start in order: what has started is stopped, and the start fails. */
  readonly signal?: AbortSignal;
}

export interface Engines {
  readonly endpoints: EngineEndpoints;
  /** The supervisor and folder of the run, for its other processes. */
  readonly supervisor: Supervisor;
  readonly dataDir: DataDir;
  /** Ports of the embedded engines and of `alsoPorts`; standard ones otherwise. */
  readonly ports: Readonly<Record<PortSetting, number>>;
  pid(name: EngineName): number | null;
  ready(name: EngineName): Promise<void>;
  kill(name: EngineName): Promise<void>;
  /** Stops it and leaves it down until `restart`. */
  hold(name: EngineName): Promise<void>;
  restart(name: EngineName): Promise<void>;
  stop(): Promise<void>;
}

/** An external engine was configured only in part, or an engine is not part of the run. */
class EngineError extends Error {
  override readonly name = 'EngineError';
}

const PORTS_OF: Record<EngineName, readonly PortSetting[]> = {
  kafka: ['KAFKA_PORT', 'KAFKA_CONTROLLER_PORT'],
  questdb: ['QUESTDB_HTTP_PORT', 'QUESTDB_PG_PORT', 'QUESTDB_MIN_PORT'],
  postgres: ['POSTGRES_PORT'],
  anvil: ['RPC_PORT'],
};

/** Starts the requested engines (all, unless an engine is `false`); on a failure nothing is left running. */
export async function startEngines(options: EngineOptions): Promise<Engines> {
  const env = options.env ?? process.env;
  const log = options.log ?? (() => undefined);
  const outside = readOutsideEndpoints(env);
  const wanted = ENGINE_NAMES.filter((name) => options[name] !== false);
  const embedded = wanted.filter((name) => !outside.names.has(name));
  const dataDir = await openDataDir(options.dir, log, options.data);
  if (options.data === 'wipe') rmSync(choosePostgresHome(dataDir.path), { recursive: true, force: true });
  const settings = [...embedded.flatMap((name) => PORTS_OF[name]), ...(options.alsoPorts ?? [])];
  const supervisor = createSupervisor(dataDir, log);
  try {
    options.signal?.throwIfAborted();
    options.signal?.addEventListener('abort', () => void supervisor.stop(), { once: true });
    const ports = await choosePorts(settings, options.ports ?? 'standard', env);
    const started = await startAll(embedded, {
      ...{ supervisor, dataDir, ports, log },
      isLight: options.isLight ?? false,
      blockSeconds: options.blockSeconds ?? null,
    });
    const endpoints = pickWanted(wanted, { ...listEmbeddedEndpoints(embedded, dataDir, ports), ...outside.endpoints });
    return { endpoints, supervisor, dataDir, ports, ...makeControls(started, supervisor, dataDir) };
  } catch (error) {
    await supervisor.stop();
    dataDir.release();
    throw error;
  }
}

interface Run {
  readonly supervisor: Supervisor;
  readonly dataDir: DataDir;
  readonly ports: Readonly<Record<PortSetting, number>>;
  readonly isLight: boolean;
  readonly blockSeconds: number | null;
  readonly log: (line: string) => void;
}

async function startAll(names: readonly EngineName[], run: Run): Promise<Map<EngineName, Supervised>> {
  const begun = performance.now();
  const results = await Promise.allSettled(
    names.map(async (name): Promise<[EngineName, Supervised]> => {
      const process = await startOne(name, run);
      run.log(`${name} is ready after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      return [name, process];
    }),
  );
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
}

function startOne(name: EngineName, run: Run): Promise<Supervised> {
  const { supervisor, dataDir, ports, isLight, blockSeconds, log } = run;
  switch (name) {
    case 'kafka':
      return startKafka(supervisor, dataDir, {
        ports: { broker: ports.KAFKA_PORT, controller: ports.KAFKA_CONTROLLER_PORT },
        isLight,
      });
    case 'questdb':
      return startQuestdb(supervisor, dataDir, {
        ports: { http: ports.QUESTDB_HTTP_PORT, pg: ports.QUESTDB_PG_PORT, min: ports.QUESTDB_MIN_PORT },
        isLight,
      });
    case 'postgres':
      return startPostgres(supervisor, dataDir, { port: ports.POSTGRES_PORT, log });
    case 'anvil':
      return startAnvil(supervisor, dataDir, { port: ports.RPC_PORT, blockSeconds });
    default:
      return name satisfies never;
  }
}

function makeControls(
  started: ReadonlyMap<EngineName, Supervised>,
  supervisor: Supervisor,
  dataDir: DataDir,
): Pick<Engines, 'pid' | 'ready' | 'kill' | 'hold' | 'restart' | 'stop'> {
  const find = (name: EngineName): Supervised => {
    const process = started.get(name);
    if (process === undefined) throw new EngineError(`${name} is not run by this process`);
    return process;
  };
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    dataDir.release();
  };
  return {
    pid: (name) => find(name).pid(),
    ready: (name) => find(name).ready(),
    kill: (name) => find(name).kill(),
    hold: (name) => find(name).hold(),
    restart: (name) => find(name).restart(),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

function listEmbeddedEndpoints(
  names: readonly EngineName[],
  dataDir: DataDir,
  ports: Readonly<Record<PortSetting, number>>,
): Partial<EngineEndpoints> {
  const parts: Record<EngineName, () => Partial<EngineEndpoints>> = {
    kafka: () => ({ kafka: `127.0.0.1:${ports.KAFKA_PORT}` }),
    questdb: () => ({
      questdb_http: `http://127.0.0.1:${ports.QUESTDB_HTTP_PORT}`,
      questdb_pg: `postgres://127.0.0.1:${ports.QUESTDB_PG_PORT}/qdb`,
      questdb_user: QUESTDB_USER,
      questdb_password: dataDir.secrets.questdb_password,
      questdb_readonly_user: QUESTDB_READONLY_USER,
      questdb_readonly_password: dataDir.secrets.questdb_readonly_password,
    }),
    postgres: () => ({ database_url: makeDatabaseUrl(ports.POSTGRES_PORT, dataDir.secrets.postgres_password) }),
    anvil: () => ({ rpc_url: `http://127.0.0.1:${ports.RPC_PORT}` }),
  };
  return Object.assign({}, ...names.map((name) => parts[name]()));
}

/** Engines that the environment names; an address without its other half is refused instead of embedding half an engine. */
function readOutsideEndpoints(env: NodeJS.ProcessEnv): {
  names: ReadonlySet<EngineName>;
  endpoints: Partial<EngineEndpoints>;
} {
  const given = (name: string): string | null => (env[name] === undefined || env[name] === '' ? null : env[name]);
  const names = new Set<EngineName>();
  let endpoints: Partial<EngineEndpoints> = {};
  const [brokers, http, pg, database, rpc] = [
    'KAFKA_BROKERS',
    'QUESTDB_HTTP',
    'QUESTDB_PG',
    'DATABASE_URL',
    'RPC_URL',
  ].map(given);
  if (brokers) endpoints = { ...endpoints, kafka: names.add('kafka') && brokers };
  if ((http === null) !== (pg === null)) {
    throw new EngineError('QUESTDB_HTTP and QUESTDB_PG go together: set both for a server of your own, or neither');
  }
  if (http && pg) {
    names.add('questdb');
    endpoints = {
      ...endpoints,
      questdb_http: http,
      questdb_pg: pg,
      questdb_user: given('QUESTDB_USER'),
      questdb_password: given('QUESTDB_PASSWORD'),
      questdb_readonly_user: given('QUESTDB_READONLY_USER'),
      questdb_readonly_password: given('QUESTDB_READONLY_PASSWORD'),
    };
  }
  if (database) endpoints = { ...endpoints, database_url: names.add('postgres') && database };
  if (rpc) endpoints = { ...endpoints, rpc_url: names.add('anvil') && rpc };
  return { names, endpoints };
}

const ENDPOINTS_OF: Record<EngineName, readonly (keyof EngineEndpoints)[]> = {
  kafka: ['kafka'],
  questdb: [
    'questdb_http',
    'questdb_pg',
    'questdb_user',
    'questdb_password',
    'questdb_readonly_user',
    'questdb_readonly_password',
  ],
  postgres: ['database_url'],
  anvil: ['rpc_url'],
};

function pickWanted(wanted: readonly EngineName[], known: Partial<EngineEndpoints>): EngineEndpoints {
  const endpoints: { -readonly [K in keyof EngineEndpoints]: EngineEndpoints[K] } = {
    kafka: null,
    questdb_http: null,
    questdb_pg: null,
    questdb_user: null,
    questdb_password: null,
    questdb_readonly_user: null,
    questdb_readonly_password: null,
    database_url: null,
    rpc_url: null,
  };
  for (const name of wanted) for (const key of ENDPOINTS_OF[name]) endpoints[key] = known[key] ?? null;
  return endpoints;
}
