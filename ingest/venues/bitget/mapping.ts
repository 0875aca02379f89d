// Shared by the mappers of Bitget's messages: the message's source, its names and stamps, and the record around its values.
import type { Micros, NormalisedRecord } from '../../../schemas/records.ts';
import { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { bindRecords } from '../shared/shape.ts';
import { type Fields, readFields, readList, readMsOrNull, readText } from '../shared/wire.ts';
import { type BookIds, isDated } from './symbols.ts';

export type MessageSource = {
  readonly receivedAt: Micros;
  /** The request's query; empty for frames. */
  readonly query: URLSearchParams;
  /** The message's own stamp (frames' `ts`, answers' `requestTime`), milliseconds. */
  readonly sentAt: unknown;
  /** Ids of the first book in the message. */
  readonly ids: BookIds;
};

export type Stamps = { readonly symbol: string; readonly venueTs: Micros | null; readonly source: MessageSource };

const toRecord = bindRecords('bitget');

export const toMapped = <R extends NormalisedRecord>(
  { symbol, venueTs, source }: Stamps,
  layer: R['layer'],
  values: R['values'],
  element: unknown,
): Mapped => toRecord<R>({ symbol, venueTs, receivedAt: source.receivedAt }, layer, values, element);

/** Null when the symbol is no perpetual. */
export const readSymbol = (value: unknown): string | null => {
  const symbol = readText(value, 'symbol');
  return isDated(symbol) ? null : symbol;
};

/** The element's own symbol, else the requested one. */
export const readAskedSymbol = (element: Fields, { query }: MessageSource): string | null => {
  const symbol = element.symbol ?? query.get('symbol');
  if (symbol === null || symbol === undefined || symbol === '')
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no symbol and its request is not known');
  return readSymbol(symbol);
};

export const readElements = (value: unknown): readonly Fields[] =>
  readList(value, 'data').map((element) => readFields(element, 'element'));

/** The value's own stamp, else the message's. */
export const readStamp = (value: unknown, { sentAt }: MessageSource): Micros | null =>
  readMsOrNull(value, 'ts') ?? readMsOrNull(sentAt, 'ts');

/** `buy`, `Buy`, `SELL`: the case depends on the endpoint. */
export const SIDES = ['buy', 'sell'] as const;
export const toSideWord = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value);
