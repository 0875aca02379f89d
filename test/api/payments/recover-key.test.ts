// A lost key is replaced for the holder of the wallet that paid, and for nobody else (P-06).
import t from 'tap';
import { linkKey } from '../../../api/accounts/link-key.ts';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import { type Recovery, recoverKey, writeRecoveryMessage } from '../../../api/payments/recover-key.ts';
import { offersFor, send, sign, startPaidApi, withPayment } from '../../support/apps/paid-api.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';

const BASE_URL = 'http://api.test';

t.test('a lost key is replaced once a signed message, with the same expiry', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const [, mini] = await offersFor(url);
  const buyer = await world.newBuyer();
  const { body } = await send(url, withPayment(await sign(buyer, mini as never)));
  const { purchase, settlement } = body as { purchase: Record<string, string>; settlement: { transaction: string } };
  const { transaction } = settlement;
  const chain = openPaymentChain(world.rpcUrl);
  const [nowMs, minute] = [Date.now(), 60_000];
  const signed = async (account: typeof buyer, ageMs: number, over: Partial<Recovery> = {}): Promise<Recovery> => {
    const issued = { transaction, issuedAt: new Date(nowMs - ageMs).toISOString(), account: 'owner@example.com' };
    const signature = await account.signMessage({ message: writeRecoveryMessage(BASE_URL, { ...issued, ...over }) });
    return { ...issued, payer: buyer.address, signature, ...over };
  };
  const recover = async (recovery: Recovery) => recoverKey(recovery, { pool, chain, baseUrl: BASE_URL, nowMs });
  const answerTo = async (key = ''): Promise<number> =>
    (await send(url, { body: { layers: ['mark'] }, headers: { authorization: `Bearer ${key}` } })).status;

  const stranger = await world.newBuyer();
  t.equal(await recover(await signed(stranger, minute)), null, 'another wallet');
  t.equal(
    await recover(await signed(stranger, minute, { payer: stranger.address })),
    null,
    'a wallet that paid nothing',
  );
  t.equal(await recover(await signed(buyer, 11 * minute)), null, 'an old message');
  t.equal(await recover(await signed(buyer, -minute)), null, 'a message of the future');
  t.equal(await recover({ ...(await signed(buyer, minute)), issuedAt: 'yesterday' }), null);
  t.equal(await recover({ ...(await signed(buyer, minute)), signature: '0x12' }), null);
  t.equal(await recover({ ...(await signed(buyer, minute)), transaction: `0x${'1'.repeat(64)}` }), null);
  const elsewhere = { ...(await signed(buyer, minute)), account: 'stranger@example.com' };
  t.equal(await recover(elsewhere), null, 'a message of another account');
  t.equal(await answerTo(purchase['key']), 200, 'until then the key is good');

  const recovery = await signed(buyer, minute);
  const [first, second] = await Promise.all([recover(recovery), recover(recovery)]);
  const replaced = first ?? second;
  t.ok(first === null || second === null, 'a message is good once');
  t.match(replaced, { plan: 'mini', key: /^sk_/, transaction });
  t.equal(replaced?.expiresAt.toISOString(), purchase['expires_at']);
  t.equal(await answerTo(replaced?.key), 200);
  const { rows } = await pool.query('select revoked_at from api_keys where key_id = $1', [purchase['key_id']]);
  t.match(rows, [{ revoked_at: Date }], 'the lost one is revoked');
  t.equal(await recover(await signed(buyer, 2 * minute)), null, 'no older message after it');
  t.match(await recover(await signed(buyer, 0)), { key: /^sk_/ }, 'a newer one is');
  await pool.query("insert into accounts (account_id, email) values ('acc_owner', 'owner@example.com')");
  const deps = { pool, chain, baseUrl: BASE_URL, nowMs: nowMs + 10 };
  const linked = await linkKey(await signed(buyer, -5), 'acc_owner', deps);
  t.match(linked, { plan: 'mini', key: /^sk_/, transaction });
  t.match(
    (
      await pool.query("select best_plan('acc_owner') as plan, account_id from api_keys where key_id = $1", [
        linked?.keyId,
      ])
    ).rows,
    [{ plan: 'mini', account_id: 'acc_owner' }],
    'the key is of the account, whose plan it is',
  );
  t.equal(await linkKey(await signed(buyer, -5), 'acc_owner', deps), null, 'the message was used');
  await pool.query("update api_keys set expires_at = now() - interval '1 second'");
  t.equal(
    await recoverKey(await signed(buyer, -20), { pool, chain, baseUrl: BASE_URL, nowMs: nowMs + 30 }),
    null,
    'expired',
  );
});
