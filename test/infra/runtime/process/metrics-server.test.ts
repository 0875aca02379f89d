// The server of /metrics, /healthz and /readyz under clients that send requests ahead: one answer at a time for each connection.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gauge } from 'prom-client';
import t from 'tap';
import { createMetrics, serveMetrics } from '../../../../infra/runtime/process/metrics.ts';
import { sendAhead } from '../../../support/services/send-ahead.ts';
import { waitFor } from '../../../support/wait.ts';

t.test('requests that a client sends ahead are answered one after another, a hundred at most', async (t) => {
  const registry = createMetrics();
  let collected = 0;
  const collect = (): void => {
    collected += 1;
  };
  new Gauge({ name: 'collected', help: '-', registers: [registry], collect });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let asked = 0;
  const unready = async (): Promise<readonly string[]> => {
    asked += 1;
    await held;
    return [];
  };
  const server = await serveMetrics(registry, 0, { unready });
  t.teardown(() => server.close());
  const client = connect(server.port, '127.0.0.1');
  const closed = once(client, 'close');
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n`;
  client.write(
    `${ask('/readyz')}\r\n${`${ask('/metrics')}\r\n`.repeat(20)}${ask('/metrics')}Connection: close\r\n\r\n`,
  );
  client.resume();
  await waitFor('the first request', () => asked === 1);
  await nextTurn();
  t.equal(collected, 0, 'those behind it wait');
  release();
  await closed;
  t.equal(collected, 21);
  t.equal(await sendAhead({ port: server.port, host: 'a', path: '/metrics', count: 102 }), '');
});

t.test('a head and a body that stop have the same time', async (t) => {
  const server = await serveMetrics(createMetrics(), 0, { requestMs: 300 });
  t.teardown(() => server.close());
  const head = 'POST /healthz HTTP/1.1\r\nHost: a\r\n';
  for (const sent of ['', head, `${head}Content-Length: 2\r\n\r\n{`]) {
    const client = connect(server.port, '127.0.0.1', () => client.write(sent));
    client.resume();
    await once(client, 'close');
    t.pass(JSON.stringify(sent));
  }
});
