// Sides of a whole book, best level first, and its place in the chain of messages.
import type { Digits, Level } from '../../../schemas/records.ts';
import type { Chain, FullSides } from './book-sync.ts';

/** Sorts prices ascending (`1`) or descending (`-1`); levels already in order, which most venues send, are only checked. */
const sortLevels = (levels: readonly Level[], direction: 1 | -1): readonly Level[] => {
  for (let at = 1; at < levels.length; at++) {
    if (direction * comparePrices((levels[at] as Level)[0], (levels[at - 1] as Level)[0]) < 0)
      return levels.toSorted((a, b) => direction * comparePrices(a[0], b[0]));
  }
  return levels;
};

/** Compares positive figures by their digits: the longer whole part is larger, else the first different digit decides. */
const comparePrices = (a: Digits, b: Digits): number => {
  if (a === b) return 0;
  const wholes = countWholeDigits(a) - countWholeDigits(b);
  return wholes === 0 ? (a < b ? -1 : 1) : wholes;
};

const countWholeDigits = (digits: Digits): number => {
  const point = digits.indexOf('.');
  return point < 0 ? digits.length : point;
};

/** Levels of a book message, best first when it is whole. */
export type Sides = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };

/** A snapshot's sides, best first. */
export const sortSides = (bids: readonly Level[], asks: readonly Level[]): Sides => ({
  bids: sortLevels(bids, -1),
  asks: sortLevels(asks, 1),
});

/** Sides with fewer levels than were requested, or than the channel sends, are complete. */
export const toFullSides = ({ bids, asks }: Sides, depth: number): FullSides => ({
  bids: bids.length < depth,
  asks: asks.length < depth,
});

/** The chain of a message that is whole. */
export const makeSnapshotChain = (symbol: string, last: bigint | null = null): Chain => ({
  symbol,
  kind: 'snapshot',
  first: null,
  last,
  previous: null,
});
