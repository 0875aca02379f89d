/** The whole service on one machine: engines, the five processes, demo keys; on live or on simulated venues. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeError } from '../../../schemas/thrown.ts';
import { type EngineEndpoints, type Engines, startEngines } from '../engines/engines.ts';
import type { PortSetting } from '../engines/ports.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';
import { ensureLocalAnchors, toAnchorEnv } from './anchors.ts';
import { ensureDemoAccounts, toDemoAccountId } from './demo-accounts.ts';
import { ensureDemoKeys } from './demo-keys.ts';
import { ensureDemoRules } from './demo-rules.ts';
import { type ServiceEndpoints, writeEndpoints } from './endpoints.ts';
import type { ServiceOptions } from './options.ts';
import { type ArchivedPast, type PastRun, readPastWork, startPast } from './past.ts';
import { startLocalPayments, toPaymentEnv } from './payments.ts';
import {
  makeAccountUrl,
  makeApiProcess,
  makeMcpUrl,
  makeNightlyProcess,
  makeNodeProcess,
  makeWebProcess,
  PROCESS_PORTS,
} from './processes.ts';
import { startSimulator } from './simulated-venues.ts';

/** Whether an unsettled payment has expired is decided by the time of the newest block, which would not advance while nobody pays. anvil keeps each block for ever (D-812). */
const BLOCK_SECONDS = 60;

export interface Service {
  readonly endpoints: ServiceEndpoints;
  readonly engines: Engines;
  /** Resolves when the past's days are archived; null when this start has none to write or finish. */
  readonly past: Promise<ArchivedPast> | null;
  stop(): Promise<void>;
}

/** Starts everything and resolves once the API serves; on a failure nothing is left running. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dir, progress } = options;
  const env = options.env ?? process.env;
  const simulated = options.source === 'simulated';
  const work = options.past === true ? readPastWork({ dir, env, isWiped: options.data === 'wipe' }) : null;
  const shards = Number(options.settings?.['SHARDS'] ?? env['SHARDS'] ?? 1);
  const past = work === null ? null : startPast({ dir, work, shards, progress });
  options.signal?.addEventListener('abort', () => void past?.stop(), { once: true });
  const stop = async (engines: Engines): Promise<void> => {
    await past?.stop();
    await engines.stop();
  };
  const settings: PortSetting[] = [...PROCESS_PORTS, ...(simulated ? (['SIM_PORT', 'FACILITATOR_PORT'] as const) : [])];
  const engines = await progress
    .during(
      'the engines',
      startEngines({
        dir,
        data: work === 'again' ? 'wipe' : (options.data ?? 'keep'),
        ports: options.ports ?? 'standard',
        isLight: isLight(options),
        ...(simulated ? { blockSeconds: BLOCK_SECONDS } : {}),
        alsoPorts: settings,
        env,
        log: progress.print,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      }),
    )
    .catch(async (error: unknown) => {
      await past?.stop();
      throw error;
    });
  try {
    // Addresses of an earlier run that was killed; not removed before the folder is known to be ours.
    if (options.endpointsFile !== undefined) rmSync(options.endpointsFile, { force: true });
    past?.begun();
    const endpoints = await startProcesses(prepareStart(options, engines, past));
    if (options.endpointsFile !== undefined) writeEndpoints(options.endpointsFile, endpoints);
    return { endpoints, engines, past: past?.archived ?? null, stop: () => stop(engines) };
  } catch (error) {
    await stop(engines);
    throw error;
  }
}

/** What the pieces of a start share. */
interface Starting {
  readonly options: ServiceOptions;
  readonly engines: Engines;
  readonly past: PastRun | null;
  /** Starts a process and prints that it is ready. */
  readonly begin: (spec: ProcessSpec) => Promise<void>;
}

type Env = Readonly<Record<string, string>>;

function prepareStart(options: ServiceOptions, engines: Engines, past: PastRun | null): Starting {
  const { progress } = options;
  const begin = async (spec: ProcessSpec): Promise<void> => {
    await progress.during(spec.name, engines.supervisor.start(spec));
    progress.print(`${spec.name} is ready`);
  };
  return { options, engines, past, begin };
}

async function startProcesses(starting: Starting): Promise<ServiceEndpoints> {
  const { options, engines, past, begin } = starting;
  const { endpoints, ports, dataDir } = engines;
  const making = ensureDemoKeys(endpoints.database_url ?? '', join(dataDir.path, 'keys.json'));
  const keys = options.progress.during('the demo keys', making);
  // Nothing is written or read for the present before the past is whole.
  const written = past?.write({ brokers: endpoints.kafka ?? '', venues: options.venues });
  const simulating = options.source === 'simulated' ? startSimulator(options, ports, begin) : null;
  const paying = startLocalPayments(engines, { options, begin });
  // Awaited below; a failure meanwhile must not count as unhandled.
  for (const work of [keys, written, simulating, paying]) work?.catch(() => undefined);
  const simulator = await simulating;
  const common = { ...makeCommonEnv(options, endpoints), ...simulator?.env };
  const archive = { ARCHIVE_DIR: join(dataDir.path, 'archive') };
  // Each waits for its own dependencies; they stop in the opposite order of their start.
  const [{ made, anchors, payments, nightly }] = await Promise.all([
    startServing(starting, { ...common, ...archive }, { keys, paying }),
    startFeed(starting, common, written),
  ]);
  // No client of the API waits for it.
  begin(nightly).catch((error: unknown) => options.progress.print(describeError(error)));
  return {
    ...{ ...endpoints, ...anchors, ...payments, ...toAddresses(ports), ...made },
    archive_dir: archive.ARCHIVE_DIR,
    control_url: simulator?.control ?? null,
  };
}

/** The collector and the processors, once the past is `written`. */
async function startFeed({ engines, begin }: Starting, env: Env, written: Promise<void> | undefined): Promise<void> {
  await written;
  await Promise.all([
    begin(makeNodeProcess('ingest', env, engines.ports.INGEST_METRICS_PORT)),
    begin(makeNodeProcess('processors', env, engines.ports.PROCESSORS_METRICS_PORT)),
  ]);
}

/** Begun before the processes that need them. */
interface Underway {
  readonly keys: ReturnType<typeof ensureDemoKeys>;
  readonly paying: ReturnType<typeof startLocalPayments>;
}

/** The API, then the account site and what only its readers need. Two cores: what is not needed before the API serves begins once it does. */
async function startServing({ options, engines, past, begin }: Starting, env: Env, { keys, paying }: Underway) {
  const { endpoints, ports, dataDir } = engines;
  // The account tables are created with the keys, and the API expects them.
  const madeKeys = await keys;
  const payments = await paying;
  const apiEnv = { ...env, ...toPaymentEnv(payments, endpoints.rpc_url) };
  await begin(makeApiProcess(apiEnv, ports));
  // Simulated figures are shown to everybody on this machine, without an account.
  const webEnv = options.source === 'simulated' ? { ...apiEnv, EXPLORER_KEY: madeKeys.pro } : apiEnv;
  const anchoring = ensureLocalAnchors(endpoints, { folder: dataDir.path, env: options.env ?? process.env });
  const [anchors, { accounts, rules }] = await Promise.all([
    options.progress.during('the anchor contract', anchoring),
    ensureAccounts(engines),
    begin(makeWebProcess(webEnv, ports)),
  ]);
  const nightly = makeNightlyProcess({ ...env, ...toAnchorEnv(anchors), RECHECK_KEY: madeKeys.pro_plus }, ports);
  past?.settings(nightly.env ?? {});
  return { made: { keys: madeKeys, accounts, shared_rules: rules }, anchors, payments, nightly };
}

async function ensureAccounts({ endpoints, dataDir }: Engines) {
  const url = endpoints.database_url ?? '';
  const accounts = await ensureDemoAccounts(url, join(dataDir.path, 'accounts.json'));
  return { accounts, rules: await ensureDemoRules(url, toDemoAccountId('pro')) };
}

function toAddresses(ports: Engines['ports']) {
  return {
    base_url: `http://127.0.0.1:${ports.PORT}`,
    mcp_url: makeMcpUrl(ports),
    account_url: makeAccountUrl(ports),
    auth_url: makeAccountUrl(ports),
    metrics_urls: {
      ingest: makeMetricsUrl(ports.INGEST_METRICS_PORT),
      processors: makeMetricsUrl(ports.PROCESSORS_METRICS_PORT),
      api: makeMetricsUrl(ports.API_METRICS_PORT),
      nightly: makeMetricsUrl(ports.NIGHTLY_METRICS_PORT),
      web: makeMetricsUrl(ports.WEB_METRICS_PORT),
    },
  };
}

/** Runs of minutes on a laptop: less memory, and engines that compile less. */
function isLight({ engines, source }: ServiceOptions): boolean {
  return (engines ?? (source === 'simulated' ? 'light' : 'full')) === 'light';
}

/** Settings that every process of ours reads; a process ignores the ones it does not know. */
function makeCommonEnv(options: ServiceOptions, endpoints: EngineEndpoints): Record<string, string> {
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
    // Data that one of them left on disk must never reach the other's topics.
    SPOOL_DIR: resolve(options.dir, 'spool'),
  };
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null);
  return { ...Object.fromEntries(set), ...options.settings };
}

function makeMetricsUrl(port: number): string {
  return `http://127.0.0.1:${port}/metrics`;
}
