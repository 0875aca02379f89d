// The queue of moments: whatever the order of the pushes, the soonest comes first, and none before its time.
import fc from 'fast-check';
import t from 'tap';
import { DueQueue } from '../../../api/stream/due-queue.ts';

/** Moments are pushed, taken, or dropped where their instant and subject leave no rest. */
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ push: fc.nat(20) }) },
    { weight: 4, arbitrary: fc.record({ now: fc.nat(24) }) },
    { weight: 1, arbitrary: fc.record({ dropped: fc.integer({ min: 3, max: 6 }) }) },
  ),
  { maxLength: 60, size: 'max' },
);

t.test('moments are taken in their order, each once, none before its time and none that was dropped', (t) => {
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new DueQueue<number>();
      let waiting: { readonly at: number; readonly subject: number }[] = [];
      for (const [subject, step] of all.entries()) {
        if ('push' in step) {
          queue.push(step.push, subject);
          waiting.push({ at: step.push, subject });
          continue;
        }
        if ('dropped' in step) {
          const isKept = (at: number, subject: number): boolean => (at + 2 * subject) % step.dropped > 0;
          queue.keep(isKept);
          waiting = waiting.filter(({ at, subject }) => isKept(at, subject));
          if (queue.size !== waiting.length) return false;
          continue;
        }
        const soonest = Math.min(...waiting.map(({ at }) => at));
        if (queue.isDue(step.now) !== soonest <= step.now) return false;
        const taken = queue.take(step.now);
        if (taken === null && soonest > step.now) continue;
        if (taken === null || taken.at !== soonest || taken.at > step.now) return false;
        const left = waiting.filter(({ subject }) => subject !== taken.subject);
        if (left.length !== waiting.length - 1) return false;
        waiting = left;
      }
      return true;
    }),
    { numRuns: 500 },
  );
  t.end();
});
