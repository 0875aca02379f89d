// Texts of OKX's v5 public channels: elements, which REST responses carry as well, and the frames around them (shapes: recordings of tardis and
// jkorf, docs of public data and market data).
import type { Change, Levels } from '../../book-model.ts';
import type { PriceCandle, TradeCandle } from '../../candles.ts';
import { bankruptcyPrice } from '../../derived-figures.ts';
import { fine, fixed } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';
import { toIndex, worth } from './listings.ts';

const price = ({ priceDecimals }: SimListing, units: number): string => fixed(units, priceDecimals);
const size = ({ qtyDecimals }: SimListing, units: number): string => fixed(units, qtyDecimals);

/** Amount of this many contracts in coins. */
function coins(listing: SimListing, contracts: number, atPrice: number): string {
  const [units, decimals] = worth(listing, contracts);
  if (!listing.isInverse) return fixed(units, decimals);
  return (units / 10 ** decimals / (atPrice / 10 ** listing.priceDecimals)).toFixed(4);
}

/** `instId`, or `instType` of the one channel with all swaps. */
export const argument = (channel: string, subject: string): string =>
  `{"channel":"${channel}","${channel === 'liquidation-orders' ? 'instType' : 'instId'}":"${subject}"}`;

export const frame = (channel: string, subject: string, element: string): string =>
  `{"arg":${argument(channel, subject)},"data":[${element}]}`;

export const bookFrame = (instId: string, action: 'snapshot' | 'update', element: string): string =>
  `{"arg":${argument('books', instId)},"action":"${action}","data":[${element}]}`;

const swap = ({ symbol }: SimListing): string => `"instType":"SWAP","instId":"${symbol}"`;

/** The day's prices: those since midnight of the exchange's two days equal those of 24 hours. */
function dayPrices({ listing, day }: Instrument): string {
  const open = price(listing, day.open);
  const range = `"high24h":"${price(listing, day.high)}","low24h":"${price(listing, day.low)}"`;
  return `"open24h":"${open}",${range},"sodUtc0":"${open}","sodUtc8":"${open}"`;
}

export function ticker(instrument: Instrument, atMs: number): string {
  const { listing, last, book, day } = instrument;
  const best = (side: Levels, name: string): string =>
    `"${name}Px":"${price(listing, side.prices.at(-1) ?? 0)}","${name}Sz":"${size(listing, side.sizes.at(-1) ?? 0)}"`;
  const traded = `"last":"${price(listing, last.price)}","lastSz":"${size(listing, last.qty)}"`;
  const volumes = `"volCcy24h":"${coins(listing, day.volume, last.price)}","vol24h":"${size(listing, day.volume)}"`;
  const top = `${best(book.asks, 'ask')},${best(book.bids, 'bid')}`;
  return `{${swap(listing)},${traded},${top},${dayPrices(instrument)},${volumes},"ts":"${atMs}"}`;
}

export const markPrice = ({ listing, mark }: Instrument, atMs: number): string =>
  `{${swap(listing)},"markPx":"${fine(mark, listing.decimals.mark)}","ts":"${atMs}"}`;

export function indexTicker(instrument: Instrument, atMs: number): string {
  const { listing, index } = instrument;
  const idxPx = fine(index, listing.decimals.mark);
  return `{"instId":"${toIndex(listing)}","idxPx":"${idxPx}",${dayPrices(instrument)},"ts":"${atMs}"}`;
}

const HOUR_MS = 3_600_000;

/** The interval is only given by the two times. */
export function fundingRate({ listing, ...instrument }: Instrument, atMs: number): string {
  const { nextFundingAtMs, fundingHours } = instrument;
  const rate = fine(instrument.fundingRate, listing.decimals.rate);
  const times = `"fundingTime":"${nextFundingAtMs}","nextFundingTime":"${nextFundingAtMs + fundingHours * HOUR_MS}"`;
  const bounds = '"maxFundingRate":"0.00375","minFundingRate":"-0.00375"';
  const settled = `"settFundingRate":"${rate}","settState":"settled"`;
  return `{${swap(listing)},"fundingRate":"${rate}",${times},"nextFundingRate":"","method":"current_period",${bounds},${settled},"ts":"${atMs}"}`;
}

export function openInterest({ listing, openInterest: contracts, last }: Instrument, atMs: number): string {
  const oiCcy = coins(listing, contracts, last.price);
  return `{${swap(listing)},"oi":"${size(listing, contracts)}","oiCcy":"${oiCcy}","ts":"${atMs}"}`;
}

const ORDERS = 7;

/** `[price, contracts, "0", orders]`: the third is a deprecated field that is always zero. */
const level = (listing: SimListing, units: number, contracts: number): string =>
  contracts === 0
    ? `["${price(listing, units)}","0","0","0"]`
    : `["${price(listing, units)}","${size(listing, contracts)}","0","${1 + (contracts % ORDERS)}"]`;

/** Best first. */
const levels = (listing: SimListing, { prices, sizes }: Levels, most: number): string =>
  prices
    .map((units, i) => level(listing, units, sizes[i] ?? 0))
    .slice(-most)
    .reverse()
    .join(',');

/** Bids fall, asks rise. */
function changed(listing: SimListing, changes: readonly Change[], side: 'b' | 'a'): string {
  const texts = changes
    .filter((change) => change.side === side)
    .map((change) => level(listing, change.price, change.size));
  return (side === 'b' ? texts.reverse() : texts).join(',');
}

type Ids = { readonly seqId: number; readonly prevSeqId: number };

/** Stamped with the book's newest change; `checksum` is 0 since 2026. */
const bookElement = (sides: string, { changedAtMs }: Instrument, { seqId, prevSeqId }: Ids): string =>
  `{${sides},"ts":"${changedAtMs}","checksum":0,"seqId":${seqId},"prevSeqId":${prevSeqId}}`;

const toSides = ({ listing, book }: Instrument, bids: Levels, most = Number.POSITIVE_INFINITY): string =>
  `"asks":[${levels(listing, book.asks, most)}],"bids":[${levels(listing, bids, most)}]`;

/** The first message of a subscription. */
export const wholeBook = (instrument: Instrument, bids: Levels): string =>
  bookElement(toSides(instrument, bids), instrument, { seqId: instrument.diffId, prevSeqId: -1 });

export function bookUpdate(instrument: Instrument, { changes, last, previous }: Diff): string {
  const { listing } = instrument;
  const sides = `"asks":[${changed(listing, changes, 'a')}],"bids":[${changed(listing, changes, 'b')}]`;
  return bookElement(sides, instrument, { seqId: last, prevSeqId: previous });
}

/** Only reports the sequence: at the previous id (no change for long), or at a lower one (it began anew). */
export const emptyUpdate = (instrument: Instrument, prevSeqId: number): string =>
  bookElement('"asks":[],"bids":[]', instrument, { seqId: instrument.diffId, prevSeqId });

/** As in REST responses: without ids. */
export const restBook = (instrument: Instrument, bids: Levels, most: number): string =>
  `{${toSides(instrument, bids, most)},"ts":"${instrument.changedAtMs}"}`;

/** One match, which filled `count` orders. */
export function tradeElement(
  { listing, lastId }: Instrument,
  { id, price: at, qty, buyerIsMaker, atMs }: Trade,
): string {
  const figures = `"px":"${price(listing, at)}","sz":"${size(listing, qty)}","side":"${buyerIsMaker ? 'sell' : 'buy'}"`;
  return `{"instId":"${listing.symbol}","tradeId":"${id}",${figures},"ts":"${atMs}","count":"${1 + (qty % ORDERS)}","source":"0","seqId":${lastId}}`;
}

/** `side` is that of the order which closed the position; the price is the bankruptcy price. */
export function liquidation({ listing }: Instrument, trade: Trade): string {
  const [side, posSide] = trade.buyerIsMaker ? ['sell', 'long'] : ['buy', 'short'];
  const figures = `"bkPx":"${price(listing, bankruptcyPrice(listing, trade))}","sz":"${size(listing, trade.qty)}"`;
  const detail = `{"bkLoss":"0","ccy":"",${figures},"posSide":"${posSide}","side":"${side}","ts":"${trade.atMs}"}`;
  return `{"details":[${detail}],"instFamily":"${listing.pair}",${swap(listing)},"uly":"${listing.pair}"}`;
}

const PRICES = ['open', 'high', 'low', 'close'] as const;
const quoted = (texts: readonly string[]): string => `["${texts.join('","')}"]`;

export type CandleState = 'running' | 'closed';
const CONFIRM: Readonly<Record<CandleState, string>> = { running: '0', closed: '1' };

/** `[ts, o, h, l, c, vol, volCcy, volCcyQuote, confirm]`: contracts, coins, quote. */
export const tradeCandle = ({ listing }: Instrument, candle: TradeCandle, state: CandleState): string =>
  quoted([
    String(candle.openMs),
    ...PRICES.map((name) => price(listing, candle[name])),
    size(listing, candle.volume),
    coins(listing, candle.volume, candle.close),
    fixed(candle.amount, listing.decimals.amount),
    CONFIRM[state],
  ]);

/** `[ts, o, h, l, c, confirm]` of mark or index. */
export const priceCandle = ({ listing }: Instrument, candle: PriceCandle, state: CandleState): string =>
  quoted([String(candle.openMs), ...PRICES.map((name) => fine(candle[name], listing.decimals.mark)), CONFIRM[state]]);
