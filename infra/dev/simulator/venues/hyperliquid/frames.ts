// Texts of Hyperliquid's public subscriptions: data, which responses carry as well, and the frames around it (shapes: recordings of hftbacktest,
// jkorf, nautilus and tardis).
import type { Levels } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { FINE, float } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';

const price = ({ priceDecimals }: SimListing, units: number): string => float(units, priceDecimals);
const size = ({ qtyDecimals }: SimListing, units: number): string => float(units, qtyDecimals);

export const frame = (channel: string, data: string): string => `{"channel":"${channel}","data":${data}}`;

/** Levels a side. */
export const LEVELS = 20;
const ORDERS = 9;

/** Best first; `n` is the number of orders. */
function levels(listing: SimListing, { prices, sizes }: Levels): string {
  const texts: string[] = [];
  for (let i = prices.length - 1; i >= Math.max(0, prices.length - LEVELS); i -= 1) {
    const quantity = sizes[i] ?? 0;
    const figures = `"px":"${price(listing, prices[i] ?? 0)}","sz":"${size(listing, quantity)}"`;
    texts.push(`{${figures},"n":${1 + (quantity % ORDERS)}}`);
  }
  return texts.join(',');
}

/** Stamped with the book's newest change. */
export function book({ listing, book: { asks }, changedAtMs }: Instrument, bids: Levels): string {
  const sides = `[[${levels(listing, bids)}],[${levels(listing, asks)}]]`;
  return `{"coin":"${listing.symbol}","time":${changedAtMs},"levels":${sides}}`;
}

const PREMIUM_DECIMALS = 10;

/** Has no time. The rate is that of an hour. */
export function context({ listing, book: { bids, asks }, day, ...instrument }: Instrument): string {
  const { mark, index, fundingRate, openInterest } = instrument;
  const [bid, ask] = [bids.prices.at(-1) ?? 0, asks.prices.at(-1) ?? 0];
  const held = `"funding":"${float(fundingRate, FINE)}","openInterest":"${size(listing, openInterest)}"`;
  const traded = `"prevDayPx":"${price(listing, day.open)}","dayNtlVlm":"${float(day.turnover, listing.decimals.turnover)}"`;
  const premium = ((mark - index) / index).toFixed(PREMIUM_DECIMALS);
  const prices = `"premium":"${premium}","oraclePx":"${float(index, FINE)}","markPx":"${float(mark, FINE)}"`;
  // Half a tick: one decimal more.
  const mid = `"midPx":"${float((bid + ask) * 5, listing.priceDecimals + 1)}"`;
  const impact = `"impactPxs":["${price(listing, bid)}","${price(listing, ask)}"]`;
  return `{${held},${traded},${prices},${mid},${impact},"dayBaseVlm":"${size(listing, day.volume)}"}`;
}

export const coinContext = (instrument: Instrument): string =>
  `{"coin":"${instrument.listing.symbol}","ctx":${context(instrument)}}`;

const HASH_DIGITS = 64;
const USERS = '["0x6802b4267f7f2bf7003dcf993c51542245b38329","0x13558be785661958932ceac35ba20de187275a42"]';

/** `side` is the taker's: `A` hit a bid, `B` lifted an ask. */
export function trade({ listing }: Instrument, { id, buyerIsMaker, atMs, ...made }: Trade): string {
  const figures = `"px":"${price(listing, made.price)}","sz":"${size(listing, made.qty)}"`;
  const names = `"hash":"0x${id.toString(16).padStart(HASH_DIGITS, '0')}","tid":${id},"users":${USERS}`;
  return `{"coin":"${listing.symbol}","side":"${buyerIsMaker ? 'A' : 'B'}",${figures},"time":${atMs},${names}}`;
}

const MINUTE_LAST_MS = 59_999;

/** Has no member for whether the minute is over. */
export function candle({ listing }: Instrument, { openMs, volume, ticks, ...prices }: TradeCandle): string {
  const [o, c, h, l] = [prices.open, prices.close, prices.high, prices.low].map((units) => price(listing, units));
  const time = `"t":${openMs},"T":${openMs + MINUTE_LAST_MS}`;
  return `{${time},"s":"${listing.symbol}","i":"1m","o":"${o}","c":"${c}","h":"${h}","l":"${l}","v":"${size(listing, volume)}","n":${ticks}}`;
}
