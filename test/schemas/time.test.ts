// Instants, durations, windows and shards: texts, boundaries and refusals.
import { createRequire } from 'node:module';
import fc from 'fast-check';
import t from 'tap';
import { formatDuration, formatSeconds, parseDuration } from '../../schemas/durations.ts';
import {
  formatInstant,
  formatInstantMicros,
  MICROS_PER_SECOND,
  parseInstant,
  toDayOf,
} from '../../schemas/instants.ts';
import { computeMurmur2, toShard } from '../../schemas/shards.ts';
import { isCounted, toSealInstant, toWindowDay, toWindowEnd } from '../../schemas/windows.ts';

/** The Kafka client's own hash, an implementation that is not ours. */
const kafkaMurmur2 = createRequire(import.meta.url)('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: Buffer | string,
) => number;

const at = (iso: string, micros = 0): number => Date.parse(iso) * 1_000 + micros;
const NOON = at('2026-01-15T12:00:00Z');
const EARLIEST = at('2000-01-01T00:00:00Z');
const LATEST = at('2100-01-01T00:00:00Z');
const instants = fc.integer({ min: EARLIEST, max: LATEST });

t.test('an instant prints three digits, or six when it has microseconds (N-02)', (t) => {
  t.equal(formatInstant(NOON), '2026-01-15T12:00:00.000Z');
  t.equal(formatInstant(NOON + 120_000), '2026-01-15T12:00:00.120Z');
  t.equal(formatInstant(NOON + 184_512), '2026-01-15T12:00:00.184512Z');
  t.equal(formatInstant(NOON + 1), '2026-01-15T12:00:00.000001Z');
  t.equal(formatInstantMicros(NOON), '2026-01-15T12:00:00.000000Z');
  t.equal(formatInstantMicros(NOON + 1_002), '2026-01-15T12:00:00.001002Z');
  t.equal(formatInstant(-1), '1969-12-31T23:59:59.999999Z', 'also before 1970, where it floors');
  t.end();
});

t.test('what is printed reads back to the same microsecond', (t) => {
  fc.assert(fc.property(instants, (micros) => parseInstant(formatInstant(micros)) === micros));
  fc.assert(fc.property(instants, (micros) => parseInstant(formatInstantMicros(micros)) === micros));
  t.end();
});

t.test('a text with one wrong character reads the same whether its minute was read before or not', (t) => {
  const spots = fc.tuple(instants, fc.nat(26), fc.constantFrom(...'0159:.-TZ +x'), fc.boolean());
  fc.assert(
    fc.property(spots, ([micros, place, character, isLong]) => {
      const text = isLong ? formatInstantMicros(micros) : formatInstantMicros(micros).replace(/...Z$/, 'Z');
      const changed = `${text.slice(0, place)}${character}${text.slice(place + 1)}`;
      // Another form of the same instant, which no cache of minutes serves.
      const other = changed.replace(/Z$/, '+00:00');
      const expected = changed.endsWith('Z') ? parseInstant(other) : parseInstant(changed);
      parseInstant(text);
      return parseInstant(changed) === expected;
    }),
    { numRuns: 5_000 },
  );
  t.end();
});

t.test('instants are read as N-03 defines them and nothing else is', (t) => {
  const good: readonly (readonly [string, number])[] = [
    ['2026-01-15', at('2026-01-15T00:00:00Z')],
    ['2026-01-15T12:00Z', NOON],
    ['2026-01-15T12:00:00Z', NOON],
    ['2026-01-15T12:00:00.1Z', NOON + 100_000],
    ['2026-01-15T12:00:00.184512Z', NOON + 184_512],
    ['2026-01-15T13:30:00+01:30', NOON],
    ['2026-01-15T07:00-05:00', NOON],
    ['2026-01-16T00:00:00+12:00', NOON],
    ['2026-01-16T11:59:00+23:59', NOON],
    ['2024-02-29', at('2024-02-29T00:00:00Z')],
    ['2000-01-01', EARLIEST],
    ['2100-01-01T00:00:00.000000Z', LATEST],
    ['2000-01-01T01:00+01:00', EARLIEST],
  ];
  for (const [text, micros] of good) t.equal(parseInstant(text), micros, text);
  const wrong = [
    '',
    '2026',
    '2026-1-15',
    '2026-01-15T12Z',
    '2026-01-15T12:00',
    '2026-01-15T12:00:00',
    '2026-01-15 12:00:00Z',
    '2026-01-15Z',
    '2026-01-15T12:00:00.Z',
    '2026-01-15T12:00:00.1234567Z',
    '2026-01-15T12:00.5Z',
    '2026-01-15T12:00:60Z',
    '2026-01-15T24:00:00Z',
    '2026-01-15T12:60Z',
    '2026-01-15T12:00:00+1:00',
    '2026-01-15T12:00:00+24:00',
    '2026-01-15T12:00:00+01:60',
    '2026-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '1999-12-31',
    '2100-01-01T00:00:00.000001Z',
    '2000-01-01T00:00+00:01',
    '1768478400',
    '2026-01-15T12:00:00Z ',
    '2026-01-15\n',
    '0099-01-01',
  ];
  for (const text of wrong) t.equal(parseInstant(text), null, JSON.stringify(text));
  t.end();
});

t.test('a duration has one unit and at most nine digits without leading zero (N-04)', (t) => {
  t.equal(parseDuration('10s'), 10_000);
  t.equal(parseDuration('2m'), 120_000);
  t.equal(parseDuration('1h'), 3_600_000);
  t.equal(parseDuration('1d'), 86_400_000);
  t.equal(parseDuration('0s'), 0);
  t.equal(parseDuration('999999999d'), 999_999_999 * 86_400_000);
  for (const text of ['', '10', 's', '01s', '1.5h', '-1s', '1h30m', '1w', '1S', ' 1s', '1s\n', '1000000000s'])
    t.equal(parseDuration(text), null, text);
  t.end();
});

t.test('freshness prints seconds, everything else the largest unit that divides (N-04)', (t) => {
  t.equal(formatSeconds(300_000), '300s');
  t.equal(formatSeconds(604_800_000), '604800s');
  const rows: readonly (readonly [number, string])[] = [
    [60_000, '1m'],
    [90_000, '90s'],
    [86_400_000, '1d'],
    [3_600_000, '1h'],
    [28_800_000, '8h'],
    [0, '0s'],
    [172_800_000, '2d'],
    [5_400_000, '90m'],
  ];
  for (const [ms, text] of rows) t.equal(formatDuration(ms), text);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 99_999_999 }), (s) => parseDuration(formatDuration(s * 1_000)) === s * 1_000),
  );
  t.end();
});

t.test('a window is (start, end]: a reading at exactly its end belongs to it (design section 5)', (t) => {
  t.equal(toWindowEnd(NOON, 10_000), NOON, 'on the boundary');
  t.equal(toWindowEnd(NOON + 1, 10_000), NOON + 10 * MICROS_PER_SECOND, 'a microsecond after it');
  t.equal(toWindowEnd(NOON - 1, 10_000), NOON, 'a microsecond before it');
  t.equal(toWindowEnd(NOON + 1, 60_000), NOON + 60 * MICROS_PER_SECOND);
  const midnight = at('2026-01-16T00:00:00Z');
  t.equal(toWindowEnd(midnight, 10_000), midnight);
  t.equal(toWindowEnd(midnight - 1, 60_000), midnight);
  t.equal(toWindowDay(midnight), '2026-01-15', 'the window that ends at midnight is of the day that ends there');
  t.equal(toWindowDay(midnight + 10 * MICROS_PER_SECOND), '2026-01-16');
  t.equal(toDayOf(midnight), '2026-01-16');
  t.equal(toDayOf(midnight - 1), '2026-01-15');
  fc.assert(
    fc.property(instants, fc.constantFrom(100, 10_000, 60_000, 3_600_000, 86_400_000), (micros, ms) => {
      const end = toWindowEnd(micros, ms);
      return end % (ms * 1_000) === 0 && micros <= end && micros > end - ms * 1_000;
    }),
    { numRuns: 5_000 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 100_000_000, max: 400_000_000 }), fc.constantFrom(-1, 0, 1), (k, off) => {
      const boundary = k * 10_000_000;
      return toWindowEnd(boundary + off, 10_000) === boundary + (off > 0 ? 10_000_000 : 0);
    }),
    { numRuns: 5_000 },
  );
  t.end();
});

t.test('a reading counts when recorded by end + 100 s; the window is sealed at the next millisecond (N-11)', (t) => {
  const last = NOON + 100 * MICROS_PER_SECOND;
  t.ok(isCounted(last, NOON));
  t.notOk(isCounted(last + 1, NOON));
  t.ok(isCounted(NOON - 1, NOON));
  t.equal(toSealInstant(NOON), last + 1_000);
  t.notOk(isCounted(toSealInstant(NOON), NOON), 'nothing recorded at the seal can count');
  t.end();
});

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
