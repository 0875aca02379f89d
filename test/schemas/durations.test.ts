// Durations: their texts, and what is none (N-04).
import fc from 'fast-check';
import t from 'tap';
import { formatDuration, formatSeconds, parseDuration } from '../../schemas/durations.ts';

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
