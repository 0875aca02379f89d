// The truth at each stamp of the venue: figures by second, books by sequence, trades, liquidations and candles at their creation.
import { type BookModel, type Change, hashElement, type Side } from './book-model.ts';
import type { PriceCandle, TradeCandle } from './candles.ts';
import { formatPlain } from './figures.ts';
import type { SimListing } from './listings.ts';
import type { Diff, Instrument } from './market.ts';
import type { Trade } from './trade.ts';
import {
  type ListingRow,
  type Minute,
  MOMENT_LAYERS,
  type Moment,
  type MomentLayer,
  type Top,
  type TruthLayer,
  type TruthRow,
  toLiquidationRow,
  toMinuteRows,
  toMomentRow,
  toTopRow,
  toTradeRow,
} from './truth-rows.ts';

export type TruthQuery = {
  readonly symbol?: string;
  readonly layer?: TruthLayer;
  readonly venueTs?: number;
  readonly sinceTs?: number;
};
/** A diff of one listing: of those with a sequence, which begins anew with a restart, the newest, or the one of a stamp (microseconds). */
type DiffQuery = { readonly sequence: number; readonly venueTs?: number | undefined };
/** Best level first, canonical digits. */
export type TruthBook = {
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
};

export type TruthLog = {
  /** Figures that hold at one stamp of the venue: of every layer, or of those that a message carries alone. */
  readonly moment: (instrument: Instrument, stampMs: number, layers?: readonly MomentLayer[]) => void;
  readonly diff: (instrument: Instrument, diff: Diff, ghost: number | null) => void;
  /** The book of a REST snapshot, possibly between two diffs. */
  readonly snapshot: (instrument: Instrument, ghost: number | null) => void;
  readonly trade: (instrument: Instrument, trade: Trade) => void;
  readonly liquidation: (instrument: Instrument, trade: Trade) => void;
  /** A closed minute of trades, and of mark and index. */
  readonly minute: (instrument: Instrument, candle: TradeCandle, stampMs: number) => void;
  readonly rows: (query: TruthQuery) => Iterable<TruthRow>;
  /** The whole book right after a diff, restored by undoing later changes; null when it is no longer kept. */
  readonly bookAt: (instrument: Instrument, diff: DiffQuery) => TruthBook | null;
};

type Kept = {
  readonly instrument: Instrument;
  readonly moments: Moment[];
  readonly tops: Top[];
  readonly trades: Trade[];
  readonly liquidations: Trade[];
  readonly minutes: Minute[];
};

type TruthLogOptions = {
  readonly venue: string;
  readonly bookIds: 'changes' | 'messages';
  /** Levels a side that the venue's messages carry; infinite where they carry all. */
  readonly shownLevels: number;
  readonly tradeId: (trade: Trade) => string;
  readonly perListing: number;
  readonly onRow: ((row: TruthRow) => void) | null;
};

export const createTruthLog = (options: TruthLogOptions): TruthLog => new VenueTruth(options);

class VenueTruth implements TruthLog {
  readonly #options: TruthLogOptions;
  readonly #kept = new Map<Instrument, Kept>();

  constructor(options: TruthLogOptions) {
    this.#options = options;
  }

  moment(instrument: Instrument, stampMs: number, layers: readonly MomentLayer[] = MOMENT_LAYERS): void {
    const moment = captureMoment(instrument, stampMs, layers);
    this.#keep(this.#openKept(instrument).moments, moment);
    this.#report(() => layers.map((layer) => toMomentRow(instrument, moment, layer)));
  }

  diff(instrument: Instrument, { history }: Diff, ghost: number | null): void {
    this.#addTop(instrument, ghost, history);
  }

  snapshot(instrument: Instrument, ghost: number | null): void {
    this.#addTop(instrument, ghost, null);
  }

  trade(instrument: Instrument, trade: Trade): void {
    this.#keep(this.#openKept(instrument).trades, trade);
    this.#report(() => [toTradeRow(instrument, trade, this.#options.tradeId(trade))]);
  }

  liquidation(instrument: Instrument, trade: Trade): void {
    this.#keep(this.#openKept(instrument).liquidations, trade);
    this.#report(() => [toLiquidationRow(instrument, trade, this.#options.tradeId(trade))]);
  }

  minute(instrument: Instrument, candle: TradeCandle, stampMs: number): void {
    const find = (series: readonly PriceCandle[]): PriceCandle | undefined =>
      series.findLast(({ openMs }) => openMs === candle.openMs);
    const prices = { mark: find(instrument.candles.marks), index: find(instrument.candles.indexes) };
    const minute = { atMs: stampMs, trades: candle, prices };
    this.#keep(this.#openKept(instrument).minutes, minute);
    this.#report(() => toMinuteRows(instrument, minute));
  }

  *rows(query: TruthQuery): Iterable<TruthRow> {
    const { venue, tradeId } = this.#options;
    for (const kept of this.#kept.values()) {
      if (query.symbol !== undefined && kept.instrument.listing.symbol !== query.symbol) continue;
      for (const row of findRows(kept, query, tradeId)) yield { venue, ...row };
    }
  }

  bookAt(instrument: Instrument, { sequence, venueTs }: DiffQuery): TruthBook | null {
    const tops = this.#openKept(instrument).tops.filter((top) => top.history !== null);
    const isOfStamp = ({ atMs }: Top): boolean => venueTs === undefined || venueTs === atMs * 1_000;
    const at = tops.findLastIndex((top) => top.id === sequence && isOfStamp(top));
    if (at < 0) return null;
    const { book, listing } = instrument;
    const levels = { b: toLevelMap(book.bids), a: toLevelMap(book.asks) };
    undoChanges(levels, book.pendingChanges());
    for (const top of tops.slice(at + 1).reverse()) undoChanges(levels, top.history ?? []);
    const list = (side: Side, sign: 1 | -1): TruthBook['bids'] =>
      sortLevels(levels[side], sign)
        .slice(0, this.#options.shownLevels)
        .map(
          ([price, size]) =>
            [formatPlain(price, listing.priceDecimals), formatPlain(size, listing.qtyDecimals)] as const,
        );
    return { bids: list('b', -1), asks: list('a', 1) };
  }

  #addTop(instrument: Instrument, ghost: number | null, history: readonly Change[] | null): void {
    const { book, changedAtMs, lastId, ordinal, listing } = instrument;
    const { shownLevels, bookIds } = this.#options;
    const top: Top = {
      atMs: changedAtMs,
      id: bookIds === 'changes' ? lastId : ordinal,
      bid: book.bids.prices.at(-1) ?? 0,
      bidSize: book.bids.sizes.at(-1) ?? 0,
      ask: book.asks.prices.at(-1) ?? 0,
      askSize: book.asks.sizes.at(-1) ?? 0,
      hash: shownLevels === Number.POSITIVE_INFINITY ? book.hash() : hashShown(book, listing, shownLevels),
      ghost,
      history,
    };
    this.#keep(this.#openKept(instrument).tops, top);
    this.#report(() => [toTopRow(instrument, top)]);
  }

  #openKept(instrument: Instrument): Kept {
    const known = this.#kept.get(instrument);
    if (known !== undefined) return known;
    const fresh = { instrument, moments: [], tops: [], trades: [], liquidations: [], minutes: [] };
    this.#kept.set(instrument, fresh);
    return fresh;
  }

  #keep<T>(list: T[], item: T): void {
    const { perListing } = this.#options;
    list.push(item);
    // A tenth at a time: removing single rows would move the whole array each time.
    if (list.length > perListing * 1.1) list.splice(0, list.length - perListing);
  }

  /** Rows are made only when they are read. */
  #report(makeRows: () => readonly ListingRow[]): void {
    const { venue, onRow } = this.#options;
    if (onRow !== null) for (const row of makeRows()) onRow({ venue, ...row });
  }
}

function* findRows(kept: Kept, query: TruthQuery, tradeId: (trade: Trade) => string): Iterable<ListingRow> {
  const { instrument, moments, tops, trades, liquidations, minutes } = kept;
  const isLayer = (layer: TruthLayer): boolean => query.layer === undefined || query.layer === layer;
  const isWanted = ({ atMs }: { readonly atMs: number }): boolean =>
    (query.venueTs === undefined || query.venueTs === atMs * 1_000) &&
    (query.sinceTs === undefined || atMs * 1_000 >= query.sinceTs);
  for (const layer of MOMENT_LAYERS) {
    if (!isLayer(layer)) continue;
    for (const moment of moments)
      if (isWanted(moment) && moment.layers.includes(layer)) yield toMomentRow(instrument, moment, layer);
  }
  if (isLayer('book')) for (const top of tops) if (isWanted(top)) yield toTopRow(instrument, top);
  if (isLayer('trades'))
    for (const made of trades) if (isWanted(made)) yield toTradeRow(instrument, made, tradeId(made));
  if (isLayer('liquidations'))
    for (const made of liquidations) if (isWanted(made)) yield toLiquidationRow(instrument, made, tradeId(made));
  if (isLayer('candles')) for (const minute of minutes) if (isWanted(minute)) yield* toMinuteRows(instrument, minute);
}

/** Hash of the best levels alone; `BookModel.hash` covers all. */
function hashShown({ bids, asks }: BookModel, { priceDecimals, qtyDecimals }: SimListing, shown: number): number {
  let hash = 0;
  for (const [side, { prices, sizes }] of [['b', bids] as const, ['a', asks] as const]) {
    for (let i = Math.max(0, prices.length - shown); i < prices.length; i += 1)
      hash ^= hashElement(side, formatPlain(prices[i] ?? 0, priceDecimals), formatPlain(sizes[i] ?? 0, qtyDecimals));
  }
  return hash >>> 0;
}

function captureMoment(instrument: Instrument, atMs: number, layers: readonly MomentLayer[]): Moment {
  const { mark, index, fundingRate, fundingHours, nextFundingAtMs, openInterest, last, day } = instrument;
  const { open, volume, turnover } = day;
  const priced = { mark, index, last: last.price, open, volume, turnover };
  return { atMs, layers, fundingRate, fundingHours, nextFundingAtMs, openInterest, ...priced };
}

const toLevelMap = ({ prices, sizes }: BookModel['bids']): Map<number, number> =>
  new Map(prices.map((price, i) => [price, sizes[i] ?? 0]));

const sortLevels = (levels: ReadonlyMap<number, number>, sign: 1 | -1): readonly (readonly [number, number])[] =>
  [...levels].sort(([x], [y]) => (x - y) * sign);

function undoChanges(levels: Record<Side, Map<number, number>>, changes: readonly Change[]): void {
  for (const { side, price, before } of changes.toReversed()) {
    if (before === 0) levels[side].delete(price);
    else levels[side].set(price, before);
  }
}
