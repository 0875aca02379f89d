// The simulated OKX, linear and inverse swaps: its addresses and limits, and frames of what happens in the market.
import type { PriceCandle } from '../../candles.ts';
import type { Connection } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  bookFrame,
  bookUpdate,
  emptyUpdate,
  frame,
  fundingRate,
  indexTicker,
  liquidation,
  markPrice,
  openInterest,
  priceCandle,
  ticker,
  tradeCandle,
  tradeElement,
  wholeBook,
} from './frames.ts';
import { extraListing, indexOf, listings } from './listings.ts';
import { answerRest, costOf, refuse, WEIGHT_PER_MINUTE } from './rest.ts';
import { findDoor, followersOf, indexRef, refOf } from './session.ts';

/** Seconds between two pushes of a channel that has no event of its own. */
const OI_EVERY = 3;
/** Each listing in its own second. */
const FUNDING_EVERY = 60;
/** A book without a change for so many seconds says that it stands. */
const QUIET_AFTER = 5;

export const okx: SimulatedVenue = {
  id: 'okx',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    public_ws: { protocol: 'ws', path: '/ws/v5/public' },
    business_ws: { protocol: 'ws', path: '/ws/v5/business' },
  },
  limits: {
    streamsPerConnection: Number.POSITIVE_INFINITY,
    incomingPerSecond: 50,
    pingEveryMs: Number.POSITIVE_INFINITY,
    pongWithinMs: Number.POSITIVE_INFINITY,
    // What it pushes keeps a connection alive as well: its session looks after that.
    idleMs: Number.POSITIVE_INFINITY,
    maxAgeMs: Number.POSITIVE_INFINITY,
    maxBufferedBytes: 16 * 1_048_576,
    weightPerMinute: WEIGHT_PER_MINUTE,
  },
  listings,
  extra: extraListing,
  bookIds: 'changes',
  runsAhead: false,
  // Ticker, mark and index each second, and the minutes of both prices.
  steadyFrames: () => 5 + 1 / OI_EVERY + 1 / FUNDING_EVERY,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  open,
};

/** The streams of one listing, made once. */
function streamsOf({ listing }: Instrument) {
  const ref = (channel: string): StreamRef => refOf(channel, listing.symbol, listing.symbol);
  return {
    tickers: ref('tickers'),
    mark: ref('mark-price'),
    funding: ref('funding-rate'),
    oi: ref('open-interest'),
    books: ref('books'),
    trades: ref('trades'),
    candle: ref('candle1m'),
    markCandle: ref('mark-price-candle1m'),
  };
}

function open(deps: VenueDeps): RunningVenue {
  const channels = createChannels(deps);
  return {
    events: channels.events,
    door: findDoor({ ...deps, greet: channels.greet }),
    cost: costOf,
    answer: (request) => answerRest(deps, request),
    refuse,
    restarted: channels.sayNewSequences,
  };
}

const startsAt = (series: readonly PriceCandle[], openMs: number): PriceCandle | undefined =>
  series.findLast((candle) => candle.openMs === openMs);

function createChannels({ market, delivery, truth, crossings, isSilenced, nowMs }: VenueDeps) {
  const { emit, emitTo } = delivery;
  const known = new Map<Instrument, ReturnType<typeof streamsOf>>();
  /** The newest id said of each book. */
  const said = new Map<Instrument, number>();
  /** Seconds since each book's last message. */
  const quiet = new Map<Instrument, number>();

  function refsOf(instrument: Instrument): ReturnType<typeof streamsOf> {
    const refs = known.get(instrument) ?? streamsOf(instrument);
    known.set(instrument, refs);
    return refs;
  }

  /** An element of one listing, in the frame of its channel. */
  const tell = (ref: StreamRef, { listing }: Instrument, element: () => string): boolean =>
    emit(ref, () => frame(ref.kind, listing.symbol, element()));

  // ---- books ----

  /** The book as it stands right after its newest message. */
  function wholeBookFrame(instrument: Instrument): string {
    truth.snapshot(instrument, crossings.priceOf(instrument));
    said.set(instrument, instrument.diffId);
    return bookFrame(instrument.listing.symbol, 'snapshot', wholeBook(instrument, crossings.bids(instrument)));
  }

  /** No level changes: the sequence stands at its id, or at another since it began anew. */
  function tellSequence(instrument: Instrument): void {
    const previous = said.get(instrument) ?? instrument.diffId;
    said.set(instrument, instrument.diffId);
    quiet.set(instrument, 0);
    emit(refsOf(instrument).books, () => {
      truth.snapshot(instrument, crossings.priceOf(instrument));
      return bookFrame(instrument.listing.symbol, 'update', emptyUpdate(instrument, previous));
    });
  }

  function lookForQuiet(instrument: Instrument): void {
    const seconds = (quiet.get(instrument) ?? 0) + 1;
    quiet.set(instrument, seconds);
    if (seconds >= QUIET_AFTER) tellSequence(instrument);
  }

  // ---- indexes: said once for all listings that follow one ----

  function* indexes(): Iterable<readonly [string, readonly Instrument[], Instrument]> {
    for (const index of new Set(market.instruments.map(({ listing }) => indexOf(listing)))) {
      const followers = followersOf(market, index);
      const [first] = followers;
      if (first !== undefined) yield [index, followers, first];
    }
  }

  function tellIndexes(eventMs: number): void {
    for (const [index, followers, first] of indexes()) {
      emit(indexRef('index-tickers', index, followers), () =>
        frame('index-tickers', index, indexTicker(first, eventMs)),
      );
      const candle = first.candles.indexes.at(-1);
      if (candle === undefined) continue;
      emit(indexRef('index-candle1m', index, followers), () =>
        frame('index-candle1m', index, priceCandle(first, candle, false)),
      );
    }
  }

  function closeIndex(instrument: Instrument, openMs: number): void {
    const index = indexOf(instrument.listing);
    const followers = followersOf(market, index);
    const candle = startsAt(instrument.candles.indexes, openMs);
    if (followers[0] !== instrument || candle === undefined) return;
    emit(indexRef('index-candle1m', index, followers), () =>
      frame('index-candle1m', index, priceCandle(instrument, candle, true)),
    );
  }

  // ---- events ----

  function tellSecond(instrument: Instrument, order: number, eventMs: number): void {
    const refs = refsOf(instrument);
    const second = Math.floor(eventMs / 1_000);
    tell(refs.tickers, instrument, () => ticker(instrument, eventMs));
    tell(refs.mark, instrument, () => markPrice(instrument, eventMs));
    if (second % OI_EVERY === 0) tell(refs.oi, instrument, () => openInterest(instrument, eventMs));
    if ((second + order) % FUNDING_EVERY === 0) tell(refs.funding, instrument, () => fundingRate(instrument, eventMs));
    const candle = instrument.candles.marks.at(-1);
    if (candle !== undefined) tell(refs.markCandle, instrument, () => priceCandle(instrument, candle, false));
    lookForQuiet(instrument);
  }

  const events: MarketEvents = {
    diff: (instrument, diff) => {
      said.set(instrument, diff.last);
      quiet.set(instrument, 0);
      emit(refsOf(instrument).books, () =>
        bookFrame(instrument.listing.symbol, 'update', bookUpdate(instrument, diff)),
      );
    },
    trade: (instrument, trade, eventMs) => {
      const refs = refsOf(instrument);
      tell(refs.trades, instrument, () => tradeElement(instrument, trade));
      tell(refs.candle, instrument, () => tradeCandle(instrument, instrument.candles.current(), false));
      truth.moment(instrument, eventMs, ['ticker', 'stats']);
      tell(refs.tickers, instrument, () => ticker(instrument, eventMs));
    },
    liquidation: (instrument, trade) => {
      const all = refOf('liquidation-orders', 'SWAP', null);
      // One stream carries all swaps: those that a fault silences are missing from it.
      if (isSilenced({ ...all, symbol: instrument.listing.symbol })) return;
      emit(all, () => frame('liquidation-orders', 'SWAP', liquidation(instrument, trade)));
    },
    minuteClosed: (instrument, candle) => {
      const refs = refsOf(instrument);
      const marks = startsAt(instrument.candles.marks, candle.openMs);
      tell(refs.candle, instrument, () => tradeCandle(instrument, candle, true));
      if (marks !== undefined) tell(refs.markCandle, instrument, () => priceCandle(instrument, marks, true));
      closeIndex(instrument, candle.openMs);
    },
    second: (eventMs) => {
      for (const [order, instrument] of market.instruments.entries())
        if (instrument.status === 'trading') tellSecond(instrument, order, eventMs);
      tellIndexes(eventMs);
    },
  };

  // ---- what a new subscriber is told first ----

  const FIRST: Readonly<Record<string, (instrument: Instrument, atMs: number) => string>> = {
    tickers: ticker,
    'mark-price': markPrice,
    'index-tickers': indexTicker,
    'funding-rate': fundingRate,
    'open-interest': openInterest,
  };

  return {
    events,
    greet: (connection: Connection, ref: StreamRef, instruments: readonly Instrument[]): void => {
      const [first] = instruments;
      if (first === undefined) return;
      if (ref.kind === 'books') emitTo(connection, ref, wholeBookFrame(first));
      const element = FIRST[ref.kind];
      if (element === undefined) return;
      const atMs = nowMs();
      for (const instrument of instruments) truth.moment(instrument, atMs);
      const subject = ref.name.slice(ref.kind.length + 1);
      emitTo(connection, ref, frame(ref.kind, subject, element(first, atMs)));
    },
    /** After a restart each open book says the first id of its new sequence behind the last of its old one. */
    sayNewSequences: (): void => {
      for (const instrument of market.instruments) if (instrument.status === 'trading') tellSequence(instrument);
    },
  };
}
