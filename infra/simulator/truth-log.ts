// What was true at each stamp the venue gave out: figures by second, books by update id, so that served values can be compared.
import type { Change, Side } from './book-model.ts';
import { plain } from './figures.ts';
import { type Diff, FINE, type Instrument } from './market.ts';

export const TRUTH_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'book', 'stats'] as const;
export type TruthLayer = (typeof TRUTH_LAYERS)[number];

/** Figures are canonical digits (N-05 rule 1); `venue_ts` is microseconds, the stamp of the message that carries them. */
export type TruthRow = {
  readonly venue: 'binance';
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
  readonly second: (instrument: Instrument, eventMs: number) => void;
  readonly diff: (instrument: Instrument, diff: Diff, ghost: number | null) => void;
  /** The book as a REST snapshot gave it, possibly between two diffs. */
  readonly snapshot: (instrument: Instrument, ghost: number | null) => void;
  readonly rows: (query: TruthQuery) => Iterable<TruthRow>;
  /** The whole book right after the diff with this `u`, by undoing the later changes; null when no longer kept. */
  readonly bookAt: (instrument: Instrument, updateId: number) => TruthBook | null;
};

type Second = {
  readonly atMs: number;
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
type Kept = { readonly instrument: Instrument; readonly seconds: Second[]; readonly tops: Top[] };

function trim(list: unknown[], limit: number): void {
  // A tenth at a time: shifting one by one would move the whole array each time.
  if (list.length > limit * 1.1) list.splice(0, list.length - limit);
}

function topOf({ book, changedAtMs, lastId }: Instrument, ghost: number | null): Omit<Top, 'history'> {
  return {
    atMs: changedAtMs,
    id: lastId,
    bid: book.bids.prices.at(-1) ?? 0,
    bidSize: book.bids.sizes.at(-1) ?? 0,
    ask: book.asks.prices.at(-1) ?? 0,
    askSize: book.asks.sizes.at(-1) ?? 0,
    hash: book.hash(),
    ghost,
  };
}

function bookRow({ listing }: Instrument, top: Top): TruthRow {
  const price = (units: number): string => plain(units, listing.priceDecimals);
  const size = (units: number): string => plain(units, listing.qtyDecimals);
  const values = {
    bid: price(top.bid),
    bid_size: size(top.bidSize),
    ask: price(top.ask),
    ask_size: size(top.askSize),
    update_id: top.id,
    book_hash: top.hash,
    crossed: top.ghost !== null,
    source: top.history === null ? 'snapshot' : 'diff',
  };
  return { venue: 'binance', symbol: listing.symbol, layer: 'book', venue_ts: top.atMs * 1_000, values };
}

const SECOND_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats'] as const;

function secondRow({ listing }: Instrument, second: Second, layer: (typeof SECOND_LAYERS)[number]): TruthRow {
  const price = (units: number): string => plain(units, listing.priceDecimals);
  const size = (units: number): string => plain(units, listing.qtyDecimals);
  const values = {
    ticker: () => ({ last: price(second.last) }),
    mark: () => ({ mark: plain(second.mark, FINE), index: plain(second.index, FINE) }),
    funding: () => ({
      funding: plain(second.fundingRate, FINE),
      funding_interval_ms: second.fundingHours * 3_600_000,
      next_funding_at: second.nextFundingAtMs * 1_000,
    }),
    oi: () => ({ oi: size(second.openInterest) }),
    stats: () => ({
      volume_24h: size(second.volume),
      turnover_24h: plain(second.turnover, listing.contractSize === null ? 2 : FINE),
      change_percent: (((second.last - second.open) * 100) / second.open).toFixed(3),
    }),
  };
  return { venue: 'binance', symbol: listing.symbol, layer, venue_ts: second.atMs * 1_000, values: values[layer]() };
}

function undo(levels: Record<Side, Map<number, number>>, changes: readonly Change[]): void {
  for (const { side, price, before } of changes.toReversed()) {
    if (before === 0) levels[side].delete(price);
    else levels[side].set(price, before);
  }
}

export function createTruthLog(options: {
  readonly perListing: number;
  readonly onRow: ((row: TruthRow) => void) | null;
}): TruthLog {
  const kept = new Map<Instrument, Kept>();
  const { perListing, onRow } = options;

  function of(instrument: Instrument): Kept {
    const known = kept.get(instrument);
    if (known !== undefined) return known;
    const fresh = { instrument, seconds: [], tops: [] };
    kept.set(instrument, fresh);
    return fresh;
  }

  function addTop(instrument: Instrument, top: Top): void {
    const { tops } = of(instrument);
    tops.push(top);
    trim(tops, perListing);
    onRow?.(bookRow(instrument, top));
  }

  function* rowsOf({ instrument, seconds, tops }: Kept, query: TruthQuery): Iterable<TruthRow> {
    const wanted = (ms: number): boolean =>
      (query.venueTs === undefined || query.venueTs === ms * 1_000) &&
      (query.sinceTs === undefined || ms * 1_000 >= query.sinceTs);
    for (const layer of SECOND_LAYERS) {
      if (query.layer !== undefined && query.layer !== layer) continue;
      for (const second of seconds) if (wanted(second.atMs)) yield secondRow(instrument, second, layer);
    }
    if (query.layer !== undefined && query.layer !== 'book') return;
    for (const top of tops) if (wanted(top.atMs)) yield bookRow(instrument, top);
  }

  return {
    second: (instrument, eventMs) => {
      const { mark, index, fundingRate, fundingHours, nextFundingAtMs, openInterest, last, day } = instrument;
      const { open, volume, turnover } = day;
      const second = {
        atMs: eventMs,
        mark,
        index,
        fundingRate,
        fundingHours,
        nextFundingAtMs,
        openInterest,
        last: last.price,
        open,
        volume,
        turnover,
      };
      const { seconds } = of(instrument);
      seconds.push(second);
      trim(seconds, perListing);
      if (onRow !== null) for (const layer of SECOND_LAYERS) onRow(secondRow(instrument, second, layer));
    },
    diff: (instrument, diff, ghost) => addTop(instrument, { ...topOf(instrument, ghost), history: diff.history }),
    snapshot: (instrument, ghost) => addTop(instrument, { ...topOf(instrument, ghost), history: null }),
    rows: function* (query) {
      for (const one of kept.values()) {
        if (query.symbol === undefined || one.instrument.listing.symbol === query.symbol) yield* rowsOf(one, query);
      }
    },
    bookAt: (instrument, updateId) => {
      const tops = of(instrument).tops.filter((top) => top.history !== null);
      const at = tops.findIndex((top) => top.id === updateId);
      if (at < 0) return null;
      const { book, listing } = instrument;
      const mapOf = (side: 'bids' | 'asks'): Map<number, number> =>
        new Map(book[side].prices.map((p, i) => [p, book[side].sizes[i] ?? 0]));
      const levels = { b: mapOf('bids'), a: mapOf('asks') };
      undo(levels, book.pendingChanges());
      for (const top of tops.slice(at + 1).reverse()) undo(levels, top.history ?? []);
      const listed = (side: Side, sign: 1 | -1): TruthBook['bids'] =>
        [...levels[side]]
          .sort(([x], [y]) => (x - y) * sign)
          .map(([price, size]) => [plain(price, listing.priceDecimals), plain(size, listing.qtyDecimals)] as const);
      return { bids: listed('b', -1), asks: listed('a', 1) };
    },
  };
}
