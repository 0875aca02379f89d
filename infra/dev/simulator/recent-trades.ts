// The newest trades of each listing, which venues repeat to new subscribers and in answers.
import type { Instrument } from './market.ts';
import type { Trade } from './trade.ts';

export type RecentTrades = {
  readonly add: (instrument: Instrument, trade: Trade) => void;
  /** Oldest first; at least the one before everything. */
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
