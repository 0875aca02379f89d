// Settings of the collector process.
import type { ConfigSpec } from '../infra/runtime/config.ts';
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { METRICS_CONFIG } from '../infra/runtime/metrics.ts';

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
