// Payments of wallets that are contracts: the contract decides which signature it accepts, by the facilitator and when settling (P-05, ERC-1271).
import t from 'tap';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import { recoverKey, writeRecoveryMessage } from '../../../api/payments/recover-key.ts';
import {
  offersFor,
  readLedger,
  type Sent,
  send,
  settledLedger,
  sign,
  startPaidApi,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { deployWallet, lengthened } from '../../support/services/contract-wallet.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';
import { findOffer } from './paid-nodes.ts';

const CALL: Sent = { body: { layers: ['mark'] } };
const FUNDS = 100_000_000n;
const SIGNATURE = { status: 402, body: { error: 'invalid_exact_evm_payload_signature' } };

t.test('a payment of a contract wallet is good when its contract accepts it', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const offers = await offersFor(url);
  const [call, mini] = [findOffer(offers, 'call'), findOffer(offers, 'plan')];
  const wallet = await deployWallet(world.rpcUrl);
  const { address: from, owner } = wallet;
  await world.mint(from, FUNDS);
  const stranger = await world.newBuyer(0n);
  const pay = (payment: unknown) => send(url, withPayment(payment, CALL));

  await t.test('refused while another than its owner signs, in either length', async (t) => {
    const forged = await sign(stranger, call, { from });
    for (const payment of [forged, lengthened(forged)]) t.match(await pay(payment), SIGNATURE);
    t.match(await pay(await sign(owner, call, { from: world.usdc })), SIGNATURE, 'a contract that is no wallet');
    t.match(await pay(lengthened(await sign(stranger, call))), SIGNATURE, 'a long signature of a plain account');
    t.same(await readLedger(pool), [], 'nothing is left behind');
  });

  await t.test('accepted and settled when its owner signs, in either length', async (t) => {
    const signed = await sign(owner, call, { from });
    t.equal((await pay(signed)).status, 200);
    t.equal((await pay(lengthened(await sign(owner, call, { from })))).status, 200);
    t.match(await settledLedger(pool, from), [{ state: 'settled' }, { state: 'settled' }]);
    t.equal(await world.balanceOf(from), FUNDS - 10_000n);
    t.match(await pay(lengthened(signed)), { status: 402, body: { error: 'already_presented' } });
  });

  await t.test('it buys a plan, and its signed message replaces the lost key', async (t) => {
    const { status, body } = await pay(await sign(owner, mini, { from }));
    t.equal(status, 200);
    const { transaction } = body['settlement'] as { readonly transaction: string };
    const chain = openPaymentChain(world.rpcUrl);
    const [baseUrl, nowMs] = ['http://api.test', Date.now()];
    const issuedAt = new Date(nowMs - 1_000).toISOString();
    const issued = { transaction, issuedAt, account: 'owner@example.com' };
    const message = writeRecoveryMessage(baseUrl, issued);
    const recover = async (account: typeof owner) =>
      recoverKey(
        { ...issued, payer: from, signature: await account.signMessage({ message }) },
        { pool, chain, baseUrl, nowMs },
      );
    t.equal(await recover(stranger), null);
    t.match(await recover(owner), { plan: 'mini', key: /^sk_/, transaction });
  });

  await t.test(
    'a payment that its contract rejects after the answer is not charged; later ones are refused before it',
    async (t) => {
      const before = await world.balanceOf(from);
      world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
      const { status, body } = await pay(await sign(owner, call, { from }));
      t.equal(status, 200);
      await waitFor('the settle call is held', () => world.facilitator().faults.held() === 1);
      await wallet.freeze();
      world.faults([]);
      const rows = await settledLedger(pool, from);
      t.match(
        rows.filter(({ receipt_id }) => receipt_id === body['receipt_id']),
        [{ state: 'failed' }],
      );
      t.equal(await world.balanceOf(from), before);
      t.match(await pay(await sign(owner, call, { from })), SIGNATURE);
    },
  );
});
