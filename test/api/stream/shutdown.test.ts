// A process that ends with streams open: also a reader that is behind receives everything that waits for it, and the last event (ST-03 `bye`).
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { parseFrames } from '../../support/services/stream-client.ts';
import { Bench, BTC } from './bench.ts';

/** Connects over HTTP/1.0, so that what is received is the stream as it is, and reads nothing. */
const openUnread = async (bench: Bench): Promise<Socket> => {
  const { hostname, port } = new URL(bench.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  await once(socket, 'connect');
  const { authorization } = bench.test.as('pro_plus');
  socket.write(`GET /v2/stream?${BTC} HTTP/1.0\r\nauthorization: ${authorization}\r\n\r\n`);
  return socket;
};

/** Sends readings until what the kernel does not take waits here. */
const fillUp = async (bench: Bench): Promise<number> => {
  let rev = 1;
  for (; bench.test.hub.sizes().waitingBytes < 200_000; rev++) {
    bench.mark('BTCUSDT', rev + 1);
    if (rev % 50 === 0) await turn();
  }
  return rev;
};

t.test('a reader that is behind when the process ends receives what waits for it, and the last event', async (t) => {
  const bench = await Bench.open(t);
  const socket = await openUnread(bench);
  const newest = await fillUp(bench);
  const closed = bench.test.app.close();
  let text = '';
  socket.on('data', (bytes) => {
    text += String(bytes);
  });
  // A connection that is cut ends with an error.
  socket.on('error', () => undefined);
  socket.resume();
  await Promise.all([once(socket, 'close'), closed]);
  const events = parseFrames(text);
  t.match(events.at(-1), { event: 'bye', data: { reason: 'shutdown', reconnect: true } });
  t.match(events.at(-2), { event: 'update', data: { rev: newest } });
});

t.test('a reader that takes nothing delays the end by five seconds, in which others are answered', async (t) => {
  const bench = await Bench.open(t);
  const socket = await openUnread(bench);
  socket.on('error', () => undefined);
  await fillUp(bench);
  const began = performance.now();
  const closed = bench.test.app.close();
  const late = await bench.stream(BTC);
  await late.ended();
  t.same(late.events.at(-1)?.data, { reason: 'shutdown', reconnect: true }, 'a stream that comes now ends at once');
  const { status } = await fetch(`${bench.url}/v2/venues`);
  t.equal(status, 200);
  await closed;
  const tookMs = performance.now() - began;
  t.ok(tookMs > 4_000 && tookMs < 9_000, `${Math.round(tookMs)} ms`);
  socket.destroy();
});

t.test(
  'a stream that waits for what it has missed keeps its place: it ends at once, under the id that it came with',
  async (t) => {
    const bench = await Bench.open(t, market(), { aheadWithinMs: 20_000 });
    const other = await Bench.open(t);
    for (const each of [bench, other]) await (await each.ready(BTC)).close();
    other.mark('BTCUSDT', 2);
    const { lastId: ahead } = await other.ready(BTC);
    const waiting = await bench.stream(BTC, { ...bench.test.as('pro_plus'), 'last-event-id': ahead });
    const began = performance.now();
    await bench.test.app.close();
    await waiting.ended();
    t.ok(performance.now() - began < 3_000, 'nobody is waited for');
    t.same(
      waiting.events.map(({ event, id, data }) => [event, id, data.resumed ?? data.reason]),
      [
        ['hello', ahead, true],
        ['bye', ahead, 'shutdown'],
      ],
    );
  },
);
