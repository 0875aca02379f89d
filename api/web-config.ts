// Settings of the process of the account site and of sign-in.
import { PG_TLS_HINT } from '../infra/runtime/postgres/connection.ts';
import type { ConfigSpec } from '../infra/runtime/process/config.ts';
import { METRICS_CONFIG } from '../infra/runtime/process/metrics.ts';

export const WEB_CONFIG = {
  DATABASE_URL: { type: 'url', secret: true, description: `PostgreSQL with accounts and keys; ${PG_TLS_HINT}.` },
  HOST: { type: 'string', default: '127.0.0.1', description: 'Address the account site listens on.' },
  ACCOUNT_PORT: { type: 'integer', default: 8082, description: 'Port of the account site; 0 takes a free one.' },
  ACCOUNT_URL: {
    type: 'url',
    default: null,
    description:
      'Public URL of the account site. It needs a host name, because passkeys do not work with an IP address; http://localhost:ACCOUNT_PORT when unset.',
  },
  AUTH_URL: { type: 'url', default: null, description: 'Issuer of the OAuth sign-in; ACCOUNT_URL when unset.' },
  BASE_URL: { type: 'url', default: 'http://127.0.0.1:8080', description: 'Public URL of the data API.' },
  DATA_API_URL: {
    type: 'url',
    default: null,
    description: 'URL of the data API for this process; BASE_URL when unset.',
  },
  MCP_URL: { type: 'url', default: null, description: 'Public URL of the tool server; unset: no tool server.' },
  INTERNAL_HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'Address of the private listener; never a public address.',
  },
  INTERNAL_PORT: {
    type: 'integer',
    default: 8083,
    description: 'Port of the private listener, which checks tokens for the tool server.',
  },
  INTERNAL_SECRET: {
    type: 'string',
    default: null,
    secret: true,
    description: 'Bearer token of requests to the private listener; unset: generated once and stored in PostgreSQL.',
  },
  COOKIE_SECRET: {
    type: 'string',
    default: null,
    secret: true,
    description: 'Signs form tokens; unset: generated once and stored in PostgreSQL.',
  },
  CONNECTION_SECRET: {
    type: 'string',
    default: null,
    secret: true,
    description: 'The keys of connections are derived from it; unset: generated once and stored in PostgreSQL.',
  },
  EXPLORER_KEY: {
    type: 'string',
    default: null,
    secret: true,
    description:
      'API key with which visitors use the explorer without signing in; unset: only signed-in users can use it, with the plan of their account.',
  },
  RPC_URL: {
    type: 'url',
    default: null,
    secret: true,
    description:
      'Node of the chain on which days are anchored, for the proof page; unset: the page checks up to the root of the day.',
  },
  TRUSTED_PROXIES: {
    type: 'list',
    default: [],
    description: 'Addresses of proxies in front of the site, whose X-Forwarded-For is trusted.',
  },
  SMTP_URL: {
    type: 'url',
    default: null,
    secret: true,
    description:
      'Mail server, smtps://user:password@host; unset: messages stay in the table mail_outbox for the operator.',
  },
  MAIL_FROM: { type: 'string', default: null, description: 'Sender address of mail; required with SMTP_URL.' },
  PAYMENT_RPC_URL: {
    type: 'url',
    default: null,
    secret: true,
    description:
      'Node of the payment network, for signatures of contract wallets; unset: only those of plain wallets link a key.',
  },
  ...METRICS_CONFIG,
  METRICS_PORT: { type: 'integer', default: 9105, description: 'Port of /metrics, /healthz and /readyz.' },
  SIMULATED: { type: 'boolean', default: false, description: 'The venues are simulated; every page states it.' },
} as const satisfies ConfigSpec;
