// Arbitrary values of every subject, typed as the code has them.
import fc, { type Arbitrary } from 'fast-check';
import { type Codec, codecs, makeMdCodec } from '../../../schemas/avro/codec.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { Timeframe } from '../../../schemas/layers/candle.ts';
import type { ListingValues } from '../../../schemas/records.ts';
import type {
  BookLevels,
  CapabilityVersion,
  CheckpointEntry,
  DeadLetter,
  LayerCapability,
  ListingVersion,
  LiveEntry,
  MdLayer,
  MdRecord,
  RawMessage,
  Reading,
  Row,
  RowEntry,
  Span,
  StateEntry,
  WatermarkEntry,
} from '../../../schemas/topics.ts';
import { LIVE_KINDS } from '../../../schemas/topics.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const digits = fc.stringMatching(/^-?[1-9][0-9]{0,8}(\.[0-9]{0,5}[1-9])?$/);
const micros = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) * 1_000 });
/** avsc refuses a long at the very end of the safe integers; offsets and microseconds stay far below. */
const long = fc.integer({ min: 0, max: 2 ** 52 });
const int = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const bytes = fc.uint8Array({ maxLength: 64 });
const orNull = <T>(value: Arbitrary<T>): Arbitrary<T | null> => fc.option(value);
const map = <T>(value: Arbitrary<T>): Arbitrary<Record<string, T>> =>
  fc.dictionary(
    fc.stringMatching(/^[a-z_0-9]{1,12}$/).filter((key) => key !== '__proto__'),
    value,
    { maxKeys: 4, noNullPrototype: true },
  );
/** Readers take every text, not only the causes of today. */
const cause = text as Arbitrary<GapCause>;
const pair = fc.tuple(digits, digits);

const bookLevels: Arbitrary<BookLevels> = fc.record({
  bids: fc.array(pair, { maxLength: 3 }),
  asks: fc.array(pair, { maxLength: 3 }),
  sequence: orNull(text),
  collected_bids: int,
  collected_asks: int,
});
const reading: Arbitrary<Reading> = fc.record({
  layer: fc.constantFrom('mark', 'funding', 'book', 'venue_depth'),
  rev: long,
  valid: fc.boolean(),
  gap_cause: orNull(cause),
  venue_ts: orNull(micros),
  received_at: micros,
  recorded_at: micros,
  conn_id: text,
  horizon_ms: orNull(long),
  horizon_source: orNull(text),
  anchor: fc.constantFrom('venue', 'receipt'),
  valid_until: orNull(micros),
  values: map(digits),
  null_reasons: map(text),
  instants: map(micros),
  quantity_unit: orNull(text),
  book: orNull(bookLevels),
  raw: orNull(text),
});
const span: Arbitrary<Span> = fc.record({
  conn_id: text,
  slot: text,
  from: micros,
  to: orNull(micros),
  cause: orNull(cause),
});
const row: Arbitrary<Row> = fc.record({
  table: text,
  at: micros,
  texts: map(text),
  instants: map(micros),
  integers: map(long),
  figures: map(digits),
  flags: map(fc.boolean()),
});
const transform = fc.record({ venue_field: text, transform: text });
const listingValues: Arbitrary<ListingValues> = fc.record({
  instrument: text,
  venue_symbol: text,
  base: text,
  quote: text,
  base_venue_alias: orNull(text),
  kind: fc.constant('perpetual'),
  venue_kind: orNull(fc.constantFrom('linear', 'inverse', 'quanto')),
  pair: orNull(text),
  post_only: orNull(fc.boolean()),
  status: text,
  contract_size: orNull(digits),
  multiplier: orNull(digits),
  tick_size: orNull(digits),
  lot_size: orNull(digits),
  min_qty: orNull(digits),
  min_notional: orNull(digits),
  price_decimals: orNull(int),
  qty_decimals: orNull(int),
  units: fc.record({
    tick_size: orNull(text),
    lot_size: orNull(text),
    min_qty: orNull(text),
    min_notional: orNull(text),
    contract_size: orNull(text),
  }),
  quantity_unit: fc.constantFrom('base', 'contracts', 'quote'),
  funding_interval: orNull(text),
  funding_interval_source: orNull(fc.constantFrom('venue', 'documented', 'measured', 'assumed')),
  funding_normalisation: orNull(transform),
  rules_normalisation: map(transform),
  candles: fc.record({
    base_timeframe: fc.constant('1m'),
    price_types: fc.subarray(['trade', 'mark', 'index']),
    timeframes: fc.array(text as Arbitrary<Timeframe>, { maxLength: 3 }),
  }),
  not_published: fc.array(text, { maxLength: 2 }),
  bands: fc.array(text, { maxLength: 2 }),
  oi_sides: orNull(fc.constantFrom('one', 'two')),
  listed_at: orNull(micros),
  delisted_at: orNull(micros),
});
export const listing: Arbitrary<ListingVersion> = fc.record({
  venue: text,
  venue_symbol: text,
  written_at: micros,
  first_seen_at: micros,
  delisted_at: orNull(micros),
  record: fc.record({
    layer: fc.constant('listing'),
    venue: text,
    venue_symbol: text,
    venue_ts: orNull(micros),
    received_at: micros,
    values: listingValues,
    off: fc.array(text),
  }),
  raw: orNull(text),
});
const layerCapability: Arbitrary<LayerCapability> = fc.record({
  policy: fc.constantFrom('on', 'off', 'not_published'),
  cadence_ms: orNull(long),
  horizon_ms: orNull(long),
  horizon_source: orNull(text),
  completeness: orNull(fc.constantFrom('full' as const, 'sampled' as const)),
});
const capability: Arbitrary<CapabilityVersion> = fc.record({
  venue: text,
  name: text,
  written_at: micros,
  layers: map(layerCapability),
});

const raw: Arbitrary<RawMessage> = fc.record({
  slot: text,
  conn_id: text,
  seq: long,
  received_at: micros,
  kind: fc.constantFrom('frame', 'response', 'open', 'lost', 'tick', 'capability'),
  request: orNull(text),
  payload: bytes.map((b) => Buffer.from(b)),
});
const live: Arbitrary<LiveEntry> = fc.record({
  offset: long,
  index: int,
  recorded_at: micros,
  kind: fc.constantFrom(...LIVE_KINDS),
  symbol: orNull(text),
  reading: orNull(reading),
  span: orNull(span),
  row: orNull(row),
  listing: orNull(listing),
  capability: orNull(capability),
  watermark: orNull(micros),
});
const state: Arbitrary<StateEntry> = fc.record({
  round: long,
  kind: fc.constantFrom('reading', 'connection', 'listing', 'capability', 'marker'),
  symbol: orNull(text),
  reading: orNull(reading),
  span: orNull(span),
  listing: orNull(listing),
  capability: orNull(capability),
  marker: orNull(fc.record({ entries: long, watermark: micros, live_offset: long })),
});
const rows: Arbitrary<RowEntry> = fc.record({
  offset: long,
  index: int,
  kind: fc.constantFrom('row', 'watermark'),
  row: orNull(row),
  watermark: orNull(micros),
});
const checkpoint: Arbitrary<CheckpointEntry> = fc.record({
  round: long,
  offset: long,
  kind: fc.constantFrom('item', 'marker'),
  key: orNull(text),
  body: orNull(text),
  marker: orNull(fc.record({ items: long, version: int, watermark: micros })),
});
const watermark: Arbitrary<WatermarkEntry> = fc.record({
  task: text,
  kind: fc.constantFrom('task', 'checkpoint', 'history'),
  watermark: micros,
  offset: long,
  positions: map(long),
});
const deadLetter: Arbitrary<DeadLetter> = fc.record({
  source: text,
  partition: int,
  offset: long,
  recorded_at: micros,
  code: text,
  message: text,
  payload: bytes.map((b) => Buffer.from(b)),
});

const band = fc.record({
  reference: digits,
  bid: orNull(digits),
  ask: orNull(digits),
  bid_value: orNull(digits),
  ask_value: orNull(digits),
  bid_levels: orNull(int),
  ask_levels: orNull(int),
  complete: fc.record({ bid: fc.boolean(), ask: fc.boolean() }),
});
/** `values` of each layer, member by member as the records page types them. */
const MD_VALUES: Readonly<Record<MdLayer, Arbitrary<object>>> = {
  ticker: fc.record({ last: orNull(digits) }),
  mark: fc.record({ mark: orNull(digits), index: orNull(digits) }),
  funding: fc.record({ funding: orNull(digits), funding_interval_ms: orNull(long), next_funding_at: orNull(micros) }),
  oi: fc.record({ oi: orNull(digits), oi_unit: text }),
  book: fc.record({
    bids: fc.array(pair, { maxLength: 3 }),
    asks: fc.array(pair, { maxLength: 3 }),
    sequence: orNull(text),
    collected_levels: fc.record({ bids: int, asks: int }),
    bands: map(band),
  }),
  stats: fc.record({
    volume_24h: orNull(digits),
    volume_unit: text,
    turnover_24h: orNull(digits),
    change_24h: orNull(digits),
  }),
  trade: fc.record({ id: orNull(text), side: text, price: digits, quantity: digits, quantity_unit: text }),
  liquidation: fc.record({
    id: orNull(text),
    side: text,
    price: digits,
    price_kind: text,
    quantity: digits,
    quantity_unit: text,
  }),
  candle: fc.record({
    open_time: micros,
    price_type: text,
    timeframe: fc.constant('1m'),
    open: orNull(digits),
    high: orNull(digits),
    low: orNull(digits),
    close: orNull(digits),
    volume: orNull(digits),
    volume_unit: orNull(text),
    turnover: orNull(digits),
    trades: orNull(long),
    closed: orNull(fc.boolean()),
  }),
  gap: fc.record({ scope: text, cause: text, of: fc.array(text, { maxLength: 3 }) }),
};
const mdRecord = (layer: MdLayer, values: Arbitrary<object>): Arbitrary<MdRecord> =>
  fc.record({
    layer: fc.constant(layer),
    venue: text,
    venue_symbol: orNull(text),
    venue_ts: orNull(micros),
    received_at: micros,
    recorded_at: micros,
    conn_id: text,
    src: fc.record({ partition: int, offset: long }),
    values,
  });

export type Subject = { readonly codec: Codec<unknown>; readonly values: Arbitrary<unknown> };
const subject = <T>(codec: Codec<T>, values: Arbitrary<T>): Subject => ({ codec: codec as Codec<unknown>, values });

export const SUBJECTS: readonly Subject[] = [
  subject(codecs.raw, raw),
  subject(codecs.live, live),
  subject(codecs.state, state),
  subject(codecs.rows, rows),
  subject(codecs.checkpoints, checkpoint),
  subject(codecs.watermark, watermark),
  subject(codecs.deadLetter, deadLetter),
  subject(codecs.listing, listing),
  subject(codecs.capability, capability),
  ...Object.entries(MD_VALUES).map(([layer, values]) => {
    const name = layer as MdLayer;
    return subject(makeMdCodec(name), mdRecord(name, values));
  }),
];
