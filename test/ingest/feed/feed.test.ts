// The feed against hand-driven servers: pacing, reconnects, silence, renewal, books, polls, budget, ticks, plans.
import type { ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createClock } from '../../../infra/runtime/clock.ts';
import { createBookSnapshots } from '../../../ingest/feed/book-snapshots.ts';
import { createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { type CollectorOptions, startCollector } from '../../../ingest/feed/collector.ts';
import { createConnectionLog } from '../../../ingest/feed/connection-log.ts';
import { createFillIns } from '../../../ingest/feed/fill-ins.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import { createPacer } from '../../../ingest/feed/pacer.ts';
import { runPollSlot } from '../../../ingest/feed/poll-slot.ts';
import { createRestClient } from '../../../ingest/feed/rest-client.ts';
import { runSocketSlot } from '../../../ingest/feed/socket-slot.ts';
import type { Urgency } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { shardOf } from '../../../schemas/shards.ts';
import type { OpenBody, TickBody } from '../../../schemas/topics.ts';
import { waitFor } from '../../support/wait.ts';
import {
  type Memory,
  makeSlot,
  openMemory,
  type PaperOptions,
  type PaperServer,
  type PaperSlot,
  paper,
  readBody,
  silentLog,
  startPaper,
  toRequest,
  toText,
  type Written,
} from '../paper-venue.ts';

const clock = createClock();

const createParts = (server: PaperServer, memory: Memory, symbols: readonly string[] = []) => {
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
    onRefused: () => undefined,
    log: silentLog,
  });
  const fillIns = createFillIns({
    rest,
    shardOf: () => 1,
    isFull: connections.isFull,
    meters,
    log: silentLog,
    lookEveryMs: 20,
  });
  const pacer = createPacer(paper.limits.connectionsPerMinute);
  const shared = {
    venue: paper,
    endpoints,
    connections,
    books,
    fillIns,
    wallMs: () => clock.nowMicros() / 1_000,
    rest,
    symbols: () => symbols,
    pacer,
    random: () => 0,
    meters,
    onRefused: () => undefined,
    log: silentLog,
  };
  const stop = (): void => {
    books.stop();
    fillIns.stop();
    rest.close();
  };
  return { connections, rest, stop, shared };
};

/** One socket slot on a server of its own; everything ends with the test. */
const runSlot = async (
  t: Test,
  slotFrom: (server: PaperServer) => PaperSlot,
  options: PaperOptions & { readonly symbols?: readonly string[] } = {},
) => {
  const server = await startPaper(options);
  const memory = openMemory();
  const { stop, connections, shared } = createParts(server, memory, options.symbols);
  const runner = runSocketSlot(slotFrom(server), shared);
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  return { server, memory, runner, connections };
};

const connIds = (messages: readonly Written[]): string[] => [...new Set(messages.map(({ conn_id }) => conn_id))];

t.test(
  'a socket records that it opened, sends its subscriptions at the pace of the venue and writes every frame as it came',
  async (t) => {
    const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { shards: [0, 1], symbols: ['AAA'] }));
    await waitFor('three subscriptions', () => server.received(0).length === 3);
    const messages = server.received(0);
    t.same(
      messages.map(({ text }) => text),
      ['one', 'two', 'three'],
    );
    // Since before the first could be sent: it may arrive late on a busy machine, the third never early.
    const tookMs = (messages[2]?.atMs ?? 0) - server.acceptedMs(0);
    t.ok(tookMs >= 35, `50 a second: the third 40 ms after the first, here ${tookMs}`);
    server.sendAll('{"odd": 1.00 , "utf8":"é"}');
    await waitFor('acks and a frame', () => memory.of('frame').length === 4);

    const [open] = memory.of('open');
    t.match(readBody(open as Written), {
      url: server.ws,
      covers: [{ layers: ['book'], symbols: ['AAA'] }],
    } satisfies Partial<OpenBody>);
    t.same(memory.of('frame').map(toText), ['{"ok":1}', '{"ok":2}', '{"ok":3}', '{"odd": 1.00 , "utf8":"é"}']);
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
  const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws), {
    handshake: (n) => [503, 403, 101][n] ?? 101,
  });
  await waitFor('an open connection', () => memory.of('open').length === 1);
  t.equal(server.handshakes(), 3);
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['venue_down', 'connection_lost'],
  );
  const { covers } = readBody(memory.of('open')[0] as Written);
  for (const lost of memory.of('lost')) t.same(readBody(lost).covers, covers, 'with what it would have brought');
  t.equal(connIds(memory.written).length, 3, 'each attempt has a name of its own');
});

t.test('a handshake answered 429 is a rate limit and its Retry-After is kept', async (t) => {
  const startedMs = performance.now();
  const { memory } = await runSlot(t, ({ ws }) => makeSlot(ws), { handshake: (n) => (n === 0 ? 429 : 101) });
  await waitFor('an open connection', () => memory.of('open').length === 1);
  t.ok(performance.now() - startedMs >= 1_000, 'Retry-After was one second');
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['venue_rate_limit'],
  );
});

t.test('nobody listening is venue_down', async (t) => {
  const server = await startPaper();
  await server.close();
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const runner = runSocketSlot(makeSlot(server.ws), shared);
  t.teardown(() => {
    runner.stop('collector_down', 'end of test');
    stop();
  });
  await waitFor('a lost attempt', () => memory.of('lost').length > 0);
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /ECONNREFUSED/ });
});

t.test('the address of a venue that hands them out is requested before each connection', async (t) => {
  const answers = [500, 200, 200, 200];
  const server = await startPaper({
    answer: (_path, response) => {
      const count = server.requests().length;
      response.writeHead(answers[count - 1] ?? 200).end(`${server.ws}/?token=${count}`);
    },
  });
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const prepare = {
    request: (url: string) => ({ method: 'POST' as const, url, weight: 1 }),
    socketUrl: (answer: Uint8Array) => Buffer.from(answer).toString(),
  };
  const runner = runSocketSlot(makeSlot(`${server.rest}/address`), { ...shared, venue: { ...paper, prepare } });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('a connection', () => memory.of('open').length === 1);
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /status 500/ });
  t.match(readBody(memory.of('open')[0] as Written), { url: `${server.rest}/address` }, 'its token is not recorded');
  server.sockets()[0]?.close(1012, 'restart');
  await waitFor('a second connection', () => memory.of('open').length === 2);
  t.same(
    server.requests().map(({ path }) => path),
    ['/address', '/address', '/address'],
  );
});

t.test('a closed connection is lost at once and another takes its place, with a new name and seq from 1', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws));
  await waitFor('subscribed', () => server.received(0).length === 3);
  server.sockets()[0]?.close(1012, 'restart');
  await waitFor('a second connection', () => memory.of('open').length === 2);
  const [lost] = memory.of('lost');
  t.match(readBody(lost as Written), { cause: 'connection_lost', detail: 'closed with 1012 restart' });
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
    const { server, memory } = await runSlot(t, ({ ws }) => ({ ...makeSlot(ws), silenceMs: 300 }));
    await waitFor('subscribed', () => server.received(0).length === 3);
    const chatter = setInterval(() => {
      server.sendAll('hb');
      server.sendAll('{"err":"no such stream"}');
    }, 20);
    t.teardown(() => clearInterval(chatter));
    await waitFor('lost', () => memory.of('lost').length === 1);
    clearInterval(chatter);
    t.match(readBody(memory.of('lost')[0] as Written), { cause: 'connection_lost', detail: 'no data for 300 ms' });
    t.ok(
      memory.of('frame').some((frame) => toText(frame) === 'hb'),
      'heartbeats are written all the same',
    );
  },
);

t.test('data keeps a connection alive beyond its silence', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...makeSlot(ws), silenceMs: 150 }));
  await waitFor('subscribed', () => server.received(0).length === 3);
  let sent = 0;
  const feed = setInterval(() => server.sendAll(`{"n":${++sent}}`), 20);
  t.teardown(() => clearInterval(feed));
  await waitFor('twenty frames', () => sent >= 20);
  t.same(memory.of('lost'), []);
});

t.test('a connection is renewed before its age limit without losing a frame', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...makeSlot(ws), renewAfterMs: 300 }));
  await waitFor('subscribed', () => server.received(0).length === 3);
  let sent = 0;
  const feed = setInterval(() => server.sendAll(`{"n":${++sent}}`), 2);
  t.teardown(() => clearInterval(feed));
  await waitFor('two successors', () => memory.of('lost').length >= 2);
  clearInterval(feed);
  const last = sent;
  const numbers = () => new Set(memory.of('frame').flatMap((f) => /^\{"n":(\d+)\}$/.exec(toText(f))?.[1] ?? []));
  await waitFor('the last frame', () => numbers().has(String(last)));
  t.equal(numbers().size, last, 'each frame at least once');
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'connection_lost', detail: 'its successor took over' });
  for (const lost of memory.of('lost')) {
    const at = memory.written.indexOf(lost);
    const openBefore = memory.written.slice(0, at).filter(({ kind }) => kind === 'open').length;
    const lostBefore = memory.written.slice(0, at).filter(({ kind }) => kind === 'lost').length;
    t.equal(openBefore - lostBefore, 2, 'the old one ends while the new one is open');
  }
});

t.test('while the log takes no more a socket is not read, and nothing of it is missing afterwards', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...makeSlot(ws), silenceMs: 400 }));
  await waitFor('subscribed', () => memory.of('frame').length === 3);
  const release = memory.block();
  const startedMs = performance.now();
  const total = 20_000;
  const filler = 'x'.repeat(200);
  for (let n = 1; n <= total; n += 1) server.sendAll(`{"n":${n},"filler":"${filler}"}`);
  await waitFor('silence passes unread', () => performance.now() - startedMs > 900);
  const held = memory.of('frame').length;
  t.ok(held < total, `reading stopped after ${held}`);
  t.same(memory.of('lost'), [], 'our own pause is not the silence of the venue');
  release();
  await waitFor('all frames', () => memory.of('frame').length === total + 3);
  t.equal(toText(memory.of('frame').at(-1) as Written), `{"n":${total},"filler":"${filler}"}`);
});

t.test(
  'a book gets a snapshot at its first diff and again after a hole, under the connection it serves and for its shard only',
  async (t) => {
    let snapshot = 10;
    const answer: PaperOptions['answer'] = (_path, response) => response.end(`{"snapshot":${snapshot}}`);
    const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { shards: [0, 1], symbols: ['AAA'] }), {
      answer,
      symbols: ['AAA'],
    });
    await waitFor('subscribed', () => server.received(0).length === 3);
    t.same(server.requests(), []);
    server.sendAll('{"book":"AAA","first":9,"last":11}');
    await waitFor('the first snapshot', () => memory.of('response').length === 1);
    const [response] = memory.of('response');
    t.equal(response?.request, `GET ${server.rest}/book?symbol=AAA`);
    t.equal(response?.conn_id, memory.of('open')[0]?.conn_id);
    t.equal(response?.slot, 'book.0');
    t.same(response?.shards, [1]);
    t.equal(toText(response as Written), '{"snapshot":10}');

    server.sendAll('{"book":"AAA","first":12,"last":13}');
    server.sendAll('{"book":"AAA","first":14,"last":15}');
    await waitFor('three diffs', () => memory.of('frame').length === 6);
    t.equal(server.requests().length, 1, 'an unbroken chain requests nothing');
    snapshot = 30;
    server.sendAll('{"book":"AAA","first":29,"last":30}');
    await waitFor('a second snapshot', () => memory.of('response').length === 2);
    server.sendAll('{"book":"AAA","first":31,"last":31}');
    await waitFor('five diffs', () => memory.of('frame').length === 8);
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

t.test('a snapshot too old to join is requested again', async (t) => {
  const answers = [3, 10];
  const answer: PaperOptions['answer'] = (_path, response) => response.end(`{"snapshot":${answers.shift()}}`);
  const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { symbols: ['AAA'] }), {
    answer,
    symbols: ['AAA'],
  });
  await waitFor('subscribed', () => server.received(0).length === 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  await waitFor('both snapshots', () => memory.of('response').length === 2);
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 900, 'a second later');
});

t.test('a REST answer of 429 pauses the host for its Retry-After and nothing of it is written', async (t) => {
  let refused = 0;
  const answer: PaperOptions['answer'] = (_path, response) => {
    if (refused++ === 0) response.writeHead(429, { 'retry-after': '1' }).end('{"code":-1003}');
    else response.end('{"snapshot":10}');
  };
  const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { symbols: ['AAA', 'BBB'] }), {
    answer,
    symbols: ['AAA', 'BBB'],
  });
  await waitFor('subscribed', () => server.received(0).length === 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  server.sendAll('{"book":"BBB","first":9,"last":11}');
  await waitFor('both books', () => memory.of('response').length === 2);
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 990, 'the other book waits too');
  t.same(memory.of('response').map(toText), ['{"snapshot":10}', '{"snapshot":10}']);
  t.same(memory.of('lost'), [], 'the socket stays');
});

t.test(
  'a poll slot opens once, is lost after three periods without an answer and opens again at the next one',
  async (t) => {
    let up = true;
    const server = await startPaper({
      answer: (path, response) => (up ? response.end(`{"path":"${path}"}`) : response.writeHead(503).end('down')),
    });
    const memory = openMemory();
    const { connections, rest, stop, shared } = createParts(server, memory);
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
      stop();
      await server.close();
    });
    await waitFor('two rounds', () => memory.of('response').length >= 4);
    t.equal(memory.of('open').length, 1);
    t.same(
      memory
        .of('response')
        .slice(0, 2)
        .map((r) => r.request),
      [`GET ${server.rest}/a`, `GET ${server.rest}/b`],
    );
    up = false;
    await waitFor('lost', () => memory.of('lost').length === 1);
    t.equal(readBody(memory.of('lost')[0] as Written).cause, 'venue_down');
    const before = memory.of('response').length;
    t.notOk(
      memory.of('response').some((r) => toText(r) === 'down'),
      'a refusal is no answer',
    );
    up = true;
    await waitFor('open again', () => memory.of('open').length === 2 && memory.of('response').length > before);
    t.equal(memory.of('response')[before]?.conn_id, memory.of('open')[1]?.conn_id);
  },
);

t.test('polls are spread over their period', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const { connections, rest, stop, shared } = createParts(server, openMemory());
  const requests = Array.from({ length: 5 }, (_, i) => ({ ...toRequest(`${server.rest}/${i}`), weight: 1 }));
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 500, covers: [] };
  const beganMs = performance.now();
  const runner = runPollSlot(slot, { connections, rest, meters: shared.meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('two rounds', () => server.requests().length >= 10);
  const firstTen = server.requests().slice(0, 10);
  t.same(
    firstTen.map(({ path }) => path),
    ['/0', '/1', '/2', '/3', '/4', '/0', '/1', '/2', '/3', '/4'],
  );
  // No request is early: one that is late on a busy machine does not move the others.
  t.ok(
    firstTen.every(({ atMs }, i) => atMs - beganMs > i * 100 - 60),
    `100 ms apart, here ${firstTen.map(({ atMs }) => Math.round(atMs - beganMs))}`,
  );
});

t.test('a poll slot is lost when the venue refuses everybody, and repeats the request after the pause', async (t) => {
  let refused = false;
  const server = await startPaper({
    answer: (path, response) => {
      if (path !== '/1' || refused) return response.end('{}');
      refused = true;
      return response.writeHead(418, { 'retry-after': '1' }).end('{"code":-1003}');
    },
  });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory);
  const requests = Array.from({ length: 4 }, (_, i) => ({ ...toRequest(`${server.rest}/${i}`), weight: 1 }));
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 200, covers: [] };
  const runner = runPollSlot(slot, { connections, rest, meters: shared.meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('open again', () => memory.of('open').length === 2);
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['venue_rate_limit'],
  );
  const refusedAt = server.requests().findIndex(({ path }) => path === '/1');
  // The eight that wait are sent at once, over several connections: they arrive in any order.
  const isNextRound = (): boolean => server.requests().filter(({ path }) => path === '/0').length >= 3;
  await waitFor('the next round', () => isNextRound() && server.requests().length > refusedAt + 8);
  const after = server.requests().slice(refusedAt + 1);
  t.ok((after[0]?.atMs ?? 0) - (server.requests()[refusedAt]?.atMs ?? 0) >= 990, 'nothing is sent in between');
  t.ok(
    after.slice(0, 8).some(({ path }) => path === '/1'),
    'the refused request is repeated',
  );
});

t.test('a poll slot that the limit leaves nothing for is lost by that, until it is answered', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const memory = openMemory();
  const { connections, stop, shared } = createParts(server, memory);
  const rest = createRestClient({ weightPerMinute: 100, meters: shared.meters });
  await rest.ask({ method: 'GET', url: `${server.rest}/book`, weight: 48 }, 'book');
  const requests = [{ method: 'GET' as const, url: `${server.rest}/oi`, weight: 1 }];
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 100, covers: [] };
  const deps = { connections, rest, meters: shared.meters, log: silentLog, starvedAfterMs: 300 };
  const runner = runPollSlot(slot, deps);
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    rest.close();
    stop();
    await server.close();
  });
  await waitFor('lost', () => memory.of('lost').length === 1);
  t.equal(readBody(memory.of('lost')[0] as Written).cause, 'venue_rate_limit');
  t.equal(server.requests().length, 1, 'the book alone was requested');
});

t.test('the most urgent request is sent first, and books do not wait for the budget of polls', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const meters = createMeters(new Registry()).venue('paper');
  const rest = createRestClient({ weightPerMinute: 100, meters });
  t.teardown(async () => {
    rest.close();
    await server.close();
  });
  const ask = (path: string, urgency: Urgency, weight = 1): Promise<string> =>
    rest.ask({ method: 'GET', url: `${server.rest}/${path}`, weight }, urgency).then(
      () => path,
      () => 'closed',
    );
  await ask('first', 'poll', 36);
  const waiting = [ask('refresh', 'refresh'), ask('late', 'price_candle'), ask('poll', 'poll')];
  const book = ask('book', 'book', 10);
  t.equal(await Promise.race([...waiting, book]), 'book', 'polls have used their share of the burst');
  t.same(
    server.requests().map(({ path }) => path),
    ['/first', '/book'],
  );
});

t.test('hosts of a venue that counts them together draw on one weight', async (t) => {
  const servers = await Promise.all([1, 2].map(() => startPaper({ answer: (_path, response) => response.end('{}') })));
  const [first, second] = servers as [PaperServer, PaperServer];
  const meters = createMeters(new Registry()).venue('paper');
  const rest = createRestClient({ weightPerMinute: 100, weightIsShared: true, meters });
  t.teardown(async () => {
    rest.close();
    for (const server of servers) await server.close();
  });
  const ask = (url: string, urgency: Urgency, weight: number): Promise<string> =>
    rest.ask({ method: 'GET', url, weight }, urgency).then(
      () => urgency,
      () => 'closed',
    );
  await ask(`${first.rest}/poll`, 'poll', 36);
  const waiting = ask(`${second.rest}/poll`, 'poll', 1);
  t.equal(await Promise.race([waiting, ask(`${second.rest}/book`, 'book', 10)]), 'book');
  t.same(
    second.requests().map(({ path }) => path),
    ['/book'],
    'polls have used their share of the burst, at the other host',
  );
});

t.test('polls continue beside the first snapshots of many books, which are not counted as theirs', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const meters = createMeters(new Registry()).venue('paper');
  const rest = createRestClient({ weightPerMinute: 100, meters });
  t.teardown(async () => {
    rest.close();
    await server.close();
  });
  await rest.ask({ method: 'GET', url: `${server.rest}/books`, weight: 40 }, 'book');
  await rest.ask({ method: 'GET', url: `${server.rest}/poll`, weight: 8 }, 'poll');
  t.equal(server.requests().length, 2, 'above three quarters of the burst of 48, of which polls took 8');
});

/** A venue whose data frames name their subscription: `{"sub":"a"}`; `{"minute":0,"of":"AAA"}` closes a minute. */
const talking: Venue = {
  ...paper,
  subscriptionOf: (text) => /"sub":"(\w+)"/.exec(text)?.[1] ?? null,
  renew: (names) => names.map((name) => `again ${name}`),
  confirm: (name, { rest }) => ({
    symbol: 'AAA',
    request: { method: 'GET', url: `${rest}/confirm?of=${name}`, weight: 1 },
  }),
  closedMinute: (text) => {
    const [, minute, symbol] = /"minute":(\d+),"of":"(\w+)"/.exec(text) ?? [];
    return minute === undefined || symbol === undefined ? null : { symbol, openMs: Number(minute) * 60_000 };
  },
  candles: ({ venue_symbol }, { fromMs, toMs }, { rest }) => ({
    method: 'GET',
    url: `${rest}/candles?of=${venue_symbol}&from=${fromMs}&to=${toMs}`,
    weight: 1,
  }),
};

const runTalking = async (
  t: Test,
  slotFrom: (server: PaperServer) => PaperSlot,
  wallMs = (): number => 0,
  deps: { readonly venue?: Venue; readonly onRefused?: () => void } = {},
) => {
  const server = await startPaper({ answer: (path, response) => response.end(`{"path":"${path}"}`) });
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory, ['AAA', 'BBB']);
  const runner = runSocketSlot(slotFrom(server), { ...shared, venue: talking, wallMs, ...deps });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('subscribed', () => server.received(0).length === 3);
  return { server, memory };
};

t.test(
  'a subscription that is silent on a live connection is renewed; heartbeats and other subscriptions do not count for it',
  async (t) => {
    const watched = [{ subscriptions: ['a', 'b'], silenceMs: 1_500 }];
    const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), watched }));
    const feed = setInterval(() => {
      server.sendAll('{"sub":"a"}');
      server.sendAll('hb');
    }, 50);
    t.teardown(() => clearInterval(feed));
    await waitFor('renewed', () => server.received(0).length >= 4);
    t.same(
      server.received(0).map(({ text }) => text),
      ['one', 'two', 'three', 'again b'],
    );
    t.same(memory.of('lost'), [], 'the connection stays');
  },
);

/** The same, of whose books the socket itself sends the snapshots: `{"whole":"AAA","last":5}`. */
const streaming: Venue = {
  ...talking,
  subscriptionOf: (text) => /"(?:book|whole)":"(\w+)"/.exec(text)?.[1] ?? null,
  sequence: (text) => {
    const [, symbol = '', last = '0'] = /"whole":"(\w+)","last":(\d+)/.exec(text) ?? [];
    if (symbol === '') return paper.sequence(text);
    return { symbol, kind: 'snapshot', first: null, last: BigInt(last), previous: null };
  },
  bookRule: { ...paper.bookRule, style: 'stream' },
  without: (refusal, request) => (refusal.includes(`no ${request}`) ? `rest of ${request}` : null),
};

const listSent = (server: PaperServer): readonly string[] =>
  server
    .received(0)
    .slice(3)
    .map(({ text }) => text);

t.test('a book whose hole only a new snapshot of the socket can mend is subscribed again, and no other', async (t) => {
  const covers = [{ layers: ['book'], symbols: ['AAA', 'BBB'] }];
  const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), covers }), undefined, {
    venue: streaming,
  });
  for (const symbol of ['AAA', 'BBB']) server.sendAll(`{"whole":"${symbol}","last":5}`);
  server.sendAll('{"book":"AAA","first":6,"last":6}');
  server.sendAll('{"book":"AAA","first":8,"last":8}');
  server.sendAll('{"book":"AAA","first":9,"last":9}');
  server.sendAll('{"book":"BBB","first":6,"last":6}');
  await waitFor('all read', () => memory.of('frame').some(({ payload }) => String(payload).includes('BBB","first"')));
  await waitFor('subscribed again', () => listSent(server).length > 0);
  t.same(listSent(server), ['again AAA']);
  t.same(memory.of('lost'), [], 'the connection stays');
});

t.test('a request that is refused for one subscription is sent again without it', async (t) => {
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const { server } = await runTalking(t, ({ ws }) => makeSlot(ws), undefined, { venue: streaming, onRefused });
  server.sendAll('{"err":"no two"}');
  await waitFor('sent again', () => listSent(server).length > 0);
  server.sendAll('{"err":"no four"}');
  server.sendAll('{"err":"no rest of two"}');
  await waitFor('and again', () => listSent(server).length > 1);
  t.same(listSent(server), ['rest of two', 'rest of rest of two']);
  t.equal(refused, 2, 'the listings are requested again');
});

t.test("a quiet subscription's value is requested and written under its connection", async (t) => {
  const watched = [{ subscriptions: ['a', 'b'], silenceMs: 60_000, confirmAfterMs: 300 }];
  const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), watched }));
  const feed = setInterval(() => server.sendAll('{"sub":"a"}'), 50);
  t.teardown(() => clearInterval(feed));
  await waitFor('two confirmations', () => memory.of('response').length >= 2);
  for (const response of memory.of('response')) {
    t.equal(response.request, `GET ${server.rest}/confirm?of=b`);
    t.equal(response.conn_id, memory.of('open')[0]?.conn_id);
    t.same(response.shards, [1], 'only to the shard of its listing');
  }
});

t.test(
  'minutes that no frame closed are requested after connecting, once, and so is one whose frame cannot be read',
  async (t) => {
    const minute = 60_000;
    let nowMs = 10 * minute + 15_000;
    const covers = [{ layers: ['candles'], symbols: ['AAA', 'BBB'] }];
    const { server, memory } = await runTalking(
      t,
      ({ ws }) => ({ ...makeSlot(ws), covers }),
      () => nowMs,
    );
    await waitFor('both', () => memory.of('response').length === 2);
    t.same(
      memory
        .of('response')
        .map(({ request }) => request)
        .sort(),
      ['AAA', 'BBB'].map((of) => `GET ${server.rest}/candles?of=${of}&from=${8 * minute}&to=${9 * minute}`),
    );
    server.sendAll('{"minute":10,"of":"AAA"}');
    server.sendAll('{"minute":10,"of":"BBB"');
    await waitFor('both frames', () => memory.of('frame').length === 5);
    nowMs = 11 * minute + 15_000;
    await waitFor('the unreadable one', () => memory.of('response').length === 3);
    t.match(memory.of('response')[2]?.request, /of=BBB&from=600000&to=600000$/);
    nowMs += 5_000;
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(memory.of('response').length, 3);
  },
);

t.test('a connection does not request minutes that the one before it closed', async (t) => {
  const minute = 60_000;
  let nowMs = 10 * minute + 15_000;
  const covers = [{ layers: ['candles'], symbols: ['AAA', 'BBB'] }];
  const { server, memory } = await runTalking(
    t,
    ({ ws }) => ({ ...makeSlot(ws), covers }),
    () => nowMs,
  );
  await waitFor('both', () => memory.of('response').length === 2);
  for (const closed of ['10,"of":"AAA"', '11,"of":"AAA"', '10,"of":"BBB"']) server.sendAll(`{"minute":${closed}}`);
  await waitFor('three frames', () => memory.of('frame').length === 6);
  server.sockets()[0]?.terminate();
  await waitFor('its end', () => memory.of('lost').length === 1);
  nowMs = 12 * minute + 15_000;
  await waitFor('the missing one', () => memory.of('response').length === 3);
  const [, , response] = memory.of('response');
  t.match(response?.request, /of=BBB&from=600000&to=660000$/, 'the listing whose eleventh nobody closed');
  t.equal(response?.conn_id, memory.of('open')[1]?.conn_id);
  t.equal(server.requests().length, 3, 'the other one was not requested');
});

type QuietParts = Pick<ReturnType<typeof createParts>, 'rest' | 'stop' | 'shared'> & { readonly server: PaperServer };

/** Snapshots of AAA and BBB for a venue that differs from the paper one by `change`; ends with the test, and so do the parts. */
const quietBooks = (
  t: Test,
  { server, rest, stop, shared }: QuietParts,
  change: Partial<Venue>,
  onRefused: () => void = () => undefined,
) => {
  const books = createBookSnapshots({
    venue: { ...paper, ...change },
    endpoints: { rest: server.rest },
    rest,
    listings: () => new Map(['AAA', 'BBB'].map((name) => [name, { venue_symbol: name } as ListingRecord])),
    shardOf: () => 0,
    isFull: () => false,
    meters: shared.meters,
    onRefused,
    log: silentLog,
  });
  t.teardown(async () => {
    books.stop();
    stop();
    await server.close();
  });
  return books;
};

t.test('a quiet book that the venue confirms by its id costs the short request only', async (t) => {
  const answers = ['{"snapshot":10}', '{"snapshot":12}', '{"snapshot":12}'];
  const server = await startPaper({ answer: (_path, response) => response.end(answers.shift()) });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory, ['AAA']);
  const short: Venue['bookConfirmation'] = (listing, { rest: base }) => ({
    ...toRequest(`${base}/short?symbol=${listing.venue_symbol}`),
    weight: 2,
  });
  const books = quietBooks(t, { server, rest, stop, shared }, { bookConfirmation: short });
  const quietSinceMs = performance.now() - 25_000;
  const watch = createBookWatch({ rule: paper.bookRule, symbols: ['AAA'], nowMs: quietSinceMs });
  const chain = { symbol: 'AAA', first: null, last: 10n, previous: null } as const;
  watch.take({ ...chain, kind: 'snapshot' }, quietSinceMs);
  books.add({ source: connections.open({ slot: 'book.0', shards: [0], url: '', covers: [] }), watch });
  await waitFor('confirmed', () => server.requests().length === 1);
  await waitFor('the answer', () => memory.of('response').length === 1 && watch.urgent(performance.now()) === null);
  t.equal(server.requests()[0]?.path, '/short?symbol=AAA');

  const laterMs = performance.now() - 25_000;
  watch.take({ ...chain, kind: 'confirmation' }, laterMs);
  await waitFor('another id, hence the whole book', () => server.requests().length === 3);
  t.same(
    server.requests().map(({ path }) => path),
    ['/short?symbol=AAA', '/short?symbol=AAA', '/book?symbol=AAA'],
  );
});

t.test('a book that the venue reports as unknown is left alone, and the listings are requested again', async (t) => {
  const answer = (path: string, response: ServerResponse): void => {
    response.writeHead(path.includes('AAA') ? 400 : 200).end('{"snapshot":10}');
  };
  const server = await startPaper({ answer });
  const { connections, rest, stop, shared } = createParts(server, openMemory(), ['AAA', 'BBB']);
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const books = quietBooks(t, { server, rest, stop, shared }, {}, onRefused);
  const quietSinceMs = performance.now() - 25_000;
  const watch = createBookWatch({ rule: paper.bookRule, symbols: ['AAA', 'BBB'], nowMs: quietSinceMs });
  books.add({ source: connections.open({ slot: 'book.0', shards: [0], url: '', covers: [] }), watch });
  await waitFor('both requested', () => server.requests().length === 2);
  await waitFor('refused', () => refused === 1);
  await waitFor(
    'none is requested again for a while',
    () => watch.urgent(performance.now() + 20_000, ['join']) === null,
  );
  t.equal(watch.urgent(performance.now() + 40_000, ['join'])?.symbol, 'AAA');
});

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
const listSymbols = (shard: number): string[] =>
  ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF', 'GGG', 'HHH', 'III', 'JJJ']
    .filter((s) => shardOf(s, 2) === shard)
    .slice(0, 2);

t.test('capability and reference come before any connection, to every shard', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length === 2);
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
  await waitFor('known listings', () => readTimes().length === 2);
  t.same(readTimes(), [null, 2_000]);
  listings = [...listings, ...listSymbols(1)];
  await waitFor('more listings', () => readTimes().length === 3);
  t.same(readTimes(), [null, 2_000, 4_000]);
});

t.test('a tick a shard names exactly the connections open at that point of the log', async (t) => {
  const { server, memory } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length === 2);
  const ticksAfter = (index: number) => memory.written.slice(index).filter(({ kind }) => kind === 'tick');
  const mark = memory.written.length;
  await waitFor('ticks that name them', () => ticksAfter(mark).length >= 4);
  server.sockets()[0]?.terminate();
  await waitFor('a third connection', () => memory.of('open').length === 3);
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
    await waitFor('two connections', () => memory.of('open').length === 2);
    // Books become whole by their snapshots, so that a successor needs no predecessor.
    const feed = setInterval(() => {
      for (const book of [first, second, other]) server.sendAll(`{"book":"${book}","first":1,"last":2}`);
    }, 20);
    t.teardown(() => clearInterval(feed));
    listings = [first, second, other];
    await waitFor('the old one ended', () => memory.of('lost').length === 1);
    const replaced = memory.of('open')[2] as Written;
    t.equal(replaced.slot, 'book.0');
    t.match(readBody(replaced), { covers: [{ symbols: [first, second] }] });
    t.equal(memory.of('lost')[0]?.slot, 'book.0');
    t.ok(memory.written.indexOf(replaced) < memory.written.indexOf(memory.of('lost')[0] as Written));
    t.equal(memory.of('open').length, 3, 'the other shard is untouched');

    listings = [first, second];
    await waitFor('the slot of the delisted one ended', () => memory.of('lost').length === 2);
    t.match(memory.of('lost')[1], { slot: 'book.1' });
  },
);

t.test('a collector that stops records every connection as lost, once', async (t) => {
  const { memory, collector } = await runCollector(t, () => [...listSymbols(0), ...listSymbols(1)]);
  await waitFor('two connections', () => memory.of('open').length === 2);
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

t.test('requests to a venue that does not answer are repeated, and ticks continue meanwhile', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.writeHead(500).end() });
  await server.close();
  const { memory, collector } = await runCollector(t, () => [], { endpoints: { rest: server.rest, ws: server.ws } });
  await waitFor('ticks', () => memory.of('tick').length >= 6);
  t.notOk(collector.isPlanned());
  t.same(memory.of('response'), []);
});
