// One socket against hand-driven servers: its opening and pace, its ends and the next one, silence, renewal, and snapshots of books.
import { pino } from 'pino';
import t from 'tap';
import { runSocketSlot } from '../../../ingest/feed/socket-slot.ts';
import type { OpenBody } from '../../../schemas/topics.ts';
import {
  makeSlot,
  openMemory,
  type PaperOptions,
  paper,
  readBody,
  startPaper,
  toText,
  type Written,
} from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';
import { connIds, createParts, runSlot } from './slot-parts.ts';

t.test(
  'a socket records that it opened, sends its subscriptions at the pace of the venue and writes every frame as it came',
  async (t) => {
    const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { shards: [0, 1], symbols: ['AAA'] }));
    await waitFor('three subscriptions', () => server.received(0).length >= 3);
    const messages = server.received(0);
    t.same(
      messages.map(({ text }) => text),
      ['one', 'two', 'three'],
    );
    // Since before the first could be sent: it may arrive late on a busy machine, the third never early.
    const tookMs = (messages[2]?.atMs ?? 0) - server.acceptedMs(0);
    t.ok(tookMs >= 35, `50 a second: the third 40 ms after the first, here ${tookMs}`);
    server.sendAll('{"odd": 1.00 , "utf8":"é"}');
    await waitFor('acks and a frame', () => memory.of('frame').length >= 4);

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
  await waitFor('an open connection', () => memory.of('open').length >= 1);
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
  await waitFor('an open connection', () => memory.of('open').length >= 1);
  t.ok(performance.now() - startedMs >= 1_000, 'Retry-After was one second');
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['venue_rate_limit'],
  );
});

t.test('a connection that was being opened during a standstill ends before a frame of it is written', async (t) => {
  const { memory, runner } = await runSlot(t, ({ ws }) => makeSlot(ws), {
    handshake: (n) => {
      if (n < 2) runner.renew('collector_down', 'this process stood still');
      return n === 1 ? 503 : 101;
    },
  });
  await waitFor('frames', () => memory.of('frame').length >= 3);
  const ids = connIds(memory.written);
  t.same(
    memory.of('lost').map((lost) => [ids.indexOf(lost.conn_id), readBody(lost).cause]),
    [
      [0, 'collector_down'],
      [1, 'collector_down'],
    ],
  );
  t.same(connIds(memory.of('open')), [ids[0], ids[2]]);
  t.same(connIds(memory.of('frame')), [ids[2]], 'nobody knows when the frames of the first one came');
});

t.test('nobody listening is venue_down, in one line of the log', async (t) => {
  const server = await startPaper();
  await server.close();
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const lines: unknown[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const runner = runSocketSlot(makeSlot(server.ws), { ...shared, log });
  t.teardown(() => {
    runner.stop('collector_down', 'end of test');
    stop();
  });
  await waitFor('lost attempts', () => memory.of('lost').length >= 3);
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /ECONNREFUSED/ });
  t.match(lines, [{ cause: 'venue_down', err: { message: /ECONNREFUSED/ }, msg: 'could not connect' }]);
  t.equal(lines.length, 1);
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
  await waitFor('a connection', () => memory.of('open').length >= 1);
  t.match(readBody(memory.of('lost')[0] as Written), { cause: 'venue_down', detail: /status 500/ });
  t.match(readBody(memory.of('open')[0] as Written), { url: `${server.rest}/address` }, 'its token is not recorded');
  server.sockets()[0]?.close(1012, 'restart');
  await waitFor('a second connection', () => memory.of('open').length >= 2);
  t.same(
    server.requests().map(({ path }) => path),
    ['/address', '/address', '/address'],
  );
});

t.test('a closed connection is lost at once and another takes its place, with a new name and seq from 1', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws));
  await waitFor('subscribed', () => server.received(0).length >= 3);
  server.sockets()[0]?.close(1012, 'restart');
  await waitFor('a second connection', () => memory.of('open').length >= 2);
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
    await waitFor('subscribed', () => server.received(0).length >= 3);
    const chatter = setInterval(() => {
      server.sendAll('hb');
      server.sendAll('{"err":"no such stream"}');
    }, 20);
    t.teardown(() => clearInterval(chatter));
    await waitFor('lost', () => memory.of('lost').length >= 1);
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
  await waitFor('subscribed', () => server.received(0).length >= 3);
  let sent = 0;
  const feed = setInterval(() => server.sendAll(`{"n":${++sent}}`), 20);
  t.teardown(() => clearInterval(feed));
  await waitFor('twenty frames', () => sent >= 20);
  t.same(memory.of('lost'), []);
});

t.test('a connection is renewed before its age limit without losing a frame', async (t) => {
  const { server, memory } = await runSlot(t, ({ ws }) => ({ ...makeSlot(ws), renewAfterMs: 300 }));
  await waitFor('subscribed', () => server.received(0).length >= 3);
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
  await waitFor('subscribed', () => memory.of('frame').length >= 3);
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
  await waitFor('all frames', () => memory.of('frame').length >= total + 3);
  t.equal(toText(memory.of('frame').at(-1) as Written), `{"n":${total},"filler":"${filler}"}`);
});

t.test(
  'a socket that was not read for longer than connections of a silent collector are alive is opened again',
  async (t) => {
    const server = await startPaper();
    const memory = openMemory();
    const { stop, shared } = createParts(server, memory);
    let passedMs = 0;
    const runner = runSocketSlot(makeSlot(server.ws), { ...shared, wallMs: () => shared.wallMs() + passedMs });
    t.teardown(async () => {
      runner.stop('collector_down', 'end of test');
      stop();
      await server.close();
    });
    const isHeard = (text: string) => memory.of('frame').filter((frame) => toText(frame) === text).length;
    await waitFor('subscribed', () => memory.of('frame').length >= 3);
    const release = memory.block();
    server.sendAll('the last one read');
    await waitFor('it', () => isHeard('the last one read') === 1);
    server.sendAll('waited');
    passedMs = 3_500;
    release();
    await waitFor('a second connection', () => memory.of('open').length >= 2);
    t.match(readBody(memory.of('lost')[0] as Written), { cause: 'storage_failure', detail: /^not read for 3\d{3} ms/ });
    server.sendAll('after');
    await waitFor('a frame of it', () => isHeard('after') === 1);
    t.equal(isHeard('waited'), 0, 'nobody knows when it came');
  },
);

t.test(
  'a book gets a snapshot at its first diff and again after a hole, under the connection it serves and for its shard only',
  async (t) => {
    let snapshot = 10;
    const answer: PaperOptions['answer'] = (_path, response) => response.end(`{"snapshot":${snapshot}}`);
    const { server, memory } = await runSlot(t, ({ ws }) => makeSlot(ws, { shards: [0, 1], symbols: ['AAA'] }), {
      answer,
      symbols: ['AAA'],
    });
    await waitFor('subscribed', () => server.received(0).length >= 3);
    t.same(server.requests(), []);
    server.sendAll('{"book":"AAA","first":9,"last":11}');
    await waitFor('the first snapshot', () => memory.of('response').length >= 1);
    const [response] = memory.of('response');
    t.equal(response?.request, `GET ${server.rest}/book?symbol=AAA`);
    t.equal(response?.conn_id, memory.of('open')[0]?.conn_id);
    t.equal(response?.slot, 'book.0');
    t.same(response?.shards, [1]);
    t.equal(toText(response as Written), '{"snapshot":10}');

    server.sendAll('{"book":"AAA","first":12,"last":13}');
    server.sendAll('{"book":"AAA","first":14,"last":15}');
    await waitFor('three diffs', () => memory.of('frame').length >= 6);
    t.equal(server.requests().length, 1, 'an unbroken chain requests nothing');
    snapshot = 30;
    server.sendAll('{"book":"AAA","first":29,"last":30}');
    await waitFor('a second snapshot', () => memory.of('response').length >= 2);
    server.sendAll('{"book":"AAA","first":31,"last":31}');
    await waitFor('five diffs', () => memory.of('frame').length >= 8);
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
  await waitFor('subscribed', () => server.received(0).length >= 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  await waitFor('both snapshots', () => memory.of('response').length >= 2);
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 900, 'a second later');
});

t.test('what still arrives after the end of a connection is not read, nor is its socket paused', async (t) => {
  const server = await startPaper();
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const paused: number[] = [];
  const meters = { ...shared.meters, paused: (change: number) => void paused.push(change) };
  let read = 0;
  const classify: typeof paper.classify = (text) => {
    read += 1;
    return paper.classify(text);
  };
  const venue = { ...paper, classify };
  const runner = runSocketSlot(makeSlot(server.ws), { ...shared, meters, venue });
  t.teardown(async () => {
    stop();
    await server.close();
  });
  await waitFor('subscribed', () => memory.of('frame').length >= 3);
  memory.block();
  const before = read;
  server.sendAll('{"n":1}');
  runner.stop('storage_failure', 'the spool is full');
  await waitFor('closed', () => server.sockets().length === 0);
  t.equal(memory.of('lost').length, 1);
  t.same([paused, read - before], [[], 0]);
});

t.test('a frame that ends its connection does not pause the socket, though the log takes no more', async (t) => {
  const server = await startPaper();
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory);
  const paused: number[] = [];
  const meters = { ...shared.meters, paused: (change: number) => void paused.push(change) };
  const sequence: typeof paper.sequence = (text) =>
    text.includes('"book"') ? { symbol: 'AAA', kind: 'update', first: null, last: null, previous: null } : null;
  const venue = { ...paper, sequence, bookRule: { ...paper.bookRule, isUnnumbered: true as const } };
  const covers = [{ layers: ['book'], symbols: ['AAA'] }];
  const runner = runSocketSlot({ ...makeSlot(server.ws), covers }, { ...shared, meters, venue });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('subscribed', () => memory.of('frame').length >= 3);
  memory.block();
  server.sendAll('{"book":"AAA","changes":[');
  await waitFor('closed', () => server.sockets().length === 0);
  t.equal(memory.of('lost').length, 1);
  t.same(paused, []);
});
