// Addresses and keys of a local run, as stored in `.local/endpoints.json`.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { EngineEndpoints } from '../engines/engines.ts';
import { writePrivateFile } from '../engines/private-file.ts';
import type { LocalAnchors } from './anchors.ts';
import type { DemoAccounts } from './demo-accounts.ts';
import type { DemoKeys } from './demo-keys.ts';
import type { LocalPayments } from './payments.ts';

/** Contents of `.local/endpoints.json`; an address is null while nothing serves there. */
export interface ServiceEndpoints extends EngineEndpoints, LocalAnchors, LocalPayments {
  readonly base_url: string;
  readonly mcp_url: string | null;
  readonly account_url: string | null;
  readonly auth_url: string | null;
  /** The simulator's control page; null on live venues. */
  readonly control_url: string | null;
  /** Folder of the archive files. */
  readonly archive_dir: string;
  readonly metrics_urls: Readonly<Record<'ingest' | 'processors' | 'api' | 'nightly' | 'web', string>>;
  readonly keys: DemoKeys;
  /** To sign in with at `account_url`, by plan. */
  readonly accounts: DemoAccounts;
  /** Rules that any key or payer may read by name. */
  readonly shared_rules: readonly string[];
}

/** Where a tool reads and writes the log and stored rows: its engines run. */
export type Stores = {
  readonly [K in 'kafka' | 'questdb_http' | 'questdb_pg' | 'questdb_user' | 'questdb_password']: string;
};

/** The file holds keys and passwords: only its owner may read it. Analysts' credentials are part of `questdb_pg`. */
export function writeEndpoints(file: string, endpoints: ServiceEndpoints): void {
  mkdirSync(dirname(file), { recursive: true });
  const shown = { ...endpoints, questdb_pg: makeAnalystUrl(endpoints) };
  writePrivateFile(file, `${JSON.stringify(shown, null, 2)}\n`);
}

/** The PostgreSQL-wire address of QuestDB as its read-only user; without a user when none is known. */
export function makeAnalystUrl(endpoints: EngineEndpoints): string | null {
  if (endpoints.questdb_pg === null) return null;
  const url = new URL(endpoints.questdb_pg);
  if (endpoints.questdb_readonly_user !== null) url.username = endpoints.questdb_readonly_user;
  if (endpoints.questdb_readonly_password !== null) url.password = endpoints.questdb_readonly_password;
  return url.href;
}
