// The disk spool alone, on a real disk: order, torn ends, files of an earlier process, a full disk, a bound, one owner.
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createEndings } from '../../../ingest/outlet/endings.ts';
import { Spool, type SpoolOptions } from '../../../ingest/outlet/spool.ts';
import { decodeRecords, encodeRecord, type SpoolRecord } from '../../../ingest/outlet/spool-format.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { LostBody, RawMessage } from '../../../schemas/topics.ts';
import { noSmallDisk, smallDisk } from '../../support/engines/small-disk.ts';
import { waitFor } from '../../support/wait.ts';

const log = createLog('test', 'silent');

const folder = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'spool-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

const record = (n: number, bytes = 20): SpoolRecord => ({
  topic: 'raw.paper',
  partition: n % 3,
  key: `slot.${n % 5}`,
  value: Buffer.from(String(n).padEnd(bytes, '.')),
});
const toNumber = ({ value }: SpoolRecord): number => Number.parseInt(value.toString(), 10);
const upTo = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

const openSpool = async (dir: string, options: Partial<SpoolOptions> = {}): Promise<Spool> => {
  const spool = new Spool({ dir, maxBytes: 1 << 30, log, ...options });
  await spool.recover();
  return spool;
};

/** Everything the spool gives back, its files first, then what is in memory. */
const empty = async (spool: Spool): Promise<number[]> => {
  const numbers: number[] = [];
  for (let segment = await spool.next(); segment !== null; segment = await spool.next()) {
    numbers.push(...(await spool.read(segment)).map(toNumber));
    await spool.drop(segment);
  }
  return [...numbers, ...spool.takePending().map(toNumber)];
};

t.test('a record is read as it was written, and a cut or changed byte ends the reading before it', (t) => {
  const records = fc.array(
    fc.record({
      topic: fc.string({ maxLength: 20 }),
      partition: fc.nat(100),
      key: fc.string({ maxLength: 20 }),
      value: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(records, fc.nat(), fc.nat(), (given, cut, flip) => {
      const pieces = given.map((one) => Buffer.concat(encodeRecord(one)));
      const bytes = Buffer.concat(pieces);
      const whole = decodeRecords(bytes);
      if (whole.wholeBytes !== bytes.length) return false;
      if (JSON.stringify(whole.records) !== JSON.stringify(given)) return false;
      const at = cut % bytes.length;
      const torn = decodeRecords(bytes.subarray(0, at));
      const ends = pieces.map((_, i) => Buffer.concat(pieces.slice(0, i + 1)).length);
      const fits = (end: number): number => ends.filter((one) => one <= end).length;
      if (torn.records.length !== fits(at)) return false;
      const broken = Buffer.from(bytes);
      const spot = flip % bytes.length;
      broken[spot] = (broken[spot] ?? 0) ^ 0x5a;
      return decodeRecords(broken).records.length === fits(spot);
    }),
    { numRuns: 300 },
  );
  t.same(decodeRecords(Buffer.alloc(64)), { records: [], wholeBytes: 0 }, 'zeros are no records');
  t.end();
});

t.test('what is appended returns in order, over files and memory, and nothing is left', async (t) => {
  const dir = join(folder(t), 'c1');
  const spool = await openSpool(dir, { segmentBytes: 4_000 });
  t.notOk(existsSync(dir), 'an unused spool makes no folder');
  for (const n of upTo(0, 1_000)) spool.append(record(n));
  await waitFor('all is on disk', () => spool.pendingBytes() === 0);
  t.ok(spool.bytes() > 50_000);
  for (const n of upTo(1_000, 1_300)) spool.append(record(n));
  t.same(await empty(spool), upTo(0, 1_300));
  t.equal(spool.bytes(), 0);
  t.equal(spool.ageMs(), 0);
  await spool.close();
  t.notOk(existsSync(dir), 'an empty spool leaves nothing behind');
});

t.test('records that come while it is emptied are not lost and not turned around', async (t) => {
  const spool = await openSpool(folder(t), { segmentBytes: 2_000 });
  let n = 0;
  const append = (count: number): void => {
    for (let i = 0; i < count; i += 1) spool.append(record(n++));
  };
  append(200);
  const got: number[] = [];
  let files = 0;
  for (let segment = await spool.next(); segment !== null; segment = await spool.next()) {
    files += 1;
    if (files < 50) append(7);
    got.push(...(await spool.read(segment)).map(toNumber));
    await spool.drop(segment);
  }
  append(3);
  got.push(...spool.takePending().map(toNumber));
  t.same(got, upTo(0, n));
  await spool.close();
});

t.test('after a kill the next process finds what was confirmed; a torn end is left out', async (t) => {
  const dir = join(folder(t), 'c1');
  // A separate process that reports what it has on disk, and is killed while it writes.
  const script = `
    import { Spool } from ${JSON.stringify(join(import.meta.dirname, '../../../ingest/outlet/spool.ts'))};
    const log = { warn() {}, error() {}, info() {} };
    const spool = new Spool({ dir: ${JSON.stringify(dir)}, maxBytes: 1e9, log, segmentBytes: 20_000 });
    let n = 0;
    setInterval(() => {
      for (let i = 0; i < 20; i += 1) spool.append({ topic: 'raw.paper', partition: 0, key: 'k', value: Buffer.from(String(n++)) });
    }, 1);
    setInterval(() => console.log(spool.counts().writtenBytes), 5);
  `;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let confirmed = 0;
  child.stdout.on('data', (text: Buffer) => {
    confirmed = Number(text.toString().trim().split('\n').at(-1));
  });
  await waitFor('some files are written', () => confirmed > 100_000);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));

  const last = join(
    dir,
    readdirSync(dir)
      .filter((name) => name.endsWith('.spool'))
      .sort()
      .at(-1) ?? '',
  );
  appendFileSync(last, Buffer.concat(encodeRecord(record(1))).subarray(0, 25));
  const spool = await openSpool(dir);
  const bytes = spool.bytes();
  const got = await empty(spool);
  t.same(got, upTo(0, got.length), 'in order, without a hole');
  t.ok(bytes >= confirmed, `${bytes} of at least ${confirmed} bytes`);
  t.equal(spool.counts().droppedBytes >= 25, true);
  await spool.close();
});

t.test('a file that was cut in the middle, or is gone, costs its own records only', async (t) => {
  const dir = folder(t);
  const first = await openSpool(dir, { segmentBytes: 1_000 });
  for (const n of upTo(0, 90)) {
    first.append(record(n));
    if (n % 30 === 29) await first.sync();
  }
  await first.close();
  const [one = '', two = '', three = ''] = readdirSync(dir).sort();
  t.match([one, two, three], [/^0+1\.spool$/, /^0+2\.spool$/, /^0+3\.spool$/]);
  truncateSync(join(dir, one), readFileSync(join(dir, one)).length - 1);
  const second = await openSpool(dir);
  rmSync(join(dir, two));
  second.append(record(90));
  t.same(await empty(second), [...upTo(0, 29), ...upTo(60, 91)]);
  t.ok(second.counts().droppedBytes > 1_000, 'what is missing is counted');
  await second.close();
});

t.test('a process continues behind the files of a dead one, which are as old as they were', async (t) => {
  const dir = folder(t);
  for (const n of [1, 2]) writeFileSync(join(dir, `00000000000${n}.spool`), Buffer.concat(encodeRecord(record(n))));
  utimesSync(join(dir, '000000000001.spool'), 1_000_000, 1_000_000);
  const spool = await openSpool(dir);
  spool.append(record(3));
  t.equal(await spool.sync(), true, 'what comes now is on disk');
  t.ok(spool.ageMs() > Date.now() - 1_000_000_001);
  const found: [number[], boolean][] = [];
  for (let segment = await spool.next(); segment !== null; segment = await spool.next()) {
    found.push([(await spool.read(segment)).map(toNumber), spool.isLastRecovered(segment)]);
    await spool.drop(segment);
  }
  t.same(
    found,
    [
      [[1], false],
      [[2], true],
      [[3], false],
    ],
    'the newest file of the dead one is its end',
  );
  await spool.close();
});

t.test('what comes while it writes is written too, and what memory held goes to disk the next time', async (t) => {
  const spool = await openSpool(folder(t));
  spool.append(record(0));
  const synced = spool.sync();
  // The first is being written.
  await null;
  await null;
  spool.append(record(1));
  t.equal(await synced, true);
  t.equal(spool.pendingBytes(), 0);
  t.same(await empty(spool), [0, 1]);
  spool.append(record(2));
  t.equal(await spool.next(), null);
  t.same(spool.takePending().map(toNumber), [2], 'the brokers have it: no file for a moment without them');
  spool.append(record(3));
  await waitFor('the next one is on disk', () => spool.pendingBytes() === 0);
  t.same(await empty(spool), [3]);
  await spool.close();
});

t.test('a folder that cannot be written: the order stays, and it takes again afterwards', async (t) => {
  const dir = join(folder(t), 'c1');
  writeFileSync(dir, 'in the way');
  const spool = await openSpool(dir, { retryMs: 5, segmentBytes: 1_000 });
  for (const n of [0, 2, 4]) {
    spool.append(record(n));
    const synced = spool.sync();
    await null;
    await null;
    spool.append(record(n + 1));
    t.equal(await synced, false);
  }
  t.match(spool.refusal(), /cannot be written: EEXIST/);
  rmSync(dir);
  for (const n of upTo(6, 10)) spool.append(record(n));
  await waitFor('it is on disk', () => spool.pendingBytes() === 0);
  await waitFor('it takes again', () => spool.refusal() === null);
  t.same(await empty(spool), upTo(0, 10));
  await spool.close();
});

t.test('what a disk never took is given to the brokers, and the disk is asked again', async (t) => {
  const dir = join(folder(t), 'c1');
  writeFileSync(dir, 'in the way');
  const spool = await openSpool(dir, { retryMs: 5, segmentBytes: 1_000 });
  spool.append(record(0));
  t.equal(await spool.sync(), false);
  t.same(await empty(spool), [0]);
  rmSync(dir);
  mkdirSync(dir);
  await waitFor('it takes again', () => spool.refusal() === null);
  await spool.close();
});

t.test('above its bound it refuses, and takes again when a quarter is free', async (t) => {
  const spool = await openSpool(folder(t), { maxBytes: 20_000, segmentBytes: 2_000, retryMs: 20 });
  t.equal(spool.refusal(), null);
  for (const n of upTo(0, 400)) {
    spool.append(record(n));
    if (n % 40 === 0) await spool.sync();
  }
  t.match(spool.refusal(), /the spool is full: 20000 bytes/);
  spool.append(record(400));
  t.equal(await spool.sync(), true, 'the ends of connections are kept all the same');
  const got: number[] = [];
  while (spool.bytes() > 16_000) {
    const segment = await spool.next();
    if (segment === null) break;
    got.push(...(await spool.read(segment)).map(toNumber));
    await spool.drop(segment);
  }
  t.match(spool.refusal(), /full/, 'not at the first free byte');
  const segment = await spool.next();
  if (segment) {
    got.push(...(await spool.read(segment)).map(toNumber));
    await spool.drop(segment);
  }
  await waitFor('there is room', () => spool.refusal() === null);
  t.same([...got, ...(await empty(spool))], upTo(0, 401));
  await spool.close();
});

t.test(
  'on a full disk nothing that was kept is lost, and it continues when there is room',
  { skip: noSmallDisk },
  async (t) => {
    const disk = smallDisk(t, '512k') ?? '';
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(300_000));
    const spool = await openSpool(join(disk, 'c1'), { segmentBytes: 16_000, retryMs: 20 });
    let n = 0;
    while (spool.refusal() === null && n < 10_000) {
      for (let i = 0; i < 20; i += 1) spool.append(record(n++, 400));
      await spool.sync();
    }
    t.match(spool.refusal(), /cannot be written: ENOSPC/);
    t.ok(spool.bytes() > 100_000);
    spool.append(record(n++));
    t.equal(await spool.sync(), false, 'what comes now is in memory');
    t.ok(spool.pendingBytes() > 0);
    rmSync(ballast);
    await waitFor('it takes again', () => spool.refusal() === null);
    await waitFor('what waited is on disk', () => spool.pendingBytes() === 0);
    await spool.close();
    const next = await openSpool(join(disk, 'c1'));
    t.same(await empty(next), upTo(0, n), 'a process after it finds everything, once');
    await next.close();
  },
);

t.test(
  'with a full disk and the brokers back, what is in memory follows what is on disk',
  { skip: noSmallDisk },
  async (t) => {
    const disk = smallDisk(t, '256k') ?? '';
    const spool = await openSpool(join(disk, 'c1'), { segmentBytes: 16_000, retryMs: 20 });
    let n = 0;
    while (spool.refusal() === null && n < 10_000) {
      for (let i = 0; i < 20; i += 1) spool.append(record(n++, 400));
      await spool.sync();
    }
    for (let i = 0; i < 50; i += 1) spool.append(record(n++));
    t.same(await empty(spool), upTo(0, n));
    await spool.close();
  },
);

t.test('a folder has one living owner, and a dead one does not count', async (t) => {
  const dir = folder(t);
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const { pid = 0 } = child;
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : '';
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  writeFileSync(join(dir, 'owner'), `${pid} ${start}`);
  writeFileSync(join(dir, '000000000007.spool'), Buffer.concat(encodeRecord(record(7))));
  await t.rejects(openSpool(dir), new RegExp(`belongs to process ${pid}: .*its own COLLECTOR_ID`));
  if (start !== '') {
    const reused = join(folder(t), 'c1');
    mkdirSync(reused);
    writeFileSync(join(reused, 'owner'), `${pid} ${Number(start) - 1}`);
    writeFileSync(join(reused, '000000000001.spool'), Buffer.concat(encodeRecord(record(1))));
    const spool = await openSpool(reused);
    t.same(await empty(spool), [1], 'another process has the number of the dead one');
    await spool.close();
  }
  child.kill();
  await new Promise((resolve) => child.once('exit', resolve));
  const spool = await openSpool(dir);
  spool.append(record(8));
  t.same(await empty(spool), [7, 8]);
  await spool.close();
});

t.test('a stranger is never run into: files that are not of the spool stay', async (t) => {
  const dir = folder(t);
  mkdirSync(join(dir, 'other'));
  writeFileSync(join(dir, 'notes.txt'), 'mine');
  const spool = await openSpool(dir);
  spool.append(record(0));
  t.same(await empty(spool), [0]);
  await spool.close();
  t.same(readdirSync(dir).sort(), ['notes.txt', 'other']);
});

t.test('connections that a dead collector left open end at their last message', (t) => {
  const endings = createEndings();
  const message = (given: Partial<RawMessage>): RawMessage => ({
    slot: 'book.0',
    conn_id: 'a',
    seq: 1,
    received_at: 1_000,
    kind: 'frame',
    request: null,
    payload: Buffer.from('x'),
    ...given,
  });
  const note = (partition: number, given: Partial<RawMessage>): void =>
    endings.note({
      topic: 'raw.paper',
      partition,
      key: given.slot ?? 'book.0',
      value: codecs.raw.encode(message(given)),
    });
  note(0, { seq: 4, received_at: 4_000 });
  note(1, { seq: 4, received_at: 4_000 });
  note(0, { seq: 5, received_at: 5_000 });
  note(0, { conn_id: 'b', seq: 1 });
  note(0, { conn_id: 'b', seq: 2, kind: 'lost' });
  note(0, { conn_id: 'c1', slot: 'collector', seq: 0, kind: 'capability' });
  endings.note({ topic: 'raw.paper', partition: 0, key: 'k', value: Buffer.from('no message') });
  const lost = endings.take();
  t.same(
    lost.map(({ partition, key }) => [partition, key]),
    [
      [0, 'book.0'],
      [1, 'book.0'],
    ],
    'in each shard it wrote to',
  );
  for (const { value } of lost) {
    const { payload, ...rest } = codecs.raw.decode(value);
    t.match(rest, { conn_id: 'a', seq: 6, received_at: 5_000, kind: 'lost', slot: 'book.0' });
    t.match(JSON.parse(Buffer.from(payload).toString()) as LostBody, { lost_at: 5_000, cause: 'collector_down' });
  }
  t.same(endings.take(), [], 'once');
  t.end();
});
