// The subscriptions of one address at Hyperliquid, and the coins they reach.
//
// Each coin takes one subscription for each channel; an address has 1,000 over all sockets. Books and contexts of every coin come first, then trades
// and candles in the venue's order, its own coins before those of builders, as far as the rest reaches: all of 200 coins, 105 of 320.
import type { ListingRecord } from '../../../schemas/records.ts';
import { isOpen, leaveOff } from '../shared/chosen-listings.ts';

const SUBSCRIPTIONS = 1_000;
/** For the replacement of a socket: it and its successor are subscribed together for some seconds. */
const SPARE = 150;
/** Coins change one by one: derived numbers change only with every ten of them. */
const STEP = 10;

/** Number of coins, of the given total, that also have trades and candles. */
const countCoinsWithEvents = (coins: number): number => {
  const left = SUBSCRIPTIONS - SPARE - 2 * Math.ceil(coins / STEP) * STEP;
  return Math.max(0, Math.min(coins, Math.floor(left / 2)));
};

/** Whether trades and candles of a coin are collected, by its listing. */
export const hasEvents = ({ off = [] }: ListingRecord): boolean => !off.includes('candles');

/** Listings in the venue's order; neither is collected for those beyond the budget. */
export const fitBudget = (listings: readonly ListingRecord[]): readonly ListingRecord[] => {
  const open = listings.filter(isOpen);
  const reached = new Set(open.slice(0, countCoinsWithEvents(open.length)));
  return listings.map((listing) =>
    isOpen(listing) && !reached.has(listing) ? leaveOff(listing, ['trades', 'candles']) : listing,
  );
};
