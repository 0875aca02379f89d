// Kafka is away, then QuestDB: nothing is lost, live answers stay honest or unharmed, and everything is there afterwards without a hand.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { hashNamespace, type LoggedWorld, waitForReached } from '../../infra/dev/bench/soak/raw-copy.ts';
import { readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { nameTopics } from '../../schemas/topics.ts';
import {
  type OwnService,
  openWorld,
  readStatuses,
  recovered,
  startOwnService,
} from '../support/services/own-service.ts';
import { startProcessors, until } from '../support/services/pipeline.ts';
import { checkCoverage, checkSent, QUIET } from '../support/tasks/purity.ts';
import { readSent } from '../support/venues/sent-frames.ts';

/** The full show is five minutes each: AWAY_SECONDS=300. */
const SECONDS = Number(process.env['AWAY_SECONDS'] ?? 25);
const LISTINGS = process.env['AWAY_LISTINGS'] ?? '16';
const RATE = process.env['AWAY_RATE'] ?? '300';
const SHARDS = 2;
const SEAL_MS = 115_000;

type Page = { readonly settled: boolean; readonly items: readonly unknown[] };

/** History between two instants, with its `settled`. */
const readHistory = ({ api }: OwnService, from: number, to: number): Promise<Page> =>
  api.post<Page>('/v2/snapshots/history', {
    where: 'base = BTC',
    layers: ['mark'],
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    interval: '1m',
  });

const readReady = async ({ api }: OwnService): Promise<number> => {
  const answer = await fetch(`${api.baseUrl}/readyz`);
  await answer.arrayBuffer();
  return answer.status;
};

const kafkaAway = async (t: Test, service: OwnService): Promise<{ fromMs: number; toMs: number }> => {
  const fromMs = Date.now();
  await service.engines.hold('kafka');
  const states = await until('everything is stale', 15_000, async () => {
    const found = await readStatuses(service);
    return found !== null && found.length > 0 && found.every(({ status }) => status === 'stale') ? found : null;
  });
  t.ok(states.length > 0, `all ${states.length} values are stale while the log is away`);
  await pause(Math.max(0, fromMs + SECONDS * 1_000 - Date.now()));
  await service.engines.restart('kafka');
  const toMs = Date.now();
  await recovered(service);
  t.comment(
    `Kafka was away for ${((toMs - fromMs) / 1_000).toFixed(0)} s; everything present ${Date.now() - toMs} ms after it was back`,
  );
  return { fromMs, toMs };
};

const questdbAway = async (t: Test, service: OwnService): Promise<void> => {
  const { engines } = service;
  const fromMs = Date.now();
  await engines.hold('questdb');
  let asked = 0;
  const harmed: unknown[] = [];
  while (Date.now() < fromMs + SECONDS * 1_000) {
    const states = await readStatuses(service);
    asked += 1;
    const other = states === null ? 'no answer' : states.find(({ status }) => status !== 'present');
    if (other !== undefined) harmed.push({ afterMs: Date.now() - fromMs, other });
    await pause(1_000);
  }
  t.same(harmed, [], `${asked} live answers while QuestDB was away, each with every value present`);
  t.equal(await readReady(service), 503, 'a store is away (OP-01), though what does not need it is served');
  await engines.restart('questdb');
};

/** Raw records of the time away that were recorded more than five seconds after they were received. */
const lateRecords = async ({ handle, base }: LoggedWorld): Promise<number> => {
  let late = 0;
  await readToEnd(
    handle,
    { topic: nameTopics(base).raw('binance'), from: () => 'earliest' as const },
    ({ value, timestampMs }) => {
      if (value === null) return;
      const { kind, received_at: receivedAt } = codecs.raw.decode(value);
      if (kind === 'frame' && timestampMs * 1_000 - receivedAt > 5_000_000) late += 1;
    },
  );
  return late;
};

t.setTimeout(3_600_000);

t.test('Kafka away, then QuestDB away', { timeout: 3_600_000 }, async (t) => {
  const service = await startOwnService(t, { seed: 5, listings: LISTINGS, rate: RATE, shards: SHARDS });
  const world = openWorld(t, service);
  await recovered(service);
  const began = Date.now();
  const away = await kafkaAway(t, service);
  await questdbAway(t, service);
  await recovered(service);

  await service.ingest.kill('SIGTERM');
  const sent = await readSent(service.simulator);
  await service.simulator.child.kill('SIGTERM');
  const ended = Date.now();
  await checkSent(t, world, { venue: 'binance', sent });
  const late = await lateRecords(world);
  t.ok(late > 0, `${late} frames of the time Kafka was away are in raw, recorded late`);

  await pause(SEAL_MS);
  // Its owner's ticks would move the log on.
  await service.processors.kill('SIGTERM');
  service.processors = startProcessors(service.spec, QUIET);
  await waitForReached(world, service.spec.namespace);
  const hashes = await hashNamespace(world, service.spec.namespace);
  for (const [table, { rows }] of Object.entries(hashes)) t.comment(`${table}: ${rows} rows`);
  const layers = ['mark', 'funding', 'book', 'venue_depth'] as const;
  await checkCoverage(t, world, { layers, listings: Number(LISTINGS) });
  if (away.toMs - away.fromMs > 130_000) {
    const table = `${world.base.replaceAll('.', '_')}mark`;
    const [row] = await world.reader.query({ text: `SELECT count() FROM '${table}' WHERE late = true` });
    t.ok(Number(row?.[0]) > 0, `${row?.[0]} late rows of mark (N-11)`);
  }
  const settled = await until('the run is settled', 180_000, async () => {
    // The log ends with the run, so only minutes that ended before are ever settled.
    const to = Math.floor(ended / 60_000) * 60_000;
    const page = await readHistory(service, Math.min(Math.floor(began / 60_000) * 60_000, to - 60_000), to);
    return page.settled && page.items.length > 0 ? page : null;
  });
  t.ok(settled.settled, 'history of the whole run is settled');
});
