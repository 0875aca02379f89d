// The simulated Hyperliquid, its own perpetuals and a builder's: its addresses and limits, and frames of what happens in the market.

import type { Connection } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { createRecentTrades, type RecentTrades } from '../../recent-trades.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import { book, candle, coinContext, frame, LEVELS, trade } from './frames.ts';
import { extraListing, listings } from './listings.ts';
import { answerRest, costOf, refuse } from './rest.ts';
import { findDoor, refOf } from './session.ts';

export const hyperliquid: SimulatedVenue = {
  id: 'hyperliquid',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    ws: { protocol: 'ws', path: '/ws' },
  },
  limits: {
    streamsPerConnection: 1_000,
    // 2,000 messages a minute.
    incomingPerSecond: 2_000,
    pingEveryMs: Number.POSITIVE_INFINITY,
    pongWithinMs: Number.POSITIVE_INFINITY,
    // What it sends counts, not what it hears: its session looks after that.
    idleMs: Number.POSITIVE_INFINITY,
    maxAgeMs: Number.POSITIVE_INFINITY,
    maxBufferedBytes: 16 * 1_048_576,
    weightPerMinute: 1_200,
  },
  listings,
  extra: extraListing,
  bookIds: 'messages',
  runsAhead: false,
  shownLevels: LEVELS,
  // The context.
  steadyFrames: () => 1,
  // The trade and its minute.
  framesPerTrade: 2,
  open,
};

/** Trades that a new subscriber is told again. */
const BACKFILL = 10;

function open(deps: VenueDeps): RunningVenue {
  const recent = createRecentTrades(BACKFILL);
  const channels = createChannels({ ...deps, recent });
  return {
    events: channels.events,
    door: findDoor({ ...deps, greet: channels.greet }),
    cost: costOf,
    answer: (request) => answerRest({ ...deps, recent }, request),
    refuse,
  };
}

/** The streams of one listing, made once. */
function streamsOf({ listing }: Instrument) {
  const ref = (kind: string): StreamRef => refOf(kind, listing.symbol);
  return { book: ref('l2Book'), context: ref('activeAssetCtx'), trades: ref('trades'), candle: ref('candle') };
}

type Deps = VenueDeps & { readonly recent: RecentTrades };

function createChannels({ market, delivery, truth, crossings, recent, nowMs }: Deps) {
  const { emit, emitTo } = delivery;
  const known = new Map<Instrument, ReturnType<typeof streamsOf>>();
  /** Books that were said since the last second. */
  const said = new Set<Instrument>();

  function refsOf(instrument: Instrument): ReturnType<typeof streamsOf> {
    const refs = known.get(instrument) ?? streamsOf(instrument);
    known.set(instrument, refs);
    return refs;
  }

  const bookFrame = (instrument: Instrument): string => frame('l2Book', book(instrument, crossings.bids(instrument)));

  /** The same book once more, with nothing new. */
  function repeatedBook(instrument: Instrument): string {
    truth.snapshot(instrument, crossings.priceOf(instrument));
    return bookFrame(instrument);
  }

  const tellCandle = (instrument: Instrument, text: () => string): boolean =>
    emit(refsOf(instrument).candle, () => frame('candle', text()));

  const events: MarketEvents = {
    diff: (instrument) => {
      said.add(instrument);
      emit(refsOf(instrument).book, () => bookFrame(instrument));
    },
    trade: (instrument, made) => {
      recent.add(instrument, made);
      emit(refsOf(instrument).trades, () => frame('trades', `[${trade(instrument, made)}]`));
      tellCandle(instrument, () => candle(instrument, instrument.candles.current()));
    },
    // Not public.
    liquidation: () => undefined,
    // A minute without trades is not said.
    minuteClosed: (instrument, closed) => {
      if (closed.ticks > 0) tellCandle(instrument, () => candle(instrument, closed));
    },
    second: () => {
      for (const instrument of market.instruments) {
        if (instrument.status !== 'trading') continue;
        const refs = refsOf(instrument);
        emit(refs.context, () => frame('activeAssetCtx', coinContext(instrument)));
        if (!said.has(instrument)) emit(refs.book, () => repeatedBook(instrument));
      }
      said.clear();
    },
  };

  /** What a new subscriber is told first. Of trades the past: none of it is new. */
  const FIRST: Readonly<Record<string, (instrument: Instrument) => string>> = {
    l2Book: repeatedBook,
    activeAssetCtx: (instrument) => {
      truth.moment(instrument, nowMs());
      return frame('activeAssetCtx', coinContext(instrument));
    },
    trades: (instrument) => {
      const past = recent.of(instrument).map((made) => trade(instrument, made));
      return frame('trades', `[${past.join(',')}]`);
    },
  };

  return {
    events,
    greet: (connection: Connection, ref: StreamRef, instrument: Instrument): void => {
      const first = FIRST[ref.kind];
      if (first !== undefined && instrument.status === 'trading') emitTo(connection, ref, first(instrument));
    },
  };
}
