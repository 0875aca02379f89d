// A request that does not come to its end is refused after its time, wherever it stops.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import fastify from 'fastify';
import t from 'tap';
import { limitRequestTime } from '../../../infra/runtime/request-time.ts';

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

t.test('a head and a body that stop have the same time', async (t) => {
  const app = fastify(limitRequestTime(300));
  app.post('/', async () => 'read');
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  for (const sent of ['', HEAD, `${HEAD}Content-Length: 2\r\n\r\n`, `${HEAD}Content-Length: 2\r\n\r\n{`]) {
    const socket = connect(port, '127.0.0.1', () => socket.write(sent));
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    await once(socket, 'close');
    t.match(received, /^HTTP\/1\.1 408 /, JSON.stringify(sent));
  }
});
