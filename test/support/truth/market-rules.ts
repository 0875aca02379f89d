// Random rules about the current market: over every layer and operator that reads no candles, with figures near the market's, so that states change.
import type { Dice } from '../screen/random-market.ts';
import type { Snapshots } from './truth.ts';

export type MarketRule = {
  /** The condition, without its selection. */
  readonly condition: string;
  readonly bases: readonly string[];
  /** Null: all. */
  readonly venues: readonly string[] | null;
  readonly freshness: string | { readonly mark: string } | null;
};

/** Digits of a member over the listings of a base. */
type Figures = ReadonlyMap<string, readonly string[]>;

const FIELDS = [
  ...['last', 'mark', 'index', 'basis', 'funding', 'funding_8h', 'oi', 'bid', 'ask', 'mid', 'spread'],
  ...['bid_size', 'ask_size', 'volume_24h', 'turnover_24h', 'change_24h'],
] as const;
const DEPTHS = ['depth_bid_10bps', 'depth_ask_10bps', 'depth_bid_value_25bps', 'depth_ask_value_25bps'] as const;
/** May be summed or compared over venues as they are published. */
const PRICES = ['last', 'mark', 'index', 'bid', 'ask', 'mid'] as const;
const OPERATORS = ['>', '<', '>=', '<='] as const;
const PLAIN = /^-?\d{1,15}(\.\d{1,15})?$/;

export const findFigures = (
  { items }: Snapshots,
  baseOf: (venue: string, symbol: string) => string | undefined,
): ReadonlyMap<string, Figures> => {
  const all = new Map<string, Map<string, string[]>>();
  for (const { venue, venue_symbol: symbol, layers } of items) {
    const base = baseOf(venue, symbol);
    if (base === undefined) continue;
    const figures = all.get(base) ?? new Map<string, string[]>();
    all.set(base, figures);
    for (const { values } of Object.values(layers)) {
      for (const [member, value] of Object.entries(values))
        if (typeof value === 'string' && PLAIN.test(value))
          figures.set(member, [...(figures.get(member) ?? []), value]);
    }
  }
  return all;
};

class Writer {
  readonly #dice: Dice;
  readonly #figures: Figures;

  constructor(dice: Dice, figures: Figures) {
    this.#dice = dice;
    this.#figures = figures;
  }

  /** A figure that a listing had; 0 where none had one. */
  #near(member: string): string {
    const held = this.#figures.get(member) ?? [];
    return held.length === 0 ? '0' : this.#dice.of(held);
  }

  #compare(member: string, name = member): string {
    return `${name} ${this.#dice.of(OPERATORS)} ${this.#near(member)}`;
  }

  #depth(): string {
    const member = this.#dice.of(DEPTHS);
    const cut = member.lastIndexOf('_');
    return this.#compare(member, `${member.slice(0, cut)}(${member.slice(cut + 1)})`);
  }

  #leaf(): string {
    const dice = this.#dice;
    const field = dice.of(FIELDS);
    return dice.of([
      () => this.#compare(field),
      () => this.#compare(field),
      () => this.#depth(),
      () => `age(${field}) ${dice.of(['<', '>'])} ${dice.of(['1s', '2s', '5s', '20s'])}`,
      () => `status(${field}) = ${dice.of(['present', 'stale', 'missing'])}`,
      () => dice.of(['time_to_funding < funding_interval', 'time_to_funding > 1h']),
      () => `abs(basis) ${dice.of(OPERATORS)} ${this.#near('basis').replace('-', '')}`,
      () => `ask - bid ${dice.of(OPERATORS)} ${dice.of(['0', this.#near('tick_size')])}`,
      () => `bid / mark ${dice.of(OPERATORS)} ${dice.of(['1', '0.9999', '1.0001'])}`,
      () => `(bid + ask) * 0.5 ${dice.of(OPERATORS)} mark`,
      () => dice.of(['venue in (binance, okx)', 'quote = USDT', 'venue = bybit']),
    ])();
  }

  #condition(): string {
    const dice = this.#dice;
    return dice.of([
      () => this.#leaf(),
      () => this.#leaf(),
      () => `${this.#leaf()} and ${this.#leaf()}`,
      () => `(${this.#leaf()} or ${this.#leaf()}) and ${this.#leaf()}`,
    ])();
  }

  top(depth: number): string {
    const dice = this.#dice;
    const price = dice.of(PRICES);
    if (depth > 0 && dice.is(0.2)) return `(${this.top(0)}) ${dice.of(['and', 'or'])} (${this.top(0)})`;
    return dice.of([
      () => `any(venues where ${this.#condition()})`,
      () => `all(venues where ${this.#condition()})`,
      () => `count(venues where ${this.#condition()}) ${dice.of(OPERATORS)} ${1 + dice.below(2)}`,
      () => `${dice.of(['max', 'min'])}(venues, ${price}) ${dice.of(OPERATORS)} ${this.#near(price)}`,
      () => `max(venues, ${price}) - min(venues, ${price}) ${dice.of(OPERATORS)} ${this.#near('spread')}`,
      () => `max(venues where ${this.#leaf()}, ${price}) > ${this.#near(price)}`,
      () => `sum(venues, turnover_24h) ${dice.of(OPERATORS)} ${this.#near('turnover_24h')}`,
      () => dice.of(['venues_answered < venues_listed', 'venues_answered >= 2', 'venues_listed > 2']),
    ])();
  }
}

export const randomRule = (dice: Dice, market: ReadonlyMap<string, Figures>, venues: readonly string[]): MarketRule => {
  const bases = [...market.keys()];
  const base = dice.of(bases);
  const condition = new Writer(dice, market.get(base) as Figures).top(1);
  return {
    condition,
    bases: dice.is(0.8) ? [base] : [...new Set([base, dice.of(bases)])],
    venues: dice.is(0.3) ? [...new Set([dice.of(venues), dice.of(venues)])] : null,
    freshness: dice.of([null, null, '4s', { mark: '2s' }]),
  };
};

export const toQuery = ({ condition, bases, venues }: MarketRule): string => {
  const named = `base in (${bases.join(', ')})`;
  return `${condition} where ${venues === null ? named : `${named} and venue in (${venues.join(', ')})`}`;
};
