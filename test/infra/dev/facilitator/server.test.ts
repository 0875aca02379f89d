// The local facilitator serves what a stock server and a stock client need, and its faults are those of a real one.
import { HTTPFacilitatorClient } from '@x402/core/server';
import { type PaymentRequired, type PaymentRequirements, SettleError } from '@x402/core/types';
import t from 'tap';
import { createPublicClient, http } from 'viem';
import {
  NETWORK,
  type PaymentWorld,
  signPayment,
  startPaymentWorld,
  stockClient,
} from '../../../support/services/payment-world.ts';
import { waitFor } from '../../../support/wait.ts';

const makeOffer = ({ payTo, usdc }: PaymentWorld): PaymentRequirements => ({
  scheme: 'exact',
  network: NETWORK,
  amount: '5000',
  asset: usdc,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD Coin', version: '2' },
});

t.test('a payment of the stock client is verified and settled, and the money arrives', async (t) => {
  const world = await startPaymentWorld(t);
  const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
  const buyer = await world.newBuyer();
  const offer = makeOffer(world);
  const required: PaymentRequired = {
    x402Version: 2,
    error: '',
    resource: { url: 'http://127.0.0.1/' },
    accepts: [offer],
  };
  const payload = await stockClient(buyer).createPaymentPayload(required);

  const { kinds } = await client.getSupported();
  t.match(kinds, [{ x402Version: 2, scheme: 'exact', network: NETWORK }]);
  t.same(await client.verify(payload, offer), { isValid: true, payer: buyer.address });
  t.equal(await world.balanceOf(world.payTo), 0n, 'to verify costs nothing');
  const settled = await client.settle(payload, offer);
  t.match(settled, { success: true, network: NETWORK, payer: buyer.address, transaction: /^0x[0-9a-f]{64}$/ });
  t.equal(await world.balanceOf(world.payTo), 5_000n);

  const again = await client.verify(payload, offer);
  t.match(again, { isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' });
  t.same(world.facilitator().calls, { verify: 2, settle: 1 });
});

t.test('a payment that is wrong is refused with its reason', async (t) => {
  const world = await startPaymentWorld(t);
  const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
  const [buyer, poor] = [await world.newBuyer(), await world.newBuyer(0n)];
  const offer = makeOffer(world);
  const now = Math.floor(Date.now() / 1_000);
  const readReason = async (changed: Parameters<typeof signPayment>[2], account = buyer): Promise<string | undefined> =>
    (await client.verify(await signPayment(account, offer, changed), offer)).invalidReason;

  t.equal(await readReason({}, poor), 'invalid_exact_evm_insufficient_balance');
  t.equal(await readReason({ value: '4999' }), 'invalid_exact_evm_payload_authorization_value_mismatch');
  t.equal(await readReason({ to: buyer.address }), 'invalid_exact_evm_recipient_mismatch');
  t.equal(await readReason({ validBefore: String(now) }), 'invalid_exact_evm_payload_authorization_valid_before');
  t.equal(await readReason({ validAfter: String(now + 600) }), 'invalid_exact_evm_payload_authorization_valid_after');
  t.equal(await readReason({ from: poor.address }), 'invalid_exact_evm_signature');
});

t.test(
  'a payment signed after the newest block is valid at once: the chain mines only when something is sent',
  async (t) => {
    const world = await startPaymentWorld(t);
    const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
    const buyer = await world.newBuyer();
    const offer = makeOffer(world);
    const chain = createPublicClient({ transport: http(world.rpcUrl) });
    const { timestamp } = await chain.getBlock();
    await waitFor('a newest block of two seconds ago', () => Date.now() / 1_000 > Number(timestamp) + 2);
    const payload = await signPayment(buyer, offer, { validAfter: String(timestamp + 1n) });

    t.equal((await chain.getBlock()).timestamp, timestamp, 'nothing was mined meanwhile');
    t.same(await client.verify(payload, offer), { isValid: true, payer: buyer.address });
    t.match(await client.settle(payload, offer), { success: true, transaction: /^0x[0-9a-f]{64}$/ });
    t.equal(await world.balanceOf(world.payTo), 5_000n);
  },
);

t.test('twenty payments settle at once', async (t) => {
  const world = await startPaymentWorld(t);
  const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
  const buyer = await world.newBuyer();
  const offer = makeOffer(world);
  const settled = await Promise.all(
    Array.from({ length: 20 }, async () => client.settle(await signPayment(buyer, offer), offer)),
  );
  t.same(
    settled.map(({ success, errorReason }) => [success, errorReason]),
    Array(20).fill([true, undefined]),
  );
  t.equal(await world.balanceOf(world.payTo), 100_000n);
});

t.test('faults strike as they are set, and an outcome may be lost after the money has moved', async (t) => {
  const world = await startPaymentWorld(t);
  const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
  const buyer = await world.newBuyer();
  const offer = makeOffer(world);
  const payload = await signPayment(buyer, offer);
  const put = (faults: readonly object[]) =>
    fetch(`${world.facilitatorUrl}/faults`, { method: 'PUT', body: JSON.stringify(faults) });

  t.equal((await put([{ on: 'verify', at: 'before', does: 'fail', status: 503, times: 1 }])).status, 200);
  await t.rejects(client.verify(payload, offer), /503/);
  t.equal((await client.verify(payload, offer)).isValid, true, 'once');
  await put([{ on: 'settle', at: 'before', does: 'drop' }]);
  await t.rejects(client.settle(payload, offer), /fetch failed/);
  t.equal(await world.balanceOf(world.payTo), 0n);
  await put([{ on: 'settle', at: 'before', does: 'refuse', reason: 'insufficient_funds', status: 400 }]);
  await t.rejects(client.settle(payload, offer), SettleError);
  await put([{ on: 'settle', at: 'after', does: 'drop' }]);
  await t.rejects(client.settle(payload, offer), /fetch failed/);
  t.equal(await world.balanceOf(world.payTo), 5_000n, 'settled, and nobody was notified');
  t.equal((await put([{ on: 'settle', at: 'sometimes', does: 'drop' }])).status, 400);

  await put([{ on: 'verify', at: 'after', does: 'hold' }]);
  const waiting = client.verify(await signPayment(buyer, offer), offer);
  await waitFor('a held call', () => world.facilitator().faults.held() === 1);
  world.faults([]);
  t.equal((await waiting).isValid, true, 'released');
});

t.test('a chain that is away makes no refusal of a good payment, and facilitator and chain return', async (t) => {
  const world = await startPaymentWorld(t);
  const client = new HTTPFacilitatorClient({ url: world.facilitatorUrl });
  const buyer = await world.newBuyer();
  const offer = makeOffer(world);
  const payload = await signPayment(buyer, offer);
  await world.holdChain();
  await t.rejects(client.verify(payload, offer), /502/);
  await t.rejects(client.settle(payload, offer), /502/);
  await world.restartChain();
  t.equal((await client.verify(payload, offer)).isValid, true);
  await world.stopFacilitator();
  await t.rejects(client.settle(payload, offer), /fetch failed/);
  await world.startFacilitator();
  t.equal((await client.settle(payload, offer)).success, true);
  t.equal(await world.balanceOf(world.payTo), 5_000n);
});
