// What Binance's REST weight allows, by the number of listings.
//
// The venue grants 2,400 a minute, of which the collector uses 1,920: a quarter is kept for book snapshots (20 each), and of the other 1,440 the
// plan takes 1,320 for polls of USD-M; 120 remain for those of COIN-M (3.6 a listing, which has some twenty), for minutes to fill
// in and for confirmations. A request of open interest or of candles weighs 1.
import type { ListingRecord } from '../../../schemas/records.ts';
import type { Delivery } from '../contract/feed.ts';
import { isOpen, listOldest } from '../shared/chosen-listings.ts';
import { type Market, toMarket } from './symbols.ts';

const POLLS_PER_MINUTE = 1_320;
/** Seconds between two answers about a listing's open interest, the best first. Beyond 28 it passes the layer's bound of 30 s (F-03). */
const OI_PERIODS = [5, 8, 10, 15, 20, 25, 28, 40, 60, 90, 120] as const;
const LONGEST_FRESH_PERIOD = 28;
/** Every minute's candle must be recorded within 100 s of its end (N-11). */
export const PRICE_CANDLES_EVERY_MS = 80_000;
const PRICE_CANDLES_PER_MINUTE = (2 * 60_000) / PRICE_CANDLES_EVERY_MS;
/** Listings change one by one: derived numbers change only with every 50 of them. */
const STEP = 50;

type Budget = {
  readonly oiEveryMs: number;
  /** Number of listings, the oldest, with candles of mark and index prices. */
  readonly priceCandles: number;
};

/** Open interest of every listing has priority; its period may grow to 28 s to make room for candles of mark and index prices. */
export const planBudget = (listings: number): Budget => {
  const count = Math.max(1, Math.ceil(listings / STEP)) * STEP;
  const left = (period: number): number => POLLS_PER_MINUTE - (count * 60) / period;
  const fitsAll = (period: number): boolean =>
    period <= LONGEST_FRESH_PERIOD && left(period) >= count * PRICE_CANDLES_PER_MINUTE;
  const isEnough = (period: number): boolean => period >= LONGEST_FRESH_PERIOD && left(period) >= 0;
  const period = OI_PERIODS.find((p) => fitsAll(p) || isEnough(p)) ?? 120;
  return {
    oiEveryMs: period * 1_000,
    priceCandles: Math.max(0, Math.min(count, Math.floor(left(period) / PRICE_CANDLES_PER_MINUTE))),
  };
};

const filterOpen = (listings: readonly ListingRecord[], market: Market): readonly ListingRecord[] =>
  listings.filter((listing) => isOpen(listing) && toMarket(listing.venue_symbol) === market);

/** One period for both markets, that of the one with more listings: a layer has one cadence. */
export const computeOiEveryMs = (listings: readonly ListingRecord[]): number =>
  Math.max(...(['usdm', 'coinm'] as const).map((market) => planBudget(filterOpen(listings, market).length).oiEveryMs));

/** A layer polled every p is assumed valid for 2 p (F-02). */
export const makePolledDelivery = (listings: readonly ListingRecord[]): Delivery => {
  const cadence = computeOiEveryMs(listings);
  return { policy: 'on', cadence, horizonMs: 2 * cadence, horizonSource: 'assumed' };
};

/** Symbols of one market whose candles of mark and index prices fit the budget. */
export const listPriceCandleSymbols = (listings: readonly ListingRecord[]): ReadonlySet<string> =>
  listOldest(listings, planBudget(listings.filter(isOpen).length).priceCandles);
