// The simulated Hyperliquid, its own perpetuals and a builder's: its addresses and limits, and frames of market events.
import { type Connection, UNLIMITED } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { createRecentTrades, type RecentTrades } from '../../recent-trades.ts';
import { rememberStreams } from '../../stream-refs.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import { formatBook, formatCandle, formatCoinContext, formatFrame, formatTrade, LEVELS } from './frames.ts';
import { makeExtraListing, makeListings } from './listings.ts';
import { answerRest, computeCost, refuse } from './rest.ts';
import { findDoor, toStreamRef } from './session.ts';

export const hyperliquid: SimulatedVenue = {
  id: 'hyperliquid',
  endpoints: {
    rest: { protocol: 'http', path: '' },
    ws: { protocol: 'ws', path: '/ws' },
  },
  limits: {
    // The timeout depends on what the venue sends, not on what it receives: its session checks that.
    ...UNLIMITED,
    streamsPerConnection: 1_000,
    // 2,000 messages a minute.
    incomingPerSecond: 2_000,
    weightPerMinute: 1_200,
  },
  listings: makeListings,
  extra: makeExtraListing,
  bookIds: 'messages',
  runsAhead: false,
  shownLevels: LEVELS,
  // The context.
  steadyFrames: () => 1,
  // The trade and its minute.
  framesPerTrade: 2,
  open,
};

/** Trades repeated to a new subscriber. */
const BACKFILL = 10;

function open(deps: VenueDeps): RunningVenue {
  const recent = createRecentTrades(BACKFILL);
  const channels = new Channels(deps, recent);
  return {
    events: channels.events,
    door: findDoor({ ...deps, greet: (...subscription) => channels.greet(...subscription) }),
    cost: computeCost,
    answer: (request) => answerRest({ ...deps, recent }, request),
    refuse,
  };
}

/** The streams of one listing. */
function nameStreams({ listing }: Instrument) {
  const ref = (kind: string): StreamRef => toStreamRef(kind, listing.symbol);
  return { book: ref('l2Book'), context: ref('activeAssetCtx'), trades: ref('trades'), candle: ref('candle') };
}

class Channels {
  readonly #deps: VenueDeps;
  readonly #recent: RecentTrades;
  readonly #streams = rememberStreams(nameStreams);
  /** Books sent since the last second. */
  readonly #sent = new Set<Instrument>();

  constructor(deps: VenueDeps, recent: RecentTrades) {
    this.#deps = deps;
    this.#recent = recent;
  }

  readonly events: MarketEvents = {
    diff: (instrument) => {
      this.#sent.add(instrument);
      this.#emit(this.#streams(instrument).book, () => this.#makeBook(instrument));
    },
    trade: (instrument, made) => {
      const streams = this.#streams(instrument);
      this.#recent.add(instrument, made);
      this.#emit(streams.trades, () => formatFrame('trades', `[${formatTrade(instrument, made)}]`));
      this.#emit(streams.candle, () => formatFrame('candle', formatCandle(instrument, instrument.candles.current())));
    },
    // Not public.
    liquidation: () => undefined,
    // A minute without trades has no message.
    minuteClosed: (instrument, closed) => {
      if (closed.ticks > 0)
        this.#emit(this.#streams(instrument).candle, () => formatFrame('candle', formatCandle(instrument, closed)));
    },
    second: () => {
      for (const instrument of this.#deps.market.instruments) {
        if (instrument.status !== 'trading') continue;
        const streams = this.#streams(instrument);
        this.#emit(streams.context, () => formatFrame('activeAssetCtx', formatCoinContext(instrument)));
        if (!this.#sent.has(instrument)) this.#emit(streams.book, () => this.#repeatBook(instrument));
      }
      this.#sent.clear();
    },
  };

  greet(connection: Connection, ref: StreamRef, instrument: Instrument): void {
    const text = instrument.status === 'trading' ? this.#makeFirst(ref.kind, instrument) : null;
    if (text !== null) this.#deps.delivery.emitTo(connection, ref, text);
  }

  /** The first message to a new subscriber. For trades these are past ones, none of them new. */
  #makeFirst(kind: string, instrument: Instrument): string | null {
    switch (kind) {
      case 'l2Book':
        return this.#repeatBook(instrument);
      case 'activeAssetCtx':
        this.#deps.truth.moment(instrument, this.#deps.nowMs());
        return formatFrame('activeAssetCtx', formatCoinContext(instrument));
      case 'trades': {
        const past = this.#recent.of(instrument).map((made) => formatTrade(instrument, made));
        return formatFrame('trades', `[${past.join(',')}]`);
      }
      default:
        return null;
    }
  }

  #emit(ref: StreamRef, build: () => string): void {
    this.#deps.delivery.emit(ref, build);
  }

  #makeBook(instrument: Instrument): string {
    return formatFrame('l2Book', formatBook(instrument, this.#deps.crossings.bids(instrument)));
  }

  /** The same book again, unchanged. */
  #repeatBook(instrument: Instrument): string {
    const { truth, crossings } = this.#deps;
    truth.snapshot(instrument, crossings.priceOf(instrument));
    return this.#makeBook(instrument);
  }
}
