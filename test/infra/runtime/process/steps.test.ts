// Steps of a process: when a stretch of items ends, and what is never left for the next one.
import t from 'tap';
import { runStretch } from '../../../../infra/runtime/process/steps.ts';

/** Holds the thread, as work does. */
const spin = (ms: number): void => {
  const ends = performance.now() + ms;
  while (performance.now() < ends);
};

t.test('a stretch ends with its time, and never between items that belong together', (t) => {
  const items = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'];
  const isBound = (item: string, next: string): boolean => item[0] === next[0];
  const stretches: string[][] = [];
  for (let at = 0; at < items.length; ) {
    const handled: string[] = [];
    at = runStretch(items, { from: at, ms: 1, isBound }, (item) => {
      handled.push(item);
      spin(2);
    });
    stretches.push(handled);
  }
  t.same(stretches, [['a1', 'a2', 'a3'], ['b1', 'b2'], ['c1']]);
  t.end();
});

t.test('a stretch of items that may be parted handles one at least', (t) => {
  t.equal(
    runStretch(['a1', 'a2'], { from: 0, ms: 1 }, () => spin(2)),
    1,
  );
  t.equal(
    runStretch([], { from: 0, ms: 1 }, () => t.fail()),
    0,
  );
  t.end();
});
