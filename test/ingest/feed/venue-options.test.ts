// Connection options of a venue: headers with every handshake and request, pings of its own or of the protocol.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { WebSocketServer } from 'ws';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { startCollector } from '../../../ingest/feed/collector.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { openMemory, paper, silentLog } from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';

const clock = createClock();

type Received = {
  requested: unknown;
  shaken: unknown;
  pings: number;
  readonly paths: string[];
  readonly texts: string[];
};

/** A collector of one listing on its own server, which records what it receives. */
const collect = async (t: Test, wishes: Partial<Venue>): Promise<Received> => {
  const received: Received = { requested: undefined, shaken: undefined, pings: 0, paths: [], texts: [] };
  const http = createServer((request, response) => {
    received.requested = request.headers['x-wish'];
    received.paths.push(request.url ?? '');
    response.end('["AAA"]');
  });
  const sockets = new WebSocketServer({ server: http });
  sockets.on('connection', (socket, request) => {
    received.shaken = request.headers['x-wish'];
    socket.on('ping', () => {
      received.pings += 1;
    });
    socket.on('message', (data) => received.texts.push(String(data)));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  const collector = startCollector({
    venue: { ...paper, ...wishes },
    endpoints: { rest: `http://127.0.0.1:${port}`, ws: `ws://127.0.0.1:${port}` },
    shards: 1,
    collector: 'c1',
    writer: openMemory(),
    nowMicros: clock.nowMicros,
    meters: createMeters(new Registry()).venue('paper'),
    random: () => 0,
    log: silentLog,
  });
  t.teardown(async () => {
    collector.stop();
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    await new Promise<void>((resolve) => http.close(() => resolve()));
  });
  return received;
};

t.test("a venue's headers go with every request and handshake", async (t) => {
  const received = await collect(t, { headers: { 'x-wish': '1' } });
  await waitFor('a handshake', () => received.shaken !== undefined);
  t.same([received.requested, received.shaken], ['1', '1']);
});

t.test('a ping without a frame is one of the protocol, a ping with a frame is sent as text', async (t) => {
  const quiet = await collect(t, { ping: { everyMs: 20, frame: null } });
  await waitFor('two pings', () => quiet.pings >= 2);
  t.notOk(quiet.texts.includes('null'), 'nothing is sent as text for it');
  const asText = await collect(t, { ping: { everyMs: 20, frame: 'are you there' } });
  await waitFor('a ping as text', () => asText.texts.includes('are you there'));
  t.equal(asText.pings, 0);
});

t.test('a poll may request what is newer than a number of seconds before it is sent', async (t) => {
  const before = Math.floor(clock.nowMicros() / 1_000_000);
  const received = await collect(t, {
    plan: (_listings, { endpoints }) => {
      const request = { method: 'GET' as const, url: `${endpoints.rest}/candles?from={since}`, weight: 1 };
      return [
        { kind: 'poll', id: 'c', shards: [0], requests: [{ ...request, sinceMs: 180_000 }], everyMs: 50, covers: [] },
      ];
    },
  });
  const asked = (): readonly string[] => received.paths.filter((path) => path.startsWith('/candles'));
  await waitFor('a poll', () => asked().length > 0);
  const since = Number(/^\/candles\?from=(\d+)$/.exec(asked()[0] ?? '')?.[1]) + 180;
  t.ok(since >= before && since <= Math.ceil(clock.nowMicros() / 1_000_000), `${since}`);
});
