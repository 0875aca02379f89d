// The next checkpoint of a task is due by the records that a restart would apply again (D-57).
import t from 'tap';
import { createCheckpointPace } from '../../../processors/runner/checkpoint-pace.ts';

const count = (pace: ReturnType<typeof createCheckpointPace>, records: number): void => {
  for (let i = 0; i < records; i++) pace.countRecord();
};

t.test('at 3,000 records a second every five seconds', async (t) => {
  const pace = createCheckpointPace();
  pace.begin('a', 1_000, 1_000);
  count(pace, 15_000);
  t.notOk(pace.isDue('a', 5_999), 'not before five seconds');
  t.ok(pace.isDue('a', 6_000));
});

t.test('by the records of all tasks, since the last checkpoint of each', async (t) => {
  const pace = createCheckpointPace();
  const areDue = (): boolean[] => ['a', 'b'].map((task) => pace.isDue(task, 9_000));
  pace.begin('a', 1, 0);
  count(pace, 10_000);
  pace.begin('b', 1, 4_000);
  count(pace, 4_999);
  t.same(areDue(), [false, false]);
  count(pace, 1);
  t.same(areDue(), [true, false]);
  count(pace, 10_000);
  t.same(areDue(), [true, true]);
});

t.test('with many items after four records an item, as of the newest checkpoint of each task', async (t) => {
  const pace = createCheckpointPace();
  pace.begin('a', 90_000, 0);
  pace.begin('a', 4_000, 0);
  pace.begin('b', 6_000, 0);
  count(pace, 39_999);
  t.notOk(pace.isDue('a', 10_000));
  count(pace, 1);
  t.ok(pace.isDue('a', 10_000));
});

t.test('items of a task that has stopped count no longer', async (t) => {
  const pace = createCheckpointPace();
  pace.begin('a', 100, 0);
  pace.begin('b', 90_000, 0);
  count(pace, 15_000);
  t.notOk(pace.isDue('a', 5_000));
  pace.end('b');
  t.ok(pace.isDue('a', 5_000));
  t.notOk(pace.isDue('b', 60_000));
});

t.test('after thirty seconds without a record too', async (t) => {
  const pace = createCheckpointPace();
  pace.begin('a', 1, 0);
  t.notOk(pace.isDue('a', 29_999));
  t.ok(pace.isDue('a', 30_000));
});
