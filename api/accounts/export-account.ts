// Everything that is kept about an account, for its owner; secrets are only hashes here, and are left out.
import type { Pool } from 'pg';
import { listOwnKeys } from './account-keys.ts';
import { readAccount } from './accounts.ts';
import { listConnections } from './connections.ts';
import { listEvents, recordEvent } from './events.ts';
import { listPasskeys } from './passkeys.ts';
import { countCodes } from './recovery-codes.ts';
import { listSessions } from './sessions.ts';

const MOST_EVENTS = 100_000;

/** Counted requests by key, UTC day and class; a name of a quota begins with the id of its key. */
const USAGE = `
  select k.key_id, u.day::text as day, u.class, u.used from api_keys k
  join key_usage u on u.key_id = k.key_id or u.key_id like k.key_id || '/%'
  where k.account_id = $1 order by u.day, k.key_id, u.class`;
const PURCHASES = `
  select q.key_id, q.plan, l.transaction, l.network, l.payer, l.amount::text, l.settled_at
  from plan_purchases q join payment_ledger l using (receipt_id) join api_keys k using (key_id) where k.account_id = $1
  order by l.settled_at`;
const LETTERS = 'select recipient, subject, made_at, sent_at from mail_outbox where account_id = $1 order by mail_id';

/** Of a module's own tables: its name and its rows. */
export type ExportPart = (pool: Pool, accountId: string) => Promise<readonly [name: string, rows: unknown]>;

export const exportAccount = async (pool: Pool, accountId: string, parts: readonly ExportPart[]) => {
  const account = await readAccount(pool, accountId);
  await recordEvent(pool, { accountId, action: 'exported' });
  return {
    exported_at: new Date(),
    account: {
      account_id: accountId,
      email: account?.email,
      plan: account?.plan,
      created_at: account?.createdAt,
      confirmed_at: account?.confirmedAt,
      has_password: account?.passwordHash !== null,
      needs_passkey: account?.needsPasskey,
    },
    keys: await listOwnKeys(pool, accountId),
    usage: (await pool.query(USAGE, [accountId])).rows,
    purchases: (await pool.query(PURCHASES, [accountId])).rows,
    connections: await listConnections(pool, accountId),
    passkeys: await listPasskeys(pool, accountId),
    recovery_codes_left: await countCodes(pool, accountId),
    sessions: await listSessions(pool, accountId),
    letters: (await pool.query(LETTERS, [accountId])).rows,
    events: await listEvents(pool, accountId, MOST_EVENTS),
    ...Object.fromEntries(await Promise.all(parts.map((part) => part(pool, accountId)))),
  };
};
