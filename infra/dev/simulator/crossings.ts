// The `crossed_book` fault: a bid above the best ask that is sent but does not exist in the model.
import type { Change, Levels } from './book-model.ts';
import type { Faults } from './faults.ts';
import type { Diff, Instrument } from './market.ts';

/** In the listing's units. */
type Ghost = { readonly price: number; readonly size: number };

export type Crossings = {
  /** The diff's changes as sent. The crossing bid follows the best ask while the fault lasts; the first diff after the fault removes it. */
  readonly shown: (instrument: Instrument, diff: Diff) => readonly Change[];
  /** Bids as a snapshot contains them. */
  readonly bids: (instrument: Instrument) => Levels;
  /** The fault has begun or ended, but no frame has shown it yet. */
  readonly isDue: (instrument: Instrument) => boolean;
  /** Price of the crossing bid; null when the book is not crossed. */
  readonly priceOf: (instrument: Instrument) => number | null;
};

const GHOST_SIZE = 1_234;
const TICKS_ABOVE_ASK = 3;

export function createCrossings(faults: Faults, nowMs: () => number): Crossings {
  const ghosts = new Map<Instrument, Ghost>();

  /** Changes that add, move or remove the crossing bid. */
  function haunt(instrument: Instrument): readonly Change[] {
    const { book, listing } = instrument;
    const old = ghosts.get(instrument);
    const bestAsk = book.asks.prices.at(-1) ?? 0;
    const isWanted = faults.isActive('crossed_book', nowMs(), listing.symbol);
    if (old === undefined ? !isWanted : isWanted && old.price >= bestAsk) return [];
    ghosts.delete(instrument);
    const changes: Change[] = [];
    if (old !== undefined) {
      const real = book.bids.sizes[book.bids.prices.indexOf(old.price)] ?? 0;
      changes.push({ side: 'b', price: old.price, size: real, before: old.size });
    }
    if (isWanted) {
      const ghost = { price: bestAsk + TICKS_ABOVE_ASK * listing.tick, size: GHOST_SIZE };
      ghosts.set(instrument, ghost);
      changes.push({ side: 'b', ...ghost, before: 0 });
    }
    return changes;
  }

  return {
    isDue: (instrument) =>
      ghosts.has(instrument) !== faults.isActive('crossed_book', nowMs(), instrument.listing.symbol),
    shown: (instrument, diff) => {
      const added = haunt(instrument);
      const ghost = ghosts.get(instrument);
      if (added.length === 0 && ghost === undefined) return diff.changes;
      const overruled = new Set([ghost?.price, ...added.map((change) => change.price)]);
      return [...diff.changes.filter(({ side, price }) => side !== 'b' || !overruled.has(price)), ...added];
    },
    bids: (instrument) => {
      const { bids } = instrument.book;
      const ghost = ghosts.get(instrument);
      if (ghost === undefined) return bids;
      const kept = bids.prices
        .map((price, i) => [price, bids.sizes[i] ?? 0] as const)
        .filter(([price]) => price !== ghost.price);
      const all = [...kept, [ghost.price, ghost.size] as const].sort(([x], [y]) => x - y);
      return { prices: all.map(([price]) => price), sizes: all.map(([, size]) => size) };
    },
    priceOf: (instrument) => ghosts.get(instrument)?.price ?? null,
  };
}
