// Shared by the mappers of Bitget's messages: the message's source, its names and stamps, and the record around its values.
import type { Micros } from '../../../schemas/records.ts';
import { VenueError } from '../contract/listings.ts';
import type { Mapped } from '../contract/mapping.ts';
import { mapEach } from '../shared/map-each.ts';
import { bindMapped, type Subject } from '../shared/mapped.ts';
import { type Fields, readFields, readList, readMsOrNull, readText } from '../shared/wire.ts';
import { isDated } from './symbols.ts';

export type MessageSource = {
  readonly receivedAt: Micros;
  /** The request's query; empty for frames. */
  readonly query: URLSearchParams;
  /** The message's own stamp (frames' `ts`, answers' `requestTime`), milliseconds. */
  readonly sentAt: unknown;
  readonly text: string;
};

type SubjectFields = { readonly symbol: string; readonly stamp: unknown; readonly element: unknown };

/** Stamped with the value's own stamp, else with the message's. */
export const toSubject = ({ symbol, stamp, element }: SubjectFields, source: MessageSource): Subject => ({
  symbol,
  venueTs: readMsOrNull(stamp, 'ts') ?? readMsOrNull(source.sentAt, 'ts'),
  receivedAt: source.receivedAt,
  element,
});

export const toMapped = bindMapped('bitget');

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

/** The records of a list's elements. */
export const mapElements = (value: unknown, map: (element: Fields) => readonly Mapped[]): readonly Mapped[] =>
  mapEach(readList(value, 'data'), (element) => map(readFields(element, 'element')));

/** `buy`, `Buy`, `SELL`: the case depends on the endpoint. */
export const SIDES = ['buy', 'sell'] as const;
export const toSideWord = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value);
