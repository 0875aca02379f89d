// The shard of a symbol is the partition that Kafka chooses.
import { createRequire } from 'node:module';
import fc from 'fast-check';
import t from 'tap';
import { computeMurmur2, toShard } from '../../schemas/shards.ts';

/** The Kafka client's own hash, an implementation that is not ours. */
const kafkaMurmur2 = createRequire(import.meta.url)('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: Buffer | string,
) => number;

t.test('a symbol’s shard is Kafka’s default partition of it', (t) => {
  // Expected values of Apache Kafka's UtilsTest.testMurmur2.
  const vectors: readonly (readonly [string, number])[] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];
  for (const [text, hash] of vectors) t.equal(computeMurmur2(Buffer.from(text)), hash, text);
  t.equal(toShard('foobar', 6), (-790332482 & 0x7fffffff) % 6);
  const bytes = fc.uint8Array({ maxLength: 40 }).map((b) => Buffer.from(b));
  fc.assert(fc.property(bytes, (key) => computeMurmur2(key) === kafkaMurmur2(key)));
  const partition = fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 64 }), (symbol, shards) => {
    return toShard(symbol, shards) === (kafkaMurmur2(symbol) & 0x7fffffff) % shards;
  });
  fc.assert(partition);
  t.equal(toShard('BTCUSDT', 1), 0);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 64 }), (symbol, shards) => {
      const shard = toShard(symbol, shards);
      return Number.isInteger(shard) && shard >= 0 && shard < shards;
    }),
  );
  t.end();
});
