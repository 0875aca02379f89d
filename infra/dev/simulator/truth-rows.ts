// Rows of truth: the figures of one layer at one stamp of the venue, in canonical digits.
import type { Change } from './book-model.ts';
import type { PriceCandle, TradeCandle } from './candles.ts';
import { computeBankruptcyPrice, toChange } from './derived-figures.ts';
import { FINE, formatPlain } from './figures.ts';
import type { SimListing } from './listings.ts';
import type { Instrument } from './market.ts';
import type { Trade } from './trade.ts';

export const MOMENT_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats'] as const;
export type MomentLayer = (typeof MOMENT_LAYERS)[number];
export const TRUTH_LAYERS = [...MOMENT_LAYERS, 'book', 'trades', 'liquidations', 'candles'] as const;
export type TruthLayer = (typeof TRUTH_LAYERS)[number];

/** Figures are canonical digits (N-05 rule 1) in the venue's own units; `venue_ts` is microseconds, the stamp of the message that carries them. */
export type TruthRow = {
  readonly venue: string;
  readonly symbol: string;
  readonly layer: TruthLayer;
  readonly venue_ts: number;
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
};
/** A row without its venue, which the log adds. */
export type ListingRow = Omit<TruthRow, 'venue'>;

export type Moment = {
  readonly atMs: number;
  readonly layers: readonly MomentLayer[];
  readonly mark: number;
  readonly index: number;
  readonly fundingRate: number;
  readonly fundingHours: number;
  readonly nextFundingAtMs: number;
  readonly openInterest: number;
  readonly last: number;
  readonly open: number;
  readonly volume: number;
  readonly turnover: number;
};
export type Top = {
  readonly atMs: number;
  readonly id: number;
  readonly bid: number;
  readonly bidSize: number;
  readonly ask: number;
  readonly askSize: number;
  readonly hash: number;
  /** A bid price above the best ask, sent by a `crossed_book` fault; null without one. */
  readonly ghost: number | null;
  /** Null for snapshots. */
  readonly history: readonly Change[] | null;
};
export type Minute = { readonly atMs: number; readonly trades: TradeCandle; readonly prices: Prices };
type Prices = { readonly mark: PriceCandle | undefined; readonly index: PriceCandle | undefined };

type Stamp = { readonly layer: TruthLayer; readonly atMs: number };
const toRow = ({ listing }: Instrument, { layer, atMs }: Stamp, values: TruthRow['values']): ListingRow => ({
  symbol: listing.symbol,
  layer,
  venue_ts: atMs * 1_000,
  values,
});

export const toMomentRow = (instrument: Instrument, moment: Moment, layer: MomentLayer): ListingRow =>
  toRow(instrument, { layer, atMs: moment.atMs }, pickFigures(instrument.listing, moment, layer));

function pickFigures(listing: SimListing, moment: Moment, layer: MomentLayer): TruthRow['values'] {
  switch (layer) {
    case 'ticker':
      return { last: formatPlain(moment.last, listing.priceDecimals) };
    case 'mark':
      return { mark: formatPlain(moment.mark, FINE), index: formatPlain(moment.index, FINE) };
    case 'funding':
      return {
        funding: formatPlain(moment.fundingRate, FINE),
        funding_interval_ms: moment.fundingHours * 3_600_000,
        next_funding_at: moment.nextFundingAtMs * 1_000,
      };
    case 'oi':
      return { oi: formatPlain(moment.openInterest, listing.qtyDecimals) };
    case 'stats':
      return toDayFigures(listing, moment);
    default:
      return layer satisfies never;
  }
}

function toDayFigures(listing: SimListing, { last, open, volume, turnover }: Moment): TruthRow['values'] {
  const { qtyDecimals, decimals } = listing;
  const [volume_24h, turnover_24h] = sortVolumes(
    listing,
    formatPlain(volume, qtyDecimals),
    formatPlain(turnover, decimals.turnover),
  );
  return { volume_24h, turnover_24h, change_24h: formatPlain(toChange(last, open, decimals.change), decimals.change) };
}

/** Volume and turnover in the venue's naming. */
const sortVolumes = ({ volumeIn }: SimListing, quantity: string, amount: string): readonly [string, string] =>
  volumeIn === 'base' ? [amount, quantity] : [quantity, amount];

export function toTopRow(instrument: Instrument, top: Top): ListingRow {
  const { priceDecimals, qtyDecimals } = instrument.listing;
  return toRow(
    instrument,
    { layer: 'book', atMs: top.atMs },
    {
      bid: formatPlain(top.bid, priceDecimals),
      bid_size: formatPlain(top.bidSize, qtyDecimals),
      ask: formatPlain(top.ask, priceDecimals),
      ask_size: formatPlain(top.askSize, qtyDecimals),
      update_id: top.id,
      book_hash: top.hash,
      crossed: top.ghost !== null,
      source: top.history === null ? 'snapshot' : 'diff',
    },
  );
}

const toTraded = ({ listing }: Instrument, trade: Trade) => ({
  price: formatPlain(trade.price, listing.priceDecimals),
  quantity: formatPlain(trade.qty, listing.qtyDecimals),
});

export const toTradeRow = (instrument: Instrument, trade: Trade, id: string): ListingRow =>
  toRow(
    instrument,
    { layer: 'trades', atMs: trade.atMs },
    { id, side: trade.buyerIsMaker ? 'sell' : 'buy', ...toTraded(instrument, trade) },
  );

/** A forced sale closes a long. */
export const toLiquidationRow = (instrument: Instrument, trade: Trade, id: string): ListingRow =>
  toRow(
    instrument,
    { layer: 'liquidations', atMs: trade.atMs },
    {
      id,
      side: trade.buyerIsMaker ? 'long' : 'short',
      ...toTraded(instrument, trade),
      bankruptcy_price: formatPlain(
        computeBankruptcyPrice(instrument.listing, trade),
        instrument.listing.priceDecimals,
      ),
    },
  );

export function toMinuteRows(instrument: Instrument, minute: Minute): readonly ListingRow[] {
  const { trades, prices } = minute;
  const { listing } = instrument;
  const toCandleRow = (type: PriceType, candle: PriceCandle, amounts: TruthRow['values'] = {}): ListingRow =>
    toRow(instrument, { layer: 'candles', atMs: minute.atMs }, { ...toPrices(type, candle, listing), ...amounts });
  const quantity = formatPlain(trades.volume, listing.qtyDecimals);
  const [volume, turnover] = sortVolumes(listing, quantity, formatPlain(trades.amount, listing.decimals.amount));
  return [
    toCandleRow('trade', trades, { volume, turnover, trades: trades.ticks }),
    ...(prices.mark === undefined ? [] : [toCandleRow('mark', prices.mark)]),
    ...(prices.index === undefined ? [] : [toCandleRow('index', prices.index)]),
  ];
}

type PriceType = 'trade' | 'mark' | 'index';
function toPrices(type: PriceType, candle: PriceCandle, { priceDecimals }: SimListing): TruthRow['values'] {
  const decimals = type === 'trade' ? priceDecimals : FINE;
  return {
    price_type: type,
    open_time: candle.openMs * 1_000,
    open: formatPlain(candle.open, decimals),
    high: formatPlain(candle.high, decimals),
    low: formatPlain(candle.low, decimals),
    close: formatPlain(candle.close, decimals),
  };
}
