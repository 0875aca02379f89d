// The perpetuals of the simulated Deribit: inverse in amounts of US dollars, linear ones in coins, settled in USDC.
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import { COINS, type Coin, fillUp, makeUpCoin, makeUpPrice, QUIET, type SimListing, toTicks } from '../../listings.ts';

/** All its listings share one socket. */
export const SCOPE = 'perpetual';

/** [coin, price decimals, tick in units, decimals of an amount: one unit is a contract, of 100 coins with decimals of -2]. */
type Row = readonly [Coin, number, number, number];

const USDC: readonly Row[] = [
  ['BTC', 1, 5, 4],
  ['ETH', 2, 5, 3],
  ['SOL', 2, 1, 1],
  ['XRP', 4, 1, 0],
  ['DOGE', 5, 1, -2],
  ['ADA', 4, 1, 0],
  ['BNB', 2, 5, 2],
  ['AVAX', 3, 1, 1],
  ['LINK', 3, 1, 1],
  ['DOT', 3, 1, 1],
  ['LTC', 2, 1, 1],
  ['BCH', 2, 5, 2],
  ['TRX', 5, 1, -1],
  ['NEAR', 3, 1, 0],
  ['UNI', 3, 1, 1],
  ['ATOM', 3, 1, 1],
  ['XLM', 5, 1, -1],
  ['SUI', 4, 1, 0],
  ['AAVE', 2, 1, 2],
  ['HYPE', 3, 1, 1],
];

/** [coin, price decimals, tick in units, decimals of an amount of US dollars]. */
const USD: readonly Row[] = [
  ['BTC', 1, 5, -1],
  ['ETH', 2, 5, 0],
];

const FIRST_LISTED_MS = 1_534_242_287_000;
const COIN_DECIMALS = 8;

type Perpetual = Pick<SimListing, 'base' | 'priceDecimals' | 'tick' | 'qtyDecimals' | 'onboardedAtMs'> & {
  readonly price: number;
};

function toPerpetual({ price, ...rules }: Perpetual) {
  const { base, priceDecimals, tick } = rules;
  return {
    ...rules,
    scope: SCOPE,
    minNotional: '',
    // Accrues continuously; the rate is that of eight hours.
    fundingHours: 8 as const,
    startPrice: toTicks(price, priceDecimals, tick),
    isQuiet: QUIET.has(base),
  };
}

function toLinear(of: Perpetual): SimListing {
  const { base, priceDecimals, qtyDecimals } = of;
  // Enough decimals that a candle's cost is an exact product.
  const amount = Math.max(0, priceDecimals + qtyDecimals);
  return {
    ...toPerpetual(of),
    symbol: `${base}_USDC-PERPETUAL`,
    pair: `${base}_USDC`,
    quote: 'USDC',
    margin: 'USDC',
    isInverse: false,
    contractSize: null,
    decimals: { mark: priceDecimals + 1, rate: 8, turnover: 2, change: 6, amount },
  };
}

function toInverse(of: Perpetual): SimListing {
  const { base, priceDecimals } = of;
  return {
    ...toPerpetual(of),
    symbol: `${base}-PERPETUAL`,
    pair: `${base}_USD`,
    quote: 'USD',
    margin: base,
    isInverse: true,
    volumeIn: 'base',
    contractSize: 1,
    decimals: { mark: priceDecimals + 1, rate: 8, turnover: COIN_DECIMALS, change: 6, amount: COIN_DECIMALS },
    isQuiet: false,
  };
}

const makeRules = ([base, priceDecimals, tick, qtyDecimals]: Row, age: number): Perpetual => ({
  base,
  priceDecimals,
  tick,
  qtyDecimals,
  price: COINS[base],
  onboardedAtMs: FIRST_LISTED_MS + age * MS_PER_DAY,
});

export const makeExtraListing = (number: number): SimListing =>
  toLinear({
    base: makeUpCoin(number),
    priceDecimals: 4,
    tick: 1,
    qtyDecimals: 1,
    price: makeUpPrice(number),
    onboardedAtMs: FIRST_LISTED_MS + 2_700 * MS_PER_DAY,
  });

/** `count` listings, at most two of them inverse. */
export const makeListings = (count: number): readonly SimListing[] =>
  fillUp(count, {
    first: USDC.map((row, i) => toLinear(makeRules(row, 1_380 + i * 40))),
    second: USD.slice(0, Math.min(count - 1, 2)).map((row, i) => toInverse(makeRules(row, i * 160))),
    madeUp: makeExtraListing,
  });

/** The index that prices it: `btc_usd`. */
export const toIndex = ({ pair }: SimListing): string => pair.toLowerCase();
