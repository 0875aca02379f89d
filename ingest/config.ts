// Settings of the collector process.
import type { ConfigSpec } from '../infra/runtime/config.ts';
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { METRICS_CONFIG } from '../infra/runtime/metrics.ts';

export const INGEST_CONFIG = {
  ...KAFKA_CONFIG,
  VENUES: { type: 'list', description: 'venues to collect, separated by commas' },
  SHARDS: { type: 'integer', default: 1, description: 'raw partitions a venue; fixed once the topics exist' },
  KAFKA_REPLICATION: {
    type: 'integer',
    default: -1,
    description:
      "copies of each partition of the topics it creates; -1 leaves it to the brokers' default.replication.factor",
  },
  COLLECTOR_ID: {
    type: 'string',
    default: 'collector',
    description: 'name of this collector, unique among those that run',
  },
  VENUE_ENDPOINTS: {
    type: 'json',
    default: {},
    description: 'JSON {"<venue>": {"<endpoint>": "<url>"}} laid over the venues\' own endpoints (simulators)',
  },
  VENUE_REST_WEIGHTS: {
    type: 'json',
    default: {},
    description:
      'JSON {"<venue>": <weight a minute>} in place of the limit a venue documents (another allowance, simulators)',
  },
  SPOOL_DIR: {
    type: 'string',
    default: '.local/spool',
    description: 'folder for messages that Kafka does not take; each collector has its own inside',
  },
  SPOOL_MAX_BYTES: {
    type: 'integer',
    default: 2 * 1024 ** 3,
    description: 'bytes on disk above which the collector ends its connections',
  },
  ...METRICS_CONFIG,
  METRICS_PORT: {
    type: 'integer',
    default: 9101,
    description: 'port of /metrics, /healthz and /readyz; 0 takes a free one',
  },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'prefix of every topic; empty is live' },
} as const satisfies ConfigSpec;
