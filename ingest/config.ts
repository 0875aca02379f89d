// Settings of the collector process, and the checks of what they name.
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { type ConfigSpec, type Environment, readConfig } from '../infra/runtime/process/config.ts';
import { METRICS_CONFIG } from '../infra/runtime/process/metrics.ts';
import { isJsonObject } from '../schemas/json-object.ts';
import { nameTopics } from '../schemas/topics.ts';
import type { CollectedVenue } from './venues/contract/feed.ts';
import { collectedVenues } from './venues/index.ts';

export const INGEST_CONFIG = {
  ...KAFKA_CONFIG,
  VENUES: { type: 'list', description: 'Venues to collect, separated by commas.' },
  SHARDS: {
    type: 'integer',
    default: 1,
    description: 'Partitions of the raw topic of each venue. It cannot be changed once the topics exist.',
  },
  KAFKA_REPLICATION: {
    type: 'integer',
    default: -1,
    description:
      "Copies of each partition of the topics that the collector creates; -1 uses the brokers' default.replication.factor.",
  },
  COLLECTOR_ID: {
    type: 'string',
    default: 'collector',
    description: 'Name of this collector. No two that run at the same time may have the same name.',
  },
  VENUE_ENDPOINTS: {
    type: 'json',
    default: {},
    description:
      'JSON {"<venue>": {"<endpoint>": "<url>"}}: addresses that replace those of the venues, such as those of a simulator.',
  },
  VENUE_REST_WEIGHTS: {
    type: 'json',
    default: {},
    description: 'JSON {"<venue>": <weight a minute>}: REST limits that replace those which the venues document.',
  },
  SPOOL_DIR: {
    type: 'string',
    default: '.local/spool',
    description: 'Folder for messages that Kafka has not acknowledged. Each collector creates its own subfolder.',
  },
  SPOOL_MAX_BYTES: {
    type: 'integer',
    default: 2 * 1024 ** 3,
    description: 'Size of the spool in bytes above which the collector ends its connections.',
  },
  ...METRICS_CONFIG,
  METRICS_PORT: {
    type: 'integer',
    default: 9101,
    description: 'Port of /metrics, /healthz and /readyz; 0 takes a free one.',
  },
  TOPIC_NAMESPACE: {
    type: 'string',
    default: '',
    description: 'Prefix of the names of all topics; empty for live data.',
  },
} as const satisfies ConfigSpec;

/** Endpoints by venue. Throws unless the JSON is an object of objects of strings. */
export const parseEndpoints = (value: unknown): Readonly<Record<string, Readonly<Record<string, string>>>> => {
  if (!isJsonObject(value)) throw new Error('VENUE_ENDPOINTS must be a JSON object by venue');
  return Object.fromEntries(Object.entries(value).map(([venue, urls]) => [venue, parseUrls(venue, urls)]));
};

const listKnown = (): string => [...collectedVenues.keys()].join(', ');

/** Throws for an unknown venue; `place` is where a setting names it. */
const findVenue = (id: string, place: string): CollectedVenue => {
  const venue = collectedVenues.get(id);
  if (!venue) throw new Error(`${place} is an unknown venue; known: ${listKnown()}`);
  return venue;
};

const parseUrls = (venue: string, urls: unknown): Record<string, string> => {
  if (!isJsonObject(urls)) throw new Error(`VENUE_ENDPOINTS.${venue} must be a JSON object of URLs by endpoint`);
  const known = Object.keys(findVenue(venue, `VENUE_ENDPOINTS.${venue}`).endpoints);
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

/** REST weight a minute by venue. Throws unless the JSON is an object of integers by known venue. */
const parseRestWeights = (value: unknown): Readonly<Record<string, number>> => {
  if (!isJsonObject(value)) throw new Error('VENUE_REST_WEIGHTS must be a JSON object by venue');
  return Object.fromEntries(
    Object.entries(value).map(([venue, weight]) => {
      findVenue(venue, `VENUE_REST_WEIGHTS.${venue}`);
      if (!Number.isSafeInteger(weight) || Number(weight) < 1)
        throw new Error(`VENUE_REST_WEIGHTS.${venue} must be a whole number above 0`);
      return [venue, Number(weight)];
    }),
  );
};

const parseVenues = (ids: readonly string[]): readonly CollectedVenue[] => {
  if (ids.length === 0) throw new Error(`VENUES names no venue; known: ${listKnown()}`);
  return ids.map((id) => findVenue(id, `VENUES: ${id}`));
};

/** Throws for a setting that cannot be used, naming it and what is known. */
export const readSettings = (env: Environment) => {
  const config = readConfig(INGEST_CONFIG, env);
  const venues = parseVenues(config.VENUES);
  const endpoints = parseEndpoints(config.VENUE_ENDPOINTS);
  const restWeights = parseRestWeights(config.VENUE_REST_WEIGHTS);
  if (config.SHARDS < 1) throw new Error(`SHARDS must be at least 1, found ${config.SHARDS}`);
  const rawTopic = nameTopics(config.TOPIC_NAMESPACE).raw;
  return { config, venues, endpoints, restWeights, collector: config.COLLECTOR_ID, rawTopic };
};
export type Settings = ReturnType<typeof readSettings>;
