// The simulated Bybit, linear and inverse: its addresses and limits, and frames of market events.
import { type Connection, UNLIMITED } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { rememberStreams } from '../../stream-refs.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  formatAllLiquidation,
  formatBookMembers,
  formatKline,
  formatOrderbook,
  formatPublicTrade,
  formatTickers,
  formatTradeId,
  makeDeltaData,
  makeSnapshotData,
  makeTicker,
  pickChanged,
  type Ticker,
} from './frames.ts';
import { makeExtraListing, makeListings } from './listings.ts';
import { answerRest, computeCost, refuse } from './rest.ts';
import { DEPTHS, findDoor, toStreamRef } from './session.ts';

export const bybit: SimulatedVenue = {
  id: 'bybit',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    linear_ws: { protocol: 'ws', path: '/v5/public/linear' },
    inverse_ws: { protocol: 'ws', path: '/v5/public/inverse' },
  },
  limits: {
    ...UNLIMITED,
    // 21,000 characters of topics.
    streamsPerConnection: 1_000,
    incomingPerSecond: 50,
    idleMs: 600_000,
    // 600 requests in five seconds.
    weightPerMinute: 7_200,
  },
  listings: makeListings,
  extra: makeExtraListing,
  bookIds: 'messages',
  runsAhead: false,
  steadyFrames: () => 1,
  // The trade, its minute, the ticker.
  framesPerTrade: 3,
  tradeId: formatTradeId,
  open,
};

/** The streams of one listing. */
function nameStreams({ listing }: Instrument) {
  const { scope, symbol } = listing;
  const ref = (topic: string): StreamRef => toStreamRef(scope, `${topic}.${symbol}`, symbol);
  return {
    books: DEPTHS.map((depth) => ref(`orderbook.${depth}`)),
    tickers: ref('tickers'),
    publicTrade: ref('publicTrade'),
    allLiquidation: ref('allLiquidation'),
    kline: ref('kline.1'),
  };
}

function open(deps: VenueDeps): RunningVenue {
  const topics = new Topics(deps);
  return {
    events: topics.events,
    door: findDoor({ ...deps, greet: (...subscription) => topics.greet(...subscription) }),
    cost: computeCost,
    answer: (request) => answerRest(deps, request),
    refuse,
    restarted: () => topics.repeatBooks(),
  };
}

class Topics {
  readonly #deps: VenueDeps;
  readonly #streams = rememberStreams(nameStreams);
  /** The members that subscribers of a ticker have received; a delta omits them. Members lost by a fault are sent with the next delta. */
  readonly #sent = new Map<Instrument, Ticker>();

  constructor(deps: VenueDeps) {
    this.#deps = deps;
  }

  readonly events: MarketEvents = {
    diff: (instrument, diff) => {
      let data: string | null = null;
      for (const ref of this.#streams(instrument).books) {
        this.#deps.delivery.emit(ref, () => {
          data ??= formatBookMembers(instrument, makeDeltaData(instrument, diff));
          return formatOrderbook(ref.name, 'delta', { ts: diff.eventMs, cts: diff.transactedMs, data });
        });
      }
    },
    trade: (instrument, trade, eventMs) => {
      const { delivery, truth } = this.#deps;
      const streams = this.#streams(instrument);
      delivery.emit(streams.publicTrade, () => formatPublicTrade(instrument, trade, eventMs));
      delivery.emit(streams.kline, () =>
        formatKline(instrument, instrument.candles.current(), { eventMs, confirm: false }),
      );
      truth.moment(instrument, eventMs, ['ticker', 'stats']);
      this.#sendTicker(instrument, eventMs);
    },
    liquidation: (instrument, trade, eventMs) =>
      this.#deps.delivery.emit(this.#streams(instrument).allLiquidation, () =>
        formatAllLiquidation(instrument, trade, eventMs),
      ),
    minuteClosed: (instrument, candle, eventMs) =>
      this.#deps.delivery.emit(this.#streams(instrument).kline, () =>
        formatKline(instrument, candle, { eventMs, confirm: true }),
      ),
    second: (eventMs) => {
      for (const instrument of this.#deps.market.instruments)
        if (instrument.status === 'trading') this.#sendTicker(instrument, eventMs);
    },
  };

  greet(connection: Connection, ref: StreamRef, instrument: Instrument): void {
    if (ref.kind === 'tickers') this.#greetTicker(connection, ref, instrument);
    if (ref.kind === 'orderbook')
      this.#deps.delivery.emitTo(connection, ref, this.#makeWholeBook(instrument, ref.name));
  }

  /** After a restart each open book is sent anew, with `u` 1. */
  repeatBooks(): void {
    const { market, delivery } = this.#deps;
    for (const instrument of market.instruments)
      for (const ref of this.#streams(instrument).books)
        delivery.emit(ref, () => this.#makeWholeBook(instrument, ref.name));
  }

  #sendTicker(instrument: Instrument, eventMs: number): void {
    const { delivery, sockets } = this.#deps;
    const ref = this.#streams(instrument).tickers;
    const before = this.#sent.get(instrument);
    if (before === undefined) return;
    if (sockets.subscribers(ref) === undefined) {
      this.#sent.delete(instrument);
      return;
    }
    const after = makeTicker(instrument);
    const members = pickChanged(before, after);
    if (members === null) return;
    const isSent = delivery.emit(ref, () => formatTickers(instrument, { type: 'delta', members, atMs: eventMs }));
    if (isSent) this.#sent.set(instrument, after);
  }

  /** The first message of a ticker has every member; earlier subscribers get their delta before it, so that all have the same state. */
  #greetTicker(connection: Connection, ref: StreamRef, instrument: Instrument): void {
    const { delivery, truth, nowMs } = this.#deps;
    const atMs = nowMs();
    truth.moment(instrument, atMs);
    this.#sendTicker(instrument, atMs);
    const members = makeTicker(instrument);
    if (!this.#sent.has(instrument)) this.#sent.set(instrument, members);
    delivery.emitTo(connection, ref, formatTickers(instrument, { type: 'snapshot', members, atMs }));
  }

  /** The book right after its newest message. */
  #makeWholeBook(instrument: Instrument, topic: string): string {
    const { truth, crossings, nowMs } = this.#deps;
    truth.snapshot(instrument, crossings.priceOf(instrument));
    const data = formatBookMembers(instrument, makeSnapshotData(instrument, crossings.bids(instrument)));
    return formatOrderbook(topic, 'snapshot', { ts: nowMs(), cts: instrument.changedAtMs, data });
  }
}
