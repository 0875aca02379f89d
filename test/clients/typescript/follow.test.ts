// History that continues live: every reading once and in order, with any interruption, and gaps reported. Stream and history are scripted edges;
// test/e2e/follow.test.ts does it with the whole service.
import type { IncomingMessage, ServerResponse } from 'node:http';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import {
  createClient,
  type Followed,
  type FollowedGap,
  type FollowedStale,
} from '../../../clients/typescript/src/index.ts';
import { answerJson, type EdgeAnswer, frame, openEdgeServer, stream } from '../../support/services/edge-server.ts';

const T0 = Date.parse('2026-01-15T12:00:00.000Z');
const at = (seconds: number): string => new Date(T0 + seconds * 1_000).toISOString();
const NAMES = { venue: 'binance', venue_symbol: 'BTCUSDT', instrument: 'BTC-PERP' };
const MARK = { ...NAMES, layer: 'mark' };

const state = (seconds: number, over: object = {}) => ({
  status: 'present',
  received_at: at(seconds),
  values: { mark: seconds },
  units: {},
  ...over,
});
const hello = (seconds: number, resumed = false): string =>
  frame(`h${seconds}`, 'hello', { stream_id: 's', evaluated_at: at(seconds), resumed, heartbeat_ms: 15_000 });
const snapshot = (rev: number, seconds: number, over: object = {}): string =>
  frame('s', 'snapshot', { ...MARK, rev, state: state(seconds, over) });
const update = (rev: number, seconds: number, over: object = {}, change = 'value'): string =>
  frame(`u${rev}-${seconds}`, 'update', { ...MARK, rev, change, state: state(seconds, over) });
const bye = frame('z', 'bye', { reason: 'key_ended', reconnect: false });
const row = (seconds: number, end: number, over: object = {}) => ({ at: at(end), ...state(seconds), ...over });
const gapRow = (end: number, cause: string) => ({
  at: at(end),
  status: 'missing',
  reason: 'gap',
  gap_cause: cause,
  received_at: null,
  values: {},
});

type HistoryBody = { readonly from: string; readonly to: string; readonly raw?: boolean; readonly interval?: string };

/** A service whose streams are scripted, one a connection, and whose history has these rows. */
const openService = async (t: Test, streams: readonly EdgeAnswer[], rows: readonly object[]) => {
  const asked: HistoryBody[] = [];
  let opened = 0;
  const answer: EdgeAnswer = (response: ServerResponse, request: IncomingMessage) => {
    if (request.url?.startsWith('/v2/stream')) return streams[opened++]?.(response, request);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as HistoryBody;
      asked.push(body);
      const within = rows.filter((one) => {
        const { at: end, received_at: received } = one as { at: string; received_at: string | null };
        return (received ?? end) >= body.from && (received ?? end) < body.to;
      });
      const layers = { mark: { rows: within, history_cadence: '10s' } };
      const { from, to } = body;
      answerJson(200, { settled: true, from, to, items: [{ ...NAMES, quote: 'USDT', layers }] })(response, request);
    });
  };
  const edge = await openEdgeServer(t, [answer]);
  return { edge, asked, client: createClient({ baseUrl: edge.url, key: 'k' }) };
};

const REQUEST = { where: 'base = BTC', layers: ['mark'], since: at(-60) };

const followed = async (service: Awaited<ReturnType<typeof openService>>, request: object = {}) => {
  const followedTexts: Followed[] = [];
  const gaps: FollowedGap[] = [];
  const stale: FollowedStale[] = [];
  const options = { onGap: (gap: FollowedGap) => gaps.push(gap), onStale: (one: FollowedStale) => stale.push(one) };
  for await (const one of service.client.follow({ ...REQUEST, ...request }, options)) followedTexts.push(one);
  return {
    followedTexts: followedTexts.map(({ source, reading }) => `${source} ${reading.values['mark']}`),
    gaps,
    stale,
  };
};

t.test('rows of the past, then what the stream has that is newer', async (t) => {
  const service = await openService(
    t,
    [stream([hello(0), snapshot(7, -3), frame('r', 'ready', {}), update(8, 1), update(9, 2), bye], 'end')],
    [row(-60, -55), row(-42, -40), row(-13, -10), row(-3, 0)],
  );
  const { followedTexts, gaps } = await followed(service);
  t.same(followedTexts, ['history -60', 'history -42', 'history -13', 'history -3', 'live 1', 'live 2']);
  t.same(gaps, []);
  t.match(service.asked, [{ raw: true, from: at(-60), to: at(0), where: 'base = BTC', layers: ['mark'] }]);
  t.equal(
    service.edge.requests.find(({ url }) => url?.startsWith('/v2/stream'))?.url,
    '/v2/stream?allow_stale=true&where=base+%3D+BTC&layers=mark',
  );
});

t.test('a snapshot that history does not have yet is returned, and another reading of its instant', async (t) => {
  const service = await openService(
    t,
    [
      stream(
        [hello(0), snapshot(7, -1), update(8, -1, { values: { mark: 99 } }), update(8, -1, {}, 'status'), bye],
        'end',
      ),
    ],
    [row(-13, -10)],
  );
  t.same((await followed(service)).followedTexts, ['history -13', 'live -1', 'live 99']);
});

t.test('a plan without raw history requests by periods', async (t) => {
  const service = await openService(t, [stream([hello(0), bye], 'end')], []);
  await followed(service, { interval: '1m', since: new Date(T0 - 60_000) });
  t.match(service.asked, [{ interval: '1m', from: at(-60), to: at(0) }]);
  t.notHas(service.asked[0], { raw: true });
});

t.test('every request for periods begins where one begins, so that none is computed of a part of it', async (t) => {
  const service = await openService(
    t,
    [stream([hello(0), update(1, 1)], 'cut'), stream([hello(400), update(9, 401), bye], 'end')],
    [],
  );
  await followed(service, { interval: '5m', since: at(-1_800) });
  t.same(
    service.asked.map(({ from, to }) => [from, to]),
    [
      [at(-1_800), at(-300)],
      [at(-300), at(0)],
      [at(-300), at(0)],
      [at(0), at(400)],
    ],
  );
});

t.test('gaps of history are returned as stretches with their cause, late and stale rows are no readings', async (t) => {
  const service = await openService(
    t,
    [
      stream(
        [hello(0), update(8, 1, { status: 'stale', reason: 'connection_lost', values: {} }, 'status'), bye],
        'end',
      ),
    ],
    [
      row(-60, -55),
      gapRow(-50, 'collector_down'),
      gapRow(-40, 'collector_down'),
      gapRow(-30, 'no_update'),
      row(-25, -20),
      row(-24, -20, { late: true }),
      gapRow(-10, 'no_update'),
    ],
  );
  const { followedTexts, gaps, stale } = await followed(service);
  t.same(followedTexts, ['history -60', 'history -25']);
  t.same(
    gaps.map((gap) => (gap.source === 'history' ? [gap.cause, gap.from, gap.to] : [])),
    [
      ['collector_down', at(-50), at(-40)],
      ['no_update', at(-30), at(-30)],
      ['no_update', at(-10), at(-10)],
    ],
  );
  t.match(stale, [{ ...MARK, reason: 'connection_lost', received_at: at(1) }]);
});

t.test('a stream that could not be resumed is filled from history, without repeats', async (t) => {
  const expired = { from: at(5), to: at(400), reason: 'resume_expired', dropped: null, scope: {} };
  const service = await openService(
    t,
    [
      stream([hello(0), snapshot(7, -3), update(8, 2), update(9, 5)], 'cut'),
      stream([hello(400), frame('g', 'gap', expired), snapshot(49, 398), update(50, 401), bye], 'end'),
    ],
    [row(-3, 0), row(5, 10), row(18, 20), row(391, 400)],
  );
  const { followedTexts, gaps } = await followed(service);
  t.same(followedTexts, ['history -3', 'live 2', 'live 5', 'history 18', 'history 391', 'live 398', 'live 401']);
  t.match(gaps, [{ source: 'live', reason: 'resume_expired' }]);
  t.equal(service.asked.at(-1)?.to, at(400));
});

t.test('what a slow reader was not sent is filled from history, and the order stays', async (t) => {
  const slow = { from: at(10), to: at(40), reason: 'slow_reader', dropped: 12, scope: {} };
  const service = await openService(
    t,
    [stream([hello(0), update(8, 9), frame('g', 'gap', slow), update(20, 39), update(21, 40), bye], 'end')],
    [row(9, 10), row(19, 20), row(29, 30), row(39, 40)],
  );
  const { followedTexts, gaps } = await followed(service);
  t.same(followedTexts, ['live 9', 'history 19', 'history 29', 'history 39', 'live 40']);
  t.match(gaps, [{ source: 'live', reason: 'slow_reader', dropped: 12 }]);
});

t.test(
  'wherever the stream is cut: ascending, nothing twice, every stored row and every live reading returned',
  async (t) => {
    await t.resolves(
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ length: fc.integer({ min: 1, max: 12 }), resumes: fc.boolean() }), {
            minLength: 1,
            maxLength: 4,
          }),
          async (connections) => {
            // One reading a second from -20 on; stored is the last one of each 10 s.
            const end = connections.reduce((sum, { length }) => sum + length, 0);
            const rows: object[] = [];
            for (let second = -20; second <= end; second += 1)
              if (second % 10 === 0 || second === end) rows.push(row(second, Math.ceil(second / 10) * 10));
            let now = 0;
            const streams = connections.map(({ length, resumes }, n) => {
              const resumed = resumes && n > 0;
              const start = now;
              now += length;
              const head = resumed ? [hello(start, true)] : [hello(start), snapshot(start, start)];
              const updates = Array.from({ length }, (_, i) => update(start + i + 1, start + i + 1));
              const last = n === connections.length - 1;
              return stream(
                [
                  ...head,
                  ...updates,
                  ...(last ? [bye] : [frame('again', 'bye', { reason: 'rotate', reconnect: true })]),
                ],
                'end',
              );
            });
            const { followedTexts } = await followed(await openService(t, streams, rows));
            const seconds = followedTexts.map((one) => Number(one.split(' ')[1]));
            const wanted = [-20, -10, ...Array.from({ length: end + 1 }, (_, i) => i)];
            if (JSON.stringify(seconds) !== JSON.stringify(wanted)) throw new Error(`${seconds} instead of ${wanted}`);
          },
        ),
        { numRuns: 25 },
      ),
    );
  },
);

t.test('a follower that is stopped while history is away delivers nothing from behind the hole', async (t) => {
  const live = stream([hello(0), snapshot(1, 0), frame('r', 'ready', {}), update(2, 1), update(3, 2)], 'silence');
  const stop = new AbortController();
  let asked = 0;
  const edge = await openEdgeServer(t, [
    (response, request) => {
      if (request.url?.startsWith('/v2/stream')) return live(response, request);
      asked += 1;
      // The last rows of the past never come.
      if (asked > 1) stop.abort();
      return answerJson(503, { errors: [{ code: 'UNAVAILABLE', message: 'No.' }] })(response, request);
    },
  ]);
  const client = createClient({ baseUrl: edge.url, key: 'k', retries: 0 });
  const delivered: Followed[] = [];
  for await (const one of client.follow(REQUEST, { signal: stop.signal })) delivered.push(one);
  t.same(delivered, []);
});

t.test('history that is away and states no wait is left in peace longer each time', async (t) => {
  const live = stream([hello(0), snapshot(1, 0), frame('r', 'ready', {})], 'silence');
  const stop = new AbortController();
  const askedMs: number[] = [];
  const refuse = answerJson(503, { errors: [{ code: 'UNAVAILABLE', message: 'No.' }] });
  const edge = await openEdgeServer(t, [
    (response, request) => {
      if (request.url?.startsWith('/v2/stream')) return live(response, request);
      askedMs.push(performance.now());
      if (askedMs.length === 3) stop.abort();
      return refuse(response.setHeader('retry-after', '0'), request);
    },
  ]);
  const client = createClient({ baseUrl: edge.url, key: 'k', retries: 0 });
  for await (const _ of client.follow(REQUEST, { signal: stop.signal }));
  const [first = 0, second = 0, third = 0] = askedMs;
  t.ok(second - first > 490 && third - second > 990, askedMs.join(' '));
});
