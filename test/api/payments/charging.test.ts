// The cost of a payment in every outcome of the interface's charging table, on a real chain, facilitator and PostgreSQL (P-02 to P-05, P-08).
import t from 'tap';
import {
  offersFor,
  readErrorCode,
  readLedger,
  send,
  settledLedger,
  sign,
  startPaidApi,
  toHeader,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';

const CALL = { body: { where: 'base = BTC', layers: ['mark'] } };
const NO_CHARGE: readonly string[] = [];

t.test('the charging table, row by row', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const [call, mini] = await offersFor(url);
  if (call === undefined || mini === undefined) throw new Error('nothing is offered');
  /** A buyer whose payment is the only one of its row: what it was charged is its balance. */
  const buyer = async () => {
    const account = await world.newBuyer();
    const before = await world.balanceOf(account.address);
    const charged = async (): Promise<readonly string[]> => {
      await settledLedger(pool, account.address);
      const spent = before - (await world.balanceOf(account.address));
      return spent === 0n ? NO_CHARGE : [String(spent)];
    };
    return { account, charged };
  };

  await t.test('200: once, after the answer, without PAYMENT-RESPONSE', async (t) => {
    const { account, charged } = await buyer();
    const answer = await send(url, withPayment(await sign(account, call), CALL));
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('payment-response'), null);
    t.match(answer.body, { items: [{}], receipt_id: /^rcp_/ });
    t.same(await charged(), ['5000']);
    t.match(await readLedger(pool, account.address), [
      { state: 'settled', class: 'snapshots', plan: null, amount: '5000', receipt_id: answer.body.receipt_id },
    ]);
  });

  await t.test('200 with X-PAYMENT, and PAYMENT-SIGNATURE before it (P-08)', async (t) => {
    const { account, charged } = await buyer();
    const paid = toHeader(await sign(account, call));
    t.equal((await send(url, { ...CALL, headers: { 'x-payment': paid } })).status, 200);
    const both = { 'payment-signature': toHeader(await sign(account, call)), 'x-payment': 'nonsense' };
    t.equal((await send(url, { ...CALL, headers: both })).status, 200);
    t.same(await charged(), ['10000']);
  });

  await t.test('400 PAYMENT_MALFORMED: nothing; the hint for version 1 is to use 2', async (t) => {
    const { account, charged } = await buyer();
    const payment = await sign(account, call);
    for (const header of ['x-payment', 'payment-signature']) {
      const answer = await send(url, { ...CALL, headers: { [header]: toHeader({ ...payment, x402Version: 1 }) } });
      t.equal(readErrorCode(answer), 'PAYMENT_MALFORMED');
      t.match(answer, { status: 400, body: { errors: [{ message: 'Use x402 version 2.' }] } });
    }
    t.same(await charged(), NO_CHARGE);
  });

  await t.test('402 that names what is wrong: nothing', async (t) => {
    const { account, charged } = await buyer();
    const answer = await send(url, withPayment(await sign(account, call, { value: '4999' }), CALL));
    t.match(answer, { status: 402, body: { error: /value_mismatch$/, errors: [{ message: /value_mismatch$/ }] } });
    t.same(await charged(), NO_CHARGE);
  });

  await t.test('429 of payments unsettled: the fourth waits, and is good when one is settled', async (t) => {
    const { account, charged } = await buyer();
    world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
    const payments = await Promise.all([1, 2, 3, 4].map(() => sign(account, call)));
    for (const payment of payments.slice(0, 3)) t.equal((await send(url, withPayment(payment, CALL))).status, 200);
    const fourth = withPayment(payments[3], CALL);
    const waits = await send(url, fourth);
    t.equal(waits.status, 429);
    t.equal(waits.headers.get('retry-after'), '5');
    t.equal(waits.headers.get('x-service-limit'), 'x402_unpaid_in_flight_per_payer');
    world.faults([]);
    await settledLedger(pool, account.address);
    t.equal((await send(url, fourth)).status, 200);
    t.same(await charged(), ['20000']);
  });

  await t.test('503 of a facilitator that is away: nothing, and the same payment is good later', async (t) => {
    const { account, charged } = await buyer();
    const paid = withPayment(await sign(account, call), CALL);
    await world.stopFacilitator();
    const away = await send(url, paid);
    t.equal(readErrorCode(away), 'UNAVAILABLE');
    t.equal(away.headers.get('retry-after'), '5');
    await world.startFacilitator();
    t.same(await charged(), NO_CHARGE);
    t.equal((await send(url, paid)).status, 200);
    t.same(await charged(), ['5000']);
  });

  await t.test("the endpoint's own 400: nothing, nothing is verified, and the same payment is good", async (t) => {
    const { account, charged } = await buyer();
    const payment = await sign(account, call);
    const calls = world.facilitator().calls.verify;
    const wrong = [{ layers: ['nothing'] }, { where: 'venue = nowhere' }, { freshness: { mark: '0s' } }];
    for (const body of wrong) t.equal((await send(url, withPayment(payment, { body }))).status, 400);
    t.equal((await send(url, withPayment(payment, { body: 'no json' }))).status, 400);
    const cheap = await sign(account, call, { value: '1' });
    t.equal(
      readErrorCode(await send(url, withPayment(cheap, { body: { layers: ['nothing'] } }))),
      'DQL_JSON_SCHEMA',
      '6 before 9',
    );
    t.equal(world.facilitator().calls.verify, calls, 'a wrong request never locks a payment');
    t.same(await readLedger(pool, account.address), []);
    t.equal((await send(url, withPayment(payment, CALL))).status, 200);
    t.same(await charged(), ['5000']);
    t.equal(
      readErrorCode(await send(url, withPayment(payment, { body: 'no json' }))),
      'PAYMENT_REQUIRED',
      '4 before 6',
    );
  });

  await t.test('5xx of the endpoint: nothing, and the payment may be presented again', async (t) => {
    const { account, charged } = await buyer();
    const path = '/v2/candles';
    const [candles] = await offersFor(url, { path });
    const body = { where: 'base = BTC', timeframe: '1m', from: '2026-01-15T11:00:00Z', to: '2026-01-15T11:10:00Z' };
    const paid = withPayment(await sign(account, candles as never), { path, body });
    for (let i = 0; i < 2; i++) t.equal((await send(url, paid)).status, 503, 'no store of history');
    t.same(await readLedger(pool, account.address), []);
    t.same(await charged(), NO_CHARGE);
  });

  await t.test('HEAD takes no payment, and a key decides over one', async (t) => {
    const { account, charged } = await buyer();
    const payment = await sign(account, call);
    const path = '/v2/archive/binance%3ABTCUSDT/mark/2026-01-10';
    t.equal((await send(url, withPayment(payment, { path, method: 'HEAD' }))).status, 404);
    const keyed = withPayment(payment, { ...CALL, headers: { authorization: 'Bearer x' } });
    t.equal((await send(url, keyed)).status, 401);
    t.same(await charged(), NO_CHARGE);
  });

  await t.test('a settlement that fails after the answer: nothing, and the payment is used up', async (t) => {
    const account = await world.newBuyer(5_000n);
    const paid = await Promise.all([1, 2].map(() => sign(account, call)));
    world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
    const answers = await Promise.all(paid.map((payment) => send(url, withPayment(payment, CALL))));
    t.same(
      answers.map(({ status }) => status),
      [200, 200],
      'each is good alone while neither is settled',
    );
    world.faults([]);
    const rows = await settledLedger(pool, account.address);
    t.same(rows.map(({ state }) => state).sort(), ['failed', 'settled']);
    t.equal(await world.balanceOf(account.address), 0n);
    const again = await send(url, withPayment(paid[0], CALL));
    t.match(again, { status: 402, body: { error: 'already_presented' } });
  });

  const { rows } = await pool.query<{ sum: string; count: string }>('select sum(amount), count(*) from payment_ledger');
  t.equal(await world.balanceOf(world.payTo), BigInt(rows[0]?.sum ?? 0), 'the ledger is what the receiver has');
  await t.rejects(pool.query('delete from payment_ledger'), /only ever added/);
  await t.rejects(pool.query('update payment_ledger set amount = 0'), /only ever added/);
});
