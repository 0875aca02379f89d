// A whole collector against hand-driven servers: what it writes to every shard before, beside and after its connections.
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { type CollectorOptions, startCollector } from '../../../ingest/feed/collector.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { toShard } from '../../../schemas/shards.ts';
import type { TickBody } from '../../../schemas/topics.ts';
import {
  openMemory,
  paper,
  readBody,
  silentLog,
  startPaper,
  toText,
  type Written,
} from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';
import { clock, connIds } from './slot-parts.ts';

/** A whole collector on a server of its own. */
const runCollector = async (t: Test, listings: () => readonly string[], change: Partial<CollectorOptions> = {}) => {
  const server = await startPaper({
    answer: (path, response) => response.end(path === '/listings' ? JSON.stringify(listings()) : '{"snapshot":1}'),
  });
  const memory = openMemory();
  const collector = startCollector({
    venue: paper,
    endpoints: { rest: server.rest, ws: server.ws },
    shards: 2,
    collector: 'c1',
    writer: memory,
    nowMicros: clock.nowMicros,
    meters: createMeters(new Registry()).venue('paper'),
    random: () => 0,
    log: silentLog,
    ...change,
  });
  t.teardown(async () => {
    collector.stop();
    await server.close();
  });
  return { server, memory, collector };
};

/** Two symbols for each of two shards. */
const listSymbols = (shard: number): string[] =>
  ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF', 'GGG', 'HHH', 'III', 'JJJ']
    .filter((s) => toShard(s, 2) === shard)
    .slice(0, 2);

t.test('capability and reference come before any connection, to every shard', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length >= 2);
  t.ok(collector.isPlanned());
  t.same(
    memory.of('capability').map(({ shards }) => shards),
    [[0], [1]],
  );
  t.same(readBody(memory.of('capability')[0] as Written), {
    name: 'Paper',
    layers: { book: { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } },
  });
  const [reference] = memory.of('response');
  t.match(reference, { slot: 'reference', shards: [0, 1], seq: 1, request: /^GET .*\/listings$/ });
  const kinds = memory.written.filter(({ kind }) => kind !== 'tick').map(({ kind }) => kind);
  t.same(kinds.slice(0, 3), ['capability', 'capability', 'response']);
});

t.test('horizons that depend on the number of listings are published once known, and when they change', async (t) => {
  let listings = listSymbols(0);
  const deliveries: Venue['deliveries'] = (known) => ({
    oi: { policy: 'on', cadence: known.length * 1_000, horizonMs: known.length * 2_000, horizonSource: 'assumed' },
  });
  const { memory } = await runCollector(t, () => listings, { venue: { ...paper, deliveries } });
  const readTimes = () =>
    memory
      .of('capability')
      .filter(({ shards }) => shards[0] === 0)
      .map((message) => (readBody(message).layers as Record<string, { cadence_ms: number }>).oi?.cadence_ms ?? null);
  await waitFor('known listings', () => readTimes().length >= 2);
  t.same(readTimes(), [null, 2_000]);
  listings = [...listings, ...listSymbols(1)];
  await waitFor('more listings', () => readTimes().length >= 3);
  t.same(readTimes(), [null, 2_000, 4_000]);
});

t.test('a tick a shard names exactly the connections open at that point of the log', async (t) => {
  const { server, memory } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length >= 2);
  const ticksAfter = (index: number) => memory.written.slice(index).filter(({ kind }) => kind === 'tick');
  const mark = memory.written.length;
  await waitFor('ticks that name them', () => ticksAfter(mark).length >= 4);
  server.sockets()[0]?.terminate();
  await waitFor('a third connection', () => memory.of('open').length >= 3);
  const end = memory.written.length;
  await waitFor('ticks after it', () => ticksAfter(end).length >= 4);

  const open = new Map<string, { shards: readonly number[]; opened_at: unknown }>();
  let checked = 0;
  for (const message of memory.written) {
    if (message.kind === 'open')
      open.set(message.conn_id, { shards: message.shards, opened_at: readBody(message).opened_at });
    if (message.kind === 'lost') open.delete(message.conn_id);
    if (message.kind !== 'tick') continue;
    const [shard = -1] = message.shards;
    const expected = [...open]
      .filter(([, o]) => o.shards.includes(shard))
      .map(([conn_id, { opened_at }]) => ({ conn_id, opened_at }));
    const body = readBody(message) as unknown as TickBody;
    if (JSON.stringify(body) !== JSON.stringify({ collector: 'c1', connections: expected }))
      t.same(body.connections, expected);
    t.match(message, { slot: 'collector', conn_id: 'c1', seq: 0 });
    checked += 1;
  }
  t.ok(checked >= 8);
});

t.test(
  'when listings change only the slots that change are replaced, the new connection before the old one ends',
  async (t) => {
    const [first = '', second = ''] = listSymbols(0);
    const [other = ''] = listSymbols(1);
    let listings = [first, other];
    const { server, memory } = await runCollector(t, () => listings);
    await waitFor('two connections', () => memory.of('open').length >= 2);
    // Books become whole by their snapshots, so that a successor needs no predecessor.
    const feed = setInterval(() => {
      for (const book of [first, second, other]) server.sendAll(`{"book":"${book}","first":1,"last":2}`);
    }, 20);
    t.teardown(() => clearInterval(feed));
    listings = [first, second, other];
    await waitFor('the old one ended', () => memory.of('lost').length >= 1);
    const replaced = memory.of('open')[2] as Written;
    t.equal(replaced.slot, 'book.0');
    t.match(readBody(replaced), { covers: [{ symbols: [first, second] }] });
    t.equal(memory.of('lost')[0]?.slot, 'book.0');
    t.ok(memory.written.indexOf(replaced) < memory.written.indexOf(memory.of('lost')[0] as Written));
    t.equal(memory.of('open').length, 3, 'the other shard is untouched');

    listings = [first, second];
    await waitFor('the slot of the delisted one ended', () => memory.of('lost').length >= 2);
    t.match(memory.of('lost')[1], { slot: 'book.1' });
  },
);

t.test('a slot whose listings move to another one goes on until that one delivers them', async (t) => {
  const [first = '', second = ''] = listSymbols(0);
  const [other = ''] = listSymbols(1);
  let listings = [first, second, other];
  // Two listings fit on one socket.
  const plan: Venue['plan'] = (known, env) =>
    paper.plan(known, { ...env, shardOf: known.length > 2 ? env.shardOf : () => 0 });
  const { server, memory } = await runCollector(t, () => listings, { venue: { ...paper, plan } });
  await waitFor('two connections', () => memory.of('open').length >= 2);
  const feed = setInterval(() => {
    for (const book of [first, second, other]) server.sendAll(`{"book":"${book}","first":1,"last":2}`);
  }, 20);
  t.teardown(() => clearInterval(feed));
  listings = [first, other];
  await waitFor('both old ones ended', () => memory.of('lost').length >= 2);
  const successor = memory.of('open')[2] as Written;
  t.match(readBody(successor), { covers: [{ symbols: [first, other].toSorted() }] });
  const delivered = memory.written.findIndex(({ kind, conn_id }) => kind === 'frame' && conn_id === successor.conn_id);
  for (const lost of memory.of('lost')) t.ok(memory.written.indexOf(lost) > delivered, lost.slot);
  t.equal(memory.of('open').length, 3, 'the one that leaves is not opened again');
});

t.test('a collector that stops records every connection as lost, once', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length >= 2);
  collector.stop();
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['collector_down', 'collector_down'],
  );
  t.same(new Set(connIds(memory.of('lost'))), new Set(connIds(memory.of('open'))));
  const end = memory.written.length;
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(memory.written.length, end);
});

t.test('listings that were requested before a standstill are requested again', async (t) => {
  let stoodMicros = 0;
  let requests = 0;
  const listings = (): readonly string[] => {
    requests += 1;
    if (requests === 1) stoodMicros += 3_500_000;
    return requests === 1 ? listSymbols(0) : listSymbols(1);
  };
  const { memory } = await runCollector(t, listings, { nowMicros: () => clock.nowMicros() + stoodMicros });
  await waitFor('listings', () => memory.of('response').length > 0);
  t.equal(
    toText(memory.of('response')[0] as Written),
    JSON.stringify(listSymbols(1)),
    'nobody knows when the first came',
  );
});

t.test(
  'after a standstill of the process every connection is opened again, and what waited in it is not written',
  async (t) => {
    let stoodMicros = 0;
    const symbols = [...listSymbols(0), ...listSymbols(1)];
    const { server, memory } = await runCollector(t, () => symbols, {
      nowMicros: () => clock.nowMicros() + stoodMicros,
    });
    await waitFor('two connections', () => memory.of('open').length >= 2);
    const isHeard = (text: string) => memory.of('frame').filter((frame) => toText(frame) === text).length;
    server.sendAll('before');
    await waitFor('a frame of each', () => isHeard('before') === 2);
    stoodMicros += 2_500_000;
    server.sendAll('a moment later');
    await waitFor('a frame of each', () => isHeard('a moment later') === 2);
    t.same(memory.of('lost'), [], 'the log counts them as alive (F-02)');

    stoodMicros += 3_500_000;
    server.sendAll('waited');
    await waitFor('two more connections', () => memory.of('open').length >= 4);
    t.same(
      memory
        .of('lost')
        .map((lost) => [lost.conn_id, readBody(lost).cause])
        .toSorted(),
      connIds(memory.of('open').slice(0, 2))
        .map((connId) => [connId, 'collector_down'])
        .toSorted(),
    );
    server.sendAll('after');
    await waitFor('a frame of each', () => isHeard('after') === 2);
    t.equal(isHeard('waited'), 0, 'nobody knows when it came');
  },
);

t.test('requests to a venue that does not answer are repeated, and ticks continue meanwhile', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.writeHead(500).end() });
  await server.close();
  const { memory, collector } = await runCollector(t, () => [], { endpoints: { rest: server.rest, ws: server.ws } });
  await waitFor('ticks', () => memory.of('tick').length >= 6);
  t.notOk(collector.isPlanned());
  t.same(memory.of('response'), []);
});
