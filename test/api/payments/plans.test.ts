// Plans bought with USDC: settled before the answer, the key delivered once, with a failure at any point (P-06).
import t from 'tap';
import type { Offer } from '../../../api/payments/offers.ts';
import {
  type Answer,
  offersFor,
  readErrorCode,
  readLedger,
  send,
  sign,
  startPaidApi,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { type PaymentWorld, startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

type Purchase = {
  readonly purchase: {
    readonly plan: string;
    readonly key: string;
    readonly key_id: string;
    readonly expires_at: string;
  };
  readonly settlement: Readonly<Record<string, unknown>>;
  readonly receipt_id: string;
};
const toPurchase = ({ body }: Answer): Purchase => body as unknown as Purchase;

const readSettlement = ({ headers }: Answer): unknown => {
  const header = headers.get('payment-response');
  return header === null ? null : JSON.parse(Buffer.from(header, 'base64').toString());
};

const planOffer = async (url: string, plan: string): Promise<Offer> => {
  const found = (await offersFor(url)).find(({ extra }) => extra.kind === 'plan' && extra.plan === plan);
  if (found === undefined) throw new Error(`${plan} is not offered`);
  return found;
};

const isGood = async (url: string, key: string): Promise<number> =>
  (await send(url, { body: { layers: ['mark'] }, headers: { authorization: `Bearer ${key}` } })).status;

const bought = async (t: Tap, world: PaymentWorld) => {
  const api = await startPaidApi(t, world);
  return { ...api, mini: await planOffer(api.url, 'mini'), buyer: await world.newBuyer() };
};
type Tap = Parameters<typeof startPaidApi>[0];

t.test('each plan is sold on any payable endpoint, without a look at the request', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  for (const [plan, path, amount] of [
    ['mini', '/v2/snapshots', '9000000'],
    ['standard', '/v2/candles', '29000000'],
    ['pro', '/v2/screen', '99000000'],
    ['pro_plus', '/v2/snapshots/history', '249000000'],
    ['mini', '/v2/agent/state?rule_id=none', '9000000'],
  ] as const) {
    const buyer = await world.newBuyer();
    const request = path.includes('?') ? { path, method: 'GET' } : { path, body: 'no json' };
    const payment = withPayment(await sign(buyer, await planOffer(url, plan)), request);
    const answer = await send(url, payment);
    t.equal(answer.status, 200, plan);
    const { purchase, settlement, receipt_id } = toPurchase(answer);
    t.match(purchase, { plan, key: /^sk_[0-9A-Za-z]{36}$/, key_id: /^key_[0-9A-HJKMNP-TV-Z]{26}$/ });
    const days = (Date.parse(purchase.expires_at) - Date.now()) / 86_400_000;
    t.ok(days > 29.9 && days <= 30, `${days} days`);
    t.match(settlement, { success: true, transaction: /^0x[0-9a-f]{64}$/, payer: buyer.address.toLowerCase() });
    t.same(readSettlement(answer), settlement);
    t.equal(answer.headers.get('cache-control'), 'no-store');
    t.match(await readLedger(pool, buyer.address), [
      { state: 'settled', plan, class: null, amount, receipt_id, transaction: settlement.transaction },
    ]);
    t.equal(await isGood(url, purchase.key), 200);
    // That it was delivered is noted after the answer.
    const again = await repeat(url, payment);
    t.match(again, { status: 402, body: { error: 'already_presented' } }, 'delivered once');
    t.equal(await world.balanceOf(buyer.address), 1_000_000_000n - BigInt(amount));
  }
  const { rows } = await pool.query<{ text: string }>(
    'select (k, q)::text as text from api_keys k join plan_purchases q using (key_id)',
  );
  t.equal(rows.length, 5);
  for (const { text } of rows) t.notMatch(text, /sk_[0-9A-Za-z]{36}/, 'no key is stored');
});

t.test('an outcome that is unknown answers 503 until it is known, then the key; it is paid once', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool, mini, buyer } = await bought(t, world);
  const payment = withPayment(await sign(buyer, mini));
  world.faults([{ on: 'settle', at: 'after', does: 'drop' }]);
  const first = await send(url, payment);
  const answer = first.status === 200 ? first : await repeat(url, payment);
  t.equal(await isGood(url, toPurchase(answer).purchase.key), 200);
  t.equal(await world.balanceOf(buyer.address), 991_000_000n);
  t.equal((await readLedger(pool, buyer.address)).length, 1);
});

/** Repeats the same payment until the answer is other than "not yet". */
const repeat = (url: string, payment: Parameters<typeof send>[1]): Promise<Answer> =>
  waitFor('the outcome is known', async () => {
    const answer = await send(url, payment);
    if (answer.status === 503 && answer.headers.get('retry-after') !== '5') throw new Error('503 without Retry-After');
    return answer.status === 503 ? null : answer;
  });

t.test('a settle call that never reached the chain is retried', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, mini, buyer } = await bought(t, world);
  const payment = withPayment(await sign(buyer, mini));
  world.faults([{ on: 'settle', at: 'before', does: 'fail', status: 500, times: 2 }]);
  const first = await send(url, payment);
  t.equal(readErrorCode(first), 'UNAVAILABLE');
  t.equal(first.headers.get('payment-required'), null, 'never a new challenge');
  t.equal(await isGood(url, toPurchase(await repeat(url, payment)).purchase.key), 200);
  t.equal(await world.balanceOf(buyer.address), 991_000_000n);
});

t.test('a settlement that is refused is a 402 with its reason, and no key', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool, mini, buyer } = await bought(t, world);
  world.faults([{ on: 'settle', at: 'before', does: 'refuse', reason: 'insufficient_funds' }]);
  const answer = await send(url, withPayment(await sign(buyer, mini)));
  t.equal(answer.status, 402);
  t.match(answer.body, { error: 'insufficient_funds', accepts: [{}] });
  const payer = buyer.address.toLowerCase();
  const failed = { success: false, errorReason: 'insufficient_funds', transaction: '', network: 'eip155:8453', payer };
  t.same(readSettlement(answer), failed);
  t.match(await readLedger(pool, buyer.address), [{ state: 'failed' }]);
  t.equal((await pool.query('select 1 from api_keys')).rowCount, 0);
});

t.test('of many who bring one payment for a plan, one gets the key and the payer pays once', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool, mini, buyer } = await bought(t, world);
  const payment = withPayment(await sign(buyer, mini));
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(url, payment)));
  t.equal(answers.filter(({ status }) => status === 200).length, 1);
  t.same(
    [...new Set(answers.map(({ status }) => status))].filter((status) => ![200, 402, 503].includes(status)),
    [],
  );
  t.equal(await world.balanceOf(buyer.address), 991_000_000n);
  t.equal((await pool.query('select 1 from api_keys')).rowCount, 1);
});

t.test(
  'who brings a payment for a plan while another request pays with it is to repeat it, and to sign no new one',
  async (t) => {
    const world = await startPaymentWorld(t);
    const { url, pool, mini, buyer } = await bought(t, world);
    const payment = withPayment(await sign(buyer, mini));
    world.faults([{ on: 'verify', at: 'before', does: 'hold' }]);
    // Connections that are open already answer all of them at once.
    await Promise.all(Array.from({ length: 10 }, () => pool.query('select pg_sleep(0.1)')));
    const sent = Array.from({ length: 5 }, () => send(url, payment));
    await waitFor('one of them is verified', () => world.facilitator().faults.held() === 1);
    let left = 5;
    for (const one of sent) void one.then(() => left--);
    await waitFor('the others are answered', () => left === 1);
    world.faults([]);
    const answers = await Promise.all(sent);
    t.same(answers.map(({ status }) => status).sort(), [200, 503, 503, 503, 503]);
    for (const { status, headers } of answers) if (status === 503) t.equal(headers.get('payment-required'), null);
  },
);

t.test('a key that was not delivered is replaced by the next who brings its payment, once', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool, mini, buyer } = await bought(t, world);
  const signed = await sign(buyer, mini);
  const payment = withPayment(signed);
  const lost = toPurchase(await send(url, payment)).purchase;
  await waitFor(
    'it is noted',
    async () => (await pool.query('select 1 from plan_purchases where delivered_at is not null')).rows[0],
  );
  await pool.query('update plan_purchases set delivered_at = null, claimed_by = null, claimed_until = null');
  const forged = JSON.parse(JSON.stringify(signed)) as typeof signed;
  forged.payload.signature = `0x${'1'.repeat(130)}`;
  t.equal((await send(url, withPayment(forged))).status, 402, 'who did not pay gets no key');
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(url, payment)));
  const whole = answers.filter(({ status }) => status === 200);
  t.equal(whole.length, 1);
  const { purchase } = toPurchase(whole[0] as Answer);
  t.not(purchase.key, lost.key);
  t.equal(purchase.expires_at, lost.expires_at);
  t.equal(await isGood(url, purchase.key), 200);
  t.equal(await isGood(url, lost.key), 401, 'the one that nobody has is revoked');
  const noted = async () => (await pool.query('select 1 from plan_purchases where delivered_at is not null')).rows[0];
  await waitFor('the other one is noted', noted);
  // Its process died as it delivered, and then the clock of the database was set back by an hour (D-1046).
  await pool.query("update plan_purchases set delivered_at = null, claimed_until = now() + interval '1 hour'");
  t.equal((await send(url, payment)).status, 200, 'no claim lasts longer than a claim');
});
