// One listing's simulated order book: exact integers, never crossed, with every change since the last diff and how to undo it.
import { plain } from './figures.ts';
import { fnv1a, type Random } from './random.ts';

export type Side = 'b' | 'a';
/** Size 0 removes the level. Price and sizes in the listing's units. */
export type Change = { readonly side: Side; readonly price: number; readonly size: number; readonly before: number };
/** Levels from far to best (the best is last: it changes most). */
export type Levels = { readonly prices: readonly number[]; readonly sizes: readonly number[] };

type BookShape = {
  readonly startPrice: number;
  readonly tick: number;
  readonly levels: number;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  /** Typical level size in quantity units. */
  readonly typicalSize: number;
};

export type BookModel = {
  readonly bids: Levels;
  readonly asks: Levels;
  /** Trades through to `mid` and changes `touches` further levels; each single change leaves the book uncrossed. */
  readonly follow: (mid: number, touches: number) => void;
  /** Changes since the last call, oldest first; ends the diff. */
  readonly takeChanges: () => readonly Change[];
  readonly pendingChanges: () => readonly Change[];
  /** XOR of fnv1a(`b61800.2:0.014`) over all levels, canonical digits: does not depend on order. */
  readonly hash: () => number;
};

/** Part of the price that the book always reaches beyond the mid, so that the 100 bps band is complete (L-03). */
const REACH = 0.013;
const REACH_MAX = 0.018;

export function elementHash(side: Side, price: string, size: string): number {
  return fnv1a(`${side}${price}:${size}`);
}

/** First index whose level is at least as good as `price`; `sign` +1 for bids (best is highest), -1 for asks. */
function position(prices: readonly number[], price: number, sign: 1 | -1): number {
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (((prices[middle] ?? 0) - price) * sign < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function createBookModel(shape: BookShape, random: Random, onChange: () => void): BookModel {
  const { tick } = shape;
  const sides = {
    b: { prices: [] as number[], sizes: [] as number[] },
    a: { prices: [] as number[], sizes: [] as number[] },
  };
  let pending: Change[] = [];
  let hash = 0;
  const reach = (of: number): number => Math.max(of * REACH, shape.levels * tick * 1.05);

  const weigh = (side: Side, price: number, size: number): number =>
    size === 0 ? 0 : elementHash(side, plain(price, shape.priceDecimals), plain(size, shape.qtyDecimals));

  function set(side: Side, price: number, size: number): void {
    const { prices, sizes } = sides[side];
    const at = position(prices, price, side === 'b' ? 1 : -1);
    const before = prices[at] === price ? (sizes[at] ?? 0) : 0;
    if (before === size) return;
    if (before === 0) {
      prices.splice(at, 0, price);
      sizes.splice(at, 0, size);
    } else if (size === 0) {
      prices.splice(at, 1);
      sizes.splice(at, 1);
    } else sizes[at] = size;
    hash = (hash ^ weigh(side, price, before) ^ weigh(side, price, size)) >>> 0;
    pending.push({ side, price, size, before });
    onChange();
  }

  const best = (side: Side): number | undefined => sides[side].prices.at(-1);
  const someSize = (): number => 1 + Math.floor(shape.typicalSize * 2 * random.next() ** 2);
  /** Away from the mid, as a multiplier of a distance. */
  const away = (side: Side): 1 | -1 => (side === 'b' ? -1 : 1);

  function tradeThrough(mid: number): void {
    for (let ask = best('a'); ask !== undefined && ask <= mid; ask = best('a')) set('a', ask, 0);
    for (let bid = best('b'); bid !== undefined && bid > mid; bid = best('b')) set('b', bid, 0);
    if ((best('b') ?? 0) < mid && random.chance(0.8)) set('b', mid, someSize());
    if ((best('a') ?? Number.POSITIVE_INFINITY) > mid + tick && random.chance(0.8)) set('a', mid + tick, someSize());
  }

  /** Keeps the number of levels and how far they reach. */
  function balance(side: Side, mid: number): void {
    const { prices } = sides[side];
    const far = prices[0] ?? mid;
    const span = Math.abs(mid - far);
    const limit = reach(mid);
    const gap = tick * (1 + random.below(Math.max(1, Math.floor(limit / shape.levels / tick))));
    if (span < limit) set(side, far + away(side) * gap, someSize());
    else if (span > (limit * REACH_MAX) / REACH) set(side, far, 0);
    if (prices.length > shape.levels) {
      const victim = prices[prices.length - 2 - random.below(Math.floor(prices.length * 0.6))];
      if (victim !== undefined) set(side, victim, 0);
    } else if (prices.length < shape.levels - 3) {
      const steps = 1 + Math.floor(random.next() ** 2 * (span / tick));
      set(side, (best(side) ?? mid) + away(side) * steps * tick, someSize());
    }
  }

  function touch(): void {
    const side: Side = random.chance(0.5) ? 'b' : 'a';
    const { prices } = sides[side];
    const near = prices.length - 1 - Math.floor(random.next() ** 3 * prices.length);
    const price = prices[near];
    if (price !== undefined) set(side, price, someSize());
  }

  function follow(mid: number, touches: number): void {
    const rounded = Math.floor(mid / tick) * tick;
    tradeThrough(rounded);
    for (let n = 0; n < touches; n += 1) touch();
    balance('b', rounded);
    balance('a', rounded);
  }

  /** Dense near the top, thin far away: level i lies i + c·i² ticks from the mid. */
  function fill(): void {
    const curve = Math.max(0, (reach(shape.startPrice) * 1.1) / tick - shape.levels) / shape.levels ** 2;
    for (let i = shape.levels - 1; i >= 0; i -= 1) {
      const offset = (i + Math.floor(curve * i * i)) * tick;
      set('b', shape.startPrice - offset, someSize());
      set('a', shape.startPrice + tick + offset, someSize());
    }
    pending = [];
  }

  fill();
  return {
    bids: sides.b,
    asks: sides.a,
    follow,
    takeChanges: () => {
      const taken = pending;
      pending = [];
      return taken;
    },
    pendingChanges: () => pending,
    hash: () => hash,
  };
}

/** The newest size of each changed level, bids before asks, each ascending in price (as Binance sorts them). */
export function netChanges(changes: readonly Change[]): readonly Change[] {
  const newest = new Map<number, Change>();
  for (const change of changes) newest.set(change.side === 'b' ? change.price : -change.price, change);
  return [...newest.values()].sort((x, y) => (x.side === y.side ? x.price - y.price : x.side === 'b' ? -1 : 1));
}
