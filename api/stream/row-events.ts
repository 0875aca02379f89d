// Trades, liquidations and decided candles as a stream tells them: rows of the log, each once, as they come (ST-03 `event`, `candle`).
import { formatInstant } from '../../schemas/instants.ts';
import { byKey, type JsonValue, rawJson, writeJson } from '../../schemas/json.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { ListingVersion, LiveEntry, Row } from '../../schemas/topics.ts';
import { convertQuantity, type QuantityUnit, type UnitsMode } from '../../schemas/units.ts';
import { figureOrNull } from '../live/layer-object.ts';
import { type LiveListing, versionAt } from '../live/listing-book.ts';
import { presentMark, venueView } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Format, RowLayer } from './request.ts';
import type { Stream } from './stream.ts';
import { listingKey } from './track-board.ts';

const LAYER_OF: Readonly<Record<string, RowLayer>> = {
  candles: 'candles',
  liquidations: 'liquidation',
  trades: 'trade',
};
const PRICES = ['open', 'high', 'low', 'close'] as const;

/** The layer of an entry that streams tell as a row; null for all others. Late rows are part of no answer (N-11). */
export const rowLayerOf = ({ kind, row }: LiveEntry): RowLayer | null => {
  if (row === null || row.flags.late === true) return null;
  const layer = LAYER_OF[row.table] ?? null;
  // Provisional candles may still change; a sealed one is decided.
  return kind === 'event' || (kind === 'sealed' && layer === 'candles') ? layer : null;
};

type Context = {
  readonly listing: LiveListing;
  readonly version: ListingVersion;
  readonly format: Format;
  /** The listing's present mark, for volumes of candles (N-07). */
  readonly mark: () => Digits | null;
};

const instantOrNull = (at: Micros | undefined): string | null => (at === undefined ? null : formatInstant(at));

const convert = (digits: Digits, row: Row, context: Context & { readonly price: Digits | null; mode: UnitsMode }) => {
  const listing = context.version.record.values;
  const unit = (row.texts.quantity_unit ?? listing.quantity_unit) as QuantityUnit;
  return convertQuantity({ digits, unit, mode: context.mode, listing, mark: context.price });
};

/** A trade or liquidation, converted at its own price (H-15, H-16e). */
const eventObject = (row: Row, context: Context): JsonValue => {
  const { price = '0', quantity = '0' } = row.figures;
  const asked = convert(quantity, row, { ...context, price, mode: context.format.units });
  const value = convert(quantity, row, { ...context, price, mode: 'quote' });
  const unknown = Object.entries({ quantity: asked, value }).filter(([, digits]) => digits === null);
  return {
    venue_ts: instantOrNull(row.instants.venue_ts),
    received_at: formatInstant(row.at),
    side: row.texts.side ?? null,
    price: figureOrNull(price),
    price_kind: row.texts.price_kind,
    quantity: figureOrNull(asked),
    value: figureOrNull(value),
    id: row.texts.id ?? null,
    null_reasons:
      unknown.length === 0 ? undefined : byKey(Object.fromEntries(unknown.map(([name]) => [name, 'unit_unknown']))),
  };
};

const count = (value: number | undefined): JsonValue => rawJson(String(value ?? 0));

/** A candle, a proved empty one, or a gap (H-11, H-12). */
const candleObject = (row: Row, context: Context): JsonValue => {
  const { volume, turnover } = row.figures;
  const asked =
    volume === undefined
      ? null
      : convert(volume, row, { ...context, price: context.mark(), mode: context.format.units });
  const reasons: Record<string, string> = JSON.parse(row.texts.null_reasons ?? '{}') as Record<string, string>;
  if (volume !== undefined && asked === null) reasons.volume = 'unit_unknown';
  const isGap = row.texts.gap_cause !== undefined;
  return {
    open_time: formatInstant(row.at),
    close_time: instantOrNull(row.instants.close_time),
    status: row.texts.status ?? null,
    reason: isGap ? 'gap' : undefined,
    gap_cause: row.texts.gap_cause,
    received_at: instantOrNull(row.instants.received_at),
    ...Object.fromEntries(PRICES.map((name) => [name, figureOrNull(row.figures[name] ?? null)])),
    volume: figureOrNull(asked),
    turnover: turnover === undefined ? undefined : figureOrNull(turnover),
    trades: row.integers.trades === undefined ? undefined : count(row.integers.trades),
    base_candles: {
      expected: count(row.integers.minutes_expected),
      present: count(row.integers.minutes_present),
      no_trades: count(row.integers.minutes_no_trades),
    },
    null_reasons: Object.keys(reasons).length === 0 ? undefined : byKey(reasons),
  };
};

const dataOf = (row: Row, layer: RowLayer, context: Context): string => {
  const { listing, version, format } = context;
  const { venue, venueSymbol } = listing;
  const head = { venue, venue_symbol: venueSymbol, instrument: version.record.values.instrument };
  const { timeframe = '1m', price_type: priceType = 'trade' } = row.texts;
  const body: JsonValue =
    layer === 'candles'
      ? { ...head, timeframe, price_type: priceType, row: candleObject(row, context) }
      : { ...head, layer, rows: [eventObject(row, context)] };
  return writeJson(body, { numberFormat: format.numberFormat });
};

const wants = ({ request }: Stream, layer: RowLayer, row: Row): boolean =>
  request.rows.includes(layer) && (layer !== 'candles' || row.texts.timeframe === request.timeframe);

/** Tells a row to those of the streams that follow its listing and layer; a text is made once a format. */
export const tellRow = (
  streams: Iterable<Stream>,
  { venue: code, entry }: { readonly venue: string; readonly entry: LiveEntry },
  { live, now }: { readonly live: LiveMemory; readonly now: Micros },
): void => {
  const [layer, { row, symbol }, venue] = [rowLayerOf(entry), entry, live.venue(code)];
  if (layer === null || row === null || venue === undefined) return;
  const texts = new Map<string, string>();
  for (const stream of streams) {
    const selected = stream.selected.get(listingKey(code, symbol ?? ''));
    if (selected === undefined || !wants(stream, layer, row)) continue;
    const { listing } = selected;
    const { format } = stream.request;
    const version = versionAt(listing.versions, row.instants.recorded_at ?? row.at) ?? selected.version;
    const mark = () =>
      presentMark(venueView(live, venue, now), listing, { at: now, bounds: format.bounds })?.digits ?? null;
    const data = texts.get(format.key) ?? dataOf(row, layer, { listing, version, format, mark });
    texts.set(format.key, data);
    stream.add(layer === 'candles' ? 'candle' : 'event', data);
  }
};
