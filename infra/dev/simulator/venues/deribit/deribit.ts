// The simulated Deribit, inverse and linear perpetuals: its addresses and limits, and notifications of what happens in the market.

import type { Connection } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { createRecentTrades, type RecentTrades } from '../../recent-trades.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import { bookChange, candle, notification, perpetual, priceIndex, ticker, trade, wholeBook } from './frames.ts';
import { extraListing, listings } from './listings.ts';
import { answerRest, costOf, refuse, WEIGHT_PER_MINUTE } from './rest.ts';
import { findDoor, type Kind, refOf } from './session.ts';

export const deribit: SimulatedVenue = {
  id: 'deribit',
  endpoints: {
    rest: { protocol: 'http', path: '/api/v2' },
    ws: { protocol: 'ws', path: '/ws/api/v2' },
  },
  limits: {
    streamsPerConnection: 500,
    // 10,000 credits a second, 500 a request.
    incomingPerSecond: 20,
    pingEveryMs: Number.POSITIVE_INFINITY,
    pongWithinMs: Number.POSITIVE_INFINITY,
    idleMs: Number.POSITIVE_INFINITY,
    maxAgeMs: Number.POSITIVE_INFINITY,
    maxBufferedBytes: 16 * 1_048_576,
    weightPerMinute: WEIGHT_PER_MINUTE,
  },
  listings,
  extra: extraListing,
  bookIds: 'changes',
  runsAhead: false,
  // The ticker.
  steadyFrames: () => 1,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  open,
};

/** Trades that one answer repeats. */
const LAST_TRADES = 10;

function open(deps: VenueDeps): RunningVenue {
  const recent = createRecentTrades(LAST_TRADES);
  const channels = createChannels({ ...deps, recent });
  return {
    events: channels.events,
    door: findDoor({ ...deps, recent, greet: channels.greet }),
    cost: costOf,
    answer: (request) => answerRest({ ...deps, recent }, request),
    refuse,
    restarted: channels.beginBooksAnew,
  };
}

/** The streams of one listing, made once. */
const streamsOf = (instrument: Instrument): Readonly<Record<Kind, StreamRef>> => ({
  ticker: refOf('ticker', instrument),
  book: refOf('book', instrument),
  trades: refOf('trades', instrument),
  perpetual: refOf('perpetual', instrument),
  chart: refOf('chart', instrument),
  deribit_price_index: refOf('deribit_price_index', instrument),
});

type Deps = VenueDeps & { readonly recent: RecentTrades };

function createChannels({ market, delivery, truth, crossings, recent, nowMs }: Deps) {
  const known = new Map<Instrument, ReturnType<typeof streamsOf>>();

  function tell(kind: Kind, instrument: Instrument, data: () => string): void {
    const refs = known.get(instrument) ?? streamsOf(instrument);
    known.set(instrument, refs);
    delivery.emit(refs[kind], () => notification(refs[kind].name, data()));
  }

  const events: MarketEvents = {
    diff: (instrument, diff) => tell('book', instrument, () => bookChange(instrument, diff)),
    trade: (instrument, made, eventMs) => {
      recent.add(instrument, made);
      tell('trades', instrument, () => `[${trade(instrument, made)}]`);
      tell('chart', instrument, () => candle(instrument, instrument.candles.current()));
      truth.moment(instrument, eventMs);
      tell('ticker', instrument, () => ticker(instrument, eventMs));
    },
    // A mark of the trade.
    liquidation: () => undefined,
    // One without trades too, at the last price and without volume.
    minuteClosed: (instrument, closed) => tell('chart', instrument, () => candle(instrument, closed)),
    second: (eventMs) => {
      for (const instrument of market.instruments) {
        if (instrument.status !== 'trading') continue;
        tell('ticker', instrument, () => ticker(instrument, eventMs));
        tell('perpetual', instrument, () => perpetual(instrument, eventMs));
        tell('deribit_price_index', instrument, () => priceIndex(instrument, eventMs));
      }
    },
  };

  function wholeBookText(instrument: Instrument): string {
    truth.snapshot(instrument, crossings.priceOf(instrument));
    return wholeBook(instrument, crossings.bids(instrument));
  }

  /** What a new subscriber is told first. */
  const FIRST: Readonly<Record<string, (instrument: Instrument, atMs: number) => string>> = {
    book: wholeBookText,
    ticker,
    perpetual,
    deribit_price_index: priceIndex,
  };

  return {
    events,
    greet: (connection: Connection, ref: StreamRef, instrument: Instrument): void => {
      const first = FIRST[ref.kind];
      if (first === undefined) return;
      const atMs = nowMs();
      if (ref.kind !== 'book') truth.moment(instrument, atMs);
      delivery.emitTo(connection, ref, notification(ref.name, first(instrument, atMs)));
    },
    /** After a restart whoever listens is told each book whole, under its new ids. */
    beginBooksAnew: (): void => {
      for (const instrument of market.instruments)
        if (instrument.status === 'trading') tell('book', instrument, () => wholeBookText(instrument));
    },
  };
}
