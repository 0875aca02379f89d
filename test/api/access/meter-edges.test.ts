// Limits of a key where two things meet: a report and a question on their way, an outage and the end of a day's limit, midnight (AC-03, D-1173).
import t from 'tap';
import type { Limits } from '../../../api/access/held-permits.ts';
import { LIMITS, World } from './meter-world.ts';

t.test('each time the store is away a process begins at the level that the bucket had then (AC-03)', async (t) => {
  const world = new World({ ...(LIMITS[0] as Limits), requests_per_day: 1_000 });
  for (const outage of ['the first', 'the next']) {
    while ((await world.ask(0, 10)) > 0);
    world.store.mode = 'away';
    world.store.nowMs += 600;
    t.equal(await world.ask(0, 10), 0, `${outage}: the bucket was empty`);
    world.store.mode = 'up';
    world.store.nowMs += 10_000;
  }
});

/** Of which no process holds more than it needs. */
const DAY_OF_TWELVE: Limits = {
  ...{ requests_per_second: 40, burst: 80, requests_per_day: 12 },
  ...{ concurrent_requests: null, ahead: 0 },
};

t.test('what a process gives back to the day is admitted once, whichever of two answers is late (AC-03)', async (t) => {
  for (const late of ['question', 'confirmation'] as const) {
    const world = new World(DAY_OF_TWELVE);
    t.equal(await world.ask(1, 6), 6);
    t.equal(await world.ask(0, 6), 6);
    // The oldest are the other process's: they count. Of this one's six none does.
    await world.perform({ kind: 'finish', status: 200, count: 6 }, true);
    await world.perform({ kind: 'finish', status: 304, count: 6 }, true);
    world.store.nowMs += 2_000;
    t.equal(await world.askWhileSettling(0, 12, late), 6, `late: ${late}`);
    t.same([...world.findExcess()], []);
  }
});

t.test('a process whose store is away admits no more than it knows to be left of the day (AC-03)', async (t) => {
  const world = new World(DAY_OF_TWELVE);
  t.equal(await world.ask(0, 9), 9);
  world.store.mode = 'away';
  t.equal(await world.ask(0, 10), 3);
});

t.test('a key is not forgotten while a report of it is unconfirmed: the whole day passes (AC-03)', async (t) => {
  const world = new World(DAY_OF_TWELVE);
  // No midnight is near.
  world.store.nowMs += 3_600_000;
  await world.ask(0, 4);
  await world.perform({ kind: 'finish', status: 304, count: 4 }, true);
  for (const mode of ['loses', 'away'] as const) {
    world.store.mode = mode;
    await world.perform({ kind: 'settle', node: 0, idleMs: 0 }, true);
    world.store.nowMs += 60_001;
  }
  await world.perform({ kind: 'settle', node: 0, idleMs: 0 }, true);
  world.store.mode = 'up';
  world.store.nowMs += 2_001;
  let passed = await world.ask(0, 1);
  await world.perform({ kind: 'settle', node: 0, idleMs: 0 }, true);
  world.store.nowMs += 1_001;
  passed += await world.ask(0, 20);
  t.equal(passed, DAY_OF_TWELVE.requests_per_day);
});

t.test('permits that are held over midnight pass once, beside a whole bucket (AC-03)', async (t) => {
  const world = new World(LIMITS[0] as Limits);
  const putBack = () => world.perform({ kind: 'put back' }, true);
  await world.ask(1, 1);
  world.store.nowMs += 20_000;
  await putBack();
  for (const node of [0, 1]) {
    await world.ask(node, 1);
    await putBack();
  }
  world.store.nowMs += 1_000;
  let passed = await world.ask(0, 5);
  await world.perform({ kind: 'settle', node: 1, idleMs: 0 }, true);
  world.store.nowMs += 1;
  passed += await world.ask(0, 5);
  t.equal(passed, 6, 'a bucket of four, and one that each process held');
  t.same([...world.findExcess()], []);
});
