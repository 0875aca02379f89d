// The simulated Binance, USD-M and COIN-M: its addresses and limits, and frames of market events.
import { UNLIMITED } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import { rememberStreams } from '../../stream-refs.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  formatAggTrade,
  formatBookTicker,
  formatCombined,
  formatDayTicker,
  formatDeliveryMark,
  formatDepthUpdate,
  formatForceOrder,
  formatIndexUpdate,
  formatKline,
  formatMarkPriceUpdate,
  formatSingleTrade,
} from './frames.ts';
import { type Market as MarketName, makeExtraListing, makeListings } from './listings.ts';
import { answerRest, computeCost, DELIVERY, refuse } from './rest.ts';
import { COMBINED, findDoor, toStreamRef } from './session.ts';

export const binance: SimulatedVenue = {
  id: 'binance',
  endpoints: {
    usdm_rest: { protocol: 'http', path: '' },
    usdm_public_ws: { protocol: 'ws', path: '/public/ws' },
    usdm_market_ws: { protocol: 'ws', path: '/market/ws' },
    coinm_rest: { protocol: 'http', path: '' },
    coinm_ws: { protocol: 'ws', path: '/coinm/ws' },
  },
  limits: {
    ...UNLIMITED,
    streamsPerConnection: 1_024,
    incomingPerSecond: 10,
    pingEveryMs: 180_000,
    pongWithinMs: 600_000,
    maxAgeMs: 86_400_000,
    weightPerMinute: 2_400,
  },
  listings: makeListings,
  extra: makeExtraListing,
  bookIds: 'changes',
  runsAhead: true,
  // A mark and a ticker a second, and the index of COIN-M as a separate frame; a trade and its minute.
  steadyFrames: ({ scope }) => (scope === 'coinm' ? 3 : 2),
  framesPerTrade: 2,
  spell: (form, stream, text) => (form === COMBINED ? formatCombined(stream, text) : text),
  open,
};

/** All speeds carry the same frames: one diff chain a listing. */
const DEPTH_SPEEDS = ['@depth', '@depth@0ms', '@depth@100ms', '@depth@250ms', '@depth@500ms'] as const;

/** The streams of one listing. */
function nameStreams({ listing }: Instrument) {
  const symbol = listing.symbol.toLowerCase();
  const pair = listing.pair.toLowerCase();
  const ref = (name: string): StreamRef => toStreamRef(listing.scope, name, listing.symbol);
  return {
    depth: DEPTH_SPEEDS.map((speed) => ref(`${symbol}${speed}`)),
    bookTicker: ref(`${symbol}@bookTicker`),
    trade: ref(`${symbol}@trade`),
    aggTrade: ref(`${symbol}@aggTrade`),
    kline: ref(`${symbol}@kline_1m`),
    ticker: ref(`${symbol}@ticker`),
    forceOrder: ref(`${symbol}@forceOrder`),
    mark: ref(`${symbol}@markPrice`),
    markFast: ref(`${symbol}@markPrice@1s`),
    index: ref(`${pair}@indexPrice`),
  };
}

/** Marks of streams without `@1s`. */
const SLOW_MARKS_MS = 3_000;

function open(deps: VenueDeps): RunningVenue {
  const { market, limits } = deps;
  return {
    events: new Streams(deps).events,
    door: findDoor(deps),
    cost: computeCost,
    answer: (request) => answerRest({ ...deps, market }, request),
    refuse: (status, waitMs) => refuse(limits.weightPerMinute, status, waitMs),
  };
}

class Streams {
  readonly #deps: VenueDeps;
  readonly #streams = rememberStreams(nameStreams);

  constructor(deps: VenueDeps) {
    this.#deps = deps;
  }

  readonly events: MarketEvents = {
    diff: (instrument, diff) => {
      const streams = this.#streams(instrument);
      let text: string | null = null;
      const build = (): string => {
        text ??= formatDepthUpdate(instrument, diff);
        return text;
      };
      for (const ref of streams.depth) this.#emit(ref, build);
      this.#emit(streams.bookTicker, () => formatBookTicker(instrument, diff));
    },
    trade: (instrument, trade, eventMs) => {
      const streams = this.#streams(instrument);
      this.#emit(streams.aggTrade, () => formatAggTrade(instrument, trade, eventMs));
      this.#emit(streams.trade, () => formatSingleTrade(instrument, trade, eventMs));
      this.#emit(streams.kline, () =>
        formatKline(instrument, instrument.candles.current(), { eventMs, closed: false }),
      );
    },
    liquidation: (instrument, trade, eventMs) => {
      const build = (): string => formatForceOrder(instrument, trade, eventMs);
      this.#emit(this.#streams(instrument).forceOrder, build);
      this.#emit(toStreamRef(instrument.listing.scope, '!forceOrder@arr', null), build);
    },
    minuteClosed: (instrument, candle, eventMs) =>
      this.#emit(this.#streams(instrument).kline, () => formatKline(instrument, candle, { eventMs, closed: true })),
    second: (eventMs, atMs) => {
      for (const instrument of this.#deps.market.instruments)
        if (instrument.status === 'trading') this.#sendMarks(instrument, eventMs, atMs);
      this.#sendArrays(eventMs, atMs);
    },
    // As recorded: marks of all symbols within milliseconds of the second, each ticker at its own moment of the second.
    turn: (instrument, eventMs) => {
      this.#deps.truth.moment(instrument, eventMs, ['ticker', 'stats']);
      this.#emit(this.#streams(instrument).ticker, () => formatDayTicker(instrument, eventMs));
    },
  };

  #emit(ref: StreamRef, build: () => string): void {
    this.#deps.delivery.emit(ref, build);
  }

  #sendMarks(instrument: Instrument, eventMs: number, atMs: number): void {
    const streams = this.#streams(instrument);
    const isCoin = instrument.listing.scope === 'coinm';
    this.#emit(streams.markFast, () => formatMarkPriceUpdate(instrument, eventMs));
    if (isCoin) this.#emit(streams.index, () => formatIndexUpdate(instrument, eventMs));
    if (atMs % SLOW_MARKS_MS === 0) this.#emit(streams.mark, () => formatMarkPriceUpdate(instrument, eventMs));
  }

  #sendArrays(eventMs: number, atMs: number): void {
    for (const scope of ['usdm', 'coinm'] as const) {
      const bitcoin = this.#deps.market.instruments.find(({ listing }) => listing.scope === scope);
      const mark = (instrument: Instrument): string => {
        const text = formatMarkPriceUpdate(instrument, eventMs);
        if (instrument !== bitcoin) return text;
        return `${text},${formatDeliveryMark(DELIVERY[scope], instrument.index, eventMs)}`;
      };
      this.#sendArray(scope, '!markPrice@arr@1s', mark);
      if (atMs % SLOW_MARKS_MS === 0) this.#sendArray(scope, '!markPrice@arr', mark);
      this.#sendArray(scope, '!ticker@arr', (instrument) => formatDayTicker(instrument, eventMs));
    }
  }

  /** An array stream: listings silenced by a fault are missing from it. */
  #sendArray(scope: MarketName, name: string, element: (instrument: Instrument) => string): void {
    const { market, isSilenced } = this.#deps;
    const ref = toStreamRef(scope, name, null);
    this.#emit(ref, () => {
      const kind = ref.kind.replace(/Arr$/, '');
      const shown = market.instruments.filter(({ listing, status }) => {
        if (listing.scope !== scope || status !== 'trading') return false;
        return !isSilenced({ ...ref, kind, name: `${listing.symbol.toLowerCase()}@${kind}`, symbol: listing.symbol });
      });
      return `[${shown.map(element).join(',')}]`;
    });
  }
}
