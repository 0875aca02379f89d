// Maps as avsc reads them with our reader of names: known, new, long, not ASCII, and more than the reader keeps.
import { isDeepStrictEqual } from 'node:util';
import avro from 'avsc';
import fc from 'fast-check';
import t from 'tap';
import '../../../schemas/avro/read-names.ts';

const type = avro.Type.forSchema({ type: 'map', values: 'string' });
const roundTrip = (value: object): unknown => ({ ...(type.fromBuffer(type.toBuffer(value)) as object) });

t.test('a map returns with its names, whatever was read before it', (t) => {
  const name = fc.oneof(
    fc.constantFrom('bid', 'bid_size', 'ask', 'größe', '数量', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65)),
    fc.string({ maxLength: 70, unit: 'grapheme' }),
  );
  const values = fc.dictionary(
    name.filter((text) => text !== '__proto__'),
    fc.string({ maxLength: 5 }),
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(values, (value) => isDeepStrictEqual(roundTrip(value), value)),
    { numRuns: 2_000 },
  );
  t.end();
});

t.test('names that share a place are told apart', (t) => {
  const names = Array.from({ length: 5_000 }, (_, i) => `name_${i}`);
  const value = Object.fromEntries(names.map((name) => [name, name]));
  t.same(roundTrip(value), value);
  t.same(roundTrip(value), value);
  t.end();
});

t.test('a map in blocks with their lengths, and one that is cut', (t) => {
  // One pair: count -1, a length of four bytes, then the name and the text.
  const bytes = Buffer.from([0x01, 0x08, 0x02, 0x61, 0x02, 0x62, 0x00]);
  t.same({ ...(type.fromBuffer(bytes) as object) }, { a: 'b' });
  const whole = type.toBuffer({ bid: '1', ask: '2' });
  for (let end = 0; end < whole.length; end += 1) t.throws(() => type.fromBuffer(whole.subarray(0, end)));
  t.end();
});
