// Which perpetuals the simulated Binance lists, with their trading rules and starting prices.

export type Market = 'usdm' | 'coinm';
export type ListingStatus = 'TRADING' | 'SETTLING' | 'CLOSE';

/** Prices are integers of 10^-priceDecimals, quantities of 10^-qtyDecimals. */
export type SimListing = {
  readonly market: Market;
  readonly symbol: string;
  readonly pair: string;
  readonly base: string;
  readonly quote: string;
  readonly margin: string;
  readonly priceDecimals: number;
  /** Smallest price step, in price units: BTCUSDT prints two decimals but steps by 0.10. */
  readonly tick: number;
  readonly qtyDecimals: number;
  /** USD a contract, COIN-M only. */
  readonly contractSize: number | null;
  readonly minNotional: string;
  readonly fundingHours: 1 | 4 | 8;
  readonly onboardedAtMs: number;
  readonly startPrice: number;
};

/** [base, price in quote, price decimals, tick in units, quantity decimals, funding hours]. */
type Row = readonly [string, number, number, number, number, 1 | 4 | 8];

const USDT: readonly Row[] = [
  ['BTC', 97_000, 2, 10, 3, 8],
  ['ETH', 3_400, 2, 1, 3, 8],
  ['1000PEPE', 0.0213, 7, 1, 0, 4],
  ['SOL', 215, 4, 100, 0, 8],
  ['XRP', 1.42, 4, 1, 1, 4],
  ['DOGE', 0.382, 5, 1, 0, 8],
  ['1000000MOG', 2.31, 4, 1, 1, 1],
  ['BNB', 632, 3, 10, 2, 8],
  ['ADA', 0.81, 5, 10, 0, 8],
  ['AVAX', 36.4, 4, 10, 0, 8],
  ['LINK', 15.2, 3, 1, 2, 8],
  ['DOT', 6.03, 3, 1, 1, 8],
  ['LTC', 89.4, 2, 1, 3, 8],
  ['BCH', 478, 2, 1, 3, 8],
  ['TRX', 0.2013, 5, 1, 0, 8],
  ['NEAR', 5.71, 4, 10, 0, 8],
  ['APT', 11.9, 5, 100, 1, 4],
  ['ARB', 0.742, 6, 100, 1, 4],
  ['OP', 1.83, 7, 1_000, 1, 4],
  ['SUI', 3.61, 6, 100, 1, 4],
  ['SEI', 0.523, 7, 1_000, 0, 4],
  ['TIA', 5.22, 7, 1_000, 0, 4],
  ['INJ', 27.3, 6, 1_000, 1, 4],
  ['FIL', 4.41, 3, 1, 1, 8],
  ['ATOM', 6.84, 3, 1, 2, 8],
  ['ETC', 26.1, 3, 1, 2, 8],
  ['XLM', 0.253, 5, 1, 0, 8],
  ['UNI', 9.14, 4, 10, 0, 8],
  ['AAVE', 172, 3, 10, 1, 8],
  ['1000SHIB', 0.0247, 6, 1, 0, 8],
  ['1000BONK', 0.0481, 7, 10, 0, 4],
  ['WIF', 3.12, 4, 1, 1, 4],
  ['HBAR', 0.121, 5, 1, 0, 8],
  ['RUNE', 5.47, 4, 10, 0, 8],
  ['GALA', 0.0312, 5, 1, 0, 8],
  ['CRV', 0.511, 4, 1, 1, 8],
  ['SAND', 0.342, 5, 10, 0, 8],
  ['TON', 5.38, 7, 1_000, 1, 4],
  ['HYPE', 31.6, 5, 100, 2, 1],
];

/** [base, price in USD, price decimals, tick in units, contract size in USD]. */
const COIN: readonly (readonly [string, number, number, number, 10 | 100])[] = [
  ['BTC', 97_000, 1, 1, 100],
  ['ETH', 3_400, 2, 1, 10],
  ['SOL', 215, 3, 10, 10],
  ['BNB', 632, 3, 10, 10],
  ['XRP', 1.42, 4, 1, 10],
  ['ADA', 0.81, 5, 10, 10],
  ['LINK', 15.2, 3, 1, 10],
  ['DOT', 6.03, 3, 1, 10],
  ['LTC', 89.4, 2, 1, 10],
  ['DOGE', 0.382, 5, 1, 10],
];

const FIRST_ONBOARDED_MS = 1_569_398_400_000;
const DAY_MS = 86_400_000;

function linear(
  [base, price, priceDecimals, tick, qtyDecimals, fundingHours]: Row,
  quote: string,
  age: number,
): SimListing {
  const symbol = `${base}${quote}`;
  return {
    market: 'usdm',
    symbol,
    pair: symbol,
    base,
    quote,
    margin: quote,
    priceDecimals,
    tick,
    qtyDecimals,
    contractSize: null,
    minNotional: base === 'BTC' ? '100' : '5',
    fundingHours,
    onboardedAtMs: FIRST_ONBOARDED_MS + age * 17 * DAY_MS,
    startPrice: Math.round((price * 10 ** priceDecimals) / tick) * tick,
  };
}

function inverse([base, price, priceDecimals, tick, contractSize]: (typeof COIN)[number], age: number): SimListing {
  return {
    market: 'coinm',
    symbol: `${base}USD_PERP`,
    pair: `${base}USD`,
    base,
    quote: 'USD',
    margin: base,
    priceDecimals,
    tick,
    qtyDecimals: 0,
    contractSize,
    minNotional: '0',
    fundingHours: 8,
    onboardedAtMs: 1_597_042_800_000 + age * 9 * DAY_MS,
    startPrice: Math.round((price * 10 ** priceDecimals) / tick) * tick,
  };
}

/** A made-up coin, for more listings than the table has and for `listing_added`. */
export function extraListing(number: number): SimListing {
  const base = `SIM${String(number).padStart(4, '0')}`;
  return linear([base, 1 + (number % 90), 4, 1, 1, number % 5 === 0 ? 4 : 8], 'USDT', 100);
}

/** `count` listings, a fifth of them COIN-M (at most ten), BTCUSDC the fourth USD-M one. */
export function simulatedListings(count: number): readonly SimListing[] {
  const usdm = USDT.map((row, age) => linear(row, 'USDT', age));
  usdm.splice(3, 0, linear(['BTC', 97_000, 1, 1, 3, 8], 'USDC', 60));
  const inverses = COIN.map(inverse).slice(0, count < 2 ? 0 : Math.max(1, Math.round(count / 5)));
  const wanted = count - inverses.length;
  for (let n = usdm.length + 1; usdm.length < wanted; n += 1) usdm.push(extraListing(n));
  return [...usdm.slice(0, wanted), ...inverses];
}
