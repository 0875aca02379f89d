// The API process: reads its settings, follows the live state, opens the store of keys, listens. It starts while PostgreSQL is unavailable.
import { prepareDatabase } from '../infra/postgres/prepare-database.ts';
import { openArchiveStore } from '../infra/runtime/files/archive-store.ts';
import type { ObjectStore } from '../infra/runtime/files/object-store.ts';
import { countForeignRecords, openKafka } from '../infra/runtime/kafka/kafka.ts';
import { loadKafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { listenOn } from '../infra/runtime/network/listen.ts';
import { watchReachable } from '../infra/runtime/network/reachable.ts';
import { guardAway } from '../infra/runtime/postgres/away.ts';
import { listenPostgres } from '../infra/runtime/postgres/listener.ts';
import { ANSWER_MS, canWrite, openPostgres } from '../infra/runtime/postgres/postgres.ts';
import { ConfigError, readConfig } from '../infra/runtime/process/config.ts';
import { runProcess, type Stop } from '../infra/runtime/process/lifecycle.ts';
import { createLog, type Logger } from '../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/process/metrics.ts';
import { meterSteps } from '../infra/runtime/process/steps.ts';
import { openQuestdbReader, type QuestdbReader } from '../infra/runtime/questdb/reader.ts';
import { createClock } from '../infra/runtime/time/clock.ts';
import { MICROS_PER_MS } from '../schemas/instants.ts';
import { openAccountStore } from './access/account-store.ts';
import { KEYS_CHANNEL, openKeyStore } from './access/key-store.ts';
import { keepSettled, Meter } from './access/meter.ts';
import { createSharedPermits } from './access/permits.ts';
import { createSharedPlaces, PLACES_CHANNEL } from './access/place-store.ts';
import { Places } from './access/places.ts';
import { createScopeChooser } from './access/scope.ts';
import { keepTurnover, TURNOVER_CHANNEL } from './access/turnover-store.ts';
import { keepSiteKey } from './accounts/site-keys.ts';
import { openAnchors } from './anchors/anchors.ts';
import { openClosedDays } from './anchors/closed-days.ts';
import { openManifest } from './archive/manifest.ts';
import { API_CONFIG } from './config.ts';
import { ARCHIVE_AWAY } from './contract/archive.ts';
import { createApiMetrics } from './data-app/api-metrics.ts';
import { buildApp } from './data-app/build-app.ts';
import { findUnready } from './data-app/operational.ts';
import { VERIFY_PATH } from './data-app/verify-docs.ts';
import { keepLinkSecret, openFileLinks } from './files/links.ts';
import { keepSettledSample } from './history/settled-sample.ts';
import { createHistoryStore } from './history/store.ts';
import { createAnswerClock, watchLead } from './live/answer-clock.ts';
import { followLive } from './live/follow.ts';
import { LiveMemory } from './live/memory.ts';
import { readPaymentSettings } from './payments/payment-config.ts';
import { startPayments } from './payments/payments.ts';
import { openReceipts } from './payments/receipts.ts';
import { MOVES_CHANNEL, RULES_CHANNEL, type Rules, startRules } from './rules/rules.ts';
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

/** What every part of the process uses. */
const openBase = () => {
  const config = readConfig(API_CONFIG, process.env);
  const log = createLog('api');
  const kafka = openKafka({ brokers: config.KAFKA_BROKERS, clientId: 'api', security: loadKafkaSecurity(config) }, log);
  const pool = openPostgres(config.DATABASE_URL, { answerMs: ANSWER_MS });
  const stop = async (): Promise<void> => {
    stopWatch();
    await kafka.close();
    await pool.end();
  };
  const live = new LiveMemory(config.VENUES);
  const clocks = { ownMicros: createClock().nowMicros, wallMicros: () => Date.now() * MICROS_PER_MS };
  const nowMicros = createAnswerClock(live, clocks);
  const stopWatch = watchLead(live, { ...clocks, nowMicros }, (lead) => {
    log.fatal(
      { lead_ms: lead / MICROS_PER_MS },
      'the clock here is ahead of the wall and the log: a new process begins with theirs',
    );
    process.exit(1);
  });
  const baseUrl = config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`;
  const registry = createMetrics();
  countForeignRecords(registry, kafka.foreign);
  return { config, log, nowMicros, kafka, pool, live, baseUrl, registry, stop };
};
type Base = ReturnType<typeof openBase>;

/** Keys, and the meter of their calls. */
const openAccess = ({ pool }: Base) => {
  const keys = openKeyStore(pool);
  const places = new Places(createSharedPlaces(pool));
  return { keys, places, meter: new Meter(createSharedPermits(pool), places) };
};
type Access = ReturnType<typeof openAccess>;

/** The turnover that narrowing plans choose by, and the tables of the database, which are created meanwhile when it is away. */
const openTurnover = async ({ pool, live, nowMicros, log }: Base) => {
  const database = await prepareDatabase(pool, log);
  const turnover = keepTurnover({ pool, live, nowMicros, log });
  const refresh = (): Promise<void> => turnover.refresh().catch(() => undefined);
  // A started node chooses at once as the others do.
  if (database.isReady()) await refresh();
  const stop = async (): Promise<void> => {
    await turnover.stop();
    await database.stop();
  };
  return { current: turnover.current, refresh, isDatabaseReady: database.isReady, stop };
};
type TurnoverPart = Awaited<ReturnType<typeof openTurnover>>;

/** Stored history; null without QuestDB. */
const openHistory = ({ config, log }: Base) => {
  const questdb = openQuestdb(config, log);
  // Apart from the answers': while they use every connection the store is busy, not away.
  const probe = openQuestdb(config, log, 1);
  const history =
    questdb === null || probe === null ? null : createHistoryStore(questdb, config.TOPIC_NAMESPACE, probe);
  const stop = async (): Promise<void> => {
    await questdb?.close();
    await probe?.close();
  };
  return { questdb, history, stop };
};
type HistoryPart = ReturnType<typeof openHistory>;

const openRules = (base: Base, { history }: HistoryPart, { current }: TurnoverPart): Rules => {
  const { config, pool, live, nowMicros, registry, log } = base;
  const choose = createScopeChooser(live, current);
  return startRules({ pool, live, history, choose, nowMicros, registry, allowsLoopback: readLoopback(config), log });
};

/** What other nodes and the account site change in the database. */
const watchNotices = (
  { config, log }: Base,
  { keys, places }: Access,
  { rules, turnover }: { readonly rules: Rules; readonly turnover: TurnoverPart },
) =>
  listenPostgres({
    url: config.DATABASE_URL,
    channels: {
      [KEYS_CHANNEL]: keys.forget,
      [PLACES_CHANNEL]: (name) => void places.giveBackIdle(name),
      [TURNOVER_CHANNEL]: () => void turnover.refresh(),
      [RULES_CHANNEL]: rules.noteChange,
      [MOVES_CHANNEL]: rules.noteMove,
    },
    onListening: () => {
      keys.forgetAll();
      rules.noteAll();
    },
    log,
  });

/** Settles counted calls, and samples settled answers for the nightly check. */
const openSettlement = ({ pool, log }: Base, { meter }: Access) => {
  const stopSettling = keepSettled(meter, log);
  const sample = keepSettledSample(pool, log);
  const stop = async (): Promise<void> => {
    await stopSettling();
    await sample.stop();
  };
  return { sample, stop };
};

/** The archive, and links to its files. */
const openFiles = ({ config, pool, baseUrl }: Base) => {
  const store = openArchiveStore(config);
  const secret = keepLinkSecret(guardAway(pool, 'Links to files cannot be made now.'));
  return { store, links: openFileLinks(store, secret, baseUrl) };
};

/** Follows the live state, and the hub of the streams over it. */
const openStreams = ({ config, kafka, live, nowMicros, registry, log }: Base) => {
  const meterStep = meterSteps(registry);
  // Observers of applied entries exist before the copy is filled.
  const hub = new StreamHub({ live, nowMicros, meterStep });
  const stop = followLive({
    kafka,
    memory: live,
    venues: config.VENUES,
    namespace: config.TOPIC_NAMESPACE,
    nowMicros,
    meterStep,
    log,
  });
  return { hub, stop };
};

const openMetrics = async (
  { config, registry, live, nowMicros }: Base,
  { meter }: Access,
  { notices, stores }: { readonly notices: ReturnType<typeof watchNotices>; readonly stores: WatchedStores },
) => {
  const server = await serveMetrics(registry, config.METRICS_PORT, {
    host: config.METRICS_HOST,
    unready: () => findUnready({ live, nowMicros, ...stores }),
  });
  const metrics = createApiMetrics(registry, live, nowMicros);
  metrics.watchNotices(notices);
  metrics.watchMeter(meter);
  return { metrics, stop: () => server.close() };
};

/** What answers read from the stores; each refuses in its own words while its store is away. */
const openRecords = ({ config, pool, baseUrl, log }: Base, { questdb }: HistoryPart, store: ObjectStore) => ({
  accounts: openAccountStore(guardAway(pool, 'The account cannot be read now.')),
  manifest: openManifest(guardAway(pool, ARCHIVE_AWAY)),
  anchors: openAnchors(
    {
      days: openClosedDays(guardAway(pool, 'Anchored days cannot be read now.')),
      store,
      stored: questdb === null ? null : { questdb, namespace: config.TOPIC_NAMESPACE },
    },
    { verifyUrl: `${baseUrl}${VERIFY_PATH}` },
  ),
  receipts: openReceipts(pool),
  statusStore: openStatusStore(pool, log),
});

/** Whether the stores respond, for /readyz. */
const watchStores = ({ pool }: Base, { isDatabaseReady }: TurnoverPart, { history }: HistoryPart) => ({
  areKeysReachable: watchReachable(async () => (await canWrite(pool)) && isDatabaseReady()),
  ...(history === null ? {} : { isHistoryReachable: history.isReachable }),
});

type WatchedStores = ReturnType<typeof watchStores>;

type Closing = { readonly close: () => Promise<unknown> };

/** Five seconds each at most. Calls of tools are calls of the data API: it ends last. Messages to receivers may take ten, so they end meanwhile. */
const endApps = async (tools: Closing | null, app: Closing): Promise<void> => {
  await tools?.close();
  await app.close();
};

const start = async (): Promise<Stop> => {
  const base = openBase();
  const { config, log, nowMicros, pool, live, registry, baseUrl } = base;
  const access = openAccess(base);
  const { keys, meter } = access;
  const turnover = await openTurnover(base);
  const stored = openHistory(base);
  const rules = openRules(base, stored, turnover);
  const notices = watchNotices(base, access, { rules, turnover });
  const settlement = openSettlement(base, access);
  const files = openFiles(base);
  const streams = openStreams(base);
  const stores = watchStores(base, turnover, stored);
  const metered = await openMetrics(base, access, { notices, stores });
  const payments = await startPayments({ ...readPaymentSettings(config), baseUrl }, { pool, registry, log });
  const app = await buildApp({
    live,
    hub: streams.hub,
    turnover: turnover.current,
    ...(stored.history === null ? {} : { history: stored.history }),
    nowMicros,
    keys,
    settledSample: settlement.sample,
    files: files.links,
    ...openRecords(base, stored, files.store),
    meter,
    payments: payments.checks,
    rules: rules.desk,
    moves: rules.moves,
    baseUrl,
    trustedProxies: config.TRUSTED_PROXIES,
    ...(config.ACCOUNT_URL === null ? {} : { accountUrl: config.ACCOUNT_URL.replace(/\/$/, '') }),
    ...stores,
    metrics: metered.metrics,
    simulated: config.SIMULATED,
    log,
  });
  await listenOn(app, { host: ['HOST', config.HOST], port: ['PORT', config.PORT] });
  const secret = keepSiteKey(pool, 'internal', config.INTERNAL_SECRET);
  const tools = await startTools(config, app.listeningOrigin, { keys, secret, log });
  log.info({ base_url: config.BASE_URL, venues: config.VENUES, simulated: config.SIMULATED }, 'listening');
  return async () => {
    await Promise.all([endApps(tools, app), rules.stop()]);
    const parts = [payments, settlement, notices, turnover, streams, metered, stored, base];
    for (const part of parts) await part.stop();
  };
};

runProcess('api', start);
