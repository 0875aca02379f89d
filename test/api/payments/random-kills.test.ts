// An API process killed at random instants, facilitator and chain with it: no double charge, no paid and undelivered (P-04, P-06).
// TAP_TIMEOUT=0 PAYMENT_KILLS=200 node test/api/payments/random-kills.test.ts by hand; the seed is in the title, PAYMENT_SEED repeats it.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { PrivateKeyAccount } from 'viem/accounts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import {
  type Answer,
  inSeconds,
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

const ROUNDS = Number(process.env['PAYMENT_KILLS'] ?? 1);
const SEED = Number(process.env['PAYMENT_SEED'] ?? 24);
/** Payments of a round: every third buys a plan, every other is good for as long as a payment may be. */
const PAYMENTS = 6;
const CALL: Sent = { body: { layers: ['mark'] } };

type Paid = {
  readonly buyer: PrivateKeyAccount;
  readonly isPlan: boolean;
  readonly payment: Sent;
  readonly answers: Answer[];
};

t.test(`${ROUNDS} rounds of kills, PAYMENT_SEED=${SEED}`, { timeout: 10_800_000 }, async (t) => {
  const { world, pool, start } = await startService(t);
  const random = createRandom(SEED).next;
  const lasting = await start('lasting');
  const offers = await offersFor(lasting.baseUrl, CALL);
  const seen = { paid: 0, unpaid: 0, mostSeconds: 0 };

  const bring = async (paid: Paid, url: string): Promise<Answer | null> => {
    const answer = await send(url, paid.payment).catch(() => null);
    if (answer?.status === 200) paid.answers.push(answer);
    return answer;
  };
  /** A paid answer arrives; an unpaid one costs nothing. */
  const check = async (t: Test, { buyer, isPlan, answers }: Paid): Promise<void> => {
    const spent = 1_000n * DOLLAR - (await world.balanceOf(buyer.address));
    const rows = (await readLedger(pool, buyer.address)).filter(({ state }) => state === 'settled');
    const price = isPlan ? 9n * DOLLAR : 5_000n;
    t.equal(spent, BigInt(rows.length) * price, 'the ledger is what the chain shows', { rows });
    t.ok(rows.length <= 1, 'nobody pays twice');
    for (const { receipt_id } of rows) {
      t.ok(
        answers.some(({ body }) => body.receipt_id === receipt_id),
        'what was paid was delivered',
      );
    }
    if (isPlan) t.ok(answers.length === 0 || rows.length === 1, 'a key was paid for');
    else seen.unpaid += Math.max(0, answers.length - rows.length);
    seen.paid += rows.length;
  };

  for (let round = 0; round < ROUNDS; round++) {
    const node = await start(`killed-${round}`);
    const payments: Paid[] = [];
    for (let i = 0; i < PAYMENTS; i++) {
      const [buyer, isPlan] = [await world.newBuyer(), i % 3 === 2];
      const validBefore = inSeconds(i % 2 === 0 ? 60 : 350);
      const payment = withPayment(
        await sign(buyer, findOffer(offers, isPlan ? 'plan' : 'call'), { validBefore }),
        CALL,
      );
      payments.push({ buyer, isPlan, payment, answers: [] });
    }
    const asked = payments.map(async (paid) => {
      await pause(random() * 200);
      await bring(paid, node.baseUrl);
    });
    const kind = round % 3;
    await pause(random() * 300);
    if (kind === 1) await world.stopFacilitator();
    if (kind === 2) await world.holdChain();
    await pause(random() * 100);
    await node.child.kill();
    await Promise.all(asked);
    if (kind === 1) await world.startFacilitator();
    if (kind === 2) await world.restartChain();
    const backMs = performance.now();
    await Promise.all(
      payments.map((paid) =>
        waitFor(
          'a payment is decided',
          async () => {
            const answer = await bring(paid, lasting.baseUrl);
            return answer !== null && answer.status !== 503;
          },
          { everyMs: 300 },
        ),
      ),
    );
    await settledLedger(pool);
    const seconds = (performance.now() - backMs) / 1_000;
    seen.mostSeconds = Math.max(seen.mostSeconds, seconds);
    t.comment(`round ${round}, kind ${kind}: decided and settled ${seconds.toFixed(1)} s after all was back`);
    for (const paid of payments) await check(t, paid);
  }
  t.comment(
    `${seen.paid} paid, each once and delivered; ${seen.unpaid} answers whose process died before they were noted`,
  );
  t.comment(`everything decided within ${seen.mostSeconds.toFixed(1)} s`);
});
