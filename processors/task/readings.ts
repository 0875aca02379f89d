// Converts normalised records to readings: members with digits, derived figures, horizon and reasons (L-02, N-05 rule 2, F-01, F-02).
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import { divide, multiply, subtract } from '../../schemas/decimals.ts';
import { parseDuration } from '../../schemas/durations.ts';
import { computeValidUntil } from '../../schemas/freshness.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { EventLayer, LayerRecord, ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type {
  BookRecord,
  CandleRecord,
  FundingRecord,
  ListingRecord,
  MarkRecord,
  Micros,
  OiRecord,
  StatsRecord,
  TickerRecord,
} from '../../schemas/records.ts';
import type { BookLevels, CapabilityVersion, Reading } from '../../schemas/topics.ts';
import { keepPresent } from './present-members.ts';
import type { LayerState, Part } from './state.ts';

/** The parts of a layer's value before it becomes a reading. */
export type Measured = {
  readonly values: Record<string, string>;
  readonly instants: Record<string, Micros>;
  readonly quantityUnit: string | null;
  readonly venueTs: Micros | null;
};

/** The layer that is changed, how its venue sends it, and whether the record is too late to count (N-11). */
type Measuring = {
  readonly layer: LayerState;
  readonly venue: Pick<MappedVenue, 'sendsMarksApart'>;
  readonly isLate?: boolean;
};

const MS_8H = '28800000';

const findOlder = (a: Micros | null, b: Micros | null): Micros | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** The half of a record, or else the held one. It is held from now on, unless it is late or the held one was received after it: a connection may be behind. */
const takeHalf = (
  name: 'mark' | 'index',
  record: MarkRecord,
  { layer, venue, isLate }: Measuring,
): Part | undefined => {
  const held = venue.sendsMarksApart === true ? layer.parts[name] : undefined;
  const digits = record.values[name];
  if (digits === null) return held;
  const { venue_ts, received_at } = record;
  const half = { digits, venue_ts, received_at };
  const isNewest = held?.received_at === undefined || held.received_at <= received_at;
  if (venue.sendsMarksApart === true && isLate !== true && isNewest) layer.parts[name] = half;
  return half;
};

/**
 * Of a venue that sends them apart, joins the newest mark and the newest index of a listing, with the older stamp (records.md); `parts` keeps both. A
 * message of another venue has both, and one that it lacks has no value.
 */
const measureMark = (record: MarkRecord, of: Measuring): Measured => {
  const [mark, index] = [takeHalf('mark', record, of), takeHalf('index', record, of)];
  const basis = mark && index ? divide(subtract(mark.digits, index.digits), index.digits) : null;
  const venueTs = mark && index ? findOlder(mark.venue_ts, index.venue_ts) : record.venue_ts;
  return {
    values: keepPresent({ mark: mark?.digits ?? null, index: index?.digits ?? null, basis }),
    instants: {},
    quantityUnit: null,
    venueTs,
  };
};

const measureFunding = (record: FundingRecord, listing: ListingRecord): Measured => {
  const { funding, funding_interval_ms, next_funding_at } = record.values;
  const known = listing.values.funding_interval;
  const intervalMs = funding_interval_ms ?? (known === null ? null : parseDuration(known));
  const interval = intervalMs === null ? null : String(intervalMs);
  const per8h = funding === null || interval === null ? null : divide(multiply(funding, MS_8H), interval);
  return {
    values: keepPresent({ funding, funding_8h: per8h, funding_interval: interval }),
    instants: next_funding_at === null ? {} : { next_funding_at },
    quantityUnit: null,
    venueTs: record.venue_ts,
  };
};

const measureTicker = (record: TickerRecord): Measured => ({
  values: keepPresent({ last: record.values.last }),
  instants: {},
  quantityUnit: null,
  venueTs: record.venue_ts,
});

const measureOi = (record: OiRecord): Measured => ({
  values: keepPresent({ oi: record.values.oi }),
  instants: {},
  quantityUnit: record.values.oi_unit,
  venueTs: record.venue_ts,
});

const measureStats = (record: StatsRecord): Measured => {
  const { volume_24h, turnover_24h, change_24h } = record.values;
  return {
    values: keepPresent({ volume_24h, turnover_24h, change_24h }),
    instants: {},
    quantityUnit: record.values.volume_unit,
    venueTs: record.venue_ts,
  };
};

/** Records of layers in which every message is a value. Books are assembled first. */
export type ReadingRecord = Exclude<LayerRecord, BookRecord | CandleRecord | { readonly layer: EventLayer }>;

/** The value of a record's layer: each layer of readings has a case here. */
export const measure = (record: ReadingRecord, listing: ListingRecord, of: Measuring): Measured => {
  switch (record.layer) {
    case 'mark':
      return measureMark(record, of);
    case 'funding':
      return measureFunding(record, listing);
    case 'ticker':
      return measureTicker(record);
    case 'oi':
      return measureOi(record);
    case 'stats':
      return measureStats(record);
    default:
      return record satisfies never;
  }
};

export type ReadingSource = {
  readonly layer: ReadingLayer;
  readonly rev: number;
  readonly receivedAt: Micros;
  readonly recordedAt: Micros;
  readonly connId: string;
  readonly capability: CapabilityVersion | null;
  readonly listing: ListingRecord;
  readonly raw: string | null;
};

const findHorizon = (source: ReadingSource): { horizon_ms: number | null; horizon_source: string | null } => {
  const capability = source.capability?.layers[source.layer];
  return { horizon_ms: capability?.horizon_ms ?? null, horizon_source: capability?.horizon_source ?? null };
};

/** Why a member has no value: the venue does not publish it (L-02), or it has not arrived. */
const listNullReasons = (source: ReadingSource, values: Readonly<Record<string, string>>): Record<string, string> => {
  const reasons: Record<string, string> = {};
  for (const member of Object.keys(LAYERS[source.layer].members)) {
    if (member in values) continue;
    reasons[member] = source.listing.values.not_published.includes(member) ? 'venue_capability' : 'no_value';
  }
  return reasons;
};

/** A valid reading. `valid_until` is fixed here (F-01). */
export const toReading = (source: ReadingSource, measured: Measured, book: BookLevels | null): Reading => {
  const horizon = findHorizon(source);
  return {
    layer: source.layer,
    rev: source.rev,
    valid: true,
    gap_cause: null,
    venue_ts: measured.venueTs,
    received_at: source.receivedAt,
    recorded_at: source.recordedAt,
    conn_id: source.connId,
    ...horizon,
    anchor: measured.venueTs === null ? 'receipt' : 'venue',
    valid_until: computeValidUntil({ venue_ts: measured.venueTs, received_at: source.receivedAt, ...horizon }),
    values: measured.values,
    null_reasons: listNullReasons(source, measured.values),
    instants: measured.instants,
    quantity_unit: measured.quantityUnit,
    book,
    raw: source.raw,
  };
};

/** An invalidation: from here on the layer has no value, for `cause` (crossed book, sequence break). */
export const toInvalidation = (source: ReadingSource, cause: GapCause, venueTs: Micros | null): Reading => ({
  ...toReading(source, { values: {}, instants: {}, quantityUnit: null, venueTs }, null),
  valid: false,
  gap_cause: cause,
  valid_until: null,
  null_reasons: {},
});
