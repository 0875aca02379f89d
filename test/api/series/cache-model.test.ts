// Random callers of the cache of series, with statements that are executed, answered and refused in any order: nobody is given another series than the log has (DQL-26, D-1152).
import t from 'tap';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { World } from './cache-world.ts';

const WORLDS = Number(process.env['SERIES_WORLDS'] ?? 100);
const SEED = Number(process.env['SERIES_SEED'] ?? 1);
const STEPS = 150;

const list = (world: World): readonly (readonly [weight: number, step: () => void])[] => [
  [6, () => world.ask()],
  [4, () => world.pass()],
  [3, () => world.correct()],
  [3, () => world.store()],
  [4, () => world.execute()],
  [8, () => world.answer()],
  [1, () => world.refuse()],
  [1, () => world.leave()],
];

t.test(`every caller has its series, SERIES_WORLDS=${WORLDS} SERIES_SEED=${SEED}`, async (t) => {
  const found = { answered: 0, refused: 0 };
  for (let run = 0; run < WORLDS; run++) {
    const random = createRandom(SEED + run).next;
    const world = new World(random);
    const steps = list(world).flatMap(([weight, step]) => Array.from({ length: weight }, () => step));
    for (let i = 0; i < STEPS; i++) {
      world.choose(steps)();
      await world.rest();
      if (!world.isBounded) t.fail(`the cache has too many bytes after step ${i}, world ${SEED + run}`);
    }
    while (world.waiting > 0) {
      world.answer();
      await world.rest();
    }
    for (const { end, faults, isRefused } of world.callers) {
      if (end === 'answered') found.answered += 1;
      else if (end === 'refused') found.refused += 1;
      t.same(faults, [], `world ${SEED + run}`);
      if (end !== 'left')
        t.equal(end === 'refused', isRefused, `a caller is refused for its own statements, world ${SEED + run}`);
    }
  }
  t.comment(JSON.stringify(found));
});
