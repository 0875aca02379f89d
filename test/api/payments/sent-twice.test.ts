// A payment that two processes have sent to the chain: what becomes of the first call does not end the second (P-04, P-06).
import type { Pool } from 'pg';
import t from 'tap';
import { isRefused, type Payment } from '../../../api/access/call.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { authorize, Money, Node, openWallet, SETTLE_ENDS } from './money-world.ts';

/** The lease of a process that cannot reach the database ends. */
const lapse = (pool: Pool): Promise<unknown> =>
  pool.query(`update payments set lease_until = now(), checked_at = checked_at - interval '1 minute'`);

/** Serves the payment, or buys with it; resolves once its settle call has been answered. */
const use = async (payment: Payment): Promise<number | null> => {
  if (payment.buys === 'plan') return (await payment.buy()).status;
  await payment.take();
  await payment.end('whole');
  return null;
};

for (const isPlan of [false, true])
  for (const how of SETTLE_ENDS)
    t.test(
      `what was sent again is paid, though the first call ends as ${how}: ${isPlan ? 'a plan' : 'an answer'} (D-1151)`,
      async (t) => {
        const [pool, money] = [await freshPool(t), new Money()];
        const [first, second] = [await Node.open(pool, money), await Node.open(pool, money)];
        const payment = await first.present(await authorize(openWallet(money, 30_000_000), isPlan), 'rcp_1');
        if (isRefused(payment)) throw new Error('the payment was refused');
        money.settleMode = 'held';
        const held = money.nextHeld;
        const used = use(payment);
        await held;
        await lapse(pool);
        money.settleMode = 'late';
        await second.sweep();
        // The transaction of the second call waits for its block while the first is answered.
        money.release(0, how);
        const status = await used;
        money.mine();
        money.settleMode = 'good';
        await lapse(pool);
        await second.sweep();
        t.equal(money.used.size, 1, 'it is paid');
        const { rows } = await pool.query('select receipt_id, state from v_payments');
        t.same(rows, [{ receipt_id: 'rcp_1', state: 'settled' }], 'the ledger has what the chain has');
        if (isPlan) t.equal(status, ['good', 'lost'].includes(how) ? 200 : 503, 'nobody is told to sign again');
      },
    );
