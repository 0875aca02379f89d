// Page cursors of instruments: the pinned instant and the last listing given, opaque to callers (V-05).
import type { Micros } from '../../schemas/records.ts';
import { compareBytes } from '../../schemas/text-order.ts';

export type Cursor = { readonly at: Micros; readonly venue: string; readonly venueSymbol: string };

export const writeCursor = ({ at, venue, venueSymbol }: Cursor): string =>
  Buffer.from(JSON.stringify([at, venue, venueSymbol])).toString('base64url');

/** Null for anything that is not one of ours. */
export const readCursor = (text: string): Cursor | null => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(parsed) || parsed.length !== 3) return null;
    const [at, venue, venueSymbol] = parsed as unknown[];
    if (!Number.isSafeInteger(at) || typeof venue !== 'string' || typeof venueSymbol !== 'string') return null;
    return { at: at as Micros, venue, venueSymbol };
  } catch {
    return null;
  }
};

/** Whether a listing stands after the cursor in (venue, venue_symbol) order. */
export const isAfter = (
  listing: { readonly venue: string; readonly venueSymbol: string },
  { venue, venueSymbol }: Cursor,
): boolean => (compareBytes(listing.venue, venue) || compareBytes(listing.venueSymbol, venueSymbol)) > 0;
