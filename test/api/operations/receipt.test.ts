// GET /v2/receipts/{receipt_id}: payments as the ledger and the payments under way have them, in a real PostgreSQL (P-10).
import t from 'tap';
import { openReceipts } from '../../../api/payments/receipts.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

const PAYER = `0x${'ab'.repeat(20)}`;
const HASH = `0x${'12'.repeat(32)}`;
const makeReceiptId = (last: string): string => `rcp_01KEZ8G3M4T5V6W7X8Y9Z0A1B${last}`;

const LEDGER = `insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, settled_at)
  values ($1, '${HASH}', 'eip155:8453', '${PAYER}', $1, $2, $3, $4, $5, $5)`;
const PAYMENT = `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until)
  values ('${PAYER}', '${HASH}', 'unknown', $1, 'eip155:8453', '${PAYER}', 5000, 'screen', '{}', '{}', now(), now())`;

t.test('a receipt has what became of its payment; it needs no key and is not counted', async (t) => {
  const pool = await freshPool(t);
  const at = '2026-01-15T12:00:01.250Z';
  await pool.query(LEDGER, [makeReceiptId('1'), 5000, 'snapshots', null, at]);
  await pool.query(LEDGER, [makeReceiptId('2'), 29_000_000, null, 'standard', at]);
  await pool.query(PAYMENT, [makeReceiptId('3')]);
  const { app, table } = await testApp(market(), { receipts: openReceipts(pool) });
  t.teardown(() => app.close());
  const ask = async (receipt: string, headers = {}) => {
    const answer = await app.inject({ url: `/v2/receipts/${receipt}`, headers });
    return { status: answer.statusCode, body: answer.json() as object, headers: answer.headers };
  };
  const paid = { network: 'eip155:8453', payer: PAYER, transaction: HASH, settled_at: at, state: 'settled' };

  const call = await ask(makeReceiptId('1'));
  t.same(call.body, { receipt_id: makeReceiptId('1'), ...paid, amount: '5000', class: 'snapshots' });
  t.same(Object.keys(call.body).length, 8, 'nothing besides');
  t.equal(call.headers['cache-control'], 'no-store');
  t.match((await ask(makeReceiptId('2'))).body, { ...paid, amount: '29000000', class: 'standard' });
  t.match((await ask(makeReceiptId('3'))).body, {
    state: 'unknown',
    class: 'screen',
    transaction: null,
    settled_at: null,
  });
  const unknown = [makeReceiptId('4'), 'rcp_1', makeReceiptId('1').toLowerCase(), "rcp_' or 1=1"];
  for (const receipt of unknown) {
    const { status, body } = await ask(encodeURIComponent(receipt));
    t.match({ status, body }, { status: 404, body: { errors: [{ code: 'NOT_FOUND' }] } }, receipt);
  }

  const headers = { authorization: `Bearer ${table.add('free')}` };
  for (let asked = 0; asked < 100; asked++) t.equal((await ask(makeReceiptId('1'), headers)).status, 200);
  t.equal(
    (await ask(makeReceiptId('1'), { authorization: 'Bearer x' })).status,
    401,
    'a key that is sent decides (E-04)',
  );
});

t.test('without its database a receipt is unavailable', async (t) => {
  const gone = { query: () => Promise.reject(new Error('away')) } as unknown as Parameters<typeof openReceipts>[0];
  const { app } = await testApp(market(), { receipts: openReceipts(gone) });
  t.teardown(() => app.close());
  const answer = await app.inject(`/v2/receipts/${makeReceiptId('1')}`);
  t.equal(answer.statusCode, 503);
  t.ok(answer.headers['retry-after']);
});
