// Texts of Binance's futures streams, built once per frame (shapes: recordings of hftbacktest, cryptofeed, tardis, crypto-msg-parser).
import { MS_PER_DAY } from '../../../../../schemas/instants.ts';
import type { Change } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { computeDayChange } from '../../derived-figures.ts';
import { FINE, formatFixed } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';

/** COIN-M frames carry the pair after the symbol. */
const toPair = (listing: SimListing): string => (listing.scope === 'coinm' ? `,"ps":"${listing.pair}"` : '');

function formatLevels(changes: readonly Change[], side: 'b' | 'a', listing: SimListing): string {
  let text = '';
  for (const change of changes) {
    if (change.side !== side) continue;
    const level = `["${formatFixed(change.price, listing.priceDecimals)}","${formatFixed(change.size, listing.qtyDecimals)}"]`;
    text = text === '' ? level : `${text},${level}`;
  }
  return text;
}

export function formatDepthUpdate({ listing }: Instrument, diff: Diff): string {
  const ids = `"U":${diff.first},"u":${diff.last},"pu":${diff.previous}`;
  const levels = `"b":[${formatLevels(diff.changes, 'b', listing)}],"a":[${formatLevels(diff.changes, 'a', listing)}]`;
  return `{"e":"depthUpdate","E":${diff.eventMs},"T":${diff.transactedMs},"s":"${listing.symbol}"${toPair(listing)},${ids},${levels}}`;
}

export function formatBookTicker({ listing, book }: Instrument, diff: Diff): string {
  const price = (side: 'bids' | 'asks'): string => formatFixed(book[side].prices.at(-1) ?? 0, listing.priceDecimals);
  const size = (side: 'bids' | 'asks'): string => formatFixed(book[side].sizes.at(-1) ?? 0, listing.qtyDecimals);
  const head = `"e":"bookTicker","u":${diff.last},"s":"${listing.symbol}"${toPair(listing)}`;
  return `{${head},"b":"${price('bids')}","B":"${size('bids')}","a":"${price('asks')}","A":"${size('asks')}","T":${diff.transactedMs},"E":${diff.eventMs}}`;
}

export function formatMarkPriceUpdate(instrument: Instrument, eventMs: number): string {
  const { listing } = instrument;
  const index = listing.scope === 'usdm' ? `,"i":"${formatFixed(instrument.index, FINE)}"` : '';
  const prices = `"p":"${formatFixed(instrument.mark, FINE)}","P":"${formatFixed(Math.round((instrument.mark + instrument.index) / 2), FINE)}"${index}`;
  const funding = `"r":"${formatFixed(instrument.fundingRate, FINE)}","T":${instrument.nextFundingAtMs}`;
  return `{"e":"markPriceUpdate","E":${eventMs},"s":"${listing.symbol}",${prices},${funding}}`;
}

/** A quarterly contract in the same stream: no rate, no next funding (a mapper must not treat it as a perpetual). */
export function formatDeliveryMark(symbol: string, index: number, eventMs: number): string {
  const mark = formatFixed(Math.round(index * 1.002), FINE);
  const indexText = symbol.includes('USDT') ? `,"i":"${formatFixed(index, FINE)}"` : '';
  return `{"e":"markPriceUpdate","E":${eventMs},"s":"${symbol}","p":"${mark}","P":"${mark}"${indexText},"r":"","T":0}`;
}

export function formatIndexUpdate(instrument: Instrument, eventMs: number): string {
  return `{"E":${eventMs},"s":"${instrument.listing.pair}","p":"${formatFixed(instrument.index, FINE)}","e":"IndexUpdate"}`;
}

/** The 24-hour figures as text: shared by the stream and the REST response. */
export function formatDayFigures(instrument: Instrument) {
  const { listing, day, last } = instrument;
  const price = (units: number): string => formatFixed(units, listing.priceDecimals);
  return {
    change: price(last.price - day.open),
    percent: formatFixed(computeDayChange(instrument), listing.decimals.change - 2),
    weighted: ((day.high + day.low + last.price) / 3 / 10 ** listing.priceDecimals).toFixed(listing.priceDecimals),
    close: price(last.price),
    quantity: formatFixed(last.qty, listing.qtyDecimals),
    open: price(day.open),
    high: price(day.high),
    low: price(day.low),
    volume: formatFixed(day.volume, listing.qtyDecimals),
    turnover: formatFixed(day.turnover, listing.decimals.turnover),
  };
}

export function formatDayTicker(instrument: Instrument, eventMs: number): string {
  const { listing, day, last } = instrument;
  const f = formatDayFigures(instrument);
  const head = `"e":"24hrTicker","E":${eventMs},"s":"${listing.symbol}"${toPair(listing)}`;
  const prices = `"p":"${f.change}","P":"${f.percent}","w":"${f.weighted}","c":"${f.close}","Q":"${f.quantity}","o":"${f.open}","h":"${f.high}","l":"${f.low}"`;
  const counts = `"O":${eventMs - MS_PER_DAY},"C":${eventMs},"F":${day.firstId},"L":${last.id},"n":${day.trades}`;
  return `{${head},${prices},"v":"${f.volume}","q":"${f.turnover}",${counts}}`;
}

export function formatAggTrade({ listing }: Instrument, trade: Trade, eventMs: number): string {
  const figures = `"p":"${formatFixed(trade.price, listing.priceDecimals)}","q":"${formatFixed(trade.qty, listing.qtyDecimals)}"`;
  return `{"e":"aggTrade","E":${eventMs},"a":${trade.id},"s":"${listing.symbol}",${figures},"f":${trade.id},"l":${trade.id},"T":${trade.atMs},"m":${trade.buyerIsMaker}}`;
}

export function formatSingleTrade({ listing }: Instrument, trade: Trade, eventMs: number): string {
  const figures = `"p":"${formatFixed(trade.price, listing.priceDecimals)}","q":"${formatFixed(trade.qty, listing.qtyDecimals)}"`;
  return `{"e":"trade","E":${eventMs},"T":${trade.atMs},"s":"${listing.symbol}","t":${trade.id},${figures},"X":"MARKET","m":${trade.buyerIsMaker}}`;
}

export function formatForceOrder({ listing }: Instrument, trade: Trade, eventMs: number): string {
  const price = formatFixed(trade.price, listing.priceDecimals);
  const qty = formatFixed(trade.qty, listing.qtyDecimals);
  const figures = `"q":"${qty}","p":"${price}","ap":"${price}","X":"FILLED","l":"${qty}","z":"${qty}","T":${trade.atMs}`;
  const order = `"s":"${listing.symbol}"${toPair(listing)},"S":"${trade.buyerIsMaker ? 'SELL' : 'BUY'}","o":"LIMIT","f":"IOC",${figures}`;
  return `{"e":"forceOrder","E":${eventMs},"o":{${order}}}`;
}

/** A candle's figures as text: shared by the stream and the REST response. */
export function formatCandleFigures(listing: SimListing, candle: TradeCandle) {
  const { amount: amounts } = listing.decimals;
  const price = (units: number): string => formatFixed(units, listing.priceDecimals);
  return {
    open: price(candle.open),
    high: price(candle.high),
    low: price(candle.low),
    close: price(candle.close),
    volume: formatFixed(candle.volume, listing.qtyDecimals),
    amount: formatFixed(candle.amount, amounts),
    buyVolume: formatFixed(candle.buyVolume, listing.qtyDecimals),
    buyAmount: formatFixed(candle.buyAmount, amounts),
  };
}

export function formatKline(
  { listing }: Instrument,
  candle: TradeCandle,
  at: { readonly eventMs: number; readonly closed: boolean },
): string {
  const f = formatCandleFigures(listing, candle);
  const time = `"t":${candle.openMs},"T":${candle.openMs + 59_999},"s":"${listing.symbol}","i":"1m","f":${candle.firstId},"L":${candle.lastId}`;
  const prices = `"o":"${f.open}","c":"${f.close}","h":"${f.high}","l":"${f.low}","v":"${f.volume}"`;
  const rest = `"n":${candle.ticks},"x":${at.closed},"q":"${f.amount}","V":"${f.buyVolume}","Q":"${f.buyAmount}","B":"0"`;
  return `{"e":"kline","E":${at.eventMs},"s":"${listing.symbol}","k":{${time},${prices},${rest}}}`;
}

/** `{"stream":…,"data":…}`, as the /stream paths send it. */
export function formatCombined(stream: string, text: string): string {
  return `{"stream":"${stream}","data":${text}}`;
}
