// Responses of OKX's v5 public and market endpoints from the market model (shapes: recordings of cryptofeed and jkorf, docs of public data).
import type { PriceCandle } from '../../candles.ts';
import { formatFixed } from '../../figures.ts';
import type { Instrument } from '../../market.ts';
import type { Cost, RestAnswer, RestRequest, VenueDeps } from '../../venue.ts';
import {
  type CandleState,
  formatFundingRate,
  formatIndexTicker,
  formatMarkPrice,
  formatPriceCandle,
  formatRestBook,
  formatTicker,
  formatTradeCandle,
  openInterest,
} from './frames.ts';
import { SCOPE } from './listings.ts';
import { listFollowers } from './session.ts';

/** The docs limit requests per path in two seconds: those with 40 weigh two each, those with 10 weigh eight. */
export const WEIGHT_PER_MINUTE = 2_400;
const WEIGHTS: Readonly<Record<string, number>> = {
  'public/time': 8,
  'public/instruments': 4,
  'public/funding-rate': 8,
  'public/open-interest': 4,
  'public/mark-price': 8,
  'market/ticker': 4,
  'market/tickers': 4,
  'market/index-tickers': 4,
  'market/books': 2,
  'market/candles': 2,
  'market/history-candles': 4,
  'market/mark-price-candles': 4,
  'market/history-mark-price-candles': 8,
  'market/index-candles': 4,
  'market/history-index-candles': 8,
};

const parseName = (path: string): string => /^\/api\/v5\/(.+)$/.exec(path)?.[1] ?? '';

/** One budget a path. */
export function computeCost({ path }: Pick<RestRequest, 'path'>): Cost | null {
  const weight = WEIGHTS[parseName(path)];
  return weight === undefined ? null : { bucket: parseName(path), weight };
}

const formatBody = (code: string, msg: string, data: string): string =>
  `{"code":"${code}","data":[${data}],"msg":"${msg}"}`;

/** No header states how long to wait. */
export const refuse = (status: number | null): RestAnswer => ({
  status: status ?? 429,
  body: formatBody('50011', 'Too Many Requests', ''),
});

class Refused extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const MISSING = 400;
const refuseMissing = (name: string): Refused => new Refused('50014', `Parameter ${name} can not be empty.`, MISSING);
const refuseWrong = (name: string): Refused => new Refused('51000', `Parameter ${name} error`, MISSING);
/** Semantic errors get a response of status 200 with an error code. */
const refuseUnknown = (): Refused => new Refused('51001', "Instrument ID doesn't exist.", 200);

type Deps = Pick<VenueDeps, 'market' | 'truth' | 'crossings'>;

export function answerRest(deps: Deps, request: RestRequest): RestAnswer {
  try {
    return { status: 200, body: formatBody('0', '', makeElements(deps, request).join(',')) };
  } catch (error) {
    if (error instanceof Refused) return { status: error.status, body: formatBody(error.code, error.message, '') };
    throw error;
  }
}

/** `instId` of a listed swap. */
function findSwap({ market }: Deps, { query }: RestRequest): Instrument {
  const instId = query.get('instId');
  if (instId === null) throw refuseMissing('instId');
  const found = market.find(SCOPE, instId);
  if (found === undefined || found.status === 'closed') throw refuseUnknown();
  return found;
}

/** All swaps of a type, or one of them. */
function findSwaps(deps: Deps, request: RestRequest): readonly Instrument[] {
  const instType = request.query.get('instType');
  if (instType === null) throw refuseMissing('instType');
  if (instType !== 'SWAP') throw refuseWrong('instType');
  return request.query.has('instId') ? [findSwap(deps, request)] : listOpen(deps);
}

const listOpen = ({ market }: Deps): readonly Instrument[] => market.instruments.filter((i) => i.status !== 'closed');

/** The first swap that follows the named index. */
function findFollower(deps: Deps, { query }: RestRequest): Instrument {
  const instId = query.get('instId');
  if (instId === null) throw refuseMissing('instId');
  const [first] = listFollowers(deps.market, instId);
  if (first === undefined) throw refuseUnknown();
  return first;
}

function makeElements(deps: Deps, request: RestRequest): readonly string[] {
  const { query, nowMs } = request;
  /** Elements of the instruments at this moment. */
  const toNow = (instruments: readonly Instrument[], element: (i: Instrument, atMs: number) => string) =>
    instruments.map((instrument) => {
      deps.truth.moment(instrument, nowMs);
      return element(instrument, nowMs);
    });
  const name = parseName(request.path).replace('/history-', '/');
  switch (name) {
    case 'public/time':
      return [`{"ts":"${nowMs}"}`];
    case 'public/instruments':
      return listInstruments(deps, request);
    case 'public/funding-rate':
      return toNow(query.get('instId') === 'ANY' ? listOpen(deps) : [findSwap(deps, request)], formatFundingRate);
    case 'public/open-interest':
      return toNow(findSwaps(deps, request), openInterest);
    case 'public/mark-price':
      return toNow(findSwaps(deps, request), formatMarkPrice);
    case 'market/ticker':
      return toNow([findSwap(deps, request)], formatTicker);
    case 'market/tickers':
      return toNow(findSwaps(deps, request), formatTicker);
    case 'market/index-tickers':
      return toNow([findFollower(deps, request)], formatIndexTicker);
    case 'market/books':
      return [formatBook(deps, request)];
    case 'market/candles': {
      const swap = findSwap(deps, request);
      return formatCandles(query, swap.candles.trades, (candle, state) => formatTradeCandle(swap, candle, state));
    }
    case 'market/mark-price-candles': {
      const swap = findSwap(deps, request);
      return formatCandles(query, swap.candles.marks, (candle, state) => formatPriceCandle(swap, candle, state));
    }
    default: {
      const swap = findFollower(deps, request);
      return formatCandles(query, swap.candles.indexes, (candle, state) => formatPriceCandle(swap, candle, state));
    }
  }
}

function formatInfo({ listing }: Instrument): object {
  const { symbol, pair, base, margin, isInverse, contractSize } = listing;
  const step = formatFixed(1, listing.qtyDecimals);
  return {
    alias: '',
    baseCcy: '',
    category: '1',
    ctMult: '1',
    ctType: isInverse ? 'inverse' : 'linear',
    // Powers of ten between 0.0001 and 10,000,000: none is written with an exponent.
    ctVal: String(contractSize ?? 1),
    ctValCcy: isInverse ? 'USD' : base,
    expTime: '',
    instFamily: pair,
    instId: symbol,
    instType: 'SWAP',
    lever: '100',
    listTime: String(listing.onboardedAtMs),
    lotSz: step,
    maxLmtSz: '100000000',
    maxMktSz: '30000',
    minSz: step,
    optType: '',
    quoteCcy: '',
    ruleType: 'normal',
    settleCcy: margin,
    state: 'live',
    stk: '',
    tickSz: formatFixed(listing.tick, listing.priceDecimals),
    uly: pair,
  };
}

/** A dated contract, listed by its own request. */
const DATED = {
  ctType: 'linear',
  ctVal: '0.01',
  ctValCcy: 'BTC',
  expTime: '1924588800000',
  instFamily: 'BTC-USDT',
  instId: 'BTC-USDT-301227',
  instType: 'FUTURES',
  state: 'live',
  uly: 'BTC-USDT',
};

function listInstruments(deps: Deps, request: RestRequest): readonly string[] {
  if (request.query.get('instType') === 'FUTURES') return [JSON.stringify(DATED)];
  return findSwaps(deps, request).map((instrument) => JSON.stringify(formatInfo(instrument)));
}

const MOST_LEVELS = 400;

/** One level a side by default. */
function formatBook(deps: Deps, request: RestRequest): string {
  const instrument = findSwap(deps, request);
  const levels = Number(request.query.get('sz') ?? 1);
  if (!Number.isInteger(levels) || levels < 1) throw refuseWrong('sz');
  deps.truth.snapshot(instrument, deps.crossings.priceOf(instrument));
  return formatRestBook(instrument, deps.crossings.bids(instrument), Math.min(MOST_LEVELS, levels));
}

const DEFAULT_CANDLES = 100;
const MOST_CANDLES = 300;

/** Newest first, the open one with confirm 0; `after` and `before` are exclusive bounds. */
function formatCandles<C extends PriceCandle>(
  query: URLSearchParams,
  series: readonly C[],
  row: (candle: C, state: CandleState) => string,
): readonly string[] {
  if ((query.get('bar') ?? '1m') !== '1m') throw refuseWrong('bar');
  const before = Number(query.get('before') ?? 0);
  const after = Number(query.get('after') ?? Number.MAX_SAFE_INTEGER);
  const limit = Math.min(MOST_CANDLES, Number(query.get('limit') ?? DEFAULT_CANDLES));
  const open = series.at(-1);
  return series
    .filter(({ openMs }) => openMs > before && openMs < after)
    .slice(-limit)
    .reverse()
    .map((candle) => row(candle, candle === open ? 'running' : 'closed'));
}
