// PostgreSQL restored from an older dump with the commands of docs/deployment.md: what was lost or is valid again is what the page says (D-1150).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { runKeys } from '../../../infra/tools/keys.ts';
import { runPayments } from '../../../infra/tools/payments.ts';
import {
  offersFor,
  readErrorCode,
  send,
  settledLedger,
  sign,
  startPaidApi,
  withPayment,
} from '../../support/apps/paid-api.ts';
import { noClients, runCommands } from '../../support/documents/backup-commands.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { freshDatabase } from '../../support/engines/fresh-database.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';

const CALL = { body: { where: 'base = BTC', layers: ['mark'] } };

/** Dumps a database, and gives what restores the dump into an empty one. */
const dump = (t: Test, url: string): (() => Promise<string>) => {
  const folder = mkdtempSync(join(tmpdir(), 'dump-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  runCommands('backup', { BACKUP: folder, DATABASE_URL: url });
  return async () => {
    const empty = await (await useEngines(t, ['postgres'])).database();
    runCommands('2', { BACKUP: folder, DATABASE_URL: empty });
    return empty;
  };
};

t.test('an older dump, with the commands of the documentation', { skip: noClients() }, async (t) => {
  const world = await startPaymentWorld(t);
  const { url, pool } = await freshDatabase(t);
  const paid = await startPaidApi(t, world, { pool });
  const run = async (database: string, ...argv: readonly string[]) =>
    JSON.parse(await runKeys([...argv, '--json'], { DATABASE_URL: database })) as { key_id: string; key: string };
  const before = await run(url, 'create', '--plan', 'pro', '--name', 'before');
  const report = `insert into incidents (kind, subject, note) values ('gap', gen_random_uuid()::text, '') returning incident_id as id`;
  const buyer = await world.newBuyer();
  const [offer] = await offersFor(paid.url);
  if (offer === undefined) throw new Error('nothing is offered');
  const early = await sign(buyer, offer);
  t.equal((await send(paid.url, withPayment(early, CALL))).status, 200);
  await settledLedger(pool, buyer.address);
  const restore = dump(t, url);

  await run(url, 'revoke', before.key_id);
  const since = await run(url, 'create', '--plan', 'pro', '--name', 'since');
  const late = await sign(buyer, offer);
  t.equal((await send(paid.url, withPayment(late, CALL))).status, 200);
  await settledLedger(pool, buyer.address);
  const { rows: seen } = await pool.query<{ id: string }>(report);

  const restored = await restore();
  const old = openPostgres(restored, { max: 4 });
  t.teardown(() => old.end());
  await migrate(old);
  const again = await startPaidApi(t, world, { pool: old });
  const find = (key: string) => openKeyStore(old).find(key, Date.now());
  t.match(await find(before.key), { keyId: before.key_id }, 'a key that was revoked since is valid again');
  t.equal(await find(since.key), 'unknown', 'a key that was made since is unknown');
  await run(restored, 'revoke', before.key_id);
  t.equal(await find(before.key), 'unknown', 'until it is revoked again');
  const balance = await world.balanceOf(buyer.address);
  for (const [name, payment] of Object.entries({ early, late })) {
    const answer = await send(again.url, withPayment(payment, CALL));
    t.equal(
      answer.status,
      402,
      `${name}: a spent authorisation buys nothing (${readErrorCode(answer)} ${answer.body.error})`,
    );
  }
  t.equal(await world.balanceOf(buyer.address), balance);
  const env = { DATABASE_URL: restored, PAYMENT_RPC_URL: world.rpcUrl, PAYMENT_PAY_TO: world.payTo };
  const { text, failed } = await runPayments(['reconcile', '--since', '7d'], env);
  t.ok(failed);
  t.match(text, /^DIFFERS .*/m, 'the payment that the dump does not have is named');
  t.equal(text.match(/^DIFFERS/gm)?.length, 1);
  const { rows: next } = await old.query<{ id: string }>(report);
  t.ok(Number(next[0]?.id) > Number(seen[0]?.id), 'an id that users have seen is not given again');
});
