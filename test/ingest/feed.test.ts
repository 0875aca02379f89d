// The feed against hand-driven servers: pacing, reconnects, silence, renewal, books, polls, budget, ticks, plans.
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createClock } from '../../infra/runtime/clock.ts';
import { createBookSnapshots } from '../../ingest/feed/book-snapshots.ts';
import { type CollectorOptions, startCollector } from '../../ingest/feed/collector.ts';
import { createConnectionLog } from '../../ingest/feed/connection-log.ts';
import { createMeters } from '../../ingest/feed/meters.ts';
import { createPacer } from '../../ingest/feed/pacer.ts';
import { runPollSlot } from '../../ingest/feed/poll-slot.ts';
import { createRestClient } from '../../ingest/feed/rest-client.ts';
import { runSocketSlot } from '../../ingest/feed/socket-slot.ts';
import { shardOf } from '../../schemas/shards.ts';
import type { OpenBody, TickBody } from '../../schemas/topics.ts';
import {
  bodyOf,
  type Memory,
  openMemory,
  type PaperOptions,
  type PaperServer,
  type PaperSlot,
  paper,
  silentLog,
  slotOf,
  startPaper,
  textOf,
  toRequest,
  until,
  type Written,
} from './paper-venue.ts';

const clock = createClock();

const partsOf = (server: PaperServer, memory: Memory, symbols: readonly string[] = []) => {
  const meters = createMeters(new Registry()).venue('paper');
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: clock.nowMicros,
    collector: 'c1',
    shards: 2,
    meters,
    onTickSkipped: () => undefined,
  });
  const rest = createRestClient({ weightPerMinute: 6_000, meters });
  const endpoints = { rest: server.rest, ws: server.ws };
  const known = paper.mapReference(
    {},
    {
      kind: 'response',
      received_at: 0,
      request: '',
      payload: Buffer.from(JSON.stringify(symbols)),
    },
  );
  const listings = new Map((known?.listings ?? []).map((listing) => [listing.venue_symbol, listing]));
  const books = createBookSnapshots({
    venue: paper,
    endpoints,
    rest,
    listings: () => listings,
    shardOf: () => 1,
    isFull: connections.isFull,
    meters,
    log: silentLog,
  });
  const pacer = createPacer(paper.limits.connectionsPerMinute);
  const shared = {
    venue: paper,
    connections,
    books,
    rest,
    symbols: () => symbols,
    pacer,
    random: () => 0,
    meters,
    log: silentLog,
  };
  return { connections, rest, books, shared };
};

/** One socket slot on a server of its own; everything ends with the test. */
const runSlot = async (
  t: Test,
  slotFrom: (server: PaperServer) => PaperSlot,
  options: PaperOptions & { readonly symbols?: readonly string[] } = {},
) => {
  const server = await startPaper(options);
  const memory = openMemory();
  const { books, rest, connections, shared } = partsOf(server, memory, options.symbols);
  const runner = runSocketSlot(slotFrom(server), shared);
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    books.stop();
    rest.close();
    await server.close();
  });
  return { server, memory, runner, connections };
};

const connIds = (messages: readonly Written[]): string[] => [...new Set(messages.map(({ conn_id }) => conn_id))];

t.test(
  'a socket says that it opened, sends its subscriptions at the pace of the venue and writes every frame as it came',
  async (t) => {
    const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws, { shards: [0, 1], symbols: ['AAA'] }));
    await until('three subscriptions', () => server.heard(0).length === 3);
    const heard = server.heard(0);
    t.same(
      heard.map(({ text }) => text),
      ['one', 'two', 'three'],
    );
    const tookMs = (heard[2]?.atMs ?? 0) - (heard[0]?.atMs ?? 0);
    t.ok(tookMs >= 35, `50 a second: the third 40 ms after the first, here ${tookMs}`);
    server.sendAll('{"odd": 1.00 , "utf8":"é"}');
    await until('acks and a frame', () => memory.of('frame').length === 4);

    const [open] = memory.of('open');
    t.match(bodyOf(open as Written), {
      url: server.ws,
      covers: [{ layers: ['book'], symbols: ['AAA'] }],
    } satisfies Partial<OpenBody>);
    t.same(memory.of('frame').map(textOf), ['{"ok":1}', '{"ok":2}', '{"ok":3}', '{"odd": 1.00 , "utf8":"é"}']);
    t.same(
      memory.written.map(({ seq }) => seq),
      [1, 2, 3, 4, 5],
    );
    t.equal(connIds(memory.written).length, 1);
    t.ok(memory.written.every(({ shards }) => shards.join() === '0,1'));
    const receipts = memory.written.map(({ received_at }) => received_at);
    t.same(
      receipts,
      receipts.toSorted((a, b) => a - b),
      'receipts never go back',
    );
  },
);

t.test('refused handshakes are written with their cause and tried again until one opens', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws), { handshake: (n) => [503, 403, 101][n] ?? 101 });
  await until('an open connection', () => memory.of('open').length === 1);
  t.equal(server.handshakes(), 3);
  t.same(
    memory.of('lost').map((lost) => bodyOf(lost).cause),
    ['venue_down', 'connection_lost'],
  );
  t.equal(connIds(memory.written).length, 3, 'each attempt has a name of its own');
});

t.test('a handshake answered 429 is a rate limit and its Retry-After is kept', async (t) => {
  const startedMs = performance.now();
  const { memory } = await runSlot(t, ({ ws }) => slotOf(ws), { handshake: (n) => (n === 0 ? 429 : 101) });
  await until('an open connection', () => memory.of('open').length === 1);
  t.ok(performance.now() - startedMs >= 1_000, 'one second was asked for');
  t.same(
    memory.of('lost').map((lost) => bodyOf(lost).cause),
    ['venue_rate_limit'],
  );
});

t.test('nobody listening is venue_down', async (t) => {
  const server = await startPaper();
  await server.close();
  const memory = openMemory();
  const { books, shared } = partsOf(server, memory);
  const runner = runSocketSlot(slotOf(server.ws), shared);
  t.teardown(() => {
    runner.stop('collector_down', 'end of test');
    books.stop();
  });
  await until('a lost attempt', () => memory.of('lost').length > 0);
  t.match(bodyOf(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /ECONNREFUSED/ });
});

t.test('a venue that hands out addresses is asked for one before each connection', async (t) => {
  const answers = [500, 200, 200, 200];
  const server = await startPaper({
    answer: (_path, response) => {
      const count = server.requests().length;
      response.writeHead(answers[count - 1] ?? 200).end(`${server.ws}/?token=${count}`);
    },
  });
  const memory = openMemory();
  const { books, rest, shared } = partsOf(server, memory);
  const prepare = {
    request: (url: string) => ({ method: 'POST' as const, url, weight: 1 }),
    socketUrl: (answer: Uint8Array) => Buffer.from(answer).toString(),
  };
  const runner = runSocketSlot(slotOf(`${server.rest}/address`), { ...shared, venue: { ...paper, prepare } });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    books.stop();
    rest.close();
    await server.close();
  });
  await until('a connection', () => memory.of('open').length === 1);
  t.match(bodyOf(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /status 500/ });
  t.match(bodyOf(memory.of('open')[0] as Written), { url: `${server.rest}/address` }, 'its token is told to nobody');
  server.sockets()[0]?.close(1012, 'restart');
  await until('a second connection', () => memory.of('open').length === 2);
  t.same(
    server.requests().map(({ path }) => path),
    ['/address', '/address', '/address'],
  );
});

t.test('a closed connection is lost at once and another takes its place, with a new name and seq from 1', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws));
  await until('subscribed', () => server.heard(0).length === 3);
  server.sockets()[0]?.close(1012, 'restart');
  await until('a second connection', () => memory.of('open').length === 2);
  const [lost] = memory.of('lost');
  t.match(bodyOf(lost as Written), { cause: 'connection_lost', detail: 'closed with 1012 restart' });
  t.equal(lost?.conn_id, memory.of('open')[0]?.conn_id);
  t.not(memory.of('open')[1]?.conn_id, lost?.conn_id);
  t.equal(memory.of('open')[1]?.seq, 1);
  t.ok(
    memory.written.every((m) => m.conn_id !== lost?.conn_id || m.seq <= (lost?.seq ?? 0)),
    'nothing follows its lost',
  );
});

t.test(
  'acks, heartbeats and errors are no data: a connection with nothing else is lost after its silence',
  async (t) => {
    const { server, memory } = await runSlot(t, ({ ws }) => ({ ...slotOf(ws), silenceMs: 300 }));
    await until('subscribed', () => server.heard(0).length === 3);
    const chatter = setInterval(() => {
      server.sendAll('hb');
      server.sendAll('{"err":"no such stream"}');
    }, 20);
    t.teardown(() => clearInterval(chatter));
    await until('lost', () => memory.of('lost').length === 1);
    clearInterval(chatter);
    t.match(bodyOf(memory.of('lost')[0] as Written), { cause: 'connection_lost', detail: 'no data for 300 ms' });
    t.ok(
      memory.of('frame').some((frame) => textOf(frame) === 'hb'),
      'heartbeats are written all the same',
    );
  },
);

t.test('data keeps a connection alive beyond its silence', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...slotOf(ws), silenceMs: 150 }));
  await until('subscribed', () => server.heard(0).length === 3);
  let sent = 0;
  const feed = setInterval(() => server.sendAll(`{"n":${++sent}}`), 20);
  t.teardown(() => clearInterval(feed));
  await until('twenty frames', () => sent >= 20);
  t.same(memory.of('lost'), []);
});

t.test('a connection is renewed before its age limit without losing a frame', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...slotOf(ws), renewAfterMs: 300 }));
  await until('subscribed', () => server.heard(0).length === 3);
  let sent = 0;
  const feed = setInterval(() => server.sendAll(`{"n":${++sent}}`), 2);
  t.teardown(() => clearInterval(feed));
  await until('two successors', () => memory.of('lost').length >= 2);
  clearInterval(feed);
  const last = sent;
  const numbers = () => new Set(memory.of('frame').flatMap((f) => /^\{"n":(\d+)\}$/.exec(textOf(f))?.[1] ?? []));
  await until('the last frame', () => numbers().has(String(last)));
  t.equal(numbers().size, last, 'each frame at least once');
  t.match(bodyOf(memory.of('lost')[0] as Written), { cause: 'connection_lost', detail: 'its successor took over' });
  for (const lost of memory.of('lost')) {
    const at = memory.written.indexOf(lost);
    const openBefore = memory.written.slice(0, at).filter(({ kind }) => kind === 'open').length;
    const lostBefore = memory.written.slice(0, at).filter(({ kind }) => kind === 'lost').length;
    t.equal(openBefore - lostBefore, 2, 'the old one ends while the new one is open');
  }
});

t.test('while the log takes no more a socket is not read, and nothing of it is missing afterwards', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...slotOf(ws), silenceMs: 400 }));
  await until('subscribed', () => memory.of('frame').length === 3);
  const release = memory.block();
  const startedMs = performance.now();
  const total = 20_000;
  const filler = 'x'.repeat(200);
  for (let n = 1; n <= total; n += 1) server.sendAll(`{"n":${n},"filler":"${filler}"}`);
  await until('silence passes unread', () => performance.now() - startedMs > 900);
  const held = memory.of('frame').length;
  t.ok(held < total, `reading stopped after ${held}`);
  t.same(memory.of('lost'), [], 'our own pause is not the silence of the venue');
  release();
  await until('all frames', () => memory.of('frame').length === total + 3);
  t.equal(textOf(memory.of('frame').at(-1) as Written), `{"n":${total},"filler":"${filler}"}`);
});

t.test(
  'a book gets a snapshot when first heard and again after a hole, under the connection it serves and for its shard only',
  async (t) => {
    let snapshot = 10;
    const answer: PaperOptions['answer'] = (_path, response) => response.end(`{"snapshot":${snapshot}}`);
    const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws, { shards: [0, 1], symbols: ['AAA'] }), {
      answer,
      symbols: ['AAA'],
    });
    await until('subscribed', () => server.heard(0).length === 3);
    t.same(server.requests(), []);
    server.sendAll('{"book":"AAA","first":9,"last":11}');
    await until('the first snapshot', () => memory.of('response').length === 1);
    const [response] = memory.of('response');
    t.equal(response?.request, `GET ${server.rest}/book?symbol=AAA`);
    t.equal(response?.conn_id, memory.of('open')[0]?.conn_id);
    t.equal(response?.slot, 'book.0');
    t.same(response?.shards, [1]);
    t.equal(textOf(response as Written), '{"snapshot":10}');

    server.sendAll('{"book":"AAA","first":12,"last":13}');
    server.sendAll('{"book":"AAA","first":14,"last":15}');
    await until('three diffs', () => memory.of('frame').length === 6);
    t.equal(server.requests().length, 1, 'an unbroken chain asks for nothing');
    snapshot = 30;
    server.sendAll('{"book":"AAA","first":29,"last":30}');
    await until('a second snapshot', () => memory.of('response').length === 2);
    server.sendAll('{"book":"AAA","first":31,"last":31}');
    await until('five diffs', () => memory.of('frame').length === 8);
    t.equal(server.requests().length, 2);
    t.same(memory.of('lost'), [], 'the connection stays');
    const seqs = memory.written.map(({ seq }) => seq);
    t.same(
      seqs,
      seqs.toSorted((a, b) => a - b),
      'frames and answers share one seq',
    );
  },
);

t.test('a snapshot too old to join is asked for again', async (t) => {
  const answers = [3, 10];
  const answer: PaperOptions['answer'] = (_path, response) => response.end(`{"snapshot":${answers.shift()}}`);
  const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws, { symbols: ['AAA'] }), {
    answer,
    symbols: ['AAA'],
  });
  await until('subscribed', () => server.heard(0).length === 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  await until('both snapshots', () => memory.of('response').length === 2);
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 900, 'a second later');
});

t.test('a REST answer of 429 pauses the host for its Retry-After and nothing of it is written', async (t) => {
  let refused = 0;
  const answer: PaperOptions['answer'] = (_path, response) => {
    if (refused++ === 0) response.writeHead(429, { 'retry-after': '1' }).end('{"code":-1003}');
    else response.end('{"snapshot":10}');
  };
  const { server, memory } = await runSlot(t, ({ ws }) => slotOf(ws, { symbols: ['AAA', 'BBB'] }), {
    answer,
    symbols: ['AAA', 'BBB'],
  });
  await until('subscribed', () => server.heard(0).length === 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  server.sendAll('{"book":"BBB","first":9,"last":11}');
  await until('both books', () => memory.of('response').length === 2);
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 990, 'the other book waits too');
  t.same(memory.of('response').map(textOf), ['{"snapshot":10}', '{"snapshot":10}']);
  t.same(memory.of('lost'), [], 'the socket stays');
});

t.test(
  'a poll slot opens once, is lost after three periods without an answer and opens anew at the next one',
  async (t) => {
    let up = true;
    const server = await startPaper({
      answer: (path, response) => (up ? response.end(`{"path":"${path}"}`) : response.writeHead(503).end('down')),
    });
    const memory = openMemory();
    const { connections, rest, books, shared } = partsOf(server, memory);
    const runner = runPollSlot(
      {
        kind: 'poll',
        id: 'oi',
        shards: [1],
        requests: [toRequest(`${server.rest}/a`), toRequest(`${server.rest}/b`)].map((r) => ({ ...r, weight: 1 })),
        everyMs: 40,
        covers: [{ layers: ['oi'], symbols: null }],
      },
      { connections, rest, meters: shared.meters, log: silentLog },
    );
    t.teardown(async () => {
      runner.stop('collector_down', 'end of test');
      books.stop();
      rest.close();
      await server.close();
    });
    await until('two rounds', () => memory.of('response').length >= 4);
    t.equal(memory.of('open').length, 1);
    t.same(
      memory
        .of('response')
        .slice(0, 2)
        .map((r) => r.request),
      [`GET ${server.rest}/a`, `GET ${server.rest}/b`],
    );
    up = false;
    await until('lost', () => memory.of('lost').length === 1);
    t.equal(bodyOf(memory.of('lost')[0] as Written).cause, 'venue_down');
    const before = memory.of('response').length;
    t.notOk(
      memory.of('response').some((r) => textOf(r) === 'down'),
      'a refusal is no answer',
    );
    up = true;
    await until('open again', () => memory.of('open').length === 2 && memory.of('response').length > before);
    t.equal(memory.of('response')[before]?.conn_id, memory.of('open')[1]?.conn_id);
  },
);

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
    onTickSkipped: () => undefined,
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
const symbolsOf = (shard: number): string[] =>
  ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF', 'GGG', 'HHH', 'III', 'JJJ']
    .filter((s) => shardOf(s, 2) === shard)
    .slice(0, 2);

t.test('capability and reference come before any connection, to every shard', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...symbolsOf(0), ...symbolsOf(1)]);
  await until('two connections', () => memory.of('open').length === 2);
  t.ok(collector.isPlanned());
  t.same(
    memory.of('capability').map(({ shards }) => shards),
    [[0], [1]],
  );
  t.same(bodyOf(memory.of('capability')[0] as Written), {
    name: 'Paper',
    layers: { book: { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } },
  });
  const [reference] = memory.of('response');
  t.match(reference, { slot: 'reference', shards: [0, 1], seq: 1, request: /^GET .*\/listings$/ });
  const kinds = memory.written.filter(({ kind }) => kind !== 'tick').map(({ kind }) => kind);
  t.same(kinds.slice(0, 3), ['capability', 'capability', 'response']);
});

t.test('a tick a shard names exactly the connections open at that point of the log', async (t) => {
  const { server, memory } = await runCollector(t, () => [...symbolsOf(0), ...symbolsOf(1)]);
  await until('two connections', () => memory.of('open').length === 2);
  const ticksAfter = (index: number) => memory.written.slice(index).filter(({ kind }) => kind === 'tick');
  const mark = memory.written.length;
  await until('ticks that name them', () => ticksAfter(mark).length >= 4);
  server.sockets()[0]?.terminate();
  await until('a third connection', () => memory.of('open').length === 3);
  const end = memory.written.length;
  await until('ticks after it', () => ticksAfter(end).length >= 4);

  const open = new Map<string, { shards: readonly number[]; opened_at: unknown }>();
  let checked = 0;
  for (const message of memory.written) {
    if (message.kind === 'open')
      open.set(message.conn_id, { shards: message.shards, opened_at: bodyOf(message).opened_at });
    if (message.kind === 'lost') open.delete(message.conn_id);
    if (message.kind !== 'tick') continue;
    const [shard = -1] = message.shards;
    const expected = [...open]
      .filter(([, o]) => o.shards.includes(shard))
      .map(([conn_id, { opened_at }]) => ({ conn_id, opened_at }));
    const body = bodyOf(message) as unknown as TickBody;
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
    const [first = '', second = ''] = symbolsOf(0);
    const [other = ''] = symbolsOf(1);
    let listings = [first, other];
    const { server, memory } = await runCollector(t, () => listings);
    await until('two connections', () => memory.of('open').length === 2);
    // Books become whole by their snapshots, so that a successor may stand alone.
    const feed = setInterval(() => {
      for (const book of [first, second, other]) server.sendAll(`{"book":"${book}","first":1,"last":2}`);
    }, 20);
    t.teardown(() => clearInterval(feed));
    listings = [first, second, other];
    await until('the old one ended', () => memory.of('lost').length === 1);
    const replaced = memory.of('open')[2] as Written;
    t.equal(replaced.slot, 'book.0');
    t.match(bodyOf(replaced), { covers: [{ symbols: [first, second] }] });
    t.equal(memory.of('lost')[0]?.slot, 'book.0');
    t.ok(memory.written.indexOf(replaced) < memory.written.indexOf(memory.of('lost')[0] as Written));
    t.equal(memory.of('open').length, 3, 'the other shard is untouched');

    listings = [first, second];
    await until('the slot of the delisted one ended', () => memory.of('lost').length === 2);
    t.match(memory.of('lost')[1], { slot: 'book.1' });
  },
);

t.test('a collector that stops says of every connection that it is lost, once', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...symbolsOf(0), ...symbolsOf(1)]);
  await until('two connections', () => memory.of('open').length === 2);
  collector.stop();
  t.same(
    memory.of('lost').map((lost) => bodyOf(lost).cause),
    ['collector_down', 'collector_down'],
  );
  t.same(new Set(connIds(memory.of('lost'))), new Set(connIds(memory.of('open'))));
  const end = memory.written.length;
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(memory.written.length, end);
});

t.test('a venue that does not answer keeps being asked, and ticks go on meanwhile', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.writeHead(500).end() });
  await server.close();
  const { memory, collector } = await runCollector(t, () => [], { endpoints: { rest: server.rest, ws: server.ws } });
  await until('ticks', () => memory.of('tick').length >= 6);
  t.notOk(collector.isPlanned());
  t.same(memory.of('response'), []);
});
