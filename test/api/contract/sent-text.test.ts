// What a fault shows of what was sent: whole characters, escaped names, kinds of values.
import fc from 'fast-check';
import t from 'tap';
import { clip, describeValue, toPointerName } from '../../../api/contract/sent-text.ts';

const FORTY = 'abcdefghij'.repeat(4);

t.test('a text of forty characters is shown whole, of a longer one the first forty with an ellipsis', async (t) => {
  t.equal(clip(FORTY), FORTY);
  t.equal(clip(`${FORTY}k`), `${FORTY}…`);
  t.equal(clip('😀'.repeat(40)), '😀'.repeat(40));
  t.equal(clip(`a${'😀'.repeat(60)}`), `a${'😀'.repeat(39)}…`);
});

t.test('no character is cut in two', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (text) => {
      const shown = clip(text);
      return shown.isWellFormed() && [...shown].length <= 41 && text.startsWith(shown.replace(/…$/, ''));
    }),
  );
  t.pass('texts of any characters');
});

t.test('a name in a JSON pointer is escaped after it is cut', async (t) => {
  t.equal(toPointerName('a/b~c'), 'a~1b~0c');
  t.equal(toPointerName('/'.repeat(41)), `${'~1'.repeat(40)}…`);
});

t.test('values are named by what they are', async (t) => {
  const named = ['x', ['x'], { x: 1 }, null, 1.5, true].map(describeValue);
  t.same(named, ['"x"', 'a list', 'an object', 'null', '1.5', 'true']);
});
