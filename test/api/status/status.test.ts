// /status.json and /incidents.json: what is present now, as measured, and what is kept in PostgreSQL, also while it is away (OP-01, OP-02).
import t from 'tap';
import { LiveMemory } from '../../../api/live/memory.ts';
import { startServiceLevels } from '../../../api/status/service-levels.ts';
import { SlidingQuantiles } from '../../../api/status/sliding-quantiles.ts';
import { openStatusStore } from '../../../api/status/status-store.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { makeLiveEntry } from '../../../schemas/topics.ts';
import { LISTED, market, NOW, post, reading, testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';

const log = createLog('status-test', 'silent');

t.test('quantiles are at most five per cent above what was measured, and forget after an hour', (t) => {
  const held = new SlidingQuantiles();
  t.equal(held.read(0), null);
  for (let ms = 1; ms <= 1_000; ms++) held.add(ms, 0);
  const found = held.read(59 * 60_000);
  t.ok(found && found.p50 >= 500 && found.p50 <= 526, String(found?.p50));
  t.ok(found && found.p99 >= 990 && found.p99 <= 1_041, String(found?.p99));
  t.equal(found?.count, 1_000);
  held.add(7, 59 * 60_000 + 1);
  t.match(held.read(60 * 60_000), { count: 1, p50: 8, p99: 8 }, 'the first minute is forgotten');
  t.equal(held.read(200 * 60_000), null);
  held.add(-3, 200 * 60_000);
  t.match(held.read(200 * 60_000), { p50: 1 });
  t.end();
});

t.test('the lag of a copy counts once it serves: what it catches up with is the past', (t) => {
  const memory = new LiveMemory(['okx']);
  let now = NOW;
  const levels = startServiceLevels(memory, () => now);
  t.teardown(levels.stop);
  memory.expectPartitions('okx', [0]);
  const apply = (offset: number, watermark: number): void => {
    const entry = { recorded_at: watermark, offset, index: 0, kind: 'watermark', watermark } as const;
    memory.applyLive('okx', 0, codecs.live.encode(makeLiveEntry(entry)));
  };
  apply(1, NOW - 700_000_000_000);
  levels.sampleLag();
  t.equal(levels.pipelineLag('okx'), null, 'nobody was served so far behind');
  memory.markReady('okx', 0);
  levels.sampleLag();
  t.equal(levels.pipelineLag('okx'), null, 'nor before the venue has caught up: its values are withheld');
  apply(2, NOW - 40_000);
  levels.sampleLag();
  t.match(levels.pipelineLag('okx'), { count: 1, p50: 41 });
  now += 60_000_000;
  levels.sampleLag();
  t.match(levels.pipelineLag('okx'), { count: 2 }, 'later every lag counts');
  t.end();
});

type Layer = { layer: string; state: string; [member: string]: unknown };
type Venue = { venue: string; state: string; layers: Layer[]; [member: string]: unknown };
const readStatus = async (app: Awaited<ReturnType<typeof testApp>>['app']) => {
  const answer = await app.inject('/status.json');
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['cache-control'], 'public, max-age=10');
  const body = answer.json() as { venues: Venue[]; service: unknown; open_incidents: unknown[]; anchored: unknown };
  const layer = (venue: string, name: string) =>
    body.venues.find((found) => found.venue === venue)?.layers.find((found) => found.layer === name);
  return { body, layer };
};

t.test('each layer of each venue shows what is present now, and why not', async (t) => {
  const feed = market();
  const clock = { now: NOW };
  const { app, as } = await testApp(feed, { nowMicros: () => clock.now });
  t.teardown(() => app.close());
  t.equal((await post(app, as('pro'), { layers: ['mark'] })).statusCode, 200);
  const { body, layer } = await readStatus(app);
  t.same(
    body.venues.map(({ venue, state }) => [venue, state]),
    [
      ['binance', 'live'],
      ['okx', 'live'],
    ],
  );
  t.match(layer('binance', 'mark'), {
    ...{ state: 'live', listings: 2, present: 2, present_share: 1, open_incidents: [], days: [] },
    ...{ last_received: '2026-01-15T12:00:00.184512Z', receipt_lag_ms: { p50: 67, p99: 67 } },
  });
  t.match(layer('binance', 'oi'), {
    state: 'down',
    listings: 2,
    present: 0,
    last_received: null,
    receipt_lag_ms: null,
  });
  t.match(layer('okx', 'oi'), { state: 'off', listings: 0, present_share: null });
  t.match(layer('okx', 'stats'), { state: 'not_published' });
  t.match(body.service, {
    window: '1h',
    answers_ms: { '/v2/snapshots': { count: 1 } },
    settled_recheck_failures: null,
  });
  t.match(body, { open_incidents: [], anchored: null, history_read_at: null });

  feed.entry('binance', {
    kind: 'connection',
    span: { conn_id: 'c1', slot: 'market', from: LISTED, to: NOW, cause: 'closed' as never },
  });
  feed.read('binance', 'BTCUSDT', reading({ conn_id: 'c2', received_at: NOW }));
  t.match((await readStatus(app)).layer('binance', 'mark'), { state: 'live' }, 'for ten seconds as it was');
  clock.now += 10_000_000;
  feed.watermark('binance', clock.now);
  feed.watermark('okx', clock.now);
  const later = await readStatus(app);
  t.match(later.body.venues[0], { venue: 'binance', state: 'down', state_since: '2026-01-15T12:00:00.500Z' });
  t.match(later.layer('binance', 'mark'), { state: 'down', present: 0, present_share: 0 });
  t.match(later.layer('okx', 'mark'), { state: 'live' });
  clock.now += 20_000_000;
  t.match(
    (await readStatus(app)).body.venues[1],
    { venue: 'okx', state: 'degraded', lag_ms: 20_000 },
    'the pipeline is behind',
  );
});

t.test(
  'nothing was received after the evaluation, whatever comes in meanwhile or from a clock that is ahead',
  async (t) => {
    const feed = market();
    const store = {
      read: async () => {
        feed.read('okx', 'BTC-USDT-SWAP', reading({ conn_id: 'c2', received_at: NOW + 7_000 }));
        return null;
      },
    };
    const { app } = await testApp(feed, { nowMicros: () => NOW, statusStore: store });
    t.teardown(() => app.close());
    const { body } = await readStatus(app);
    const received = body.venues.flatMap(({ layers }) =>
      layers.map(({ last_received }) => String(last_received ?? '')),
    );
    const [newest] = received.sort().reverse();
    t.equal(newest, '2026-01-15T12:00:00.507Z');
    t.match(body, { evaluated_at: newest });
  },
);

t.test('incidents, presence and the newest anchored day come from PostgreSQL, and stay while it is away', async (t) => {
  const engines = await useEngines(t, ['postgres']);
  const pool = openPostgres(await engines.database(), { max: 4 });
  t.teardown(() => pool.end());
  await migrate(pool);
  await pool.query(`insert into incidents (kind, subject, venue, layers, from_at, to_at, gap_cause, note, state, closed_at) values
    ('gap', 'binance connection_lost', 'binance', '{mark}', now() - interval '2 minutes', now() - interval '1 minute', 'connection_lost', 'Lost.', 'open', null),
    ('gap', 'okx venue_down', 'okx', '{funding,mark}', '2026-01-02T00:00:00Z', now() - interval '3 days', 'venue_down', 'Down.', 'closed', now()),
    ('gap', 'okx old', 'okx', '{mark}', now() - interval '200 days', now() - interval '100 days', 'venue_down', 'Old.', 'closed', now()),
    ('disk_full', 'archive', null, null, null, null, null, 'Of operators.', 'open', null),
    ('settled_answer_changed', 'abc', null, null, null, null, null, 'A settled answer changed.', 'open', null)`);
  await pool.query(`insert into daily_presence (day, venue, layer, listings, present_s, missing_s) values
    (current_date - 1, 'binance', 'mark', 2, 86400, 86400), (current_date - 100, 'binance', 'mark', 2, 1, 1)`);
  const away = { isAway: false };
  const line = {
    query: (text: string) => (away.isAway ? Promise.reject(new Error('away')) : pool.query(text)),
  } as unknown as Parameters<typeof openStatusStore>[0];
  const nowMicros = () => NOW;
  const { app } = await testApp(market(), { statusStore: openStatusStore(line, log), nowMicros });
  t.teardown(() => app.close());
  const { body, layer } = await readStatus(app);
  t.match(layer('binance', 'mark'), { open_incidents: [/^inc_\d+$/], days: { length: 1, 0: { present_share: 0.5 } } });
  t.equal(body.open_incidents.length, 2);
  t.match(body.service, { settled_recheck_failures: 1 });
  const listed = (await app.inject('/incidents.json')).json() as { items: Record<string, unknown>[] };
  t.same(
    listed.items.map(({ venue, state, to, note }) => [venue, state, to === null, note]),
    [
      [null, 'open', true, 'A settled answer changed.'],
      ['binance', 'open', true, 'Lost.'],
      ['okx', 'closed', false, 'Down.'],
    ],
  );
  t.match(listed.items[2], { layers: ['funding', 'mark'], from: '2026-01-02T00:00:00.000Z', gap_cause: 'venue_down' });
  away.isAway = true;
  t.equal((await app.inject('/incidents.json')).statusCode, 200);
  const { app: other } = await testApp(market(), { statusStore: openStatusStore(line, log), nowMicros });
  t.teardown(() => other.close());
  t.match((await other.inject('/incidents.json')).json(), { errors: [{ code: 'UNAVAILABLE' }] });
  t.equal((await other.inject('/status.json')).statusCode, 200, 'what is known of now needs no database');
});
