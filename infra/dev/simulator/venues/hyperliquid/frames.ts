// Texts of Hyperliquid's public subscriptions: data, which responses carry as well, and the frames around it (shapes: recordings of hftbacktest,
// jkorf, nautilus and tardis).
import type { Levels } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { FINE, formatFloat } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';

const formatPrice = ({ priceDecimals }: SimListing, units: number): string => formatFloat(units, priceDecimals);
const formatSize = ({ qtyDecimals }: SimListing, units: number): string => formatFloat(units, qtyDecimals);

export const formatFrame = (channel: string, data: string): string => `{"channel":"${channel}","data":${data}}`;

/** Levels a side. */
export const LEVELS = 20;
const ORDERS = 9;

/** Best first; `n` is the number of orders. */
function formatLevels(listing: SimListing, { prices, sizes }: Levels): string {
  const texts: string[] = [];
  for (let i = prices.length - 1; i >= Math.max(0, prices.length - LEVELS); i -= 1) {
    const quantity = sizes[i] ?? 0;
    const figures = `"px":"${formatPrice(listing, prices[i] ?? 0)}","sz":"${formatSize(listing, quantity)}"`;
    texts.push(`{${figures},"n":${1 + (quantity % ORDERS)}}`);
  }
  return texts.join(',');
}

/** Stamped with the book's newest change. */
export function formatBook({ listing, book: { asks }, changedAtMs }: Instrument, bids: Levels): string {
  const sides = `[[${formatLevels(listing, bids)}],[${formatLevels(listing, asks)}]]`;
  return `{"coin":"${listing.symbol}","time":${changedAtMs},"levels":${sides}}`;
}

const PREMIUM_DECIMALS = 10;

/** Has no time. The rate is that of an hour. */
export function formatContext({ listing, book: { bids, asks }, day, ...instrument }: Instrument): string {
  const { mark, index, fundingRate, openInterest } = instrument;
  const [bid, ask] = [bids.prices.at(-1) ?? 0, asks.prices.at(-1) ?? 0];
  const held = `"funding":"${formatFloat(fundingRate, FINE)}","openInterest":"${formatSize(listing, openInterest)}"`;
  const traded = `"prevDayPx":"${formatPrice(listing, day.open)}","dayNtlVlm":"${formatFloat(day.turnover, listing.decimals.turnover)}"`;
  const premium = ((mark - index) / index).toFixed(PREMIUM_DECIMALS);
  const prices = `"premium":"${premium}","oraclePx":"${formatFloat(index, FINE)}","markPx":"${formatFloat(mark, FINE)}"`;
  // Half a tick: one decimal more.
  const mid = `"midPx":"${formatFloat((bid + ask) * 5, listing.priceDecimals + 1)}"`;
  const impact = `"impactPxs":["${formatPrice(listing, bid)}","${formatPrice(listing, ask)}"]`;
  return `{${held},${traded},${prices},${mid},${impact},"dayBaseVlm":"${formatSize(listing, day.volume)}"}`;
}

export const formatCoinContext = (instrument: Instrument): string =>
  `{"coin":"${instrument.listing.symbol}","ctx":${formatContext(instrument)}}`;

const HASH_DIGITS = 64;
const USERS = '["0x6802b4267f7f2bf7003dcf993c51542245b38329","0x13558be785661958932ceac35ba20de187275a42"]';

/** `side` is the taker's: `A` hit a bid, `B` lifted an ask. */
export function formatTrade({ listing }: Instrument, { id, buyerIsMaker, atMs, ...made }: Trade): string {
  const figures = `"px":"${formatPrice(listing, made.price)}","sz":"${formatSize(listing, made.qty)}"`;
  const names = `"hash":"0x${id.toString(16).padStart(HASH_DIGITS, '0')}","tid":${id},"users":${USERS}`;
  return `{"coin":"${listing.symbol}","side":"${buyerIsMaker ? 'A' : 'B'}",${figures},"time":${atMs},${names}}`;
}

const MINUTE_LAST_MS = 59_999;

/** Has no member for whether the minute is over. */
export function formatCandle({ listing }: Instrument, { openMs, volume, ticks, ...prices }: TradeCandle): string {
  const [o, c, h, l] = [prices.open, prices.close, prices.high, prices.low].map((units) => formatPrice(listing, units));
  const time = `"t":${openMs},"T":${openMs + MINUTE_LAST_MS}`;
  return `{${time},"s":"${listing.symbol}","i":"1m","o":"${o}","c":"${c}","h":"${h}","l":"${l}","v":"${formatSize(listing, volume)}","n":${ticks}}`;
}
