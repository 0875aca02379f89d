// The REST side of a collector against hand-driven servers: refusals, pauses, polls, and what goes first within the budget.
import { Registry } from 'prom-client';
import t from 'tap';
import { createBookSnapshots } from '../../../ingest/feed/book-snapshots.ts';
import { createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { toLossCause } from '../../../ingest/feed/loss-cause.ts';
import { createMeters, type VenueMeters } from '../../../ingest/feed/meters.ts';
import { runPollSlot } from '../../../ingest/feed/poll-slot.ts';
import { createRestClient, RestError } from '../../../ingest/feed/rest-client.ts';
import type { Urgency } from '../../../ingest/venues/contract/feed.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import {
  makeSlot,
  openMemory,
  type PaperOptions,
  type PaperServer,
  paper,
  readBody,
  silentLog,
  startPaper,
  toRequest,
  toText,
  type Written,
} from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';
import { createParts, runSlot } from './slot-parts.ts';

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
  await waitFor('subscribed', () => server.received(0).length >= 3);
  server.sendAll('{"book":"AAA","first":9,"last":11}');
  server.sendAll('{"book":"BBB","first":9,"last":11}');
  await waitFor('both books', () => memory.of('response').length >= 2);
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
    await waitFor('lost', () => memory.of('lost').length >= 1);
    t.equal(readBody(memory.of('lost')[0] as Written).cause, 'venue_down');
    const before = memory.of('response').length;
    t.notOk(
      memory.of('response').some((r) => toText(r) === 'down'),
      'a refusal is no answer',
    );
    up = true;
    await waitFor('open again', () => memory.of('open').length >= 2 && memory.of('response').length > before);
    t.equal(memory.of('response')[before]?.conn_id, memory.of('open')[1]?.conn_id);
  },
);

t.test('a poll slot with a long period is lost by the silence of the venue, long before three periods', async (t) => {
  let up = true;
  const server = await startPaper({
    answer: (_path, response) => (up ? response.end('{}') : response.writeHead(503).end()),
  });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory);
  const requests = Array.from({ length: 1_600 }, (_, i) => ({ ...toRequest(`${server.rest}/${i}`), weight: 1 }));
  const covers = [{ layers: ['price_candles'], symbols: null }];
  const slot = { kind: 'poll' as const, id: 'candles', shards: [0], requests, everyMs: 80_000, covers };
  const deps = { connections, rest, meters: shared.meters, log: silentLog, silenceMs: 300 };
  const runner = runPollSlot(slot, deps);
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('an answer', () => memory.of('response').length > 0);
  up = false;
  await waitFor('lost', () => memory.of('lost').length >= 1);
  t.equal(readBody(memory.of('lost')[0] as Written).cause, 'venue_down');
  up = true;
  await waitFor('open again', () => memory.of('open').length >= 2);
});

t.test('a poll slot that is renewed writes no answer to what it asked before', async (t) => {
  const waiting: (() => void)[] = [];
  let holds = true;
  const server = await startPaper({
    answer: (path, response) => {
      if (holds) waiting.push(() => response.end(`{"waited":"${path}"}`));
      else response.end('{}');
    },
  });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory);
  const requests = ['a', 'b'].map((name) => ({ ...toRequest(`${server.rest}/${name}`), weight: 1 }));
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 40, covers: [] };
  const runner = runPollSlot(slot, { connections, rest, meters: shared.meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('two requests', () => waiting.length >= 2);
  runner.renew('collector_down', 'this process stood still');
  holds = false;
  for (const answer of waiting) answer();
  await waitFor('answers', () => memory.of('response').length >= 4);
  t.same(new Set(memory.of('response').map(toText)), new Set(['{}']));
  t.equal(readBody(memory.of('lost')[0] as Written).cause, 'collector_down');
  t.equal(memory.of('open').length, 2);
});

t.test('what this machine has no room for is not a fault of the venue (L-08)', (t) => {
  const failWith = (code: string): Error => {
    const error = Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code });
    // As fetch has it.
    return new RestError(toRequest('http://192.0.2.1/'), null, {
      cause: new TypeError('fetch failed', { cause: error }),
    });
  };
  for (const code of ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']) {
    t.equal(toLossCause(null, failWith(code)), 'collector_down', code);
    t.equal(toLossCause(null, (failWith(code).cause as Error).cause), 'collector_down', `${code} of a socket`);
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH'])
    t.equal(toLossCause(null, failWith(code)), 'venue_down', code);
  t.equal(toLossCause(429, failWith('EMFILE')), 'venue_rate_limit');
  // A host with several addresses: the error of all has the code of the first.
  const failAt = (...codes: readonly string[]): Error =>
    Object.assign(new AggregateError(codes.map((code) => (failWith(code).cause as Error).cause)), { code: codes[0] });
  t.equal(toLossCause(null, failAt('EADDRNOTAVAIL', 'ECONNREFUSED')), 'venue_down', 'one address refused');
  t.equal(
    toLossCause(null, new TypeError('fetch failed', { cause: failAt('EADDRNOTAVAIL', 'ETIMEDOUT') })),
    'venue_down',
  );
  t.equal(toLossCause(null, failAt('EMFILE', 'EMFILE')), 'collector_down');
  t.end();
});

t.test('polls are spread over their period', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const { connections, rest, stop } = createParts(server, openMemory());
  const registry = new Registry();
  const meters = createMeters(registry).venue('paper');
  const requests = Array.from({ length: 5 }, (_, i) => ({ ...toRequest(`${server.rest}/${i}`), weight: 1 }));
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 500, covers: [] };
  const beganMs = performance.now();
  const runner = runPollSlot(slot, { connections, rest, meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('two rounds', () => server.requests().length >= 10);
  t.notMatch(await registry.metrics(), /^ingest_poll_missed_total\{/m, 'each round had answers');
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
    answer: (_path, response) => {
      if (refused) return response.end('{}');
      refused = true;
      return response.writeHead(418, { 'retry-after': '1' }).end('{"code":-1003}');
    },
  });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory);
  const requests = [{ ...toRequest(`${server.rest}/0`), weight: 1 }];
  // The next round is far away: the second request is the refused one again.
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 600_000, covers: [] };
  const runner = runPollSlot(slot, { connections, rest, meters: shared.meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('open again', () => memory.of('open').length >= 2);
  t.same(
    memory.of('lost').map((lost) => readBody(lost).cause),
    ['venue_rate_limit'],
  );
  const [first, second] = server.requests();
  t.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 990, 'after the pause');
  t.equal(server.requests().length, 2);
});

t.test('polls send nothing while their host pauses, and continue after it', async (t) => {
  let refused = false;
  const server = await startPaper({
    answer: (path, response) => {
      if (path !== '/1' || refused) return response.end('{}');
      refused = true;
      return response.writeHead(418, { 'retry-after': '1' }).end('{"code":-1003}');
    },
  });
  const memory = openMemory();
  const { connections, stop, shared } = createParts(server, memory);
  // The client's own instants: what it sent before it read the refusal may reach the server after it.
  const sentMs: number[] = [];
  let pausedMs = Number.POSITIVE_INFINITY;
  const meters: VenueMeters = {
    ...shared.meters,
    restWeight: () => void sentMs.push(performance.now()),
    restAnswer: (status) => {
      if (status === '418') pausedMs = performance.now();
    },
  };
  const rest = createRestClient({ weightPerMinute: 6_000, meters });
  const requests = Array.from({ length: 4 }, (_, i) => ({ ...toRequest(`${server.rest}/${i}`), weight: 1 }));
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 200, covers: [] };
  const runner = runPollSlot(slot, { connections, rest, meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    rest.close();
    stop();
    await server.close();
  });
  await waitFor('two rounds after the pause', () => sentMs.filter((at) => at > pausedMs).length >= 8);
  const waited = Math.min(...sentMs.filter((at) => at > pausedMs)) - pausedMs;
  t.ok(waited >= 1_000, `the first after ${waited} ms`);
  t.same(new Set(memory.of('lost').map((lost) => readBody(lost).cause)), new Set(['venue_rate_limit']));
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
  await waitFor('lost', () => memory.of('lost').length >= 1);
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

t.test('a shorter pause does not end a longer one that the host set meanwhile', async (t) => {
  const held: (() => void)[] = [];
  const server = await startPaper({
    answer: (path, response) => {
      const after = path === '/ban' ? '60' : '1';
      held.push(() => response.writeHead(path === '/ban' ? 418 : 429, { 'retry-after': after }).end());
    },
  });
  const meters = createMeters(new Registry()).venue('paper');
  const rest = createRestClient({ weightPerMinute: 6_000, meters });
  t.teardown(async () => {
    rest.close();
    await server.close();
  });
  const pauseMs = (path: string): Promise<number> =>
    rest.ask({ method: 'GET', url: `${server.rest}/${path}`, weight: 1 }, 'poll').then(
      () => 0,
      ({ retryAtMs }: RestError) => (retryAtMs ?? 0) - performance.now(),
    );
  const ban = pauseMs('ban');
  await waitFor('the first request', () => held.length === 1);
  const limit = pauseMs('limit');
  await waitFor('both requests', () => held.length === 2);
  held[0]?.();
  t.ok((await ban) > 50_000);
  held[1]?.();
  t.ok((await limit) > 50_000, 'it was answered later, and would be over in a second');
  t.ok((await pauseMs('next')) > 50_000);
  t.equal(server.requests().length, 2);
});

t.test('a poll slot with a new plan is open without a moment in between', async (t) => {
  const server = await startPaper({ answer: (_path, response) => response.end('{}') });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory);
  const requests = [{ ...toRequest(`${server.rest}/oi`), weight: 1 }];
  const slot = { kind: 'poll' as const, id: 'oi', shards: [0], requests, everyMs: 60_000, covers: [] };
  const runner = runPollSlot(slot, { connections, rest, meters: shared.meters, log: silentLog });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('an answer', () => memory.of('response').length >= 1);
  runner.replace({ ...slot, everyMs: 30_000 });
  const [first, second] = memory.of('open');
  const [lost] = memory.of('lost');
  t.equal(lost?.conn_id, first?.conn_id);
  t.match(readBody(lost as Written), { cause: 'connection_lost', detail: 'its successor took over' });
  const openedAt = Number(readBody(second as Written).opened_at);
  t.ok(openedAt <= Number(readBody(lost as Written).lost_at), 'a window over it had a connection throughout');
});

t.test('a book whose snapshot the host refuses for a while is not requested before that is over', async (t) => {
  const server = await startPaper();
  const { shared, stop } = createParts(server, openMemory(), ['AAA']);
  t.teardown(async () => {
    stop();
    await server.close();
  });
  const retryAtMs = performance.now() + 60_000;
  const request = toRequest(`${server.rest}/book`);
  const ask = () => Promise.reject(new RestError(request, 429, { retryAtMs }));
  const listing = { venue_symbol: 'AAA' } as ListingRecord;
  const books = createBookSnapshots({
    ...{ ...shared, rest: { ask, close: () => undefined }, shardOf: () => 0, isFull: () => false },
    listings: () => new Map([['AAA', listing]]),
  });
  const watch = createBookWatch({ rule: paper.bookRule, symbols: ['AAA'], nowMs: performance.now() - 30_000 });
  const source = shared.connections.open({ slot: 's', shards: [0], url: server.ws, covers: [] });
  books.add({ source, watch });
  t.ok(watch.oldest(performance.now(), 'join'), 'quiet since it was opened');
  books.wake();
  await waitFor('the refusal', () => watch.oldest(performance.now() + 2_000, 'join') === null);
  books.stop();
  t.equal(watch.oldest(retryAtMs - 1, 'join'), null);
  t.ok(watch.oldest(retryAtMs, 'join'));
});

t.test('of the books of several connections the one that has waited longest is requested first', async (t) => {
  const server = await startPaper();
  const symbols = ['AAA', 'BBB', 'CCC'];
  const { shared, stop } = createParts(server, openMemory(), symbols);
  t.teardown(async () => {
    stop();
    await server.close();
  });
  const asked: string[] = [];
  const ask: typeof shared.rest.ask = (request) => {
    asked.push(new URL(request.url).searchParams.get('symbol') ?? request.url);
    return Promise.reject(new RestError(request, 404));
  };
  const books = createBookSnapshots({
    ...{ ...shared, rest: { ask, close: () => undefined }, shardOf: () => 0, isFull: () => false },
    listings: () => new Map(symbols.map((symbol) => [symbol, { venue_symbol: symbol } as ListingRecord])),
  });
  for (const [i, symbol] of symbols.entries()) {
    const openedMs = performance.now() - 30_000 - i * 1_000;
    const watch = createBookWatch({ rule: paper.bookRule, symbols: [symbol], nowMs: openedMs });
    const source = shared.connections.open({ slot: symbol, shards: [0], url: server.ws, covers: [] });
    books.add({ source, watch });
  }
  books.wake();
  await waitFor('each once', () => asked.length === 3);
  books.stop();
  t.same(asked, ['CCC', 'BBB', 'AAA']);
});
