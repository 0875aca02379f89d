// The API process: reads its settings, follows the live state, opens the store of keys, listens. It starts while PostgreSQL is unavailable.
import { prepareDatabase } from '../infra/postgres/prepare-database.ts';
import { openArchiveStore } from '../infra/runtime/archive-store.ts';
import { createClock } from '../infra/runtime/clock.ts';
import { ConfigError, readConfig } from '../infra/runtime/config.ts';
import { openKafka } from '../infra/runtime/kafka/kafka.ts';
import { kafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { runProcess, type Stop } from '../infra/runtime/lifecycle.ts';
import { listenOn } from '../infra/runtime/listen.ts';
import { createLog, type Logger } from '../infra/runtime/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/metrics.ts';
import { answering } from '../infra/runtime/postgres/away.ts';
import { listenPostgres } from '../infra/runtime/postgres/listener.ts';
import { openPostgres } from '../infra/runtime/postgres/postgres.ts';
import { openQuestdbReader, type QuestdbReader } from '../infra/runtime/questdb/questdb.ts';
import { watchReachable } from '../infra/runtime/reachable.ts';
import { meterSteps } from '../infra/runtime/steps.ts';
import { openAccountStore } from './access/account-store.ts';
import { KEYS_CHANNEL, openKeyStore } from './access/key-store.ts';
import { keepSettled, Meter } from './access/meter.ts';
import { sharedPermits } from './access/permits.ts';
import { PLACES_CHANNEL, sharedPlaces } from './access/place-store.ts';
import { Places } from './access/places.ts';
import { scopeChooser } from './access/scope.ts';
import { keepTurnover, TURNOVER_CHANNEL } from './access/turnover-store.ts';
import { keepSiteKey } from './accounts/site-keys.ts';
import { openAnchors } from './anchors/anchors.ts';
import { openClosedDays } from './anchors/closed-days.ts';
import { openManifest } from './archive/manifest.ts';
import { API_CONFIG } from './config.ts';
import { createApiMetrics } from './data-app/api-metrics.ts';
import { buildApp } from './data-app/build-app.ts';
import { VERIFY_PATH } from './data-app/verify-docs.ts';
import { keepLinkSecret, openFileLinks } from './files/links.ts';
import { keepSettledSample } from './history/settled-sample.ts';
import { createHistoryStore } from './history/store.ts';
import { followLive } from './live/follow.ts';
import { LiveMemory } from './live/memory.ts';
import { readPaymentSettings } from './payments/payment-config.ts';
import { startPayments } from './payments/payments.ts';
import { openReceipts } from './payments/receipts.ts';
import { MOVES_CHANNEL, RULES_CHANNEL, startRules } from './rules/rules.ts';
import { openStatusStore } from './status/status-store.ts';
import { StreamHub } from './stream/hub.ts';
import { startTools } from './tool-app/tool-config.ts';

type Settings = ReturnType<typeof readConfig<typeof API_CONFIG>>;

const readLoopback = ({ WEBHOOKS_LOOPBACK: allows, SIMULATED: isSimulated }: Settings): boolean => {
  if (allows && !isSimulated)
    throw new ConfigError(['WEBHOOKS_LOOPBACK is for simulated runs only: set SIMULATED too']);
  return allows;
};

/** A history answer sends three statements at a time; more connections would not read faster. */
const QUESTDB_CONNECTIONS = 6;
const QUESTDB_TIMEOUT_MS = 10_000;

const openQuestdb = (config: Settings, log: Logger, max = QUESTDB_CONNECTIONS): QuestdbReader | null => {
  const { QUESTDB_PG: url, QUESTDB_USER: user, QUESTDB_PASSWORD: password } = config;
  if (url === null) return null;
  return openQuestdbReader(url, {
    max,
    timeoutMs: QUESTDB_TIMEOUT_MS,
    auth: { user, password },
    log,
  });
};

const start = async (): Promise<Stop> => {
  const config = readConfig(API_CONFIG, process.env);
  const log = createLog('api');
  const { nowMicros } = createClock();
  const kafka = openKafka({ brokers: config.KAFKA_BROKERS, clientId: 'api', security: kafkaSecurity(config) }, log);
  const pool = openPostgres(config.DATABASE_URL);
  const keys = openKeyStore(pool);
  const places = new Places(sharedPlaces(pool));
  const meter = new Meter(sharedPermits(pool), places);
  const live = new LiveMemory(config.VENUES);
  const database = await prepareDatabase(pool, log);
  const turnover = keepTurnover({ pool, live, nowMicros, log });
  const refreshTurnover = (): Promise<void> => turnover.refresh().catch(() => undefined);
  // A started node chooses at once as the others do.
  if (database.isReady()) await refreshTurnover();
  const questdb = openQuestdb(config, log);
  // Apart from the answers': while they use every connection the store is busy, not away.
  const probe = openQuestdb(config, log, 1);
  const history = questdb === null ? null : createHistoryStore(questdb, config.TOPIC_NAMESPACE);
  const registry = createMetrics();
  const choose = scopeChooser(live, turnover.current);
  const rules = startRules({
    pool,
    live,
    history,
    choose,
    nowMicros,
    registry,
    allowsLoopback: readLoopback(config),
    log,
  });
  const notices = listenPostgres({
    url: config.DATABASE_URL,
    channels: {
      [KEYS_CHANNEL]: keys.forget,
      [PLACES_CHANNEL]: (name) => void places.giveBackIdle(name),
      [TURNOVER_CHANNEL]: () => void refreshTurnover(),
      [RULES_CHANNEL]: rules.noteChange,
      [MOVES_CHANNEL]: rules.noteMove,
    },
    onListening: () => {
      keys.forgetAll();
      rules.noteAll();
    },
    log,
  });
  const stopSettling = keepSettled(meter, log);
  const settledSample = keepSettledSample(pool, log);
  const baseUrl = config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`;
  const store = openArchiveStore(config);
  const files = openFileLinks(store, keepLinkSecret(answering(pool, 'Links to files cannot be made now.')), baseUrl);
  const meterStep = meterSteps(registry);
  // Observers of applied entries exist before the copy is filled.
  const hub = new StreamHub({ live, nowMicros, meterStep });
  const stopFollowing = followLive({
    kafka,
    memory: live,
    venues: config.VENUES,
    namespace: config.TOPIC_NAMESPACE,
    nowMicros,
    meterStep,
    log,
  });
  const metricsServer = await serveMetrics(registry, config.METRICS_PORT, { host: config.METRICS_HOST });
  const metrics = createApiMetrics(registry, live, nowMicros);
  metrics.watchNotices(notices);
  metrics.watchMeter(meter);
  const payments = startPayments({ ...readPaymentSettings(config), baseUrl }, { pool, registry, log });
  const app = await buildApp({
    live,
    hub,
    turnover: turnover.current,
    ...(history === null ? {} : { history }),
    nowMicros,
    keys,
    accounts: openAccountStore(answering(pool, 'The account cannot be read now.')),
    settledSample,
    files,
    manifest: openManifest(answering(pool, 'The archive cannot be read now.')),
    anchors: openAnchors(
      {
        days: openClosedDays(answering(pool, 'Anchored days cannot be read now.')),
        store,
        stored: questdb === null ? null : { questdb, namespace: config.TOPIC_NAMESPACE },
      },
      `${baseUrl}${VERIFY_PATH}`,
    ),
    meter,
    payments: payments.checks,
    receipts: openReceipts(pool),
    statusStore: openStatusStore(pool, log),
    rules: rules.desk,
    moves: rules.moves,
    baseUrl,
    trustedProxies: config.TRUSTED_PROXIES,
    ...(config.ACCOUNT_URL === null ? {} : { accountUrl: config.ACCOUNT_URL.replace(/\/$/, '') }),
    areKeysReachable: watchReachable(async () => {
      await pool.query('select 1');
      return database.isReady();
    }),
    ...(probe === null ? {} : { isHistoryReachable: watchReachable(() => probe.ping().then(() => true)) }),
    metrics,
    simulated: config.SIMULATED,
    log,
  });
  await listenOn(app, config.HOST, ['PORT', config.PORT]);
  const secret = keepSiteKey(pool, 'internal', config.INTERNAL_SECRET);
  const tools = await startTools(config, app.listeningOrigin, { keys, secret, log });
  log.info({ base_url: config.BASE_URL, venues: config.VENUES, simulated: config.SIMULATED }, 'listening');
  return async () => {
    await tools?.close();
    await app.close();
    await rules.stop();
    await payments.stop();
    await stopSettling();
    await settledSample.stop();
    await notices.stop();
    await turnover.stop();
    await database.stop();
    await stopFollowing();
    await metricsServer.close();
    await questdb?.close();
    await probe?.close();
    await kafka.close();
    await pool.end();
  };
};

runProcess('api', start);
