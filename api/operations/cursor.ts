// Page cursors: what of a request a cursor belongs to, and those of instruments, opaque to callers (V-05, AR-01, H-15).
import { createHash } from 'node:crypto';
import type { ApiError } from '../../schemas/errors.ts';
import type { Micros } from '../../schemas/records.ts';
import { compareBytes } from '../../schemas/text-order.ts';

/** Names what the pages of one list have in common. */
export const digestRequest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);

export const WRONG_CURSOR: ApiError = {
  code: 'DQL_JSON_SCHEMA',
  message: 'The cursor does not belong to this request.',
  hint: 'Send it with the request it was answered to, or leave it out.',
  path: '/cursor',
};

/** Cursor of instruments: the request, the pinned instant and the last listing given. */
export type Cursor = {
  readonly digest: string;
  readonly at: Micros;
  readonly venue: string;
  readonly venueSymbol: string;
};

export const writeCursor = ({ digest, at, venue, venueSymbol }: Cursor): string =>
  Buffer.from(JSON.stringify([digest, at, venue, venueSymbol])).toString('base64url');

/** Null for anything that is not one of ours. */
export const readCursor = (text: string): Cursor | null => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(parsed) || parsed.length !== 4) return null;
    const [digest, at, venue, venueSymbol] = parsed as unknown[];
    if (typeof digest !== 'string' || !Number.isSafeInteger(at)) return null;
    if (typeof venue !== 'string' || typeof venueSymbol !== 'string') return null;
    return { digest, at: at as Micros, venue, venueSymbol };
  } catch {
    return null;
  }
};

/** Whether a listing comes after the cursor in (venue, venue_symbol) order. */
export const isAfter = (
  listing: { readonly venue: string; readonly venueSymbol: string },
  { venue, venueSymbol }: Cursor,
): boolean => (compareBytes(listing.venue, venue) || compareBytes(listing.venueSymbol, venueSymbol)) > 0;
