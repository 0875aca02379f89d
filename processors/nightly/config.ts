// Settings of the nightly runner.
import { ARCHIVE_CONFIG } from '../../infra/runtime/files/archive-store.ts';
import { KAFKA_SECURITY_CONFIG } from '../../infra/runtime/kafka/settings.ts';
import { PG_TLS_HINT } from '../../infra/runtime/postgres/connection.ts';
import type { ConfigSpec } from '../../infra/runtime/process/config.ts';
import { METRICS_CONFIG } from '../../infra/runtime/process/metrics.ts';
import { QUESTDB_LOGIN_CONFIG } from '../../infra/runtime/questdb/reader.ts';
import { ANCHOR_CONFIG } from './steps/anchor/config.ts';

export const NIGHTLY_CONFIG = {
  DATABASE_URL: { type: 'url', secret: true, description: `PostgreSQL with the state of the steps; ${PG_TLS_HINT}.` },
  QUESTDB_PG: {
    type: 'string',
    description: `QuestDB PostgreSQL wire: stored history is read, old partitions dropped; ${PG_TLS_HINT}.`,
  },
  ...QUESTDB_LOGIN_CONFIG,
  KAFKA_BROKERS: {
    type: 'list',
    default: null,
    description: 'Kafka brokers, host:port separated by commas; the watermark of stored history is read from there.',
  },
  ...KAFKA_SECURITY_CONFIG,
  VENUES: {
    type: 'list',
    default: null,
    description:
      'Codes of the venues whose stored history is waited for: those of processors. Without it, every venue that was ever processed.',
  },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'Prefix of topics and tables; empty is live.' },
  ...ARCHIVE_CONFIG,
  ...ANCHOR_CONFIG,
  BASE_URL: { type: 'url', default: null, description: 'The data API, for repeating settled requests.' },
  RECHECK_KEY: {
    type: 'string',
    default: null,
    secret: true,
    description: 'API key of a plan that narrows nothing (Pro Plus), for repeating settled requests.',
  },
  ...METRICS_CONFIG,
  METRICS_PORT: { type: 'integer', default: 9104, description: 'Port of /metrics, /healthz and /readyz.' },
} as const satisfies ConfigSpec;
