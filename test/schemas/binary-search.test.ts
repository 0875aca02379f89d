// Binary search finds what a look at each item finds, and looks at few.
import t from 'tap';
import { countLeading } from '../../schemas/binary-search.ts';

t.test('counts the items before the first that does not meet the condition', (t) => {
  for (let count = 0; count <= 40; count++) {
    for (let leading = 0; leading <= count; leading++) {
      const looked: number[] = [];
      const found = countLeading(count, (index) => {
        looked.push(index);
        return index < leading;
      });
      if (found !== leading) t.fail(`${found} of ${count}, where ${leading} meet the condition`);
      if (looked.some((index) => index < 0 || index >= count)) t.fail(`looks at ${looked} of ${count}`);
      if (looked.length > Math.ceil(Math.log2(count + 1))) t.fail(`looks at ${looked.length} of ${count} items`);
    }
  }
  t.equal(
    countLeading(2 ** 31, (index) => index < 2 ** 31 - 5),
    2 ** 31 - 5,
    'a count whose double is above 2^31',
  );
  t.end();
});

t.test('is the first place of equal items by `<`, and behind them by `<=`', (t) => {
  const sorted = [1, 3, 3, 3, 7];
  const before = (value: number) => countLeading(sorted.length, (index) => (sorted[index] ?? 0) < value);
  const upTo = (value: number) => countLeading(sorted.length, (index) => (sorted[index] ?? 0) <= value);
  t.same([0, 1, 2, 3, 7, 8].map(before), [0, 0, 1, 1, 4, 5]);
  t.same([0, 1, 2, 3, 7, 8].map(upTo), [0, 1, 1, 4, 5, 5]);
  t.end();
});
