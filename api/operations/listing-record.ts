// The listing record of the interface, in the order of its table (V-03, V-05).
import { formatDuration, formatSeconds } from '../../schemas/durations.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, sortByKey } from '../../schemas/json.ts';
import { BASE_TIMEFRAME } from '../../schemas/layers/candle.ts';
import { CANDLES, EVENTS, type LayerName } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Digits, FieldTransform, ListingValues, Micros, QuantityUnit } from '../../schemas/records.ts';
import type { RETENTION_DAYS } from '../../schemas/tables.ts';
import type { CapabilityVersion, LayerCapability, ListingVersion } from '../../schemas/topics.ts';
import { chooseQuantityUnit, convertQuantity, needsMark, type UnitsMode } from '../../schemas/units.ts';
import { computeRetentionFrom } from '../history/past.ts';
import type { LiveListing } from '../live/listing-book.ts';
import { type Mark, makeConversion, toFigureOrNull, toOptional } from '../live/members.ts';

type RecordOptions = {
  readonly at: Micros;
  readonly units: UnitsMode;
  readonly includeRaw: boolean;
  /** The listing's present mark, where a conversion needs it; null when there is none. */
  readonly mark: Mark | null;
};

type Kept = keyof typeof RETENTION_DAYS;

const formatDurationOrNull = (ms: number | null): string | null => (ms === null ? null : formatDuration(ms));

/** The members that events and candles have instead of a sampling window and a bound, and how long they are kept. */
const OTHER_LAYERS: readonly (readonly [name: LayerName, Pick<LayerFacts, 'historyCadence' | 'kept'>])[] = [
  [CANDLES.name, { historyCadence: BASE_TIMEFRAME, kept: 'candles' }],
  ...EVENTS.map(({ name }) => [name, { historyCadence: 'raw', kept: 'events' }] as const),
];

type LayerFacts = {
  readonly historyCadence: string;
  readonly kept: Kept;
  readonly freshness: string | null;
  readonly anchor: string | null;
};

/** What history answers of a layer is stated whether it is collected now or not: rows of when it was are kept. */
const makeLayerEntry = (
  { policy, cadence_ms, horizon_ms, horizon_source, completeness }: LayerCapability,
  facts: LayerFacts,
  keptFrom: (kind: Kept) => Micros,
): JsonValue => {
  const on = policy === 'on';
  return {
    // Of events of which the venue sends at most some (H-15).
    policy: on && completeness === 'sampled' ? 'sampled' : policy,
    cadence: on ? (cadence_ms === null ? 'live' : formatDuration(cadence_ms)) : null,
    history_cadence: facts.historyCadence,
    horizon: formatDurationOrNull(horizon_ms),
    horizon_source,
    anchor: facts.anchor,
    freshness: facts.freshness,
    retention_from: formatInstant(keptFrom(facts.kept)),
  };
};

const NONE: LayerCapability = { policy: 'off', cadence_ms: null, horizon_ms: null, horizon_source: null };

/** The listing with its newest readings, which determine the clock of each horizon; null for a past instant, for which they are not relevant. */
type Present = Pick<LiveListing, 'readings'> | null;

/** `layers` of a listing by the record's names (L-01); every kind is named, whether collected or not. */
const describeLayers = (
  listing: Present,
  { version, capability }: { readonly version: ListingVersion; readonly capability: CapabilityVersion | null },
  at: Micros,
): JsonValue => {
  const keptFrom = (kind: Kept): Micros => computeRetentionFrom(kind, version, at);
  const findCapability = (layer: LayerName): LayerCapability => {
    const policy = findListingPolicy(capability, layer, version);
    return policy === 'on' ? (capability?.layers[layer] ?? NONE) : { ...NONE, policy };
  };
  const entries: Record<string, JsonValue> = {};
  for (const layer of READING_LAYERS) {
    const { recordName, windowMs, freshnessMs } = LAYERS[layer];
    entries[recordName] = makeLayerEntry(
      findCapability(layer),
      {
        historyCadence: formatDuration(windowMs),
        kept: 'readings',
        freshness: formatSeconds(freshnessMs),
        anchor: listing?.readings.get(layer)?.anchor ?? null,
      },
      keptFrom,
    );
  }
  for (const [name, facts] of OTHER_LAYERS) {
    entries[name] = makeLayerEntry(findCapability(name), { ...facts, freshness: null, anchor: null }, keptFrom);
  }
  return sortByKey(entries);
};

type Rule = { readonly figure: Digits | null; readonly unit: string | null };

const isQuantityUnit = (unit: string | null): unit is QuantityUnit =>
  unit === 'base' || unit === 'contracts' || unit === 'quote';

/** Rules that are quantities, in the requested unit; one that cannot be converted is null with its reason (N-07). */
const describeRules = (version: ListingVersion, { units: mode, mark }: RecordOptions) => {
  const { values } = version.record;
  const reasons: Record<string, string> = {};
  let [isConverted, usesMark] = [false, false];
  const convert = (name: 'lot_size' | 'min_qty'): Rule => {
    const [digits, unit] = [values[name], values.units[name]];
    if (mode === 'published' || digits === null || !isQuantityUnit(unit)) return { figure: digits, unit };
    isConverted = true;
    usesMark ||= needsMark(unit, mode, values);
    const figure = convertQuantity({ digits, unit, mode, listing: values, mark: mark?.digits ?? null });
    if (figure === null) reasons[name] = 'unit_unknown';
    return { figure, unit: chooseQuantityUnit(unit, mode) };
  };
  const [lot, min] = [convert('lot_size'), convert('min_qty')];
  const conversion = isConverted ? makeConversion(version, usesMark ? mark : null) : undefined;
  return { lot, min, conversion, nullReasons: toOptional(reasons) };
};

// Decoded records have more than their members, so the members to write are listed.
const toTransform = ({ venue_field, transform }: FieldTransform): JsonValue => ({ venue_field, transform });

const describeRulesNormalisation = ({ rules_normalisation: rules }: ListingValues): Record<string, JsonValue> =>
  Object.fromEntries(Object.entries(rules).map(([rule, made]) => [rule, toTransform(made)]));

const pickUnits = (
  { units }: ListingValues,
  asked: { readonly lot_size: string | null; readonly min_qty: string | null },
): JsonValue => ({
  tick_size: units.tick_size,
  ...asked,
  min_notional: units.min_notional,
  contract_size: units.contract_size,
});

/** The record of a listing by its version, as of `at`. */
export const makeListingRecord = (
  listing: Present,
  { version, capability }: { readonly version: ListingVersion; readonly capability: CapabilityVersion | null },
  options: RecordOptions,
): JsonValue => {
  const { record } = version;
  const { values } = record;
  const { lot, min, conversion, nullReasons } = describeRules(version, options);
  const delistedAt = version.delisted_at !== null && version.delisted_at <= options.at ? version.delisted_at : null;
  return {
    instrument: values.instrument,
    venue: version.venue,
    venue_symbol: version.venue_symbol,
    base: values.base,
    quote: values.quote,
    base_venue_alias: values.base_venue_alias,
    kind: values.kind,
    venue_kind: values.venue_kind,
    pair: values.pair,
    post_only: values.post_only,
    status: values.status,
    contract_size: toFigureOrNull(values.contract_size),
    multiplier: toFigureOrNull(values.multiplier),
    tick_size: toFigureOrNull(values.tick_size),
    lot_size: toFigureOrNull(lot.figure),
    min_qty: toFigureOrNull(min.figure),
    min_notional: toFigureOrNull(values.min_notional),
    price_decimals: values.price_decimals,
    qty_decimals: values.qty_decimals,
    units: pickUnits(values, { lot_size: lot.unit, min_qty: min.unit }),
    conversion,
    null_reasons: nullReasons,
    quantity_unit: values.quantity_unit,
    oi_sides: values.oi_sides,
    funding_interval: values.funding_interval,
    funding_interval_source: values.funding_interval_source,
    funding_normalisation: values.funding_normalisation === null ? null : toTransform(values.funding_normalisation),
    rules_normalisation: sortByKey(describeRulesNormalisation(values)),
    candles: {
      base_timeframe: values.candles.base_timeframe,
      price_types: values.candles.price_types,
      timeframes: values.candles.timeframes,
    },
    layers: describeLayers(listing, { version, capability }, options.at),
    not_published: values.not_published,
    bands: values.bands,
    listed_at: formatInstantOrNull(values.listed_at),
    first_seen_at: formatInstantOrNull(version.first_seen_at),
    delisted_at: formatInstantOrNull(delistedAt),
    // The smallest of its layers' (V-03): readings and candles are kept longest.
    retention_from: formatInstant(computeRetentionFrom('readings', version, options.at)),
    venue_ts: formatInstantOrNull(record.venue_ts),
    received_at: formatInstantOrNull(record.received_at),
    age_ms: Math.floor((options.at - record.received_at) / 1_000),
    raw: options.includeRaw && version.raw !== null ? makeRawJson(version.raw) : undefined,
  };
};
