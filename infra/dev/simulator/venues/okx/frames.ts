// Texts of OKX's v5 public channels: elements, which REST responses carry as well, and the frames around them (shapes: recordings of tardis and
// jkorf, docs of public data and market data).
import type { Change, Levels } from '../../book-model.ts';
import type { PriceCandle, TradeCandle } from '../../candles.ts';
import { computeBankruptcyPrice } from '../../derived-figures.ts';
import { formatFine, formatFixed } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';
import { computeWorth, toIndex } from './listings.ts';

const formatPrice = ({ priceDecimals }: SimListing, units: number): string => formatFixed(units, priceDecimals);
const formatSize = ({ qtyDecimals }: SimListing, units: number): string => formatFixed(units, qtyDecimals);

/** Amount of this many contracts in coins. */
function formatCoins(listing: SimListing, contracts: number, atPrice: number): string {
  const [units, decimals] = computeWorth(listing, contracts);
  if (!listing.isInverse) return formatFixed(units, decimals);
  return (units / 10 ** decimals / (atPrice / 10 ** listing.priceDecimals)).toFixed(4);
}

/** `instId`, or `instType` of the one channel with all swaps. */
export const formatArgument = (channel: string, subject: string): string =>
  `{"channel":"${channel}","${channel === 'liquidation-orders' ? 'instType' : 'instId'}":"${subject}"}`;

export const formatFrame = (channel: string, subject: string, element: string): string =>
  `{"arg":${formatArgument(channel, subject)},"data":[${element}]}`;

export const formatBookFrame = (instId: string, action: 'snapshot' | 'update', element: string): string =>
  `{"arg":${formatArgument('books', instId)},"action":"${action}","data":[${element}]}`;

const formatSwap = ({ symbol }: SimListing): string => `"instType":"SWAP","instId":"${symbol}"`;

/** The day's prices: those since midnight of the exchange's two days equal those of 24 hours. */
function formatDayPrices({ listing, day }: Instrument): string {
  const open = formatPrice(listing, day.open);
  const range = `"high24h":"${formatPrice(listing, day.high)}","low24h":"${formatPrice(listing, day.low)}"`;
  return `"open24h":"${open}",${range},"sodUtc0":"${open}","sodUtc8":"${open}"`;
}

export function formatTicker(instrument: Instrument, atMs: number): string {
  const { listing, last, book, day } = instrument;
  const best = (side: Levels, name: string): string =>
    `"${name}Px":"${formatPrice(listing, side.prices.at(-1) ?? 0)}","${name}Sz":"${formatSize(listing, side.sizes.at(-1) ?? 0)}"`;
  const traded = `"last":"${formatPrice(listing, last.price)}","lastSz":"${formatSize(listing, last.qty)}"`;
  const volumes = `"volCcy24h":"${formatCoins(listing, day.volume, last.price)}","vol24h":"${formatSize(listing, day.volume)}"`;
  const top = `${best(book.asks, 'ask')},${best(book.bids, 'bid')}`;
  return `{${formatSwap(listing)},${traded},${top},${formatDayPrices(instrument)},${volumes},"ts":"${atMs}"}`;
}

export const formatMarkPrice = ({ listing, mark }: Instrument, atMs: number): string =>
  `{${formatSwap(listing)},"markPx":"${formatFine(mark, listing.decimals.mark)}","ts":"${atMs}"}`;

export function formatIndexTicker(instrument: Instrument, atMs: number): string {
  const { listing, index } = instrument;
  const idxPx = formatFine(index, listing.decimals.mark);
  return `{"instId":"${toIndex(listing)}","idxPx":"${idxPx}",${formatDayPrices(instrument)},"ts":"${atMs}"}`;
}

const HOUR_MS = 3_600_000;

/** The interval is only given by the two times. */
export function formatFundingRate({ listing, ...instrument }: Instrument, atMs: number): string {
  const { nextFundingAtMs, fundingHours } = instrument;
  const rate = formatFine(instrument.fundingRate, listing.decimals.rate);
  const times = `"fundingTime":"${nextFundingAtMs}","nextFundingTime":"${nextFundingAtMs + fundingHours * HOUR_MS}"`;
  const bounds = '"maxFundingRate":"0.00375","minFundingRate":"-0.00375"';
  const settled = `"settFundingRate":"${rate}","settState":"settled"`;
  return `{${formatSwap(listing)},"fundingRate":"${rate}",${times},"nextFundingRate":"","method":"current_period",${bounds},${settled},"ts":"${atMs}"}`;
}

export function openInterest({ listing, openInterest: contracts, last }: Instrument, atMs: number): string {
  const oiCcy = formatCoins(listing, contracts, last.price);
  return `{${formatSwap(listing)},"oi":"${formatSize(listing, contracts)}","oiCcy":"${oiCcy}","ts":"${atMs}"}`;
}

const ORDERS = 7;

/** `[price, contracts, "0", orders]`: the third is a deprecated field that is always zero. */
const formatLevel = (listing: SimListing, units: number, contracts: number): string =>
  contracts === 0
    ? `["${formatPrice(listing, units)}","0","0","0"]`
    : `["${formatPrice(listing, units)}","${formatSize(listing, contracts)}","0","${1 + (contracts % ORDERS)}"]`;

/** Best first. */
const formatLevels = (listing: SimListing, { prices, sizes }: Levels, most: number): string =>
  prices
    .map((units, i) => formatLevel(listing, units, sizes[i] ?? 0))
    .slice(-most)
    .reverse()
    .join(',');

/** Bids fall, asks rise. */
function formatChanged(listing: SimListing, changes: readonly Change[], side: 'b' | 'a'): string {
  const texts = changes
    .filter((change) => change.side === side)
    .map((change) => formatLevel(listing, change.price, change.size));
  return (side === 'b' ? texts.reverse() : texts).join(',');
}

type Ids = { readonly seqId: number; readonly prevSeqId: number };

/** Stamped with the book's newest change; `checksum` is 0 since 2026. */
const formatBookElement = (sides: string, { changedAtMs }: Instrument, { seqId, prevSeqId }: Ids): string =>
  `{${sides},"ts":"${changedAtMs}","checksum":0,"seqId":${seqId},"prevSeqId":${prevSeqId}}`;

const toSides = ({ listing, book }: Instrument, bids: Levels, most = Number.POSITIVE_INFINITY): string =>
  `"asks":[${formatLevels(listing, book.asks, most)}],"bids":[${formatLevels(listing, bids, most)}]`;

/** The first message of a subscription. */
export const formatWholeBook = (instrument: Instrument, bids: Levels): string =>
  formatBookElement(toSides(instrument, bids), instrument, { seqId: instrument.diffId, prevSeqId: -1 });

export function formatBookUpdate(instrument: Instrument, { changes, last, previous }: Diff): string {
  const { listing } = instrument;
  const sides = `"asks":[${formatChanged(listing, changes, 'a')}],"bids":[${formatChanged(listing, changes, 'b')}]`;
  return formatBookElement(sides, instrument, { seqId: last, prevSeqId: previous });
}

/** Only reports the sequence: at the previous id (no change for long), or at a lower one (it began anew). */
export const formatEmptyUpdate = (instrument: Instrument, prevSeqId: number): string =>
  formatBookElement('"asks":[],"bids":[]', instrument, { seqId: instrument.diffId, prevSeqId });

/** As in REST responses: without ids. */
export const formatRestBook = (instrument: Instrument, bids: Levels, most: number): string =>
  `{${toSides(instrument, bids, most)},"ts":"${instrument.changedAtMs}"}`;

/** One match, which filled `count` orders. */
export function formatTrade(
  { listing, lastId }: Instrument,
  { id, price: at, qty, buyerIsMaker, atMs }: Trade,
): string {
  const figures = `"px":"${formatPrice(listing, at)}","sz":"${formatSize(listing, qty)}","side":"${buyerIsMaker ? 'sell' : 'buy'}"`;
  return `{"instId":"${listing.symbol}","tradeId":"${id}",${figures},"ts":"${atMs}","count":"${1 + (qty % ORDERS)}","source":"0","seqId":${lastId}}`;
}

/** `side` is that of the order which closed the position; the price is the bankruptcy price. */
export function formatLiquidation({ listing }: Instrument, trade: Trade): string {
  const [side, posSide] = trade.buyerIsMaker ? ['sell', 'long'] : ['buy', 'short'];
  const figures = `"bkPx":"${formatPrice(listing, computeBankruptcyPrice(listing, trade))}","sz":"${formatSize(listing, trade.qty)}"`;
  const detail = `{"bkLoss":"0","ccy":"",${figures},"posSide":"${posSide}","side":"${side}","ts":"${trade.atMs}"}`;
  return `{"details":[${detail}],"instFamily":"${listing.pair}",${formatSwap(listing)},"uly":"${listing.pair}"}`;
}

const PRICES = ['open', 'high', 'low', 'close'] as const;
const quoteTexts = (texts: readonly string[]): string => `["${texts.join('","')}"]`;

export type CandleState = 'running' | 'closed';
const CONFIRM: Readonly<Record<CandleState, string>> = { running: '0', closed: '1' };

/** `[ts, o, h, l, c, vol, volCcy, volCcyQuote, confirm]`: contracts, coins, quote. */
export const formatTradeCandle = ({ listing }: Instrument, candle: TradeCandle, state: CandleState): string =>
  quoteTexts([
    String(candle.openMs),
    ...PRICES.map((name) => formatPrice(listing, candle[name])),
    formatSize(listing, candle.volume),
    formatCoins(listing, candle.volume, candle.close),
    formatFixed(candle.amount, listing.decimals.amount),
    CONFIRM[state],
  ]);

/** `[ts, o, h, l, c, confirm]` of mark or index. */
export const formatPriceCandle = ({ listing }: Instrument, candle: PriceCandle, state: CandleState): string =>
  quoteTexts([
    String(candle.openMs),
    ...PRICES.map((name) => formatFine(candle[name], listing.decimals.mark)),
    CONFIRM[state],
  ]);
