// The minutes that a request of candles covers: bounds in milliseconds as whole minutes.
import { MICROS_PER_MS, MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Micros, PriceType } from '../../../schemas/records.ts';
import type { VenueMessage } from '../contract/listings.ts';
import type { CoveredMinutes } from '../contract/mapping.ts';
import { parseRequest } from './wire.ts';

type SentRequest = { readonly path: string; readonly query: URLSearchParams };

/** The request of an answer whose body contains `member` (where it has its candles); null otherwise. */
export const readRequest = ({ kind, request, payload }: VenueMessage, member = ''): SentRequest | null => {
  if (kind !== 'response') return null;
  const body = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return body.includes(member) ? parseRequest(request) : null;
};

/** A number of the query; null when absent. */
export const readNumber = (query: URLSearchParams, name: string): number | null => {
  const text = query.get(name);
  return text === null || text === '' ? null : Number(text);
};

type Bounds = {
  /** Inclusive bounds of the minutes' open instants. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Maximum number of candles in one answer. */
  readonly limit: number;
};

const toWholeMinutes = (ms: number | null, round: (minutes: number) => number): Micros | null =>
  ms === null ? null : round(ms / MS_PER_MINUTE) * MS_PER_MINUTE * MICROS_PER_MS;

/** Null when a bound is no instant. */
export const toAsked = (
  symbols: readonly string[],
  price_type: PriceType,
  { fromMs, toMs, limit }: Bounds,
): CoveredMinutes | null => {
  if ([fromMs, toMs, limit].some(Number.isNaN)) return null;
  return { symbols, price_type, from: toWholeMinutes(fromMs, Math.ceil), to: toWholeMinutes(toMs, Math.floor), limit };
};

/** `by` later; null stays null. */
export const shift = (ms: number | null, by: number): number | null => (ms === null ? null : ms + by);
