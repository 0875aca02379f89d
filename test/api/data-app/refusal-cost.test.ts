// What a refused body costs: a stranger may send the largest one again and again, so the work grows with its size and not with its square.
import t from 'tap';
import { checkInput } from '../../../api/data-app/check-input.ts';
import { findShapeFaults } from '../../../api/data-app/shape-faults.ts';
import type { LiveMemory } from '../../../api/live/memory.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { ServiceError } from '../../../schemas/errors.ts';

/** The shape alone is judged: no name is known yet. */
const STATE = { live: { isReady: () => false } as unknown as LiveMemory, evaluatedAt: 0 };
const [FEW, MANY] = [1_000, 8_000];
/** Time in proportion to the members is 8 times as long, in proportion to their square 64 times. */
const MOST_RATIO = 24;

const BODIES: Readonly<Record<string, (members: object) => unknown>> = {
  'members that are none': (members) => members,
  'members that are none of a selection': (where) => ({ where }),
  'bounds that are none': (freshness) => ({ freshness }),
};

const makeMembers = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, 0]));

/** Time of the processor in microseconds, of the best of several turns. */
const measure = (work: () => unknown): number => {
  const turns = Array.from({ length: 3 }, () => {
    const begun = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  });
  return Math.min(...turns);
};

for (const endpoint of OPERATIONS.filter(({ method }) => method === 'POST')) {
  t.test(endpoint.path, async (t) => {
    for (const [name, make] of Object.entries(BODIES)) {
      const refuse = (count: number): void => {
        const read = { input: make(makeMembers(count)), faults: [], apart: [] };
        t.throws(() => checkInput(endpoint, read, STATE), ServiceError);
      };
      refuse(FEW);
      const few = measure(() => refuse(FEW));
      const many = measure(() => refuse(MANY));
      t.ok(
        many < few * MOST_RATIO,
        `${name}: ${MANY / FEW} times as many cost ${(many / few).toFixed(1)} times as much`,
      );
    }
  });
}

t.test('of a list of wrong items only the first are looked at, each list apart', (t) => {
  const snapshots = OPERATIONS.find(({ path }) => path === '/v2/snapshots');
  if (snapshots === undefined) throw new Error('there is no such endpoint');
  const wrong = Array<number>(MANY).fill(1);
  const faults = findShapeFaults(snapshots, { where: { base: wrong, quote: wrong }, layers: wrong });
  for (const member of ['where/base', 'where/quote', 'layers']) {
    const ofList = faults.filter(({ path }) => path?.startsWith(`/${member}/`)).length;
    t.ok(ofList >= 20 && ofList <= FEW, `${member}: ${ofList} faults`);
  }
  t.notOk(
    faults.some(({ path }) => path === '/where'),
    'an object is of the right kind, however much of it is wrong',
  );
  const mixed = findShapeFaults(snapshots, { where: Object.fromEntries(wrong.map((_, i) => [i, i])), units: 7 });
  t.equal(
    mixed.filter(({ path }) => path?.startsWith('/where/')).length,
    MANY,
    'members of an object are each removed',
  );
  t.ok(mixed.some(({ path }) => path === '/units'));
  t.end();
});
