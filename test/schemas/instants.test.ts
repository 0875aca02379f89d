// Instants: texts, boundaries and refusals (N-02, N-03).
import fc from 'fast-check';
import t from 'tap';
import { formatInstant, formatInstantMicros, parseInstant } from '../../schemas/instants.ts';

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
