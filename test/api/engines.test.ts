// The API on real Kafka and PostgreSQL: fills its copy from rounds and live, restarts into the same answers, keys live in the database.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import t from 'tap';
import { openAccountStore } from '../../api/access/account-store.ts';
import { openKeyStore } from '../../api/access/key-store.ts';
import { Meter } from '../../api/access/meter.ts';
import { PLAN_CODES } from '../../api/contract/plans.ts';
import { createApiMetrics } from '../../api/data-app/api-metrics.ts';
import { buildApp } from '../../api/data-app/build-app.ts';
import { followLive } from '../../api/live/follow.ts';
import { LiveMemory } from '../../api/live/memory.ts';
import { openReceipts } from '../../api/payments/receipts.ts';
import { StreamHub } from '../../api/stream/hub.ts';
import { ensureDemoKeys } from '../../infra/dev/local/demo-keys.ts';
import { migrate } from '../../infra/postgres/migrate.ts';
import { createPublisher, ensureTopics, type KafkaHandle, openKafka } from '../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../infra/runtime/kafka/topics.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { runUnmetered } from '../../infra/runtime/process/steps.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { type LiveEntry, makeLiveEntry, nameTopics, type Row, type StateEntry } from '../../schemas/topics.ts';
import {
  capability,
  LISTED,
  listing,
  listingValues,
  markReading,
  NOW,
  paymentsOff,
  post,
  TERMS,
} from '../support/apps/live-fixture.ts';
import { useEngines } from '../support/engines/engines.ts';
import { waitFor } from '../support/wait.ts';

const log = createLog('test', 'silent');
const VENUE = 'okx';
const SYMBOL = 'BTC-USDT-SWAP';

const until = (holds: () => boolean, what: string): Promise<true> => waitFor(what, () => holds() || null);

const stateNone = { symbol: null, reading: null, span: null, listing: null, capability: null, marker: null };
const version = listing(VENUE, listingValues({ venue_symbol: SYMBOL }));
const mark = (price: string) => markReading(price, { venue_ts: NOW, received_at: NOW, recorded_at: NOW });

const liveMark = (offset: number, price: string): LiveEntry =>
  makeLiveEntry({ offset, index: 0, recorded_at: NOW, kind: 'reading', symbol: SYMBOL, reading: mark(price) });
const liveWatermark = (offset: number, watermark = NOW): LiveEntry =>
  makeLiveEntry({ offset, index: 9, recorded_at: NOW, kind: 'watermark', watermark });

/** A round of the log up to `round`, as a task writes it; `live` continues at `liveOffset`. */
const makeRound = (
  round: number,
  watermark: number,
  { price, liveOffset }: { price: string; liveOffset: number },
): StateEntry[] => [
  { ...stateNone, round, kind: 'capability', capability: capability(VENUE) },
  {
    ...stateNone,
    round,
    kind: 'connection',
    span: { conn_id: 'c1', slot: 'market', from: LISTED, to: null, cause: null },
  },
  { ...stateNone, round, kind: 'reading', symbol: SYMBOL, reading: mark(price) },
  { ...stateNone, round, kind: 'marker', marker: { entries: 3, watermark, live_offset: liveOffset } },
];

const publish = async (
  kafka: KafkaHandle,
  records: readonly { topic: string; key: string | null; value: Buffer }[],
): Promise<void> => {
  const publisher = createPublisher(kafka);
  for (const { topic, key, value } of records) publisher.publish({ topic, partition: 0, key, value });
  await publisher.flush();
  await publisher.close();
};

t.test('fills its copy from a round and what follows, from any start', async (t) => {
  const engines = await useEngines(t, ['kafka']);
  const kafka = openKafka({ brokers: engines.endpoints.kafka.split(','), clientId: 'api-test' }, log);
  t.teardown(() => kafka.close());
  const namespace = `${engines.namespace()}.`;
  const names = nameTopics(namespace);
  const follow = (memory: LiveMemory) =>
    followLive({ kafka, memory, venues: [VENUE], namespace, nowMicros: () => NOW, meterStep: runUnmetered, log });

  const memory = new LiveMemory([VENUE]);
  const stop = follow(memory);
  t.notOk(memory.isReady(), 'not before its topics exist');
  await ensureTopics(kafka, listTopicSpecs({ venues: [VENUE], shards: 1, namespace }));
  const live = (entries: readonly LiveEntry[]) =>
    entries.map((e) => ({ topic: names.live(VENUE), key: SYMBOL, value: codecs.live.encode(e) }));
  const state = (entries: readonly StateEntry[]) =>
    entries.map((e) => ({ topic: names.state(VENUE), key: null, value: codecs.state.encode(e) }));
  await until(() => memory.isReady(), 'an empty log is followed');
  await publish(kafka, [
    { topic: names.listings, key: `${VENUE}|${SYMBOL}`, value: codecs.listing.encode(version) },
    ...live([
      liveMark(1, '1'),
      liveMark(2, '2'),
      // Another than the one that is waited for: a copy applies a batch in several turns.
      liveWatermark(2, NOW - 1),
      liveMark(3, '3'),
      liveMark(3, '0'),
      liveMark(2, '0'),
      liveWatermark(4),
    ]),
    ...state(makeRound(1, NOW - 400_000_000, { price: '1', liveOffset: 1 })),
    // Not whole: its marker counts more entries than came.
    ...state(makeRound(2, NOW - 350_000_000, { price: '9', liveOffset: 3 }).slice(1)),
    ...state(makeRound(3, NOW, { price: '9', liveOffset: 7 })),
  ]);
  const readPrice = (m: LiveMemory) => m.venue(VENUE)?.listings.get(SYMBOL)?.readings.get('mark')?.values.mark;
  await until(() => memory.watermark(VENUE) === NOW, 'the watermark arrives');
  t.equal(readPrice(memory), '3');
  await stop();

  const restarted = new LiveMemory([VENUE]);
  const stopAgain = follow(restarted);
  await until(() => restarted.isReady(), 'a restarted node is ready');
  t.equal(readPrice(restarted), '9', 'the newest whole round, and live after it; repeats dropped');
  t.equal(restarted.watermark(VENUE), NOW);
  t.equal(
    restarted.venue(VENUE)?.listings.get(SYMBOL)?.versions.length,
    1,
    'listings come from the topic that keeps them for ever',
  );
  t.equal(restarted.sizes().connections, 1, 'the round was read');
  await until(() => restarted.isWhole, 'the minutes before are joined');
  t.equal(
    restarted.recentFrom({ venue: VENUE, venueSymbol: SYMBOL }),
    NOW - 400_000_000 + 1_000,
    'from the record of the round that is old enough',
  );
  await publish(kafka, live([liveMark(5, '5'), liveWatermark(6)]));
  await until(() => readPrice(restarted) === '5', 'live is followed');
  await stopAgain();
});

const rowAt = (at: number): Row => ({
  ...{ table: 'mark', at, texts: {}, instants: {}, integers: { src_offset: 1 } },
  ...{ figures: { mark: '1' }, flags: {} },
});
const liveRow = (offset: number, at: number): LiveEntry =>
  makeLiveEntry({ offset, index: 1, recorded_at: NOW, kind: 'provisional', symbol: SYMBOL, row: rowAt(at) });

t.test('a round that a stale owner repeats gives no place, and the entries that it hides are found', async (t) => {
  const engines = await useEngines(t, ['kafka']);
  const kafka = openKafka({ brokers: engines.endpoints.kafka.split(','), clientId: 'api-test' }, log);
  t.teardown(() => kafka.close());
  const namespace = `${engines.namespace()}.`;
  const names = nameTopics(namespace);
  await ensureTopics(kafka, listTopicSpecs({ venues: [VENUE], shards: 1, namespace }));
  const live = (entries: readonly LiveEntry[]) =>
    entries.map((e) => ({ topic: names.live(VENUE), key: SYMBOL, value: codecs.live.encode(e) }));
  const state = (entries: readonly StateEntry[]) =>
    entries.map((e) => ({ topic: names.state(VENUE), key: null, value: codecs.state.encode(e) }));
  // More than the last entries that are looked at first.
  const long = (round: number, watermark: number, of: { price: string; liveOffset: number }): StateEntry[] => {
    const [first, ...rest] = makeRound(round, watermark, of) as [StateEntry, ...StateEntry[]];
    const marker = rest.pop()?.marker ?? null;
    const entries = [...Array<StateEntry>(300).fill(first), ...rest];
    return [
      ...entries,
      { ...stateNone, round, kind: 'marker', marker: marker && { ...marker, entries: entries.length } },
    ];
  };
  const end = liveWatermark(7);
  await publish(kafka, [
    ...live([liveMark(1, '1'), liveRow(2, NOW - 90_000_000), liveMark(3, '3'), liveMark(6, '6'), liveRow(6, NOW), end]),
    ...state(long(2, NOW - 100_000_000, { price: '1', liveOffset: 2 })),
    ...state(long(5, NOW - 40_000_000, { price: '3', liveOffset: 3 })),
    ...state(long(2, NOW - 100_000_000, { price: '1', liveOffset: 6 })),
  ]);
  const memory = new LiveMemory([VENUE]);
  const keptBefore: string[] = [];
  memory.observe(({ message }) => keptBefore.push(message.kind));
  const offsets: number[] = [];
  memory.inherit((past) => {
    past.observe(({ message }) => offsets.push(message.offset));
    return () => offsets.push(Number.NaN);
  });
  const stop = followLive({
    kafka,
    memory,
    venues: [VENUE],
    namespace,
    nowMicros: () => NOW,
    meterStep: runUnmetered,
    log,
  });
  t.notOk(memory.isWhole);
  await until(() => memory.isReady(), 'the node is ready');
  const readings = memory.venue(VENUE)?.listings.get(SYMBOL)?.readings;
  t.equal(readings?.get('mark')?.values.mark, '6', 'nothing between the two publications is left out');
  await until(() => memory.isWhole, 'the minutes before are joined');
  t.same(offsets, [1, 2, 3, 6, 6, 7, Number.NaN], 'another copy received them from the start of the log, once');
  t.same(keptBefore, [], 'and observers of this one received none of them');
  const ends = [...memory.recentRows(VENUE, 'mark', SYMBOL)].map(({ row }) => row.at);
  t.same(ends, [NOW - 90_000_000, NOW], 'rows of before the round and of the stretch after it');
  await publish(kafka, live([liveMark(8, '8')]));
  await until(() => keptBefore.length === 1, 'later entries are received');
  await stop();
});

t.test('keys of every plan live hashed in the database, plain only in a private file', async (t) => {
  const engines = await useEngines(t, ['postgres']);
  const url = await engines.database();
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'keys.json');
  const [keys] = await Promise.all([ensureDemoKeys(url, file)]);
  t.same(await ensureDemoKeys(url, file), keys, 'a second start keeps them');
  t.same(JSON.parse(await readFile(file, 'utf8')), keys);
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const pool = openPostgres(url);
  t.teardown(() => pool.end());
  const { rows } = await pool.query<{ text: string }>('select api_keys::text as text from api_keys');
  t.equal(rows.length, PLAN_CODES.length);
  for (const { text } of rows) for (const key of Object.values(keys)) t.notMatch(text, key.slice(9));
  await Promise.all([migrate(pool), migrate(pool)]);
  t.same(await migrate(pool), [], 'migrations run once');
  await pool.query("insert into migrations (name) values ('9999_later.sql')");
  const warned: unknown[] = [];
  await migrate(pool, { warn: (context: unknown) => warned.push(context) });
  t.same(warned, [{ later: ['9999_later.sql'] }], 'a version before the last migration goes on and says so');

  const memory = new LiveMemory([VENUE]);
  memory.applyListing(version);
  memory.applyLive(VENUE, 0, codecs.live.encode(liveWatermark(1)));
  memory.markReady(VENUE, 0);
  const app = await buildApp({
    live: memory,
    hub: new StreamHub({ live: memory, nowMicros: () => NOW }),
    nowMicros: () => NOW,
    keys: openKeyStore(pool),
    accounts: openAccountStore(pool),
    meter: new Meter(),
    payments: paymentsOff(TERMS),
    receipts: openReceipts(pool),
    baseUrl: 'http://api.test',
    areKeysReachable: async () => true,
    metrics: createApiMetrics(new Registry(), memory, () => NOW),
    simulated: false,
    log,
  });
  t.teardown(() => app.close());
  for (const plan of PLAN_CODES) {
    const answer = await post(app, { authorization: `Bearer ${keys[plan]}` }, { layers: ['mark'] });
    t.equal(answer.statusCode, 200, plan);
  }
  await app.inject(`/v2/venues?key=${keys.mini}`);
  const compromised = async () =>
    (await pool.query('select 1 from api_keys where compromised_at is not null')).rowCount;
  while ((await compromised()) === 0) await pause(10);
  t.equal(await compromised(), 1);
  await pool.query("update api_keys set revoked_at = now() where plan = 'pro'");
  await pool.query("update api_keys set expires_at = now() - interval '1 second' where plan = 'mini'");
  const fresh = openKeyStore(pool);
  t.equal(await fresh.find(keys.pro, Date.now()), 'unknown');
  t.equal(await fresh.find(keys.mini, Date.now()), 'unknown');
  t.match(await fresh.find(keys.standard, Date.now()), { plan: { code: 'standard' } });

  await writeFile(file, '{"free": "damaged"}');
  const repaired = await ensureDemoKeys(url, file);
  t.match(await openKeyStore(pool).find(repaired.free, Date.now()), { plan: { code: 'free' } });
});
