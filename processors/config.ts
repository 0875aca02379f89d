// Settings of the processors' process.
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { PG_TLS_HINT } from '../infra/runtime/postgres/connection.ts';
import type { ConfigSpec } from '../infra/runtime/process/config.ts';
import { METRICS_CONFIG } from '../infra/runtime/process/metrics.ts';
import { QUESTDB_LOGIN_CONFIG } from '../infra/runtime/questdb/reader.ts';

export const PROCESSORS_CONFIG = {
  ...KAFKA_CONFIG,
  VENUES: { type: 'list', description: 'Codes of the venues whose raw topics are processed.' },
  SHARDS: { type: 'integer', default: 1, description: 'Partitions of each raw topic when it is created.' },
  KAFKA_REPLICATION: {
    type: 'integer',
    default: -1,
    description:
      "Copies of each partition of the topics that it creates; -1 uses the brokers' default.replication.factor.",
  },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'Prefix of topics and tables; empty is live.' },
  PROCESSOR_GROUP: { type: 'string', default: 'processors', description: 'Consumer group that shares the tasks.' },
  PROCESSOR_ID: {
    type: 'string',
    default: null,
    description:
      'A name that no other running process has. With it a restarted process takes over its tasks immediately; without it the group waits 6 s.',
  },
  OWNER_TICKS: {
    type: 'boolean',
    default: true,
    description: 'Whether the owner of a quiet partition appends ticks; false to process a finished log again.',
  },
  SINK: { type: 'boolean', default: true, description: 'Whether the process also writes rows into QuestDB.' },
  QUESTDB_HTTP: {
    type: 'string',
    default: null,
    description: 'QuestDB HTTP, for writing rows; with TLS https://host:port?tls_ca=FILE.',
  },
  QUESTDB_PG: {
    type: 'string',
    default: null,
    description: `QuestDB PostgreSQL wire, for tables and visibility; ${PG_TLS_HINT}.`,
  },
  ...QUESTDB_LOGIN_CONFIG,
  PRESENT_ALARM_PERCENT: {
    type: 'integer',
    default: 95,
    description:
      "Share in percent: an alarm is raised when less of a venue's listings are present in a layer for a minute.",
  },
  ...METRICS_CONFIG,
  METRICS_PORT: { type: 'integer', default: 9102, description: 'Port of /metrics, /healthz and /readyz.' },
} as const satisfies ConfigSpec;
