// Shared by the mappers of Bybit's messages: the message's source, its stamp, and the record around its values.
import type { Digits, Micros } from '../../../schemas/records.ts';
import type { MapContext, MapState } from '../contract/mapping.ts';
import { bindMapped } from '../shared/mapped.ts';
import { readAmountOrNull, readText } from '../shared/wire.ts';
import { isPerpetual, toQuantityUnit } from './symbols.ts';

export type MessageSource = {
  readonly receivedAt: Micros;
  readonly context: MapContext;
  readonly state: MapState;
  /** The request's query; empty for frames. */
  readonly query: URLSearchParams;
};

export const toMapped = bindMapped('bybit');

/** Symbol of an element, null when it is no perpetual. */
export const readSymbol = (value: unknown): string | null => {
  const symbol = readText(value, 'symbol');
  return isPerpetual(symbol) ? symbol : null;
};

/** The turnover of an inverse listing counts the base asset: it is no quote amount. */
export const readTurnover = (symbol: string, value: unknown, name: string): Digits | null =>
  toQuantityUnit(symbol) === 'base' ? readAmountOrNull(value, name) : null;
