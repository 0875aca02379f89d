// Settings of the API process.
import { ARCHIVE_CONFIG } from '../infra/runtime/archive-store.ts';
import type { ConfigSpec } from '../infra/runtime/config.ts';
import { KAFKA_CONFIG } from '../infra/runtime/kafka/settings.ts';
import { METRICS_CONFIG } from '../infra/runtime/metrics.ts';
import { PG_TLS_HINT } from '../infra/runtime/postgres/connection.ts';
import { QUESTDB_LOGIN_CONFIG } from '../infra/runtime/questdb/questdb.ts';

export const API_CONFIG = {
  ...KAFKA_CONFIG,
  VENUES: { type: 'list', description: 'Venue codes that are served.' },
  DATABASE_URL: { type: 'url', secret: true, description: `PostgreSQL with accounts and keys; ${PG_TLS_HINT}.` },
  QUESTDB_PG: {
    type: 'string',
    default: null,
    description: `QuestDB PostgreSQL wire, for history; ${PG_TLS_HINT}; unset: history answers 503.`,
  },
  ...QUESTDB_LOGIN_CONFIG,
  HOST: { type: 'string', default: '127.0.0.1', description: 'Address the data API listens on.' },
  PORT: { type: 'integer', default: 8080, description: 'Port of the data API; 0 takes a free one.' },
  BASE_URL: { type: 'url', default: null, description: 'How clients reach the data API; http://HOST:PORT when unset.' },
  ...ARCHIVE_CONFIG,
  ...METRICS_CONFIG,
  METRICS_PORT: { type: 'integer', default: 9103, description: 'Port of /metrics.' },
  TOPIC_NAMESPACE: { type: 'string', default: '', description: 'Prefix of every topic; empty is live.' },
  SIMULATED: {
    type: 'boolean',
    default: false,
    description: 'The venues are simulated, and answers of /readyz say so.',
  },
  PAYMENT_PAY_TO: {
    type: 'string',
    default: null,
    description: 'Address that payments go to; unset: nothing is sold per call.',
  },
  PAYMENT_NETWORK: { type: 'string', default: 'eip155:8453', description: 'CAIP-2 name of the payment network.' },
  PAYMENT_ASSET: {
    type: 'string',
    default: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    description: 'Token contract payments are made in (USDC).',
  },
  PAYMENT_TOKEN_NAME: { type: 'string', default: 'USD Coin', description: "Name in the token's EIP-712 domain." },
  PAYMENT_TOKEN_VERSION: { type: 'string', default: '2', description: "Version in the token's EIP-712 domain." },
} as const satisfies ConfigSpec;
