// The newest trades of each listing, which venues repeat to new subscribers and in responses.
import type { Instrument } from './market.ts';
import type { Trade } from './trade.ts';

export type RecentTrades = {
  readonly add: (instrument: Instrument, trade: Trade) => void;
  /** Oldest first; without a trade since the start the listing's last one. */
  readonly of: (instrument: Instrument) => readonly Trade[];
};

/** Keeps `most` a listing. */
export function createRecentTrades(most: number): RecentTrades {
  const kept = new Map<Instrument, readonly Trade[]>();
  return {
    add: (instrument, trade) => void kept.set(instrument, [...(kept.get(instrument) ?? []), trade].slice(-most)),
    of: (instrument) => kept.get(instrument) ?? [instrument.last],
  };
}
