// The queue between a stream and its reader: writers wait while it is full, and none of them is forgotten.
import t from 'tap';
import { Queue } from '../../../clients/typescript/src/queue.ts';

t.test('every writer that waits for room goes on when there is room', async (t) => {
  const queue = new Queue<number>(1);
  const writing = Promise.all([1, 2, 3].map((item) => queue.push(item)));
  const read: number[] = [];
  for await (const item of queue.items()) {
    read.push(item);
    if (read.length === 3) break;
  }
  await writing;
  t.same(read, [1, 2, 3]);
});

t.test('the end and a failure free every writer that waits', async (t) => {
  const ended = new Queue<number>(1);
  const writing = Promise.all([1, 2, 3].map((item) => ended.push(item)));
  ended.end();
  await writing;
  const failed = new Queue<number>(1);
  const failing = Promise.all([1, 2, 3].map((item) => failed.push(item)));
  failed.fail(new Error('away'));
  await failing;
  await t.rejects(async () => {
    for await (const _ of failed.items());
  }, /away/);
});
