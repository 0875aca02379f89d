// Settings of the nightly runner.
import type { ConfigSpec } from '../../infra/runtime/config.ts';

export const NIGHTLY_CONFIG = {
  DATABASE_URL: { type: 'url', secret: true, description: 'PostgreSQL with the state of the steps.' },
  QUESTDB_PG: {
    type: 'string',
    description: 'QuestDB PostgreSQL wire: stored history is read, old partitions dropped.',
  },
  QUESTDB_USER: { type: 'string', default: 'admin', description: 'QuestDB user.' },
  QUESTDB_PASSWORD: { type: 'string', default: 'quest', secret: true, description: 'Its password.' },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'Prefix of tables; empty is live.' },
  BASE_URL: { type: 'url', default: null, description: 'The data API, for asking settled requests again.' },
  RECHECK_KEY: {
    type: 'string',
    default: null,
    secret: true,
    description: 'API key of a plan that narrows nothing (Pro Plus), for the same.',
  },
  METRICS_PORT: { type: 'integer', default: 9104, description: 'Port of /metrics, /healthz and /readyz.' },
} as const satisfies ConfigSpec;
