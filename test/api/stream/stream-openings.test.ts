// Streams that come together: their order, and what else has its turn in between.
import t from 'tap';
import { createOpenings } from '../../../api/stream/openings.ts';
import { createRests } from '../../../api/stream/rests.ts';

const busyFor = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; ) Math.sqrt(end);
};

t.test(
  'one begins at once; those that come with it begin in their order, and others have their turn between',
  async (t) => {
    const openings = createOpenings();
    const seen: string[] = [];
    const done = new Promise<void>((resolve) => {
      for (const name of ['a', 'b', 'c', 'd']) {
        openings.add(() => {
          busyFor(3);
          seen.push(name);
          setImmediate(() => seen.push('other'));
          if (name === 'd') resolve();
        });
      }
    });
    t.same(seen, ['a'], 'nobody waited');
    t.equal(openings.waiting(), 3);
    await done;
    t.same(
      seen.filter((name) => name !== 'other'),
      ['a', 'b', 'c', 'd'],
    );
    // The first one begins within the turn of another.
    const between = (one: string, next: string): readonly string[] =>
      seen.slice(seen.indexOf(one) + 1, seen.indexOf(next));
    for (const [one, next] of [
      ['b', 'c'],
      ['c', 'd'],
    ] as const)
      t.ok(between(one, next).includes('other'), `others between ${one} and ${next}`);
  },
);

t.test('the process rests at least as long as an opening took', async (t) => {
  const openings = createOpenings();
  const instants: number[] = [];
  await new Promise<void>((resolve) => {
    for (let i = 0; i < 3; i++) {
      openings.add(() => {
        const began = performance.now();
        busyFor(20);
        instants.push(began, performance.now());
        if (instants.length === 6) resolve();
      });
    }
  });
  const [, end1 = 0, start2 = 0, end2 = 0, start3 = 0] = instants;
  // A timer counts whole milliseconds.
  t.ok(start2 - end1 >= 18 && start3 - end2 >= 18, instants.map(Math.round).join());
});

t.test('those that wait when it stops begin at once, and receive the end', (t) => {
  const openings = createOpenings();
  const seen: number[] = [];
  for (let i = 0; i < 3; i++) openings.add(() => seen.push(i));
  openings.stop();
  t.same([seen, openings.waiting()], [[0, 1, 2], 0]);
  t.end();
});

t.test('one that throws in its turn keeps no other from beginning', async (t) => {
  const openings = createOpenings();
  t.throws(() =>
    openings.add(() => {
      throw new Error('no');
    }),
  );
  await new Promise<void>((resolve) => openings.add(resolve));
});

t.test('a slice that asks for the next one is followed by its whole rest, at most the longest', async (t) => {
  for (const [mostMs, leastMs] of [
    [undefined, 18],
    [5, 4],
  ] as const) {
    let ended = 0;
    const restedMs = await new Promise<number>((resolve) => {
      const rests = createRests(() => resolve(performance.now() - ended), mostMs);
      rests.take(() => {
        busyFor(20);
        rests.wake();
        t.notOk(rests.isIdle(), 'nothing begins inside of it');
        ended = performance.now();
      });
    });
    t.ok(restedMs >= leastMs, `${restedMs} ms`);
  }
});
