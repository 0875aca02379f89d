// Settings of the local run on this machine, for variables that the environment of a command lacks (`.local/endpoints.json`).
import { readFileSync } from 'node:fs';
import type { Environment } from './config.ts';

/** Member of the file -> setting. */
const SETTINGS = {
  database_url: 'DATABASE_URL',
  kafka: 'KAFKA_BROKERS',
  questdb_pg: 'QUESTDB_PG',
  questdb_user: 'QUESTDB_USER',
  questdb_password: 'QUESTDB_PASSWORD',
  base_url: 'BASE_URL',
  rpc_url: 'RPC_URL',
  pay_to: 'PAYMENT_PAY_TO',
  usdc: 'PAYMENT_ASSET',
  archive_dir: 'ARCHIVE_DIR',
  anchor_contract: 'ANCHOR_CONTRACT',
  anchor_owner_key_file: 'ANCHOR_OWNER_KEY_FILE',
} as const;

type Endpoints = { readonly [K in keyof typeof SETTINGS]?: string | null } & {
  readonly keys?: { readonly pro_plus?: string };
};

const toSettings = (found: Endpoints): Environment => {
  const settings = Object.entries(SETTINGS).flatMap(([member, name]) => {
    const value = found[member as keyof typeof SETTINGS];
    return value == null ? [] : [[name, value] as const];
  });
  const key = found.keys?.pro_plus;
  return {
    ...Object.fromEntries(settings),
    // Only where payments use the local chain.
    ...(found.pay_to == null || found.rpc_url == null ? {} : { PAYMENT_RPC_URL: found.rpc_url }),
    ...(key === undefined ? {} : { RECHECK_KEY: key }),
  };
};

/** What the local run on this machine has written. Throws when there is none. */
export const readEndpoints = (env: Environment = process.env): unknown =>
  JSON.parse(readFileSync(env['ENDPOINTS_FILE'] ?? new URL('../../../.local/endpoints.json', import.meta.url), 'utf8'));

/** `env` on top of the settings of the local run; `env` alone when it names a database, null without either. An empty `DATABASE_URL` names none. */
export const withRunningService = (env: Environment): Environment | null => {
  const { DATABASE_URL: named, ...others } = env;
  if (named || env['DATABASE_URL_FILE']) return env;
  try {
    return { ...toSettings(readEndpoints(env) as Endpoints), ...others };
  } catch {
    return null;
  }
};
