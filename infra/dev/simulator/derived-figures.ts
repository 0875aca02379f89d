// Derived figures: the day's change, and the bankruptcy price of a liquidated position.
import type { SimListing } from './listings.ts';
import type { Instrument } from './market.ts';
import type { Trade } from './trade.ts';

/** The day's change as a fraction, in units of 10^-`decimals.change`. */
export function computeDayChange({ listing, day, last }: Instrument): number {
  return toChange(last.price, day.open, listing.decimals.change);
}

export const toChange = (last: number, open: number, decimals: number): number =>
  Math.round(((last - open) * 10 ** decimals) / open);

const TICKS_TO_BANKRUPTCY = 7;

/** Bankruptcy price of a liquidated position: beyond the price at which it was closed. In price units. */
export function computeBankruptcyPrice({ tick }: SimListing, { price, buyerIsMaker }: Trade): number {
  return Math.max(tick, price + (buyerIsMaker ? -1 : 1) * TICKS_TO_BANKRUPTCY * tick);
}
