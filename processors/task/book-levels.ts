// What a book holds, and its levels as digits.
import type { Digits, Level } from '../../schemas/records.ts';

export type BookSide = {
  /** Ascending, best last. */
  keys: number[];
  sizes: number[];
  /** The venue sent the complete side: later diffs cover every change. */
  full: boolean;
};

export type Book = {
  priceScale: number;
  sizeScale: number;
  bids: BookSide;
  asks: BookSide;
  /** The venue's own sequence of the last applied message. */
  sequence: string | null;
};

/** Best `n` levels a side, bids descending, asks ascending. */
export const topLevels = (book: Book, n: number): { readonly bids: Level[]; readonly asks: Level[] } => ({
  bids: takeTop(book, book.bids, n),
  asks: takeTop(book, book.asks, n),
});

const readLevel = (book: Book, side: BookSide, at: number): Level => [
  toDecimal(Math.abs(side.keys[at] as number), book.priceScale),
  toDecimal(side.sizes[at] as number, book.sizeScale),
];

const takeTop = (book: Book, side: BookSide, n: number): Level[] => {
  const printed = findPrinted(book, side);
  const levels: Level[] = [];
  for (let at = side.keys.length - 1; at >= 0 && levels.length < n; at--) {
    const key = side.keys[at] as number;
    const size = side.sizes[at] as number;
    let held = printed.get(key);
    if (held?.size !== size) {
      held = { size, level: readLevel(book, side, at) };
      printed.set(key, held);
    }
    levels.push(held.level);
  }
  return levels;
};

/** Levels that were printed last, by key: from one change to the next most of the best ones stay. */
type Printed = { readonly priceScale: number; readonly sizeScale: number; readonly levels: Map<number, PrintedLevel> };
type PrintedLevel = { readonly size: number; readonly level: Level };

/** Outside of the book, which is plain data: a printed level follows from its key and size alone. */
const printedSides = new WeakMap<BookSide, Printed>();
const MOST_PRINTED = 128;

const findPrinted = ({ priceScale, sizeScale }: Book, side: BookSide): Printed['levels'] => {
  const held = printedSides.get(side);
  if (held?.priceScale === priceScale && held.sizeScale === sizeScale && held.levels.size <= MOST_PRINTED)
    return held.levels;
  const levels: Printed['levels'] = new Map();
  printedSides.set(side, { priceScale, sizeScale, levels });
  return levels;
};

export const toDecimal = (scaled: number | bigint, scale: number): Digits => {
  const text = String(scaled);
  if (scale === 0) return text;
  const padded = text.padStart(scale + 1, '0');
  const whole = padded.slice(0, -scale);
  let end = padded.length;
  while (end > whole.length && padded.charCodeAt(end - 1) === 48) end--;
  return end === whole.length ? whole : `${whole}.${padded.slice(whole.length, end)}`;
};
