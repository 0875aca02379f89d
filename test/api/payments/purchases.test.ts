// Who delivers a bought key: one request at a time, in whatever order requests began and came to the row (real PostgreSQL, P-06).
import type { Pool, PoolClient } from 'pg';
import t from 'tap';
import { openPurchases } from '../../../api/payments/purchases.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

const KEY = { payer: `0x${'1'.repeat(40)}`, nonce: `0x${'2'.repeat(64)}` };

/** A plan that is paid for, whose key nobody delivers yet. */
const buy = (pool: Pool): Promise<unknown> =>
  pool.query(
    `with account as (insert into accounts (account_id) values ('wallet:' || $1) returning account_id),
      created as (
        insert into api_keys (key_id, account_id, hash, display, name, plan, kind, expires_at)
        select 'key_a', account_id, sha256('a'), 'sk_a', 'bought', 'mini', 'purchased', now() + interval '30 days' from account),
      ledger as (
        insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, settled_at)
        values ('rcp_a', $3, 'eip155:8453', $1, $2, '9000000', null, 'mini', now(), now()))
    insert into plan_purchases (payer, nonce, signature, plan, key_id, receipt_id) values ($1, $2, '0x', 'mini', 'key_a', 'rcp_a')`,
    [KEY.payer, KEY.nonce, `0x${'3'.repeat(64)}`],
  );

t.test('a request that began before the one that delivers a key does not deliver another one', async (t) => {
  const pool = await freshPool(t);
  await buy(pool);
  const purchases = openPurchases(pool);
  /** A pool whose transactions have begun when another request claims the key. */
  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    const overtaken = async (text: string, values?: unknown[]) => {
      const answer = await client.query(text, values);
      if (text === 'begin') t.ok(await purchases.claim(KEY, 'first'));
      return answer;
    };
    return { query: overtaken, release: client.release.bind(client) } as unknown as PoolClient;
  };
  t.equal(await openPurchases({ connect } as unknown as Pool).claim(KEY, 'second'), null);
  const { rows } = await pool.query('select claimed_by from plan_purchases');
  t.same(rows, [{ claimed_by: 'first' }]);
});
