// Responses of Binance's futures REST endpoints from the market model (shapes: recordings of gocryptotrader and cryptofeed).
import type { Levels } from '../../book-model.ts';
import type { PriceCandle } from '../../candles.ts';
import { FINE, formatFixed } from '../../figures.ts';
import type { ListingStatus, SimListing } from '../../listings.ts';
import type { Instrument } from '../../market.ts';
import type { RestAnswer, RestRequest, VenueDeps } from '../../venue.ts';
import { formatCandleFigures, formatDayFigures } from './frames.ts';
import type { Market as MarketName } from './listings.ts';

/** One request of a market, its path without `/fapi/v1/` or `/dapi/v1/`. */
type MarketRequest = Pick<RestRequest, 'query' | 'nowMs'> & { readonly market: MarketName; readonly path: string };

const BAD_SYMBOL: RestAnswer = { status: 400, body: '{"code":-1121,"msg":"Invalid symbol."}' };
const NO_SYMBOL: RestAnswer = {
  status: 400,
  body: `{"code":-1102,"msg":"Mandatory parameter 'symbol' was not sent, was empty/null, or malformed."}`,
};

/** The quarterly contract that each market also lists, so that readers must distinguish it from the perpetuals. */
export const DELIVERY = { usdm: 'BTCUSDT_301227', coinm: 'BTCUSD_301227' } as const;
const DELIVERY_MS = Date.UTC(2030, 11, 27, 8);
const PERPETUAL_MS = 4_133_404_800_000;

/** Request weights (Binance's REST documentation, USD-M market data). */
function computeWeight(path: string, query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? 500);
  const single = query.has('symbol') || query.has('pair');
  switch (path) {
    case 'depth':
      return limit <= 50 ? 2 : limit <= 100 ? 5 : limit <= 500 ? 10 : 20;
    case 'klines':
    case 'markPriceKlines':
    case 'indexPriceKlines':
      return limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10;
    case 'premiumIndex':
      return single ? 1 : 10;
    case 'ticker/24hr':
      return single ? 1 : 40;
    default:
      return 1;
  }
}

function makeFilters(listing: SimListing): readonly object[] {
  const price = (units: number): string => formatFixed(units, listing.priceDecimals);
  const step = formatFixed(1, listing.qtyDecimals);
  const common = [
    {
      filterType: 'PRICE_FILTER',
      minPrice: price(listing.tick),
      maxPrice: price(listing.startPrice * 40),
      tickSize: price(listing.tick),
    },
    { filterType: 'LOT_SIZE', maxQty: '1000000', minQty: step, stepSize: step },
    { filterType: 'MARKET_LOT_SIZE', maxQty: '60000', minQty: step, stepSize: step },
    { filterType: 'MAX_NUM_ORDERS', limit: 200 },
    { filterType: 'PERCENT_PRICE', multiplierDecimal: '4', multiplierDown: '0.9500', multiplierUp: '1.0500' },
  ];
  return listing.scope === 'usdm' ? [...common, { filterType: 'MIN_NOTIONAL', notional: listing.minNotional }] : common;
}

const STATUSES: Readonly<Record<ListingStatus, string>> = { trading: 'TRADING', settling: 'SETTLING', closed: 'CLOSE' };

function makeSymbolEntry({ listing, status }: Instrument): Record<string, unknown> {
  const usdm = listing.scope === 'usdm';
  return {
    symbol: listing.symbol,
    pair: listing.pair,
    contractType: 'PERPETUAL',
    deliveryDate: PERPETUAL_MS,
    onboardDate: listing.onboardedAtMs,
    [usdm ? 'status' : 'contractStatus']: STATUSES[status],
    ...(usdm ? {} : { contractSize: listing.contractSize }),
    maintMarginPercent: '2.5000',
    requiredMarginPercent: '5.0000',
    baseAsset: listing.base,
    quoteAsset: listing.quote,
    marginAsset: listing.margin,
    pricePrecision: listing.priceDecimals,
    quantityPrecision: listing.qtyDecimals,
    baseAssetPrecision: 8,
    quotePrecision: 8,
    ...(usdm ? { settlePlan: 0 } : { equalQtyPrecision: 4, maxMoveOrderLimit: 10_000 }),
    underlyingType: 'COIN',
    underlyingSubType: [],
    triggerProtect: '0.0500',
    liquidationFee: '0.015000',
    marketTakeBound: '0.05',
    filters: makeFilters(listing),
    orderTypes: ['LIMIT', 'MARKET', 'STOP', 'STOP_MARKET', 'TAKE_PROFIT', 'TAKE_PROFIT_MARKET', 'TRAILING_STOP_MARKET'],
    timeInForce: ['GTC', 'IOC', 'FOK', 'GTX'],
  };
}

function makeExchangeInfo(instruments: readonly Instrument[], { market, nowMs }: MarketRequest): unknown {
  const symbols = instruments.map(makeSymbolEntry);
  const first = symbols[0];
  const delivery = { ...first, symbol: DELIVERY[market], contractType: 'CURRENT_QUARTER', deliveryDate: DELIVERY_MS };
  return {
    timezone: 'UTC',
    serverTime: nowMs,
    ...(market === 'usdm' ? { futuresType: 'U_MARGINED' } : {}),
    rateLimits: [{ rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: 2_400 }],
    exchangeFilters: [],
    ...(market === 'usdm' ? { assets: [{ asset: 'USDT', marginAvailable: true, autoAssetExchange: '-10000' }] } : {}),
    symbols: first === undefined ? [] : [...symbols, delivery],
  };
}

/** Only listings whose interval is not the usual eight hours, as on Binance. */
function makeFundingInfo(instruments: readonly Instrument[]): unknown {
  return instruments
    .filter((i) => i.fundingHours !== 8)
    .map((i) => ({
      symbol: i.listing.symbol,
      adjustedFundingRateCap: '0.02000000',
      adjustedFundingRateFloor: '-0.02000000',
      fundingIntervalHours: i.fundingHours,
      disclaimer: false,
    }));
}

function makeDepth(instrument: Instrument, bids: Levels, { query, nowMs }: MarketRequest): unknown {
  const { listing, book } = instrument;
  const limit = Number(query.get('limit') ?? 500);
  const top = ({ prices, sizes }: Levels): readonly (readonly [string, string])[] =>
    prices
      .map(
        (price, i) =>
          [formatFixed(price, listing.priceDecimals), formatFixed(sizes[i] ?? 0, listing.qtyDecimals)] as const,
      )
      .slice(-limit)
      .reverse();
  return {
    lastUpdateId: instrument.lastId,
    E: Math.max(nowMs, instrument.changedAtMs),
    T: instrument.changedAtMs,
    ...(listing.scope === 'coinm' ? { symbol: listing.symbol, pair: listing.pair } : {}),
    bids: top(bids),
    asks: top(book.asks),
  };
}

function makePremiumIndex(instrument: Instrument): object {
  const { listing } = instrument;
  return {
    symbol: listing.symbol,
    ...(listing.scope === 'coinm' ? { pair: listing.pair } : {}),
    markPrice: formatFixed(instrument.mark, FINE),
    indexPrice: formatFixed(instrument.index, FINE),
    estimatedSettlePrice: formatFixed(instrument.index, FINE),
    lastFundingRate: formatFixed(instrument.fundingRate, FINE),
    interestRate: '0.00010000',
    nextFundingTime: instrument.nextFundingAtMs,
    time: instrument.steppedAtMs,
  };
}

function openInterest({ listing, openInterest: units, steppedAtMs }: Instrument): unknown {
  const figure = formatFixed(units, listing.qtyDecimals);
  if (listing.scope === 'usdm') return { symbol: listing.symbol, openInterest: figure, time: steppedAtMs };
  return {
    symbol: listing.symbol,
    pair: listing.pair,
    openInterest: figure,
    contractType: 'PERPETUAL',
    time: steppedAtMs,
  };
}

function makeDayTicker(instrument: Instrument, { nowMs }: MarketRequest): object {
  const { listing, day, last } = instrument;
  const f = formatDayFigures(instrument);
  return {
    symbol: listing.symbol,
    ...(listing.scope === 'coinm' ? { pair: listing.pair } : {}),
    priceChange: f.change,
    priceChangePercent: f.percent,
    weightedAvgPrice: f.weighted,
    lastPrice: f.close,
    lastQty: f.quantity,
    openPrice: f.open,
    highPrice: f.high,
    lowPrice: f.low,
    volume: f.volume,
    [listing.scope === 'usdm' ? 'quoteVolume' : 'baseVolume']: f.turnover,
    openTime: nowMs - 86_400_000,
    closeTime: last.atMs,
    firstId: day.firstId,
    lastId: last.id,
    count: day.trades,
  };
}

function filterBetween<C extends PriceCandle>(series: readonly C[], query: URLSearchParams): readonly C[] {
  const from = Number(query.get('startTime') ?? 0);
  const to = Number(query.get('endTime') ?? Number.MAX_SAFE_INTEGER);
  const limit = Number(query.get('limit') ?? 500);
  const chosen = series.filter((c) => c.openMs >= from && c.openMs <= to);
  return query.has('startTime') ? chosen.slice(0, limit) : chosen.slice(-limit);
}

function listKlines({ listing, candles }: Instrument, query: URLSearchParams): unknown {
  return filterBetween(candles.trades, query).map((candle) => {
    const f = formatCandleFigures(listing, candle);
    return [
      candle.openMs,
      f.open,
      f.high,
      f.low,
      f.close,
      f.volume,
      candle.openMs + 59_999,
      f.amount,
      candle.ticks,
      f.buyVolume,
      f.buyAmount,
      '0',
    ];
  });
}

function listPriceKlines(series: readonly PriceCandle[], query: URLSearchParams): unknown {
  const price = (units: number): string => formatFixed(units, FINE);
  return filterBetween(series, query).map((c) => [
    c.openMs,
    price(c.open),
    price(c.high),
    price(c.low),
    price(c.close),
    '0',
    c.openMs + 59_999,
    '0',
    c.ticks,
    '0',
    '0',
    '0',
  ]);
}

const makeOk = (value: unknown): RestAnswer => ({ status: 200, body: JSON.stringify(value) });

/** COIN-M returns a list even for one symbol where USD-M returns an object. */
function answerOneOrAll(
  all: readonly Instrument[],
  request: MarketRequest,
  render: (instrument: Instrument) => object,
): RestAnswer {
  const symbol = request.query.get('symbol');
  const pair = request.query.get('pair');
  if (symbol === null) return makeOk(all.filter((i) => pair === null || i.listing.pair === pair).map(render));
  const instrument = all.find((i) => i.listing.symbol === symbol);
  if (instrument === undefined) return BAD_SYMBOL;
  return makeOk(request.market === 'coinm' ? [render(instrument)] : render(instrument));
}

function answerOfSymbol(
  all: readonly Instrument[],
  request: MarketRequest,
  render: (instrument: Instrument) => unknown,
): RestAnswer {
  const name = request.query.get('symbol') ?? request.query.get('pair');
  if (name === null || name === '') return NO_SYMBOL;
  const instrument = all.find(
    (i) => i.listing.symbol === name || (request.query.has('pair') && i.listing.pair === name),
  );
  return instrument === undefined ? BAD_SYMBOL : makeOk(render(instrument));
}

const PATH = /^\/(fapi|dapi)\/v1\/(.+)$/;

/** USD-M and COIN-M are two hosts with separate budgets. */
export function computeCost({ path, query }: Pick<RestRequest, 'path' | 'query'>) {
  const [, host, name = ''] = PATH.exec(path) ?? [];
  if (host === undefined) return null;
  return { bucket: host === 'fapi' ? 'usdm' : 'coinm', weight: computeWeight(name, query) };
}

export function refuse(limit: number, status: number | null, waitMs: number): RestAnswer {
  const text =
    status === 418
      ? 'Way too many requests; IP banned until the time of Retry-After.'
      : `Too many requests; current limit of IP is ${limit} requests per minute.`;
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1_000)) };
  return { status: status ?? 429, body: JSON.stringify({ code: -1003, msg: text }), headers };
}

type Shown = Pick<VenueDeps, 'market' | 'truth' | 'crossings'>;

export function answerRest(deps: Shown, request: RestRequest): RestAnswer {
  const [, host, path = ''] = PATH.exec(request.path) ?? [];
  const asked: MarketRequest = { ...request, market: host === 'dapi' ? 'coinm' : 'usdm', path };
  return { ...answerPath(deps, asked), headers: { 'x-mbx-used-weight-1m': String(request.used) } };
}

function answerPath({ market, truth, crossings }: Shown, request: MarketRequest): RestAnswer {
  const listed = market.instruments.filter((i) => i.listing.scope === request.market && i.status !== 'closed');
  const { query } = request;
  switch (request.path) {
    case 'ping':
      return makeOk({});
    case 'time':
      return makeOk({ serverTime: request.nowMs });
    case 'exchangeInfo':
      return makeOk(makeExchangeInfo(listed, request));
    case 'fundingInfo':
      return makeOk(makeFundingInfo(listed));
    case 'depth':
      return answerOfSymbol(listed, request, (i) => {
        // A snapshot may fall between two diffs: its own stamp gets its own row of truth.
        truth.snapshot(i, crossings.priceOf(i));
        return makeDepth(i, crossings.bids(i), request);
      });
    case 'premiumIndex':
      return answerOneOrAll(listed, request, makePremiumIndex);
    case 'openInterest':
      return answerOfSymbol(listed, request, openInterest);
    case 'ticker/24hr':
      return answerOneOrAll(listed, request, (i) => {
        truth.moment(i, i.last.atMs, ['ticker', 'stats']);
        return makeDayTicker(i, request);
      });
    case 'klines':
      return answerOfSymbol(listed, request, (i) => listKlines(i, query));
    case 'markPriceKlines':
      return answerOfSymbol(listed, request, (i) => listPriceKlines(i.candles.marks, query));
    case 'indexPriceKlines':
      return answerOfSymbol(listed, request, (i) => listPriceKlines(i.candles.indexes, query));
    default:
      return { status: 404, body: '{"code":-5000,"msg":"Path not found."}' };
  }
}
