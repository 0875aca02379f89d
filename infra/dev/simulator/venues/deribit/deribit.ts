// The simulated Deribit, inverse and linear perpetuals: its addresses and limits, and notifications of market events.
import { type Connection, UNLIMITED } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { createRecentTrades, type RecentTrades } from '../../recent-trades.ts';
import { rememberStreams } from '../../stream-refs.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  formatBookChange,
  formatCandle,
  formatNotification,
  formatPerpetual,
  formatPriceIndex,
  formatTicker,
  formatTrade,
  formatWholeBook,
} from './frames.ts';
import { makeExtraListing, makeListings } from './listings.ts';
import { answerRest, computeCost, refuse, WEIGHT_PER_MINUTE } from './rest.ts';
import { findDoor, type Kind, toStreamRef } from './session.ts';

export const deribit: SimulatedVenue = {
  id: 'deribit',
  endpoints: {
    rest: { protocol: 'http', path: '/api/v2' },
    ws: { protocol: 'ws', path: '/ws/api/v2' },
  },
  limits: {
    ...UNLIMITED,
    streamsPerConnection: 500,
    // 10,000 credits a second, 500 a request.
    incomingPerSecond: 20,
    weightPerMinute: WEIGHT_PER_MINUTE,
  },
  listings: makeListings,
  extra: makeExtraListing,
  bookIds: 'changes',
  runsAhead: false,
  // The ticker.
  steadyFrames: () => 1,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  open,
};

/** Trades in one response. */
const LAST_TRADES = 10;

function open(deps: VenueDeps): RunningVenue {
  const recent = createRecentTrades(LAST_TRADES);
  const channels = new Channels(deps, recent);
  return {
    events: channels.events,
    door: findDoor({ ...deps, recent, greet: (...subscription) => channels.greet(...subscription) }),
    cost: computeCost,
    answer: (request) => answerRest({ ...deps, recent }, request),
    refuse,
    restarted: () => channels.beginBooksAnew(),
  };
}

/** The streams of one listing. */
const nameStreams = (instrument: Instrument): Readonly<Record<Kind, StreamRef>> => ({
  ticker: toStreamRef('ticker', instrument),
  book: toStreamRef('book', instrument),
  trades: toStreamRef('trades', instrument),
  perpetual: toStreamRef('perpetual', instrument),
  chart: toStreamRef('chart', instrument),
  deribit_price_index: toStreamRef('deribit_price_index', instrument),
});

class Channels {
  readonly #deps: VenueDeps;
  readonly #recent: RecentTrades;
  readonly #streams = rememberStreams(nameStreams);

  constructor(deps: VenueDeps, recent: RecentTrades) {
    this.#deps = deps;
    this.#recent = recent;
  }

  readonly events: MarketEvents = {
    diff: (instrument, diff) => this.#notify('book', instrument, () => formatBookChange(instrument, diff)),
    trade: (instrument, made, eventMs) => {
      this.#recent.add(instrument, made);
      this.#notify('trades', instrument, () => `[${formatTrade(instrument, made)}]`);
      this.#notify('chart', instrument, () => formatCandle(instrument, instrument.candles.current()));
      this.#deps.truth.moment(instrument, eventMs);
      this.#notify('ticker', instrument, () => formatTicker(instrument, eventMs));
    },
    // Only marked on its trade.
    liquidation: () => undefined,
    // A minute without trades too, at the last price and without volume.
    minuteClosed: (instrument, closed) => this.#notify('chart', instrument, () => formatCandle(instrument, closed)),
    second: (eventMs) => {
      for (const instrument of this.#deps.market.instruments) {
        if (instrument.status !== 'trading') continue;
        this.#notify('ticker', instrument, () => formatTicker(instrument, eventMs));
        this.#notify('perpetual', instrument, () => formatPerpetual(instrument, eventMs));
        this.#notify('deribit_price_index', instrument, () => formatPriceIndex(instrument, eventMs));
      }
    },
  };

  greet(connection: Connection, ref: StreamRef, instrument: Instrument): void {
    const { delivery, truth, nowMs } = this.#deps;
    if (ref.kind === 'book') {
      delivery.emitTo(connection, ref, formatNotification(ref.name, this.#makeWholeBook(instrument)));
      return;
    }
    const first = FIRST[ref.kind];
    if (first === undefined) return;
    const atMs = nowMs();
    truth.moment(instrument, atMs);
    delivery.emitTo(connection, ref, formatNotification(ref.name, first(instrument, atMs)));
  }

  /** After a restart every subscriber gets each book whole, with its new ids. */
  beginBooksAnew(): void {
    for (const instrument of this.#deps.market.instruments)
      if (instrument.status === 'trading') this.#notify('book', instrument, () => this.#makeWholeBook(instrument));
  }

  #notify(kind: Kind, instrument: Instrument, data: () => string): void {
    const ref = this.#streams(instrument)[kind];
    this.#deps.delivery.emit(ref, () => formatNotification(ref.name, data()));
  }

  #makeWholeBook(instrument: Instrument): string {
    const { truth, crossings } = this.#deps;
    truth.snapshot(instrument, crossings.priceOf(instrument));
    return formatWholeBook(instrument, crossings.bids(instrument));
  }
}

/** The first data of a channel for a new subscriber; a book sends all its levels. */
const FIRST: Readonly<Record<string, (instrument: Instrument, atMs: number) => string>> = {
  ticker: formatTicker,
  perpetual: formatPerpetual,
  deribit_price_index: formatPriceIndex,
};
