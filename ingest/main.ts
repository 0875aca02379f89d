// The collector process: for each venue of VENUES its messages to the raw topic, until it is told to stop.
import { createClock } from '../infra/runtime/clock.ts';
import { printableConfig, readConfig } from '../infra/runtime/config.ts';
import { createPublisher, ensureTopics, openKafka } from '../infra/runtime/kafka.ts';
import { runProcess, type Stop } from '../infra/runtime/lifecycle.ts';
import { createLog } from '../infra/runtime/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/metrics.ts';
import { topicSpecs } from '../infra/runtime/topics.ts';
import { codecs } from '../schemas/avro/codec.ts';
import { topics } from '../schemas/topics.ts';
import { ALARM_MS, CLOSE_MS, guardClock } from './clock-guard.ts';
import { INGEST_CONFIG } from './config.ts';
import { startCollector } from './feed/collector.ts';
import { createMeters } from './feed/meters.ts';
import { createRawWriter } from './publish.ts';
import type { Venue } from './venue.ts';
import { venues } from './venues/index.ts';

/** The publisher blocks at the second; reading stops at the first, so that what is already on its way still fits. */
const FULL_BYTES = 48 * 1024 * 1024;
const QUEUE_BYTES = 64 * 1024 * 1024;
const CLOCK_EVERY_MS = 10_000;
const METERS_EVERY_MS = 1_000;

/** Endpoints by venue. Throws when the JSON is not an object of objects of texts. */
export const parseEndpoints = (value: unknown): Readonly<Record<string, Readonly<Record<string, string>>>> => {
  if (!isRecord(value)) throw new Error('VENUE_ENDPOINTS must be a JSON object by venue');
  return Object.fromEntries(Object.entries(value).map(([venue, urls]) => [venue, parseUrls(venue, urls)]));
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const parseUrls = (venue: string, urls: unknown): Record<string, string> => {
  if (!isRecord(urls)) throw new Error(`VENUE_ENDPOINTS.${venue} must be a JSON object of URLs by endpoint`);
  const known = Object.keys(venues.get(venue)?.endpoints ?? {});
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => {
      if (typeof url !== 'string' || !URL.canParse(url))
        throw new Error(`VENUE_ENDPOINTS.${venue}.${name} must be a URL`);
      if (!known.includes(name))
        throw new Error(`VENUE_ENDPOINTS.${venue}.${name} is unknown; known: ${known.join(', ')}`);
      return [name, url];
    }),
  );
};

const parseVenues = (ids: readonly string[]): readonly Venue[] =>
  ids.map((id) => {
    const venue = venues.get(id);
    if (!venue) throw new Error(`VENUES names ${id}, which is unknown; known: ${[...venues.keys()].join(', ')}`);
    return venue;
  });

export const startIngest = async (env: Readonly<Record<string, string | undefined>>): Promise<Stop> => {
  const config = readConfig(INGEST_CONFIG, env);
  const chosen = parseVenues(config.VENUES);
  const endpoints = parseEndpoints(config.VENUE_ENDPOINTS);
  const { COLLECTOR_ID: collector, SHARDS: shards, TOPIC_NAMESPACE: namespace } = config;
  if (shards < 1) throw new Error(`SHARDS must be at least 1, found ${shards}`);
  const log = createLog('ingest');
  log.info({ config: printableConfig(INGEST_CONFIG, config) }, 'configured');

  const clock = createClock();
  const handle = openKafka({ brokers: config.KAFKA_BROKERS, clientId: `ingest-${collector}` }, log);
  await ensureTopics(handle, topicSpecs({ venues: config.VENUES, shards, namespace }));
  const publisher = createPublisher(handle, { maxQueuedBytes: QUEUE_BYTES });
  const registry = createMetrics();
  const meters = createMeters(registry);
  const topicOf = topics(namespace).raw;

  const collectors = chosen.map((venue) =>
    startCollector({
      venue,
      endpoints: endpoints[venue.id] ?? {},
      shards,
      collector,
      writer: createRawWriter({ publisher, topic: topicOf(venue.id), fullBytes: FULL_BYTES }),
      nowMicros: clock.nowMicros,
      meters: meters.venue(venue.id),
      onTickSkipped: meters.ticksSkipped,
      random: Math.random,
      log: log.child({ venue: venue.id }),
    }),
  );
  const metering = setInterval(() => meters.queued(publisher.queuedBytes()), METERS_EVERY_MS);

  /** `received_at` by a wrong clock is worse than none: the connections end, and a new process begins with a new clock. */
  const onOffset = (offsetMs: number): void => {
    meters.clockOffset(offsetMs / 1_000);
    if (Math.abs(offsetMs) > ALARM_MS) log.error({ offset_ms: offsetMs }, "collector's and broker's clocks differ");
    if (Math.abs(offsetMs) <= CLOSE_MS) return;
    for (const running of collectors) running.stop();
    void publisher.flush().finally(() => {
      throw new Error(`the clock is ${offsetMs} ms off the broker's`);
    });
  };
  const [first] = chosen;
  const guard = first
    ? await guardClock({
        handle,
        topic: topicOf(first.id),
        probe: () => ({ key: 'collector', value: encodeProbe(collector, clock.nowMicros()) }),
        nowMicros: clock.nowMicros,
        everyMs: CLOCK_EVERY_MS,
        onOffset,
      })
    : null;

  const server = await serveMetrics(registry, config.METRICS_PORT, {
    // A venue that cannot be reached is that venue's state, not ours: the others go on, and answers call it down.
    problem: () => (publisher.queuedBytes() >= FULL_BYTES ? 'Kafka does not take what comes in' : null),
  });
  log.info({ port: server.port }, 'metrics');

  return async () => {
    clearInterval(metering);
    for (const running of collectors) running.stop();
    await guard?.close();
    await publisher.close();
    await handle.close();
    await server.close();
  };
};

/** A tick that names no connection: it says only that the collector lives. */
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
