// The content of a book, and its levels as digits.
import { attachLevelTexts, formatLevel } from '../../schemas/avro/write-levels.ts';
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
export const listTopLevels = (
  book: Book,
  n: number,
): { readonly bids: readonly Level[]; readonly asks: readonly Level[] } => ({
  bids: takeTop(book, book.bids, n),
  asks: takeTop(book, book.asks, n),
});

/** The best level of each side; undefined for an empty one. */
export const findBestLevels = (book: Book): { readonly bid: Level | undefined; readonly ask: Level | undefined } => ({
  bid: takeBest(book, book.bids),
  ask: takeBest(book, book.asks),
});

const takeBest = (book: Book, side: BookSide): Level | undefined => {
  const at = side.keys.length - 1;
  return at < 0 ? undefined : printLevel(book, side, at);
};

const printLevel = (book: Book, side: BookSide, at: number): Level => [
  toDecimal(Math.abs(side.keys[at] as number), book.priceScale),
  toDecimal(side.sizes[at] as number, book.sizeScale),
];

/** Levels of a side, best first, each with its Avro text (null: too long for one). The arrays have the same length. */
type Printed = {
  readonly keys: number[];
  readonly sizes: number[];
  levels: readonly Level[];
  readonly texts: (string | null)[];
};

/** What a side printed last: from one change to the next most of its best levels stay. `spare` is overwritten by the next print. */
type Prints = { readonly priceScale: number; readonly sizeScale: number; last: Printed; spare: Printed };

/** Outside of the book, which is plain data: a printed level follows from its key and size alone. */
const printsOfSides = new WeakMap<BookSide, Prints>();

const createPrinted = (): Printed => ({ keys: [], sizes: [], levels: [], texts: [] });

const openPrints = ({ priceScale, sizeScale }: Book, side: BookSide): Prints => {
  const held = printsOfSides.get(side);
  if (held?.priceScale === priceScale && held.sizeScale === sizeScale) return held;
  const prints = { priceScale, sizeScale, last: createPrinted(), spare: createPrinted() };
  printsOfSides.set(side, prints);
  return prints;
};

/** Both lists are in order: one walk over them finds the levels that stay. */
const takeTop = (book: Book, side: BookSide, n: number): readonly Level[] => {
  const prints = openPrints(book, side);
  const { last: before, spare: now } = prints;
  const { keys, sizes, texts } = now;
  const levels: Level[] = [];
  const best = side.keys.length - 1;
  const count = Math.min(n, side.keys.length);
  let held = 0;
  for (let i = 0; i < count; i++) {
    const key = side.keys[best - i] as number;
    const size = side.sizes[best - i] as number;
    while (held < before.keys.length && (before.keys[held] as number) > key) held += 1;
    const stays = held < before.keys.length && before.keys[held] === key && before.sizes[held] === size;
    const level = stays ? (before.levels[held] as Level) : printLevel(book, side, best - i);
    levels.push(level);
    keys[i] = key;
    sizes[i] = size;
    texts[i] = stays ? (before.texts[held] as string | null) : formatLevel(level);
  }
  keys.length = count;
  sizes.length = count;
  texts.length = count;
  now.levels = levels;
  prints.last = now;
  prints.spare = before;
  attachLevelTexts(levels, texts);
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
