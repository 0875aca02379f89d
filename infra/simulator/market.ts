// The seeded market behind the simulated venue: every listing's index, mark, funding, interest, trades and book, moved by a given clock.
import { type BookModel, type Change, createBookModel, netChanges } from './book-model.ts';
import { type Candles, createCandles, type TradeCandle } from './candles.ts';
import {
  extraListing,
  type ListingStatus,
  type Market as MarketName,
  type SimListing,
  simulatedListings,
} from './listings.ts';
import { createRandom, fnv1a, type Random } from './random.ts';

/** Decimals of index, mark and funding rate: Binance prints eight. */
export const FINE = 8;

export type Instrument = {
  readonly listing: SimListing;
  readonly random: Random;
  readonly book: BookModel;
  readonly candles: Candles;
  status: ListingStatus;
  fundingHours: 1 | 4 | 8;
  /** In 10^-8 quote units. */
  index: number;
  mark: number;
  /** In 10^-8. */
  fundingRate: number;
  nextFundingAtMs: number;
  /** In quantity units. */
  openInterest: number;
  /** Stamp of the values above: the last whole second. */
  steppedAtMs: number;
  /** Id of the newest change, of the first change after the last diff, and of the last diff. */
  lastId: number;
  firstPendingId: number;
  diffId: number;
  /** The transaction time of the newest change. */
  changedAtMs: number;
  last: Trade;
  day: Day;
};

/** Rolling 24 hours; turnover in cents of quote (USD-M) or 10^-8 of base (COIN-M). */
export type Day = {
  open: number;
  high: number;
  low: number;
  volume: number;
  turnover: number;
  trades: number;
  firstId: number;
};
export type Trade = {
  readonly id: number;
  readonly price: number;
  readonly qty: number;
  readonly buyerIsMaker: boolean;
  readonly atMs: number;
};
export type Diff = {
  readonly eventMs: number;
  readonly transactedMs: number;
  readonly first: number;
  readonly last: number;
  readonly previous: number;
  readonly changes: readonly Change[];
  /** Every single change with what it replaced: to walk the book back in time. */
  readonly history: readonly Change[];
};

/** What the market tells the venue, in time order. */
export type MarketEvents = {
  readonly diff: (instrument: Instrument, diff: Diff) => void;
  readonly trade: (instrument: Instrument, trade: Trade, eventMs: number) => void;
  readonly liquidation: (instrument: Instrument, trade: Trade, eventMs: number) => void;
  readonly minuteClosed: (instrument: Instrument, candle: TradeCandle, eventMs: number) => void;
  /** All listings have stepped to this whole second. */
  readonly second: (eventMs: number) => void;
};

export type MarketOptions = {
  readonly seed: number;
  readonly listings: number;
  readonly levels: number;
  readonly rate: number;
  readonly startMs: number;
};

export type Market = {
  readonly instruments: readonly Instrument[];
  readonly find: (market: MarketName, symbol: string) => Instrument | undefined;
  /** Lets everything due by `toMs` happen. */
  readonly advance: (toMs: number, events: MarketEvents) => void;
  readonly setRate: (framesPerSecond: number) => void;
  readonly add: (atMs: number) => Instrument;
};

const HOUR_MS = 3_600_000;
/** A gap of the clock longer than this is not caught up: the venue was simply away. */
const LONGEST_CATCH_UP_MS = 5_000;

function nextFunding(afterMs: number, hours: number): number {
  return (Math.floor(afterMs / (hours * HOUR_MS)) + 1) * hours * HOUR_MS;
}

/** Quantity units of a typical level: about 20,000 USD. */
function typicalSize(listing: SimListing): number {
  const price = listing.startPrice / 10 ** listing.priceDecimals;
  const quantity = listing.contractSize === null ? 20_000 / price : 20_000 / listing.contractSize;
  return Math.max(4, Math.round(quantity * 10 ** listing.qtyDecimals));
}

/** Turnover of one trade, in the units of `Day.turnover`. */
export function turnoverOf(listing: SimListing, price: number, qty: number): number {
  if (listing.contractSize !== null)
    return Math.round((qty * listing.contractSize * 1e8 * 10 ** listing.priceDecimals) / price);
  return Math.round((price * qty) / 10 ** (listing.priceDecimals + listing.qtyDecimals - 2));
}

function openInstrument(listing: SimListing, options: MarketOptions, startMs: number): Instrument {
  const random = createRandom(fnv1a(listing.symbol) ^ Math.imul(options.seed + 1, 0x9e3779b1));
  const state = { lastId: startMs * 1_000 };
  const size = typicalSize(listing);
  const shape = { ...listing, levels: options.levels, typicalSize: size };
  // Ids jump like the venue's, which counts all its symbols together.
  const book = createBookModel(shape, random, () => {
    state.lastId += 1 + random.below(3);
  });
  const index = listing.startPrice * 10 ** (FINE - listing.priceDecimals);
  const volume = size * (20_000 + random.below(60_000));
  const firstId = 1_000_000 + random.below(1_000_000);
  const last = { id: firstId + 50_000, price: listing.startPrice, qty: 1, buyerIsMaker: false, atMs: startMs };
  return Object.assign(state, {
    listing,
    random,
    book,
    candles: createCandles(listing, startMs),
    status: 'TRADING' as const,
    fundingHours: listing.fundingHours,
    index,
    mark: index,
    fundingRate: 10_000,
    nextFundingAtMs: nextFunding(startMs, listing.fundingHours),
    openInterest: size * (5_000 + random.below(5_000)),
    steppedAtMs: startMs,
    firstPendingId: state.lastId,
    diffId: state.lastId,
    changedAtMs: startMs - 1,
    last,
    day: {
      open: Math.round(listing.startPrice * (0.96 + random.next() * 0.08)),
      high: Math.round(listing.startPrice * 1.05),
      low: Math.round(listing.startPrice * 0.95),
      volume,
      turnover: turnoverOf(listing, listing.startPrice, volume),
      trades: 50_000,
      firstId,
    },
  });
}

/** One second of an index's walk, the mark's premium over it, the rate that follows the premium, and the open interest. */
function step(instrument: Instrument, eventMs: number): void {
  const { random } = instrument;
  instrument.index = Math.max(1, Math.round(instrument.index * (1 + random.normal() * 2e-5)));
  const premium = (instrument.mark - instrument.index) / instrument.index;
  instrument.mark = Math.round(instrument.index * (1 + premium * 0.97 + random.normal() * 1e-5));
  instrument.fundingRate = Math.round(instrument.fundingRate * 0.999 + 10 + premium * 1e5 + random.normal() * 20);
  instrument.openInterest = Math.max(1, Math.round(instrument.openInterest * (1 + random.normal() * 1e-5)));
  if (eventMs >= instrument.nextFundingAtMs) instrument.nextFundingAtMs = nextFunding(eventMs, instrument.fundingHours);
  instrument.steppedAtMs = eventMs;
}

function trade(instrument: Instrument, atMs: number): Trade {
  const { random, book, day, listing } = instrument;
  const buyerIsMaker = random.chance(0.5);
  const side = buyerIsMaker ? book.bids : book.asks;
  const price = side.prices.at(-1) ?? instrument.last.price;
  const qty = 1 + random.below(Math.max(1, Math.floor((side.sizes.at(-1) ?? 2) / 2)));
  const made = { id: instrument.last.id + 1, price, qty, buyerIsMaker, atMs };
  instrument.last = made;
  day.high = Math.max(day.high, price);
  day.low = Math.min(day.low, price);
  day.volume += qty;
  day.turnover += turnoverOf(listing, price, qty);
  day.trades += 1;
  instrument.candles.trade(made);
  return made;
}

/** The book follows the index; part of the next diff happens right after this one, so a REST snapshot may fall between two diffs. */
function makeDiff(instrument: Instrument, slotMs: number): Diff | null {
  const { random, book, listing } = instrument;
  const mid = instrument.index / 10 ** (FINE - listing.priceDecimals);
  const before = instrument.lastId;
  if (book.pendingChanges().length === 0) instrument.firstPendingId = before + 1;
  book.follow(mid, 2 + random.below(4));
  const history = book.takeChanges();
  const transactedMs = Math.max(instrument.changedAtMs + 1, slotMs - 1 - random.below(4));
  const eventMs = Math.max(slotMs, transactedMs);
  instrument.changedAtMs = transactedMs;
  if (history.length === 0) return null;
  const previous = instrument.diffId;
  instrument.diffId = instrument.lastId;
  return {
    eventMs,
    transactedMs,
    first: instrument.firstPendingId,
    last: instrument.lastId,
    previous,
    changes: netChanges(history),
    history,
  };
}

function runAhead(instrument: Instrument, eventMs: number): void {
  const { random, book, listing } = instrument;
  if (!random.chance(0.6)) return;
  instrument.firstPendingId = instrument.lastId + 1;
  book.follow(instrument.index / 10 ** (FINE - listing.priceDecimals), 1 + random.below(2));
  instrument.changedAtMs = Math.max(instrument.changedAtMs + 1, eventMs);
}

export function createMarket(options: MarketOptions): Market {
  const instruments = simulatedListings(options.listings).map((listing) =>
    openInstrument(listing, options, options.startMs),
  );
  let rate = options.rate;
  let nextSecondMs = (Math.floor(options.startMs / 1_000) + 1) * 1_000;
  let slotStartMs = Math.floor(options.startMs / 100) * 100 + 100;
  let cursor = 0;
  let extra = 1_000;

  /** Diffs a listing and slot, and the slot's length: 100 ms, shorter only when the rate asks for more than ten a second. */
  function pace(): { readonly chance: number; readonly slotMs: number } {
    const count = instruments.length;
    const fixed = instruments.reduce((sum, i) => sum + (i.listing.market === 'coinm' ? 2 : 1), 0);
    const diffs = Math.max(count * 0.2, rate - fixed);
    const slotMs = 100 / Math.ceil(diffs / (10 * count));
    return { chance: (diffs * slotMs) / 1_000 / count, slotMs };
  }
  let { chance, slotMs } = pace();

  function moveBook(instrument: Instrument, atMs: number, events: MarketEvents): void {
    if (instrument.status !== 'TRADING' || !instrument.random.chance(chance)) return;
    const diff = makeDiff(instrument, atMs);
    if (diff === null) return;
    events.diff(instrument, diff);
    const isLiquidation = instrument.random.chance(0.002);
    if (isLiquidation || instrument.random.chance(0.3)) {
      const made = trade(instrument, diff.transactedMs);
      events.trade(instrument, made, diff.eventMs);
      if (isLiquidation) events.liquidation(instrument, made, diff.eventMs);
    }
    runAhead(instrument, diff.eventMs);
  }

  function stepAll(eventMs: number, events: MarketEvents): void {
    for (const instrument of instruments) {
      if (instrument.status !== 'TRADING') continue;
      step(instrument, eventMs);
      const closed = instrument.candles.second(eventMs, instrument.mark, instrument.index);
      if (closed !== null) events.minuteClosed(instrument, closed, eventMs);
    }
    events.second(eventMs);
  }

  return {
    instruments,
    find: (market, symbol) => instruments.find((i) => i.listing.market === market && i.listing.symbol === symbol),
    setRate: (framesPerSecond) => {
      rate = framesPerSecond;
      ({ chance, slotMs } = pace());
    },
    add: (atMs) => {
      const instrument = openInstrument({ ...extraListing(extra), onboardedAtMs: atMs }, options, atMs);
      extra += 1;
      instruments.push(instrument);
      ({ chance, slotMs } = pace());
      return instrument;
    },
    advance: (toMs, events) => {
      if (toMs - nextSecondMs > LONGEST_CATCH_UP_MS) {
        nextSecondMs = Math.floor(toMs / 1_000) * 1_000;
        slotStartMs = nextSecondMs;
        cursor = 0;
      }
      for (;;) {
        const diffAtMs = Math.floor(slotStartMs + (cursor * slotMs) / instruments.length);
        if (Math.min(nextSecondMs, diffAtMs) > toMs) return;
        if (nextSecondMs <= diffAtMs) {
          stepAll(nextSecondMs, events);
          nextSecondMs += 1_000;
          continue;
        }
        const instrument = instruments[cursor];
        if (instrument !== undefined) moveBook(instrument, diffAtMs, events);
        cursor += 1;
        if (cursor >= instruments.length) {
          cursor = 0;
          slotStartMs += slotMs;
        }
      }
    },
  };
}
