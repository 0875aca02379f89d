// Trades, liquidations and candles as streams send them: rows of the log, as they are received (ST-03 `event`, `candle`).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, writeJson } from '../../schemas/json.ts';
import { CANDLE_PRICES } from '../../schemas/layers/candle.ts';
import { ROW_STREAMS, type RowLayer } from '../../schemas/layers/index.ts';
import type { Micros, PriceType } from '../../schemas/records.ts';
import type { ListingVersion, LiveEntry, Row } from '../../schemas/topics.ts';
import { explainMissing, toNoVolumeReason } from '../history/candle-rows.ts';
import { fromRow, makeEventObject } from '../history/event-rows.ts';
import { findVersionAt, type LiveListing } from '../live/listing-book.ts';
import { findMarkNow } from '../live/listing-view.ts';
import { convertVolume, type Mark, toFigureOrNull, toOptional } from '../live/members.ts';
import type { LiveMemory } from '../live/memory.ts';
import { toListingKey } from './keys.ts';
import type { Format } from './request.ts';
import type { Stream } from './stream.ts';

const LAYER_OF: ReadonlyMap<string, RowLayer> = new Map(
  [...ROW_STREAMS].map(([streamed, { table }]) => [table, streamed] as const),
);

/** A candle is sent when it is complete; its absence is decided by its seal. */
const isDecided = (kind: LiveEntry['kind'], { texts }: Row): boolean =>
  kind === 'sealed' || (kind === 'provisional' && texts.gap_cause === undefined);

/** The layer of an entry that streams send as a row; null for all others. Late rows are part of no answer (N-11). */
export const findRowLayer = ({ kind, row }: LiveEntry): RowLayer | null => {
  if (row === null || row.flags.late === true) return null;
  const layer = LAYER_OF.get(row.table) ?? null;
  return kind === 'event' || (layer === 'candles' && isDecided(kind, row)) ? layer : null;
};

type Kind = { readonly layer: RowLayer; readonly timeframe: string; readonly priceType: PriceType };

const readKind = (layer: RowLayer, { texts }: Row): Kind => ({
  layer,
  timeframe: texts.timeframe ?? '1m',
  priceType: (texts.price_type ?? 'trade') as PriceType,
});

type Context = {
  readonly listing: LiveListing;
  readonly version: ListingVersion;
  readonly format: Format;
  /** The mark of the listing that volumes of candles convert with (N-07). */
  readonly mark: () => Mark | null;
};

const count = (value: number | undefined): JsonValue => makeRawJson(String(value ?? 0));

/** A candle, a proved empty one, or a gap (H-11, H-12). */
const makeCandleObject = (row: Row, context: Context): JsonValue => {
  const { volume: digits, turnover } = row.figures;
  const { version, format, mark } = context;
  const { volume, conversion } =
    digits === undefined
      ? { volume: null }
      : convertVolume({ digits, quantityUnit: row.texts.quantity_unit ?? null, version, units: format.units, mark });
  const reasons: Record<string, string> = JSON.parse(row.texts.null_reasons ?? '{}') as Record<string, string>;
  const { gap_cause: cause } = row.texts;
  const isGap = cause !== undefined;
  if (digits !== undefined && volume === null) reasons.volume = 'unit_unknown';
  if (digits === undefined && !isGap) reasons.volume ??= toNoVolumeReason(readKind('candles', row).priceType);
  return {
    open_time: formatInstant(row.at),
    close_time: formatInstantOrNull(row.instants.close_time ?? null),
    status: row.texts.status ?? null,
    ...(isGap ? explainMissing(cause as GapCause, row.at, context.version.first_seen_at) : {}),
    received_at: formatInstantOrNull(row.instants.received_at ?? null),
    ...Object.fromEntries(CANDLE_PRICES.map((name) => [name, toFigureOrNull(row.figures[name] ?? null)])),
    volume: toFigureOrNull(volume),
    turnover: turnover === undefined ? undefined : toFigureOrNull(turnover),
    trades: row.integers.trades === undefined ? undefined : count(row.integers.trades),
    base_candles: {
      expected: count(row.integers.minutes_expected),
      present: count(row.integers.minutes_present),
      no_trades: count(row.integers.minutes_no_trades),
    },
    conversion,
    null_reasons: toOptional(reasons),
  };
};

const formatRow = (row: Row, { layer }: Kind, context: Context): string => {
  const object =
    layer === 'candles'
      ? makeCandleObject(row, context)
      : makeEventObject(fromRow(row), context.version, context.format.units);
  return writeJson(object, { numberFormat: context.format.numberFormat });
};

/** Data of one event: a single candle, or consecutive trades or liquidations. */
const writeData = (rows: readonly string[], { layer, timeframe, priceType }: Kind, context: Context): string => {
  const { venue, venueSymbol } = context.listing;
  const head = { venue, venue_symbol: venueSymbol, instrument: context.version.record.values.instrument };
  const body: JsonValue =
    layer === 'candles'
      ? { ...head, timeframe, price_type: priceType, row: makeRawJson(rows[0] ?? '{}') }
      : { ...head, layer, rows: rows.map(makeRawJson) };
  return writeJson(body, {});
};

const wants = ({ request }: Stream, { layer, timeframe }: Kind): boolean =>
  request.rows.includes(layer) && (layer !== 'candles' || timeframe === request.timeframe);

type Batch = {
  readonly kind: Kind;
  readonly context: Context;
  readonly rows: string[];
  readonly streams: Set<Stream>;
};

/** `findMark`: finds the mark that a replayed row converts with; the present one when left out. */
type Receivers = {
  readonly streams: Iterable<Stream>;
  readonly now: Micros;
  readonly findMark?: (listing: LiveListing) => Mark | null;
};

/** A row as it is sent: consecutive rows of one `place` are one event. */
type PlacedRow = {
  readonly venue: string;
  readonly symbol: string | null;
  readonly row: Row;
  readonly kind: Kind;
  readonly place: string;
};

/** Null: the entry is not sent to any stream. Candles are sent one per event. */
export const placeRow = (venue: string, entry: LiveEntry): PlacedRow | null => {
  const [layer, { row, symbol }] = [findRowLayer(entry), entry];
  if (layer === null || row === null) return null;
  const kind = readKind(layer, row);
  const own = layer === 'candles' ? `${kind.timeframe}|${kind.priceType}|${row.at}` : '';
  return { venue, symbol, row, kind, place: `${venue}|${symbol}|${layer}|${own}` };
};

/** Rows on their way to the streams that follow their listing: a text is made once a format, events of one listing go together. */
export class RowBatches {
  readonly #live: LiveMemory;
  #batches = new Map<string, Batch>();
  /** Where the rows belong that have gathered. */
  #place = '';

  constructor(live: LiveMemory) {
    this.#live = live;
  }

  /** Whether collected rows cannot share an event with this row, which one of the streams follows: they are a separate event before it. */
  holdsOthers({ kind, place }: PlacedRow, streams: Iterable<Stream>): boolean {
    if (this.#batches.size === 0 || place === this.#place) return false;
    for (const stream of streams) if (wants(stream, kind)) return true;
    return false;
  }

  add({ venue: code, symbol, row, kind, place }: PlacedRow, { streams, now, findMark }: Receivers): void {
    const sent = new Set<string>();
    for (const stream of streams) {
      const selected = stream.selected.get(toListingKey(code, symbol ?? ''));
      if (selected === undefined || !wants(stream, kind)) continue;
      const { listing } = selected;
      const { format } = stream.request;
      const key = `${place}|${format.key}`;
      this.#place = place;
      let batch = this.#batches.get(key);
      if (batch === undefined) {
        const version = findVersionAt(listing.versions, row.instants.recorded_at ?? row.at) ?? selected.version;
        const mark = (): Mark | null =>
          findMark === undefined
            ? findMarkNow(this.#live, listing, { at: now, bounds: format.bounds })
            : findMark(listing);
        batch = { kind, context: { listing, version, format, mark }, rows: [], streams: new Set() };
        this.#batches.set(key, batch);
      }
      batch.streams.add(stream);
      if (!sent.has(key)) batch.rows.push(formatRow(row, kind, batch.context));
      sent.add(key);
    }
  }

  /** Adds what has gathered to the steps of the streams; false when there is nothing. */
  send(): boolean {
    if (this.#batches.size === 0) return false;
    for (const { kind, context, rows, streams } of this.#batches.values()) {
      const data = writeData(rows, kind, context);
      for (const stream of streams) stream.add(kind.layer === 'candles' ? 'candle' : 'event', data);
    }
    this.#batches = new Map();
    return true;
  }
}
