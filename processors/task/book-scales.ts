// Figures of a book's levels as integers of one number of decimals, and what to do when they need more.
import { VenueError } from '../../ingest/venues/contract/listings.ts';
import type { Level } from '../../schemas/records.ts';
import type { Book } from './book-levels.ts';

/** Scaled integers stay below this, so that `Math.round(Number(digits) * 10^scale)` is exact and sums of two are safe. */
const WIDEST = 2 ** 51;
const POWERS = Array.from({ length: 23 }, (_, n) => 10 ** n);

type Sides = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
type ScaledSides = { readonly bids: number[]; readonly asks: number[] };

/** Decimals of levels that are gone may have made the scales too large for the others: they are made smaller before a figure is refused. */
export const scaleSides = (book: Book, levels: Sides): ScaledSides => {
  try {
    return toScaledSides(book, levels);
  } catch (error) {
    if (!(error instanceof VenueError)) throw error;
    narrowScales(book);
    return toScaledSides(book, levels);
  }
};

const toScaledSides = (book: Book, { bids, asks }: Sides): ScaledSides => {
  const prices = Math.max(countDecimals(bids, 0), countDecimals(asks, 0));
  const sizes = Math.max(countDecimals(bids, 1), countDecimals(asks, 1));
  if (prices > book.priceScale || sizes > book.sizeScale) rescale(book, prices, sizes);
  return { bids: scaleLevels(book, bids), asks: scaleLevels(book, asks) };
};

/** Drops the decimals that no level of the book has. */
const narrowScales = (book: Book): void => {
  const sides = [book.bids, book.asks];
  const spareOf = (scale: number, lists: readonly (readonly number[])[]): number => {
    let spare = scale;
    for (const values of lists) for (const value of values) while (value % (POWERS[spare] as number) !== 0) spare -= 1;
    return spare;
  };
  const prices = spareOf(book.priceScale, [book.bids.keys, book.asks.keys]);
  const sizes = spareOf(book.sizeScale, [book.bids.sizes, book.asks.sizes]);
  for (const side of sides) {
    side.keys = side.keys.map((key) => key / (POWERS[prices] as number));
    side.sizes = side.sizes.map((size) => size / (POWERS[sizes] as number));
  }
  book.priceScale -= prices;
  book.sizeScale -= sizes;
};

const countDecimals = (levels: readonly Level[], member: 0 | 1): number => {
  let most = 0;
  for (const level of levels) {
    const text = level[member];
    const dot = text.indexOf('.');
    if (dot >= 0 && text.length - dot - 1 > most) most = text.length - dot - 1;
  }
  return most;
};

const refuseWide = (text: string): VenueError => new VenueError('VENUE_BAD_FIGURE', `book figure ${text} is too wide`);

/** Price and size of each level as scaled integers, one after the other. */
const scaleLevels = (book: Book, levels: readonly Level[]): number[] => {
  const scaled: number[] = [];
  const byPrice = POWERS[book.priceScale] as number;
  const bySize = POWERS[book.sizeScale] as number;
  for (const [price, size] of levels) {
    const p = Math.round(Number(price) * byPrice);
    const s = Math.round(Number(size) * bySize);
    if (!(p < WIDEST && p > -WIDEST)) throw refuseWide(price);
    if (!(s < WIDEST && s >= 0)) throw refuseWide(size);
    scaled.push(p, s);
  }
  return scaled;
};

/** Makes room for more decimals; the book's values stay the same. */
const rescale = (book: Book, prices: number, sizes: number): void => {
  if (Math.max(prices, sizes) >= POWERS.length) throw refuseWide(`with ${Math.max(prices, sizes)} decimals`);
  const byPrice = POWERS[Math.max(0, prices - book.priceScale)] as number;
  const bySize = POWERS[Math.max(0, sizes - book.sizeScale)] as number;
  const sides = [book.bids, book.asks];
  const findWidest = (values: readonly number[]): number => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  for (const { keys, sizes: held } of sides) {
    if (findWidest(keys) * byPrice >= WIDEST || findWidest(held) * bySize >= WIDEST)
      throw refuseWide('beside the levels held');
  }
  for (const side of sides) {
    side.keys = side.keys.map((key) => key * byPrice);
    side.sizes = side.sizes.map((size) => size * bySize);
  }
  book.priceScale = Math.max(book.priceScale, prices);
  book.sizeScale = Math.max(book.sizeScale, sizes);
};
