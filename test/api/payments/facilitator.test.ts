// The facilitator over HTTP with answers of every shape: neither call rejects, and what is unclear is no refusal.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openFacilitator, type Settleable } from '../../../api/payments/facilitator.ts';

const PAYMENT = { payload: {}, offer: {} } as unknown as Settleable;

const startFacilitator = async (t: { teardown: (end: () => void) => void }) => {
  let answer: { status: number; body: unknown } = { status: 200, body: {} };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const facilitator = openFacilitator(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {});
  const answers = (status: number, body: unknown): void => {
    answer = { status, body };
  };
  return { facilitator, answers };
};

t.test('a refusal whose members are null or no texts is unclear, as one without them is', async (t) => {
  const { facilitator, answers } = await startFacilitator(t);
  for (const body of [
    { success: false, errorReason: null, transaction: null },
    { success: false, errorReason: 'insufficient_funds', transaction: 7 },
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
