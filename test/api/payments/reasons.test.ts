// Every reason of a 402, each by a payment that is wrong in that way, and further responses of a facilitator (P-03, P-11).
import t, { type Test } from 'tap';
import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { REASONS, readReason } from '../../../api/payments/reasons.ts';
import {
  type Answer,
  inSeconds,
  offersFor,
  readErrorCode,
  readLedger,
  send,
  settledLedger,
  sign,
  startPaidApi,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { type PaymentWorld, startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

const CALL = { body: { where: 'base = BTC', layers: ['mark'] } };
const STRANGER = '0x000000000000000000000000000000000000dEaD';

/** A 402 names its reason twice and quotes the price again. */
const isRefusal = (t: Test, { status, headers, body }: Answer, reason: string): void => {
  t.equal(status, 402, reason);
  t.match(body, {
    error: reason,
    errors: [{ code: 'PAYMENT_REQUIRED', message: reason }],
    accepts: [{}, {}, {}, {}, {}],
  });
  t.same(JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()), body);
  t.equal(headers.get('cache-control'), 'no-store');
};

t.test('every reason comes of a payment that is wrong in that way', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const [call, mini] = await offersFor(url);
  if (call === undefined || mini === undefined) throw new Error('nothing is offered');
  const buyer = await world.newBuyer();
  const seen = new Set<string>();
  const refuses = async (payment: unknown, reason: (typeof REASONS)[number]): Promise<void> => {
    isRefusal(t, await send(url, withPayment(payment, CALL)), reason);
    seen.add(reason);
  };
  const valueMismatch = 'invalid_exact_evm_payload_authorization_value_mismatch';
  const good = await sign(buyer, call);

  const lies: readonly [Record<string, unknown>, (typeof REASONS)[number]][] = [
    [{ network: 'eip155:84532' }, 'invalid_network'],
    [{ asset: STRANGER }, 'invalid_asset'],
    [{ payTo: STRANGER }, 'invalid_exact_evm_payload_recipient_mismatch'],
    [{ amount: '1' }, valueMismatch],
    [{ amount: mini.amount }, valueMismatch],
    [{ extra: { ...call.extra, kind: 'plan', plan: 'mini' } }, valueMismatch],
    [{ extra: { ...call.extra, kind: 'gift' } }, valueMismatch],
  ];
  for (const [lie, reason] of lies) await refuses({ ...good, accepted: { ...call, ...lie } }, reason);
  await refuses(await sign(buyer, call, { value: '4999' }), valueMismatch);
  await refuses(await sign(buyer, call, { to: STRANGER }), 'invalid_exact_evm_payload_recipient_mismatch');
  const late = 'invalid_exact_evm_payload_authorization_valid_before';
  for (const ahead of [-1, 15, 400, 10 ** 9])
    await refuses(await sign(buyer, call, { validBefore: inSeconds(ahead) }), late);
  const early = 'invalid_exact_evm_payload_authorization_valid_after';
  await refuses(await sign(buyer, call, { validAfter: inSeconds(30) }), early);
  const other = await world.newBuyer();
  await refuses(await sign(buyer, call, { from: other.address }), 'invalid_exact_evm_payload_signature');
  for (const respell of [withOtherV, withHighS, withEmptyMark]) {
    const { payload, ...rest } = await sign(buyer, call);
    await refuses({ ...rest, payload: respell(payload as never) }, 'invalid_exact_evm_payload_signature');
  }
  t.same(await readLedger(pool), [], 'what is refused before the facilitator leaves nothing behind');
  t.equal(world.facilitator().calls.verify, 0);

  await refuses(await sign(await world.newBuyer(0n), call), 'insufficient_funds');
  t.same(await readLedger(pool), [], 'nor does what it refuses');
  t.equal((await send(url, withPayment(good, CALL))).status, 200, 'lies about it lock no payment');
  const mixed = { ...good, payload: upperCased(good.payload as never) };
  await refuses(mixed, 'already_presented');

  const poor = await drain(world, url, 3);
  await waitFor('three failures are counted', async () => {
    const rows = await settledLedger(pool, poor.address);
    return rows.filter(({ state }) => state === 'failed').length === 3;
  });
  await world.mint(poor.address, 1_000_000n);
  await refuses(await sign(poor, call), 'payer_blocked');
  t.same(
    [...REASONS].filter((reason) => !seen.has(reason)),
    [],
  );
});

/** A buyer whose payments were good when they were presented and could not be settled any more. */
const drain = async (world: PaymentWorld, url: string, count: number) => {
  const [call] = await offersFor(url);
  const poor = await world.newBuyer(5_000n);
  world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
  for (let i = 0; i < count; i++) await send(url, withPayment(await sign(poor, call as never), CALL));
  const transfer = encodeFunctionData({
    abi: parseAbi(['function transfer(address to, uint256 value) returns (bool)']),
    args: [STRANGER, 5_000n],
  });
  await asAccount(world.rpcUrl, poor.address, world.usdc, transfer);
  world.faults([]);
  return poor;
};

const asAccount = async (rpcUrl: string, from: string, to: string, data: Hex): Promise<void> => {
  const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const answer = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await answer.json()) as { result?: unknown; error?: unknown };
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result;
  };
  await ask('anvil_impersonateAccount', [from]);
  await ask('anvil_setBalance', [from, '0xde0b6b3a7640000']);
  const hash = await ask('eth_sendTransaction', [{ from, to, data }]);
  await waitFor('the transfer is mined', async () => (await ask('eth_getTransactionReceipt', [hash])) as object | null);
};

type Signed = { readonly signature: string };
const ORDER = 0xffff_ffff_ffff_ffff_ffff_ffff_ffff_fffe_baae_dce6_af48_a03b_bfd2_5e8c_d036_4141n;

/** Spellings of a signature from which the payer is recovered, and which USDC refuses. */
const withOtherV = (payload: Signed): Signed => ({
  ...payload,
  signature: payload.signature.replace(/1b$/, '00').replace(/1c$/, '01'),
});
const withHighS = (payload: Signed): Signed => {
  const [rest, s, v] = [payload.signature.slice(0, 66), payload.signature.slice(66, 130), payload.signature.slice(130)];
  const high = (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
  return { ...payload, signature: `${rest}${high}${v === '1b' ? '1c' : '1b'}` };
};

/** The mark of a wallet that is to be deployed, and neither its factory nor its signature (ERC-6492). */
const withEmptyMark = (payload: Signed): Signed => ({
  ...payload,
  signature: `${payload.signature}${'6492'.repeat(16)}`,
});

/** The same authorisation in other letters. */
const upperCased = (payload: { signature: string; authorization: Record<string, string> }) => {
  const raise = (hex = ''): string => `0x${hex.slice(2).toUpperCase()}`;
  const { from, nonce } = payload.authorization;
  return { ...payload, authorization: { ...payload.authorization, from: raise(from), nonce: raise(nonce) } };
};

t.test('the reason of a facilitator reaches a caller as a token, and its doubts about us as 503', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const [call] = await offersFor(url);
  const buyer = await world.newBuyer();
  const asked = async (reason: string, status: number): Promise<Answer> => {
    world.faults([{ on: 'verify', at: 'before', does: 'refuse', reason, status }]);
    return send(url, withPayment(await sign(buyer, call as never), CALL));
  };
  for (const status of [200, 400]) {
    isRefusal(t, await asked('the_moon_is_full', status), 'facilitator_refused: the_moon_is_full');
    isRefusal(t, await asked('Error: http://10.0.0.7:8545 said\nno', status), 'facilitator_refused: unspecified');
    isRefusal(t, await asked('invalid_exact_evm_insufficient_balance', status), 'insufficient_funds');
    const unread = 'invalid_exact_evm_failed_to_parse_signature';
    isRefusal(t, await asked(unread, status), 'invalid_exact_evm_payload_signature');
    for (const reason of ['invalid_exact_evm_token_name_mismatch', 'unexpected_verify_error']) {
      t.equal(readErrorCode(await asked(reason, status)), 'UNAVAILABLE', reason);
    }
  }
  for (const reason of ['constructor', '__proto__', 'toString', '', undefined])
    t.match(readReason(reason), { refused: /^facilitator_refused: / });
  t.same(await readLedger(pool), []);
});
