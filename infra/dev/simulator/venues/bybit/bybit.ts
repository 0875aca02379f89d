// The simulated Bybit, linear and inverse: its addresses and limits, and frames of what happens in the market.

import type { Connection } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  allLiquidation,
  bookMembers,
  changedMembers,
  deltaData,
  kline,
  makeTicker,
  orderbook,
  publicTrade,
  snapshotData,
  type Ticker,
  tickers,
  tradeId,
} from './frames.ts';
import { extraListing, listings } from './listings.ts';
import { answerRest, costOf, refuse } from './rest.ts';
import { DEPTHS, findDoor, refOf } from './session.ts';

export const bybit: SimulatedVenue = {
  id: 'bybit',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    linear_ws: { protocol: 'ws', path: '/v5/public/linear' },
    inverse_ws: { protocol: 'ws', path: '/v5/public/inverse' },
  },
  limits: {
    // 21,000 characters of topics.
    streamsPerConnection: 1_000,
    incomingPerSecond: 50,
    pingEveryMs: Number.POSITIVE_INFINITY,
    pongWithinMs: Number.POSITIVE_INFINITY,
    idleMs: 600_000,
    maxAgeMs: Number.POSITIVE_INFINITY,
    maxBufferedBytes: 16 * 1_048_576,
    // 600 requests in five seconds.
    weightPerMinute: 7_200,
  },
  listings,
  extra: extraListing,
  bookIds: 'messages',
  runsAhead: false,
  steadyFrames: () => 1,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  tradeId,
  open,
};

/** The streams of one listing, made once. */
function streamsOf({ listing }: Instrument) {
  const { scope, symbol } = listing;
  const ref = (topic: string): StreamRef => refOf(scope, `${topic}.${symbol}`, symbol);
  return {
    books: DEPTHS.map((depth) => ref(`orderbook.${depth}`)),
    tickers: ref('tickers'),
    publicTrade: ref('publicTrade'),
    allLiquidation: ref('allLiquidation'),
    kline: ref('kline.1'),
  };
}

function open(deps: VenueDeps): RunningVenue {
  const topics = createTopics(deps);
  return {
    events: topics.events,
    door: findDoor({ ...deps, greet: topics.greet }),
    cost: costOf,
    answer: (request) => answerRest(deps, request),
    refuse,
    restarted: topics.repeatBooks,
  };
}

function createTopics({ market, delivery, sockets, truth, crossings, nowMs }: VenueDeps) {
  const { emit, emitTo } = delivery;
  const known = new Map<Instrument, ReturnType<typeof streamsOf>>();
  /** What subscribers of a ticker have been told; a delta leaves it out. What a fault lost is said with the next one. */
  const told = new Map<Instrument, Ticker>();

  function refsOf(instrument: Instrument): ReturnType<typeof streamsOf> {
    const refs = known.get(instrument) ?? streamsOf(instrument);
    known.set(instrument, refs);
    return refs;
  }

  function tellTicker(instrument: Instrument, eventMs: number): void {
    const ref = refsOf(instrument).tickers;
    const before = told.get(instrument);
    if (before === undefined) return;
    if (sockets.subscribers(ref) === undefined) {
      told.delete(instrument);
      return;
    }
    const after = makeTicker(instrument);
    const members = changedMembers(before, after);
    if (members === null) return;
    const isTold = emit(ref, () => tickers(instrument, { type: 'delta', members, atMs: eventMs }));
    if (isTold) told.set(instrument, after);
  }

  /** The first message of a ticker says everything; those who listen already are told first, so that all stand alike. */
  function greetTicker(connection: Connection, ref: StreamRef, instrument: Instrument): void {
    const atMs = nowMs();
    truth.moment(instrument, atMs);
    tellTicker(instrument, atMs);
    const members = makeTicker(instrument);
    if (!told.has(instrument)) told.set(instrument, members);
    emitTo(connection, ref, tickers(instrument, { type: 'snapshot', members, atMs }));
  }

  /** The book as it stands right after its newest message. */
  function wholeBook(instrument: Instrument, topic: string): string {
    truth.snapshot(instrument, crossings.priceOf(instrument));
    const data = bookMembers(instrument, snapshotData(instrument, crossings.bids(instrument)));
    return orderbook(topic, 'snapshot', { ts: nowMs(), cts: instrument.changedAtMs, data });
  }

  const events: MarketEvents = {
    diff: (instrument, diff) => {
      let data: string | null = null;
      for (const ref of refsOf(instrument).books) {
        emit(ref, () => {
          data ??= bookMembers(instrument, deltaData(instrument, diff));
          return orderbook(ref.name, 'delta', { ts: diff.eventMs, cts: diff.transactedMs, data });
        });
      }
    },
    trade: (instrument, trade, eventMs) => {
      const refs = refsOf(instrument);
      emit(refs.publicTrade, () => publicTrade(instrument, trade, eventMs));
      emit(refs.kline, () => kline(instrument, instrument.candles.current(), { eventMs, confirm: false }));
      truth.moment(instrument, eventMs, ['ticker', 'stats']);
      tellTicker(instrument, eventMs);
    },
    liquidation: (instrument, trade, eventMs) =>
      emit(refsOf(instrument).allLiquidation, () => allLiquidation(instrument, trade, eventMs)),
    minuteClosed: (instrument, candle, eventMs) =>
      emit(refsOf(instrument).kline, () => kline(instrument, candle, { eventMs, confirm: true })),
    second: (eventMs) => {
      for (const instrument of market.instruments) if (instrument.status === 'trading') tellTicker(instrument, eventMs);
    },
  };

  return {
    events,
    greet: (connection: Connection, ref: StreamRef, instrument: Instrument): void => {
      if (ref.kind === 'tickers') greetTicker(connection, ref, instrument);
      if (ref.kind === 'orderbook') emitTo(connection, ref, wholeBook(instrument, ref.name));
    },
    /** After a restart each open book is said anew, with `u` 1. */
    repeatBooks: (): void => {
      for (const instrument of market.instruments)
        for (const ref of refsOf(instrument).books) emit(ref, () => wholeBook(instrument, ref.name));
    },
  };
}
