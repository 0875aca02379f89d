// The collector process against simulated venues and a real Kafka: every frame that was sent is in the log, once and in order.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { digestFrame } from '../../infra/dev/simulator/sent-log.ts';
import { type Simulator, startSimulator } from '../../infra/dev/simulator/simulator.ts';
import { openKafka, readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { startIngest } from '../../ingest/main.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { toShard } from '../../schemas/shards.ts';
import { nameTopics, type RawMessage, type TickBody } from '../../schemas/topics.ts';
import { useEngines } from '../support/engines/engines.ts';
import { startChild } from '../support/services/pipeline.ts';
import { readBody, toText } from '../support/venues/paper-venue.ts';
import { waitFor } from '../support/wait.ts';

const SHARDS = 2;
const engines = await useEngines(t, ['kafka']);
const brokers = engines.endpoints.kafka;
const log = createLog('test', 'silent');

type Entry = RawMessage & { readonly partition: number; readonly key: string; readonly timestampMs: number };

/** The publisher may repeat what a broker did not acknowledge; a reader drops what is not above a connection's last `seq`. */
const isFirst = (): ((entry: Entry) => boolean) => {
  const last = new Map<string, number>();
  return ({ conn_id, partition, seq }) => {
    if (seq === 0) return true;
    const place = `${conn_id} ${partition}`;
    if (seq <= (last.get(place) ?? 0)) return false;
    last.set(place, seq);
    return true;
  };
};

const readRaw = async (namespace: string): Promise<Entry[]> => {
  const handle = openKafka({ brokers: [brokers], clientId: 'test' }, log);
  const entries: Entry[] = [];
  await readToEnd(
    handle,
    { topic: nameTopics(namespace).raw('binance'), from: () => 'earliest' },
    (message, partition) => {
      const { value, key, timestampMs } = message;
      if (value) entries.push({ ...codecs.raw.decode(value), partition, key: String(key), timestampMs });
    },
  );
  await handle.close();
  return entries.filter(isFirst());
};

const folder = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'ingest-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** A collector of its own simulator; `stop` ends the collector, the simulator ends with the test. */
const start = async (t: Test) => {
  const simulator = await startSimulator({ seed: 3, listings: 8, rate: 120, levels: 50 });
  const namespace = `${engines.namespace()}.`;
  const stop = await startIngest({
    KAFKA_BROKERS: brokers,
    VENUES: 'binance',
    SHARDS: String(SHARDS),
    COLLECTOR_ID: 'c1',
    VENUE_ENDPOINTS: JSON.stringify(simulator.endpoints),
    METRICS_PORT: '0',
    TOPIC_NAMESPACE: namespace,
    SPOOL_DIR: folder(t),
  });
  t.teardown(() => simulator.stop());
  return { simulator, namespace, stop };
};

const snapshotsAsked = (simulator: Simulator): number => simulator.sent.connections.length;
const sentFrames = (simulator: Simulator): number => simulator.sent.connections.reduce((sum, c) => sum + c.frames, 0);

t.test(
  'what a simulated venue sends is in its raw topic frame for frame, through a hole and a disconnect',
  async (t) => {
    const { simulator, namespace, stop } = await start(t);
    const [book] = simulator.market.instruments.map(({ listing }) => listing.symbol);
    await waitFor('frames flow', () => sentFrames(simulator) > 300);
    simulator.inject({ kind: 'sequence_hole', venue: 'binance', symbols: [book ?? ''] });
    const hole = sentFrames(simulator);
    await waitFor('frames after the hole', () => sentFrames(simulator) > hole + 300);
    const before = snapshotsAsked(simulator);
    simulator.inject({ kind: 'disconnect', venue: 'binance', count: 1 });
    await waitFor('a connection more', () => snapshotsAsked(simulator) > before);
    const reconnected = sentFrames(simulator);
    await waitFor('frames after the disconnect', () => sentFrames(simulator) > reconnected + 300);
    await stop();
    const raw = await readRaw(namespace);

    const byConnection = Map.groupBy(
      raw.filter(({ kind }) => kind !== 'tick' && kind !== 'capability'),
      ({ conn_id }) => conn_id,
    );
    const frames = [...byConnection.values()]
      .map((messages) => messages.filter(({ kind }) => kind === 'frame'))
      .filter((messages) => messages.length > 0)
      .map((messages) => messages.map(({ payload }) => digestFrame(payload).toString('hex')));
    let compared = 0;
    for (const { connection, cause } of simulator.sent.connections) {
      const sent = [...simulator.sent.frames(connection, 0)].map(({ sha256 }) => sha256);
      const at = frames.findIndex((got) => got.every((digest, index) => digest === sent[index]));
      t.not(
        at,
        -1,
        `connection ${connection} (${cause}): what one connection wrote is what was sent, from the first frame on`,
      );
      const [got = []] = frames.splice(at, 1);
      // Frames on the wire at the moment of an end may be missing, none before them.
      t.ok(sent.length - got.length < 20, `${got.length} of ${sent.length}`);
      compared += got.length;
    }
    t.ok(compared > 900, `${compared} frames compared`);

    for (const [connId, messages] of byConnection) {
      const { slot } = messages[0] as Entry;
      if (slot === 'reference') continue;
      const kinds = messages.map(({ kind }) => kind);
      t.equal(kinds[0], 'open', `${connId} begins with open`);
      t.equal(kinds.indexOf('lost'), kinds.length - 1, `${connId} ends with lost`);
      t.same(
        messages.map(({ seq }) => seq),
        messages.map((_, index) => index + 1),
        `${connId} numbers what it wrote`,
      );
      t.ok(messages.every(({ key, partition }) => key === slot && partition === (messages[0] as Entry).partition));
    }
    const causes = raw.filter(({ kind }) => kind === 'lost').map((lost) => readBody(lost).cause);
    t.equal(causes.filter((cause) => cause === 'connection_lost').length, 1, 'the disconnect');
    t.ok(causes.filter((cause) => cause === 'collector_down').length >= 4, 'the rest at the stop');

    const asked = raw.filter(({ kind, request }) => kind === 'response' && (request ?? '').includes('/depth?'));
    const readSymbol = ({ request }: Entry): string =>
      new URL((request ?? '').slice(4)).searchParams.get('symbol') ?? '';
    t.ok(
      asked.every((entry) => entry.partition === toShard(readSymbol(entry), SHARDS)),
      'snapshots are in the shard of their listing',
    );
    t.ok(asked.filter((entry) => readSymbol(entry) === book).length >= 2, 'the hole needed a second snapshot');
    const joined = new Set(asked.map(readSymbol));
    t.same(
      joined,
      new Set(simulator.market.instruments.map(({ listing }) => listing.symbol)),
      'every book has its snapshot',
    );

    const references = raw.filter(({ slot }) => slot === 'reference');
    t.equal(references.length, 4 * SHARDS, 'each reference answer is in every shard');
    const firstOpen = raw.findIndex(({ kind }) => kind === 'open');
    t.ok(raw.slice(0, firstOpen).some(({ slot }) => slot === 'reference'));
    t.ok(references.every((entry) => toText(entry).length >= 2));
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const mine = raw.filter(({ partition }) => partition === shard);
      t.ok(mine.some(({ kind }) => kind === 'capability'));
      t.ok(mine.filter(({ kind }) => kind === 'tick').length >= 3);
      t.ok(
        mine.every(({ timestampMs }, i) => timestampMs >= (mine[i - 1]?.timestampMs ?? 0)),
        'time never goes back',
      );
    }
  },
);

t.test('of two collectors of one venue the one continues unharmed when the other is killed', async (t) => {
  const simulator = await startSimulator({ seed: 4, listings: 6, rate: 120, levels: 30 });
  t.teardown(() => simulator.stop());
  const namespace = `${engines.namespace()}.`;
  const startCollector = (id: string) =>
    startChild(`${namespace}${id}`, 'ingest/main.ts', {
      KAFKA_BROKERS: brokers,
      VENUES: 'binance',
      COLLECTOR_ID: id,
      VENUE_ENDPOINTS: JSON.stringify(simulator.endpoints),
      METRICS_PORT: '0',
      TOPIC_NAMESPACE: namespace,
      SPOOL_DIR: folder(t),
    });
  const [first, second] = [startCollector('c1'), startCollector('c2')];
  const isFrom = (id: string, { conn_id, seq }: Entry): boolean => seq > 0 && conn_id.startsWith(`${id}.`);
  const listFrames = (id: string, raw: readonly Entry[]): Entry[] =>
    raw.filter((entry) => entry.kind === 'frame' && isFrom(id, entry));
  // Connections of the simulator do not name their collector; of two collectors that start at once one may collect seconds before the other.
  const bothCollect = async (): Promise<boolean> => {
    const raw = await readRaw(namespace);
    return ['c1', 'c2'].every((id) => listFrames(id, raw).length > 100);
  };
  await waitFor('both collect', bothCollect, { everyMs: 500 });
  await second.kill('SIGKILL');
  const killedAt = Date.now();
  const sent = sentFrames(simulator);
  await waitFor('frames after the kill', () => sentFrames(simulator) > sent + 300);
  await first.kill('SIGTERM');
  t.equal(await first.exited, 0);

  const raw = await readRaw(namespace);
  const of = (id: string): Entry[] => raw.filter((entry) => isFrom(id, entry));
  const frames = (id: string): Entry[] => listFrames(id, raw);
  t.ok(frames('c1').length > 100 && frames('c2').length > 100, 'both wrote');
  t.ok(frames('c1').filter(({ timestampMs }) => timestampMs > killedAt).length > 100, 'the first went on');
  t.same(
    of('c1')
      .filter(({ kind }) => kind === 'lost')
      .map((lost) => readBody(lost).cause)
      .filter((cause) => cause !== 'collector_down'),
    [],
    'and lost nothing before its stop',
  );
  for (const [connId, messages] of Map.groupBy(of('c1'), ({ conn_id }) => conn_id)) {
    t.ok(
      messages.every(({ seq }, i) => seq === i + 1),
      `${connId} has no hole`,
    );
  }
  t.ok(
    of('c2').every(({ received_at }) => received_at < (killedAt + 1_000) * 1_000),
    'nothing names the connections of the dead one later: they are out three seconds after their last record',
  );
  const named = (tick: Entry): readonly string[] =>
    (JSON.parse(toText(tick)) as TickBody).connections.map(({ conn_id }) => conn_id.split('.')[0] ?? '');
  const ticks = raw.filter(({ kind }) => kind === 'tick').flatMap(named);
  t.same(new Set(ticks), new Set(['c1', 'c2']), 'each collector ticks for its own');
});
