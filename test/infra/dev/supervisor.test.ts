// A process that is never ready: the error of its start says what it answered.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openDataDir } from '../../../infra/dev/engines/data-dir.ts';
import { createSupervisor } from '../../../infra/dev/engines/supervisor.ts';
import { makeNightlyProcess, type Ports, PROCESS_PORTS } from '../../../infra/dev/local/processes.ts';

const PROBLEM = '{"status":"not_ready","problems":["binance is 432121 ms behind."]}';

t.test('the error of a process that is never ready has its last answer', async (t) => {
  const server = createServer((_request, response) => response.writeHead(503).end(PROBLEM));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const dataDir = await openDataDir(t.testdir(), () => undefined);
  const supervisor = createSupervisor(dataDir, () => undefined);
  t.teardown(async () => {
    await supervisor.stop();
    dataDir.release();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ports = Object.fromEntries(PROCESS_PORTS.map((name) => [name, port])) as Ports;
  const { isReady } = makeNightlyProcess({}, ports);
  const args = ['-e', 'setInterval(() => undefined, 1_000);'];
  const spec = { name: 'server', command: process.execPath, args, readyTimeoutMs: 1_000, isReady };
  await t.rejects(supervisor.start(spec), {
    message: /^server was not ready after .* s: http.*\/readyz answers 503 .*432121 ms behind/,
  });
});
