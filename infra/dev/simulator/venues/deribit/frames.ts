// Texts of Deribit's notifications: data, which responses carry as well, and the frames around it (shapes: recordings of cryptofeed, nautilus and
// tardis). Figures are JSON numbers.
import type { Change, Levels, Side } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { computeDayChange } from '../../derived-figures.ts';
import { FINE, formatFloat, formatPlain } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';
import { toIndex } from './listings.ts';

const formatPrice = ({ priceDecimals }: SimListing, units: number): string => formatFloat(units, priceDecimals);
const formatAmount = ({ qtyDecimals }: SimListing, units: number): string => formatFloat(units, qtyDecimals);
/** Index, mark, rate. */
const formatExact = (units: number): string => formatFloat(units, FINE);

export const formatNotification = (channel: string, data: string): string =>
  `{"jsonrpc":"2.0","method":"subscription","params":{"channel":"${channel}","data":${data}}}`;

/** A fraction of six decimals as a percentage of four. */
const PERCENT_DECIMALS = 2;

/** Volume in base, and its value in quote, which is the amount itself for an inverse contract. */
function formatStats(instrument: Instrument): string {
  const { listing, day } = instrument;
  const quantity = formatAmount(listing, day.volume);
  const worth = formatFloat(day.turnover, listing.decimals.turnover);
  const [volume, notional] = listing.isInverse ? [worth, quantity] : [quantity, worth];
  const range = `"high":${formatPrice(listing, day.high)},"low":${formatPrice(listing, day.low)}`;
  const change = formatFloat(computeDayChange(instrument), listing.decimals.change - PERCENT_DECIMALS);
  return `{${range},"price_change":${change},"volume":${volume},"volume_usd":${notional},"volume_notional":${notional}}`;
}

/** Maximum distance of an order from the index. */
const BAND = 0.015;

/** A part of the index in price units. */
function formatBound({ listing, index }: Instrument, part: number): string {
  const units = (index / 10 ** (FINE - listing.priceDecimals)) * part;
  return formatPrice(listing, Math.round(units / listing.tick) * listing.tick);
}

/** Its members, without the braces. */
function formatTickerMembers(instrument: Instrument, atMs: number): string {
  const { listing, book, last, mark, index, fundingRate, openInterest } = instrument;
  const best = (side: Levels, name: string): string =>
    `"best_${name}_price":${formatPrice(listing, side.prices.at(-1) ?? 0)},"best_${name}_amount":${formatAmount(listing, side.sizes.at(-1) ?? 0)}`;
  const traded = `"last_price":${formatPrice(listing, last.price)},"settlement_price":${formatBound(instrument, 1)}`;
  const bounds = `"min_price":${formatBound(instrument, 1 - BAND)},"max_price":${formatBound(instrument, 1 + BAND)}`;
  const held = `"open_interest":${formatAmount(listing, openInterest)},"mark_price":${formatExact(mark)}`;
  const top = `${best(book.asks, 'ask')},${best(book.bids, 'bid')}`;
  // The rate that accrues now, and the cost of the last eight hours, computed from a lower rate.
  const funding = `"current_funding":${formatExact(fundingRate)},"funding_8h":${formatExact(Math.round(fundingRate * 0.7))}`;
  const names = `"index_price":${formatExact(index)},"instrument_name":"${listing.symbol}"`;
  return `"timestamp":${atMs},"state":"open","stats":${formatStats(instrument)},${names},${traded},${bounds},${held},${top},"estimated_delivery_price":${formatExact(index)},${funding}`;
}

export const formatTicker = (instrument: Instrument, atMs: number): string =>
  `{${formatTickerMembers(instrument, atMs)}}`;

/** The member named interest is the rate. */
export const formatPerpetual = ({ index, fundingRate }: Instrument, atMs: number): string =>
  `{"timestamp":${atMs},"interest":${formatExact(fundingRate)},"index_price":${formatExact(index)}}`;

export const formatPriceIndex = ({ listing, index }: Instrument, atMs: number): string =>
  `{"timestamp":${atMs},"price":${formatExact(index)},"index_name":"${toIndex(listing)}"}`;

/** Best first. */
function listLevels<T>(
  { prices, sizes }: Levels,
  most: number,
  text: (units: number, quantity: number) => T,
): readonly T[] {
  return prices
    .map((units, i) => text(units, sizes[i] ?? 0))
    .slice(-most)
    .reverse();
}

const formatWhole = (listing: SimListing, side: Levels): string =>
  listLevels(side, side.prices.length, (p, q) => `["new",${formatPrice(listing, p)},${formatAmount(listing, q)}]`).join(
    ',',
  );

const formatBook = ({ listing, changedAtMs }: Instrument, type: 'snapshot' | 'change', members: string): string =>
  `{"type":"${type}","timestamp":${changedAtMs},"instrument_name":"${listing.symbol}",${members}}`;

/** The first notification of a subscription. */
export function formatWholeBook(instrument: Instrument, bids: Levels): string {
  const { listing, diffId } = instrument;
  const sides = `"bids":[${formatWhole(listing, bids)}],"asks":[${formatWhole(listing, instrument.book.asks)}]`;
  return formatBook(instrument, 'snapshot', `"change_id":${diffId},${sides}`);
}

/** Whether the level of a change existed before the diff; only called for levels of the diff. */
function findLevelsBefore({ history }: Diff): (change: Change) => boolean {
  const first = new Map<string, number>();
  const formatLevel = ({ side, price: units }: Pick<Change, 'side' | 'price'>): string => `${side}${units}`;
  for (const change of history) if (!first.has(formatLevel(change))) first.set(formatLevel(change), change.before);
  return (change) => (first.get(formatLevel(change)) ?? change.before) > 0;
}

/** `[new | change | delete, price, amount]`; omits levels that came and went in between. */
export function formatBookChange(instrument: Instrument, diff: Diff): string {
  const { listing } = instrument;
  const wasThere = findLevelsBefore(diff);
  const side = (wanted: Side): string =>
    diff.changes
      .filter((change) => change.side === wanted && (change.size > 0 || wasThere(change)))
      .map((change) => {
        const action = change.size === 0 ? 'delete' : wasThere(change) ? 'change' : 'new';
        return `["${action}",${formatPrice(listing, change.price)},${formatAmount(listing, change.size)}]`;
      })
      .join(',');
  const ids = `"prev_change_id":${diff.previous},"change_id":${diff.last}`;
  return formatBook(instrument, 'change', `${ids},"bids":[${side('b')}],"asks":[${side('a')}]`);
}

/** As in a response, with the ticker: `[price, amount]`. */
export function formatOrderBook(instrument: Instrument, bids: Levels, most: number): string {
  const { listing, changedAtMs, diffId } = instrument;
  const side = (of: Levels): string =>
    listLevels(of, most, (p, q) => `[${formatPrice(listing, p)},${formatAmount(listing, q)}]`).join(',');
  const sides = `"bids":[${side(bids)}],"asks":[${side(instrument.book.asks)}]`;
  return `{${formatTickerMembers(instrument, changedAtMs)},"change_id":${diffId},${sides}}`;
}

/** One match; a forced one is marked with the forced side, which is always the taker. */
export function formatTrade({ listing, mark, index }: Instrument, made: Trade): string {
  const { id, price: at, qty, buyerIsMaker, atMs } = made;
  const figures = `"price":${formatPrice(listing, at)},"amount":${formatAmount(listing, qty)},"contracts":${formatFloat(qty, 0)}`;
  const beside = `"mark_price":${formatExact(mark)},"index_price":${formatExact(index)},"tick_direction":${buyerIsMaker ? 2 : 0}`;
  const names = `"trade_seq":${id},"trade_id":"${id}","instrument_name":"${listing.symbol}"`;
  const forced = made.isLiquidation ? ',"liquidation":"T"' : '';
  return `{"timestamp":${atMs},"direction":"${buyerIsMaker ? 'sell' : 'buy'}",${figures},${beside},${names}${forced}}`;
}

const COLUMNS = ['open', 'high', 'low', 'close', 'volume', 'cost'] as const;

/** Volume in base, cost in quote. */
function formatCandleFigures(
  listing: SimListing,
  candle: TradeCandle,
): Readonly<Record<(typeof COLUMNS)[number], string>> {
  const quantity = formatAmount(listing, candle.volume);
  const worth = formatFloat(candle.amount, listing.decimals.amount);
  return {
    open: formatPrice(listing, candle.open),
    high: formatPrice(listing, candle.high),
    low: formatPrice(listing, candle.low),
    close: formatPrice(listing, candle.close),
    volume: listing.isInverse ? worth : quantity,
    cost: listing.isInverse ? quantity : worth,
  };
}

/** Has no member for whether the minute is over. */
export function formatCandle({ listing }: Instrument, one: TradeCandle): string {
  const figures = formatCandleFigures(listing, one);
  return `{"tick":${one.openMs},${COLUMNS.map((name) => `"${name}":${figures[name]}`).join(',')}}`;
}

/** As columns, oldest first. */
export function formatCandleColumns({ listing }: Instrument, candles: readonly TradeCandle[]): string {
  const rows = candles.map((one) => formatCandleFigures(listing, one));
  const columns = COLUMNS.map((name) => `"${name}":[${rows.map((row) => row[name]).join(',')}]`).join(',');
  const ticks = candles.map(({ openMs }) => openMs).join(',');
  return `{"status":"${candles.length === 0 ? 'no_data' : 'ok'}","ticks":[${ticks}],${columns}}`;
}

/** Without an end: the year 3000. */
const NO_END_MS = 32_503_708_800_000;

export function formatInstrument({ listing }: Instrument): string {
  const { symbol, base, quote, margin, isInverse, priceDecimals, tick, qtyDecimals, onboardedAtMs } = listing;
  const contract = formatFloat(1, qtyDecimals);
  const rules = `"tick_size":${formatPlain(tick, priceDecimals)},"tick_size_steps":[],"contract_size":${contract},"min_trade_amount":${contract}`;
  const kinds = `"kind":"future","instrument_type":"${isInverse ? 'reversed' : 'linear'}","settlement_period":"perpetual"`;
  const coins = `"base_currency":"${base}","quote_currency":"${quote}","counter_currency":"${quote}","settlement_currency":"${margin}"`;
  const times = `"creation_timestamp":${onboardedAtMs},"expiration_timestamp":${NO_END_MS}`;
  const names = `"instrument_name":"${symbol}","price_index":"${toIndex(listing)}"`;
  return `{${names},${kinds},${coins},${rules},${times},"state":"open","is_active":true,"rfq":false,"max_leverage":50,"maker_commission":0.0,"taker_commission":0.0005}`;
}

/** A dated contract that its currency also lists, so that readers must distinguish it from the perpetuals. */
export const DATED =
  '{"instrument_name":"BTC-27DEC30","price_index":"btc_usd","kind":"future","instrument_type":"reversed","settlement_period":"month","base_currency":"BTC","quote_currency":"USD","counter_currency":"USD","settlement_currency":"BTC","tick_size":2.5,"tick_size_steps":[],"contract_size":10.0,"min_trade_amount":10.0,"creation_timestamp":1735286400000,"expiration_timestamp":1924588800000,"state":"open","is_active":true,"rfq":false,"max_leverage":25,"maker_commission":0.0,"taker_commission":0.0005}';
