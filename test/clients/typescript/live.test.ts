// The live stream of the TypeScript client: over the real API with its connections cut, and over streams broken at every edge.
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { ApiError, type Connection, createClient, type LiveEvent } from '../../../clients/typescript/src/index.ts';
import { readFrames } from '../../../clients/typescript/src/sse.ts';
import { computeReturnMs } from '../../../clients/typescript/src/wait.ts';
import { market, markReading, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { type EdgeAnswer, frame, openEdgeServer, refuse, stream } from '../../support/services/edge-server.ts';
import { waitFor } from '../../support/wait.ts';

const HELLO = {
  stream_id: 'str_1',
  evaluated_at: '2026-01-15T12:00:00.000Z',
  layers: ['mark'],
  listings: 1,
  heartbeat_ms: 15_000,
};
const hello = (id: string, resumed: boolean): string => frame(id, 'hello', { ...HELLO, resumed });
const BTC = { venue: 'binance', venue_symbol: 'BTCUSDT', instrument: 'BTC-PERP', layer: 'mark' };
const STATE = { status: 'present', received_at: '2026-01-15T12:00:00.000Z', values: { mark: 60_000 }, units: {} };
const update = (id: string, rev: number): string => frame(id, 'update', { ...BTC, rev, change: 'value', state: STATE });
const bye = (id: string, reconnect: boolean): string => frame(id, 'bye', { reason: 'rotate', reconnect });

const edgeClient = async (t: Test, answers: readonly EdgeAnswer[], retries = 4) => {
  const edge = await openEdgeServer(t, answers);
  return { edge, client: createClient({ baseUrl: edge.url, key: 'k', retries }) };
};

/** Events until the stream ends. */
const all = async (events: AsyncIterable<LiveEvent>): Promise<LiveEvent[]> => {
  const receivedEvents: LiveEvent[] = [];
  for await (const event of events) receivedEvents.push(event);
  return receivedEvents;
};
const brief = (events: readonly LiveEvent[]): string[] =>
  events.map((event) => (event.event === 'update' ? `update ${event.data.rev}` : event.event));

t.test('every event that the document names is given; other names are left aside', async (t) => {
  const names = ['snapshot', 'ready', 'update', 'event', 'candle', 'listing', 'rule', 'heartbeat', 'gap'];
  const data = { ...BTC, rev: 1, change: 'value', state: STATE, rows: [], row: {}, record: {} };
  const frames = [...names, 'added_later'].map((name, n) => frame(`e${n}`, name, data));
  const { edge, client } = await edgeClient(t, [stream([hello('h', false), ...frames, bye('z', false)], 'end')]);
  const events = await all(client.live({ layers: ['mark', 'funding'], rules: true }));
  t.same(
    events.map(({ event }) => event),
    ['hello', ...names, 'bye'],
  );
  t.equal(edge.requests[0]?.url, '/v2/stream?layers=mark%2Cfunding&rules=true');
});

t.test('the signal ends a stream whose body the given `fetch` does not end by it', async (t) => {
  const edge = await openEdgeServer(t, [stream([hello('a', false), update('b', 1)], 'silence')]);
  const deaf: typeof fetch = (input, { signal: _, ...init } = {}) => fetch(input, init);
  const client = createClient({ baseUrl: edge.url, key: 'k', fetch: deaf });
  const stop = new AbortController();
  const seen: LiveEvent[] = [];
  const reading = (async () => {
    for await (const event of client.live({ layers: 'mark' }, { signal: stop.signal })) seen.push(event);
  })();
  await waitFor('both events are read', () => seen.length === 2);
  stop.abort();
  await reading;
  await waitFor('the connection is closed', () => edge.requests[0]?.destroyed === true);
  t.same(brief(seen), ['hello', 'update 1']);
});

t.test('the real stream, its connection cut again and again: every reading once, in order', async (t) => {
  // Comes back at once: the real service requests up to 3 s.
  t.intercept(Math, 'random', { value: () => 0 });
  const feed = market();
  const { app, keys } = await testApp(feed);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const stop = new AbortController();
  const connections: Connection[] = [];
  const revs: number[] = [];
  const client = createClient({ baseUrl, key: keys.pro_plus, numberFormat: 'string' });
  const request = { where: 'symbol = "BTCUSDT"', layers: 'mark' };
  const reading = (async () => {
    for await (const event of client.live(request, {
      signal: stop.signal,
      onConnection: (connection) => connections.push(connection),
    })) {
      if (event.event === 'snapshot') t.equal(event.data.state.values['mark'], '60000');
      if (event.event === 'update') revs.push(event.data.rev);
    }
  })();
  const opened = (): number => connections.filter(({ state }) => state === 'open').length;
  const at = { venue_ts: NOW - 20_000, received_at: NOW - 10_000, recorded_at: NOW };
  for (let round = 0; round < 3; round += 1) {
    await waitFor('the stream is open', () => opened() > round);
    for (let n = 1; n <= 20; n += 1) {
      const rev = round * 20 + n + 1;
      feed.read(
        'binance',
        'BTCUSDT',
        markReading(String(60_000 + rev), { rev, ...at, received_at: at.received_at + rev }),
      );
      // The last ones of a round go out while the connection is being cut.
      if (n === 15) await waitFor('updates came', () => revs.length >= round * 20 + 5);
    }
    app.server.closeAllConnections();
  }
  await waitFor('every update came', () => revs.length >= 60 && opened() >= 4);
  stop.abort();
  await reading;
  t.same(
    revs,
    Array.from({ length: 60 }, (_, n) => n + 2),
  );
  t.same(
    connections.filter(({ state }) => state === 'open').map((one) => 'resumed' in one && one.resumed),
    [false, true, true, true],
  );
});

t.test(
  'resumes with the id of the last event that was worked on, and returns nothing of a cut step twice',
  async (t) => {
    const { edge, client } = await edgeClient(t, [
      // Events 3 and 4 are of one step: only its last one moves the place.
      stream([hello('a', false), frame('b', 'ready', {}), update('c', 2), update('c', 3)], 'cut'),
      stream([hello('c', true), update('c', 3), update('c', 4), update('d', 5), bye('d', true)], 'end'),
      stream([hello('d', true), update('e', 6), bye('e', false)], 'end'),
    ]);
    const events = await all(client.live({ layers: 'mark' }));
    t.same(
      brief(events).filter((name) => name.startsWith('update')),
      ['update 2', 'update 3', 'update 4', 'update 5', 'update 6'],
    );
    t.same(
      edge.requests.map(({ headers }) => headers['last-event-id']),
      [undefined, 'c', 'd'],
    );
    t.equal(edge.requests[0]?.url, '/v2/stream?layers=mark');
  },
);

t.test('continues where another process stopped', async (t) => {
  const { edge, client } = await edgeClient(t, [
    stream([hello('a', false), update('b', 2), update('c', 3)], 'silence'),
  ]);
  for await (const event of client.live({}, { lastEventId: 'told' })) if (event.event === 'update') break;
  t.equal(edge.requests[0]?.headers['last-event-id'], 'told');
});

t.test('a service that ends each connection at its beginning is left in peace longer each time', async (t) => {
  t.intercept(Math, 'random', { value: () => 1 });
  const opening = ['retry: 20\n', hello('a', false), frame('b', 'ready', {}), update('c', 2)];
  const { edge, client } = await edgeClient(t, [
    stream([...opening, bye('c', true)], 'end'),
    stream([...opening], 'end'),
    stream([...opening, bye('c', true)], 'end'),
    refuse(503, 'UNAVAILABLE'),
    refuse(503, 'UNAVAILABLE', { 'retry-after': '0' }),
    refuse(429, 'RATE_LIMITED', { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }),
    stream([...opening, frame('d', 'heartbeat', {}), bye('d', true)], 'end'),
    stream(['retry: 40000\n', hello('d', true), bye('d', true)], 'end'),
    stream([hello('d', true), bye('d', false)], 'end'),
  ]);
  const waits: (readonly [string, number])[] = [];
  const stop = new AbortController();
  const began = performance.now();
  await all(
    client.live(
      {},
      {
        signal: stop.signal,
        onConnection: (one) => {
          if (one.state === 'open') return;
          waits.push([one.state === 'ended' ? one.reason : one.error.code, one.waitMs]);
          if (one.waitMs > 1_000) stop.abort();
        },
      },
    ),
  );
  t.same(waits, [
    ['rotate', 20],
    ['UNREACHABLE', 40],
    ['rotate', 80],
    ['UNAVAILABLE', 160],
    ['UNAVAILABLE', 320],
    ['RATE_LIMITED', 640],
    // It lasted until a heartbeat.
    ['rotate', 20],
    ['rotate', 40_000],
  ]);
  t.ok(performance.now() - began > 1_270, 'it waited so long');
  t.equal(edge.requests.length, 8, 'a wait can be given up');
});

t.test('readers that were sent away together come back apart', (t) => {
  const waits = Array.from({ length: 1_000 }, () => computeReturnMs(0, 3_000));
  for (let second = 0; second < 3; second += 1) {
    const count = waits.filter((ms) => Math.floor(ms / 1_000) === second).length;
    t.ok(count > 200 && count < 470, `${count} in second ${second}`);
  }
  t.ok(computeReturnMs(1_000, 3_000) <= 20_000);
  t.ok(computeReturnMs(1_000, 60_000) <= 60_000, 'a longer wait that the service requests holds');
  t.end();
});

t.test('silence, a malformed event and an end without a word are a broken connection', async (t) => {
  const { edge, client } = await edgeClient(t, [
    stream([hello('a', false), update('b', 2)], 'silence'),
    stream([hello('b', true), 'id: c\nevent: update\ndata: {"venue":\n\n'], 'end'),
    stream([hello('b', true), 'id: c\nevent: update\nda'], 'end'),
    stream([hello('b', true), update('c', 3), bye('c', false)], 'end'),
  ]);
  const lost: string[] = [];
  const events = await all(
    client.live({}, { silenceMs: 50, onConnection: (one) => one.state === 'lost' && lost.push(one.error.code) }),
  );
  t.same(lost, ['UNREACHABLE', 'BAD_ANSWER', 'UNREACHABLE']);
  t.same(
    edge.requests.map(({ headers }) => headers['last-event-id']),
    [undefined, 'b', 'b', 'b'],
  );
  t.same(
    brief(events).filter((name) => name.startsWith('update')),
    ['update 2', 'update 3'],
  );
});

t.test('a page that a proxy gives for a while in place of an open stream is a broken connection', async (t) => {
  const page: EdgeAnswer = (response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Soon</h1>');
  const { edge, client } = await edgeClient(t, [
    stream([hello('a', false), update('b', 2)], 'end'),
    ...[page, page],
    stream([hello('b', true), update('c', 3), bye('c', false)], 'end'),
  ]);
  t.same(brief(await all(client.live())), ['hello', 'update 2', 'hello', 'update 3', 'bye']);
  t.equal(edge.requests.length, 4);
});

t.test('a stream that is never readable is given up', async (t) => {
  const { edge, client } = await edgeClient(t, [stream([hello('a', false), 'event: update\ndata: {\n\n'], 'end')]);
  await t.rejects(all(client.live()), { code: 'BAD_ANSWER' });
  t.equal(edge.requests.length, 5);
});

t.test(
  'refusals: of the request at once, of the service after the retries, of the key within the stream',
  async (t) => {
    const refused = await edgeClient(t, [refuse(400, 'DQL_JSON_SCHEMA')]);
    await t.rejects(all(refused.client.live({ layers: 'mrk' })), { code: 'DQL_JSON_SCHEMA', status: 400 });
    t.equal(refused.edge.requests.length, 1);
    const away = await edgeClient(t, [refuse(503, 'UNAVAILABLE', { 'retry-after': '0' })], 2);
    await t.rejects(all(away.client.live()), { code: 'UNAVAILABLE' });
    t.equal(away.edge.requests.length, 3);
    const spent = stream([hello('a', false), update('b', 1)], 'end');
    const day = await edgeClient(t, [spent, refuse(429, 'RATE_LIMITED', { 'retry-after': '40000' })]);
    await t.rejects(all(day.client.live()), { code: 'RATE_LIMITED', retryAfter: 40_000 }, 'a wait of hours is told');
    t.equal(day.edge.requests.length, 2);
    const errors = [{ code: 'AUTH_INVALID', message: 'The key has ended.', hint: 'Make another one.' }];
    const ended = await edgeClient(t, [
      stream([hello('a', false), frame('a', 'error', { errors }), bye('a', false)], 'end'),
    ]);
    const error = await all(ended.client.live()).catch((reason: unknown) => reason);
    t.ok(error instanceof ApiError);
    t.match(error, { code: 'AUTH_INVALID', hint: 'Make another one.' });
  },
);

t.test('unknown events are left aside, and a caller that stops closes the connection', async (t) => {
  let closed = 0;
  const { client } = await edgeClient(t, [
    (response, request) => {
      request.socket.once('close', () => {
        closed += 1;
      });
      stream([hello('a', false), frame('a', 'news', {}), update('b', 2)], 'silence')(response, request);
    },
  ]);
  const receivedEvents: LiveEvent[] = [];
  for await (const event of client.live()) {
    receivedEvents.push(event);
    if (event.event === 'update') break;
  }
  t.same(brief(receivedEvents), ['hello', 'update 2']);
  await waitFor('the connection is closed', () => closed === 1);
});

const FRAMES = [
  { id: '1', event: 'update', data: '{"a":1}' },
  { id: '2', event: 'message', data: 'two\nlines' },
  { id: '2', event: 'ünï', data: '€ 👍' },
  { id: '2', event: 'x', data: ' kept space' },
];
const TEXT =
  '\uFEFF: comment\nretry: 3000\nid: 1\nevent: update\ndata: {"a":1}\n\nid: 2\r\ndata:two\r\ndata: lines\r\n\r\n' +
  'event\nid: a\0b\nevent: ünï\rdata: € 👍\r\rignored\n\n\nevent: x\ndata:  kept space\nother: field\n\nid: 3\ndata: cut off';

t.test('frames are the same wherever the bytes are cut, with any line end', async (t) => {
  const bytes = new TextEncoder().encode(TEXT);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const ends = [...new Set([0, ...cuts, bytes.length])].sort((a, b) => a - b);
      const chunks = ends.slice(1).map((end, at) => bytes.slice(ends[at], end));
      const frames: unknown[] = [];
      const retries: number[] = [];
      for await (const one of readFrames(
        (async function* () {
          yield* chunks;
        })(),
        '',
        (ms) => retries.push(ms),
      ))
        frames.push(one);
      t.strictSame(frames, FRAMES);
      t.strictSame(retries, [3_000]);
    }),
    { numRuns: 50 },
  );
});
