// The processors' process: tasks over raw partitions, and the sink into QuestDB. Reads its configuration, starts, stops.
import { countForeignRecords, ensureTopics, type KafkaHandle, openKafka } from '../infra/runtime/kafka/kafka.ts';
import { loadKafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { listTopicSpecs } from '../infra/runtime/kafka/topics.ts';
import { type Config, readConfig } from '../infra/runtime/process/config.ts';
import { countBuffersAsHeap } from '../infra/runtime/process/heap.ts';
import { runProcess, type Stop } from '../infra/runtime/process/lifecycle.ts';
import { createLog, type Logger } from '../infra/runtime/process/log.ts';
import { createMetrics, type Registry, serveMetrics } from '../infra/runtime/process/metrics.ts';
import { openQuestdbReader, type QuestdbReader } from '../infra/runtime/questdb/reader.ts';
import { createRowSender, type RowSender } from '../infra/runtime/questdb/row-sender.ts';
import type { MappedVenue } from '../ingest/venues/contract/mapping.ts';
import { mappedVenues } from '../ingest/venues/index.ts';
import { isReplay } from '../schemas/topics.ts';
import { PROCESSORS_CONFIG } from './config.ts';
import { createProcessorMetrics } from './metrics.ts';
import { restoreTopics } from './restore-topics.ts';
import { startTasks } from './runner/tasks.ts';
import { createSinkMetrics } from './sinks/metrics.ts';
import { startSink } from './sinks/sink.ts';

countBuffersAsHeap();

type Settings = Config<typeof PROCESSORS_CONFIG>;
type Parts = {
  readonly config: Settings;
  readonly handle: KafkaHandle;
  readonly registry: Registry;
  readonly log: Logger;
};
type Store = { readonly reader: QuestdbReader; readonly sender: RowSender };

const findVenue = (id: string): MappedVenue => {
  const venue = mappedVenues.get(id);
  if (!venue) throw new Error(`unknown venue "${id}" in VENUES; known: ${[...mappedVenues.keys()].join(', ')}`);
  return venue;
};

/** QuestDB; null when this process does not write. */
const openStore = (config: Settings, log: Logger): Store | null => {
  const { QUESTDB_HTTP: http, QUESTDB_PG: pg } = config;
  if (!config.SINK) return null;
  if (http === null || pg === null) throw new Error('SINK is on: set QUESTDB_HTTP and QUESTDB_PG, or SINK=false');
  const auth = { user: config.QUESTDB_USER, password: config.QUESTDB_PASSWORD };
  const reader = openQuestdbReader(pg, { max: 1, timeoutMs: 15_000, auth, log });
  return { reader, sender: createRowSender(http, { auth, log }) };
};

/** The sink; its end closes QuestDB. */
const openSink = async ({ config, handle, registry, log }: Parts, { reader, sender }: Store) => {
  const sink = await startSink({
    handle,
    sender,
    reader,
    venues: config.VENUES,
    namespace: config.TOPIC_NAMESPACE,
    groupId: `${config.TOPIC_NAMESPACE}${config.PROCESSOR_GROUP}.sink`,
    replacesPredecessor: config.PROCESSOR_ID !== null,
    metrics: createSinkMetrics(registry),
    log,
  });
  const stop = async (): Promise<void> => {
    await sink.stop();
    await sender.close();
    await reader.close();
  };
  return { problem: sink.problem, stop };
};

const start = async (): Promise<Stop> => {
  const config = readConfig(PROCESSORS_CONFIG, process.env);
  const log = createLog('processors');
  const registry = createMetrics();
  const handle = openKafka(
    {
      brokers: config.KAFKA_BROKERS,
      clientId: config.PROCESSOR_ID ?? 'processors',
      security: loadKafkaSecurity(config),
    },
    log,
  );
  countForeignRecords(registry, handle.foreign);
  const known = config.VENUES.map(findVenue);
  const { TOPIC_NAMESPACE: namespace, SHARDS: shards, KAFKA_REPLICATION: replication } = config;
  const replay = isReplay(namespace);
  const topics = listTopicSpecs({ venues: config.VENUES, shards, namespace, replication, replay });
  const store = openStore(config, log);
  if (store !== null && !replay)
    await restoreTopics({ ...store, handle, venues: known, shards, namespace, topics, log });
  await ensureTopics(handle, topics);
  const [sink, tasks] = await Promise.all([
    store === null ? null : openSink({ config, handle, registry, log }, store),
    startTasks({
      handle,
      venues: known,
      namespace,
      groupId: `${namespace}${config.PROCESSOR_GROUP}`,
      ticks: config.OWNER_TICKS,
      replacesPredecessor: config.PROCESSOR_ID !== null,
      leastPresent: config.PRESENT_ALARM_PERCENT / 100,
      metrics: createProcessorMetrics(registry),
      log,
    }),
  ]);
  const unready = (): readonly string[] => {
    const waiting = sink?.problem() ?? null;
    return waiting === null ? tasks.problems() : [...tasks.problems(), `rows wait for QuestDB: ${waiting}`];
  };
  const server = await serveMetrics(registry, config.METRICS_PORT, { host: config.METRICS_HOST, unready });
  return async () => {
    await tasks.stop();
    await sink?.stop();
    await server.close();
    await handle.close();
  };
};

runProcess('processors', start);
