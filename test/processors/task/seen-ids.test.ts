// The ids by which repeated events are recognised: what is kept, copies, and the text of a checkpoint.
import fc from 'fast-check';
import t from 'tap';
import {
  copySeenIds,
  createSeenIds,
  forgetOldIds,
  formatSeenIds,
  hasSeenId,
  parseSeenIds,
  rememberId,
  type SeenIds,
} from '../../../processors/task/seen-ids.ts';

const MINUTE = 60_000_000;
const TEN_MINUTES = 10 * MINUTE;

const listIds = ({ chunks }: SeenIds): string[] => chunks.flatMap((chunk) => [...chunk.keys()]);
const restore = (text: string): SeenIds => parseSeenIds(JSON.parse(text));

const addIds = (seen: SeenIds, { from, count, at }: { from: number; count: number; at: number }): void => {
  for (let i = from; i < from + count; i++) rememberId(seen, `${i}`, at);
};

t.test('ids of more than ten minutes ago are forgotten, but for the last 64', (t) => {
  const seen = createSeenIds();
  addIds(seen, { from: 0, count: 5_000, at: 0 });
  addIds(seen, { from: 5_000, count: 100, at: MINUTE });
  forgetOldIds(seen, TEN_MINUTES);
  t.equal(listIds(seen).length, 5_100, 'ten minutes are kept');
  forgetOldIds(seen, TEN_MINUTES + 1);
  t.same([listIds(seen).length, listIds(seen)[0]], [100, '5000']);
  t.notOk(hasSeenId(seen, '4999'));
  forgetOldIds(seen, 3 * TEN_MINUTES);
  t.same([listIds(seen).length, listIds(seen)[0]], [64, '5036'], 'among 64 in any case');
  t.end();
});

t.test('beyond four megabytes the oldest go first', (t) => {
  const seen = createSeenIds();
  const long = 'x'.repeat(1_000);
  for (let i = 0; i < 5_000; i++) rememberId(seen, `${long}${i}`, 0);
  forgetOldIds(seen, 0);
  t.ok(seen.bytes <= 4_000_000 && seen.bytes > 3_990_000, `${seen.bytes}`);
  t.notOk(hasSeenId(seen, `${long}0`));
  t.ok(hasSeenId(seen, `${long}4999`));
  t.end();
});

type Step = readonly [kind: 'add' | 'forget' | 'copy' | 'restore', n: number];
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.tuple(fc.constantFrom('add', 'add', 'forget', 'copy', 'restore'), fc.nat(3_000)),
  { minLength: 5, maxLength: 40 },
);

t.test('they are as one map of all ids, copies stay as they were, and a text gives what it was made of', (t) => {
  const check = (plan: readonly Step[]): void => {
    let seen = createSeenIds();
    const model = new Map<string, number>();
    const copies: { copy: SeenIds; text: string }[] = [];
    let [next, now] = [0, 1_700_000_000_000_000];
    for (const [kind, n] of plan) {
      now += n * 40_000;
      if (kind === 'add') {
        addIds(seen, { from: next, count: n, at: now });
        for (let i = next; i < next + n; i++) model.set(`${i}`, now);
        next += n;
      }
      if (kind === 'forget') {
        forgetOldIds(seen, now);
        for (const [id, at] of model) {
          if (at >= now - TEN_MINUTES || model.size <= 64) break;
          model.delete(id);
        }
      }
      if (kind === 'copy') copies.push({ copy: copySeenIds(seen), text: JSON.stringify([...model]) });
      if (kind === 'restore') {
        const { bytes } = seen;
        seen = restore(formatSeenIds(seen));
        if (seen.bytes !== bytes) throw new Error(`${seen.bytes} bytes instead of ${bytes}`);
      }
    }
    const toText = (ids: SeenIds): string => JSON.stringify(ids.chunks.flatMap((chunk) => [...chunk]));
    const texts = [seen, ...copies.flatMap(({ copy }) => [copy, restore(formatSeenIds(copy))])].map(toText);
    const expected = [JSON.stringify([...model]), ...copies.flatMap(({ text }) => [text, text])];
    for (const [i, text] of texts.entries()) if (text !== expected[i]) throw new Error(`state ${i} differs`);
    for (const id of [...model.keys()].slice(0, 50)) if (!hasSeenId(seen, id)) throw new Error(`${id} is not found`);
    if (hasSeenId(seen, `${next}`)) throw new Error('an id that never came is found');
  };
  fc.assert(fc.property(steps, check), { numRuns: 60 });
  t.pass('60 random plans');
  t.end();
});

t.test('a text is one list, which versions before chunks write and read', (t) => {
  const seen = createSeenIds();
  addIds(seen, { from: 0, count: 2_047, at: 5 });
  addIds(seen, { from: 2_047, count: 2_050, at: 15 });
  addIds(seen, { from: 4_097, count: 3, at: 15 });
  addIds(seen, { from: 4_100, count: 2, at: 40 });
  t.equal(seen.chunks.length, 3);
  // The texts of chunks that change no more are kept: the second time they are read back.
  for (const text of [formatSeenIds(seen), formatSeenIds(seen)]) {
    const groups = JSON.parse(text) as [number, string[]][];
    t.same(
      groups.map(([since, ids]) => [since, ids.length]),
      [
        [5, 2_047],
        [10, 1],
        [0, 2_048],
        [0, 4],
        [25, 2],
      ],
    );
    t.same(
      groups.flatMap(([, ids]) => ids),
      listIds(seen),
    );
  }
  t.same(
    parseSeenIds([
      [5, ['a', 'b']],
      [10, ['c']],
    ]).chunks.map((chunk) => [...chunk]),
    [
      [
        ['a', 5],
        ['b', 5],
        ['c', 15],
      ],
    ],
  );
  t.same(parseSeenIds([]).chunks, []);
  t.end();
});
