// Random requests of one key to two processes whose store fails, loses answers, has reports overtake questions, and lives through midnights: never more
// than the plan admits, by second and by day, every counted request is counted once, and nothing is refused that there is room for (AC-02, AC-03).
import fc from 'fast-check';
import t from 'tap';
import type { Limits } from '../../../api/access/held-permits.ts';
import { DAY_MS, LIMITS, NODES, step, World } from './meter-world.ts';

const script = fc.record({
  limits: fc.nat(LIMITS.length - 1),
  isSafe: fc.boolean(),
  steps: fc.array(step, { maxLength: 60, size: 'max' }),
});

// More at a time: METER_RUNS=2000 METER_SEED=7 node test/api/access/meter-model.test.ts.
t.test('never more than the plan, each request counted once, and room is given', async (t) => {
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(script, async ({ limits: of, isSafe, steps }) => {
      const limits = LIMITS[of] as Limits;
      const world = new World(limits);
      for (const each of steps) {
        await world.perform(each, isSafe);
        // Of a store that is away each process admits its share: how much that is, access-processes.test.ts asks.
        if (isSafe) for (const fault of [...world.findExcess(), ...world.faults]) throw new Error(fault);
      }
      await world.settle();
      if (world.faultOfCounts !== null) throw new Error(world.faultOfCounts);
      // The next day: the whole bucket passes in any process, then as much as it fills, up to the limit of the day.
      world.store.nowMs = (Math.floor(world.store.nowMs / DAY_MS) + 2) * DAY_MS;
      const first = await world.ask(0, limits.burst + 5);
      if (first !== Math.min(limits.burst, limits.requests_per_day))
        throw new Error(`${first} of ${limits.burst} pass`);
      let all = first;
      for (let i = 0; i < 40; i++) {
        world.store.nowMs += 1_100;
        all += await world.ask(i % NODES, limits.requests_per_second);
      }
      if (all !== limits.requests_per_day) throw new Error(`${all} of ${limits.requests_per_day} pass in a day`);
      passed += all;
    }),
    { numRuns: Number(process.env.METER_RUNS ?? 60), seed: Number(process.env.METER_SEED ?? 2) },
  );
  t.ok(passed > 0, `${passed} requests passed`);
});
