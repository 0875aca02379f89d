// Sampling windows: their ends, what counts, and when they are sealed (N-11).
import fc from 'fast-check';
import t from 'tap';
import { MICROS_PER_SECOND, toDayOf } from '../../schemas/instants.ts';
import { isCounted, toSealInstant, toWindowDay, toWindowEnd } from '../../schemas/windows.ts';

const at = (iso: string, micros = 0): number => Date.parse(iso) * 1_000 + micros;
const NOON = at('2026-01-15T12:00:00Z');
const EARLIEST = at('2000-01-01T00:00:00Z');
const LATEST = at('2100-01-01T00:00:00Z');
const instants = fc.integer({ min: EARLIEST, max: LATEST });

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
