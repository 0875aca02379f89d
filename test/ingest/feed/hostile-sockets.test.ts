// Venues that misuse a WebSocket: handshakes without end, answers that nobody reads, errors without number.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { createBookSnapshots } from '../../../ingest/feed/book-snapshots.ts';
import { runSocketSlot, type SocketSlotDeps } from '../../../ingest/feed/socket-slot.ts';
import {
  makeSlot,
  openMemory,
  paper,
  readBody,
  startPaper,
  toText,
  type Written,
} from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';
import { createParts } from './slot-parts.ts';

/** A slot whose parts are changed by `over`, at `url` or at the paper venue. */
const run = async (t: Test, over: Partial<SocketSlotDeps>, url?: string) => {
  const server = await startPaper();
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const runner = runSocketSlot(makeSlot(url ?? server.ws), { ...shared, ...over });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  return { server, memory };
};

t.test('a handshake that goes on without end is given up', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer(async (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\n');
    while (!socket.destroyed) {
      socket.write('A: b\r\n');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { memory } = await run(t, { handshakeMs: 100 }, `ws://127.0.0.1:${port}/`);
  await waitFor('two attempts', () => memory.of('lost').length >= 2);
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /handshake took longer/ });
});

t.test('a venue that sends pings and reads no answer loses its connection', async (t) => {
  const { server, memory } = await run(t, {
    venue: { ...paper, replyTo: (text) => (text === 'hb' ? 'pong'.repeat(16_384) : null) },
  });
  await waitFor('subscribed', () => server.received(0).length >= 3);
  server.sockets()[0]?.pause();
  for (let sent = 0; memory.of('lost').length === 0 && sent < 1_000; sent++) {
    server.sendAll('hb');
    await nextTurn();
  }
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'connection_lost', detail: /are unread$/ });
});

t.test('errors and broken books of a connection have a hundred lines in the log', async (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const { server, memory } = await run(t, { log });
  await waitFor('subscribed', () => server.received(0).length >= 3);
  for (let i = 0; i < 1_000; i++) server.sendAll(`{"err":"no such stream ${i}"}`);
  const errors = () => memory.of('frame').filter((frame) => toText(frame).includes('no such stream'));
  await waitFor('a thousand errors', () => errors().length >= 1_000);
  t.equal(lines.filter((line) => line.includes('venue answered an error')).length, 100);
});

t.test('a book whose snapshots are refused, or are none, has one line in the log until one succeeds', async (t) => {
  const bodies = ['', 'none'];
  let answered = 0;
  const server = await startPaper({
    answer: (_path, response) => {
      const body = bodies[answered] ?? '{"snapshot":9}';
      answered += 1;
      response.writeHead(body === '' ? 500 : 200).end(body);
    },
  });
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory, ['AAA']);
  const payload = Buffer.from('["AAA"]');
  const known = paper.mapReference({}, { kind: 'response', received_at: 0, request: '', payload })?.listings ?? [];
  const listings = new Map(known.map((listing) => [listing.venue_symbol, listing]));
  const { isFull } = shared.connections;
  const books = createBookSnapshots({ ...shared, listings: () => listings, shardOf: () => 1, isFull, log });
  const runner = runSocketSlot(makeSlot(server.ws, { symbols: ['AAA'] }), { ...shared, books });
  t.teardown(async () => {
    books.stop();
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('subscribed', () => server.received(0).length >= 3);
  server.sendAll('{"book":"AAA","first":1,"last":5}');
  await waitFor('a snapshot', () => answered > bodies.length);
  t.equal(lines.length, 1, lines.join(''));
});
