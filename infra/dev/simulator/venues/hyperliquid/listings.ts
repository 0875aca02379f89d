// The perpetuals of the simulated Hyperliquid: its own in USDC, some by thousands of coins, and those of one builder in USDE.
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import {
  COINS,
  type Coin,
  computeShare,
  fillUp,
  makeUpCoin,
  makeUpPrice,
  QUIET,
  type SimListing,
  toTicks,
} from '../../listings.ts';

/** All its listings share one address; a builder's coins are prefixed with its market's name. */
export const SCOPE = 'perps';
export const BUILDER = 'hyna';

/** [coin, decimals of a size, `k` where one listed unit is a thousand coins]. */
type Row = readonly [coin: Coin, sizeDecimals: number, prefix?: string];

const OWN: readonly Row[] = [
  ['BTC', 5],
  ['ETH', 4],
  ['PEPE', 0, 'k'],
  ['SOL', 2],
  ['XRP', 0],
  ['DOGE', 0],
  ['ADA', 0],
  ['SHIB', 0, 'k'],
  ['HYPE', 2],
  ['BNB', 3],
  ['AVAX', 2],
  ['LINK', 1],
  ['DOT', 1],
  ['LTC', 2],
  ['BCH', 3],
  ['TRX', 0],
  ['NEAR', 1],
  ['APT', 2],
  ['ARB', 1],
  ['OP', 1],
  ['SUI', 1],
  ['SEI', 0],
  ['TIA', 1],
  ['INJ', 1],
  ['FIL', 1],
  ['ATOM', 2],
  ['ETC', 2],
  ['XLM', 0],
  ['UNI', 1],
  ['AAVE', 2],
  ['BONK', 0, 'k'],
  ['WIF', 0],
  ['HBAR', 0],
  ['RUNE', 1],
  ['GALA', 0],
  ['CRV', 1],
  ['SAND', 0],
  ['TON', 1],
];

const BUILDERS: readonly Row[] = [
  ['BTC', 5],
  ['ETH', 4],
  ['SOL', 2],
  ['HYPE', 2],
  ['XRP', 0],
];

const FIRST_LISTED_MS = 1_683_849_600_000;
const SIGNIFICANT = 5;
const MOST_DECIMALS = 6;
const THOUSAND = 1_000;

/** A price has at most five significant figures, and six decimals together with the size. */
function computeDecimals(price: number, sizeDecimals: number): number {
  const figuresBeforePoint = Math.floor(Math.log10(price)) + 1;
  return Math.max(0, Math.min(MOST_DECIMALS - sizeDecimals, SIGNIFICANT - figuresBeforePoint));
}

type Perpetual = Pick<SimListing, 'symbol' | 'base' | 'margin' | 'onboardedAtMs'> & {
  readonly price: number;
  readonly sizeDecimals: number;
};

function toPerpetual({ price, sizeDecimals, ...names }: Perpetual): SimListing {
  const priceDecimals = computeDecimals(price, sizeDecimals);
  return {
    ...names,
    scope: SCOPE,
    pair: `${names.base}-${names.margin}`,
    quote: names.margin,
    isInverse: false,
    contractSize: null,
    priceDecimals,
    tick: 1,
    qtyDecimals: sizeDecimals,
    decimals: { mark: priceDecimals, rate: 8, turnover: 6, change: 6, amount: priceDecimals + sizeDecimals },
    minNotional: '10',
    fundingHours: 1,
    startPrice: toTicks(price, priceDecimals, 1),
    isQuiet: QUIET.has(names.base),
  };
}

const toOwn = ([base, sizeDecimals, prefix = '']: Row, age: number): SimListing =>
  toPerpetual({
    symbol: `${prefix}${base}`,
    base,
    margin: 'USDC',
    price: COINS[base] * (prefix === '' ? 1 : THOUSAND),
    sizeDecimals,
    onboardedAtMs: FIRST_LISTED_MS + age * 23 * MS_PER_DAY,
  });

const toBuilder = ([base, sizeDecimals]: Row, age: number): SimListing =>
  toPerpetual({
    symbol: `${BUILDER}:${base}`,
    base,
    margin: 'USDE',
    price: COINS[base],
    sizeDecimals,
    onboardedAtMs: FIRST_LISTED_MS + (950 + age * 7) * MS_PER_DAY,
  });

export const makeExtraListing = (number: number): SimListing =>
  toPerpetual({
    symbol: makeUpCoin(number),
    base: makeUpCoin(number),
    margin: 'USDC',
    price: makeUpPrice(number),
    sizeDecimals: 1,
    onboardedAtMs: FIRST_LISTED_MS + 1_000 * MS_PER_DAY,
  });

/** `count` listings, a sixth of them (at most five) the builder's, kPEPE the third of its own. */
export const makeListings = (count: number): readonly SimListing[] =>
  fillUp(count, {
    first: OWN.map(toOwn),
    second: BUILDERS.map(toBuilder).slice(0, computeShare(count, 6)),
    madeUp: makeExtraListing,
  });

/** The builder's market of a coin; empty for the venue's own. */
export const toMarket = ({ symbol }: SimListing): string => (symbol.includes(':') ? BUILDER : '');
