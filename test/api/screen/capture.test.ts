// The capture of a column: why an element is missing, the unit of each, and that units are not mixed (DQL-27, N-07, N-08).
import fc from 'fast-check';
import t from 'tap';
import { NewestReadings } from '../../../api/live/live-message.ts';
import { type CapturedColumn, capture } from '../../../api/screen/capture.ts';
import { REASONS } from '../../../api/screen/series.ts';
import { Column, NOTHING_RECEIVED, type PeriodValue } from '../../../api/series/column.ts';
import { type ColumnSpec, findLength, isQuantitySpec, toSpecId } from '../../../api/series/column-spec.ts';
import type { Policy } from '../../../schemas/freshness.ts';
import type { Micros, QuantityUnit } from '../../../schemas/records.ts';
import { RETENTION_DAYS } from '../../../schemas/tables.ts';
import type { CapabilityVersion, ListingVersion } from '../../../schemas/topics.ts';
import type { UnitsMode } from '../../../schemas/units.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { listing, listingValues, micros, NOW } from '../../support/apps/live-fixture.ts';
import { HOUR, MINUTE, withCandles } from '../../support/screen/market.ts';

const NOON = micros('2026-01-15T12:00:00.000Z');
const VOLUME: ColumnSpec = { kind: 'candles', priceType: 'trade', member: 'volume', timeframe: '1h' };
const CLOSE: ColumnSpec = { ...VOLUME, member: 'close' };
const OI: ColumnSpec = { kind: 'layer', layer: 'oi', member: 'oi', timeframe: '1h' };

type Element = Partial<PeriodValue> | null;

/** Elements of the periods that end at noon, oldest first. */
const findColumn = (spec: ColumnSpec, elements: readonly Element[]): Column => {
  const last = NOON / findLength(spec);
  const kinds = { isSampled: spec.kind === 'layer', keepsLastRow: spec.kind === 'candles' };
  const column = new Column(last - 40, last, { ...kinds, isQuantity: isQuantitySpec(spec) });
  elements.forEach((element, i) => {
    const period = last - elements.length + 1 + i;
    const received = period * findLength(spec);
    if (element !== null) column.put(period, { value: 1, received, recorded: received + 1, ...element });
  });
  return column;
};

type Market = {
  readonly versions?: readonly ListingVersion[];
  readonly capabilities?: readonly CapabilityVersion[];
  readonly units?: UnitsMode;
  readonly stateLag?: boolean;
  readonly watermark?: Micros;
  readonly cameBy?: Micros;
  readonly now?: Micros;
};

const BTC = listing('okx', listingValues({ quantity_unit: 'contracts' }));

const captured = (spec: ColumnSpec, elements: readonly Element[], market: Market = {}) => {
  const { versions = [BTC], capabilities = [withCandles('okx')], units = 'published' } = market;
  const { stateLag = false, watermark = null, cameBy = Number.POSITIVE_INFINITY, now = NOW } = market;
  const version = versions.at(-1) ?? BTC;
  const column = findColumn(spec, elements);
  const selected = {
    listing: { venue: 'okx', venueSymbol: 'BTCUSDT', versions: [...versions], readings: new NewestReadings() },
    version,
  };
  const options = { at: NOON, now, watermark, cameBy, columns: { columnOf: () => column } };
  const needs = [{ spec, bars: elements.length }];
  const windows = capture(selected, needs, { ...options, capabilities, stateLag, units });
  return windows.get(toSpecId(spec));
};

const worths = (found: ReturnType<typeof captured>): (number | string | undefined)[] => {
  const { elements } = found as CapturedColumn;
  return [...elements.values].map((value, i) => (Number.isNaN(value) ? REASONS[elements.reasons?.[i] ?? 0] : value));
};

const seen = (first: Micros): ListingVersion => ({ ...BTC, first_seen_at: first });
const none = Array.from({ length: 5 }, () => null);

t.test(
  'a candle period that began before the first sight lies before what is stored, however little before (DQL-27)',
  async (t) => {
    const before = 'insufficient_history';
    for (const [first, expected] of [
      [NOON - 3 * HOUR, [before, before, 'gap', 'gap', 'gap']],
      [NOON - 3 * HOUR + 1, [before, before, before, 'gap', 'gap']],
      [NOON - 2 * HOUR - MINUTE, [before, before, before, 'gap', 'gap']],
      [NOON - 2 * HOUR - 1, [before, before, before, 'gap', 'gap']],
      [NOON - 2 * HOUR, [before, before, before, 'gap', 'gap']],
      [NOON - 5 * HOUR, ['gap', 'gap', 'gap', 'gap', 'gap']],
    ] as const) {
      t.same(
        worths(captured(CLOSE, none, { versions: [seen(first)] })),
        expected,
        `candles ${(NOON - first) / MINUTE} minutes`,
      );
    }
    // A reading may come at any moment of its period.
    const late = { versions: [seen(NOON - 3 * HOUR + 1)] };
    t.same(worths(captured(OI, none, late)), [before, before, 'gap', 'gap', 'gap']);
    // Of the windows that H-06 closes at their end, the one that ends at the first sight has that instant.
    const atEnd = { versions: [seen(NOON - 3 * HOUR)] };
    t.same(worths(captured(OI, none, atEnd)), [before, 'gap', 'gap', 'gap', 'gap']);
  },
);

t.test(
  'before anything was known of its venue a listing has no series yet, as it has no layers (DQL-27)',
  async (t) => {
    const capabilities = [{ ...withCandles('okx'), written_at: NOON + 1 }];
    const before = Array.from({ length: 5 }, () => 'insufficient_history');
    for (const spec of [CLOSE, OI])
      t.same(worths(captured(spec, none, { versions: [seen(NOON + 1)], capabilities })), before, spec.kind);
    // What the listing never has is said before what it does not have yet.
    const never = { status: 'not_published', reason: 'venue_capability' };
    const mark: ColumnSpec = { ...VOLUME, priceType: 'mark' };
    t.match(captured(mark, none, { versions: [seen(NOON + 1)], capabilities }), never);
    // The listing was seen, and nothing says that it was collected.
    const off = { status: 'off', reason: 'policy_off' };
    for (const spec of [CLOSE, OI])
      t.match(captured(spec, none, { versions: [seen(NOON)], capabilities }), off, spec.kind);
  },
);

t.test('an element before the retention floor is not retained, whatever is stored of it (DQL-27, H-07)', async (t) => {
  const midnight = micros('2026-01-15T00:00:00.000Z');
  const stored = Array.from({ length: 5 }, () => ({}));
  const gone = 'not_retained';
  for (const [spec, ends] of [
    [{ ...CLOSE, timeframe: '4h' }, [gone, gone, 1, 1, 1]],
    [{ ...OI, timeframe: '4h' }, [gone, 1, 1, 1, 1]],
  ] as const) {
    const kept = RETENTION_DAYS[spec.kind === 'candles' ? 'candles' : 'readings'] * 24 * HOUR;
    t.same(worths(captured(spec, stored, { now: midnight + kept - 1 })), [1, 1, 1, 1, 1]);
    for (const now of [midnight + kept, midnight + kept + 24 * HOUR - 1])
      t.same(worths(captured(spec, stored, { now })), ends, `${spec.kind} at ${now}`);
  }
});

t.test('a candle counts once it has come and none before it may still come (DQL-26)', async (t) => {
  const minutes: ColumnSpec = { ...CLOSE, timeframe: '1m' };
  const endOf = (elements: readonly Element[], market: Market): number =>
    ((captured(minutes, elements, market) as CapturedColumn).end - NOON) / MINUTE;
  // The candles of the last two minutes are not sealed.
  const live = { watermark: NOON + 10_000_000 };
  t.equal(endOf([{}, {}, {}], live), 0);
  t.equal(endOf([{}, {}, null], live), -1);
  t.equal(endOf([{}, null, {}], live), -2, 'the one in between may still come');
  t.equal(endOf([null, {}, {}], live), 0, 'a sealed one may not');
  t.equal(endOf([{}, null, {}], { watermark: NOON + 50_000_000 }), 0, 'nor this one any more');
  const readings: ColumnSpec = { ...OI, timeframe: '1m' };
  for (const [watermark, end] of [
    [NOON, NOON],
    [NOON - 1, NOON - MINUTE],
  ] as const)
    t.equal(
      (captured(readings, [{}, {}], { watermark }) as CapturedColumn).end,
      end,
      'a reading, once its window ended',
    );
  const sealed = NOON - MINUTE + SEALS_AFTER;
  t.equal(endOf([{}, null, {}], { watermark: sealed - 1 }), -2);
  t.equal(endOf([{}, null, {}], { watermark: sealed }), 0);
  const rule = { ...live, cameBy: NOON + 10_000_000 };
  const later: Element = { recorded: NOON + 10_000_001 };
  t.equal(endOf([{}, {}, {}], rule), 0, 'a rule counts what had come by its instant');
  t.equal(endOf([{}, {}, later], rule), -1, 'and nothing that came afterwards');
  t.equal(endOf([{}, later, {}], rule), -2);
  t.equal(endOf([later, {}, {}], rule), 0, 'but what is sealed, whenever it came');
});

t.test('what came without a figure is not awaited: its period has no element (DQL-26)', async (t) => {
  const none: Element = { value: Number.NaN };
  const minutes = (spec: ColumnSpec): ColumnSpec => ({ ...spec, timeframe: '1m' });
  const found = (spec: ColumnSpec, elements: readonly Element[]) => {
    const held = captured(minutes(spec), elements, { watermark: NOON + 10_000_000 });
    return [((held as CapturedColumn).end - NOON) / MINUTE, ...worths(held)];
  };
  t.same(found(CLOSE, [{}, {}, none]), [0, 1, 1, 'gap'], 'the price of an older minute is not carried forward');
  t.same(found(CLOSE, [{}, {}, { ...none, received: NOTHING_RECEIVED }]), [0, 1, 1, 'gap']);
  t.same(found(CLOSE, [{}, none, {}]), [0, 1, 'gap', 1], 'nor does it keep a newer one from counting');
  t.same(found(OI, [{}, none]), [0, 1, 'gap']);
});

const of = (unit: QuantityUnit | null): Element => ({ unit });
const inUnits = (units: readonly (QuantityUnit | null)[]): Element[] => units.map(of);

t.test('a count of candles has when each was received, and nothing else has (DQL-29)', async (t) => {
  const PRESENT: ColumnSpec = { ...CLOSE, member: 'present' };
  const elements = [{ received: 1 }, { received: NOTHING_RECEIVED }, null];
  t.same([...((captured(PRESENT, elements) as CapturedColumn).received ?? [])], [1, NOTHING_RECEIVED, Number.NaN]);
  t.equal((captured(CLOSE, elements) as CapturedColumn).received, null);
});

t.test('figures of different units are never in one window as published (N-07)', async (t) => {
  for (const spec of [VOLUME, OI]) {
    const found = (...units: (QuantityUnit | null)[]) => worths(captured(spec, inUnits(units)));
    t.same(found('base', 'base', 'base'), [1, 1, 1]);
    t.same(found('base', 'contracts', 'contracts'), ['unit_unknown', 1, 1]);
    t.same(found('contracts', 'contracts', 'quote'), ['unit_unknown', 'unit_unknown', 1]);
    t.same(found(null, 'contracts', null), [1, 1, 1], 'a row that states none counts as the listing does');
    t.same(found(null, 'base', null), [1, 'unit_unknown', 1]);
    t.same(worths(captured(spec, [of('base'), of('contracts'), null])), ['unit_unknown', 1, 'gap']);
    for (const units of ['base', 'quote'] as const) {
      t.same(
        worths(captured(spec, inUnits(['base', 'contracts', 'quote']), { units })),
        [1, 1, 1],
        'converted one by one',
      );
    }
  }
  t.same(worths(captured(CLOSE, inUnits(['base', 'contracts']))), [1, 1], 'a price has no such unit');
});

t.test('a candle whose minutes count in different units is no gap (L-07, H-13)', async (t) => {
  const differ: Element = { value: Number.NaN, unitsDiffer: true };
  const none: Element = { value: Number.NaN };
  for (const units of ['published', 'base', 'quote'] as const) {
    t.same(worths(captured(VOLUME, [{}, differ, {}], { units })), [1, 'unit_unknown', 1]);
    t.same(worths(captured(VOLUME, [differ, none, null, differ], { units })), [
      ...['unit_unknown', 'gap', 'gap', 'unit_unknown'],
    ]);
  }
  const early = { versions: [seen(NOON - HOUR / 2)] };
  t.same(worths(captured(VOLUME, [null, differ], early)), ['insufficient_history', 'unit_unknown'], 'it is there');
  t.same(worths(captured(CLOSE, [differ, {}])), ['gap', 1], 'a price has no unit');
});

t.test('a member that is computed of one the listing never has is not published (DQL-33c)', async (t) => {
  const basis: ColumnSpec = { kind: 'layer', layer: 'mark', member: 'basis', timeframe: '1h' };
  t.same(worths(captured(basis, [{}])), [1]);
  for (const name of ['mark', 'index', 'basis']) {
    const versions = [listing('okx', listingValues({ not_published: [name] }))];
    t.match(captured(basis, [{}], { versions }), { status: 'not_published', reason: 'venue_capability' }, name);
  }
});

t.test('a listing that changes its unit separates the elements before from those after', async (t) => {
  const changed = { ...listing('okx', listingValues({ quantity_unit: 'base' })), written_at: NOON - HOUR };
  const versions = [{ ...BTC, written_at: NOON - 40 * HOUR }, changed];
  t.same(worths(captured(VOLUME, inUnits([null, null, null]), { versions })), ['unit_unknown', 1, 1]);
});

t.test('what a column counts in does not depend on whether it holds (N-08)', async (t) => {
  const elements = inUnits(['quote', 'quote']);
  const [holds, lags] = [false, true].map((stateLag) => captured(VOLUME, elements, { stateLag }));
  t.match(lags, { status: 'stale', reason: 'state_lag' });
  t.same(lags?.units, holds?.units);
  t.same(lags?.units, ['quote', 'quote']);
});

const MARK: ColumnSpec = { kind: 'layer', layer: 'mark', member: 'mark', timeframe: '1m' };
const turnTo = (policy: Policy, written_at: Micros): CapabilityVersion => ({
  ...withCandles('okx', { mark: { policy } }),
  written_at,
});

t.test(
  'a reading from before its layer was off is no element, nor is one of a layer that is off at the end (F-04)',
  async (t) => {
    const around = (...turns: (readonly [Policy, secondsToNoon: number])[]): Market => ({
      capabilities: [
        withCandles('okx'),
        ...turns.map(([policy, seconds]) => turnTo(policy, NOON + seconds * 1_000_000)),
      ],
    });
    const at = (seconds: number): Element => ({
      received: NOON + seconds * 1_000_000,
      recorded: NOON + seconds * 1_000_000,
    });
    const elements = [{}, at(-90), at(-20)];
    const worth = (market: Market) => worths(captured(MARK, elements, market));
    t.same(worth({}), [1, 1, 1]);
    t.same(worth(around(['off', -80], ['on', -70])), [1, 'gap', 1]);
    t.same(worth(around(['off', -100], ['on', -95])), [1, 1, 1], 'it was read after');
    t.same(worth(around(['off', -70], ['on', -30])), [1, 'gap', 1], 'off at the end');
    t.same(worth(around(['not_published', -80], ['on', -70])), [1, 1, 1], 'back to the reading that was');
    t.same(worth(around(['not_published', -70], ['on', -30])), [1, 'gap', 1]);
    const off = { ...BTC, written_at: NOON - 15_000_000, record: { ...BTC.record, off: ['mark'] } };
    const on = { ...BTC, written_at: NOON - 10_000_000 };
    t.same(worth({ versions: [BTC, off, on] }), [1, 1, 'gap'], 'off for this listing alone');
    const found = captured(MARK, elements, { versions: [BTC, off, on] }) as CapturedColumn;
    t.equal(found.receivedAt, null, 'nothing of the newest period was used (DQL-29)');
    const live = captured(MARK, elements, { versions: [BTC, off, on], watermark: NOON }) as CapturedColumn;
    t.equal(live.end, NOON - MINUTE, 'a reading may still come for the newest period');
  },
);

t.test('an element is what a history of its period gives, whatever was switched when (DQL-26)', async () => {
  const turn = fc.record({ at: fc.nat(400), policy: fc.constantFrom<Policy>('on', 'off', 'not_published') });
  const drawn = fc.record({
    turns: fc.array(turn, { maxLength: 5 }),
    read: fc.array(fc.nat(59), { minLength: 6, maxLength: 6 }),
  });
  const isRight = ({ turns, read }: typeof drawn extends fc.Arbitrary<infer D> ? D : never): boolean => {
    const start = NOON - 6 * MINUTE;
    const capabilities = [withCandles('okx')].concat(
      [...turns].sort((a, b) => a.at - b.at).map(({ at, policy }) => turnTo(policy, start + at * 1_000_000)),
    );
    const elements = read.map((second, i): Element => {
      const received = start + i * MINUTE + second * 1_000_000;
      return { received, recorded: received };
    });
    const policyAt = (at: Micros) => capabilities.findLast(({ written_at }) => written_at <= at)?.layers.mark?.policy;
    const expected = read.map((second, i) => {
      const end = start + (i + 1) * MINUTE;
      for (let at = start + i * MINUTE + second * 1_000_000; at <= end; at += 1_000_000)
        if (policyAt(at) === 'off') return 'gap';
      return policyAt(end) === 'on' ? 1 : 'gap';
    });
    // A layer that is off now has no series at all.
    const found = captured(MARK, elements, { capabilities: [...capabilities, turnTo('on', NOON)] });
    return expected.slice(0, -1).every((value, i) => worths(found)[i] === value);
  };
  fc.assert(fc.property(drawn, isRight), { numRuns: 300 });
});
