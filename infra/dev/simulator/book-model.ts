// One listing's simulated order book: exact integers, never crossed, with every change since the last diff and its inverse.
import { countLeading } from '../../../schemas/binary-search.ts';
import { formatPlain } from './figures.ts';
import { computeFnv1a, type Random } from './random.ts';

export type Side = 'b' | 'a';
/** Size 0 removes the level. Price and sizes in the listing's units. */
export type Change = { readonly side: Side; readonly price: number; readonly size: number; readonly before: number };
/** Levels from the furthest to the best (the best is last, because it changes most). */
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

export function hashElement(side: Side, price: string, size: string): number {
  return computeFnv1a(`${side}${price}:${size}`);
}

/** First index whose level is at least as good as `price`; `sign` +1 for bids (best is highest), -1 for asks. */
function findPosition(prices: readonly number[], price: number, sign: 1 | -1): number {
  return countLeading(prices.length, (i) => ((prices[i] ?? 0) - price) * sign < 0);
}

/** Away from the mid, as a multiplier of a distance. */
const toAwaySign = (side: Side): 1 | -1 => (side === 'b' ? -1 : 1);

export const createBookModel = (shape: BookShape, random: Random, onChange: () => void): BookModel =>
  new RandomBook(shape, random, onChange);

class RandomBook implements BookModel {
  readonly #shape: BookShape;
  readonly #random: Random;
  readonly #onChange: () => void;
  /** `hashes`: of each level, so that a change hashes only what it brings. */
  readonly #sides = {
    b: { prices: [] as number[], sizes: [] as number[], hashes: [] as number[] },
    a: { prices: [] as number[], sizes: [] as number[], hashes: [] as number[] },
  };
  #pending: Change[] = [];
  #hash = 0;

  constructor(shape: BookShape, random: Random, onChange: () => void) {
    this.#shape = shape;
    this.#random = random;
    this.#onChange = onChange;
    this.#fill();
  }

  get bids(): Levels {
    return this.#sides.b;
  }

  get asks(): Levels {
    return this.#sides.a;
  }

  follow(mid: number, touches: number): void {
    const { tick } = this.#shape;
    const rounded = Math.floor(mid / tick) * tick;
    this.#tradeThrough(rounded);
    for (let n = 0; n < touches; n += 1) this.#touch();
    this.#balance('b', rounded);
    this.#balance('a', rounded);
  }

  takeChanges(): readonly Change[] {
    const taken = this.#pending;
    this.#pending = [];
    return taken;
  }

  pendingChanges(): readonly Change[] {
    return this.#pending;
  }

  hash(): number {
    return this.#hash;
  }

  /** Dense near the top, thin further out: level i lies i + c·i² ticks from the mid. */
  #fill(): void {
    const { startPrice, levels, tick } = this.#shape;
    const curve = Math.max(0, (this.#findReach(startPrice) * 1.1) / tick - levels) / levels ** 2;
    for (let i = levels - 1; i >= 0; i -= 1) {
      const offset = (i + Math.floor(curve * i * i)) * tick;
      this.#set('b', startPrice - offset, this.#drawSize());
      this.#set('a', startPrice + tick + offset, this.#drawSize());
    }
    this.#pending = [];
  }

  #tradeThrough(mid: number): void {
    const { tick } = this.#shape;
    for (let ask = this.#best('a'); ask !== undefined && ask <= mid; ask = this.#best('a')) this.#set('a', ask, 0);
    for (let bid = this.#best('b'); bid !== undefined && bid > mid; bid = this.#best('b')) this.#set('b', bid, 0);
    if ((this.#best('b') ?? 0) < mid && this.#random.chance(0.8)) this.#set('b', mid, this.#drawSize());
    if ((this.#best('a') ?? Number.POSITIVE_INFINITY) > mid + tick && this.#random.chance(0.8))
      this.#set('a', mid + tick, this.#drawSize());
  }

  #touch(): void {
    const side: Side = this.#random.chance(0.5) ? 'b' : 'a';
    const { prices } = this.#sides[side];
    const near = prices.length - 1 - Math.floor(this.#random.next() ** 3 * prices.length);
    const price = prices[near];
    if (price !== undefined) this.#set(side, price, this.#drawSize());
  }

  /** Keeps the number of levels and their reach. */
  #balance(side: Side, mid: number): void {
    const { tick, levels } = this.#shape;
    const { prices } = this.#sides[side];
    const far = prices[0] ?? mid;
    const span = Math.abs(mid - far);
    const limit = this.#findReach(mid);
    const gap = tick * (1 + this.#random.below(Math.max(1, Math.floor(limit / levels / tick))));
    if (span < limit) this.#set(side, far + toAwaySign(side) * gap, this.#drawSize());
    else if (span > (limit * REACH_MAX) / REACH) this.#set(side, far, 0);
    if (prices.length > levels) {
      const victim = prices[prices.length - 2 - this.#random.below(Math.floor(prices.length * 0.6))];
      if (victim !== undefined) this.#set(side, victim, 0);
    } else if (prices.length < levels - 3) {
      const steps = 1 + Math.floor(this.#random.next() ** 2 * (span / tick));
      this.#set(side, (this.#best(side) ?? mid) + toAwaySign(side) * steps * tick, this.#drawSize());
    }
  }

  #best(side: Side): number | undefined {
    return this.#sides[side].prices.at(-1);
  }

  #findReach(mid: number): number {
    return Math.max(mid * REACH, this.#shape.levels * this.#shape.tick * 1.05);
  }

  #drawSize(): number {
    return 1 + Math.floor(this.#shape.typicalSize * 2 * this.#random.next() ** 2);
  }

  #set(side: Side, price: number, size: number): void {
    const { prices, sizes, hashes } = this.#sides[side];
    const at = findPosition(prices, price, side === 'b' ? 1 : -1);
    const isHeld = prices[at] === price;
    const before = isHeld ? (sizes[at] ?? 0) : 0;
    if (before === size) return;
    const hashBefore = isHeld ? (hashes[at] ?? 0) : 0;
    const hash = this.#hashLevel(side, price, size);
    if (size === 0) for (const list of [prices, sizes, hashes]) list.splice(at, 1);
    else if (isHeld) [sizes[at], hashes[at]] = [size, hash];
    else {
      prices.splice(at, 0, price);
      sizes.splice(at, 0, size);
      hashes.splice(at, 0, hash);
    }
    this.#hash = (this.#hash ^ hashBefore ^ hash) >>> 0;
    this.#pending.push({ side, price, size, before });
    this.#onChange();
  }

  #hashLevel(side: Side, price: number, size: number): number {
    const { priceDecimals, qtyDecimals } = this.#shape;
    return size === 0 ? 0 : hashElement(side, formatPlain(price, priceDecimals), formatPlain(size, qtyDecimals));
  }
}

/** The newest size of each changed level, bids before asks, each in ascending price (Binance's order). */
export function listNetChanges(changes: readonly Change[]): readonly Change[] {
  const newest = new Map<number, Change>();
  for (const change of changes) newest.set(change.side === 'b' ? change.price : -change.price, change);
  return [...newest.values()].sort((x, y) => (x.side === y.side ? x.price - y.price : x.side === 'b' ? -1 : 1));
}
