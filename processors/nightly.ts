// The nightly runner: stays and does each step of each day when it is due, or one by hand (`npm run nightly`).
import { readFileSync } from 'node:fs';
import { migrate } from '../infra/postgres/migrate.ts';
import { openArchiveStore } from '../infra/runtime/archive-store.ts';
import { type Environment, readConfig } from '../infra/runtime/config.ts';
import { openKafka } from '../infra/runtime/kafka/kafka.ts';
import { kafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { runProcess, type Stop } from '../infra/runtime/lifecycle.ts';
import { createLog } from '../infra/runtime/log.ts';
import { createMetrics, type Registry, serveMetrics } from '../infra/runtime/metrics.ts';
import { openPostgres } from '../infra/runtime/postgres/postgres.ts';
import { openQuestdbReader } from '../infra/runtime/questdb/questdb.ts';
import { isBinding } from '../schemas/anchor-chain.ts';
import { identifyChain } from './nightly/anchor/chain.ts';
import { runCommand, UsageError } from './nightly/command.ts';
import { NIGHTLY_CONFIG } from './nightly/config.ts';
import { readHistoryWatermark } from './nightly/history-watermark.ts';
import { openLedger } from './nightly/ledger.ts';
import { createNightlyMetrics } from './nightly/metrics.ts';
import { startRunner } from './nightly/runner.ts';
import type { NightlyContext } from './nightly/step.ts';
import { STEPS } from './nightly/steps.ts';

const QUERY_MS = 60_000;

type Opened = { readonly context: NightlyContext; readonly close: Stop };

const open = async (
  env: Environment,
  registry: Registry,
  { log, progress }: Pick<NightlyContext, 'log' | 'progress'>,
): Promise<Opened> => {
  const config = readConfig(NIGHTLY_CONFIG, env);
  const database = openPostgres(config.DATABASE_URL, { max: 3 });
  const auth = { user: config.QUESTDB_USER, password: config.QUESTDB_PASSWORD };
  const questdb = openQuestdbReader(config.QUESTDB_PG, { max: 1, timeoutMs: QUERY_MS, auth, log });
  await migrate(database);
  const { BASE_URL: baseUrl, RECHECK_KEY: key, KAFKA_BROKERS: brokers, TOPIC_NAMESPACE: namespace } = config;
  const kafka = brokers === null ? null : openKafka({ brokers, clientId: 'nightly', ...kafkaSecurity(config) }, log);
  const context: NightlyContext = {
    database,
    questdb,
    namespace,
    api: baseUrl === null || key === null ? null : { baseUrl, key },
    store: openArchiveStore(config),
    historyWatermark: async () => {
      if (kafka === null) throw new Error('set KAFKA_BROKERS: how far stored history has come is not known');
      return readHistoryWatermark(kafka, namespace);
    },
    isBinding: async () => {
      if (config.RPC_URL === null) throw new Error('set RPC_URL: the chain that roots are posted on is not known');
      return isBinding(await identifyChain(config.RPC_URL));
    },
    nowMs: Date.now,
    progress,
    metrics: createNightlyMetrics(registry),
    log,
  };
  return {
    context,
    close: async () => {
      await kafka?.close();
      await questdb.close();
      await database.end();
    },
  };
};

const stay = async (): Promise<Stop> => {
  const registry = createMetrics();
  const { context, close } = await open(process.env, registry, {
    log: createLog('nightly'),
    progress: () => undefined,
  });
  const runner = startRunner(STEPS, openLedger(context.database), context);
  const { METRICS_HOST: host, METRICS_PORT: port } = readConfig(NIGHTLY_CONFIG, process.env);
  const server = await serveMetrics(registry, port, { host, unready: runner.problems });
  return async () => {
    await runner.stop();
    await server.close();
    await close();
  };
};

type Endpoints = {
  readonly database_url: string;
  readonly questdb_pg: string;
  readonly questdb_user: string;
  readonly questdb_password: string;
  readonly base_url: string;
  readonly rpc_url: string | null;
  readonly keys: { readonly pro_plus: string };
};

/** Settings of a service that runs on this machine, for what the environment does not say. */
const ofRunningService = (env: Environment): Environment => {
  if (env['DATABASE_URL'] || env['DATABASE_URL_FILE']) return env;
  try {
    const file = env['ENDPOINTS_FILE'] ?? new URL('../.local/endpoints.json', import.meta.url);
    const found = JSON.parse(readFileSync(file, 'utf8')) as Endpoints;
    return {
      DATABASE_URL: found.database_url,
      QUESTDB_PG: found.questdb_pg,
      QUESTDB_USER: found.questdb_user,
      QUESTDB_PASSWORD: found.questdb_password,
      BASE_URL: found.base_url,
      ...(found.rpc_url === null ? {} : { RPC_URL: found.rpc_url }),
      RECHECK_KEY: found.keys.pro_plus,
      ...env,
    };
  } catch {
    throw new UsageError('no database: set DATABASE_URL and QUESTDB_PG, or run `npm run demo` beside this');
  }
};

const byHand = async (argv: readonly string[]): Promise<string> => {
  // A person watches: what the log would say is in the lines of progress.
  const env = { ...ofRunningService(process.env) };
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const { context, close } = await open(env, createMetrics(), { log: createLog('nightly', 'error'), progress: tell });
  try {
    return await runCommand(argv, { steps: STEPS, ledger: openLedger(context.database), context });
  } finally {
    await close();
  }
};

if (process.argv.length <= 2) runProcess('nightly', stay);
else {
  byHand(process.argv.slice(2)).then(
    (text) => process.stdout.write(`${text}\n`),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
