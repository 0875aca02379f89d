// The perpetuals of the simulated Binance: USD-M in base units, COIN-M in contracts of 10 or 100 USD.
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import {
  COINS,
  type Coin,
  type CoinRow,
  type ContractRules,
  computeShare,
  type Decimals,
  fillUp,
  makeCoinRules,
  makeInverse,
  makeLinear,
  makeUpCoin,
  makeUpRules,
  type SimListing,
} from '../../listings.ts';

export type Market = 'usdm' | 'coinm';

const USDT: readonly CoinRow[] = [
  ['BTC', 'BTC', 1, 2, 10, 3, 8],
  ['ETH', 'ETH', 1, 2, 1, 3, 8],
  ['1000PEPE', 'PEPE', 1_000, 7, 1, 0, 4],
  ['SOL', 'SOL', 1, 4, 100, 0, 8],
  ['XRP', 'XRP', 1, 4, 1, 1, 4],
  ['DOGE', 'DOGE', 1, 5, 1, 0, 8],
  ['1000000MOG', 'MOG', 1_000_000, 4, 1, 1, 1],
  ['BNB', 'BNB', 1, 3, 10, 2, 8],
  ['ADA', 'ADA', 1, 5, 10, 0, 8],
  ['AVAX', 'AVAX', 1, 4, 10, 0, 8],
  ['LINK', 'LINK', 1, 3, 1, 2, 8],
  ['DOT', 'DOT', 1, 3, 1, 1, 8],
  ['LTC', 'LTC', 1, 2, 1, 3, 8],
  ['BCH', 'BCH', 1, 2, 1, 3, 8],
  ['TRX', 'TRX', 1, 5, 1, 0, 8],
  ['NEAR', 'NEAR', 1, 4, 10, 0, 8],
  ['APT', 'APT', 1, 5, 100, 1, 4],
  ['ARB', 'ARB', 1, 6, 100, 1, 4],
  ['OP', 'OP', 1, 7, 1_000, 1, 4],
  ['SUI', 'SUI', 1, 6, 100, 1, 4],
  ['SEI', 'SEI', 1, 7, 1_000, 0, 4],
  ['TIA', 'TIA', 1, 7, 1_000, 0, 4],
  ['INJ', 'INJ', 1, 6, 1_000, 1, 4],
  ['FIL', 'FIL', 1, 3, 1, 1, 8],
  ['ATOM', 'ATOM', 1, 3, 1, 2, 8],
  ['ETC', 'ETC', 1, 3, 1, 2, 8],
  ['XLM', 'XLM', 1, 5, 1, 0, 8],
  ['UNI', 'UNI', 1, 4, 10, 0, 8],
  ['AAVE', 'AAVE', 1, 3, 10, 1, 8],
  ['1000SHIB', 'SHIB', 1_000, 6, 1, 0, 8],
  ['1000BONK', 'BONK', 1_000, 7, 10, 0, 4],
  ['WIF', 'WIF', 1, 4, 1, 1, 4],
  ['HBAR', 'HBAR', 1, 5, 1, 0, 8],
  ['RUNE', 'RUNE', 1, 4, 10, 0, 8],
  ['GALA', 'GALA', 1, 5, 1, 0, 8],
  ['CRV', 'CRV', 1, 4, 1, 1, 8],
  ['SAND', 'SAND', 1, 5, 10, 0, 8],
  ['TON', 'TON', 1, 7, 1_000, 1, 4],
  ['HYPE', 'HYPE', 1, 5, 100, 2, 1],
];

/** [coin, price decimals, tick in units, contract size in USD]. */
const COIN: readonly (readonly [Coin, number, number, 10 | 100])[] = [
  ['BTC', 1, 1, 100],
  ['ETH', 2, 1, 10],
  ['SOL', 3, 10, 10],
  ['BNB', 3, 10, 10],
  ['XRP', 4, 1, 10],
  ['ADA', 5, 10, 10],
  ['LINK', 3, 1, 10],
  ['DOT', 3, 1, 10],
  ['LTC', 2, 1, 10],
  ['DOGE', 5, 1, 10],
];

const FIRST_ONBOARDED_MS = 1_569_398_400_000;
const COINM_ONBOARDED_MS = 1_597_042_800_000;

/** The change is printed in percent with three decimals; amounts of USD-M candles are exact products. */
const makeDecimals = (turnover: number, amount: number): Decimals => ({
  mark: 8,
  rate: 8,
  change: 5,
  turnover,
  amount,
});

function toLinear(asset: string, quote: string, rules: ContractRules): SimListing {
  const symbol = `${asset}${quote}`;
  return {
    ...makeLinear(quote, rules),
    scope: 'usdm',
    symbol,
    pair: symbol,
    base: asset,
    contractSize: null,
    decimals: makeDecimals(2, rules.priceDecimals + rules.qtyDecimals),
    minNotional: asset === 'BTC' ? '100' : '5',
  };
}

const toUsdt = (row: CoinRow, age: number): SimListing =>
  toLinear(row[0], 'USDT', { ...makeCoinRules(row), onboardedAtMs: FIRST_ONBOARDED_MS + age * 17 * MS_PER_DAY });

const BTCUSDC = toLinear('BTC', 'USDC', {
  price: COINS.BTC,
  priceDecimals: 1,
  tick: 1,
  qtyDecimals: 3,
  fundingHours: 8,
  onboardedAtMs: FIRST_ONBOARDED_MS + 1_020 * MS_PER_DAY,
  isQuiet: false,
});

const toInverse = ([coin, priceDecimals, tick, contractSize]: (typeof COIN)[number], age: number): SimListing => ({
  ...makeInverse(coin, { priceDecimals, tick }),
  scope: 'coinm',
  symbol: `${coin}USD_PERP`,
  pair: `${coin}USD`,
  contractSize,
  qtyDecimals: 0,
  decimals: makeDecimals(8, 8),
  minNotional: '0',
  onboardedAtMs: COINM_ONBOARDED_MS + age * 9 * MS_PER_DAY,
});

export const makeExtraListing = (number: number): SimListing =>
  toLinear(makeUpCoin(number), 'USDT', makeUpRules(number, FIRST_ONBOARDED_MS + 1_700 * MS_PER_DAY));

/** `count` listings, a fifth of them COIN-M (at most ten), BTCUSDC the fourth USD-M one. */
export const makeListings = (count: number): readonly SimListing[] =>
  fillUp(count, {
    first: USDT.map(toUsdt).toSpliced(3, 0, BTCUSDC),
    second: COIN.map(toInverse).slice(0, computeShare(count, 5)),
    madeUp: makeExtraListing,
  });
