// The ring that streams resume from, compared with a list of all entries (ST-05).
import t from 'tap';
import { ByteLog } from '../../../api/live/byte-log.ts';
import { decodeAbove, type LiveMessage } from '../../../api/live/live-message.ts';
import { type Applied, Ring } from '../../../api/stream/ring.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { isAbove, type LiveEntry, makeLiveEntry, type Place, type TaskId } from '../../../schemas/topics.ts';
import { markReading, NOW } from '../../support/apps/live-fixture.ts';

const KEPT = 300_000_000;
const TASKS: readonly TaskId[] = ['binance/0', 'binance/1', 'okx/0'];
const LONGER_THAN_A_CHUNK = 'x'.repeat(1_100_000);

type Pushed = {
  readonly task: string;
  readonly place: Place;
  readonly at: number;
  readonly track: string | null;
  readonly mark: string | null;
  readonly replaced: string | null;
};

/** A ring and everything that was pushed into it. */
class Bench {
  ring: Ring;
  readonly pushed: Pushed[] = [];
  readonly #most: number;
  readonly #newest = new Map<string, LiveMessage>();
  readonly #offsets = new Map<string, number>();
  now = NOW;

  constructor(most: number) {
    this.#most = most;
    this.ring = new Ring(most);
    for (const task of TASKS) this.ring.begin(task, { offset: 0, index: -1 });
  }

  push(task: TaskId, symbol: string | null, raw: string | null = null): void {
    const offset = (this.#offsets.get(task) ?? 0) + 1;
    this.#offsets.set(task, offset);
    const mark = symbol === null ? null : String(this.pushed.length + 1);
    const body: Pick<LiveEntry, 'kind'> & Partial<LiveEntry> =
      mark === null ? { kind: 'connection' } : { kind: 'reading', symbol, reading: markReading(mark, { raw }) };
    const bytes = codecs.live.encode(makeLiveEntry({ offset, index: 0, recorded_at: this.now, ...body }));
    const message = decodeAbove({ offset: -1, index: 0 }, bytes) as LiveMessage;
    const venue = task.split('/')[0] ?? '';
    const track = symbol === null ? null : `${venue}|${symbol}|mark`;
    const before = track === null ? undefined : this.#newest.get(track);
    // A round of `state` brings readings without their message.
    const replaced = before !== undefined && this.pushed.length % 7 === 0 ? { reading: before.reading } : before;
    if (track !== null) this.#newest.set(track, message);
    const last = offset === 1 ? { offset: 0, index: -1 } : { offset: offset - 1, index: 0 };
    const applied: Applied = { venue, task, message, before: last, replaced: replaced ?? null };
    this.ring.push(applied, this.now);
    const known = String(before?.reading?.values.mark ?? '') || null;
    this.pushed.push({ task, place: { offset, index: 0 }, at: this.now, track, mark, replaced: known });
  }

  /** From here on another ring is pushed into, which began to follow some tasks now and others with their next entry. */
  beginAnew(): () => void {
    const past = this.ring;
    const since = new Ring(this.#most);
    for (const task of TASKS.slice(1)) since.begin(task, { offset: this.#offsets.get(task) ?? 0, index: 0 });
    this.ring = since;
    return () => since.join(past);
  }

  held(): Pushed[] {
    const newest = this.pushed.slice(-this.#most);
    return newest.slice(newest.findIndex(({ at }) => at >= this.now - KEPT));
  }

  after(places: ReadonlyMap<string, Place>): unknown[] {
    return [...this.ring.after(places)].map((held) => [
      held.task,
      held.venue,
      { offset: held.offset, index: held.index },
      held.kind,
      held.track,
      held.entry().reading?.values.mark ?? null,
      held.replaced()?.values.mark ?? null,
    ]);
  }

  wanted(places: ReadonlyMap<string, Place>): unknown[] {
    return this.held().flatMap(({ task, place, track, mark, replaced }) => {
      const sentPlace = places.get(task);
      if (sentPlace === undefined || !isAbove(place, sentPlace)) return [];
      return [[task, task.split('/')[0], place, mark === null ? 'connection' : 'reading', track, mark, replaced]];
    });
  }

  /** Whether everything after the places is held. */
  covers(places: ReadonlyMap<string, Place>): boolean {
    const held = new Set(this.held());
    return this.pushed.every((one) => {
      const sentPlace = places.get(one.task);
      return sentPlace === undefined || held.has(one) || !isAbove(one.place, sentPlace);
    });
  }
}

t.test('gives what came after any place, with what each reading replaced', (t) => {
  const { below: random } = createRandom(20_261_122);
  const bench = new Bench(60);
  let [covered, uncovered] = [0, 0];
  for (let step = 0; step < 3_000; step++) {
    const task = TASKS[random(TASKS.length)] ?? 'binance/0';
    // Few of many: tracks come every few entries, once in a ring, and after all of theirs has been dropped.
    const symbol = random(9) === 0 ? null : `S${random(random(3) === 0 ? 400 : 4)}`;
    bench.push(task, symbol, random(300) === 0 ? LONGER_THAN_A_CHUNK : null);
    bench.now += random(200) === 0 ? KEPT - 40_000_000 : random(6_000_000);
    if (step % 11 !== 0) continue;
    bench.push('okx/0', 'S0');
    const places = new Map(
      TASKS.filter(() => random(4) > 0).map((name) => {
        const ofTask = bench.pushed.filter(({ task: of }) => of === name);
        const back = Math.max(0, ofTask.length - 1 - random(40));
        return [name, ofTask[back]?.place ?? { offset: 0, index: -1 }];
      }),
    );
    if (bench.ring.covers(places)) covered++;
    else uncovered++;
    if (bench.ring.covers(places) !== bench.covers(places)) t.fail(`step ${step}: covers`);
    if (JSON.stringify(bench.after(places)) !== JSON.stringify(bench.wanted(places))) {
      t.same(bench.after(places), bench.wanted(places), `step ${step}`);
      break;
    }
    if (bench.ring.from(bench.now) !== bench.held()[0]?.at) t.fail(`step ${step}: from`);
  }
  t.ok(covered > 50 && uncovered > 50, `both were met: ${covered} covered, ${uncovered} not`);
  t.notOk(bench.ring.covers(new Map([['okx/7', { offset: 0, index: 0 }]])), 'a task it does not follow');
  t.equal(new Ring(1).from(NOW), NOW, 'nothing held: from now on');
  t.end();
});

t.test(
  'joined by a ring of what came before, wherever one ended and the other began, it is as one that held everything',
  (t) => {
    const { below: random } = createRandom(20_261_123);
    let covered = 0;
    for (let round = 0; round < 40; round++) {
      const bench = new Bench(60);
      let join: (() => void) | null = null;
      const [cut, joined] = [random(90), 90 + random(50)];
      for (let step = 0; step < 260; step++) {
        if (step === cut) join = bench.beginAnew();
        if (step === joined) join?.();
        bench.push(
          TASKS[random(TASKS.length)] ?? 'binance/0',
          random(9) === 0 ? null : `S${random(random(3) === 0 ? 400 : 4)}`,
        );
        bench.now += random(100) === 0 ? KEPT - 40_000_000 : random(9_000_000);
        if (step < joined) continue;
        bench.push('okx/0', 'S0');
        const places = new Map(
          TASKS.map((name) => {
            const ofTask = bench.pushed.filter(({ task }) => task === name);
            return [name, ofTask[Math.max(0, ofTask.length - 1 - random(40))]?.place ?? { offset: 0, index: -1 }];
          }),
        );
        if (bench.ring.covers(places)) covered++;
        if (bench.ring.covers(places) !== bench.covers(places)) t.fail(`round ${round}, step ${step}: covers`);
        if (JSON.stringify(bench.after(places)) !== JSON.stringify(bench.wanted(places))) {
          t.same(bench.after(places), bench.wanted(places), `round ${round}, step ${step}`);
          return t.end();
        }
        if (bench.ring.from(bench.now) !== bench.held()[0]?.at) t.fail(`round ${round}, step ${step}: from`);
      }
    }
    t.ok(covered > 200, `${covered} covered`);
    t.end();
  },
);

t.test('its memory follows what it holds, and entries are found whatever their number', (t) => {
  const before = process.memoryUsage().arrayBuffers;
  const bench = new Bench(1_048_576);
  bench.push('okx/0', 'S0');
  t.ok(process.memoryUsage().arrayBuffers - before < 8_000_000, 'one entry does not take the memory of a million');
  const places = new Map(TASKS.map((name): [string, Place] => [name, { offset: 0, index: -1 }]));
  // The oldest held entry is in one block of numbers, the newest in the next: where each block ends.
  const crossing = new Bench(40);
  let compared = 0;
  for (let step = 0; step < 33_000; step++) {
    crossing.push('binance/0', step % 3 === 0 ? null : `S${step % 5}`);
    if (step % 16_384 > 60 && step % 16_384 < 16_370) continue;
    const after = new Map([...places, ['binance/0', { offset: Math.max(0, step - 30), index: 0 }]]);
    compared++;
    if (JSON.stringify(crossing.after(after)) !== JSON.stringify(crossing.wanted(after)))
      t.same(crossing.after(after), crossing.wanted(after), `step ${step}`);
    if (crossing.ring.from(crossing.now) !== crossing.held()[0]?.at) t.fail(`step ${step}: from`);
  }
  t.ok(compared > 150, `${compared} compared`);
  t.end();
});

t.test('bytes are held until they are freed', (t) => {
  const log = new ByteLog();
  const half = Buffer.alloc(600_000, 1);
  const [first, second, third] = [half, half, half].map((bytes) => log.append(bytes));
  if (!first || !second || !third) throw new Error('three were appended');
  t.same([first.chunk, second.chunk, third.chunk], [0, 1, 2], 'none is cut in two');
  const small = log.append(Buffer.from('abc'));
  t.equal(small.chunk, 2);
  log.free(second);
  t.equal(log.at(first).at(-1), 1, 'the one before is held still');
  log.free(first);
  for (const freed of [first, second]) t.throws(() => log.at(freed), /is not held/);
  t.equal(log.at(small).toString(), 'abc');
  const long = log.append(Buffer.alloc(3_000_000, 7));
  t.equal(log.at(long).at(-1), 7, 'longer than a chunk');
  for (const place of [third, small, long]) log.free(place);
  const last = log.append(Buffer.from('def'));
  t.equal(last.chunk, 4, 'a chunk of its own is not filled up');
  t.equal(log.at(last).toString(), 'def');
  t.end();
});
