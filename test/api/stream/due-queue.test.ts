// The queue of moments: whatever the order of the pushes, the soonest comes first, and none before its time.
import fc from 'fast-check';
import t from 'tap';
import { DueQueue } from '../../../api/stream/due-queue.ts';

const steps = fc.array(fc.oneof(fc.record({ push: fc.nat(20) }), fc.record({ now: fc.nat(24) })), { maxLength: 60 });

t.test('moments are taken in their order, each once, and none before its time', (t) => {
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
        const taken = queue.take(step.now);
        const soonest = Math.min(...waiting.map(({ at }) => at));
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
