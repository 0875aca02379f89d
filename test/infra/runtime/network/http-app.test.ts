// A request that does not come to its end is refused after its time, wherever it stops; an answer that is not taken is given up.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import fastify from 'fastify';
import t from 'tap';
import { limitRequestTime } from '../../../../infra/runtime/network/request-time.ts';

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

t.test('an answer that its client does not take is held for a time', async (t) => {
  const app = fastify(limitRequestTime(30_000, 300));
  const answer = Buffer.alloc(32 * 1_048_576);
  app.get('/', (_request, reply) => reply.send(answer));
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const reader = connect(port, '127.0.0.1', () => reader.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  reader.on('error', () => undefined);
  t.teardown(() => reader.destroy());
  const [socket] = await accepted;
  await once(socket, 'close');
  let taken = 0;
  reader.on('data', (bytes) => {
    taken += bytes.length;
  });
  await once(reader, 'close');
  t.ok(taken < answer.length, 'the rest was given up');
});
