// Anchors of a local run: one contract for a chain, through restarts; days of a chain that is gone are due again.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { ensureLocalAnchors, toAnchorEnv } from '../../../../infra/dev/local/anchors.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../../infra/runtime/postgres/postgres.ts';
import { readConfig } from '../../../../infra/runtime/process/config.ts';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { createNightlyMetrics } from '../../../../processors/nightly/metrics.ts';
import { anchorDay } from '../../../../processors/nightly/steps/anchor/anchor.ts';
import { ANCHOR_CONFIG } from '../../../../processors/nightly/steps/anchor/config.ts';
import { readClosedDay } from '../../../../processors/nightly/steps/anchor/post-day.ts';
import { addClosedDay } from '../../../support/days/anchor-chain.ts';
import { ownEngines, useEngines } from '../../../support/engines/engines.ts';
import { until } from '../../../support/services/pipeline.ts';

t.setTimeout(900_000);
const DAY = '2026-01-10';

t.test('the contract is kept with its chain, and created again with a new one', async (t) => {
  const engines = await useEngines(t, ['postgres']);
  const database_url = await engines.database();
  const pool = openPostgres(database_url, { max: 2 });
  await migrate(pool);
  const folder = mkdtempSync(join(tmpdir(), 'local-anchors-'));
  t.teardown(async () => {
    await pool.end();
    rmSync(folder, { recursive: true, force: true });
  });
  const ensure = (rpc_url: string, env: NodeJS.ProcessEnv = {}) =>
    ensureLocalAnchors({ rpc_url, database_url }, { folder, env });
  /** Reads the settings like the nightly process. */
  const post = async (rpcUrl: string, local: Awaited<ReturnType<typeof ensure>>): Promise<string> => {
    const { ANCHOR_CONTRACT: contract, ANCHOR_OWNER_KEY: ownerKey } = readConfig(ANCHOR_CONFIG, toAnchorEnv(local));
    const closed = await readClosedDay(pool, DAY);
    if (closed === null) throw new Error('not closed');
    const metrics = createNightlyMetrics(new Registry());
    const anchors = { rpcUrl, contract, ownerKey };
    return anchorDay(closed, { database: pool, anchors, metrics, nowMs: Date.now, log: createLog('test', 'silent') });
  };
  const readState = async (): Promise<string> =>
    (await pool.query("select state from nightly_steps where step = 'anchor' and day = $1", [DAY])).rows[0]?.state;

  const first = await ownEngines(t, ['anvil']);
  const begunMs = Date.now();
  const url = first.endpoints.rpc_url;
  const local = await ensure(url);
  t.match(local, { anchor_contract: /^0x[0-9a-f]{40}$/, anchor_owner_key_file: join(folder, 'anchor-owner.key') });
  t.equal(statSync(join(folder, 'anchor-owner.key')).mode & 0o777, 0o600);
  await addClosedDay(pool, DAY);
  await post(url, local);
  await pool.query("insert into nightly_steps (day, step, state, ended_at) values ($1, 'anchor', 'done', now())", [
    DAY,
  ]);
  await first.hold('anvil');
  await first.restart('anvil');
  t.same(await ensure(url), local, 'restarted with its state');
  t.equal(await readState(), 'done');

  // A chain is known by its first block, which has the second in which it was made.
  await until('another second', 5_000, async () => (Date.now() - begunMs > 1_000 ? true : null));
  const second = await ownEngines(t, ['anvil']);
  const anew = await ensure(second.endpoints.rpc_url);
  t.equal(await readState(), 'failed', 'the day is due again');
  t.match(await post(second.endpoints.rpc_url, anew), /in block \d+ of eip155:8453, not binding/);
  t.match(await readClosedDay(pool, DAY), { status: 'confirmed', contract: anew.anchor_contract });

  const outside = await ensure(url, { RPC_URL: url, ANCHOR_CONTRACT: '0x1' });
  t.same(
    outside,
    { anchor_contract: '0x1', anchor_owner_key_file: null },
    'nothing is deployed on a chain from outside',
  );
});
