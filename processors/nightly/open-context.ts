// Opens the context of the nightly steps from the settings of an environment.
import { migrate } from '../../infra/postgres/migrate.ts';
import { openArchiveStore } from '../../infra/runtime/files/archive-store.ts';
import { openKafka } from '../../infra/runtime/kafka/kafka.ts';
import { loadKafkaSecurity } from '../../infra/runtime/kafka/settings.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { type Environment, readConfig } from '../../infra/runtime/process/config.ts';
import type { Stop } from '../../infra/runtime/process/lifecycle.ts';
import type { Registry } from '../../infra/runtime/process/metrics.ts';
import { openQuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import { isBinding } from '../../schemas/anchor-chain.ts';
import { NIGHTLY_CONFIG } from './config.ts';
import { readHistoryWatermark } from './history-watermark.ts';
import { createNightlyMetrics } from './metrics.ts';
import type { NightlyContext } from './step.ts';
import { identifyChain } from './steps/anchor/chain.ts';

const QUERY_MS = 60_000;
/** The ledger, a step or its posting, gap incidents, and readiness: each may hold one. */
const CONNECTIONS = 4;

type Opened = { readonly context: NightlyContext; readonly close: Stop };

/** Connects to everything that the steps need; `env` as in the process. */
export const openContext = async (
  env: Environment,
  registry: Registry,
  { log, progress }: Pick<NightlyContext, 'log' | 'progress'>,
): Promise<Opened> => {
  const config = readConfig(NIGHTLY_CONFIG, env);
  const database = openPostgres(config.DATABASE_URL, { max: CONNECTIONS });
  const auth = { user: config.QUESTDB_USER, password: config.QUESTDB_PASSWORD };
  const questdb = openQuestdbReader(config.QUESTDB_PG, { max: 2, timeoutMs: QUERY_MS, auth, log });
  await migrate(database, log);
  const { BASE_URL: baseUrl, RECHECK_KEY: key, KAFKA_BROKERS: brokers, TOPIC_NAMESPACE: namespace } = config;
  const kafka =
    brokers === null ? null : openKafka({ brokers, clientId: 'nightly', security: loadKafkaSecurity(config) }, log);
  const context: NightlyContext = {
    database,
    questdb,
    namespace,
    api: baseUrl === null || key === null ? null : { baseUrl, key },
    store: openArchiveStore(config),
    historyWatermark: async () => {
      if (kafka === null) throw new Error('set KAFKA_BROKERS: the watermark of stored history is not known');
      return readHistoryWatermark(kafka, { namespace, venues: config.VENUES });
    },
    isBinding: async () => {
      if (config.RPC_URL === null) throw new Error('set RPC_URL: the chain that roots are posted on is not known');
      return isBinding(await identifyChain(config.RPC_URL));
    },
    anchors: { rpcUrl: config.RPC_URL, contract: config.ANCHOR_CONTRACT, ownerKey: config.ANCHOR_OWNER_KEY },
    reached: (place) => log.debug({ place }, 'nightly step got so far'),
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
