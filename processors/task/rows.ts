// Rows for QuestDB: readings, gaps, alive spans and versions in the columns of `processors/sinks/tables.ts` (design section 7).
import type { GapCause } from '../../schemas/gap-causes.ts';
import {
  BASE_TIMEFRAME,
  CANDLE_FIGURES,
  CANDLE_PRICES,
  type CandleFigures,
  type Timeframe,
} from '../../schemas/layers/candle.ts';
import { CANDLES, type EventTable, type ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Digits, LiquidationRecord, Micros, PriceType, TradeRecord } from '../../schemas/records.ts';
import { formatListingId, toColumnName } from '../../schemas/tables.ts';
import type { CapabilityVersion, ListingVersion, Reading, Row, Span } from '../../schemas/topics.ts';
import { keepPresent } from './present-members.ts';
import type { Minute } from './state.ts';

export type RowIdentity = { readonly venue: string; readonly symbol: string; readonly layer: ReadingLayer };
/** A window or a run of windows `(from, at]`, and the raw offset for the row's identity. */
export type RowSpan = {
  readonly from: Micros;
  readonly at: Micros;
  readonly srcOffset: number;
  /** Of a reading that was recorded too late to represent its window (N-11). */
  readonly late?: boolean;
};

/** An empty text and a missing one have the same cell in a file (AR-07), so empty texts are not stored. */
const keepTexts = (texts: Readonly<Record<string, string | null>>): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) if (text !== null && text !== '') kept[name] = text;
  return kept;
};

const listFigures = (reading: Reading): Record<string, string> => {
  const figures: Record<string, string> = {};
  for (const [member, digits] of Object.entries(reading.values)) figures[toColumnName(member)] = digits;
  return figures;
};

/** The row of a window whose last reading is `reading`; an invalidation makes it a gap with that cause. */
export const makeReadingRow = (identity: RowIdentity, span: RowSpan, reading: Reading): Row => ({
  table: LAYERS[identity.layer].table,
  at: span.at,
  texts: keepTexts({
    listing: formatListingId(identity.venue, identity.symbol),
    venue: identity.venue,
    status: reading.valid ? 'present' : 'missing',
    gap_cause: reading.gap_cause,
    horizon_source: reading.horizon_source,
    anchor: reading.anchor,
    conn: reading.conn_id,
    quantity_unit: reading.quantity_unit,
    null_reasons: Object.keys(reading.null_reasons).length === 0 ? null : JSON.stringify(reading.null_reasons),
  }),
  instants: keepPresent<Micros>({
    from_at: span.from,
    venue_ts: reading.venue_ts,
    received_at: reading.received_at,
    recorded_at: reading.recorded_at,
    valid_until: reading.valid_until,
    ...reading.instants,
  }),
  integers: { src_offset: span.srcOffset, ...(reading.horizon_ms === null ? {} : { horizon_ms: reading.horizon_ms }) },
  figures: listFigures(reading),
  flags: { late: span.late ?? false },
});

/** The row of windows without a reading. */
export const makeGapRow = (identity: RowIdentity, span: RowSpan, cause: GapCause): Row => ({
  table: LAYERS[identity.layer].table,
  at: span.at,
  texts: {
    listing: formatListingId(identity.venue, identity.symbol),
    venue: identity.venue,
    status: 'missing',
    gap_cause: cause,
  },
  instants: { from_at: span.from },
  integers: { src_offset: span.srcOffset },
  figures: {},
  flags: { late: false },
});

export type TaskPlace = {
  readonly venue: string;
  readonly task: string;
  readonly srcOffset: number;
  readonly recordedAt: Micros;
};

/** The row of an ended alive span. Current spans are not final and have no row. */
export const makeSpanRow = (place: TaskPlace, span: Span): Row => ({
  table: 'connections',
  at: span.from,
  texts: keepTexts({ venue: place.venue, task: place.task, conn: span.conn_id, slot: span.slot, cause: span.cause }),
  instants: keepPresent<Micros>({ to_at: span.to, recorded_at: place.recordedAt }),
  integers: { src_offset: place.srcOffset },
  figures: {},
  flags: {},
});

const RULES = ['contract_size', 'multiplier', 'tick_size', 'lot_size', 'min_qty', 'min_notional'] as const;

export const makeListingRow = (place: TaskPlace, version: ListingVersion): Row => {
  const values = version.record.values;
  return {
    table: 'listings',
    at: version.written_at,
    texts: keepTexts({
      listing: formatListingId(version.venue, version.venue_symbol),
      venue: version.venue,
      venue_symbol: version.venue_symbol,
      instrument: values.instrument,
      base: values.base,
      quote: values.quote,
      venue_kind: values.venue_kind,
      status: values.status,
      quantity_unit: values.quantity_unit,
      oi_sides: values.oi_sides,
      funding_interval: values.funding_interval,
      record: JSON.stringify(version.record),
    }),
    instants: keepPresent<Micros>({
      listed_at: values.listed_at,
      first_seen_at: version.first_seen_at,
      delisted_at: version.delisted_at,
    }),
    integers: { src_offset: place.srcOffset },
    figures: keepPresent<Digits>(Object.fromEntries(RULES.map((rule) => [rule, values[rule]]))),
    flags: {},
  };
};

export const makeCapabilityRow = (place: TaskPlace, version: CapabilityVersion): Row => ({
  table: 'capabilities',
  at: version.written_at,
  texts: { venue: version.venue, task: place.task, layers: JSON.stringify(version.layers) },
  instants: {},
  integers: { src_offset: place.srcOffset },
  figures: {},
  flags: {},
});

type EventSource = {
  readonly venue: string;
  readonly symbol: string;
  readonly id: string;
  readonly connId: string;
  readonly recordedAt: Micros;
  readonly srcOffset: number;
  readonly late: boolean;
};

/** The row of a trade or liquidation. */
export const makeEventRow = (
  table: EventTable,
  source: EventSource,
  { values, venue_ts, received_at }: TradeRecord | LiquidationRecord,
): Row => ({
  table,
  at: received_at,
  texts: keepTexts({
    listing: formatListingId(source.venue, source.symbol),
    venue: source.venue,
    status: 'present',
    id: source.id,
    side: values.side,
    price_kind: 'price_kind' in values ? values.price_kind : null,
    quantity_unit: values.quantity_unit,
    conn: source.connId,
  }),
  instants: keepPresent<Micros>({ venue_ts, recorded_at: source.recordedAt }),
  integers: { src_offset: source.srcOffset },
  figures: { price: values.price, quantity: values.quantity },
  flags: { late: source.late },
});

/** The row of a stretch `(from, at]` in which no event could be received. */
export const makeEventGapRow = (
  table: EventTable,
  { venue, symbol }: { readonly venue: string; readonly symbol: string },
  gap: {
    readonly from: Micros;
    readonly at: Micros;
    readonly cause: GapCause;
    readonly srcOffset: number;
    /** For an unsealed gap: the end of the newest window when it was published. */
    readonly announcedAt?: Micros;
  },
): Row => ({
  table,
  at: gap.at,
  texts: {
    listing: formatListingId(venue, symbol),
    venue,
    status: 'missing',
    gap_cause: gap.cause,
    id: `gap.${gap.from}`,
  },
  instants: { from_at: gap.from, ...(gap.announcedAt === undefined ? {} : { announced_at: gap.announcedAt }) },
  integers: { src_offset: gap.srcOffset },
  figures: {},
  flags: { late: false },
});

/** A sealed candle of any timeframe: present, proved empty (volume 0, no prices), or a gap with its cause. */
export type CandleRow = {
  readonly openTime: Micros;
  readonly closeTime: Micros;
  readonly timeframe: Timeframe;
  /** The record whose stamps the row has; null for gaps and proved empty minutes. */
  readonly minute: Minute | null;
  readonly figures: CandleFigures;
  /** Its minutes have different units, so its volume is unknown. */
  readonly unitsDiffer?: true;
  readonly trades: number | null;
  readonly gapCause: GapCause | null;
  readonly counted: { readonly expected: number; readonly present: number; readonly noTrades: number };
};

const toFigures = ({ figures }: CandleRow): Record<string, Digits> => {
  const kept: Record<string, Digits> = {};
  for (const name of CANDLE_FIGURES) {
    const digits = figures[name];
    if (digits !== null && digits !== undefined) kept[name] = digits;
  }
  return kept;
};

/** A period without trades has no prices (H-12, H-16c). */
const formatNullReasons = ({ gapCause, figures, unitsDiffer }: CandleRow): string | null => {
  if (gapCause !== null) return null;
  const reasons: Record<string, string> = {};
  for (const name of CANDLE_PRICES)
    if (figures[name] === null || figures[name] === undefined) reasons[name] = 'no_value';
  if (unitsDiffer) reasons['volume'] = 'unit_unknown';
  return Object.keys(reasons).length === 0 ? null : JSON.stringify(reasons);
};

/** The listing and price of a candle. */
export type CandleIdentity = { readonly venue: string; readonly symbol: string; readonly priceType: PriceType };

/** `sealedBy`: the raw offset that sealed the minute, which identifies a row without a single source record. */
export const makeCandleRow = (identity: CandleIdentity, candle: CandleRow, sealedBy?: number): Row => {
  const { minute, counted } = candle;
  const isOwn = candle.timeframe === BASE_TIMEFRAME && minute !== null;
  return {
    table: CANDLES.table,
    at: candle.openTime,
    texts: keepTexts({
      listing: formatListingId(identity.venue, identity.symbol),
      venue: identity.venue,
      status: candle.gapCause === null ? 'present' : 'missing',
      gap_cause: candle.gapCause,
      price_type: identity.priceType,
      timeframe: candle.timeframe,
      quantity_unit: candle.unitsDiffer ? null : (minute?.values.volume_unit ?? null),
      conn: isOwn ? minute.connId : null,
      null_reasons: formatNullReasons(candle),
    }),
    instants: keepPresent<Micros>({
      close_time: candle.closeTime,
      venue_ts: isOwn ? minute.venue_ts : null,
      received_at: minute?.received_at ?? null,
      recorded_at: minute?.recordedAt ?? null,
    }),
    integers: {
      ...(candle.trades === null ? {} : { trades: candle.trades }),
      minutes_expected: counted.expected,
      minutes_present: counted.present,
      minutes_no_trades: counted.noTrades,
      src_offset: isOwn ? minute.srcOffset : (sealedBy ?? -1),
    },
    figures: toFigures(candle),
    flags: { late: minute?.late ?? false },
  };
};
