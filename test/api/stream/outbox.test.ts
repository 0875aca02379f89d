// What a slow reader of a stream receives: the newest of each listing and layer, merged, with a gap (ST-06).
import { PassThrough, Writable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { type Merged, Outbox } from '../../../api/stream/outbox.ts';
import type { Micros } from '../../../schemas/records.ts';
import { NOW } from '../../support/apps/live-fixture.ts';
import { parseFrames } from '../../support/services/stream-client.ts';

t.test('a slow reader gets the newest of each listing and layer with a gap, and is let go past 16 MiB', async (t) => {
  let now = NOW;
  const gaps: { from: Micros; to: Micros; dropped: number }[] = [];
  const make = (onOverflow: () => void) => {
    const out = new PassThrough({ highWaterMark: 1_024 });
    const gapData = (gap: { from: Micros; to: Micros; dropped: number }): string => {
      gaps.push(gap);
      return `{"dropped":${gap.dropped}}`;
    };
    return { out, box: new Outbox({ out, nowMicros: () => now, gapData, onOverflow }, 'a.0') };
  };
  const frame = (id: number, key: string, change = 'value', size = 10) => ({
    id: `a.${id}`,
    event: 'update',
    data: `{"n":${id},"change":"${change}","pad":"${'x'.repeat(size)}"}`,
    key,
  });
  const { out, box } = make(() => t.fail('not that slow'));
  box.send([frame(0, 'a', 'value', 2_000)]);
  for (let id = 1; id <= 6; id++) box.send([frame(id, id % 2 === 0 ? 'b' : 'c', id > 4 ? 'status' : 'value')]);
  now += 5_000_001;
  box.merge();
  const text = () => {
    let read = '';
    for (let chunk = out.read(); chunk !== null; chunk = out.read()) read += String(chunk);
    return read;
  };
  let read = '';
  for (let i = 0; i < 20 && !read.includes('"n":6'); i++) {
    read += text();
    await new Promise((resume) => setImmediate(resume));
  }
  t.same(
    [...read.matchAll(/id: (\S+)\nevent: (\w+)/g)].map((m) => `${m[2]} ${m[1]}`),
    ['update a.0', 'gap a.0', 'update a.5', 'update a.6'],
  );
  t.same(
    gaps.map((g) => g.dropped),
    [4],
  );
  t.match(read, '"n":5,"change":"both"', 'a merged status change covers the values too');

  let isOver = false;
  const stuck = make(() => {
    isOver = true;
  });
  let sent = 0;
  for (; !isOver && sent < 400; sent++) stuck.box.send([frame(sent, `k${sent}`, 'value', 65_536)]);
  t.ok(isOver);
  t.ok(sent >= 250 && sent <= 260, `given up after ${sent} frames of 64 KiB`);
  for (let i = 0; i < 400; i++) box.send([frame(i, 'k', 'value', 65_536)]);
  t.ok(box.waitingBytes < 5 * 1_048_576, 'one key is bounded however long it is not read');
  stuck.box.end(frame(sent, 'bye'), { drop: true });
  t.ok(stuck.box.waitingBytes < 200_000, 'what waited is given up');
});

t.test('an update has every kind of change of those that were merged into it (ST-03, ST-06)', async (t) => {
  const merged = async (changes: readonly string[]): Promise<unknown[]> => {
    let now = NOW;
    const out = new PassThrough({ highWaterMark: 1 });
    const gapData = ({ dropped }: { dropped: number }): string => `{"dropped":${dropped}}`;
    const box = new Outbox({ out, nowMicros: () => now, gapData, onOverflow: () => t.fail('not that slow') }, 'a.0');
    const frame = (event: string, data: string, key: string | null = null) => ({ id: 'a.1', event, data, key });
    box.send([frame('hello', '{}')]);
    box.send(changes.map((change, n) => frame('update', `{"n":${n},"change":"${change}"}`, 'k')));
    now += 5_000_001;
    box.merge();
    box.end(frame('bye', '{}'), { drop: false });
    return parseFrames(await readText(out)).map(({ event, data }) => [event, data]);
  };
  for (const [expected, ...changes] of [
    ['both', 'status', 'value'],
    ['both', 'value', 'status'],
    ['both', 'both', 'value'],
    ['both', 'both', 'status'],
    ['both', 'status', 'status', 'value', 'value'],
    ['value', 'value', 'value'],
    ['status', 'status', 'status'],
    ['both', 'both', 'both'],
  ]) {
    const dropped = changes.length - 1;
    t.same(
      await merged(changes),
      [
        ['hello', {}],
        ['gap', { dropped }],
        ['update', { n: dropped, change: expected }],
        ['bye', {}],
      ],
      changes.join(' then '),
    );
  }
});

/** A socket that takes one write at a time, and the next one when it is told to. */
const openSocket = () => {
  let written = '';
  let take: (() => void) | null = null;
  const out = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, taken) {
      written += String(chunk);
      take = taken;
    },
  });
  const takeOne = async (): Promise<void> => {
    const taken = take;
    take = null;
    taken?.();
    await new Promise((resume) => setImmediate(resume));
  };
  const drain = async (): Promise<void> => {
    while (take !== null) await takeOne();
  };
  return { out, takeOne, drain, read: () => parseFrames(written).map(({ event, id }) => `${event} ${id}`) };
};

/** An outbox over such a socket, with a clock in seconds. */
const openOutbox = (t: Test) => {
  const clock = { seconds: 0 };
  const gaps: Merged[] = [];
  const socket = openSocket();
  const gapData = (merged: Merged): string => {
    gaps.push(merged);
    return '{}';
  };
  const deps = { out: socket.out, nowMicros: () => NOW + clock.seconds * 1_000_000, gapData };
  const box = new Outbox({ ...deps, onOverflow: () => t.fail('not that slow') }, 'first');
  const send = (id: string, length = 0): void => {
    box.send([{ id, event: 'update', data: '{"change":"value"}'.padEnd(length), key: 'k' }]);
  };
  const end = (drop: boolean): void => box.end({ id: 'last', event: 'bye', data: '{}', key: null }, { drop });
  return { ...socket, clock, gaps, box, send, end };
};

t.test('only while a reader is slow are its updates merged, with a gap of their span (ST-06)', async (t) => {
  const { box, clock, gaps, send, read, drain } = openOutbox(t);
  box.merge();
  for (const id of ['1', '2', '3']) send(id);
  await drain();
  t.same(read(), ['update 1', 'update 2', 'update 3'], 'a look at the clock while nothing waits makes no reader slow');
  for (const id of ['4', '5', '6', '7']) {
    send(id);
    clock.seconds += 1;
  }
  const waiting = box.waitingBytes;
  clock.seconds = 6;
  box.merge();
  t.equal(box.waitingBytes, waiting, 'what has waited for five seconds is not too old');
  clock.seconds = 6.000_001;
  box.merge();
  await drain();
  t.same(read().slice(3), ['update 4', 'gap 4', 'update 7']);
  t.same(gaps, [{ from: NOW + 1_000_000, to: NOW + 2_000_000, dropped: 2 }]);
  for (const id of ['8', '9', '10']) send(id);
  await drain();
  t.same(read().slice(6), ['update 8', 'update 9', 'update 10'], 'it has caught up');
  for (const [id, ...large] of [
    ['11', '12', '13', '14', '15'],
    ['16', '17', '18', '19', '20', '21'],
  ]) {
    send(id as string);
    for (const one of large) send(one, 1_048_576);
    await drain();
  }
  const whole = ['11', '12', '13', '14', '15', '16'].map((id) => `update ${id}`);
  t.same(read().slice(9), [...whole, 'gap 16', 'update 21'], 'four MiB may wait, and no more');
});

t.test('a slow reader gets every event but the updates that others replace (ST-06)', async (t) => {
  const { box, clock, gaps, send, read, drain } = openOutbox(t);
  const sendWhole = (event: string, id: string): void => box.send([{ id, event, data: '{}', key: null }]);
  for (const id of ['1', '2']) send(id);
  sendWhole('listing', '3');
  sendWhole('event', '4');
  clock.seconds = 6;
  box.merge();
  sendWhole('event', '5');
  send('6');
  await drain();
  t.same(read(), ['update 1', 'gap 1', 'listing 3', 'event 4', 'event 5', 'update 6']);
  t.match(gaps, [{ dropped: 1 }]);
});

t.test('a client that is given up may resume after the last frame its socket was given', async (t) => {
  const written = openOutbox(t);
  for (const id of ['1', '2']) written.send(id);
  written.end(true);
  await written.drain();
  t.same(written.read(), ['update 1', 'bye 1'], 'what waited is not sent');
  const waited = openOutbox(t);
  for (const id of ['1', '2', '3']) waited.send(id);
  await waited.takeOne();
  waited.send('4');
  waited.end(true);
  await waited.drain();
  t.same(waited.read(), ['update 1', 'update 2', 'update 3', 'bye 3'], 'also when that had waited');
  const kept = openOutbox(t);
  for (const id of ['1', '2']) kept.send(id);
  kept.end(false);
  kept.send('3');
  await kept.drain();
  t.same(kept.read(), ['update 1', 'update 2', 'bye last'], 'nothing follows the end');
});

t.test('a replay goes on when nothing waits, neither here nor for the socket, and is told once', async (t) => {
  const { box, send, drain } = openOutbox(t);
  let taken = 0;
  const onTaken = (): void => void taken++;
  box.whenTaken(onTaken);
  t.equal(taken, 1, 'nothing waits');
  send('1');
  box.whenTaken(onTaken);
  t.equal(taken, 1, 'the socket has not taken it');
  send('2');
  await drain();
  t.equal(taken, 2);
  send('3');
  await drain();
  t.equal(taken, 2);
});

t.test('what waits counts in the bytes that are sent, also of letters that have several (ST-06)', async (t) => {
  let overflows = 0;
  const clock = { seconds: 0 };
  const { out } = openSocket();
  const deps = { out, nowMicros: () => NOW + clock.seconds * 1_000_000, gapData: () => '{}' };
  const box = new Outbox({ ...deps, onOverflow: () => void overflows++ }, 'first');
  const send = (key: string): void => {
    box.send([{ id: key, event: 'update', data: `{"change":"value","pad":"${'币'.repeat(1_048_576)}"}`, key }]);
  };
  send('taken');
  const taken = box.waitingBytes;
  for (let i = 0; i < 5; i++) send(`k${i}`);
  t.equal(Math.floor((box.waitingBytes - taken) / 1_048_576), 15);
  t.equal(overflows, 0);
  send('k5');
  t.equal(overflows, 1);
});
