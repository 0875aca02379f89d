// The perpetuals of the simulated Bybit: linear in base units (USDT, one in USDC), inverse in US dollars.
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import {
  COINS,
  type Coin,
  type CoinRow,
  type ContractRules,
  computeShare,
  fillUp,
  makeCoinRules,
  makeInverse,
  makeLinear,
  makeUpCoin,
  makeUpRules,
  type SimListing,
} from '../../listings.ts';

export type Market = 'linear' | 'inverse';

/** A multiplier is a prefix or suffix of the coin. */
const USDT: readonly CoinRow[] = [
  ['BTC', 'BTC', 1, 2, 10, 3, 8],
  ['ETH', 'ETH', 1, 2, 1, 2, 8],
  ['1000PEPE', 'PEPE', 1_000, 7, 1, 0, 4],
  ['SOL', 'SOL', 1, 3, 10, 1, 8],
  ['XRP', 'XRP', 1, 4, 1, 0, 8],
  ['DOGE', 'DOGE', 1, 5, 1, 0, 8],
  ['1000000MOG', 'MOG', 1_000_000, 4, 1, 1, 1],
  ['SHIB1000', 'SHIB', 1_000, 6, 1, 0, 8],
  ['ADA', 'ADA', 1, 4, 1, 0, 8],
  ['AVAX', 'AVAX', 1, 3, 1, 1, 8],
  ['LINK', 'LINK', 1, 3, 1, 1, 8],
  ['DOT', 'DOT', 1, 4, 1, 1, 8],
  ['LTC', 'LTC', 1, 2, 1, 1, 8],
  ['BCH', 'BCH', 1, 1, 1, 2, 8],
  ['TRX', 'TRX', 1, 5, 1, 0, 8],
  ['NEAR', 'NEAR', 1, 3, 1, 1, 8],
  ['APT', 'APT', 1, 4, 5, 2, 4],
  ['ARB', 'ARB', 1, 4, 1, 1, 4],
  ['OP', 'OP', 1, 4, 1, 1, 4],
  ['SUI', 'SUI', 1, 5, 10, 0, 2],
  ['SEI', 'SEI', 1, 5, 1, 0, 4],
  ['TIA', 'TIA', 1, 4, 1, 1, 4],
  ['INJ', 'INJ', 1, 3, 1, 1, 4],
  ['FIL', 'FIL', 1, 3, 1, 1, 8],
  ['ATOM', 'ATOM', 1, 3, 1, 1, 8],
  ['ETC', 'ETC', 1, 3, 1, 1, 8],
  ['XLM', 'XLM', 1, 5, 1, 0, 8],
  ['UNI', 'UNI', 1, 3, 1, 1, 8],
  ['AAVE', 'AAVE', 1, 2, 1, 2, 8],
  ['WIF', 'WIF', 1, 4, 1, 0, 4],
  ['HBAR', 'HBAR', 1, 5, 1, 0, 8],
  ['CRV', 'CRV', 1, 4, 1, 1, 8],
  ['TON', 'TON', 1, 4, 1, 1, 4],
  ['HYPE', 'HYPE', 1, 3, 1, 2, 1],
];

/** [coin, price decimals, tick in units]. */
const INVERSE: readonly (readonly [Coin, number, number])[] = [
  ['BTC', 2, 50],
  ['ETH', 2, 5],
  ['XRP', 4, 1],
  ['SOL', 3, 10],
  ['DOT', 4, 10],
  ['LTC', 2, 1],
];

const FIRST_LAUNCHED_MS = 1_585_526_400_000;
const INVERSE_LAUNCHED_MS = 1_542_211_200_000;

const toLinear = (asset: string, quote: 'USDT' | 'USDC', rules: ContractRules): SimListing => {
  // The symbol of a perpetual in USDC omits its quote.
  const symbol = quote === 'USDT' ? `${asset}USDT` : `${asset}PERP`;
  const { priceDecimals, qtyDecimals } = rules;
  return {
    ...makeLinear(quote, rules),
    scope: 'linear',
    symbol,
    pair: symbol,
    base: asset,
    contractSize: null,
    decimals: { mark: priceDecimals, rate: 8, turnover: 4, change: 6, amount: priceDecimals + qtyDecimals },
    minNotional: '5',
  };
};

const toUsdt = (row: CoinRow, age: number): SimListing =>
  toLinear(row[0], 'USDT', { ...makeCoinRules(row), onboardedAtMs: FIRST_LAUNCHED_MS + age * 23 * MS_PER_DAY });

const BTCPERP = toLinear('BTC', 'USDC', {
  price: COINS.BTC,
  priceDecimals: 2,
  tick: 10,
  qtyDecimals: 3,
  fundingHours: 8,
  onboardedAtMs: FIRST_LAUNCHED_MS + 800 * MS_PER_DAY,
  isQuiet: false,
});

/** Quantities count US dollars. */
const toInverse = ([coin, priceDecimals, tick]: (typeof INVERSE)[number], age: number): SimListing => ({
  ...makeInverse(coin, { priceDecimals, tick }),
  scope: 'inverse',
  symbol: `${coin}USD`,
  pair: `${coin}USD`,
  contractSize: 1,
  qtyDecimals: 0,
  decimals: { mark: priceDecimals, rate: 8, turnover: 4, change: 6, amount: 8 },
  minNotional: '',
  onboardedAtMs: INVERSE_LAUNCHED_MS + age * 40 * MS_PER_DAY,
});

export const makeExtraListing = (number: number): SimListing =>
  toLinear(makeUpCoin(number), 'USDT', makeUpRules(number, FIRST_LAUNCHED_MS + 1_900 * MS_PER_DAY));

/** `count` listings, a sixth of them inverse (at most six), BTCPERP the third linear one. */
export const makeListings = (count: number): readonly SimListing[] =>
  fillUp(count, {
    first: USDT.map(toUsdt).toSpliced(2, 0, BTCPERP),
    second: INVERSE.map(toInverse).slice(0, computeShare(count, 6)),
    madeUp: makeExtraListing,
  });
