// The effect of a facilitator, chain or database that is away: a 503, a settlement that waits, and never a second charge (P-04, P-06).
import t from 'tap';
import type { ArchiveManifest } from '../../../api/contract/archive.ts';
import type { FileLinks } from '../../../api/files/links.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import {
  offersFor,
  readErrorCode,
  readLedger,
  type Sent,
  send,
  settledLedger,
  sign,
  startPaidApi,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { type Teardown, useEngines } from '../../support/engines/engines.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { openPostgresLine } from '../../support/engines/postgres-line.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

const CALL: Sent = { body: { layers: ['mark'] } };
const NOWHERE = 'http://127.0.0.1:1';

t.test('without facilitator and chain the API starts, serves keys and quotes prices', async (t) => {
  const world = await startPaymentWorld(t);
  const away = { ...world, facilitatorUrl: NOWHERE, rpcUrl: NOWHERE };
  const { url, pool } = await startPaidApi(t, away);
  const { key } = await createKey(pool, { plan: 'pro', name: 'k', accountId: 'acc_k', expiresAt: null }, 'test');
  t.equal((await send(url, { ...CALL, headers: { authorization: `Bearer ${key}` } })).status, 200);
  const [call] = await offersFor(url);
  const buyer = await world.newBuyer();
  t.equal(readErrorCode(await send(url, withPayment(await sign(buyer, call as never), CALL))), 'UNAVAILABLE');
  const forged = await sign(buyer, call as never, { from: (await world.newBuyer()).address });
  t.equal(readErrorCode(await send(url, withPayment(forged, CALL))), 'UNAVAILABLE', 'it may be a contract wallet');
  t.same(await readLedger(pool), []);
});

t.test('a settlement waits for facilitator and chain, and is charged once when they are back', async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await startPaidApi(t, world);
  const [call] = await offersFor(url);
  const paidBy = async (buyer: Parameters<typeof sign>[0]) =>
    send(url, withPayment(await sign(buyer, call as never), CALL));
  const readState = async (payer: string) => (await readLedger(pool, payer))[0]?.state;

  const first = await world.newBuyer();
  world.faults([{ on: 'settle', at: 'before', does: 'hold' }]);
  t.equal((await paidBy(first)).status, 200);
  await waitFor('the settle call is held', () => world.facilitator().faults.held() === 1);
  await world.stopFacilitator();
  await waitFor('its outcome is unknown', async () => (await readState(first.address)) === 'unknown');
  await world.startFacilitator();
  t.match(await settledLedger(pool, first.address), [{ state: 'settled', transaction: /^0x/ }]);

  const second = await world.newBuyer();
  world.faults([{ on: 'settle', at: 'after', does: 'hold' }]);
  t.equal((await paidBy(second)).status, 200);
  await waitFor('the chain has it', () => world.facilitator().faults.held() === 1);
  await world.holdChain();
  await world.stopFacilitator();
  await waitFor('its outcome is unknown', async () => (await readState(second.address)) === 'unknown');
  await world.restartChain();
  await world.startFacilitator();
  t.match(await settledLedger(pool, second.address), [{ state: 'settled', transaction: /^0x/ }]);
  for (const { address } of [first, second]) t.equal(await world.balanceOf(address), 1_000_000_000n - 5_000n);
});

/** A pool over a line that can be cut. */
const cuttablePool = async (t: Teardown) => {
  const url = await (await useEngines(t, ['postgres'])).database();
  const line = await openPostgresLine(t, url);
  const [pool, direct] = [openPostgres(line.url, { max: 10 }), openPostgres(url, { max: 2 })];
  t.teardown(() => Promise.all([pool.end(), direct.end()]));
  await migrate(direct);
  return { pool, direct, line };
};

/** A file of the tier, and what happens when it is looked for. */
const oneFile = (tier: string, onFind: () => void = () => undefined) => ({
  manifest: {
    list: async () => [],
    find: async (name: object) => {
      onFind();
      return { ...name, instrument: 'BTC-PERP', tier, rows: 1, bytes: 1, sha256: 'ab', schemaVersion: 1, key: 'k' };
    },
  } as unknown as ArchiveManifest,
  files: { make: async () => ({ url: 'http://files.test/k', endsMs: 0 }) } as unknown as FileLinks,
});
const FILE: Sent = { path: '/v2/archive/binance%3ABTCUSDT/mark/2026-01-10', method: 'GET' };

t.test('an archive file costs what its tier does, and its 302 is charged', async (t) => {
  const world = await startPaymentWorld(t);
  const pool = await freshPool(t);
  for (const [tier, amount] of [
    ['core', '100000'],
    ['top100', '50000'],
  ] as const) {
    const { url } = await startPaidApi(t, world, { pool, ...oneFile(tier) });
    const [offer] = await offersFor(url, FILE);
    t.equal(offer?.amount, amount);
    const buyer = await world.newBuyer();
    const answer = await send(url, withPayment(await sign(buyer, offer as never), FILE));
    t.equal(answer.status, 302);
    t.equal(answer.headers.get('location'), 'http://files.test/k');
    t.match(await settledLedger(pool, buyer.address), [{ state: 'settled', class: 'archive', amount }]);
  }
});

t.test(
  'a database that goes away: 503 before the answer; after it the charge waits',
  { timeout: 600_000 },
  async (t) => {
    const world = await startPaymentWorld(t);
    const { pool, direct, line } = await cuttablePool(t);
    let found = 0;
    let cutAt = 0;
    const cutAfter = (finds: number): void => {
      found = 0;
      cutAt = finds;
    };
    const onFind = (): void => {
      found += 1;
      if (found === cutAt) line.cut('perp');
    };
    const { url } = await startPaidApi(t, world, { pool, ...oneFile('core', onFind) });
    const [offer] = await offersFor(url, FILE);
    const buyer = await world.newBuyer();

    const early = withPayment(await sign(buyer, offer as never), FILE);
    cutAfter(1);
    t.equal(readErrorCode(await send(url, early)), 'UNAVAILABLE', 'away before step 4');
    line.mend();
    t.same(await readLedger(direct), []);

    const late = withPayment(await sign(buyer, offer as never), FILE);
    // Price, verification, answer: the payment is verified before the third request.
    cutAfter(3);
    t.equal((await send(url, late)).status, 302);
    t.match(await readLedger(direct), [{ state: 'verified' }]);
    line.mend();
    t.match(await settledLedger(direct, buyer.address), [{ state: 'settled' }]);
    t.equal(await world.balanceOf(buyer.address), 1_000_000_000n - 100_000n);
  },
);

t.test('a payment that could not be verified is good again as soon as the database answers', async (t) => {
  const world = await startPaymentWorld(t);
  const { pool, direct, line } = await cuttablePool(t);
  const { url } = await startPaidApi(t, world, { pool });
  const [call] = await offersFor(url, CALL);
  const payment = withPayment(await sign(await world.newBuyer(), call as never), CALL);
  world.faults([{ on: 'verify', at: 'before', does: 'hold' }]);
  const first = send(url, payment);
  await waitFor('it is presented, and being verified', () => world.facilitator().faults.held() === 1);
  line.cut('perp');
  world.faults([]);
  t.equal(readErrorCode(await first), 'UNAVAILABLE', 'the database has gone between the two');
  line.mend();
  // Without its process a row counts until its lease has ended, 15 s later: a caller that repeats after Retry-After would be refused.
  const { rows } = await direct.query<{ lease_until: Date }>('select lease_until from payments');
  await waitFor('its row is gone', async () => (await readLedger(direct)).length === 0);
  const asked = await direct.query<{ held: boolean }>('select now() < $1::timestamptz as held', [rows[0]?.lease_until]);
  t.same(asked.rows, [{ held: true }], 'while its lease would have held');
  t.equal((await send(url, payment)).status, 200);
});
