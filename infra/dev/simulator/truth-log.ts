// What was true at each stamp the venue gave out: figures by second, books by sequence, trades, liquidations and candles as they were made.
import { type BookModel, type Change, elementHash, type Side } from './book-model.ts';
import type { PriceCandle, TradeCandle } from './candles.ts';
import { FINE, plain } from './figures.ts';
import type { SimListing } from './listings.ts';
import type { Diff, Instrument } from './market.ts';
import type { Trade } from './trade.ts';

const MOMENT_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats'] as const;
type MomentLayer = (typeof MOMENT_LAYERS)[number];
export const TRUTH_LAYERS = [...MOMENT_LAYERS, 'book', 'trades', 'liquidations', 'candles'] as const;
type TruthLayer = (typeof TRUTH_LAYERS)[number];

/** Figures are canonical digits (N-05 rule 1) in the venue's own units; `venue_ts` is microseconds, the stamp of the message that carries them. */
export type TruthRow = {
  readonly venue: string;
  readonly symbol: string;
  readonly layer: TruthLayer;
  readonly venue_ts: number;
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
};

export type TruthQuery = {
  readonly symbol?: string;
  readonly layer?: TruthLayer;
  readonly venueTs?: number;
  readonly sinceTs?: number;
};
/** Best level first, canonical digits. */
export type TruthBook = {
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
};

export type TruthLog = {
  /** Figures that hold at one stamp of the venue: of every layer, or of those a message carries alone. */
  readonly moment: (instrument: Instrument, stampMs: number, layers?: readonly MomentLayer[]) => void;
  readonly diff: (instrument: Instrument, diff: Diff, ghost: number | null) => void;
  /** The book as a REST snapshot gave it, possibly between two diffs. */
  readonly snapshot: (instrument: Instrument, ghost: number | null) => void;
  readonly trade: (instrument: Instrument, trade: Trade) => void;
  readonly liquidation: (instrument: Instrument, trade: Trade) => void;
  /** A closed minute of trades, and of mark and index. */
  readonly minute: (instrument: Instrument, candle: TradeCandle, stampMs: number) => void;
  readonly rows: (query: TruthQuery) => Iterable<TruthRow>;
  /** The whole book right after the newest diff with this sequence, by undoing the later changes; null when no longer kept. */
  readonly bookAt: (instrument: Instrument, sequence: number) => TruthBook | null;
};

type Moment = {
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
type Top = {
  readonly atMs: number;
  readonly id: number;
  readonly bid: number;
  readonly bidSize: number;
  readonly ask: number;
  readonly askSize: number;
  readonly hash: number;
  /** A bid price above the best ask that a `crossed_book` fault shows; null when the book is whole. */
  readonly ghost: number | null;
  /** Null for snapshots. */
  readonly history: readonly Change[] | null;
};
type Minute = { readonly atMs: number; readonly trades: TradeCandle; readonly prices: Prices };
type Prices = { readonly mark: PriceCandle | undefined; readonly index: PriceCandle | undefined };
type Kept = {
  readonly instrument: Instrument;
  readonly moments: Moment[];
  readonly tops: Top[];
  readonly trades: Trade[];
  readonly liquidations: Trade[];
  readonly minutes: Minute[];
};

function trim(list: unknown[], limit: number): void {
  // A tenth at a time: shifting one by one would move the whole array each time.
  if (list.length > limit * 1.1) list.splice(0, list.length - limit);
}

/** Volume and turnover in the venue's words. */
const volumesOf = ({ volumeIn }: SimListing, quantity: string, amount: string): readonly [string, string] =>
  volumeIn === 'base' ? [amount, quantity] : [quantity, amount];

/** Hash of the best levels alone, as `BookModel.hash` is of all. */
function shownHash({ bids, asks }: BookModel, { priceDecimals, qtyDecimals }: SimListing, shown: number): number {
  let hash = 0;
  for (const [side, { prices, sizes }] of [['b', bids] as const, ['a', asks] as const]) {
    for (let i = Math.max(0, prices.length - shown); i < prices.length; i += 1)
      hash ^= elementHash(side, plain(prices[i] ?? 0, priceDecimals), plain(sizes[i] ?? 0, qtyDecimals));
  }
  return hash >>> 0;
}

const ordered = (levels: ReadonlyMap<number, number>, sign: 1 | -1): readonly (readonly [number, number])[] =>
  [...levels].sort(([x], [y]) => (x - y) * sign);

/** The day's change as a fraction, in units of 10^-`decimals.change`. */
export function changeOf({ listing, day, last }: Instrument): number {
  return toChange(last.price, day.open, listing.decimals.change);
}
const toChange = (last: number, open: number, decimals: number): number =>
  Math.round(((last - open) * 10 ** decimals) / open);

const TICKS_TO_BANKRUPTCY = 7;

/** Where a liquidated position was bankrupt: past the price at which it was closed. In price units. */
export function bankruptcyPrice({ tick }: SimListing, { price, buyerIsMaker }: Trade): number {
  return Math.max(tick, price + (buyerIsMaker ? -1 : 1) * TICKS_TO_BANKRUPTCY * tick);
}

function captureMoment(instrument: Instrument, atMs: number, layers: readonly MomentLayer[]): Moment {
  const { mark, index, fundingRate, fundingHours, nextFundingAtMs, openInterest, last, day } = instrument;
  const { open, volume, turnover } = day;
  const priced = { mark, index, last: last.price, open, volume, turnover };
  return { atMs, layers, fundingRate, fundingHours, nextFundingAtMs, openInterest, ...priced };
}

function undo(levels: Record<Side, Map<number, number>>, changes: readonly Change[]): void {
  for (const { side, price, before } of changes.toReversed()) {
    if (before === 0) levels[side].delete(price);
    else levels[side].set(price, before);
  }
}

/** Rows of one venue. */
function rowsBy(venue: string, tradeId: (trade: Trade) => string) {
  const row = ({ listing }: Instrument, layer: TruthLayer, atMs: number, values: TruthRow['values']): TruthRow => ({
    venue,
    symbol: listing.symbol,
    layer,
    venue_ts: atMs * 1_000,
    values,
  });

  function ofMoment(instrument: Instrument, moment: Moment, layer: MomentLayer): TruthRow {
    const { listing } = instrument;
    const size = (units: number): string => plain(units, listing.qtyDecimals);
    const of = (values: TruthRow['values']): TruthRow => row(instrument, layer, moment.atMs, values);
    switch (layer) {
      case 'ticker':
        return of({ last: plain(moment.last, listing.priceDecimals) });
      case 'mark':
        return of({ mark: plain(moment.mark, FINE), index: plain(moment.index, FINE) });
      case 'funding':
        return of({
          funding: plain(moment.fundingRate, FINE),
          funding_interval_ms: moment.fundingHours * 3_600_000,
          next_funding_at: moment.nextFundingAtMs * 1_000,
        });
      case 'oi':
        return of({ oi: size(moment.openInterest) });
      case 'stats': {
        const { change, turnover } = listing.decimals;
        const [volume_24h, turnover_24h] = volumesOf(listing, size(moment.volume), plain(moment.turnover, turnover));
        return of({
          volume_24h,
          turnover_24h,
          change_24h: plain(toChange(moment.last, moment.open, change), change),
        });
      }
      default:
        return layer satisfies never;
    }
  }

  function ofTop(instrument: Instrument, top: Top): TruthRow {
    const { listing } = instrument;
    return row(instrument, 'book', top.atMs, {
      bid: plain(top.bid, listing.priceDecimals),
      bid_size: plain(top.bidSize, listing.qtyDecimals),
      ask: plain(top.ask, listing.priceDecimals),
      ask_size: plain(top.askSize, listing.qtyDecimals),
      update_id: top.id,
      book_hash: top.hash,
      crossed: top.ghost !== null,
      source: top.history === null ? 'snapshot' : 'diff',
    });
  }

  const traded = ({ listing }: Instrument, trade: Trade) => ({
    price: plain(trade.price, listing.priceDecimals),
    quantity: plain(trade.qty, listing.qtyDecimals),
  });

  const ofTrade = (instrument: Instrument, trade: Trade): TruthRow =>
    row(instrument, 'trades', trade.atMs, {
      id: tradeId(trade),
      side: trade.buyerIsMaker ? 'sell' : 'buy',
      ...traded(instrument, trade),
    });

  /** A forced sale closes a long. */
  const ofLiquidation = (instrument: Instrument, trade: Trade): TruthRow =>
    row(instrument, 'liquidations', trade.atMs, {
      id: tradeId(trade),
      side: trade.buyerIsMaker ? 'long' : 'short',
      ...traded(instrument, trade),
      bankruptcy_price: plain(bankruptcyPrice(instrument.listing, trade), instrument.listing.priceDecimals),
    });

  function ofPrices(instrument: Instrument, candle: PriceCandle, type: string, stampMs: number): TruthRow {
    const decimals = type === 'trade' ? instrument.listing.priceDecimals : FINE;
    return row(instrument, 'candles', stampMs, {
      price_type: type,
      open_time: candle.openMs * 1_000,
      open: plain(candle.open, decimals),
      high: plain(candle.high, decimals),
      low: plain(candle.low, decimals),
      close: plain(candle.close, decimals),
    });
  }

  function ofMinute(instrument: Instrument, { atMs, trades, prices }: Minute): readonly TruthRow[] {
    const { listing } = instrument;
    const bare = ofPrices(instrument, trades, 'trade', atMs);
    const quantity = plain(trades.volume, listing.qtyDecimals);
    const [volume, turnover] = volumesOf(listing, quantity, plain(trades.amount, listing.decimals.amount));
    const amounts = { volume, turnover, trades: trades.ticks };
    const marks = prices.mark === undefined ? [] : [ofPrices(instrument, prices.mark, 'mark', atMs)];
    const indexes = prices.index === undefined ? [] : [ofPrices(instrument, prices.index, 'index', atMs)];
    return [{ ...bare, values: { ...bare.values, ...amounts } }, ...marks, ...indexes];
  }

  return { ofMoment, ofTop, ofTrade, ofLiquidation, ofMinute };
}

export function createTruthLog(options: {
  readonly venue: string;
  readonly bookIds: 'changes' | 'messages';
  /** Levels a side that the venue's messages carry; infinite where they carry all. */
  readonly shownLevels: number;
  readonly tradeId: (trade: Trade) => string;
  readonly perListing: number;
  readonly onRow: ((row: TruthRow) => void) | null;
}): TruthLog {
  const kept = new Map<Instrument, Kept>();
  const { perListing, onRow } = options;
  const { ofMoment, ofTop, ofTrade, ofLiquidation, ofMinute } = rowsBy(options.venue, options.tradeId);

  function of(instrument: Instrument): Kept {
    const known = kept.get(instrument);
    if (known !== undefined) return known;
    const fresh = { instrument, moments: [], tops: [], trades: [], liquidations: [], minutes: [] };
    kept.set(instrument, fresh);
    return fresh;
  }

  function keep<T>(list: T[], item: T): void {
    list.push(item);
    trim(list, perListing);
  }

  function addTop(instrument: Instrument, ghost: number | null, history: readonly Change[] | null): void {
    const { book, changedAtMs, lastId, ordinal, listing } = instrument;
    const isWhole = options.shownLevels === Number.POSITIVE_INFINITY;
    const top: Top = {
      atMs: changedAtMs,
      id: options.bookIds === 'changes' ? lastId : ordinal,
      bid: book.bids.prices.at(-1) ?? 0,
      bidSize: book.bids.sizes.at(-1) ?? 0,
      ask: book.asks.prices.at(-1) ?? 0,
      askSize: book.asks.sizes.at(-1) ?? 0,
      hash: isWhole ? book.hash() : shownHash(book, listing, options.shownLevels),
      ghost,
      history,
    };
    keep(of(instrument).tops, top);
    onRow?.(ofTop(instrument, top));
  }

  function* rowsOf(
    { instrument, moments, tops, trades, liquidations, minutes }: Kept,
    query: TruthQuery,
  ): Iterable<TruthRow> {
    const isLayer = (layer: TruthLayer): boolean => query.layer === undefined || query.layer === layer;
    const isWanted = ({ atMs }: { readonly atMs: number }): boolean =>
      (query.venueTs === undefined || query.venueTs === atMs * 1_000) &&
      (query.sinceTs === undefined || atMs * 1_000 >= query.sinceTs);
    for (const layer of MOMENT_LAYERS) {
      if (!isLayer(layer)) continue;
      for (const moment of moments)
        if (isWanted(moment) && moment.layers.includes(layer)) yield ofMoment(instrument, moment, layer);
    }
    if (isLayer('book')) for (const top of tops) if (isWanted(top)) yield ofTop(instrument, top);
    if (isLayer('trades')) for (const made of trades) if (isWanted(made)) yield ofTrade(instrument, made);
    if (isLayer('liquidations'))
      for (const made of liquidations) if (isWanted(made)) yield ofLiquidation(instrument, made);
    if (isLayer('candles')) for (const minute of minutes) if (isWanted(minute)) yield* ofMinute(instrument, minute);
  }

  return {
    moment: (instrument, stampMs, layers = MOMENT_LAYERS) => {
      const moment = captureMoment(instrument, stampMs, layers);
      keep(of(instrument).moments, moment);
      if (onRow !== null) for (const layer of layers) onRow(ofMoment(instrument, moment, layer));
    },
    diff: (instrument, diff, ghost) => addTop(instrument, ghost, diff.history),
    snapshot: (instrument, ghost) => addTop(instrument, ghost, null),
    trade: (instrument, trade) => {
      keep(of(instrument).trades, trade);
      onRow?.(ofTrade(instrument, trade));
    },
    liquidation: (instrument, trade) => {
      keep(of(instrument).liquidations, trade);
      onRow?.(ofLiquidation(instrument, trade));
    },
    minute: (instrument, candle, stampMs) => {
      const ofOpen = (series: readonly PriceCandle[]): PriceCandle | undefined =>
        series.findLast(({ openMs }) => openMs === candle.openMs);
      const prices = { mark: ofOpen(instrument.candles.marks), index: ofOpen(instrument.candles.indexes) };
      const minute = { atMs: stampMs, trades: candle, prices };
      keep(of(instrument).minutes, minute);
      if (onRow !== null) for (const row of ofMinute(instrument, minute)) onRow(row);
    },
    rows: function* (query) {
      for (const one of kept.values()) {
        if (query.symbol === undefined || one.instrument.listing.symbol === query.symbol) yield* rowsOf(one, query);
      }
    },
    bookAt: (instrument, sequence) => {
      const tops = of(instrument).tops.filter((top) => top.history !== null);
      const at = tops.findLastIndex((top) => top.id === sequence);
      if (at < 0) return null;
      const { book, listing } = instrument;
      const mapOf = (side: 'bids' | 'asks'): Map<number, number> =>
        new Map(book[side].prices.map((p, i) => [p, book[side].sizes[i] ?? 0]));
      const levels = { b: mapOf('bids'), a: mapOf('asks') };
      undo(levels, book.pendingChanges());
      for (const top of tops.slice(at + 1).reverse()) undo(levels, top.history ?? []);
      const listed = (side: Side, sign: 1 | -1): TruthBook['bids'] =>
        ordered(levels[side], sign)
          .slice(0, options.shownLevels)
          .map(([price, size]) => [plain(price, listing.priceDecimals), plain(size, listing.qtyDecimals)] as const);
      return { bids: listed('b', -1), asks: listed('a', 1) };
    },
  };
}
