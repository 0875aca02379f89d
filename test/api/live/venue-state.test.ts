// The state of a venue as a function of time, and since when it has been what it is (V-01).
import fc from 'fast-check';
import t from 'tap';
import { deriveVenueState } from '../../../api/live/venue-state.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Span } from '../../../schemas/topics.ts';
import { capability, Feed, NOW } from '../../support/apps/live-fixture.ts';

const SECOND: Micros = 1_000_000;
/** Ten minutes: six of them after its loss a slot is forgotten. */
const UNIT: Micros = 600 * SECOND;
const UNITS = 30;
const START = NOW - UNITS * UNIT;

type Drawn = { readonly slot: number; readonly from: number; readonly length: number | null };
const drawn: fc.Arbitrary<Drawn> = fc.record({
  slot: fc.nat(3),
  from: fc.nat(UNITS - 1),
  length: fc.option(fc.integer({ min: 1, max: 10 }), { freq: 3 }),
});

const toSpan = ({ slot, from, length }: Drawn, i: number): Span => ({
  conn_id: `c${i}`,
  slot: `slot ${slot}`,
  from: START + from * UNIT,
  to: length === null || from + length > UNITS ? null : START + (from + length) * UNIT,
  cause: null,
});

/** The rule as it is written, at one instant. */
const stateThen = (spans: readonly Span[], at: Micros, watermark: Micros): string => {
  const known = spans.filter(({ from }) => from <= at);
  const isOpen = ({ to }: Span): boolean => to === null || to > at;
  if (!known.some(isOpen)) return 'down';
  if (at - watermark > 5 * SECOND) return 'degraded';
  const isLost = (slot: string): boolean => {
    const ofSlot = known.filter((span) => span.slot === slot);
    if (ofSlot.some(isOpen)) return false;
    return at - Math.max(...ofSlot.map(({ to }) => to ?? 0)) < 3_600 * SECOND;
  };
  return known.some(({ slot }) => isLost(slot)) ? 'degraded' : 'live';
};

t.test('`state_since` is the last change of the state, whatever opened and closed since (V-01)', async (t) => {
  await fc.assert(
    fc.property(fc.array(drawn, { maxLength: 12 }), fc.integer({ min: 0, max: 20 }), (all, lag) => {
      const feed = new Feed(['binance']);
      feed.entry('binance', { kind: 'capability', capability: capability('binance') });
      const spans = all.map(toSpan);
      const venue = feed.memory.venue('binance');
      if (venue === undefined) throw new Error('not served');
      for (const span of spans) {
        feed.entry('binance', { kind: 'connection', span });
        // What is kept for this answer must not serve the next.
        deriveVenueState(feed.memory, venue, NOW);
      }
      const watermark = NOW - lag * SECOND;
      feed.watermark('binance', watermark);
      const found = deriveVenueState(feed.memory, venue, NOW);
      const instants: Micros[] = [];
      for (let i = 0; i < UNITS; i++) instants.push(START + i * UNIT);
      for (let s = 20; s >= 0; s--) instants.push(NOW - s * SECOND);
      // A state that began at an instant holds after it: the service is behind once it is more than five seconds behind.
      const states = instants.map((at) => stateThen(spans, Math.min(at + 1, NOW), watermark));
      const changed = states.findLastIndex((state, i) => i > 0 && state !== states[i - 1]);
      const isConstant = changed === -1;
      const first = spans.length === 0 ? null : Math.min(...spans.map(({ from }) => from));
      const since = isConstant ? (states[0] === 'down' ? null : first) : (instants[changed] ?? null);
      t.same(found, { state: states.at(-1), since }, JSON.stringify({ all, lag }));
    }),
    { numRuns: 400, seed: 5 },
  );
});
