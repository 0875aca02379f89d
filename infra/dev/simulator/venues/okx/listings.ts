// The swaps of the simulated OKX: linear in contracts of coins (USDT, one in USDC), inverse in contracts of US dollars.
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import {
  COINS,
  type Coin,
  type ContractRules,
  computeShare,
  type FundingHours,
  fillUp,
  makeInverse,
  makeLinear,
  makeUpCoin,
  makeUpRules,
  QUIET,
  type SimListing,
} from '../../listings.ts';

/** All its listings share one market. */
export const SCOPE = 'swap';

/** [coin, coins a contract (a power of ten), price decimals, tick in units, decimals of a number of contracts, funding hours]. */
type Row = readonly [Coin, number, number, number, number, FundingHours];

const USDT: readonly Row[] = [
  ['BTC', 0.01, 1, 1, 2, 8],
  ['ETH', 0.1, 2, 1, 2, 8],
  ['PEPE', 10_000_000, 9, 1, 1, 4],
  ['SOL', 1, 2, 1, 2, 8],
  ['XRP', 100, 4, 1, 2, 8],
  ['DOGE', 1_000, 5, 1, 2, 8],
  ['ADA', 100, 4, 1, 1, 4],
  ['SHIB', 1_000_000, 9, 1, 1, 8],
  ['BNB', 0.01, 1, 1, 0, 8],
  ['AVAX', 1, 3, 10, 1, 8],
  ['LINK', 1, 3, 1, 1, 8],
  ['DOT', 1, 3, 1, 1, 8],
  ['LTC', 1, 2, 1, 1, 8],
  ['BCH', 0.1, 1, 1, 1, 8],
  ['TRX', 1_000, 5, 1, 2, 8],
  ['NEAR', 10, 3, 1, 1, 8],
  ['APT', 1, 3, 1, 1, 4],
  ['ARB', 10, 4, 1, 1, 4],
  ['OP', 1, 4, 1, 0, 4],
  ['SUI', 1, 4, 1, 0, 2],
  ['SEI', 10, 5, 1, 1, 4],
  ['TIA', 1, 3, 1, 1, 4],
  ['INJ', 0.1, 3, 1, 0, 4],
  ['FIL', 0.1, 3, 1, 0, 8],
  ['ATOM', 1, 3, 1, 1, 8],
  ['ETC', 10, 3, 1, 1, 8],
  ['XLM', 100, 5, 1, 1, 8],
  ['UNI', 1, 3, 1, 1, 8],
  ['AAVE', 0.1, 2, 1, 1, 8],
  ['BONK', 100_000, 9, 10, 1, 4],
  ['WIF', 1, 4, 10, 1, 4],
  ['HBAR', 100, 5, 1, 1, 8],
  ['GALA', 10, 5, 1, 0, 8],
  ['CRV', 1, 4, 1, 0, 8],
  ['SAND', 10, 4, 1, 1, 8],
  ['TON', 1, 3, 1, 1, 4],
  ['HYPE', 0.1, 3, 10, 0, 1],
];

/** [coin, US dollars a contract, price decimals, tick in units]. */
const USD: readonly (readonly [Coin, number, number, number])[] = [
  ['BTC', 100, 1, 1],
  ['ETH', 10, 2, 1],
  ['SOL', 10, 2, 1],
  ['XRP', 10, 4, 1],
  ['DOT', 10, 3, 1],
  ['LTC', 10, 2, 1],
];

const FIRST_LISTED_MS = 1_611_916_828_000;
/** Of index and mark. */
const MOST_DECIMALS = 8;

/** Power of ten of a contract's size. */
const computeMagnitude = (contractSize: number): number => Math.round(Math.log10(contractSize));

type Linear = ContractRules & { readonly base: string; readonly contractSize: number };

function toLinear(quote: 'USDT' | 'USDC', contract: Linear): SimListing {
  const { base, contractSize, priceDecimals, qtyDecimals } = contract;
  // Enough decimals that a candle's turnover is an exact product.
  const amount = Math.max(0, priceDecimals + qtyDecimals - computeMagnitude(contractSize));
  return {
    ...makeLinear(quote, contract),
    scope: SCOPE,
    symbol: `${base}-${quote}-SWAP`,
    pair: `${base}-${quote}`,
    base,
    contractSize,
    decimals: { mark: Math.min(MOST_DECIMALS, priceDecimals), rate: 8, turnover: 2, change: 4, amount },
    minNotional: '',
  };
}

const toUsdt = ([base, contractSize, priceDecimals, tick, qtyDecimals, fundingHours]: Row, age: number): SimListing =>
  toLinear('USDT', {
    ...{ base, contractSize, priceDecimals, tick, qtyDecimals, fundingHours },
    price: COINS[base],
    onboardedAtMs: FIRST_LISTED_MS + age * 29 * MS_PER_DAY,
    isQuiet: QUIET.has(base),
  });

/** Its index is that in US dollars, like that of the inverse swap: the same decimals keep the two indexes equal. */
const BTC_USDC = toLinear('USDC', {
  base: 'BTC',
  contractSize: 0.0001,
  price: COINS.BTC,
  priceDecimals: 1,
  tick: 1,
  qtyDecimals: 0,
  fundingHours: 8,
  onboardedAtMs: FIRST_LISTED_MS + 600 * MS_PER_DAY,
  isQuiet: false,
});

const toInverse = ([base, contractSize, priceDecimals, tick]: (typeof USD)[number], age: number): SimListing => ({
  ...makeInverse(base, { priceDecimals, tick }),
  scope: SCOPE,
  symbol: `${base}-USD-SWAP`,
  pair: `${base}-USD`,
  turnoverIn: 'quote',
  contractSize,
  qtyDecimals: 1,
  decimals: { mark: priceDecimals, rate: 8, turnover: 0, change: 4, amount: 0 },
  minNotional: '',
  onboardedAtMs: FIRST_LISTED_MS + age * 11 * MS_PER_DAY,
});

export const makeExtraListing = (number: number): SimListing =>
  toLinear('USDT', {
    ...makeUpRules(number, FIRST_LISTED_MS + 1_800 * MS_PER_DAY),
    base: makeUpCoin(number),
    contractSize: 1,
  });

/** `count` listings, a sixth of them inverse (at most six), BTC-USDC-SWAP the third linear one. */
export const makeListings = (count: number): readonly SimListing[] =>
  fillUp(count, {
    first: USDT.map(toUsdt).toSpliced(2, 0, BTC_USDC),
    second: USD.map(toInverse).slice(0, computeShare(count, 6)),
    madeUp: makeExtraListing,
  });

/** The index of a swap: contracts in USDC follow that in US dollars since 2023-04-20. */
export const toIndex = ({ pair }: SimListing): string => pair.replace(/-USDC$/, '-USD');

/** Units of this many contracts in coins (linear) or US dollars (inverse), with the decimals that make them exact. */
export function computeWorth({ contractSize, qtyDecimals }: SimListing, contracts: number): readonly [number, number] {
  const size = contractSize ?? 1;
  const decimals = Math.max(0, qtyDecimals - computeMagnitude(size));
  return [Math.round(contracts * size * 10 ** (decimals - qtyDecimals)), decimals];
}
