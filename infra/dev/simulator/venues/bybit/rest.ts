// Responses of Bybit's v5 market endpoints from the market model (shapes: recordings of jkorf, docs of market/*).
import type { PriceCandle, TradeCandle } from '../../candles.ts';
import { formatFine, formatFixed } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Instrument } from '../../market.ts';
import type { RestAnswer, RestRequest, VenueDeps } from '../../venue.ts';
import { formatBookMembers, makeSnapshotData, makeTicker } from './frames.ts';
import type { Market } from './listings.ts';

const PATH = /^\/v5\/market\/([a-z-]+)$/;

/** One budget for all paths. */
export const computeCost = ({ path }: Pick<RestRequest, 'path'>) =>
  PATH.test(path) ? { bucket: 'rest', weight: 1 } : null;

/** The docs: 403 beyond the limit, and a wait of ten minutes. */
export const refuse = (status: number | null, waitMs: number): RestAnswer => ({
  status: status ?? 403,
  body: '{"retCode":10006,"retMsg":"Too many visits!","result":{},"retExtInfo":{},"time":0}',
  headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
});

class Refused extends Error {}

const makeOk = (request: RestRequest, result: unknown): RestAnswer => ({
  status: 200,
  body: JSON.stringify({ retCode: 0, retMsg: 'OK', result, retExtInfo: {}, time: request.nowMs }),
});
const makeRefused = (request: RestRequest, message: string): RestAnswer => ({
  status: 200,
  body: JSON.stringify({ retCode: 10_001, retMsg: message, result: {}, retExtInfo: {}, time: request.nowMs }),
});

type Deps = Pick<VenueDeps, 'market' | 'truth' | 'crossings'>;

/** Faulty requests get a response of status 200 with an error code. */
export function answerRest(deps: Deps, request: RestRequest): RestAnswer {
  try {
    return makeOk(request, makeResult(deps, request, PATH.exec(request.path)?.[1] ?? ''));
  } catch (error) {
    if (error instanceof Refused) return makeRefused(request, error.message);
    throw error;
  }
}

function makeResult(deps: Deps, request: RestRequest, name: string): unknown {
  if (name === 'time') return toTime(request.nowMs);
  const category = request.query.get('category');
  if (category !== 'linear' && category !== 'inverse') throw new Refused('params error: category invalid');
  const listed = deps.market.instruments.filter((i) => i.listing.scope === category && i.status !== 'closed');
  const one = (): Instrument => {
    const found = listed.find((i) => i.listing.symbol === request.query.get('symbol'));
    if (found === undefined) throw new Refused('params error: symbol invalid');
    return found;
  };
  switch (name) {
    case 'instruments-info':
      return makeInstruments(listed, category, request.query);
    case 'tickers':
      return { category, list: makeTickers(deps, request, request.query.has('symbol') ? [one()] : listed) };
    case 'orderbook':
      return makeOrderbook(deps, one(), request);
    case 'kline':
      return makeKlines(one(), request.query, (i) => [i.candles.trades, toTradeRow]);
    case 'mark-price-kline':
      return makeKlines(one(), request.query, (i) => [i.candles.marks, toPriceRow]);
    case 'index-price-kline':
      return makeKlines(one(), request.query, (i) => [i.candles.indexes, toPriceRow]);
    default:
      throw new Refused('params error: path invalid');
  }
}

const toTime = (nowMs: number): unknown => ({
  timeSecond: String(Math.floor(nowMs / 1_000)),
  timeNano: `${nowMs}000000`,
});

const MINUTES_PER_HOUR = 60;
/** Bound in price units, beyond which the venue accepts no order. */
const HIGHEST = 40;

function makeInfo({ listing, fundingHours }: Instrument): object {
  const price = (units: number): string => formatFixed(units, listing.priceDecimals);
  const step = formatFixed(1, listing.qtyDecimals);
  return {
    symbol: listing.symbol,
    contractType: listing.isInverse ? 'InversePerpetual' : 'LinearPerpetual',
    status: 'Trading',
    baseCoin: listing.base,
    quoteCoin: listing.quote,
    launchTime: String(listing.onboardedAtMs),
    deliveryTime: '0',
    deliveryFeeRate: '',
    priceScale: String(listing.priceDecimals),
    leverageFilter: { minLeverage: '1', maxLeverage: '100.00', leverageStep: '0.01' },
    priceFilter: {
      minPrice: price(listing.tick),
      maxPrice: price(listing.startPrice * HIGHEST),
      tickSize: price(listing.tick),
    },
    lotSizeFilter: {
      maxOrderQty: formatFixed(10_000_000, listing.qtyDecimals),
      minOrderQty: step,
      qtyStep: step,
      postOnlyMaxOrderQty: formatFixed(10_000_000, listing.qtyDecimals),
      maxMktOrderQty: formatFixed(1_000_000, listing.qtyDecimals),
      ...(listing.isInverse ? {} : { minNotionalValue: listing.minNotional }),
    },
    unifiedMarginTrade: true,
    fundingInterval: fundingHours * MINUTES_PER_HOUR,
    settleCoin: listing.margin,
    copyTrading: 'both',
    upperFundingRate: '0.00375',
    lowerFundingRate: '-0.00375',
    isPreListing: false,
    preListingInfo: null,
  };
}

/** A dated contract that each market also lists, so that readers must distinguish it from the perpetuals. */
const DATED = {
  linear: { symbol: 'BTC-27DEC30', contractType: 'LinearFutures', deliveryTime: '1924588800000', fundingInterval: 0 },
  inverse: { symbol: 'BTCUSDZ30', contractType: 'InverseFutures', deliveryTime: '1924588800000', fundingInterval: 0 },
} as const;

const PAGE = 500;

function makeInstruments(listed: readonly Instrument[], category: Market, query: URLSearchParams): unknown {
  const status = query.get('status');
  const symbol = query.get('symbol');
  const [first, ...rest] = listed.filter((i) => symbol === null || i.listing.symbol === symbol).map(makeInfo);
  const open =
    first === undefined ? [] : [first, ...(symbol === null ? [{ ...first, ...DATED[category] }] : []), ...rest];
  const all = status === null || status === 'Trading' ? open : [];
  const limit = Number(query.get('limit') ?? PAGE);
  const from = Number(/^from=(\d+)$/.exec(query.get('cursor') ?? '')?.[1] ?? 0);
  const nextPageCursor = from + limit < all.length ? encodeURIComponent(`from=${from + limit}`) : '';
  return { category, list: all.slice(from, from + limit), nextPageCursor };
}

function makeTickers({ truth }: Deps, { nowMs }: RestRequest, listed: readonly Instrument[]): unknown {
  return listed.map((instrument) => {
    truth.moment(instrument, nowMs);
    return {
      symbol: instrument.listing.symbol,
      ...makeTicker(instrument),
      predictedDeliveryPrice: '',
      deliveryTime: '0',
    };
  });
}

const DEFAULT_LEVELS = 25;

function makeOrderbook({ truth, crossings }: Deps, instrument: Instrument, { query, nowMs }: RestRequest): unknown {
  truth.snapshot(instrument, crossings.priceOf(instrument));
  const whole = formatBookMembers(instrument, makeSnapshotData(instrument, crossings.bids(instrument)));
  const book = JSON.parse(whole) as { readonly b: unknown[]; readonly a: unknown[] };
  const limit = Number(query.get('limit') ?? DEFAULT_LEVELS);
  const sides = { b: book.b.slice(0, limit), a: book.a.slice(0, limit) };
  return { ...book, ...sides, ts: nowMs, cts: instrument.changedAtMs };
}

type Row<C> = (listing: SimListing, candle: C) => readonly string[];

const DEFAULT_CANDLES = 200;
const MOST_CANDLES = 1_000;

/** Newest first. */
function makeKlines<C extends PriceCandle>(
  instrument: Instrument,
  query: URLSearchParams,
  of: (instrument: Instrument) => readonly [readonly C[], Row<C>],
): unknown {
  if (query.get('interval') !== '1') throw new Refused('params error: interval invalid');
  const [series, row] = of(instrument);
  const from = Number(query.get('start') ?? 0);
  const to = Number(query.get('end') ?? Number.MAX_SAFE_INTEGER);
  const limit = Math.min(MOST_CANDLES, Number(query.get('limit') ?? DEFAULT_CANDLES));
  const chosen = series.filter(({ openMs }) => openMs >= from && openMs <= to);
  const { listing } = instrument;
  const list = chosen.slice(-limit).reverse();
  return { symbol: listing.symbol, category: listing.scope, list: list.map((candle) => row(listing, candle)) };
}

const PRICES = ['open', 'high', 'low', 'close'] as const;

const toTradeRow: Row<TradeCandle> = (listing, candle) => [
  String(candle.openMs),
  ...PRICES.map((name) => formatFixed(candle[name], listing.priceDecimals)),
  formatFixed(candle.volume, listing.qtyDecimals),
  formatFixed(candle.amount, listing.decimals.amount),
];

const toPriceRow: Row<PriceCandle> = (listing, candle) => [
  String(candle.openMs),
  ...PRICES.map((name) => formatFine(candle[name], listing.decimals.mark)),
];
