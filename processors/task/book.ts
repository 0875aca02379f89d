// One order book: levels in, top of book and depth bands out, in exact decimals (L-02, L-03, H-14).
//
// Hot path. Prices and sizes are integers scaled to the largest number of decimals, in two sorted arrays a side with the best level at the end,
// because most changes are near the top. Larger keys are better: the key is `price` for bids, `-price` for asks.
// The book is plain data, mutated in place.
import type { FullSides } from '../../ingest/venues/shared/book-sync.ts';
import { countLeading } from '../../schemas/binary-search.ts';
import { divide, multiply, subtract } from '../../schemas/decimals.ts';
import { BANDS, type Band } from '../../schemas/layers/book-bands.ts';
import type { Digits, Level, ListingValues } from '../../schemas/records.ts';
import { type Book, type BookSide, findBestLevels, toDecimal } from './book-levels.ts';
import { scaleSides } from './book-scales.ts';
import type { View } from './view.ts';

/** Levels of one message. `full`: sides of a snapshot that are complete; `depth`: levels a side that the updates of its channel reach. */
type BookLevelsIn = {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly sequence: string | null;
  readonly full?: FullSides | undefined;
  readonly depth?: number | undefined;
};

/** The members of a listing that determine the value of its quantities (H-16e). */
export type QuantityRule = Pick<ListingValues, 'venue_kind' | 'contract_size' | 'quantity_unit'>;

/** Values of a reading: absent members are in `null_reasons`. */
type BookReading = {
  readonly values: Readonly<Record<string, Digits>>;
  readonly null_reasons: Readonly<Record<string, string>>;
};

/** One band as in H-14; the members of an incomplete side are null. */
export type BandDepth = {
  readonly reference: Digits;
  readonly bid: Digits | null;
  readonly ask: Digits | null;
  readonly bid_value: Digits | null;
  readonly ask_value: Digits | null;
  readonly bid_levels: number | null;
  readonly ask_levels: number | null;
  readonly complete: { readonly bid: boolean; readonly ask: boolean };
};

const SAFE = Number.MAX_SAFE_INTEGER;

export const createBook = (): Book => ({
  priceScale: 0,
  sizeScale: 0,
  bids: { keys: [], sizes: [], full: false },
  asks: { keys: [], sizes: [], full: false },
  sequence: null,
});

const copySide = ({ keys, sizes, full }: View<BookSide>): BookSide => ({
  keys: keys.slice(),
  sizes: sizes.slice(),
  full,
});

export const copyBook = (book: View<Book>): Book => ({ ...book, bids: copySide(book.bids), asks: copySide(book.asks) });

/** Replaces the whole book. Throws `VenueError` (`VENUE_BAD_FIGURE`) before any change when a figure is too wide. */
export const applySnapshot = (book: Book, levels: BookLevelsIn): void => {
  const fresh = createBook();
  fresh.priceScale = book.priceScale;
  fresh.sizeScale = book.sizeScale;
  applyUpdate(fresh, levels);
  Object.assign(book, fresh);
  for (const name of ['bids', 'asks'] as const) book[name].full = levels.full?.[name] === true;
};

/** Sets or removes (size `0`) levels. Throws `VenueError` (`VENUE_BAD_FIGURE`) before any change when a figure is too wide. */
export const applyUpdate = (book: Book, levels: BookLevelsIn): void => {
  const { bids, asks } = scaleSides(book, levels);
  setLevels(book.bids, bids, 1);
  setLevels(book.asks, asks, -1);
  for (const side of [book.bids, book.asks]) if (side.keys.length >= (levels.depth ?? Infinity)) side.full = false;
  book.sequence = levels.sequence;
};

/** Index of the first key at or above `key`. */
const findPlace = (keys: readonly number[], key: number): number =>
  countLeading(keys.length, (i) => (keys[i] as number) < key);

/** `sign` turns a price into a key: asks are stored negated. */
const setLevels = (side: BookSide, scaled: readonly number[], sign: 1 | -1): void => {
  if (side.keys.length === 0 && fillSide(side, scaled, sign)) return;
  for (let i = 0; i < scaled.length; i += 2) setLevel(side, sign * (scaled[i] as number), scaled[i + 1] as number);
};

/** Appends the levels of an empty side, best first as in snapshots. Returns false, without a change, for another order. */
const fillSide = (side: BookSide, scaled: readonly number[], sign: 1 | -1): boolean => {
  const keys: number[] = [];
  const sizes: number[] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (let i = scaled.length - 2; i >= 0; i -= 2) {
    const key = sign * (scaled[i] as number);
    const size = scaled[i + 1] as number;
    if (key <= before || size <= 0) return false;
    keys.push(key);
    sizes.push(size);
    before = key;
  }
  side.keys = keys;
  side.sizes = sizes;
  return true;
};

const setLevel = (side: BookSide, key: number, size: number): void => {
  const { keys, sizes } = side;
  const at = findPlace(keys, key);
  const held = keys[at] === key;
  if (held && size > 0) sizes[at] = size;
  else if (held) {
    keys.splice(at, 1);
    sizes.splice(at, 1);
  } else if (size > 0) {
    keys.splice(at, 0, key);
    sizes.splice(at, 0, size);
  }
};

/** Number of collected levels a side. */
export const countLevels = (book: Book): { readonly bids: number; readonly asks: number } => ({
  bids: book.bids.keys.length,
  asks: book.asks.keys.length,
});

/** True when the book is crossed or locked (bid >= ask): it is then never served (L-03). */
export const isCrossed = (book: Book): boolean => {
  const bid = book.bids.keys.at(-1);
  const ask = book.asks.keys.at(-1);
  return bid !== undefined && ask !== undefined && bid >= -ask;
};

/** Values of layer `book` (L-02): an empty side and its dependents have `no_value`. */
export const makeBookValues = (book: Book): BookReading => {
  const { bid, ask } = findBestLevels(book);
  const values: Record<string, Digits> = {};
  if (bid !== undefined) [values.bid, values.bid_size] = bid;
  if (ask !== undefined) [values.ask, values.ask_size] = ask;
  const mid = computeMid(book);
  if (mid !== null && values.bid !== undefined && values.ask !== undefined) {
    values.mid = mid;
    const spread = divide(subtract(values.ask, values.bid), mid);
    if (spread !== null) values.spread = spread;
  }
  return { values, null_reasons: makeMissingReasons(['ask', 'ask_size', 'bid', 'bid_size', 'mid', 'spread'], values) };
};

const makeMissingReasons = (
  names: readonly string[],
  values: Readonly<Record<string, Digits>>,
): Record<string, string> =>
  Object.fromEntries(names.filter((name) => values[name] === undefined).map((name) => [name, 'no_value']));

/** `(bid + ask) / 2`, exact; null when a side is empty. */
const computeMid = (book: Book): Digits | null => {
  const bid = book.bids.keys.at(-1);
  const ask = book.asks.keys.at(-1);
  return bid === undefined || ask === undefined ? null : toDecimal(BigInt(bid - ask) * 5n, book.priceScale + 1);
};

/** All bands over the whole collected book, keyed by name; empty when a side is empty (no mid). */
export const sumBookBands = (book: Book, rule: QuantityRule): Readonly<Partial<Record<Band, BandDepth>>> => {
  const reference = computeMid(book);
  if (reference === null) return {};
  const bids = sumSide(book, book.bids, rule);
  const asks = sumSide(book, book.asks, rule);
  return Object.fromEntries(
    BANDS.map((band, i): [Band, BandDepth] => {
      const bid = bids[i] ?? null;
      const ask = asks[i] ?? null;
      return [
        band,
        {
          reference,
          bid: bid?.size ?? null,
          ask: ask?.size ?? null,
          bid_value: bid?.value ?? null,
          ask_value: ask?.value ?? null,
          bid_levels: bid?.levels ?? null,
          ask_levels: ask?.levels ?? null,
          complete: { bid: bid !== null, ask: ask !== null },
        },
      ];
    }),
  );
};

/** The members of a side of a band, with their names in a reading: put together once, because a new text is a slow name. */
const BAND_MEMBERS = BANDS.map((band) => ({
  band,
  sides: (['bid', 'ask'] as const).map((side) => ({
    side,
    value: `${side}_value` as const,
    levels: `${side}_levels` as const,
    names: {
      size: `depth_${side}_${band}`,
      value: `depth_${side}_value_${band}`,
      levels: `levels_${side}_${band}`,
    },
  })),
}));

/** Values of layer `venue_depth` (L-02) from its bands. */
export const makeBandValues = (bands: Readonly<Partial<Record<Band, BandDepth>>>): BookReading => {
  const values: Record<string, Digits> = {};
  const null_reasons: Record<string, string> = {};
  const put = (name: string, figure: Digits | number | null | undefined, reason: string): void => {
    if (figure === null || figure === undefined) null_reasons[name] = reason;
    else values[name] = String(figure);
  };
  put('mid', bands[BANDS[0]]?.reference, 'no_value');
  for (const { band, sides } of BAND_MEMBERS) {
    const depth = bands[band];
    for (const { side, value, levels, names } of sides) {
      put(names.size, depth?.[side], 'no_value');
      put(names.value, depth?.[value], depth?.complete[side] ? 'unit_unknown' : 'no_value');
      put(names.levels, depth?.[levels], 'no_value');
    }
  }
  return { values, null_reasons };
};

type Sum = { readonly size: Digits; readonly value: Digits | null; readonly levels: number };
/** Sums over the levels from the best one to a position: sizes, and sizes times the distance from the best price. */
type Running = { readonly levels: number; readonly size: number; readonly moment: number };
/** The same as scaled integers of any width, with the sum of price times size. */
type Exact = { readonly levels: number; readonly size: bigint; readonly product: bigint };

const BASIS_POINTS = BANDS.map((band) => Number.parseInt(band, 10));

/** Smallest key inside each band: bids `price >= mid (1 - b)`, asks `price <= mid (1 + b)`, edges included. */
const findEdges = (book: Book, side: BookSide): number[] => {
  const twiceMid = BigInt((book.bids.keys.at(-1) as number) - (book.asks.keys.at(-1) as number));
  return BASIS_POINTS.map((bps) => {
    if (side === book.bids) return Number((twiceMid * BigInt(10_000 - bps) + 19_999n) / 20_000n);
    return -Number((twiceMid * BigInt(10_000 + bps)) / 20_000n);
  });
};

/** The exact sums of a side by band, null where the side is incomplete up to the edge. */
const sumSide = (book: Book, side: BookSide, rule: QuantityRule): (Sum | null)[] => {
  const edges = findEdges(book, side);
  const running = sumToEdges(side, edges);
  return edges.map((edge, i) =>
    isComplete(side, edge) ? toSum(book, rule, toExact(side, running[i] as Running)) : null,
  );
};

/** A band is complete when a level beyond its edge is known or the venue sent its whole side (literal reading of L-03, see DECISIONS.md). */
const isComplete = (side: BookSide, edge: number): boolean => side.full || (side.keys[0] ?? Infinity) < edge;

/** One pass from the best level down. Sums above 2^53 would lose digits: `toExact` detects this and adds again with big integers. */
const sumToEdges = (side: BookSide, edges: readonly number[]): Running[] => {
  const { keys, sizes } = side;
  const best = keys.at(-1) as number;
  const sums: Running[] = [];
  let at = keys.length - 1;
  let size = 0;
  let moment = 0;
  for (const edge of edges) {
    for (; at >= 0 && (keys[at] as number) >= edge; at--) {
      size += sizes[at] as number;
      moment += (sizes[at] as number) * (best - (keys[at] as number));
    }
    sums.push({ levels: keys.length - 1 - at, size, moment });
  }
  return sums;
};

const toExact = (side: BookSide, { levels, size, moment }: Running): Exact => {
  const exact = size <= SAFE && moment <= SAFE ? { size: BigInt(size), moment: BigInt(moment) } : addWide(side, levels);
  const best = side.keys.at(-1) as number;
  // Bids: Σ s (best - d); asks: keys are negated, so Σ s (ask + d) = -(Σ s (best - d)).
  const signed = BigInt(best) * exact.size - exact.moment;
  return { levels, size: exact.size, product: signed < 0n ? -signed : signed };
};

const toSum = (book: Book, rule: QuantityRule, { levels, size, product }: Exact): Sum => {
  const quantity = toDecimal(size, book.sizeScale);
  const toProduct = (): Digits => toDecimal(product, book.priceScale + book.sizeScale);
  return { size: quantity, value: toQuoteValue(rule, quantity, toProduct), levels };
};

const addWide = (side: BookSide, levels: number): { readonly size: bigint; readonly moment: bigint } => {
  const best = BigInt(side.keys.at(-1) as number);
  let size = 0n;
  let moment = 0n;
  for (let at = side.keys.length - 1; at >= side.keys.length - levels; at--) {
    const s = BigInt(side.sizes[at] as number);
    size += s;
    moment += s * (best - BigInt(side.keys[at] as number));
  }
  return { size, moment };
};

/** Value of quantities in quote (H-16e); `product` is Σ price × quantity. Null: `unit_unknown`. */
const toQuoteValue = (rule: QuantityRule, quantity: Digits, product: () => Digits): Digits | null => {
  if (rule.quantity_unit === 'quote') return quantity;
  if (rule.venue_kind === 'quanto' || rule.venue_kind === null) return null;
  if (rule.quantity_unit === 'base') return product();
  if (rule.venue_kind === 'linear') {
    return rule.contract_size === null ? null : multiply(product(), rule.contract_size);
  }
  if (rule.venue_kind !== 'inverse' || rule.quantity_unit !== 'contracts' || rule.contract_size === null) return null;
  return multiply(quantity, rule.contract_size);
};
