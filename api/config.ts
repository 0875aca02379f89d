// Settings of the API process.
import { ARCHIVE_CONFIG } from '../infra/runtime/files/archive-store.ts';
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { PG_TLS_HINT } from '../infra/runtime/postgres/connection.ts';
import type { ConfigSpec } from '../infra/runtime/process/config.ts';
import { METRICS_CONFIG } from '../infra/runtime/process/metrics.ts';
import { QUESTDB_LOGIN_CONFIG } from '../infra/runtime/questdb/reader.ts';
import { PAYMENT_CONFIG } from './payments/payment-config.ts';
import { TOOL_CONFIG } from './tool-app/tool-config.ts';

export const API_CONFIG = {
  ...KAFKA_CONFIG,
  VENUES: { type: 'list', description: 'Codes of the venues that are served.' },
  DATABASE_URL: { type: 'url', secret: true, description: `PostgreSQL with accounts and keys; ${PG_TLS_HINT}.` },
  QUESTDB_PG: {
    type: 'string',
    default: null,
    description: `QuestDB PostgreSQL wire, for history; ${PG_TLS_HINT}; unset: history requests are answered with 503.`,
  },
  ...QUESTDB_LOGIN_CONFIG,
  HOST: { type: 'string', default: '127.0.0.1', description: 'Address the data API listens on.' },
  PORT: { type: 'integer', default: 8080, description: 'Port of the data API; 0 takes a free one.' },
  BASE_URL: { type: 'url', default: null, description: 'Public URL of the data API; http://HOST:PORT when unset.' },
  TRUSTED_PROXIES: {
    type: 'list',
    default: [],
    description: 'Addresses of proxies in front of the data API and the tool server, whose X-Forwarded-For is trusted.',
  },
  ...TOOL_CONFIG,
  ACCOUNT_URL: {
    type: 'url',
    default: null,
    description:
      'URL of the account site: /llms.txt and /changelog redirect to it, and its pages may call the tool server.',
  },
  AUTH_URL: { type: 'url', default: null, description: 'Issuer of the OAuth sign-in; unset: keys only.' },
  INTERNAL_URL: {
    type: 'url',
    default: 'http://127.0.0.1:8083',
    description: 'Private listener of the sign-in, which checks access tokens; used only if AUTH_URL is set.',
  },
  INTERNAL_SECRET: {
    type: 'string',
    default: null,
    secret: true,
    description:
      'Bearer token of requests to the private listener, the same as in the web process; unset: the one stored in PostgreSQL.',
  },
  ...ARCHIVE_CONFIG,
  ...METRICS_CONFIG,
  METRICS_PORT: { type: 'integer', default: 9103, description: 'Port of /metrics, /healthz and /readyz.' },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'Prefix of every topic; empty is live.' },
  SIMULATED: {
    type: 'boolean',
    default: false,
    description: 'The venues are simulated; responses of /readyz state it.',
  },
  WEBHOOKS_LOOPBACK: {
    type: 'boolean',
    default: false,
    description: 'Allows webhooks of rules to loopback addresses and over plain HTTP; simulated runs only.',
  },
  ...PAYMENT_CONFIG,
} as const satisfies ConfigSpec;
