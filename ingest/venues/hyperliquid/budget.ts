// What one address may subscribe to on Hyperliquid, and which coins it reaches.
//
// Each coin takes a subscription a channel, and an address has 1,000 of them over all sockets. Books and contexts of every coin come first; trades
// and candles of those that the venue lists first, its own before those of builders, as far as the rest goes: all of 200 coins, 105 of 320.
import type { ListingRecord } from '../../../schemas/records.ts';
import { isOpen, leaveOff } from '../shared/shape.ts';

const SUBSCRIPTIONS = 1_000;
/** For a socket that is being replaced: it and its successor are subscribed together for some seconds. */
const SPARE = 150;
/** Coins come and go one by one: what follows from their number changes with each so many of them only. */
const STEP = 10;

/** Of so many coins so many have trades and candles too. */
const coinsWithEvents = (coins: number): number => {
  const left = SUBSCRIPTIONS - SPARE - 2 * Math.ceil(coins / STEP) * STEP;
  return Math.max(0, Math.min(coins, Math.floor(left / 2)));
};

/** Whether trades and candles of a coin are collected, as its listing says. */
export const hasEvents = ({ off = [] }: ListingRecord): boolean => !off.includes('candles');

/** Listings in the venue's order; of those past the budget neither is collected. */
export const withinBudget = (listings: readonly ListingRecord[]): readonly ListingRecord[] => {
  const open = listings.filter(isOpen);
  const reached = new Set(open.slice(0, coinsWithEvents(open.length)));
  return listings.map((listing) =>
    isOpen(listing) && !reached.has(listing) ? leaveOff(listing, ['trades', 'candles']) : listing,
  );
};
