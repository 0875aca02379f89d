// The capture of a column: why an element is missing, the unit of each, and that units are not mixed (DQL-27, N-07, N-08).
import t from 'tap';
import { NewestReadings } from '../../../api/live/live-message.ts';
import { type CapturedColumn, capture } from '../../../api/screen/capture.ts';
import { REASONS } from '../../../api/screen/series.ts';
import { Column, type PeriodValue } from '../../../api/series/column.ts';
import { type ColumnSpec, findLength, isQuantitySpec, specId } from '../../../api/series/column-spec.ts';
import type { Micros, QuantityUnit } from '../../../schemas/records.ts';
import type { ListingVersion } from '../../../schemas/topics.ts';
import type { UnitsMode } from '../../../schemas/units.ts';
import { listing, listingValues, micros, NOW } from '../live-fixture.ts';
import { HOUR, MINUTE, withCandles } from './market.ts';

const NOON = micros('2026-01-15T12:00:00.000Z');
const VOLUME: ColumnSpec = { kind: 'candles', priceType: 'trade', member: 'volume', timeframe: '1h' };
const CLOSE: ColumnSpec = { ...VOLUME, member: 'close' };
const OI: ColumnSpec = { kind: 'layer', layer: 'oi', member: 'oi', timeframe: '1h' };

type Element = Partial<PeriodValue> | null;

/** Elements of the periods that end at noon, oldest first. */
const findColumn = (spec: ColumnSpec, elements: readonly Element[]): Column => {
  const last = NOON / findLength(spec);
  const column = new Column(last - 40, last, { isQuantity: isQuantitySpec(spec) });
  elements.forEach((element, i) => {
    const period = last - elements.length + 1 + i;
    const received = period * findLength(spec);
    if (element !== null) column.put(period, { value: 1, received, recorded: received + 1, ...element });
  });
  return column;
};

type Market = {
  readonly versions?: readonly ListingVersion[];
  readonly units?: UnitsMode;
  readonly stateLag?: boolean;
  readonly watermark?: Micros;
  readonly byWatermark?: boolean;
};

const BTC = listing('okx', listingValues({ quantity_unit: 'contracts' }));

const captured = (spec: ColumnSpec, elements: readonly Element[], market: Market = {}) => {
  const { versions = [BTC], units = 'published', stateLag = false, watermark = null, byWatermark = false } = market;
  const version = versions.at(-1) ?? BTC;
  const column = findColumn(spec, elements);
  const selected = {
    listing: { venue: 'okx', venueSymbol: 'BTCUSDT', versions: [...versions], readings: new NewestReadings() },
    version,
  };
  const options = { at: NOON, now: NOW, watermark, byWatermark, columns: { columnOf: () => column } };
  const needs = [{ spec, bars: elements.length }];
  const windows = capture(selected, needs, { ...options, capability: withCandles('okx'), stateLag, units });
  return windows.get(specId(spec));
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
  },
);

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
  t.equal(endOf([{}, {}, {}], { ...live, byWatermark: true }), -2, 'a rule counts what is sealed by its instant');
});

const of = (unit: QuantityUnit | null): Element => ({ unit });
const inUnits = (units: readonly (QuantityUnit | null)[]): Element[] => units.map(of);

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
