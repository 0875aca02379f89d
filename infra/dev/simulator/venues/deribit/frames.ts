// Texts of Deribit's notifications: data, which responses carry as well, and the frames around it (shapes: recordings of cryptofeed, nautilus and
// tardis). Figures are JSON numbers.
import type { Change, Levels, Side } from '../../book-model.ts';
import type { TradeCandle } from '../../candles.ts';
import { computeDayChange } from '../../derived-figures.ts';
import { FINE, float, plain } from '../../figures.ts';
import type { SimListing } from '../../listings.ts';
import type { Diff, Instrument } from '../../market.ts';
import type { Trade } from '../../trade.ts';
import { toIndex } from './listings.ts';

const price = ({ priceDecimals }: SimListing, units: number): string => float(units, priceDecimals);
const amount = ({ qtyDecimals }: SimListing, units: number): string => float(units, qtyDecimals);
/** Index, mark, rate. */
const exact = (units: number): string => float(units, FINE);

export const notification = (channel: string, data: string): string =>
  `{"jsonrpc":"2.0","method":"subscription","params":{"channel":"${channel}","data":${data}}}`;

/** A fraction of six decimals as a percentage of four. */
const PERCENT_DECIMALS = 2;

/** Volume in base, and its value in quote, which is the amount itself for an inverse contract. */
function stats(instrument: Instrument): string {
  const { listing, day } = instrument;
  const quantity = amount(listing, day.volume);
  const worth = float(day.turnover, listing.decimals.turnover);
  const [volume, notional] = listing.isInverse ? [worth, quantity] : [quantity, worth];
  const range = `"high":${price(listing, day.high)},"low":${price(listing, day.low)}`;
  const change = float(computeDayChange(instrument), listing.decimals.change - PERCENT_DECIMALS);
  return `{${range},"price_change":${change},"volume":${volume},"volume_usd":${notional},"volume_notional":${notional}}`;
}

/** Maximum distance of an order from the index. */
const BAND = 0.015;

/** A part of the index in price units. */
function bound({ listing, index }: Instrument, part: number): string {
  const units = (index / 10 ** (FINE - listing.priceDecimals)) * part;
  return price(listing, Math.round(units / listing.tick) * listing.tick);
}

/** Its members, without the braces. */
function tickerMembers(instrument: Instrument, atMs: number): string {
  const { listing, book, last, mark, index, fundingRate, openInterest } = instrument;
  const best = (side: Levels, name: string): string =>
    `"best_${name}_price":${price(listing, side.prices.at(-1) ?? 0)},"best_${name}_amount":${amount(listing, side.sizes.at(-1) ?? 0)}`;
  const traded = `"last_price":${price(listing, last.price)},"settlement_price":${bound(instrument, 1)}`;
  const bounds = `"min_price":${bound(instrument, 1 - BAND)},"max_price":${bound(instrument, 1 + BAND)}`;
  const held = `"open_interest":${amount(listing, openInterest)},"mark_price":${exact(mark)}`;
  const top = `${best(book.asks, 'ask')},${best(book.bids, 'bid')}`;
  // The rate that accrues now, and the cost of the last eight hours, computed from a lower rate.
  const funding = `"current_funding":${exact(fundingRate)},"funding_8h":${exact(Math.round(fundingRate * 0.7))}`;
  const names = `"index_price":${exact(index)},"instrument_name":"${listing.symbol}"`;
  return `"timestamp":${atMs},"state":"open","stats":${stats(instrument)},${names},${traded},${bounds},${held},${top},"estimated_delivery_price":${exact(index)},${funding}`;
}

export const ticker = (instrument: Instrument, atMs: number): string => `{${tickerMembers(instrument, atMs)}}`;

/** The member named interest is the rate. */
export const perpetual = ({ index, fundingRate }: Instrument, atMs: number): string =>
  `{"timestamp":${atMs},"interest":${exact(fundingRate)},"index_price":${exact(index)}}`;

export const priceIndex = ({ listing, index }: Instrument, atMs: number): string =>
  `{"timestamp":${atMs},"price":${exact(index)},"index_name":"${toIndex(listing)}"}`;

/** Best first. */
function levels<T>(
  { prices, sizes }: Levels,
  most: number,
  text: (units: number, quantity: number) => T,
): readonly T[] {
  return prices
    .map((units, i) => text(units, sizes[i] ?? 0))
    .slice(-most)
    .reverse();
}

const whole = (listing: SimListing, side: Levels): string =>
  levels(side, side.prices.length, (p, q) => `["new",${price(listing, p)},${amount(listing, q)}]`).join(',');

const book = ({ listing, changedAtMs }: Instrument, type: 'snapshot' | 'change', members: string): string =>
  `{"type":"${type}","timestamp":${changedAtMs},"instrument_name":"${listing.symbol}",${members}}`;

/** The first notification of a subscription. */
export function wholeBook(instrument: Instrument, bids: Levels): string {
  const { listing, diffId } = instrument;
  const sides = `"bids":[${whole(listing, bids)}],"asks":[${whole(listing, instrument.book.asks)}]`;
  return book(instrument, 'snapshot', `"change_id":${diffId},${sides}`);
}

/** Whether the level of a change existed before the diff; only called for levels of the diff. */
function levelsBefore({ history }: Diff): (change: Change) => boolean {
  const first = new Map<string, number>();
  const formatLevel = ({ side, price: units }: Pick<Change, 'side' | 'price'>): string => `${side}${units}`;
  for (const change of history) if (!first.has(formatLevel(change))) first.set(formatLevel(change), change.before);
  return (change) => (first.get(formatLevel(change)) ?? change.before) > 0;
}

/** `[new | change | delete, price, amount]`; omits levels that came and went in between. */
export function bookChange(instrument: Instrument, diff: Diff): string {
  const { listing } = instrument;
  const wasThere = levelsBefore(diff);
  const side = (wanted: Side): string =>
    diff.changes
      .filter((change) => change.side === wanted && (change.size > 0 || wasThere(change)))
      .map((change) => {
        const action = change.size === 0 ? 'delete' : wasThere(change) ? 'change' : 'new';
        return `["${action}",${price(listing, change.price)},${amount(listing, change.size)}]`;
      })
      .join(',');
  const ids = `"prev_change_id":${diff.previous},"change_id":${diff.last}`;
  return book(instrument, 'change', `${ids},"bids":[${side('b')}],"asks":[${side('a')}]`);
}

/** As in a response, with the ticker: `[price, amount]`. */
export function orderBook(instrument: Instrument, bids: Levels, most: number): string {
  const { listing, changedAtMs, diffId } = instrument;
  const side = (of: Levels): string =>
    levels(of, most, (p, q) => `[${price(listing, p)},${amount(listing, q)}]`).join(',');
  const sides = `"bids":[${side(bids)}],"asks":[${side(instrument.book.asks)}]`;
  return `{${tickerMembers(instrument, changedAtMs)},"change_id":${diffId},${sides}}`;
}

/** One match; a forced one is marked with the forced side, which is always the taker. */
export function trade({ listing, mark, index }: Instrument, made: Trade): string {
  const { id, price: at, qty, buyerIsMaker, atMs } = made;
  const figures = `"price":${price(listing, at)},"amount":${amount(listing, qty)},"contracts":${float(qty, 0)}`;
  const beside = `"mark_price":${exact(mark)},"index_price":${exact(index)},"tick_direction":${buyerIsMaker ? 2 : 0}`;
  const names = `"trade_seq":${id},"trade_id":"${id}","instrument_name":"${listing.symbol}"`;
  const forced = made.isLiquidation ? ',"liquidation":"T"' : '';
  return `{"timestamp":${atMs},"direction":"${buyerIsMaker ? 'sell' : 'buy'}",${figures},${beside},${names}${forced}}`;
}

const COLUMNS = ['open', 'high', 'low', 'close', 'volume', 'cost'] as const;

/** Volume in base, cost in quote. */
function candleFigures(listing: SimListing, candle: TradeCandle): Readonly<Record<(typeof COLUMNS)[number], string>> {
  const quantity = amount(listing, candle.volume);
  const worth = float(candle.amount, listing.decimals.amount);
  return {
    open: price(listing, candle.open),
    high: price(listing, candle.high),
    low: price(listing, candle.low),
    close: price(listing, candle.close),
    volume: listing.isInverse ? worth : quantity,
    cost: listing.isInverse ? quantity : worth,
  };
}

/** Has no member for whether the minute is over. */
export function candle({ listing }: Instrument, one: TradeCandle): string {
  const figures = candleFigures(listing, one);
  return `{"tick":${one.openMs},${COLUMNS.map((name) => `"${name}":${figures[name]}`).join(',')}}`;
}

/** As columns, oldest first. */
export function candleColumns({ listing }: Instrument, candles: readonly TradeCandle[]): string {
  const rows = candles.map((one) => candleFigures(listing, one));
  const columns = COLUMNS.map((name) => `"${name}":[${rows.map((row) => row[name]).join(',')}]`).join(',');
  const ticks = candles.map(({ openMs }) => openMs).join(',');
  return `{"status":"${candles.length === 0 ? 'no_data' : 'ok'}","ticks":[${ticks}],${columns}}`;
}

/** Without an end: the year 3000. */
const NO_END_MS = 32_503_708_800_000;

export function instrumentRow({ listing }: Instrument): string {
  const { symbol, base, quote, margin, isInverse, priceDecimals, tick, qtyDecimals, onboardedAtMs } = listing;
  const contract = float(1, qtyDecimals);
  const rules = `"tick_size":${plain(tick, priceDecimals)},"tick_size_steps":[],"contract_size":${contract},"min_trade_amount":${contract}`;
  const kinds = `"kind":"future","instrument_type":"${isInverse ? 'reversed' : 'linear'}","settlement_period":"perpetual"`;
  const coins = `"base_currency":"${base}","quote_currency":"${quote}","counter_currency":"${quote}","settlement_currency":"${margin}"`;
  const times = `"creation_timestamp":${onboardedAtMs},"expiration_timestamp":${NO_END_MS}`;
  const names = `"instrument_name":"${symbol}","price_index":"${toIndex(listing)}"`;
  return `{${names},${kinds},${coins},${rules},${times},"state":"open","is_active":true,"rfq":false,"max_leverage":50,"maker_commission":0.0,"taker_commission":0.0005}`;
}

/** A dated contract that its currency also lists, so that readers must distinguish it from the perpetuals. */
export const DATED =
  '{"instrument_name":"BTC-27DEC30","price_index":"btc_usd","kind":"future","instrument_type":"reversed","settlement_period":"month","base_currency":"BTC","quote_currency":"USD","counter_currency":"USD","settlement_currency":"BTC","tick_size":2.5,"tick_size_steps":[],"contract_size":10.0,"min_trade_amount":10.0,"creation_timestamp":1735286400000,"expiration_timestamp":1924588800000,"state":"open","is_active":true,"rfq":false,"max_leverage":25,"maker_commission":0.0,"taker_commission":0.0005}';
