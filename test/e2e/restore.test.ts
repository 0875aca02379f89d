// All stores restored from one backup with the commands of docs/deployment.md: settled answers are the same bytes, and what is lost is a gap.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { hashNamespace, type LoggedWorld, waitForReached } from '../../infra/dev/bench/soak/raw-copy.ts';
import { computeOldDayMs, writeOldDay, writeYesterday } from '../../infra/dev/past/old-day.ts';
import { createVirtualLog, type PastRecord } from '../../infra/dev/past/virtual-log.ts';
import { askSettled, type Question } from '../../infra/dev/tools/settled-requests.ts';
import { createPublisher, ensureTopics } from '../../infra/runtime/kafka/kafka.ts';
import { listRawTopicSpecs } from '../../infra/runtime/kafka/topics.ts';
import { MS_PER_DAY, MS_PER_MINUTE } from '../../schemas/instants.ts';
import { nameTopics } from '../../schemas/topics.ts';
import { noClients, type Places, readOffsetReset, runCommands } from '../support/documents/backup-commands.ts';
import { ownEngines } from '../support/engines/engines.ts';
import { openWorld } from '../support/services/own-service.ts';
import { type Api, type PipelineSpec, startApi, startProcessors } from '../support/services/pipeline.ts';
import { QUIET } from '../support/tasks/purity.ts';
import { waitFor } from '../support/wait.ts';

t.setTimeout(900_000);

const VENUE = 'binance';
const NOW_MS = Date.now();
/** The old day of a past that begins in a week is the day before yesterday. */
const OLD = { nowMs: NOW_MS + 7 * MS_PER_DAY, shards: 1, seed: 7 };
const BEGIN_MS = computeOldDayMs(OLD.nowMs) + MS_PER_DAY / 2;
/** Everything after it is written after the backup. */
const BACKUP_MS = BEGIN_MS + 5 * MS_PER_MINUTE;

const makeRecords = (write: typeof writeOldDay, plan: typeof OLD): readonly PastRecord[] => {
  const log = createVirtualLog();
  write(VENUE, log, plan);
  return log.records;
};

/** The raw topic keeps the time of its producer, and all of it. */
const append = async ({ handle, base }: LoggedWorld, records: readonly PastRecord[]): Promise<void> => {
  const kept = { 'retention.ms': '-1', 'segment.ms': String(400 * MS_PER_DAY), 'message.timestamp.type': 'CreateTime' };
  const specs = listRawTopicSpecs({ venues: [VENUE], shards: 1, namespace: base });
  await ensureTopics(
    handle,
    specs.map((spec) => ({ ...spec, config: { ...spec.config, ...kept } })),
  );
  const publisher = createPublisher(handle);
  for (const { timestampMs, ...record } of records) {
    publisher.publish({ topic: nameTopics(base).raw(VENUE), ...record, timestamp: timestampMs });
    await publisher.ready();
  }
  await publisher.close();
};

const toInstant = (minutes: number): string => new Date(BEGIN_MS + minutes * MS_PER_MINUTE).toISOString();
const ask = (path: string, minutes: readonly [number, number], body: object): Question => {
  const [from, to] = minutes;
  const span = { where: { venue: [VENUE] }, from: toInstant(from), to: toInstant(to) };
  return { path, body: { ...span, ...body }, until: (BEGIN_MS + to * MS_PER_MINUTE) * 1_000 };
};
const READINGS = { layers: ['ticker', 'mark', 'oi', 'book'], interval: '10s' };
/** About windows that were sealed at the backup. */
const EARLY = [
  ask('/v2/snapshots/history', [0, 3], READINGS),
  ask('/v2/snapshots/history', [0, 3], { layers: ['mark', 'stats'], raw: true }),
  ask('/v2/candles', [0, 3], { timeframe: '1m' }),
];
/** About later ones too. */
const LATE = [
  ask('/v2/snapshots/history', [0, 8], READINGS),
  ask('/v2/candles', [1, 8], { timeframe: '1m' }),
  ask('/v2/liquidations', [0, 8], {}),
];

/** The items as the answer has them, byte for byte. */
const readItems = async ({ baseUrl, keys }: Api, questions: readonly Question[]): Promise<string[]> => {
  await waitFor(
    'the API answers',
    () =>
      fetch(`${baseUrl}/v2/venues`).then(
        ({ ok }) => ok,
        () => false,
      ),
    { everyMs: 100 },
  );
  const texts: string[] = [];
  for (const question of questions) {
    const { text } = await askSettled({ base_url: baseUrl, keys }, question);
    texts.push(text.slice(text.indexOf('"items":')).replace(/"retention_from":"[^"]*"/, ''));
  }
  return texts;
};

/** A service over engines of the test, which starts its processes. */
const openService = async (t: Test) => {
  const engines = await ownEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const spec: PipelineSpec = {
    stores: engines.endpoints,
    namespace: `${engines.namespace()}.`,
    shards: 1,
    venues: [VENUE],
  };
  const world = openWorld(t, { spec });
  /** Resolves with its stop, when everything in the log is readable as rows. */
  const process = async () => {
    const processors = startProcessors(spec, QUIET);
    t.teardown(() => processors.kill());
    await waitForReached(world, spec.namespace);
    // As a restore begins: in order, so that its consumer group is empty at once.
    return () => processors.kill('SIGTERM');
  };
  const serve = async (url: string): Promise<Api> => {
    const api = await startApi(spec, url);
    t.teardown(() => api.child.kill());
    return api;
  };
  const { questdb_pg: pg, questdb_user: user, questdb_password: password } = engines.endpoints;
  const places: Places = {
    BACKUP: join(engines.dir, 'backup'),
    DATABASE_URL: database,
    QUESTDB: Object.assign(new URL(pg), { username: user, password }).href,
    QUESTDB_DIR: join(engines.dir, 'questdb'),
    ARCHIVE_DIR: join(engines.dir, 'archive'),
  };
  for (const folder of [places.BACKUP, places.ARCHIVE_DIR]) mkdirSync(folder);
  return { engines, spec, world, process, serve, places };
};
type RestoredService = Awaited<ReturnType<typeof openService>>;

const restoreQuestdb = async ({ engines, places }: RestoredService): Promise<void> => {
  await engines.hold('questdb');
  for (const folder of ['db', '.checkpoint'])
    rmSync(join(places.QUESTDB_DIR, folder), { recursive: true, force: true });
  runCommands('3', places);
  await engines.restart('questdb');
};

/** What `kafka-consumer-groups.sh` does with the documented options; the engines of tests do not have it. */
const resetOffsets = async ({ world, spec }: RestoredService, instant: string): Promise<void> => {
  const admin = await world.handle.admin();
  const topic = nameTopics(spec.namespace).rows(VENUE);
  const partitions = await admin.fetchTopicOffsetsByTimestamp(topic, Date.parse(`${instant}Z`));
  await admin.setOffsets({ groupId: `${spec.namespace}${readOffsetReset().group}`, topic, partitions });
};

const SPANS = `SELECT from_at::long, at::long, gap_cause, recorded_at::long, src_offset FROM`;

t.test(
  'what is settled stays after a restore, with Kafka and without',
  { skip: noClients(), timeout: 900_000 },
  async (t) => {
    const service = await openService(t);
    const { engines, world, spec, places } = service;
    const old = makeRecords(writeOldDay, OLD);
    const cut = old.findIndex(({ timestampMs }) => timestampMs > BACKUP_MS);
    await append(world, old.slice(0, cut));
    const endFirst = await service.process();
    const first = await service.serve(places.DATABASE_URL);
    const early = await readItems(first, EARLY);
    runCommands('backup', places);

    await append(world, old.slice(cut));
    await waitForReached(world, spec.namespace);
    const late = await readItems(first, LATE);
    const whole = await hashNamespace(world, spec.namespace);
    await endFirst();
    await first.child.kill();

    const restored = await engines.database();
    runCommands('2', { ...places, DATABASE_URL: restored });

    await restoreQuestdb(service);
    await resetOffsets(service, readOffsetReset().instant);
    const endKept = await service.process();
    t.same(await hashNamespace(world, spec.namespace), whole, 'Kafka was kept: every table has the same rows');
    const kept = await service.serve(restored);
    t.same(await readItems(kept, [...EARLY, ...LATE]), [...early, ...late], 'and answers are the same bytes');
    await endKept();
    await kept.child.kill();

    await restoreQuestdb(service);
    const admin = await world.handle.admin();
    const topics = await admin.listTopics();
    await admin.deleteTopics({ topics: topics.filter((topic) => topic.startsWith(spec.namespace)) });
    await append(world, makeRecords(writeYesterday, { ...OLD, nowMs: NOW_MS }));
    await service.process();
    t.same(
      await readItems(await service.serve(restored), EARLY),
      early,
      'Kafka was lost: what the copy had is the same',
    );
    const table = `${spec.namespace.replaceAll('.', '_')}mark`;
    const rows = await world.reader.query({ text: `${SPANS} '${table}' WHERE NOT late ORDER BY at` });
    t.same(
      rows.slice(1).filter(([from], i) => from !== rows[i]?.[1]),
      [],
      'each window once, none left out',
    );
    const lost = rows.filter(([, , cause]) => cause === 'storage_failure');
    t.ok(lost.length > 0);
    t.ok(
      lost.every(([from]) => Number(from) >= (BEGIN_MS + 3 * MS_PER_MINUTE) * 1_000),
      'what is lost is after the backup',
    );
    const recorded = rows.flatMap(([, , , at]) => at ?? []).map(Number);
    t.same(
      recorded,
      recorded.toSorted((a, b) => a - b),
      'the record time never goes back',
    );
  },
);
