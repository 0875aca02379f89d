// A limit on a wait: the outcome in time, NoAnswer after it, and what has arrived while the process itself was busy.
import { stat } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { limitTime, NoAnswer } from '../../../../infra/runtime/time/within.ts';

t.test(
  'the outcome of work that ends in time is its own; of work that does not it is NoAnswer, and the rest is ignored',
  async (t) => {
    t.equal(await limitTime(Promise.resolve(7), 10), 7);
    await t.rejects(limitTime(Promise.reject(new Error('refused')), 10), { message: 'refused' });
    const late = Promise.withResolvers<number>();
    await t.rejects(limitTime(late.promise, 10), new NoAnswer(10));
    late.reject(new Error('too late'));
    await late.promise.catch(() => undefined);
  },
);

t.test('an answer that has arrived while the process was busy is in time', async (t) => {
  // Behind the immediate callbacks the loop runs its timers, and only then takes what has arrived.
  await setImmediate();
  const answer = new Promise((settle) => stat('.', (error) => settle(error)));
  const limited = limitTime(answer, 10);
  for (const end = performance.now() + 100; performance.now() < end; );
  t.equal(await limited, null);
});
