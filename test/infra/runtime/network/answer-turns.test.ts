// Requests that a client sends ahead on one connection: answered one after another, given up with the connection, no danger to the process.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import t, { type Test } from 'tap';
import { answerInTurn, awaitTurn } from '../../../../infra/runtime/network/answer-turns.ts';
import { finishAnswers } from '../../../../infra/runtime/network/http-app.ts';

const LARGE_BYTES = 16 * 1_048_576;

const ask = (path: string, method = 'GET'): string => `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const askLast = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

type World = {
  readonly app: FastifyInstance;
  /** Paths of the requests whose answer has begun. */
  readonly begun: readonly string[];
  /** Ends the answers of `/held`. */
  readonly release: () => void;
  /** Resolves when the server has read that number of requests, and has taken a turn of its loop since. */
  readonly haveRead: (requests: number) => Promise<void>;
};

const startApp = async (t: Test): Promise<World> => {
  const app = fastify({
    forceCloseConnections: true,
    frameworkErrors: async (_error, request, reply) => {
      if (await awaitTurn(request, reply)) (reply as unknown as FastifyReply).send('<refused>');
    },
  }) as unknown as FastifyInstance;
  const [begun, { promise: held, resolve: release }] = [[] as string[], Promise.withResolvers<void>()];
  answerInTurn(app);
  finishAnswers(app);
  app.addHook('onRequest', async ({ url }) => void begun.push(url));
  app.get('/held', async () => {
    await held;
    return 'held';
  });
  app.post('/held', async () => {
    app.server.emit('held');
    await held;
    return 'held';
  });
  app.get('/plain/:number', async ({ params }) => `<${(params as { number: string }).number}>`);
  app.get('/large', (_request, reply) => reply.send(Buffer.alloc(LARGE_BYTES, 'x')));
  app.post('/body', async ({ body }) => `<${JSON.stringify(body)}>`);
  let read = 0;
  app.server.on('request', () => {
    read += 1;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    release();
    return app.close();
  });
  const haveRead = async (requests: number): Promise<void> => {
    while (read < requests) await once(app.server, 'request');
    await nextTurn();
  };
  return { app, begun, release, haveRead };
};

/** Not `once`, which rejects when the connection was reset. */
const awaitClose = (socket: Socket): Promise<void> =>
  new Promise((resolve) => void socket.once('close', () => resolve()));

type Connection = { readonly client: Socket; readonly server: Socket; readonly text: () => string };

const openConnection = async (t: Test, { server }: FastifyInstance): Promise<Connection> => {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  t.teardown(() => client.destroy());
  const parts: string[] = [];
  client.on('data', (bytes) => void parts.push(bytes.toString('latin1')));
  const [socket] = await accepted;
  return { client, server: socket, text: () => parts.join('') };
};

const findAnswers = (text: string): string[] => [...text.matchAll(/<([^>]*)>/g)].map(([, body = '']) => body);

t.test('a request waits until the answers before it on its connection have ended', async (t) => {
  const { app, begun, release, haveRead } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  client.write(ask('/held') + ask('/plain/1') + askLast('/plain/2'));
  await haveRead(3);
  t.strictSame(begun, ['/held']);
  const other = await openConnection(t, app);
  other.client.write(askLast('/plain/3'));
  await once(other.client, 'close');
  t.strictSame(findAnswers(other.text()), ['3'], 'another connection does not wait');
  release();
  await once(client, 'close');
  t.match(text(), /held[\s\S]*<1>[\s\S]*<2>/);
  t.strictSame(begun, ['/held', '/plain/3', '/plain/1', '/plain/2']);
});

t.test('a client that reads nothing has one answer made, however many requests it sends', async (t) => {
  const { app, begun, haveRead } = await startApp(t);
  const { client, server } = await openConnection(t, app);
  client.pause();
  client.write(ask('/large').repeat(100));
  await haveRead(100);
  t.strictSame(begun, ['/large']);
  t.ok(server.isPaused(), 'and no more of its requests are read');
  t.ok(server.writableLength <= LARGE_BYTES + 1_024, 'what waits for it is one answer');
});

t.test('all requests of a line are answered in their order, and one after another', async (t) => {
  const { app } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  const numbers = Array.from({ length: 300 }, (_, number) => String(number));
  for (let i = 0; i < numbers.length; i += 100) {
    const some = numbers.slice(i, i + 100);
    client.write(some.map((number) => ask(`/plain/${number}`)).join(''));
    while (!text().includes(`<${some.at(-1)}>`)) await once(client, 'data');
  }
  client.write(askLast('/plain/last'));
  await once(client, 'close');
  t.strictSame(findAnswers(text()), [...numbers, 'last']);
});

t.test('a request whose body is read keeps the connection from reading further ahead', async (t) => {
  const { app, release } = await startApp(t);
  const { client, server, text } = await openConnection(t, app);
  const bodies = Array.from({ length: 200 }, (_, number) => JSON.stringify(`${number}`.padEnd(2_000)));
  const begun = once(app.server, 'held');
  client.write(post('/held', '"first"') + bodies.map((body) => post('/body', body)).join('') + askLast('/plain/last'));
  await begun;
  await nextTurn();
  t.ok(server.isPaused());
  release();
  await once(client, 'close');
  t.strictSame(findAnswers(text()), [...bodies, 'last']);
});

t.test('a client that sends more than a hundred requests ahead loses its connection', async (t) => {
  const { app, begun, haveRead } = await startApp(t);
  const { client } = await openConnection(t, app);
  const closed = awaitClose(client);
  client.write(ask('/held') + ask('/plain/1').repeat(101));
  await haveRead(102);
  await closed;
  t.strictSame(begun, ['/held']);
});

t.test('requests that the framework refuses itself wait as all others do', async (t) => {
  const { app, release, haveRead } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  client.write(ask('/held') + ask('/%ff') + ask('/plain/1') + askLast('/%ff'));
  await haveRead(4);
  t.equal(text(), '');
  release();
  await once(client, 'close');
  t.match(text(), /held[\s\S]*<refused>[\s\S]*<1>[\s\S]*<refused>/);
  const other = await openConnection(t, app);
  const closed = awaitClose(other.client);
  other.client.write(ask('/%ff').repeat(102));
  await closed;
  t.strictSame(findAnswers(other.text()), [], 'more than a hundred are not answered');
});

t.test('each request of a line has a turn of the event loop of its own', async (t) => {
  const { app } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  let turn = 0;
  const isOver = new AbortController();
  const countTurns = async (): Promise<void> => {
    for (; !isOver.signal.aborted; turn++) await nextTurn();
  };
  const turns: number[] = [];
  app.server.on('request', (_request, response: ServerResponse) => {
    response.once('finish', () => void turns.push(turn));
  });
  const counting = countTurns();
  client.write(ask('/plain/1').repeat(50) + askLast('/plain/last'));
  await once(client, 'close');
  isOver.abort();
  await counting;
  t.equal(findAnswers(text()).length, 51);
  t.ok(new Set(turns).size > 25, `answered in ${new Set(turns).size} turns`);
});

t.test('a connection that was reset before its requests are looked at is given up', async (t) => {
  const { app, begun } = await startApp(t);
  const { client, server } = await openConnection(t, app);
  const closed = awaitClose(server);
  app.server.prependOnceListener('request', ({ socket }) => {
    Object.defineProperty(socket, 'remoteAddress', { get: () => undefined });
  });
  client.write(ask('/plain/1') + ask('/plain/2'));
  await closed;
  t.strictSame([begun, server.destroyed], [[], true]);
});

t.test('a body that arrives while its request waits is read', async (t) => {
  const { app, release, haveRead } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  const body = JSON.stringify('b'.repeat(300_000));
  const head = `POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  client.write(`${ask('/held')}${head}\r\n\r\n${body.slice(0, 10)}`);
  await haveRead(2);
  client.write(body.slice(10) + askLast('/plain/after'));
  release();
  await once(client, 'close');
  t.strictSame(findAnswers(text()), [body, 'after']);
});

t.test('requests that wait are given up with their connection', async (t) => {
  const { app, begun, release, haveRead } = await startApp(t);
  let ended = 0;
  app.server.on('request', (_request, response: ServerResponse) => {
    response.once('close', () => {
      ended += 1;
    });
  });
  const { client, server } = await openConnection(t, app);
  client.write(ask('/held') + ask('/plain/1').repeat(20));
  await haveRead(21);
  const closed = awaitClose(server);
  client.resetAndDestroy();
  await awaitClose(client);
  release();
  await closed;
  await nextTurn();
  t.strictSame(begun, ['/held']);
  t.equal(ended, 21, 'and the app that ends does not wait for them');
});

t.test('CONNECT behind other requests is answered after them', async (t) => {
  const { app, begun, release, haveRead } = await startApp(t);
  const { client, text } = await openConnection(t, app);
  client.write(ask('/held') + ask('/plain/1') + ask('a:1', 'CONNECT'));
  await haveRead(2);
  t.strictSame(begun, ['/held']);
  release();
  await once(client, 'close');
  t.match(text(), /held[\s\S]*<1>[\s\S]*HTTP\/1\.1 404 /);
});

t.test('CONNECT behind an answer that its client leaves is given up', async (t) => {
  const { app, begun, release, haveRead } = await startApp(t);
  const { client, server } = await openConnection(t, app);
  client.write(ask('/held') + ask('a:1', 'CONNECT'));
  await haveRead(1);
  const closed = awaitClose(server);
  client.resetAndDestroy();
  await awaitClose(client);
  release();
  await closed;
  await nextTurn();
  t.strictSame(begun, ['/held']);
});

t.test('answers that are given up are closed, so the end of the app does not wait for them', async (t) => {
  const { app, release, haveRead } = await startApp(t);
  const ends: Promise<unknown>[] = [];
  app.server.on('request', (_request, answer: ServerResponse) => void ends.push(once(answer, 'close')));
  const { client, server } = await openConnection(t, app);
  // Behind CONNECT Node itself no longer follows the requests before it.
  client.write(ask('/held') + ask('/plain/1') + ask('/plain/2') + ask('a:1', 'CONNECT'));
  await haveRead(3);
  const closed = awaitClose(server);
  client.resetAndDestroy();
  release();
  await closed;
  await Promise.all(ends);
  t.equal(ends.length, 3);
});
