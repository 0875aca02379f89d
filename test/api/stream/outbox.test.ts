// What a slow reader of a stream receives: the newest of each listing and layer, merged, with a gap (ST-06).
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import t from 'tap';
import { Outbox } from '../../../api/stream/outbox.ts';
import type { Micros } from '../../../schemas/records.ts';
import { parseFrames } from '../../support/stream-client.ts';
import { NOW } from '../live-fixture.ts';

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
