// The simulated OKX, linear and inverse swaps: its addresses and limits, and frames of market events.
import type { PriceCandle } from '../../candles.ts';
import { type Connection, UNLIMITED } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { rememberStreams } from '../../stream-refs.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import { Books } from './books.ts';
import {
  formatFrame,
  formatFundingRate,
  formatIndexTicker,
  formatLiquidation,
  formatMarkPrice,
  formatPriceCandle,
  formatTicker,
  formatTrade,
  formatTradeCandle,
  openInterest,
} from './frames.ts';
import { makeExtraListing, makeListings, toIndex } from './listings.ts';
import { answerRest, computeCost, refuse, WEIGHT_PER_MINUTE } from './rest.ts';
import { findDoor, listFollowers, toIndexRef, toStreamRef } from './session.ts';

/** Seconds between two messages of a channel without its own event. */
const OI_EVERY = 3;
/** Each listing at its own second. */
const FUNDING_EVERY = 60;

export const okx: SimulatedVenue = {
  id: 'okx',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    public_ws: { protocol: 'ws', path: '/ws/v5/public' },
    business_ws: { protocol: 'ws', path: '/ws/v5/business' },
  },
  limits: {
    // Messages it sends keep a connection alive as well: its session checks that.
    ...UNLIMITED,
    streamsPerConnection: Number.POSITIVE_INFINITY,
    incomingPerSecond: 50,
    weightPerMinute: WEIGHT_PER_MINUTE,
  },
  listings: makeListings,
  extra: makeExtraListing,
  bookIds: 'changes',
  runsAhead: false,
  // Ticker, mark and index each second, and the minutes of both prices.
  steadyFrames: () => 5 + 1 / OI_EVERY + 1 / FUNDING_EVERY,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  open,
};

/** The streams of one listing. */
function nameStreams({ listing }: Instrument) {
  const ref = (channel: string): StreamRef => toStreamRef(channel, listing.symbol, listing.symbol);
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
  const channels = new Channels(deps);
  return {
    events: channels.events,
    door: findDoor({ ...deps, greet: (...subscription) => channels.greet(...subscription) }),
    cost: computeCost,
    answer: (request) => answerRest(deps, request),
    refuse,
    restarted: () => channels.sendNewSequences(),
  };
}

const findCandle = (series: readonly PriceCandle[], openMs: number): PriceCandle | undefined =>
  series.findLast((candle) => candle.openMs === openMs);

/** The first element that a channel sends to a new subscriber. */
const FIRST: Readonly<Record<string, (instrument: Instrument, atMs: number) => string>> = {
  tickers: formatTicker,
  'mark-price': formatMarkPrice,
  'index-tickers': formatIndexTicker,
  'funding-rate': formatFundingRate,
  'open-interest': openInterest,
};

class Channels {
  readonly #deps: VenueDeps;
  readonly #streams = rememberStreams(nameStreams);
  readonly #books: Books;

  constructor(deps: VenueDeps) {
    this.#deps = deps;
    this.#books = new Books(deps, (instrument) => this.#streams(instrument).books);
  }

  readonly events: MarketEvents = {
    diff: (instrument, diff) => this.#books.change(instrument, diff),
    trade: (instrument, trade, eventMs) => {
      const streams = this.#streams(instrument);
      this.#send(streams.trades, instrument, () => formatTrade(instrument, trade));
      this.#send(streams.candle, instrument, () =>
        formatTradeCandle(instrument, instrument.candles.current(), 'running'),
      );
      this.#deps.truth.moment(instrument, eventMs, ['ticker', 'stats']);
      this.#send(streams.tickers, instrument, () => formatTicker(instrument, eventMs));
    },
    liquidation: (instrument, trade) => {
      const all = toStreamRef('liquidation-orders', 'SWAP', null);
      // One stream carries all swaps: those silenced by a fault are missing from it.
      if (this.#deps.isSilenced({ ...all, symbol: instrument.listing.symbol })) return;
      this.#deps.delivery.emit(all, () =>
        formatFrame('liquidation-orders', 'SWAP', formatLiquidation(instrument, trade)),
      );
    },
    minuteClosed: (instrument, candle) => {
      const streams = this.#streams(instrument);
      const mark = findCandle(instrument.candles.marks, candle.openMs);
      this.#send(streams.candle, instrument, () => formatTradeCandle(instrument, candle, 'closed'));
      if (mark !== undefined)
        this.#send(streams.markCandle, instrument, () => formatPriceCandle(instrument, mark, 'closed'));
      this.#closeIndex(instrument, candle.openMs);
    },
    second: (eventMs) => {
      for (const [order, instrument] of this.#deps.market.instruments.entries())
        if (instrument.status === 'trading') this.#sendSecond(instrument, order, eventMs);
      this.#sendIndexes(eventMs);
    },
  };

  greet(connection: Connection, ref: StreamRef, instruments: readonly Instrument[]): void {
    const { delivery, truth, nowMs } = this.#deps;
    const [first] = instruments;
    if (first === undefined) return;
    if (ref.kind === 'books') delivery.emitTo(connection, ref, this.#books.makeWhole(first));
    const element = FIRST[ref.kind];
    if (element === undefined) return;
    const atMs = nowMs();
    for (const instrument of instruments) truth.moment(instrument, atMs);
    const subject = ref.name.slice(ref.kind.length + 1);
    delivery.emitTo(connection, ref, formatFrame(ref.kind, subject, element(first, atMs)));
  }

  /** After a restart each open book sends the first id of its new sequence after the last of its old one. */
  sendNewSequences(): void {
    for (const instrument of this.#deps.market.instruments)
      if (instrument.status === 'trading') this.#books.sendSequence(instrument);
  }

  /** An element of one listing, in the frame of its channel. */
  #send(ref: StreamRef, { listing }: Instrument, element: () => string): void {
    this.#deps.delivery.emit(ref, () => formatFrame(ref.kind, listing.symbol, element()));
  }

  #sendSecond(instrument: Instrument, order: number, eventMs: number): void {
    const streams = this.#streams(instrument);
    const second = Math.floor(eventMs / 1_000);
    this.#send(streams.tickers, instrument, () => formatTicker(instrument, eventMs));
    this.#send(streams.mark, instrument, () => formatMarkPrice(instrument, eventMs));
    if (second % OI_EVERY === 0) this.#send(streams.oi, instrument, () => openInterest(instrument, eventMs));
    if ((second + order) % FUNDING_EVERY === 0)
      this.#send(streams.funding, instrument, () => formatFundingRate(instrument, eventMs));
    const candle = instrument.candles.marks.at(-1);
    if (candle !== undefined)
      this.#send(streams.markCandle, instrument, () => formatPriceCandle(instrument, candle, 'running'));
    this.#books.passSecond(instrument);
  }

  /** Indexes, each once for all its listings. */
  *#indexes(): Iterable<readonly [string, readonly Instrument[], Instrument]> {
    const { market } = this.#deps;
    for (const index of new Set(market.instruments.map(({ listing }) => toIndex(listing)))) {
      const followers = listFollowers(market, index);
      const [first] = followers;
      if (first !== undefined) yield [index, followers, first];
    }
  }

  #sendIndexes(eventMs: number): void {
    const { delivery } = this.#deps;
    for (const [index, followers, first] of this.#indexes()) {
      delivery.emit(toIndexRef('index-tickers', index, followers), () =>
        formatFrame('index-tickers', index, formatIndexTicker(first, eventMs)),
      );
      const candle = first.candles.indexes.at(-1);
      if (candle === undefined) continue;
      delivery.emit(toIndexRef('index-candle1m', index, followers), () =>
        formatFrame('index-candle1m', index, formatPriceCandle(first, candle, 'running')),
      );
    }
  }

  #closeIndex(instrument: Instrument, openMs: number): void {
    const index = toIndex(instrument.listing);
    const followers = listFollowers(this.#deps.market, index);
    const candle = findCandle(instrument.candles.indexes, openMs);
    if (followers[0] !== instrument || candle === undefined) return;
    this.#deps.delivery.emit(toIndexRef('index-candle1m', index, followers), () =>
      formatFrame('index-candle1m', index, formatPriceCandle(instrument, candle, 'closed')),
    );
  }
}
