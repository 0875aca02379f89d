// The outlet over brokers in memory and a spool on a real disk: what is under way, what waits and what comes later keep their order, each once.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createPublisher, type Publisher } from '../../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { Outlet } from '../../../ingest/outlet/outlet.ts';
import { createRawWriter } from '../../../ingest/outlet/raw-writer.ts';
import { Spool } from '../../../ingest/outlet/spool.ts';
import type { SpoolRecord } from '../../../ingest/outlet/spool-format.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { holdAttempts, openCluster } from '../../support/engines/paper-cluster.ts';
import { waitFor } from '../../support/wait.ts';

const log = createLog('outlet-order', 'silent');
/** Four of them in the publisher's queue are more than Kafka may be behind. */
const LARGE = 8.5 * 1024 * 1024;

const openOutlet = async (t: Test) => {
  const dir = mkdtempSync(join(tmpdir(), 'outlet-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const attempts = holdAttempts();
  const cluster = openCluster(attempts.fates);
  const spool = new Spool({ dir: join(dir, 'c1'), maxBytes: 1 << 30, log });
  const topics = Promise.withResolvers<void>();
  const outlet = new Outlet({ publisher: createPublisher(cluster.handle), spool, topics: topics.promise, log });
  const make = (name: string, bytes = name.length): SpoolRecord => ({
    ...{ topic: 'a', partition: 0, key: 'k' },
    value: Buffer.alloc(bytes, name.padEnd(8, '.')),
  });
  return {
    ...{ ...attempts, outlet, topics, spool, log: cluster.log },
    files: (): string[] => readdirSync(dir, { recursive: true }).map(String).sort(),
    remove: (name: string): void => rmSync(join(dir, name)),
    write: (name: string, bytes?: number): boolean => outlet.write(make(name, bytes)),
    tick: (name: string): boolean => outlet.writeNow(make(name)),
    /** Takes every attempt until the outlet is direct again, and everything is acknowledged. */
    takeAll: async (): Promise<void> => {
      const isDone = async (): Promise<boolean> => {
        await attempts.take();
        return !outlet.state().spooling && outlet.state().queuedBytes === 0;
      };
      await waitFor('Kafka has everything', isDone);
    },
    stored: (): string[] => (cluster.log.get('a/0') ?? []).map((value) => value.slice(0, 8).replaceAll('.', '')),
  };
};

t.test('before the topics exist everything is kept, ticks are left out, and nothing is sent', async (t) => {
  const { outlet, topics, write, tick, takeAll, stored } = await openOutlet(t);
  // Time for what an empty spool needs to be found empty.
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  t.same([write('one'), tick('tick'), write('two')], [false, false, false]);
  t.equal(outlet.state().spooling, true);
  t.same(stored(), []);
  topics.resolve();
  await takeAll();
  t.same([write('three'), tick('tock')], [true, true]);
  await takeAll();
  t.same(stored(), ['one', 'two', 'three', 'tock']);
  await outlet.close();
});

t.test('when Kafka falls behind, what is under way is not sent again, and no tick comes late', async (t) => {
  const { outlet, topics, write, tick, takeAll, take, underWay, stored, spool, files } = await openOutlet(t);
  topics.resolve();
  await waitFor('it is direct', () => !outlet.state().spooling);
  t.equal(tick('tick'), true);
  write('one');
  await underWay();
  write('two');
  tick('late');
  for (const name of ['large1', 'large2', 'large3']) write(name, LARGE);
  t.equal(outlet.state().spooling, false);
  t.same([write('large4', LARGE), outlet.state().spooling], [true, true], 'more than it may be behind');
  t.same([write('three'), tick('later')], [false, false]);
  t.ok(spool.bytes() > 4 * LARGE);
  t.equal(outlet.isFull(), true, 'memory holds more than the disk has taken');
  await outlet.ready();
  t.equal(outlet.isFull(), false);
  t.ok(outlet.state().queuedBytes < LARGE, 'the publisher holds what is under way, and no more');
  await take();
  t.same(stored(), ['tick', 'one']);
  write('four');
  await takeAll();
  write('five');
  await takeAll();
  t.same(stored(), ['tick', 'one', 'two', 'large1', 'large2', 'large3', 'large4', 'three', 'four', 'five']);
  t.ok(outlet.state().drained >= 6);
  await outlet.close();
  t.same(files(), [], 'nothing is left on disk');
});

t.test('a message goes to each shard that it concerns, a tick to none of them later', async (t) => {
  const { outlet, topics, takeAll, log } = await openOutlet(t);
  let skipped = 0;
  const writer = createRawWriter({ outlet, topic: 'a', meters: { tickSkipped: () => void skipped++ } });
  const message = { slot: 's', conn_id: 'c', seq: 1, received_at: 1, request: null, payload: Buffer.from('x') };
  t.equal(writer.write([0, 2], { ...message, kind: 'frame' }), false, 'on its way to the disk');
  t.equal(writer.write([0, 1, 2], { ...message, kind: 'tick' }), false);
  t.equal(skipped, 3);
  topics.resolve();
  await takeAll();
  t.equal(writer.write([2, 3], { ...message, kind: 'frame' }), true);
  t.equal(writer.write([1], { ...message, kind: 'tick' }), true);
  await takeAll();
  t.same(
    [0, 1, 2, 3].map((partition) => log.get(`a/${partition}`)?.length ?? 0),
    [1, 1, 2, 1],
  );
  t.equal(skipped, 3);
  await outlet.close();
});

t.test('what was acknowledged before the disk had it is not sent again', async (t) => {
  const { outlet, topics, write, takeAll, take, underWay, stored } = await openOutlet(t);
  topics.resolve();
  await waitFor('it is direct', () => !outlet.state().spooling);
  write('one');
  await underWay();
  write('two');
  // Turn by turn: the disk gets what memory holds after ten milliseconds.
  while (!outlet.state().spooling) await new Promise(setImmediate);
  await take();
  await takeAll();
  t.same(stored(), ['one', 'two']);
  await outlet.close();
});

t.test('a file that is gone costs nothing of the next one, of which nothing was under way', async (t) => {
  const { outlet, topics, write, takeAll, take, underWay, stored, spool, remove, files } = await openOutlet(t);
  topics.resolve();
  await waitFor('it is direct', () => !outlet.state().spooling);
  write('one');
  await underWay();
  for (const name of ['large1', 'large2', 'large3', 'large4']) write(name, LARGE);
  await waitFor('it is on disk', () => spool.pendingBytes() === 0);
  write('two');
  write('three');
  await waitFor('these too', () => spool.pendingBytes() === 0);
  const [first = ''] = files().filter((name) => name.endsWith('.spool'));
  remove(first);
  await take();
  await takeAll();
  t.same(stored(), ['one', 'two', 'three']);
  await outlet.close();
});

t.test('what waits in memory for the end of a small spool goes to disk when Kafka stops again', async (t) => {
  const { outlet, topics, write, takeAll, underWay, stored, spool } = await openOutlet(t);
  write('one');
  await waitFor('it is on disk', () => spool.pendingBytes() === 0);
  topics.resolve();
  await underWay();
  write('two');
  t.ok(spool.pendingBytes() > 0);
  await waitFor('it is on disk too', () => spool.pendingBytes() === 0);
  t.ok(outlet.state().spooling);
  await takeAll();
  t.same(stored(), ['one', 'two']);
  await outlet.close();
});

t.test('a connection ends also when the file with its last message was removed before another end', async (t) => {
  const dir = join(mkdtempSync(join(tmpdir(), 'outlet-')), 'c1');
  t.teardown(() => rmSync(join(dir, '..'), { recursive: true, force: true }));
  const open = async (segmentBytes: number): Promise<Spool> => {
    const spool = new Spool({ dir, maxBytes: 1 << 30, log, segmentBytes });
    await spool.recover();
    return spool;
  };
  const dead = await open(1);
  for (const [conn_id, partition] of [
    ['a', 0],
    ['a', 1],
    ['b', 0],
    ['c', 0],
  ] as const) {
    const message = { slot: 'book', conn_id, seq: 4, received_at: 4_000, kind: 'frame', request: null } as const;
    const value = codecs.raw.encode({ ...message, payload: Buffer.from('{}') });
    dead.append({ topic: 'raw', partition, key: 'book', value });
    await dead.sync();
  }
  await dead.close();
  const lost: string[] = [];
  const live = async (removed: number): Promise<void> => {
    const spool = await open(1);
    const sent: SpoolRecord[] = [];
    const gone = Promise.withResolvers<void>();
    const publisher = {
      ...{ publish: (record: SpoolRecord) => void sent.push(record), queuedBytes: () => 0, stalledMs: () => 0 },
      ...{ withdraw: () => ({ underWay: [], waiting: [] }), close: async () => undefined },
      abandon: async () => gone.reject(new Error('abandoned')),
      flush: async () => {
        if (sent.length > removed) await gone.promise;
      },
    };
    const outlet = new Outlet({ publisher: publisher as unknown as Publisher, spool, topics: Promise.resolve(), log });
    if (removed === 2) await waitFor('two files are removed', () => sent.length > removed);
    else await waitFor('the spool is empty', () => !outlet.state().spooling);
    for (const { partition, value } of sent) {
      const { conn_id, kind, seq } = codecs.raw.decode(value);
      if (kind === 'lost') lost.push(`${conn_id} ${seq} in ${partition}`);
    }
    await outlet.close();
  };
  await live(2);
  t.same(lost, []);
  await live(Number.POSITIVE_INFINITY);
  t.same(lost, ['a 5 in 0', 'a 5 in 1', 'b 5 in 0', 'c 5 in 0']);
  t.same(readdirSync(join(dir, '..')), [], 'nothing is left behind');
});
