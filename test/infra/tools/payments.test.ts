// `npm run payments`: what operators see of payments, the ledger compared with the chain, payers blocked by hand (P-05, P-07).
import { HTTPFacilitatorClient } from '@x402/core/server';
import t from 'tap';
import { OperatorError } from '../../../infra/tools/command-line.ts';
import { runPayments } from '../../../infra/tools/payments.ts';
import { offersFor, send, settledLedger, sign, startPaidApi, withPayment } from '../../support/apps/paid-api.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';

const CALL = { body: { where: 'base = BTC', layers: ['mark'] } };

t.test('payments are listed, shown and compared with the chain; a payer is blocked and released', async (t) => {
  const world = await startPaymentWorld(t);
  const pool = await freshPool(t);
  const { url } = await startPaidApi(t, world, { pool });
  const env = {
    DATABASE_URL: pool.options.connectionString,
    PAYMENT_RPC_URL: world.rpcUrl,
    PAYMENT_PAY_TO: world.payTo,
  };
  const run = async (...argv: readonly string[]): Promise<string> => (await runPayments(argv, env)).text;
  t.equal(await run('list'), 'no payments');

  const buyer = await world.newBuyer();
  const [call, mini] = await offersFor(url);
  if (call === undefined || mini === undefined) throw new Error('nothing is offered');
  const pay = async (offer = call) => send(url, withPayment(await sign(buyer, offer), CALL));
  const { body } = await pay();
  t.equal((await pay(mini)).status, 200);
  await settledLedger(pool, buyer.address);
  const receipt = String(body.receipt_id);
  const payer = buyer.address.toLowerCase();

  t.match(
    await run('list'),
    new RegExp(`plan mini .*\\n.*${receipt}  settled    0.005 USDC .*snapshots .*${payer}  0x[0-9a-f]{64}$`),
  );
  t.match(await run('list', '--state', 'failed'), 'no payments');
  t.match(await run('show', receipt), /^receipt_id +rcp_[\s\S]*^amount +5000$[\s\S]*^nonce +0x[0-9a-f]{64}$/m);
  t.notMatch(await run('show', receipt), /signature|reason|key_id/);
  const same = await runPayments(['reconcile'], env);
  t.same(same, { text: 'ledger  2 payments, 9.005 USDC\nchain   2 payments, 9.005 USDC', failed: false });

  t.match(await run('blocked', 'add', buyer.address, '--for', '1h'), payer);
  t.match(await run('blocked'), payer);
  t.match(await pay(), { status: 402, body: { error: 'payer_blocked' } });
  await run('blocked', 'remove', buyer.address);
  t.equal(await run('blocked', 'list'), 'no payer is blocked');
  t.equal((await pay()).status, 200);
  await settledLedger(pool, buyer.address);

  await t.test('ledger and chain differ', async (t) => {
    const unrecorded = await sign(buyer, call);
    await new HTTPFacilitatorClient({ url: world.facilitatorUrl }).settle(unrecorded, call as never);
    await pool.query(
      `insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, class, presented_at, settled_at)
      values ('rcp_invented', $1, 'eip155:8453', $2, '', 5000, 'screen', now(), now())`,
      [`0x${'1'.repeat(64)}`, payer],
    );
    const { text, failed } = await runPayments(['reconcile', '--since', '2h'], env);
    t.equal(failed, true);
    t.match(text, /^DIFFERS rcp_invented: the chain has no such payment in 0x1{64}$/m);
    t.match(text, new RegExp(`^DIFFERS received and not in the ledger: 5000 of ${payer} in 0x[0-9a-f]{64}$`, 'm'));
    t.equal(text.split('DIFFERS').length, 3, 'nothing else');
  });

  await world.holdChain();
  await t.rejects(run('reconcile'), 'a chain that is away is no difference');
  const wrong = [
    ['nothing'],
    ['list', '--limit', 'x'],
    ['show'],
    ['show', 'rcp_1'],
    ['blocked', 'add', '0x1'],
    ['blocked', 'remove', payer],
  ];
  for (const argv of wrong) await t.rejects(run(...argv), OperatorError, argv.join(' '));
});
