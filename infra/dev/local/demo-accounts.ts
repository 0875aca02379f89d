// Accounts of a local run to sign in with: their plain passwords only exist in a file that its owner alone may read.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { recordEvent } from '../../../api/accounts/events.ts';
import { hashPassword } from '../../../api/accounts/passwords.ts';
import type { PlanCode } from '../../../api/contract/plans.ts';
import { runOnDatabase } from '../../postgres/migrate.ts';
import { runInTransaction } from '../../runtime/postgres/postgres.ts';
import { writePrivateFile } from '../engines/private-file.ts';

export type DemoAccount = { readonly email: string; readonly password: string };
const PLANS = ['free', 'pro'] as const satisfies readonly PlanCode[];
export type DemoAccounts = Record<(typeof PLANS)[number], DemoAccount>;

export const toDemoAccountId = (plan: (typeof PLANS)[number]): string => `acc_demo_${plan}`;

const isAccount = (held: Partial<DemoAccount> | undefined): held is DemoAccount =>
  typeof held?.email === 'string' && typeof held.password === 'string';

const makeAccount = (plan: string): DemoAccount => ({
  email: `${plan}@demo.example`,
  password: `demo-${randomBytes(9).toString('base64url')}`,
});

/** Creates the account, or resets its password to that of the file: an external database may have another one. */
const store = async (pool: Pool, plan: (typeof PLANS)[number], { email, password }: DemoAccount): Promise<void> => {
  const passwordHash = await hashPassword(password);
  await runInTransaction(pool, async (client) => {
    const { rows } = await client.query<{ is_new: boolean }>(
      `insert into accounts (account_id, email, plan, password_hash) values ($1, $2, $3, $4)
       on conflict (email) do update set password_hash = excluded.password_hash, needs_passkey = false returning xmax = 0 as is_new`,
      [toDemoAccountId(plan), email, plan, passwordHash],
    );
    if (rows[0]?.is_new === true) await recordEvent(client, { accountId: toDemoAccountId(plan), action: 'signed_up' });
  });
};

/** Ensures that two plans have an account that can sign in; idempotent. */
export const ensureDemoAccounts = async (databaseUrl: string, file: string): Promise<DemoAccounts> => {
  const held = JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Partial<DemoAccounts>;
  const entries = PLANS.map((plan) => [plan, isAccount(held[plan]) ? held[plan] : makeAccount(plan)] as const);
  const accounts = Object.fromEntries(entries) as DemoAccounts;
  await runOnDatabase({ url: databaseUrl, max: 1 }, async (pool) => {
    for (const [plan, account] of entries) await store(pool, plan, account);
  });
  writePrivateFile(file, `${JSON.stringify(accounts, null, 2)}\n`);
  return accounts;
};
