// Keys for a local run, one a plan: hashed in PostgreSQL; plain only in a file that its owner alone may read.
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { hashKey, isKey, makeKey, shortenKey } from '../../../api/access/keys.ts';
import { makeKeyId } from '../../../api/contract/ids.ts';
import { PLAN_CODES, type PlanCode } from '../../../api/contract/plans.ts';
import { runOnDatabase } from '../../postgres/migrate.ts';
import { writePrivateFile } from '../engines/private-file.ts';

export type DemoKeys = Record<PlanCode, string>;

const ACCOUNT = 'acc_demo';

/** Keys of an earlier run; missing or damaged ones are replaced. */
const readKeys = async (file: string): Promise<DemoKeys> => {
  const text = await readFile(file, 'utf8').catch(() => '{}');
  const held = JSON.parse(text) as Partial<DemoKeys>;
  const findKey = (plan: PlanCode): string => {
    const key = held[plan];
    return key !== undefined && isKey(key) ? key : makeKey();
  };
  return Object.fromEntries(PLAN_CODES.map((plan) => [plan, findKey(plan)])) as DemoKeys;
};

const storeKeys = async (pool: Pool, keys: DemoKeys): Promise<void> => {
  await pool.query("insert into accounts (account_id, plan) values ($1, 'pro_plus') on conflict do nothing", [ACCOUNT]);
  for (const plan of PLAN_CODES) {
    const key = keys[plan];
    await pool.query(
      `insert into api_keys (key_id, account_id, hash, display, name, plan) values ($1, $2, $3, $4, $5, $6)
       on conflict (hash) do nothing`,
      [makeKeyId(Date.now()), ACCOUNT, hashKey(key), shortenKey(key), `demo ${plan}`, plan],
    );
  }
};

/** Ensures that a working key of every plan exists, and returns the plain keys; idempotent. */
export const ensureDemoKeys = async (databaseUrl: string, file: string): Promise<DemoKeys> => {
  const keys = await readKeys(file);
  await runOnDatabase({ url: databaseUrl, max: 1 }, (pool) => storeKeys(pool, keys));
  writePrivateFile(file, `${JSON.stringify(keys, null, 2)}\n`);
  return keys;
};
