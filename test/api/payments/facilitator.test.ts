// The facilitator over HTTP with answers of every shape: neither call rejects, and what is unclear is no refusal.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openFacilitator, type Settleable } from '../../../api/payments/facilitator.ts';

const PAYER = `0x${'1b'.repeat(20)}`;
const PAYMENT = {
  payload: { authorization: { from: PAYER } },
  offer: { network: 'eip155:8453', amount: '5000' },
} as unknown as Settleable;

const startFacilitator = async (t: { teardown: (end: () => void) => void }) => {
  let answer = { status: 200, text: '{}' };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const facilitator = openFacilitator(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {});
  const answersText = (status: number, text: string): void => {
    answer = { status, text };
  };
  const answers = (status: number, body: unknown): void => answersText(status, JSON.stringify(body));
  return { facilitator, answers, answersText };
};

t.test('a refusal whose members are null or no texts is unclear, as one without them is', async (t) => {
  const { facilitator, answers } = await startFacilitator(t);
  for (const body of [
    { success: false, errorReason: null, transaction: null },
    { success: false, errorReason: 'insufficient_funds', transaction: 7 },
    { success: false, errorReason: 'insufficient_funds', transaction: { toString: 7 } },
    { success: false, errorReason: 'insufficient_funds', transaction: '', payer: [PAYER] },
    { success: false, errorReason: ['insufficient_funds'], transaction: '' },
    { success: false },
  ]) {
    answers(400, body);
    t.match(await facilitator.settle(PAYMENT), { is: 'unknown' }, JSON.stringify(body));
  }
  answers(400, { success: false, errorReason: 'insufficient_funds', transaction: null });
  t.match(await facilitator.settle(PAYMENT), { is: 'refused', reason: 'insufficient_funds' });
  for (const invalidReason of [null, 7, ['insufficient_funds']]) {
    answers(400, { isValid: false, invalidReason });
    const verdict = await facilitator.verify(PAYMENT);
    t.same(verdict, { refused: 'facilitator_refused: unspecified' }, JSON.stringify(invalidReason));
  }
});

const HASH = `0x${'ab'.repeat(32)}`;
const SENT = { success: true, transaction: HASH, network: 'eip155:8453', payer: PAYER };
/** Texts that are none of the protocol's answers, and answers that state no outcome. */
const UNREADABLE = ['', 'ok', '<html>', '{"success":', 'null', 'true', '[]', '{}', '"success"', '{"success":"true"}'];

t.test('an answer that cannot be read decides nothing, whatever its status', async (t) => {
  const { facilitator, answersText } = await startFacilitator(t);
  for (const status of [200, 204, 302, 400, 429, 500]) {
    for (const text of UNREADABLE) {
      answersText(status, status === 204 ? '' : text);
      t.equal(await facilitator.verify(PAYMENT), 'away', `verify: ${status} ${text}`);
      t.match(await facilitator.settle(PAYMENT), { is: 'unknown' }, `settle: ${status} ${text}`);
    }
  }
});

t.test('only 200 with a transaction is settled; a failure that may have been sent is unclear', async (t) => {
  const { facilitator, answers } = await startFacilitator(t);
  const settle = async (status: number, body: object) => {
    answers(status, body);
    return facilitator.settle(PAYMENT);
  };
  t.same(await settle(200, { ...SENT, transaction: HASH.toUpperCase().replace('0X', '0x') }), {
    is: 'settled',
    transaction: HASH,
  });
  for (const transaction of ['', '0x', HASH.slice(0, -1), `${HASH}0`, ` ${HASH}`, 'pending'])
    t.match(await settle(200, { ...SENT, transaction }), { is: 'unknown' }, `hash "${transaction}"`);
  for (const status of [400, 402, 409, 500, 503])
    t.match(await settle(status, SENT), { is: 'unknown' }, String(status));
  const refused = { success: false, errorReason: 'insufficient_funds', transaction: '', network: 'eip155:8453' };
  t.match(await settle(200, refused), { is: 'refused' });
  t.match(await settle(402, refused), { is: 'refused' });
  t.match(await settle(200, { ...refused, transaction: HASH }), { is: 'unknown' }, 'it was sent');
  t.match(await settle(500, refused), { is: 'unknown' }, 'a failure of the facilitator');
  for (const errorReason of [
    'invalid_exact_evm_nonce_already_used',
    'settlement_pending',
    'invalid_transaction_state',
    'anything',
  ])
    t.match(await settle(200, { ...refused, errorReason }), { is: 'unknown' }, errorReason);
});

t.test('an answer about another payer, network or amount is none about this payment', async (t) => {
  const { facilitator, answers } = await startFacilitator(t);
  const settle = async (status: number, body: object) => {
    answers(status, body);
    return facilitator.settle(PAYMENT);
  };
  const refused = { ...SENT, success: false, errorReason: 'insufficient_funds', transaction: '' };
  for (const other of [{ payer: `0x${'2b'.repeat(20)}` }, { network: 'eip155:84532' }, { amount: '4999' }]) {
    t.match(await settle(200, { ...SENT, ...other }), { is: 'unknown' }, `settled: ${JSON.stringify(other)}`);
    t.match(await settle(200, { ...refused, ...other }), { is: 'unknown' }, `refused: ${JSON.stringify(other)}`);
    // The library does not pass on the amount of a refusal with another status.
    const isSeen = !('amount' in other);
    if (isSeen)
      t.match(await settle(400, { ...refused, ...other }), { is: 'unknown' }, `400: ${JSON.stringify(other)}`);
  }
  for (const same of [
    { payer: `0x${'1B'.repeat(20)}`, amount: '5000' },
    { payer: null, amount: null },
    { payer: '', network: '', amount: '' },
  ]) {
    t.match(await settle(200, { ...SENT, ...same }), { is: 'settled' }, `settled: ${JSON.stringify(same)}`);
    t.match(await settle(400, { ...refused, ...same }), { is: 'refused' }, `refused: ${JSON.stringify(same)}`);
  }
});

t.test('only 200 with isValid is a good payment', async (t) => {
  const { facilitator, answers } = await startFacilitator(t);
  const verify = async (status: number, body: object) => {
    answers(status, body);
    return facilitator.verify(PAYMENT);
  };
  t.equal(await verify(200, { isValid: true, payer: `0x${'2'.repeat(40)}` }), null);
  for (const status of [400, 402, 500, 503]) t.not(await verify(status, { isValid: true }), null, String(status));
  t.equal(await verify(500, { isValid: false, invalidReason: 'insufficient_funds' }), 'away');
  t.same(await verify(400, { isValid: false, invalidReason: 'insufficient_funds' }), { refused: 'insufficient_funds' });
});
