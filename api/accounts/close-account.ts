// Closing an account: keys, sessions, connections, rules and ways to sign in end in one transaction. What was paid stays in the ledger.
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { endAllConnections } from './connections.ts';
import { recordEvent } from './events.ts';
import { endOtherSessions } from './sessions.ts';

const REVOKE_KEYS = `
  with revoked as (update api_keys set revoked_at = now() where account_id = $1 and revoked_at is null returning key_id)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'revoked', 'owner', '{"because": "account closed"}' from revoked`;

/** The row stays for the keys and events that name it. */
const CLOSE = `update accounts set closed_at = now(), password_hash = null, needs_passkey = false, confirmed_at = null
  where account_id = $1 and closed_at is null`;
/**
 * The address is free again. Apart, and after what ends with the account: the address is a key of its row, which no reference to the row may have while
 * it is changed, so whoever wrote a session, key or rule and then the audit would wait for this transaction, which waits for their rows.
 */
const FREE_ADDRESS = 'update accounts set email = null where account_id = $1';

/** The tables that identify the owner or let them in. */
const FORGET = ['account_passkeys', 'recovery_codes', 'mail_outbox', 'passkey_challenges'] as const;

/** What else ends with an account, in the same transaction: modules add theirs (agent rules). */
export type OnClose = (db: { query: Pool['query'] }, accountId: string) => Promise<void>;

/** False: it was closed before. */
export const closeAccount = (pool: Pool, accountId: string, also: readonly OnClose[] = []): Promise<boolean> =>
  runInTransaction(pool, async (client) => {
    if ((await client.query(CLOSE, [accountId])).rowCount !== 1) return false;
    await endAllConnections(client, accountId);
    await client.query(REVOKE_KEYS, [accountId]);
    await endOtherSessions(client, accountId, null);
    for (const end of also) await end(client, accountId);
    await client.query(FREE_ADDRESS, [accountId]);
    for (const table of FORGET) await client.query(`delete from ${table} where account_id = $1`, [accountId]);
    await recordEvent(client, { accountId, action: 'closed' });
    return true;
  });
