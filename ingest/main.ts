// The collector process: writes the messages of each venue of VENUES to the raw topic until it is stopped.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createPublisher, type KafkaHandle, openKafka } from '../infra/runtime/kafka/kafka.ts';
import { loadKafkaSecurity } from '../infra/runtime/kafka/settings.ts';
import { listRawTopicSpecs } from '../infra/runtime/kafka/topics.ts';
import { type Environment, hideSecrets } from '../infra/runtime/process/config.ts';
import { failProcess } from '../infra/runtime/process/fail-process.ts';
import { countBuffersAsHeap } from '../infra/runtime/process/heap.ts';
import { runProcess, type Stop } from '../infra/runtime/process/lifecycle.ts';
import { createLog, type Logger } from '../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/process/metrics.ts';
import { createClock } from '../infra/runtime/time/clock.ts';
import { codecs } from '../schemas/avro/codec.ts';
import type { Micros } from '../schemas/records.ts';
import { ALARM_MS, CLOSE_MS, guardClock } from './clock-guard.ts';
import { INGEST_CONFIG, readSettings, type Settings } from './config.ts';
import { type Collector, startCollector } from './feed/collector.ts';
import { createMeters, type Meters } from './feed/meters.ts';
import { makeTopics } from './make-topics.ts';
import { registerOutletMeters } from './outlet/meters.ts';
import { Outlet, type OutletState } from './outlet/outlet.ts';
import { createRawWriter } from './outlet/raw-writer.ts';
import { Spool } from './outlet/spool.ts';

countBuffersAsHeap();

const CLOCK_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 250;
/** A start waits this long for Kafka, then collects to disk. */
const FIRST_WAIT_MS = 5_000;

export const startIngest = async (env: Environment): Promise<Stop> => {
  const settings = readSettings(env);
  const { config } = settings;
  const log = createLog('ingest');
  log.info({ config: hideSecrets(INGEST_CONFIG, config) }, 'configured');
  const { nowMicros } = createClock();
  const over = new AbortController();
  const { handle, spool, outlet } = await openOutlet(settings, log, over.signal);
  const registry = createMetrics();
  const meters = createMeters(registry);
  registerOutletMeters(registry, { outlet, spool });
  const collecting = collectWhile(
    () => outlet.state().refusal,
    () => startCollectors(settings, { outlet, meters, nowMicros, log }),
  );

  let offsetMs = 0;
  /** A wrong `received_at` is worse than none: the connections end, and a new process starts with a new clock. */
  const onOffset = (found: number): void => {
    offsetMs = found;
    meters.clockOffset(offsetMs / 1_000);
    if (Math.abs(offsetMs) > ALARM_MS) log.error({ offset_ms: offsetMs }, "collector's and broker's clocks differ");
    if (Math.abs(offsetMs) <= CLOSE_MS) return;
    guard.stop();
    collecting.stop();
    void outlet.close().finally(() => failProcess(new Error(`the clock is ${offsetMs} ms off the broker's`)));
  };
  const guard = startGuard(settings, { handle, nowMicros, onOffset });

  const server = await serveMetrics(registry, config.METRICS_PORT, {
    host: config.METRICS_HOST,
    // A restart repairs neither Kafka nor the disk. An unreachable venue is reported by the API as the venue's state.
    unready: () => listUnreadyReasons(outlet.state(), spool.bytes(), offsetMs),
  });
  log.info({ port: server.port }, 'metrics');

  return async () => {
    guard.stop();
    collecting.stop();
    over.abort();
    await outlet.close();
    await guard.close();
    await handle.close();
    await server.close();
  };
};

/** A collector whose messages Kafka has not acknowledged for longer than this works below capacity. */
const FIRST_WORRY_MS = 1_500;

/** Reasons why the collector works below capacity, as text; empty when it works fully. */
const listUnreadyReasons = (state: OutletState, spoolBytes: number, clockOffsetMs: number): readonly string[] => {
  const reasons: string[] = [];
  if (state.behindMs > FIRST_WORRY_MS) {
    const behind = `Kafka lacks messages of the last ${(state.behindMs / 1_000).toFixed(1)} s`;
    reasons.push(`${behind}: ${state.queuedBytes} bytes in memory, ${spoolBytes} in the spool`);
  }
  if (state.refusal !== null) reasons.push(`connections are ended: ${state.refusal}`);
  if (Math.abs(clockOffsetMs) > ALARM_MS)
    reasons.push(`the clock is ${Math.round(clockOffsetMs)} ms ahead of the broker's`);
  return reasons;
};

/** Waits for Kafka at most `FIRST_WAIT_MS`: messages received before Kafka answers go to the spool. */
const openOutlet = async ({ config, collector }: Settings, log: Logger, over: AbortSignal) => {
  const { SHARDS: shards, TOPIC_NAMESPACE: namespace, KAFKA_REPLICATION: replication } = config;
  const handle = openKafka(
    { brokers: config.KAFKA_BROKERS, clientId: `ingest-${collector}`, security: loadKafkaSecurity(config) },
    log,
  );
  const topicsMade = makeTopics(
    handle,
    listRawTopicSpecs({ venues: config.VENUES, shards, namespace, replication }),
    over,
  );
  const dir = join(config.SPOOL_DIR, `${namespace}${collector}`);
  const spool = new Spool({ dir, maxBytes: config.SPOOL_MAX_BYTES, log });
  await spool.recover();
  await Promise.race([topicsMade, pause(FIRST_WAIT_MS, undefined, { ref: false })]);
  // From here on Kafka may be unreachable; a fault that waiting does not mend ends the process whenever it is found.
  topicsMade.catch(failProcess);
  return { handle, spool, outlet: new Outlet({ publisher: createPublisher(handle), spool, topics: topicsMade, log }) };
};

type CollectorParts = {
  readonly outlet: Outlet;
  readonly meters: Meters;
  readonly nowMicros: () => Micros;
  readonly log: Logger;
};

const startCollectors = (settings: Settings, { outlet, meters, nowMicros, log }: CollectorParts) => {
  const { config, venues, endpoints, restWeights, collector, rawTopic } = settings;
  return venues.map((venue) => {
    const ofVenue = meters.venue(venue.id);
    return startCollector({
      venue,
      endpoints: endpoints[venue.id] ?? {},
      restWeightPerMinute: restWeights[venue.id],
      shards: config.SHARDS,
      collector,
      writer: createRawWriter({ outlet, topic: rawTopic(venue.id), meters: ofVenue }),
      nowMicros,
      meters: ofVenue,
      random: Math.random,
      log: log.child({ venue: venue.id }),
    });
  });
};

type GuardParts = {
  readonly handle: KafkaHandle;
  readonly nowMicros: () => Micros;
  readonly onOffset: (offsetMs: number) => void;
};

const startGuard = ({ venues, collector, rawTopic }: Settings, { handle, nowMicros, onOffset }: GuardParts) =>
  guardClock({
    handle,
    topic: rawTopic(venues[0]?.id ?? ''),
    probe: () => ({ key: 'collector', value: encodeProbe(collector, nowMicros()) }),
    nowMicros,
    everyMs: CLOCK_EVERY_MS,
    onOffset,
  });

/** Messages that can be stored nowhere are not collected: the connections end, and start again when there is room. */
const collectWhile = (
  refusal: () => string | null,
  start: () => readonly Collector[],
): { readonly stop: () => void } => {
  let running: readonly Collector[] = [];
  const look = (): void => {
    const reason = refusal();
    if (reason === null && running.length === 0) running = start();
    if (reason === null || running.length === 0) return;
    for (const collector of running) collector.stop('storage_failure', reason);
    running = [];
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      for (const collector of running) collector.stop();
      running = [];
    },
  };
};

/** A tick that names no connection: it shows only that the collector is alive. */
const encodeProbe = (collector: string, receivedAt: number): Buffer =>
  codecs.raw.encode({
    slot: 'collector',
    conn_id: collector,
    seq: 0,
    received_at: receivedAt,
    kind: 'tick',
    request: null,
    payload: Buffer.from(JSON.stringify({ collector, connections: [] })),
  });

if (import.meta.main) runProcess('ingest', () => startIngest(process.env));
