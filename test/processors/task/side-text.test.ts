// Sides of books as text: what is read is what was written, and no other text is taken for a side.
import fc from 'fast-check';
import t from 'tap';
import { formatSide, parseSide } from '../../../processors/task/side-text.ts';

const WIDEST = 2 ** 51 - 1;
const sides = fc
  .tuple(
    fc.uniqueArray(fc.oneof(fc.integer({ min: -WIDEST, max: WIDEST }), fc.integer({ min: -5_000, max: 5_000 })), {
      maxLength: 60,
    }),
    fc.array(fc.oneof(fc.integer({ min: 1, max: WIDEST }), fc.integer({ min: 1, max: 100 })), {
      minLength: 60,
      maxLength: 60,
    }),
  )
  .map(([keys, sizes]) => ({ keys: keys.toSorted((a, b) => a - b), sizes: sizes.slice(0, keys.length) }));

t.test('a side is read as it was written', (t) => {
  fc.assert(
    fc.property(sides, (side) => t.strictSame(parseSide(formatSide(side)), side)),
    { numRuns: 500 },
  );
  for (const side of [
    { keys: [], sizes: [] },
    { keys: [0], sizes: [1] },
    { keys: [-WIDEST, WIDEST], sizes: [WIDEST, WIDEST] },
    { keys: [-1, 0, 1], sizes: [31, 32, 33] },
    { keys: [2 ** 30 - 1, 2 ** 30, 2 ** 31, 2 ** 32], sizes: [2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1] },
  ]) {
    t.strictSame(parseSide(formatSide(side)), side);
  }
  t.end();
});

t.test('a side of many levels has room, and one after it is not longer than itself', (t) => {
  const keys = Array.from({ length: 20_000 }, (_, i) => i * 2 ** 31 - WIDEST);
  const large = { keys, sizes: keys.map(() => WIDEST) };
  t.strictSame(parseSide(formatSide(large)), large);
  t.equal(formatSide({ keys: [5], sizes: [7] }), 'KAH');
  t.end();
});

t.test('a text cut within a level is refused', (t) => {
  const text = formatSide({ keys: [100, 2_000], sizes: [30_000, 400_000] });
  let refused = 0;
  for (let length = 0; length < text.length; length++) {
    try {
      const { keys, sizes } = parseSide(text.slice(0, length));
      t.equal(keys.length, sizes.length, 'cut between two levels');
    } catch (error) {
      t.type(error, SyntaxError);
      refused += 1;
    }
  }
  t.ok(refused >= text.length - 3, `${refused} of ${text.length}`);
  t.end();
});
