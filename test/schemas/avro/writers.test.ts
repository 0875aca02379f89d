// The writers that replace parts of avsc write what avsc and the Avro specification define, byte for byte.
import avro from 'avsc';
import fc from 'fast-check';
import t from 'tap';
import { makeMdCodec, readSchemaText } from '../../../schemas/avro/codec.ts';
import '../../../schemas/avro/write-text.ts';

/** A string in Avro: the number of its bytes as a zigzag varint, then the bytes. */
const expectedBytes = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'utf8');
  const head: number[] = [];
  let rest = bytes.length * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) head.push((rest % 0x80) | 0x80);
  head.push(rest);
  return Buffer.concat([Buffer.from(head), bytes]);
};

t.test('texts of any length and script', (t) => {
  const type = avro.Type.forSchema('string');
  const check = (text: string): void => {
    const expected = expectedBytes(text);
    if (!type.toBuffer(text).equals(expected)) t.fail(JSON.stringify(text));
    // Into a buffer that ends anywhere: avsc returns how many bytes are missing.
    for (const room of [0, 1, expected.length - 1, expected.length]) {
      const bytes = Buffer.alloc(room);
      const end = type.encode(text, bytes, 0);
      if (end !== (room < expected.length ? room - expected.length : room))
        t.fail(`${JSON.stringify(text)} in ${room}`);
      if (end >= 0 && !bytes.equals(expected)) t.fail(JSON.stringify(text));
    }
  };
  for (const length of [0, 1, 62, 63, 64, 65, 127, 128, 8_191, 8_192, 20_000]) {
    for (const letter of ['a', 'é', '猫', '😀']) check(letter.repeat(length));
    check(`${'x'.repeat(length)}é`);
  }
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 80 }), check));
  t.pass('no difference');
  t.end();
});

t.test('books: pairs are written as the records of the schema', (t) => {
  const schema = JSON.parse(readSchemaText('md.book', 1)) as avro.Schema;
  const plain = avro.Type.forSchema(schema, { wrapUnions: 'never' });
  const figure = fc.stringMatching(/^(0|[1-9]\d{0,9})(\.\d{1,9})?$/);
  const side = fc.array(fc.tuple(figure, figure), { maxLength: 40 });
  const record = (bids: readonly (readonly string[])[], asks: readonly (readonly string[])[]) => ({
    layer: 'book',
    venue: 'binance',
    venue_symbol: 'BTCUSDT',
    venue_ts: 1,
    received_at: 2,
    recorded_at: 3,
    conn_id: 'c',
    src: { partition: 0, offset: 4 },
    values: { bids, asks, sequence: '7', collected_levels: { bids: 3, asks: 4 }, bands: {} },
  });
  const codec = makeMdCodec('book');
  fc.assert(
    fc.property(side, side, (bids, asks) => {
      const value = record(bids, asks);
      const read = plain.fromBuffer(codec.encode(value as never).subarray(5)) as ReturnType<typeof record>;
      const toRecord = ([price, size]: readonly string[]) => ({ price, size });
      t.same([read.values.bids, read.values.asks], [bids.map(toRecord), asks.map(toRecord)]);
      t.same(codec.decode(codec.encode(value as never)), value);
    }),
    { numRuns: 50 },
  );
  t.end();
});
