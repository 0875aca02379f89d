// The order of texts is that of their bytes.
import fc from 'fast-check';
import t from 'tap';
import { compareBytes } from '../../schemas/text-order.ts';

t.test('texts are in the order of their UTF-8 bytes', (t) => {
  const sorted = ['~', 'a', 'B', '', '10', '9', '币安', '\ue000', '😀', 'é', 'ab', 'a'].sort(compareBytes);
  t.same(sorted, ['', '10', '9', 'B', 'a', 'a', 'ab', '~', 'é', '币安', '\ue000', '😀']);
  const text = fc.string({ unit: 'binary', maxLength: 6 });
  fc.assert(
    fc.property(text, text, (a, b) => Math.sign(compareBytes(a, b)) === Buffer.compare(Buffer.from(a), Buffer.from(b))),
    { numRuns: 5_000 },
  );
  t.pass('as Buffer.compare has them');
  t.end();
});
