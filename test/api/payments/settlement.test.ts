// Settlements of one process over a real PostgreSQL, with answers of the database and of the facilitator that come late.
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import type { PaymentChain } from '../../../api/payments/chain.ts';
import { type Bid, openDesk } from '../../../api/payments/desk.ts';
import type { Facilitator, Settled } from '../../../api/payments/facilitator.ts';
import { decodePayment, type SignedPayment } from '../../../api/payments/header.ts';
import { listOffers, type Offer } from '../../../api/payments/offers.ts';
import { openPurchases } from '../../../api/payments/purchases.ts';
import { startSettlement } from '../../../api/payments/settlement.ts';
import { openPaymentStore } from '../../../api/payments/store.ts';
import type { Logger } from '../../../infra/runtime/process/log.ts';
import { TERMS } from '../../support/apps/live-fixture.ts';
import { toHeader } from '../../support/apps/paid-api.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { signPayment } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const PAYER = `0x${'bb'.repeat(20)}`;
const SERVE = /set state = .*'served'/;

/** A payment that was verified and is being answered, and the two outside services of its process. */
const serveOne = async (t: Teardown, pool: Pool) => {
  const late = Promise.withResolvers<Settled>();
  const errors: unknown[] = [];
  let calls = 0;
  const facilitator: Facilitator = {
    verify: async () => null,
    settle: () => {
      calls += 1;
      return late.promise;
    },
  };
  const log = { error: (...given: unknown[]) => errors.push(given), warn: () => undefined } as unknown as Logger;
  const [store, purchases, chain] = [openPaymentStore(pool), openPurchases(pool), {} as PaymentChain];
  const deps = { store, purchases, facilitator, chain, count: () => undefined, log };
  const settlement = startSettlement(deps);
  t.teardown(() => {
    late.resolve({ is: 'settled', transaction: HASH });
    return settlement.stop();
  });
  const desk = openDesk({ ...deps, settlement });
  const validBefore = Math.floor(Date.now() / 1_000) + 60;
  const payload = { authorization: { from: PAYER, nonce: `0x${'cc'.repeat(32)}`, validBefore: String(validBefore) } };
  const offer = { network: 'eip155:1', asset: PAYER, amount: '5000' } as unknown as Offer;
  const bid = { payment: { payload }, offers: [offer], receiptId: 'rcp_1' } as unknown as Bid;
  const { from: payer, nonce } = payload.authorization;
  const row = { payer, nonce, receiptId: 'rcp_1', class: 'snapshots', plan: null, offer, validBefore };
  await store.insert({ ...row, payload: payload as never });
  await store.verify('rcp_1');
  settlement.held.add('rcp_1');
  const readState = async (): Promise<string | undefined> =>
    (await pool.query<{ state: string }>('select state from payments')).rows[0]?.state;
  return {
    desk,
    bid,
    settlement,
    errors,
    readState,
    calls: () => calls,
    settled: () => late.resolve({ is: 'settled', transaction: HASH }),
  };
};

/** A database whose first answer to a statement comes when it is told, once everybody has ceased to wait for it. */
const answerLate = (pool: Pool, slow: RegExp, told: Promise<void>): Pool => {
  let isFirst = true;
  const query = async (text: string, values: unknown[]) => {
    const answer = await pool.query(text, values);
    if (!slow.test(text) || !isFirst) return answer;
    isFirst = false;
    await told;
    return answer;
  };
  return new Proxy(pool, { get: (whole, name) => (name === 'query' ? query : Reflect.get(whole, name, whole)) });
};

t.test(
  'an answer that is noted as served, which the process learns too late, is charged, and no alarm is raised',
  async (t) => {
    const pool = await freshPool(t);
    const answered = Promise.withResolvers<void>();
    const late = answerLate(pool, SERVE, answered.promise);
    const { desk, bid, errors, readState, calls, settled } = await serveOne(t, late);
    settled();
    await desk.end(bid, 'whole');
    answered.resolve();
    await waitFor('it is settled', async () => (await readState()) === 'settled');
    t.equal(calls(), 1);
    t.same(errors, []);
  },
);

t.test('a settlement keeps its lease when another run of the process finds it taken up', async (t) => {
  const pool = await freshPool(t);
  const { desk, bid, settlement, readState, calls, settled } = await serveOne(t, pool);
  const ended = desk.end(bid, 'whole');
  await waitFor('it is sent', () => calls() === 1);
  await settlement.settle('rcp_1');
  t.ok(settlement.held.has('rcp_1'));
  settled();
  await ended;
  t.notOk(settlement.held.has('rcp_1'));
  t.equal(await readState(), 'settled');
  t.equal(calls(), 1);
});

t.test(
  'a plan that another process settled meanwhile is not reported as failed, and its key is delivered (P-06)',
  async (t) => {
    const pool = await freshPool(t);
    const [store, purchases] = [openPaymentStore(pool), openPurchases(pool)];
    const receiptId = 'rcp_1';
    const facilitator: Facilitator = {
      verify: async () => null,
      settle: async () => {
        // The process had no database for longer than a lease.
        await store.doubt(receiptId);
        await purchases.settle(receiptId, HASH, null);
        return { is: 'refused', reason: 'insufficient_funds' };
      },
    };
    // A node that does not have the block of the settlement yet.
    const behind = { look: async () => ({ is: 'unused', isExpired: false }), canPay: async () => false };
    const log = { warn: () => undefined } as unknown as Logger;
    const chain = behind as unknown as PaymentChain;
    const deps = { store, purchases, facilitator, chain, count: () => undefined, log };
    const settlement = startSettlement(deps);
    t.teardown(() => settlement.stop());
    const desk = openDesk({ ...deps, settlement });
    const offers = listOffers(TERMS, { amount: 5_000, class: 'snapshots' });
    const plan = offers.find(({ extra }) => extra.kind === 'plan') as Offer;
    const signed = await signPayment(privateKeyToAccount(`0x${'1'.repeat(64)}`), plan as never);
    const payment = decodePayment(toHeader(signed)) as SignedPayment;
    const bid = { payment, offers, receiptId };
    t.same(await desk.buyPlan(bid), { is: 'unknown' });
    t.match(await desk.claimKey({ ...bid, receiptId: 'rcp_2' }), { plan: 'mini', transaction: HASH });
  },
);

t.test('three failed settlements of a day that are the payer’s fault block it for a day (P-05)', async (t) => {
  const pool = await freshPool(t);
  const store = openPaymentStore(pool);
  const fail = async (n: number, payersFault = true): Promise<boolean> => {
    await pool.query(
      `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until)
       values ($1, $2, 'settling', $3, 'eip155:1', $1, 5000, 'screen', '{}', '{}', now() - interval '1 hour', now())`,
      [PAYER, `0x${String(n).repeat(64)}`, `rcp_${n}`],
    );
    await store.fail(`rcp_${n}`, { reason: 'insufficient_funds', payersFault });
    return isBlocked();
  };
  const isBlocked = async (): Promise<boolean> => (await store.read({ payer: PAYER, nonce: HASH })).isBlocked;
  const readReceipts = async (): Promise<unknown[]> =>
    (await pool.query('select receipt_id as id from payments order by 1')).rows.map(({ id }) => id);
  t.equal(await fail(1), false);
  t.equal(await fail(2), false);
  t.equal(await fail(3, false), false, 'not a fault of the payer');
  await pool.query("update payments set ended_at = now() - interval '25 hours' where receipt_id = 'rcp_1'");
  t.equal(await fail(4), false, 'two within a day');
  await pool.query("update payments set ended_at = now() - interval '23 hours' where receipt_id = 'rcp_2'");
  await store.tidy();
  t.same(await readReceipts(), ['rcp_2', 'rcp_3', 'rcp_4'], 'failures are counted for a day');
  t.equal(await fail(5), true);
  t.equal((await store.read({ payer: `0x${'99'.repeat(20)}`, nonce: HASH })).isBlocked, false, 'others are not');
  const pass = (hours: number) =>
    pool.query('update blocked_payers set blocked_until = blocked_until - make_interval(hours => $1)', [hours]);
  await pass(23);
  await store.tidy();
  t.equal(await isBlocked(), true);
  await pass(1);
  t.equal(await isBlocked(), false);
  await store.tidy();
  t.equal((await pool.query('select from blocked_payers')).rowCount, 0);
});

t.test('an authorisation is remembered for ten minutes after its end (P-04)', async (t) => {
  const pool = await freshPool(t);
  for (const [n, state] of [
    [9, 'settled'],
    [11, 'settled'],
    [9, 'failed'],
    [11, 'served'],
  ] as const)
    await pool.query(
      `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until, ended_at, transaction, reason)
       values ($1, $2, $3, $4, 'eip155:1', $1, 5000, 'screen', '{}', '{}', now() - make_interval(mins => $5), now(), now() - interval '2 days', $6, 'r')`,
      [PAYER, `0x${createHash('sha256').update(`${n} ${state}`).digest('hex')}`, state, `${state} ${n}`, n, HASH],
    );
  await openPaymentStore(pool).tidy();
  const { rows } = await pool.query('select receipt_id as id from payments order by 1');
  t.same(
    rows.map(({ id }) => id),
    ['failed 9', 'served 11', 'settled 9'],
  );
});

t.test('a clock of the database that is set back holds up no payment of a process that ended (P-04)', async (t) => {
  const pool = await freshPool(t);
  const insert = (nonce: string, state: string, times: string) =>
    pool.query(
      `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until, checked_at)
       values ($1, $2, $3, $4, 'eip155:1', $1, 5000, 'screen', '{}', '{}', now() + interval '1 minute', ${times})`,
      [PAYER, `0x${nonce.repeat(64)}`, state, `rcp_${nonce}`],
    );
  await insert('1', 'settling', "now() + interval '1 hour', null");
  await insert('2', 'unknown', "now(), now() + interval '1 hour'");
  const store = openPaymentStore(pool);
  await store.tidy();
  const { rows } = await pool.query(
    "select lease_until < now() + interval '20 seconds' as ends from payments where receipt_id = 'rcp_1'",
  );
  t.same(rows, [{ ends: true }], 'a lease is never longer than a lease');
  t.same(
    (await store.takeUnknown(10)).map(({ receiptId }) => receiptId),
    ['rcp_2'],
    'the chain is asked',
  );
});

t.test(
  'a clock of the database that is set back blocks no payer for as long as the step was (P-05, D-1172)',
  async (t) => {
    const pool = await freshPool(t);
    const store = openPaymentStore(pool);
    const isBlocked = async (): Promise<boolean> => (await store.read({ payer: PAYER, nonce: HASH })).isBlocked;
    const fail = async (nonce: string): Promise<void> => {
      await pool.query(
        `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until)
       values ($1, $2, 'settling', $3, 'eip155:1', $1, 5000, 'screen', '{}', '{}', now(), now())`,
        [PAYER, `0x${nonce.repeat(64)}`, `rcp_${nonce}`],
      );
      await store.fail(`rcp_${nonce}`, { reason: 'insufficient_funds', payersFault: true });
    };
    for (const nonce of ['1', '2', '3']) await fail(nonce);
    const stepBack = async (days: number): Promise<void> => {
      await pool.query('update payments set ended_at = ended_at + make_interval(days => $1)', [days]);
      await pool.query(
        'update blocked_payers set blocked_at = blocked_at + make_interval(days => $1), blocked_until = blocked_until + make_interval(days => $1)',
        [days],
      );
    };
    await stepBack(40);
    await store.tidy();
    const read = async (text: string): Promise<unknown> => (await pool.query(text)).rows;
    t.equal(await isBlocked(), true);
    t.same(
      await read(
        // Both instants of a block are read from the clock by themselves, so they may be a microsecond further apart than a day.
        `select date_trunc('second', blocked_until - blocked_at) = interval '1 day' and blocked_at <= now() as is_for_a_day
         from blocked_payers`,
      ),
      [{ is_for_a_day: true }],
      'its block lasts as long as it was meant to, from now on',
    );
    t.same(
      await read('select count(*)::int as left from payments where ended_at > now()'),
      [{ left: 0 }],
      'its failures count for a day from now on',
    );
    // What an operator blocks for longer is as it was.
    await pool.query("update blocked_payers set blocked_at = now(), blocked_until = now() + interval '90 days'");
    await store.tidy();
    t.same(await read("select blocked_until > now() + interval '89 days' as is_kept from blocked_payers"), [
      { is_kept: true },
    ]);
  },
);

/** A payment that another process answers, and whose lease that process could not renew while the database was away. */
const openLapsed = async (t: Teardown) => {
  const pool = await freshPool(t);
  const nonce = `0x${'cc'.repeat(32)}`;
  await pool.query(
    `insert into payments (payer, nonce, state, receipt_id, network, asset, amount, class, offer, payload, valid_before, lease_until)
     values ($1, $2, 'verified', 'rcp_1', 'eip155:1', $1, 5000, 'screen', '{}', '{}', now() + interval '1 minute', now())`,
    [PAYER, nonce],
  );
  return { pool, store: openPaymentStore(pool), key: { payer: PAYER, nonce } };
};

/** A process that looks for what others left; while `state.isAway` the database does not answer it. */
const sweepBeside = (t: Teardown, pool: Pool, state = { isAway: false }) => {
  const [failed, swept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const query = async (text: string, values: unknown[]) => {
    if (state.isAway) throw new Error('connection refused');
    if (text.includes('overdue')) swept.resolve();
    return pool.query(text, values);
  };
  const own = { query, connect: () => pool.connect() } as unknown as Pool;
  const log = { warn: () => failed.resolve(), info: () => undefined, error: () => undefined } as unknown as Logger;
  const [purchases, chain, facilitator] = [openPurchases(own), {} as PaymentChain, {} as Facilitator];
  const deps = { store: openPaymentStore(own), purchases, facilitator, chain, count: () => undefined, log };
  const settlement = startSettlement(deps);
  t.teardown(() => settlement.stop());
  return { failed: failed.promise, swept: swept.promise };
};

t.test(
  'what a process answers survives an outage of the database, whichever process it answers first (P-04)',
  async (t) => {
    const { pool, store } = await openLapsed(t);
    const state = { isAway: true };
    const beside = sweepBeside(t, pool, state);
    await beside.failed;
    state.isAway = false;
    await beside.swept;
    t.ok(await store.renew(['rcp_1']), 'its process finds it, and goes on');
    await pool.query('update payments set lease_until = now()');
    await waitFor(
      'left by everybody, it is removed',
      async () => (await pool.query('select from payments')).rowCount === 0,
    );
  },
);

t.test('nor does a process that starts as the database comes back take it for left', async (t) => {
  const { pool, store } = await openLapsed(t);
  await sweepBeside(t, pool).swept;
  t.ok(await store.renew(['rcp_1']));
});

t.test('nor may its payer present it again meanwhile: while its row exists it is presented (P-04)', async (t) => {
  const { pool, store, key } = await openLapsed(t);
  t.equal((await store.read(key)).state, 'verified');
  const offer = { network: 'eip155:1', asset: PAYER, amount: '5000' } as unknown as Offer;
  const row = { ...key, receiptId: 'rcp_2', class: 'screen', plan: null, offer, payload: {} as never };
  const present = () => store.insert({ ...row, validBefore: Math.floor(Date.now() / 1_000) + 60 });
  t.notOk(await present());
  t.ok(await store.serve('rcp_1'), 'the answer that went out is charged');
  await pool.query("update payments set state = 'verified'");
  await store.tidy();
  t.ok(await present(), 'what was left and removed is good again');
});
