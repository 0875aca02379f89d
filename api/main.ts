// The API process: reads its settings, follows the live state, opens the store of keys, listens.

import { migrate } from '../infra/postgres/migrate.ts';
import { openArchiveStore } from '../infra/runtime/archive-store.ts';
import { createClock } from '../infra/runtime/clock.ts';
import { readConfig } from '../infra/runtime/config.ts';
import { openKafka } from '../infra/runtime/kafka/kafka.ts';
import { kafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { runProcess, type Stop } from '../infra/runtime/lifecycle.ts';
import { createLog, type Logger } from '../infra/runtime/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/metrics.ts';
import { listenPostgres } from '../infra/runtime/postgres/listener.ts';
import { openPostgres } from '../infra/runtime/postgres/postgres.ts';
import { openQuestdbReader, type QuestdbReader } from '../infra/runtime/questdb/questdb.ts';
import { openAccountStore } from './access/account-store.ts';
import { ChallengeMeter, type PaymentTerms } from './access/challenge.ts';
import { KEYS_CHANNEL, openKeyStore } from './access/key-store.ts';
import { keepSettled, Meter } from './access/meter.ts';
import { sharedPermits } from './access/permits.ts';
import { PLACES_CHANNEL, sharedPlaces } from './access/place-store.ts';
import { Places } from './access/places.ts';
import { keepTurnover, TURNOVER_CHANNEL } from './access/turnover-store.ts';
import { openManifest } from './archive/manifest.ts';
import { API_CONFIG } from './config.ts';
import { createApiMetrics } from './data-app/api-metrics.ts';
import { buildApp } from './data-app/build-app.ts';
import { openFileLinks, readLinkSecret } from './files/links.ts';
import { keepSettledSample } from './history/settled-sample.ts';
import { createHistoryStore } from './history/store.ts';
import { followLive } from './live/follow.ts';
import { LiveMemory } from './live/memory.ts';

/** Account 1 of every anvil: in simulated runs calls are paid on the local chain, where this account is ours. */
const SIMULATED_RECEIVER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

type Settings = ReturnType<typeof readConfig<typeof API_CONFIG>>;

const termsOf = (config: Settings): PaymentTerms => ({
  network: config.PAYMENT_NETWORK,
  asset: config.PAYMENT_ASSET,
  payTo: config.PAYMENT_PAY_TO ?? (config.SIMULATED ? SIMULATED_RECEIVER : null),
  token: { name: config.PAYMENT_TOKEN_NAME, version: config.PAYMENT_TOKEN_VERSION },
});

/** A history answer asks three statements at a time; more connections would not read faster. */
const QUESTDB_CONNECTIONS = 6;
const QUESTDB_TIMEOUT_MS = 10_000;

const openQuestdb = (config: Settings, log: Logger): QuestdbReader | null => {
  const { QUESTDB_PG: url, QUESTDB_USER: user, QUESTDB_PASSWORD: password } = config;
  if (url === null) return null;
  return openQuestdbReader(url, {
    max: QUESTDB_CONNECTIONS,
    timeoutMs: QUESTDB_TIMEOUT_MS,
    auth: { user, password },
    log,
  });
};

const listenOn = async (
  app: Awaited<ReturnType<typeof buildApp>>,
  { HOST: host, PORT: port }: Settings,
): Promise<void> => {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'EADDRINUSE') throw new Error(`port ${port} of PORT is taken`, { cause: error });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Error(`${host} of HOST is no address of this machine`, { cause: error });
    throw error;
  }
};

const start = async (): Promise<Stop> => {
  const config = readConfig(API_CONFIG, process.env);
  const log = createLog('api');
  const { nowMicros } = createClock();
  const kafka = openKafka({ brokers: config.KAFKA_BROKERS, clientId: 'api', security: kafkaSecurity(config) }, log);
  const pool = openPostgres(config.DATABASE_URL);
  await migrate(pool);
  const keys = openKeyStore(pool);
  const places = new Places(sharedPlaces(pool));
  const meter = new Meter(sharedPermits(pool), places);
  const live = new LiveMemory(config.VENUES);
  const turnover = keepTurnover({ pool, live, nowMicros, log });
  // A started node chooses at once as the others do.
  await turnover.refresh();
  const notices = listenPostgres({
    url: config.DATABASE_URL,
    channels: {
      [KEYS_CHANNEL]: keys.forget,
      [PLACES_CHANNEL]: (name) => void places.giveBackIdle(name),
      [TURNOVER_CHANNEL]: () => void turnover.refresh().catch(() => undefined),
    },
    onListening: keys.forgetAll,
    log,
  });
  const stopSettling = keepSettled(meter, log);
  const questdb = openQuestdb(config, log);
  const settledSample = keepSettledSample(pool, log);
  const baseUrl = config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`;
  const files = openFileLinks(openArchiveStore(config), await readLinkSecret(pool), baseUrl);
  const stopFollowing = followLive({
    kafka,
    memory: live,
    venues: config.VENUES,
    namespace: config.TOPIC_NAMESPACE,
    nowMicros,
    log,
  });
  const registry = createMetrics();
  const metricsServer = await serveMetrics(registry, config.METRICS_PORT, { host: config.METRICS_HOST });
  const metrics = createApiMetrics(registry, live, nowMicros);
  metrics.watchNotices(notices);
  metrics.watchMeter(meter);
  const app = await buildApp({
    live,
    turnover: turnover.current,
    ...(questdb === null ? {} : { history: createHistoryStore(questdb, config.TOPIC_NAMESPACE) }),
    nowMicros,
    keys,
    accounts: openAccountStore(pool),
    settledSample,
    files,
    manifest: openManifest(pool),
    meter,
    challenges: new ChallengeMeter(),
    terms: termsOf(config),
    baseUrl,
    areKeysReachable: () =>
      pool.query('select 1').then(
        () => true,
        () => false,
      ),
    metrics,
    simulated: config.SIMULATED,
    log,
  });
  await listenOn(app, config);
  log.info({ base_url: config.BASE_URL, venues: config.VENUES, simulated: config.SIMULATED }, 'listening');
  return async () => {
    await app.close();
    await stopSettling();
    await settledSample.stop();
    await notices.stop();
    await turnover.stop();
    await stopFollowing();
    await metricsServer.close();
    await questdb?.close();
    await kafka.close();
    await pool.end();
  };
};

runProcess('api', start);
