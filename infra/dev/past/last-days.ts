// The last days of one venue with one look a minute: candles, marks, funding rates, open interest and turnover, up to the live start.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { CapabilityBody } from '../../../schemas/topics.ts';
import type { SimListing } from '../simulator/listings.ts';
import { computeFnv1a, createRandom } from '../simulator/random.ts';
import type { PastPlan } from './old-day.ts';
import {
  findCollectedVenue,
  findListings,
  findSimulatedVenue,
  makeCapability,
  openPastVenue,
  withoutCollected,
} from './past-venue.ts';
import { VirtualCollector } from './virtual-collector.ts';
import type { VirtualLog } from './virtual-log.ts';

export const LAST_VENUE = 'binance';
const SYMBOLS = ['BTCUSDT'];

const HOUR_MS = 60 * MS_PER_MINUTE;
/** `ema(close, 20, 1h)` reads 80 hours (DQL-28): candles of trades reach this far back, nothing else does. */
const CANDLE_HOURS = 80;
const READING_HOURS = 26;
/** The market advances at most five seconds at once. */
const STRIDE_MS = 5_000;
/** A look is this long after its second: a venue has then sent everything of it. */
const LOOK_MS = 600;
/** Readings are looked at this long before a full minute, so that one of a minute is fresh at its end (F-03: 30 s for a mark). */
const BEFORE_MINUTE_MS = 10_000;
const LEVELS = 40;

const CANDLES = ['candles'];
/** `stats` too: the turnover of the day ranks venues and instruments (AC-02, AR-04). */
const READINGS = ['mark', 'funding', 'oi', 'stats'];
const LOOKED_AT: ReadonlySet<string> = new Set(READINGS);
const PRICE_CANDLES: ReadonlySet<string> = new Set([...CANDLES, 'price_candles']);
const EVERYTHING: ReadonlySet<string> = new Set([...PRICE_CANDLES, ...READINGS]);
/** One look a minute: a value stays valid until the next but one. */
const ONCE_A_MINUTE = {
  policy: 'on',
  cadence_ms: MS_PER_MINUTE,
  horizon_ms: 2 * MS_PER_MINUTE,
  horizon_source: 'assumed',
} as const;

/** The venue's own capability, reduced to the chosen layers; readings have the cadence of one a minute. */
const reduceCapability = ({ name, layers }: CapabilityBody, chosen: ReadonlySet<string>): CapabilityBody => {
  const stated = Object.entries(withoutCollected({ name, layers }).layers).map(([layer, off]) => {
    if (!chosen.has(layer)) return [layer, off] as const;
    return [layer, READINGS.includes(layer) ? { ...off, ...ONCE_A_MINUTE } : (layers[layer] ?? off)] as const;
  });
  return { name, layers: Object.fromEntries(stated) };
};

/** The walk of an index is deterministic: it begins at the price from which it ends at the start price of the live market. */
const moveEndToStart = (listing: SimListing, seed: number, seconds: number): SimListing => {
  const walk = createRandom(computeFnv1a(listing.base) ^ Math.imul(seed + 1, 0x9e3779b1));
  let factor = 1;
  for (let second = 0; second < seconds; second += 1) factor *= 1 + walk.normal() * 2e-5;
  return { ...listing, startPrice: Math.max(1, Math.round(listing.startPrice / factor)) };
};

type LastDays = {
  /** Writes every further minute that has ended at that time. */
  readonly writeTo: (nowMs: number) => void;
};

export const beginLastDays = (log: VirtualLog, { nowMs, shards, seed }: PastPlan): LastDays => {
  const startMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - CANDLE_HOURS * HOUR_MS;
  const readingsMs = Math.floor(nowMs / MS_PER_MINUTE) * MS_PER_MINUTE - READING_HOURS * HOUR_MS;
  const clock = { ms: startMs };
  const venue = findCollectedVenue(LAST_VENUE);
  const seconds = (nowMs - startMs) / 1_000;
  const listings = findListings(findSimulatedVenue(LAST_VENUE), SYMBOLS).map((one) =>
    moveEndToStart(one, seed, seconds),
  );
  const isLookedAt = (atMs: number): boolean => (atMs + BEFORE_MINUTE_MS) % MS_PER_MINUTE === 0 && atMs >= readingsMs;
  const pace = { sendsSecond: isLookedAt, sendsChanges: false };
  const host = openPastVenue({ id: LAST_VENUE, listings, clock, seed, levels: LEVELS, pace });
  const known = makeCapability(venue);
  const capability = reduceCapability(known, new Set(CANDLES));
  const options = { venue, host, shards, clock, log, capability };
  const collector = new VirtualCollector({ ...options, layers: EVERYTHING, isSingle: true });
  collector.start();
  // The commands of a connection take time.
  for (; clock.ms < startMs + MS_PER_MINUTE - STRIDE_MS; clock.ms += STRIDE_MS) {
    host.advance();
    collector.tend();
  }
  const advanceTo = (toMs: number): void => {
    while (clock.ms < toMs) {
      clock.ms = Math.min(toMs, clock.ms + STRIDE_MS);
      host.advance();
    }
  };
  let minute = startMs + MS_PER_MINUTE;
  return {
    writeTo: (toMs) => {
      for (; minute <= toMs; minute += MS_PER_MINUTE) {
        if (minute === readingsMs) collector.change(reduceCapability(known, EVERYTHING));
        const readingMs = minute - BEFORE_MINUTE_MS;
        advanceTo(readingMs);
        if (isLookedAt(readingMs)) {
          advanceTo(readingMs + LOOK_MS);
          collector.look(LOOKED_AT);
        }
        advanceTo(minute);
        advanceTo(Math.min(minute + LOOK_MS, toMs));
        // A response has the previous minute too, which still counts then (N-11).
        if (minute >= readingsMs && minute % (2 * MS_PER_MINUTE) === 0) collector.look(PRICE_CANDLES);
      }
    },
  };
};
