// Payments over two API processes that share a database: no payment is charged twice, and no answer is unpaid except after a kill (P-04).
import t from 'tap';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  type Answer,
  offersFor,
  readLedger,
  type Sent,
  send,
  settledLedger,
  sign,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { DOLLAR } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';
import { findOffer, startService } from './paid-nodes.ts';

const CALL: Sent = { body: { layers: ['mark'] } };
/** Presentations of one authorisation at once. */
const AT_ONCE = 200;

/** The answer, or null when the process died over it. */
const sent = (url: string, what: Sent): Promise<Answer | null> => send(url, what).catch(() => null);

/** Brings the same payment until it is decided. */
const bringUntilDecided = (url: string, payment: Sent): Promise<Answer> =>
  waitFor(
    'the payment is decided',
    async () => {
      const answer = await sent(url, payment);
      return answer === null || answer.status === 503 ? null : answer;
    },
    { everyMs: 200 },
  );

t.test('two processes take each payment once', { timeout: 600_000 }, async (t) => {
  const { world, pool, start } = await startService(t);
  const [one, two] = await Promise.all([start('one'), start('two')]);
  const offers = await offersFor(one.baseUrl, CALL);
  const [call, mini] = [findOffer(offers, 'call'), findOffer(offers, 'plan')];

  await t.test('one authorisation presented 200 times at once: one answer, one charge', async (t) => {
    const buyer = await world.newBuyer();
    const payment = withPayment(await sign(buyer, call), CALL);
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => send((i % 2 === 0 ? one : two).baseUrl, payment)),
    );
    const [ok, other] = [
      answers.filter(({ status }) => status === 200),
      answers.filter(({ status }) => status !== 200),
    ];
    t.same(
      [...new Set(other.map(({ status }) => status))].filter((status) => ![402, 429, 503].includes(status)),
      [],
    );
    // With 200 on a busy machine the first one may have waited too long: then it cost nothing.
    if (ok.length === 0) ok.push(await bringUntilDecided(two.baseUrl, payment));
    t.equal(ok.length, 1);
    t.match(await settledLedger(pool, buyer.address), [{ state: 'settled', receipt_id: ok[0]?.body.receipt_id }]);
    t.equal(await world.balanceOf(buyer.address), 1_000n * DOLLAR - 5_000n);
  });

  await t.test('of many payments of one payer at once, over both processes, three are answered', async (t) => {
    const buyer = await world.newBuyer();
    world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
    const payments = await Promise.all(Array.from({ length: 12 }, () => sign(buyer, call)));
    const answers = await Promise.all(
      payments.map((payment, i) => send((i % 2 === 0 ? one : two).baseUrl, withPayment(payment, CALL))),
    );
    t.same(answers.map(({ status }) => status).sort(), [
      ...Array.from({ length: 3 }, () => 200),
      ...Array.from({ length: 9 }, () => 429),
    ]);
    world.faults([]);
    t.equal((await settledLedger(pool, buyer.address)).length, 3);
    t.equal(await world.balanceOf(buyer.address), 1_000n * DOLLAR - 15_000n);
  });

  await t.test('a kill between any two states: nobody pays twice, and what was paid is delivered', async (t) => {
    const buyers: PrivateKeyAccount[] = [];
    for (let i = 0; i < 5; i++) buyers.push(await world.newBuyer());
    const [held, unsent, sentOff, unsentPlan, sentPlan] = await Promise.all(
      buyers.map(async (buyer, i) => withPayment(await sign(buyer, i < 3 ? call : mini), CALL)),
    );
    world.faults([
      { on: 'verify', at: 'before', does: 'hold', times: 1 },
      { on: 'settle', at: 'before', does: 'hold', times: 2 },
      { on: 'settle', at: 'after', does: 'hold', times: 2 },
    ]);
    const waiting = (count: number) =>
      waitFor(`${count} calls of the facilitator are held`, () => world.facilitator().faults.held() === count);
    const answers: Promise<Answer | null>[] = [];
    for (const [i, payment] of [held, unsent, unsentPlan, sentOff, sentPlan].entries()) {
      answers.push(sent(one.baseUrl, payment as Sent));
      await waiting(i + 1);
    }
    await one.child.kill();
    const [, served, , servedToo] = await Promise.all(answers);
    t.same([served?.status, servedToo?.status], [200, 200]);
    world.faults([]);
    const { baseUrl } = two;
    for (const plan of [unsentPlan, sentPlan]) {
      const { status, body } = await bringUntilDecided(baseUrl, plan as Sent);
      t.match({ status, body }, { status: 200, body: { purchase: { key: /^sk_/ } } });
    }
    for (const answered of [unsent, sentOff]) {
      t.match(await bringUntilDecided(baseUrl, answered as Sent), {
        status: 402,
        body: { error: 'already_presented' },
      });
    }
    await waitFor(
      'what was not answered may be presented again',
      async () => (await send(baseUrl, held as Sent)).status === 200,
      { everyMs: 1_000 },
    );
    await settledLedger(pool);
    const spent = await Promise.all(
      buyers.map(async ({ address }) => 1_000n * DOLLAR - (await world.balanceOf(address))),
    );
    t.same(spent, [5_000n, 5_000n, 5_000n, 9n * DOLLAR, 9n * DOLLAR]);
    for (const { address } of buyers) t.match(await readLedger(pool, address), [{ state: 'settled' }]);
    const { rows } = await pool.query<{ sum: string }>('select sum(amount) from payment_ledger');
    t.equal(await world.balanceOf(world.payTo), BigInt(rows[0]?.sum ?? 0));
  });
});
