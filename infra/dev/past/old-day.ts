// Minutes of two days, of all venues: twenty of a day nine days ago, with typical faults, and four of yesterday.
import { MS_PER_DAY, MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { FaultRequest } from '../simulator/faults.ts';
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

/** Old enough to be closed (D+7), with its root posted and confirmed. */
const DAYS_AGO = 9;
const BEGINS_AT_MS = 12 * 60 * MS_PER_MINUTE;
const OLD_LASTS_MS = 10 * MS_PER_MINUTE;
const YESTERDAY_LASTS_MS = 4 * MS_PER_MINUTE;
/** One in ten of the frames of each second: enough for a row of every window, and read in seconds. */
const PACE = { sendsSecond: (atMs: number) => atMs % 10_000 === 0, sendsChanges: true };
const LEVELS = 60;
const STEP_MS = 250;

const SYMBOLS: Readonly<Record<string, readonly string[]>> = {
  binance: ['BTCUSDT'],
  bybit: ['BTCUSDT', 'ETHUSDT', 'BTCUSD'],
  okx: ['BTC-USDT-SWAP', 'ETH-USDT-SWAP', 'BTC-USD-SWAP'],
  hyperliquid: ['BTC', 'ETH', 'SOL'],
  deribit: ['BTC-PERPETUAL', 'ETH-PERPETUAL'],
};

/** A fault of the venue, or of Kafka: nothing is appended during it, and messages received meanwhile count as late. */
type Trouble = { readonly afterMs: number } & (
  | { readonly fault: Omit<FaultRequest, 'venue'> }
  | { readonly kafkaAwayMs: number }
);

const TROUBLES: Readonly<Record<string, readonly Trouble[]>> = {
  binance: [{ afterMs: 4 * MS_PER_MINUTE, fault: { kind: 'disconnect', durationMs: 40_000 } }],
  bybit: [{ afterMs: 3 * MS_PER_MINUTE, fault: { kind: 'silence', stream: 'mark', durationMs: 90_000 } }],
  okx: [{ afterMs: 4 * MS_PER_MINUTE, kafkaAwayMs: 150_000 }],
  hyperliquid: [{ afterMs: 7 * MS_PER_MINUTE, fault: { kind: 'disconnect', durationMs: 25_000 } }],
  deribit: [
    { afterMs: 2 * MS_PER_MINUTE, kafkaAwayMs: 140_000 },
    { afterMs: 8 * MS_PER_MINUTE, fault: { kind: 'crossed_book', durationMs: 30_000 } },
  ],
};

/** Start of the old day, for a demo that begins at `nowMs`. */
export const computeOldDayMs = (nowMs: number): number =>
  Math.floor(nowMs / MS_PER_DAY) * MS_PER_DAY - DAYS_AGO * MS_PER_DAY;

export const OLD_VENUES = Object.keys(SYMBOLS);

/** Writes what a collector of the venue would have written on that day. */
export const writeOldDay = (id: string, log: VirtualLog, plan: PastPlan): void =>
  writePart(id, log, {
    ...plan,
    startMs: computeOldDayMs(plan.nowMs) + BEGINS_AT_MS,
    lastsMs: OLD_LASTS_MS,
    troubles: TROUBLES[id] ?? [],
  });

/** Enough that every venue has files of yesterday, whichever venues a plan includes. */
export const writeYesterday = (id: string, log: VirtualLog, plan: PastPlan): void => {
  const startMs = Math.floor(plan.nowMs / MS_PER_DAY) * MS_PER_DAY - MS_PER_DAY + BEGINS_AT_MS;
  writePart(id, log, { ...plan, startMs, lastsMs: YESTERDAY_LASTS_MS, troubles: [] });
};

type Part = Pick<PastPlan, 'shards' | 'seed'> & {
  readonly startMs: number;
  readonly lastsMs: number;
  readonly troubles: readonly Trouble[];
};

const writePart = (id: string, log: VirtualLog, { startMs, lastsMs, troubles, shards, seed }: Part): void => {
  const clock = { ms: startMs };
  const venue = findCollectedVenue(id);
  const listings = findListings(findSimulatedVenue(id), SYMBOLS[id] ?? []);
  const host = openPastVenue({ id, listings, clock, seed, levels: LEVELS, pace: PACE });
  const capability = makeCapability(venue);
  const layers = new Set(Object.keys(capability.layers).concat('price_candles'));
  const collector = new VirtualCollector({ venue, host, shards, clock, log, capability, layers });
  const coming = [...troubles];
  collector.start();
  for (clock.ms += STEP_MS; clock.ms < startMs + lastsMs; clock.ms += STEP_MS) {
    while (coming[0] !== undefined && clock.ms - startMs >= coming[0].afterMs) {
      const trouble = coming.shift();
      if (trouble === undefined) break;
      if ('fault' in trouble) host.inject({ venue: id, ...trouble.fault });
      else log.holdUntil(clock.ms + trouble.kafkaAwayMs);
    }
    host.advance();
    collector.tend();
  }
  collector.stop(withoutCollected(capability));
  host.close();
};

export type PastPlan = {
  /** When the demo begins, Unix ms. */
  readonly nowMs: number;
  readonly shards: number;
  readonly seed: number;
};
