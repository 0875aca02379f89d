// An API process that starts while PostgreSQL is away: it serves what needs none, returns 503 for the rest, and recovers without a restart.
import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { makeKey } from '../../api/access/keys.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { createKey } from '../../infra/tools/key-admin.ts';
import { offersFor, readErrorCode, send, sign, withPayment } from '../support/apps/paid-api.ts';
import { useEngines } from '../support/engines/engines.ts';
import { openPostgresLine } from '../support/engines/postgres-line.ts';
import { startNode, writeMarket } from '../support/services/api-nodes.ts';
import { waitFor } from '../support/wait.ts';

const NOWHERE = 'http://127.0.0.1:1';
const CALL = { body: { layers: ['mark'] } };
const GET = { method: 'GET' };
const RECEIPT = '/v2/receipts/rcp_01KEZ8G3M4T5V6W7X8Y9Z0A1B2';
const FILE = '/v2/archive/okx%3ABTC-USDT-SWAP/mark/2026-01-10';

t.test('an API without PostgreSQL from its start on', { timeout: 600_000 }, async (t) => {
  const engines = await useEngines(t, ['kafka', 'postgres']);
  const namespace = `${engines.namespace()}.`;
  await writeMarket(engines, namespace);
  const url = new URL(await engines.database());
  const [port, behind] = [await findFreePort(), url.href];
  url.port = String(port);
  const payTo = privateKeyToAccount(generatePrivateKey()).address;
  const settings = { PAYMENT_PAY_TO: payTo, FACILITATOR_URL: NOWHERE, PAYMENT_RPC_URL: NOWHERE };
  const { baseUrl, readiness: judged } = await startNode(t, {
    name: 'early',
    engines,
    namespace,
    databaseUrl: url.href,
    settings,
  });
  const readiness = async (): Promise<string> => (await fetch(`${baseUrl}/readyz`)).text();
  const keyed = (key: string) => ({ ...CALL, headers: { authorization: `Bearer ${key}` } });

  await t.test('what needs no database is served, and prices are quoted', async (t) => {
    await waitFor('the state is read', async () => !(await readiness()).includes('state'));
    for (const path of ['/v2/venues', '/v2/instruments', '/v2/dql/catalogue', '/openapi.json'])
      t.equal((await send(baseUrl, { path, ...GET })).status, 200, path);
    t.equal((await send(baseUrl, CALL)).status, 402);
    t.match(await readiness(), /"not_ready".*The store of keys does not respond or is read-only\./);
    const also = await judged();
    t.equal(also.status, 503, 'on the listener of metrics too');
    t.match(await also.text(), /^The store of keys does not respond or is read-only\.$/m);
  });

  await t.test('what needs it is 503 with a time to retry', async (t) => {
    const [call] = await offersFor(baseUrl, CALL);
    const buyer = privateKeyToAccount(generatePrivateKey());
    const asked = {
      'a key': keyed(makeKey()),
      'a payment': withPayment(await sign(buyer, call as never), CALL),
      'a receipt': { path: RECEIPT, ...GET },
      'a file': { path: FILE, ...GET },
      'an anchored day': { path: '/v2/anchors/2026-01-10', ...GET },
    };
    for (const [what, sent] of Object.entries(asked)) {
      const answer = await send(baseUrl, sent);
      t.equal(answer.status, 503, `${what}: ${JSON.stringify(answer.body)}`);
      t.equal(readErrorCode(answer), 'UNAVAILABLE', what);
      t.ok(answer.headers.get('retry-after'), what);
    }
  });

  await t.test('when it comes its tables are made, and keys are served', async (t) => {
    await openPostgresLine(t, behind, port);
    await waitFor('the API is ready for keys', async () => !(await readiness()).includes('keys'));
    const pool = openPostgres(behind, { max: 1 });
    t.teardown(() => pool.end());
    const { key } = await createKey(pool, { plan: 'pro', name: 'k', accountId: 'acc_k', expiresAt: null }, 'test');
    t.equal((await send(baseUrl, keyed(key))).status, 200);
    t.equal((await send(baseUrl, { path: FILE, ...GET })).status, 404);
    await t.test('read only, as after a failover to a standby, it is not ready', async (t) => {
      const name = decodeURIComponent(url.pathname.slice(1));
      await pool.query(`alter database "${name}" set default_transaction_read_only = on`);
      await pool.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [name],
      );
      await waitFor('the API says so', async () => (await readiness()).includes('or is read-only'));
      t.equal((await fetch(`${baseUrl}/readyz`)).status, 503);
      t.equal((await judged()).status, 503, 'on the listener of metrics too');
      await pool.query('set default_transaction_read_only = off');
      await pool.query(`alter database "${name}" reset default_transaction_read_only`);
    });
  });
});
