// Shared by the mappers of Binance's messages: the message's source, its symbol, its stamp, and the record around its values.
import type { Digits, Micros, NormalisedRecord } from '../../../schemas/records.ts';
import { VenueError } from '../contract/listings.ts';
import type { MapContext, Mapped } from '../contract/mapping.ts';
import { type Fields, isFields, makeRefusal, readAmountOrNull, readMsOrNull, readText } from '../shared/wire.ts';
import { isDated, type Market, toMarket } from './symbols.ts';

export type MessageSource = {
  /** Id of the venue that publishes this dialect. */
  readonly venue: string;
  readonly receivedAt: Micros;
  readonly context: MapContext;
  /** Of the request; empty for frames. */
  readonly query: URLSearchParams;
  /** Of the request; null for frames. */
  readonly market: Market | null;
  /** Name of the wrapped frame's stream; empty for bare frames and answers. */
  readonly stream: string;
};

export type Mapper = (element: Fields, source: MessageSource) => readonly Mapped[];

/** The body of an answer. Throws a refusal when the venue refuses the request. */
export const readAnswer = (body: unknown): unknown => {
  if (isFields(body) && typeof body.code === 'number' && 'msg' in body) throw makeRefusal(String(body.msg));
  return body;
};

/** Symbol of an element, null when the instrument is not perpetual. */
export const readSymbol = (value: unknown): string | null => {
  const symbol = readText(value, 'symbol');
  return isDated(symbol) ? null : symbol;
};

/** The element's own symbol, else the requested one. */
export const readAskedSymbol = (element: Fields, { query, stream }: MessageSource): string | null => {
  const symbol =
    element.symbol ??
    query.get('symbol')?.toUpperCase() ??
    (stream === '' ? undefined : stream.split('@')[0]?.toUpperCase());
  if (symbol === undefined || symbol === '')
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no symbol and its request is not known');
  return readSymbol(symbol);
};

/** What a record is about, and the piece of the message that it is read from. */
export type Subject = {
  readonly symbol: string;
  readonly venueTs: Micros | null;
  readonly source: MessageSource;
  readonly element: unknown;
};

export const toMapped = <R extends NormalisedRecord>(
  { symbol, venueTs, source, element }: Subject,
  layer: R['layer'],
  values: R['values'],
): Mapped => ({
  record: {
    layer,
    venue: source.venue,
    venue_symbol: symbol,
    venue_ts: venueTs,
    received_at: source.receivedAt,
    values,
  } as NormalisedRecord,
  element,
});

/** The transaction time `T` of a message, else its event time `E` (records.md). */
export const readStamp = (element: Fields): Micros | null =>
  readMsOrNull(element.T, 'T') ?? readMsOrNull(element.E, 'E');

/** COIN-M's `q` is a volume in base, no turnover in quote. */
export const readTurnover = (symbol: string, value: unknown, name: string): Digits | null =>
  toMarket(symbol) === 'usdm' ? readAmountOrNull(value, name) : null;
