// Whatever a receiver does with its connection, one message to it ends: a call that never ended would hold its place for ever (AG-06).
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t from 'tap';
import { callWebhook, findWebhookFault } from '../../../api/rules/webhook-call.ts';

const UPGRADED = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
const HINTED = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

/** What a receiver does once the first bytes of a message have come, and what is noted of the attempt. */
const RECEIVERS: Readonly<Record<string, { readonly act: (socket: Socket) => void; readonly words: string }>> = {
  'turns the connection into another protocol': {
    act: (socket) => socket.write(UPGRADED),
    words: 'the connection failed',
  },
  'closes without an answer': { act: (socket) => socket.end(), words: 'the connection failed' },
  'resets the connection': { act: (socket) => socket.resetAndDestroy(), words: 'the connection failed' },
  'answers no HTTP': { act: (socket) => socket.write('hello\r\n\r\n'), words: 'the connection failed' },
  'breaks off within its head': { act: (socket) => socket.end('HTTP/1.1 200 OK\r\nx'), words: 'the connection failed' },
  'announces an answer that never comes': { act: (socket) => socket.write(HINTED), words: 'no answer in time' },
  'never answers': { act: () => undefined, words: 'no answer in time' },
};

for (const [name, { act, words }] of Object.entries(RECEIVERS)) {
  t.test(`a receiver that ${name}`, { timeout: 10_000 }, async (t) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => act(socket));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const options = { allowsLoopback: true, nowMs: Date.now, timeoutMs: 500 };
    t.same(await callWebhook({ url, secret: 'whsec_a', body: '{}' }, options), { isDelivered: false, words });
  });
}

t.test('an address is as long as it is sent, not as it was written', (t) => {
  const path = 'ü'.repeat(700);
  t.match(findWebhookFault(`https://example.com/${path}`, { allowsLoopback: false }), /too long/);
  t.equal(findWebhookFault(`https://example.com/${path.slice(0, 300)}`, { allowsLoopback: false }), null);
  t.end();
});
