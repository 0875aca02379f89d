// A simulated perpetual of any venue: its names, its units, the decimals its venue prints, and coins all venues share.

export type ListingStatus = 'trading' | 'settling' | 'closed';
export type FundingHours = 1 | 2 | 4 | 8;

/** Prices are integers of 10^-priceDecimals, quantities of 10^-qtyDecimals. */
export type SimListing = {
  /** The venue's market of the listing, in the venue's spelling (`usdm`, `inverse`); symbols are unique within it. */
  readonly scope: string;
  readonly symbol: string;
  readonly pair: string;
  readonly base: string;
  readonly quote: string;
  readonly margin: string;
  readonly isInverse: boolean;
  /** Set where the venue counts an inverse contract's turnover in quote as well; default: in base. */
  readonly turnoverIn?: 'quote';
  /** Set where the venue's volume of an inverse contract is its amount of base, and its turnover the amount of quote. */
  readonly volumeIn?: 'base';
  /** Unit of a quantity of one: base (linear) or quote (inverse). Null: quantities are base. */
  readonly contractSize: number | null;
  readonly priceDecimals: number;
  /** Smallest price step, in price units: BTCUSDT may print two decimals and step by 0.10. */
  readonly tick: number;
  readonly qtyDecimals: number;
  readonly decimals: Decimals;
  readonly minNotional: string;
  readonly fundingHours: FundingHours;
  readonly onboardedAtMs: number;
  /** In price units. */
  readonly startPrice: number;
  /** Trades in one minute of three only; its other minutes have no trade. */
  readonly isQuiet: boolean;
};

/** Decimals the venue prints: index and mark, funding rate (both at most eight), the day's turnover and change (as a fraction), a candle's amount. */
export type Decimals = {
  readonly mark: number;
  readonly rate: number;
  readonly turnover: number;
  readonly change: number;
  readonly amount: number;
};

/** US dollars at the start, the same on every venue. */
export const COINS = {
  BTC: 97_000,
  ETH: 3_400,
  PEPE: 0.0000213,
  SOL: 215,
  XRP: 1.42,
  DOGE: 0.382,
  MOG: 0.00000231,
  BNB: 632,
  ADA: 0.81,
  AVAX: 36.4,
  LINK: 15.2,
  DOT: 6.03,
  LTC: 89.4,
  BCH: 478,
  TRX: 0.2013,
  NEAR: 5.71,
  APT: 11.9,
  ARB: 0.742,
  OP: 1.83,
  SUI: 3.61,
  SEI: 0.523,
  TIA: 5.22,
  INJ: 27.3,
  FIL: 4.41,
  ATOM: 6.84,
  ETC: 26.1,
  XLM: 0.253,
  UNI: 9.14,
  AAVE: 172,
  SHIB: 0.0000247,
  BONK: 0.0000481,
  WIF: 3.12,
  HBAR: 0.121,
  RUNE: 5.47,
  GALA: 0.0312,
  CRV: 0.511,
  SAND: 0.342,
  TON: 5.38,
  HYPE: 31.6,
} as const;
export type Coin = keyof typeof COINS;

/** Coins with few trades, on every venue. */
export const QUIET: ReadonlySet<string> = new Set(['MOG', 'ADA', 'DOT', 'SEI', 'RUNE']);

/** A whole number of ticks near `price`. */
export function toTicks(price: number, priceDecimals: number, tick: number): number {
  return Math.max(1, Math.round((price * 10 ** priceDecimals) / tick)) * tick;
}

/** Rules that a venue sets for each coin; `price` is its start price. */
export type ContractRules = Pick<
  SimListing,
  'priceDecimals' | 'tick' | 'qtyDecimals' | 'fundingHours' | 'onboardedAtMs' | 'isQuiet'
> & { readonly price: number };

/** A linear contract in coins: [asset, coin, coins of one asset, price decimals, tick in units, quantity decimals, funding hours]. */
export type CoinRow = readonly [string, Coin, number, number, number, number, FundingHours];

export const makeCoinRules = ([, coin, multiplier, priceDecimals, tick, qtyDecimals, fundingHours]: CoinRow) => ({
  ...{ priceDecimals, tick, qtyDecimals, fundingHours },
  price: COINS[coin] * multiplier,
  isQuiet: QUIET.has(coin),
});

/** Common to all linear contracts: the quote is the margin. */
export const makeLinear = (quote: string, { price, ...rules }: ContractRules) => ({
  ...rules,
  quote,
  margin: quote,
  isInverse: false,
  startPrice: toTicks(price, rules.priceDecimals, rules.tick),
});

/** Common to inverse contracts on venues with funding intervals: the coin is the margin, US dollars the quote. */
export const makeInverse = (coin: Coin, { priceDecimals, tick }: Pick<SimListing, 'priceDecimals' | 'tick'>) => ({
  base: coin,
  quote: 'USD',
  margin: coin,
  isInverse: true,
  priceDecimals,
  tick,
  fundingHours: 8 as const,
  startPrice: toTicks(COINS[coin], priceDecimals, tick),
  isQuiet: false,
});

/** The code of a made-up coin. */
export const makeUpCoin = (number: number): string => `SIM${String(number).padStart(4, '0')}`;
/** US dollars of a made-up coin. */
export const makeUpPrice = (number: number): number => 1 + (number % 90);
/** Rules of a made-up coin, a fifth of them paying funding twice as often. */
export const makeUpRules = (number: number, onboardedAtMs: number): ContractRules => ({
  price: makeUpPrice(number),
  priceDecimals: 4,
  tick: 1,
  qtyDecimals: 1,
  fundingHours: number % 5 === 0 ? 4 : 8,
  onboardedAtMs,
  isQuiet: false,
});

/** Number of `count` listings of a venue's second kind: one in `part`, and at least one of two. */
export const computeShare = (count: number, part: number): number =>
  count < 2 ? 0 : Math.max(1, Math.round(count / part));

type Kinds = {
  readonly first: readonly SimListing[];
  readonly second: readonly SimListing[];
  /** One more of the first kind; numbers continue after those of `first`. */
  readonly madeUp: (number: number) => SimListing;
};

/** `count` listings, those of the second kind last. */
export function fillUp(count: number, { first, second, madeUp }: Kinds): readonly SimListing[] {
  const wanted = count - second.length;
  const firsts = first.slice(0, wanted);
  for (let n = first.length + 1; firsts.length < wanted; n += 1) firsts.push(madeUp(n));
  return [...firsts, ...second];
}

/** The same contract under another coin's name. */
export function renameListing(listing: SimListing, base: string): SimListing {
  const { symbol, pair } = listing;
  return { ...listing, base, symbol: symbol.replace(listing.base, base), pair: pair.replace(listing.base, base) };
}

/** Turnover of one trade in units of 10^-decimals: quote (linear) or base (inverse, unless `turnoverIn` is set). */
export function computeAmount(
  listing: SimListing,
  trade: { readonly price: number; readonly qty: number },
  decimals: number,
): number {
  const { priceDecimals, qtyDecimals } = listing;
  const size = listing.contractSize ?? 1;
  if (listing.isInverse && listing.turnoverIn === 'quote')
    return Math.round(trade.qty * size * 10 ** (decimals - qtyDecimals));
  if (listing.isInverse)
    return Math.round((trade.qty * size * 10 ** (decimals + priceDecimals - qtyDecimals)) / trade.price);
  return Math.round(trade.price * trade.qty * size * 10 ** (decimals - priceDecimals - qtyDecimals));
}
