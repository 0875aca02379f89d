// The number of Bitget's listings whose minutes of mark and index prices can be requested.
//
// The path of candles allows 20 requests a second, of which the collector uses 720 a minute for periodic requests: 540 for these minutes, the
// rest to fill in minutes of trades. They are requested every 90 s, two requests a listing: 405 listings, the oldest of each product.
import type { ListingRecord } from '../../../schemas/records.ts';
import { listOldest } from '../shared/chosen-listings.ts';
import { toProduct } from './symbols.ts';

/** Every minute's candle must be recorded within 100 s of its end (N-11). */
export const PRICE_CANDLES_EVERY_MS = 90_000;
const CARRIED: Readonly<Record<string, number>> = { 'usdt-futures': 330, 'usdc-futures': 45, 'coin-futures': 30 };

/** Symbols whose candles of mark and index prices fit the budget; the listings of a product arrive together. */
export const listPriceCandleSymbols = (listings: readonly ListingRecord[]): ReadonlySet<string> => {
  const carried = Object.entries(CARRIED).flatMap(([product, most]) => {
    const own = listings.filter(({ venue_symbol }) => toProduct(venue_symbol) === product);
    return [...listOldest(own, most)];
  });
  return new Set(carried);
};
