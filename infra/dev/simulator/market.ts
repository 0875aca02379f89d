// The seeded market of a simulated venue: every listing's index, mark, funding, interest, trades and book, driven by a given clock.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import { type BookModel, type Change, createBookModel, listNetChanges } from './book-model.ts';
import { type Candles, createCandles, type TradeCandle } from './candles.ts';
import { FINE, quantise } from './figures.ts';
import { computeAmount, type FundingHours, type ListingStatus, type SimListing } from './listings.ts';
import { computeFnv1a, createRandom, type Random } from './random.ts';
import type { Trade } from './trade.ts';

export type Instrument = {
  readonly listing: SimListing;
  readonly random: Random;
  /** Drives the index alone, seeded by the base: a coin follows the same path on every venue. */
  readonly walk: Random;
  readonly book: BookModel;
  readonly candles: Candles;
  status: ListingStatus;
  fundingHours: FundingHours;
  /** The index before rounding. */
  drift: number;
  /** In 10^-8 quote units, with as many decimals as the venue prints. */
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
  /** Diffs so far, counted from one again after a restart. */
  ordinal: number;
  /** The transaction time of the newest change. */
  changedAtMs: number;
  last: Trade;
  day: Day;
};

/** Rolling 24 hours; turnover in the listing's `decimals.turnover`, of quote (linear) or base (inverse). */
type Day = {
  open: number;
  high: number;
  low: number;
  volume: number;
  turnover: number;
  trades: number;
  firstId: number;
};
export type Diff = {
  readonly eventMs: number;
  readonly transactedMs: number;
  readonly first: number;
  readonly last: number;
  readonly previous: number;
  readonly changes: readonly Change[];
  /** Every single change with what it replaced, to restore earlier books. */
  readonly history: readonly Change[];
};

/** Events of the market for the venue, in time order. */
export type MarketEvents = {
  /** Whether the book sends a diff at its next turn, even without a change. */
  readonly mustMove?: (instrument: Instrument) => boolean;
  readonly diff: (instrument: Instrument, diff: Diff) => void;
  readonly trade: (instrument: Instrument, trade: Trade, eventMs: number) => void;
  readonly liquidation: (instrument: Instrument, trade: Trade, eventMs: number) => void;
  readonly minuteClosed: (instrument: Instrument, candle: TradeCandle, eventMs: number) => void;
  /** All listings have stepped to a whole second, or to the next one of a calm market: by the venue's clock, and the true time. */
  readonly second: (eventMs: number, atMs: number) => void;
  /** A listing's own moment of each step, for streams that the venue does not send for all listings at once. */
  readonly turn?: (instrument: Instrument, eventMs: number) => void;
};

type MarketOptions = {
  readonly seed: number;
  readonly listings: readonly SimListing[];
  readonly levels: number;
  readonly rate: number;
  readonly startMs: number;
  /** Milliseconds between steps of every listing: a second, or more for a calm market; a minute is a multiple of it. */
  readonly stepMs: number;
  /** Frames of a listing each step, besides its diffs. */
  readonly steadyFrames: (listing: SimListing) => number;
  readonly framesPerTrade: number;
  /** Whether the book also changes between two diffs, where only a snapshot shows it. */
  readonly runsAhead: boolean;
};

export type Market = {
  readonly instruments: readonly Instrument[];
  readonly find: (scope: string, symbol: string) => Instrument | undefined;
  /** The instant of the next event, which may have passed: then it waits for `advance`. */
  readonly dueMs: () => number;
  /** Runs everything due by `toMs`. */
  readonly advance: (toMs: number, events: MarketEvents) => void;
  readonly setRate: (framesPerSecond: number) => void;
  readonly add: (listing: SimListing, atMs: number) => Instrument;
  /** Every stamp from here on has this offset; the market itself keeps its time. */
  readonly setSkew: (skewMs: number) => void;
  /** All sequences begin anew, as after a restart of the venue's engine. The figures stay. */
  readonly restart: () => void;
};

const HOUR_MS = 3_600_000;
/** A longer pause of the clock is not caught up: the venue counts as having been away. */
const LONGEST_CATCH_UP_MS = 5_000;

function findNextFunding(afterMs: number, hours: number): number {
  return (Math.floor(afterMs / (hours * HOUR_MS)) + 1) * hours * HOUR_MS;
}

/** Quantity units of a typical level: about 20,000 USD. */
function computeTypicalSize(listing: SimListing): number {
  const price = listing.startPrice / 10 ** listing.priceDecimals;
  const quantity = 20_000 / (listing.contractSize ?? 1) / (listing.isInverse ? 1 : price);
  return Math.max(4, Math.round(quantity * 10 ** listing.qtyDecimals));
}

const TRADES_BEFORE_START = 50_000;

function openDay(listing: SimListing, random: Random, volume: number): Day {
  return {
    open: Math.round(listing.startPrice * (0.96 + random.next() * 0.08)),
    high: Math.round(listing.startPrice * 1.05),
    low: Math.round(listing.startPrice * 0.95),
    volume,
    turnover: computeAmount(listing, { price: listing.startPrice, qty: volume }, listing.decimals.turnover),
    trades: TRADES_BEFORE_START,
    firstId: 1_000_000 + random.below(1_000_000),
  };
}

function openInstrument(listing: SimListing, options: MarketOptions, startMs: number): Instrument {
  const seed = Math.imul(options.seed + 1, 0x9e3779b1);
  const random = createRandom(computeFnv1a(`${listing.scope} ${listing.symbol}`) ^ seed);
  const state = { lastId: startMs * 1_000 };
  const size = computeTypicalSize(listing);
  const shape = { ...listing, levels: options.levels, typicalSize: size };
  // Ids have gaps, as on venues that number all their symbols together.
  const book = createBookModel(shape, random, () => {
    state.lastId += 1 + random.below(3);
  });
  const drift = listing.startPrice * 10 ** (FINE - listing.priceDecimals);
  const index = quantise(drift, listing.decimals.mark);
  const day = openDay(listing, random, size * (20_000 + random.below(60_000)));
  const id = day.firstId + TRADES_BEFORE_START;
  const last = { id, price: listing.startPrice, qty: 1, buyerIsMaker: false, atMs: startMs, isLiquidation: false };
  return Object.assign(state, {
    listing,
    random,
    walk: createRandom(computeFnv1a(listing.base) ^ seed),
    book,
    candles: createCandles(listing, startMs),
    status: 'trading' as const,
    fundingHours: listing.fundingHours,
    drift,
    index,
    mark: index,
    fundingRate: quantise(10_000, listing.decimals.rate),
    nextFundingAtMs: findNextFunding(startMs, listing.fundingHours),
    openInterest: size * (5_000 + random.below(5_000)),
    steppedAtMs: startMs,
    firstPendingId: state.lastId,
    diffId: state.lastId,
    ordinal: 1,
    changedAtMs: startMs - 1,
    last,
    day,
  });
}

/** One second of an index's walk, the mark's premium over it, the rate that follows the premium, and the open interest. */
function stepMarket(instrument: Instrument, atMs: number): void {
  const { random, listing } = instrument;
  instrument.drift = Math.max(1, instrument.drift * (1 + instrument.walk.normal() * 2e-5));
  const premium = (instrument.mark - instrument.index) / instrument.index;
  instrument.index = quantise(instrument.drift, listing.decimals.mark);
  instrument.mark = quantise(instrument.index * (1 + premium * 0.97 + random.normal() * 1e-5), listing.decimals.mark);
  const rate = instrument.fundingRate * 0.999 + 10 + premium * 1e5 + random.normal() * 20;
  instrument.fundingRate = quantise(rate, listing.decimals.rate);
  instrument.openInterest = Math.max(1, Math.round(instrument.openInterest * (1 + random.normal() * 1e-5)));
  if (atMs >= instrument.nextFundingAtMs) instrument.nextFundingAtMs = findNextFunding(atMs, instrument.fundingHours);
}

function makeTrade(instrument: Instrument, { atMs, isLiquidation }: Pick<Trade, 'atMs' | 'isLiquidation'>): Trade {
  const { random, book, day, listing } = instrument;
  const buyerIsMaker = random.chance(0.5);
  const side = buyerIsMaker ? book.bids : book.asks;
  const price = side.prices.at(-1) ?? instrument.last.price;
  const qty = 1 + random.below(Math.max(1, Math.floor((side.sizes.at(-1) ?? 2) / 2)));
  const made = { id: instrument.last.id + 1, price, qty, buyerIsMaker, atMs, isLiquidation };
  instrument.last = made;
  day.high = Math.max(day.high, price);
  day.low = Math.min(day.low, price);
  day.volume += qty;
  day.turnover += computeAmount(listing, made, listing.decimals.turnover);
  day.trades += 1;
  instrument.candles.trade(made);
  return made;
}

/** A minute's trades have its stamps: none is before the minute's start. */
function drawStamp(instrument: Instrument, slotMs: number, skewMs: number): number {
  const earliest = Math.max(slotMs - 1 - instrument.random.below(4), slotMs - (slotMs % 60_000));
  return Math.max(instrument.changedAtMs + 1, earliest + skewMs);
}

/** The book follows the index. */
function makeDiff(instrument: Instrument, slotMs: number, skewMs: number): Diff | null {
  const { random, book, listing } = instrument;
  const mid = instrument.index / 10 ** (FINE - listing.priceDecimals);
  if (book.pendingChanges().length === 0) instrument.firstPendingId = instrument.lastId + 1;
  book.follow(mid, 2 + random.below(4));
  const history = book.takeChanges();
  const transactedMs = drawStamp(instrument, slotMs, skewMs);
  instrument.changedAtMs = transactedMs;
  if (history.length === 0) return null;
  const previous = instrument.diffId;
  instrument.diffId = instrument.lastId;
  instrument.ordinal += 1;
  return {
    eventMs: Math.max(slotMs + skewMs, transactedMs),
    transactedMs,
    first: instrument.firstPendingId,
    last: instrument.lastId,
    previous,
    changes: listNetChanges(history),
    history,
  };
}

/** Part of the next diff occurs right after this one, so a snapshot may fall between two diffs. */
function runAhead(instrument: Instrument, eventMs: number): void {
  const { random, book, listing } = instrument;
  if (!random.chance(0.6)) return;
  instrument.firstPendingId = instrument.lastId + 1;
  book.follow(instrument.index / 10 ** (FINE - listing.priceDecimals), 1 + random.below(2));
  instrument.changedAtMs = Math.max(instrument.changedAtMs + 1, eventMs);
}

/** Far below every earlier id, and another range after each restart. */
function restartIds(instrument: Instrument, restarts: number): void {
  const first = restarts * 1_000_000_000 + instrument.random.below(1_000_000);
  instrument.diffId = first;
  instrument.firstPendingId = first + 1;
  instrument.lastId = first + instrument.book.pendingChanges().length;
  instrument.ordinal = 1;
}

/** Diffs a listing and slot, and the slot's length: 100 ms, shorter only when the rate asks for more than ten a second. */
type Pace = { readonly chance: number; readonly slotMs: number };

const TRADES_PER_DIFF = 0.3;
/** Only one in this many minutes of a quiet listing has trades. */
const QUIET_EVERY_MINUTES = 3;

function mayTrade({ listing }: Instrument, atMs: number): boolean {
  return !listing.isQuiet || Math.floor(atMs / MS_PER_MINUTE) % QUIET_EVERY_MINUTES === 0;
}

export const createMarket = (options: MarketOptions): Market => new SeededMarket(options);

class SeededMarket implements Market {
  readonly instruments: Instrument[];
  readonly #options: MarketOptions;
  #rate: number;
  #pace: Pace;
  #nextSecondMs: number;
  #slotStartMs: number;
  /** The listing of the slot whose diff is next. */
  #cursor = 0;
  /** The listing of the step whose own moment is next. */
  #turn: number;
  #skewMs = 0;
  #restarts = 0;

  constructor(options: MarketOptions) {
    const { listings, startMs, stepMs, rate } = options;
    this.#options = options;
    this.instruments = listings.map((listing) => openInstrument(listing, options, startMs));
    this.#rate = rate;
    this.#pace = this.#computePace();
    this.#nextSecondMs = (Math.floor(startMs / stepMs) + 1) * stepMs;
    this.#slotStartMs = Math.floor(startMs / 100) * 100 + 100;
    this.#turn = Math.ceil(((startMs % stepMs) / stepMs) * this.instruments.length);
  }

  find(scope: string, symbol: string): Instrument | undefined {
    return this.instruments.find(({ listing }) => listing.scope === scope && listing.symbol === symbol);
  }

  setRate(framesPerSecond: number): void {
    this.#rate = framesPerSecond;
    this.#pace = this.#computePace();
  }

  add(listing: SimListing, atMs: number): Instrument {
    const instrument = openInstrument(listing, this.#options, atMs);
    this.instruments.push(instrument);
    this.#pace = this.#computePace();
    return instrument;
  }

  setSkew(ms: number): void {
    if (ms === this.#skewMs) return;
    // Stamps follow the clock at once, also backwards.
    for (const instrument of this.instruments) instrument.changedAtMs += ms - this.#skewMs;
    this.#skewMs = ms;
  }

  restart(): void {
    this.#restarts += 1;
    for (const instrument of this.instruments) restartIds(instrument, this.#restarts);
  }

  dueMs(): number {
    const diffAtMs = Math.floor(this.#slotStartMs + (this.#cursor * this.#pace.slotMs) / this.instruments.length);
    return Math.min(this.#nextSecondMs, this.#computeTurn(), diffAtMs);
  }

  advance(toMs: number, events: MarketEvents): void {
    if (toMs - this.#nextSecondMs > LONGEST_CATCH_UP_MS + this.#options.stepMs) this.#skipTo(toMs);
    for (let dueMs = this.dueMs(); dueMs <= toMs; dueMs = this.dueMs()) {
      if (dueMs === this.#nextSecondMs) this.#stepAll(events);
      else if (dueMs === this.#computeTurn()) this.#takeTurn(dueMs, events);
      else this.#moveNext(dueMs, events);
    }
  }

  #skipTo(toMs: number): void {
    this.#nextSecondMs = Math.floor(toMs / this.#options.stepMs) * this.#options.stepMs;
    this.#slotStartMs = this.#nextSecondMs;
    this.#cursor = 0;
    this.#turn = 0;
  }

  #computePace(): Pace {
    const { steadyFrames, framesPerTrade, stepMs } = this.#options;
    const count = this.instruments.length;
    const steady = (1_000 / stepMs) * this.instruments.reduce((sum, { listing }) => sum + steadyFrames(listing), 0);
    const diffs = Math.max((count * 200) / stepMs, (this.#rate - steady) / (1 + TRADES_PER_DIFF * framesPerTrade));
    const slotMs = 100 / Math.ceil(diffs / (10 * count));
    return { chance: (diffs * slotMs) / 1_000 / count, slotMs };
  }

  /** When the next listing's moment of the current step is due. */
  #computeTurn(): number {
    const [{ stepMs }, { length }] = [this.#options, this.instruments];
    if (this.#turn >= length) return Number.POSITIVE_INFINITY;
    return Math.floor(this.#nextSecondMs - stepMs + (stepMs * (this.#turn + 0.5)) / length);
  }

  #stepAll(events: MarketEvents): void {
    const atMs = this.#nextSecondMs;
    const eventMs = atMs + this.#skewMs;
    for (const instrument of this.instruments) {
      if (instrument.status !== 'trading') continue;
      stepMarket(instrument, atMs);
      instrument.steppedAtMs = eventMs;
      const closed = instrument.candles.second(atMs, instrument.mark, instrument.index);
      if (closed !== null) events.minuteClosed(instrument, closed, eventMs);
    }
    events.second(eventMs, atMs);
    this.#nextSecondMs += this.#options.stepMs;
    this.#turn = 0;
  }

  #takeTurn(atMs: number, events: MarketEvents): void {
    const instrument = this.instruments[this.#turn];
    if (instrument?.status === 'trading') events.turn?.(instrument, atMs + this.#skewMs);
    this.#turn += 1;
  }

  #moveNext(atMs: number, events: MarketEvents): void {
    const instrument = this.instruments[this.#cursor];
    if (instrument !== undefined) this.#moveBook(instrument, atMs, events);
    this.#cursor = (this.#cursor + 1) % this.instruments.length;
    if (this.#cursor === 0) this.#slotStartMs += this.#pace.slotMs;
  }

  #moveBook(instrument: Instrument, atMs: number, events: MarketEvents): void {
    if (instrument.status !== 'trading') return;
    if (!instrument.random.chance(this.#pace.chance) && events.mustMove?.(instrument) !== true) return;
    const diff = makeDiff(instrument, atMs, this.#skewMs);
    if (diff === null) return;
    events.diff(instrument, diff);
    const isLiquidation = instrument.random.chance(0.002);
    if ((isLiquidation || instrument.random.chance(TRADES_PER_DIFF)) && mayTrade(instrument, atMs)) {
      const made = makeTrade(instrument, { atMs: diff.transactedMs, isLiquidation });
      events.trade(instrument, made, diff.eventMs);
      if (isLiquidation) events.liquidation(instrument, made, diff.eventMs);
    }
    if (this.#options.runsAhead) runAhead(instrument, diff.eventMs);
  }
}
