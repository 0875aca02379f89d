// Texts of Bybit's v5 public topics (shapes: recordings of tardis and jkorf, docs of websocket/public).
import type { Change, Levels } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { computeBankruptcyPrice, computeDayChange } from '../../derived-figures.ts';
import { FINE, formatFine, formatFixed, formatPlain } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';

const formatPrice = ({ priceDecimals }: SimListing, units: number): string => formatFixed(units, priceDecimals);
const formatSize = ({ qtyDecimals }: SimListing, units: number): string => formatFixed(units, qtyDecimals);

/** A ticker's members as text, in the venue's order; a delta holds those that changed. */
export type Ticker = Readonly<Record<string, string>>;

export function makeTicker(instrument: Instrument): Ticker {
  const { listing, day, last, book, mark, index, openInterest } = instrument;
  const { decimals, qtyDecimals } = listing;
  const markPrice = formatFine(mark, decimals.mark);
  const interest = openInterest / 10 ** qtyDecimals;
  const top = (side: Levels): readonly [string, string] => [
    formatPrice(listing, side.prices.at(-1) ?? 0),
    formatSize(listing, side.sizes.at(-1) ?? 0),
  ];
  const [bid1Price, bid1Size] = top(book.bids);
  const [ask1Price, ask1Size] = top(book.asks);
  return {
    tickDirection: last.buyerIsMaker ? 'MinusTick' : 'PlusTick',
    price24hPcnt: formatFixed(computeDayChange(instrument), decimals.change),
    lastPrice: formatPrice(listing, last.price),
    prevPrice24h: formatPrice(listing, day.open),
    highPrice24h: formatPrice(listing, day.high),
    lowPrice24h: formatPrice(listing, day.low),
    prevPrice1h: formatPrice(listing, day.open),
    markPrice,
    indexPrice: formatFine(index, decimals.mark),
    openInterest: formatSize(listing, openInterest),
    openInterestValue: (listing.isInverse ? interest / Number(markPrice) : interest * Number(markPrice)).toFixed(2),
    turnover24h: formatFixed(day.turnover, decimals.turnover),
    volume24h: formatSize(listing, day.volume),
    fundingIntervalHour: String(instrument.fundingHours),
    nextFundingTime: String(instrument.nextFundingAtMs),
    fundingRate: formatPlain(instrument.fundingRate, FINE),
    bid1Price,
    bid1Size,
    ask1Price,
    ask1Size,
  };
}

/** Members that changed since `before`; null when none did. */
export function pickChanged(before: Ticker, after: Ticker): Ticker | null {
  const changed: Record<string, string> = {};
  let isAny = false;
  for (const name in after) {
    const value = after[name];
    if (value === undefined || value === before[name]) continue;
    changed[name] = value;
    isAny = true;
  }
  return isAny ? changed : null;
}

type Sent = { readonly type: 'snapshot' | 'delta'; readonly members: Ticker; readonly atMs: number };

export function formatTickers({ listing, lastId }: Instrument, { type, members, atMs }: Sent): string {
  let text = '';
  for (const name in members) text += `,"${name}":"${members[name]}"`;
  const data = `{"symbol":"${listing.symbol}"${text}}`;
  return `{"topic":"tickers.${listing.symbol}","type":"${type}","data":${data},"cs":${lastId},"ts":${atMs}}`;
}

function formatChanges(listing: SimListing, changes: readonly Change[], side: 'b' | 'a'): string {
  let text = '';
  for (const change of changes) {
    if (change.side !== side) continue;
    // A removal is a bare zero.
    const quantity = change.size === 0 ? '0' : formatSize(listing, change.size);
    text += `${text === '' ? '' : ','}["${formatPrice(listing, change.price)}","${quantity}"]`;
  }
  return text;
}

/** Best first. */
function formatLevels(listing: SimListing, { prices, sizes }: Levels): string {
  return prices
    .map((units, i) => `["${formatPrice(listing, units)}","${formatSize(listing, sizes[i] ?? 0)}"]`)
    .reverse()
    .join(',');
}

type BookData = { readonly b: string; readonly a: string; readonly seq: number };

export const makeSnapshotData = ({ listing, book, diffId }: Instrument, bids: Levels): BookData => ({
  b: formatLevels(listing, bids),
  a: formatLevels(listing, book.asks),
  seq: diffId,
});

export const makeDeltaData = ({ listing }: Instrument, { changes, last }: Diff): BookData => ({
  b: formatChanges(listing, changes, 'b'),
  a: formatChanges(listing, changes, 'a'),
  seq: last,
});

export const formatBookMembers = ({ listing, ordinal }: Instrument, { b, a, seq }: BookData): string =>
  `{"s":"${listing.symbol}","b":[${b}],"a":[${a}],"u":${ordinal},"seq":${seq}}`;

/** `data` as returned by `formatBookMembers`: the same for every depth's topic. */
export function formatOrderbook(
  topic: string,
  type: 'snapshot' | 'delta',
  at: { ts: number; cts: number; data: string },
): string {
  return `{"topic":"${topic}","type":"${type}","ts":${at.ts},"data":${at.data},"cts":${at.cts}}`;
}

/** Eight, four, four, four and twelve hexadecimal digits, the format of the venue's execution ids. */
export const formatTradeId = ({ id }: Trade): string => `51b0d1ce-0000-5000-8000-${id.toString(16).padStart(12, '0')}`;

export function formatPublicTrade({ listing, lastId }: Instrument, trade: Trade, eventMs: number): string {
  const figures = `"v":"${formatSize(listing, trade.qty)}","p":"${formatPrice(listing, trade.price)}"`;
  const side = trade.buyerIsMaker ? 'Sell' : 'Buy';
  const data = `{"T":${trade.atMs},"s":"${listing.symbol}","S":"${side}",${figures},"L":"${trade.buyerIsMaker ? 'MinusTick' : 'PlusTick'}","i":"${formatTradeId(trade)}","BT":false,"RPI":false,"seq":${lastId}}`;
  return `{"topic":"publicTrade.${listing.symbol}","type":"snapshot","ts":${eventMs},"data":[${data}]}`;
}

/** The side is the position's: a long is `Buy`. The price is the bankruptcy price, not that of a fill. */
export function formatAllLiquidation({ listing }: Instrument, trade: Trade, eventMs: number): string {
  const figures = `"v":"${formatSize(listing, trade.qty)}","p":"${formatPrice(listing, computeBankruptcyPrice(listing, trade))}"`;
  const data = `{"T":${trade.atMs},"s":"${listing.symbol}","S":"${trade.buyerIsMaker ? 'Buy' : 'Sell'}",${figures}}`;
  return `{"topic":"allLiquidation.${listing.symbol}","type":"snapshot","ts":${eventMs},"data":[${data}]}`;
}

const MINUTE_LAST_MS = 59_999;

export function formatKline(
  { listing }: Instrument,
  candle: TradeCandle,
  at: { readonly eventMs: number; readonly confirm: boolean },
): string {
  const [open, close, high, low] = [candle.open, candle.close, candle.high, candle.low].map((p) =>
    formatPrice(listing, p),
  );
  const amounts = `"volume":"${formatSize(listing, candle.volume)}","turnover":"${formatFixed(candle.amount, listing.decimals.amount)}"`;
  const time = `"start":${candle.openMs},"end":${candle.openMs + MINUTE_LAST_MS},"interval":"1"`;
  const prices = `"open":"${open}","close":"${close}","high":"${high}","low":"${low}"`;
  // The last match of the candle.
  const timestamp = candle.lastAtMs ?? at.eventMs;
  const data = `{${time},${prices},${amounts},"confirm":${at.confirm},"timestamp":${timestamp}}`;
  return `{"topic":"kline.1.${listing.symbol}","data":[${data}],"ts":${at.eventMs},"type":"snapshot"}`;
}
