// The token of local runs behaves as USDC does: transfers by signature, once, in their time, and texts that clients read.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Abi, createWalletClient, type Hex, http, parseSignature, toHex } from 'viem';
import { makeLocalBase } from '../../../../infra/dev/facilitator/local-usdc.ts';
import { connectChain } from '../../../support/engines/local-chain.ts';
import { type Authorization, signPayment, startPaymentWorld } from '../../../support/services/payment-world.ts';

const { abi } = JSON.parse(
  readFileSync(new URL('../../../../infra/dev/facilitator/LocalUsdc.json', import.meta.url), 'utf8'),
) as { abi: Abi };
const FAR = '4000000000';

t.test('a signed transfer is made once, by anybody, in its time', async (t) => {
  const world = await startPaymentWorld(t);
  const { reader, fund } = connectChain(world.rpcUrl);
  const sender = createWalletClient({ chain: makeLocalBase(world.rpcUrl), transport: http(), account: await fund() });
  const buyer = await world.newBuyer(10_000n);
  const offer = makeOffer(world);
  const makeArgs = async (changed: Parameters<typeof signPayment>[2], signer = buyer) => {
    const { payload } = await signPayment(signer, offer, { from: buyer.address, ...changed });
    const { authorization, signature } = payload as { authorization: Authorization; signature: Hex };
    const head = toHead(authorization);
    const { v, r, s } = parseSignature(signature);
    return { bytes: [...head, signature], parts: [...head, v, r, s], nonce: authorization.nonce };
  };
  const call = async (functionName: string, args: readonly unknown[]): Promise<Hex> => {
    const { request } = await reader.simulateContract({
      address: world.usdc,
      abi,
      functionName,
      args,
      account: sender.account,
    });
    return sender.writeContract(request);
  };

  const first = await makeArgs({ validBefore: FAR });
  await reader.waitForTransactionReceipt({ hash: await call('transferWithAuthorization', first.parts) });
  t.equal(await world.balanceOf(world.payTo), 5_000n);
  t.equal(await world.authorizationState(buyer.address, first.nonce), true);
  const used = await reader.getContractEvents({
    address: world.usdc,
    abi,
    eventName: 'AuthorizationUsed',
    fromBlock: 0n,
  });
  t.same(
    used.map(({ args }) => args),
    [{ authorizer: buyer.address, nonce: first.nonce }],
  );
  await t.rejects(call('transferWithAuthorization', first.bytes), /authorization is used or canceled/);

  const second = await makeArgs({ validBefore: FAR });
  await reader.waitForTransactionReceipt({ hash: await call('transferWithAuthorization', second.bytes) });
  t.equal(await world.balanceOf(buyer.address), 0n, 'both forms of the signature');
  const refused = async (changed: Parameters<typeof signPayment>[2], why: RegExp, signer = buyer) => {
    const { bytes, parts } = await makeArgs({ validBefore: FAR, ...changed }, signer);
    await t.rejects(call('transferWithAuthorization', bytes), why);
    await t.rejects(call('transferWithAuthorization', parts), why);
  };
  await refused({}, /ERC20: transfer amount exceeds balance/);
  await refused({ validBefore: '1' }, /authorization is expired/);
  await refused({ validAfter: FAR }, /authorization is not yet valid/);
  await refused({}, /FiatTokenV2: invalid signature/, await world.newBuyer(0n));
});

t.test('a cancelled authorisation is never used; one for a payee is used by the payee alone', async (t) => {
  const world = await startPaymentWorld(t);
  const { reader, fund } = connectChain(world.rpcUrl);
  const chain = makeLocalBase(world.rpcUrl);
  const [payee, stranger] = [await fund(), await fund()];
  const buyer = await world.newBuyer(10_000n);
  const domain = { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: world.usdc };
  const separator = await reader.readContract({ address: world.usdc, abi, functionName: 'DOMAIN_SEPARATOR' });
  // Value of USDC on Base: the same name, version, chain and address give the same separator.
  t.equal(separator, '0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f');

  const call = async (account: typeof payee, functionName: string, args: readonly unknown[]) => {
    const { request } = await reader.simulateContract({ address: world.usdc, abi, functionName, args, account });
    const hash = await createWalletClient({ chain, transport: http(), account }).writeContract(request);
    return reader.waitForTransactionReceipt({ hash });
  };
  const receive = { from: buyer.address, to: payee.address, value: 5_000n, validAfter: 0n, validBefore: BigInt(FAR) };
  const parts = [
    'from:address',
    'to:address',
    'value:uint256',
    'validAfter:uint256',
    'validBefore:uint256',
    'nonce:bytes32',
  ];
  const types = { ReceiveWithAuthorization: parts.map((part) => named(part)) };
  const nonce = toHex(1n, { size: 32 });
  const signature = await buyer.signTypedData({
    domain,
    types,
    primaryType: 'ReceiveWithAuthorization',
    message: { ...receive, nonce },
  });
  const args = [...Object.values(receive), nonce, signature];
  await t.rejects(call(stranger, 'receiveWithAuthorization', args), /caller must be the payee/);
  await call(payee, 'receiveWithAuthorization', args);
  t.equal(await world.balanceOf(payee.address), 5_000n);

  const cancelled = toHex(2n, { size: 32 });
  const cancel = await buyer.signTypedData({
    domain,
    types: { CancelAuthorization: ['authorizer:address', 'nonce:bytes32'].map((part) => named(part)) },
    primaryType: 'CancelAuthorization',
    message: { authorizer: buyer.address, nonce: cancelled },
  });
  await call(stranger, 'cancelAuthorization', [buyer.address, cancelled, cancel]);
  t.equal(await world.authorizationState(buyer.address, cancelled), true);
  const { payload } = await signPayment(buyer, makeOffer(world), { nonce: cancelled, validBefore: FAR });
  const { authorization, signature: late } = payload as { authorization: Authorization; signature: Hex };
  const lateArgs = [...toHead(authorization), late];
  await t.rejects(call(stranger, 'transferWithAuthorization', lateArgs), /authorization is used or canceled/);
});

/** The common first arguments of both forms of the call. */
const toHead = ({ from, to, value, validAfter, validBefore, nonce }: Authorization): readonly unknown[] => [
  from,
  to,
  BigInt(value),
  BigInt(validAfter),
  BigInt(validBefore),
  nonce,
];

const named = (part: string): { readonly name: string; readonly type: string } => {
  const [name = '', type = ''] = part.split(':');
  return { name, type };
};

const makeOffer = ({ payTo, usdc }: Awaited<ReturnType<typeof startPaymentWorld>>) => ({
  scheme: 'exact',
  network: 'eip155:8453' as const,
  amount: '5000',
  asset: usdc,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD Coin', version: '2' },
});
