// An API process that ends while everything is slow: calls to it, calls to its tools, and a receiver of webhooks.
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { recordEvaluations } from '../../api/rules/record.ts';
import { createRule } from '../../api/rules/store.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { useEngines } from '../support/engines/engines.ts';
import { startApi } from '../support/services/pipeline.ts';
import { startReceiver } from '../support/services/webhook-receiver.ts';
import { waitFor } from '../support/wait.ts';

t.setTimeout(900_000);

/** A webhook for which two messages wait. */
const makeMessages = async (t: Test, database: string, url: string): Promise<void> => {
  const pool = openPostgres(database, { max: 2 });
  t.teardown(() => pool.end());
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  await pool.query(
    "insert into rule_webhooks (webhook_id, account_id, url, secret) values ('hook_a', 'acc_a', $1, 's')",
    [url],
  );
  const draft = { name: 'r', query: 'any(venues where mark > 1)', intervalS: 10, freshness: null } as const;
  const rule = await createRule(
    pool,
    { ...draft, units: 'published', enabled: false, shared: false },
    { accountId: 'acc_a', actor: 'test' },
  );
  const found = { reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  const at = Date.now() * 1_000 + 10_000_000;
  for (const [i, state] of (['true', 'false'] as const).entries())
    await recordEvaluations(pool, [{ rule, at: at + i * 10_000_000, outcome: { state, ...found } }]);
};

/** A call of which the body does not come to its end. */
const holdCall = async (t: Test, url: string, key: string): Promise<void> => {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Content-Length: 100',
  ];
  // The answer to the first call comes once the second one is being read.
  socket.write(`GET /nothing HTTP/1.1\r\nHost: ${host}\r\n\r\n${lines.join('\r\n')}\r\n\r\n{`);
  await once(socket, 'data');
};

t.test('calls that are held and a receiver that is slow do not keep an API process from ending in order', async (t) => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1, venues: ['binance'] };
  const toolPort = await findFreePort();
  const tools = `http://127.0.0.1:${toolPort}/mcp`;
  const { child, baseUrl, keys } = await startApi(spec, database, {
    MCP_URL: tools,
    MCP_PORT: String(toolPort),
    WEBHOOKS_LOOPBACK: 'true',
  });
  await waitFor('it listens', () => fetch(tools).catch(() => null));
  const silent = await startReceiver(t, () => undefined);
  await makeMessages(t, database, silent.url);
  await waitFor('a message is on its way', () => silent.received.length >= 1);
  await holdCall(t, `${baseUrl}/v2/snapshots`, keys.pro);
  await holdCall(t, tools, keys.pro);
  child.process.kill('SIGTERM');
  t.equal(await child.exited, 0);
});
