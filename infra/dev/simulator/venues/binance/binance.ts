// The simulated Binance, USD-M and COIN-M: its addresses and limits, and frames of what happens in the market.
import type { StreamRef } from '../../faults.ts';
import type { Instrument, MarketEvents } from '../../market.ts';
import type { RunningVenue, SimulatedVenue, VenueDeps } from '../../venue.ts';
import {
  aggTrade,
  bookTicker,
  combined,
  dayTicker,
  deliveryMarkPriceUpdate,
  depthUpdate,
  forceOrder,
  indexUpdate,
  kline,
  markPriceUpdate,
  singleTrade,
} from './frames.ts';
import { extraListing, listings, type Market as MarketName } from './listings.ts';
import { answerRest, costOf, DELIVERY, refuse } from './rest.ts';
import { COMBINED, findDoor, refOf } from './session.ts';

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
    streamsPerConnection: 1_024,
    incomingPerSecond: 10,
    pingEveryMs: 180_000,
    pongWithinMs: 600_000,
    idleMs: Number.POSITIVE_INFINITY,
    maxAgeMs: 86_400_000,
    maxBufferedBytes: 16 * 1_048_576,
    weightPerMinute: 2_400,
  },
  listings,
  extra: extraListing,
  bookIds: 'changes',
  runsAhead: true,
  // A mark and a ticker a second, the index of COIN-M apart; a trade and its minute.
  steadyFrames: ({ scope }) => (scope === 'coinm' ? 3 : 2),
  framesPerTrade: 2,
  spell: (form, stream, text) => (form === COMBINED ? combined(stream, text) : text),
  open,
};

/** All speeds carry the same frames: one diff chain a listing. */
const DEPTH_SPEEDS = ['@depth', '@depth@0ms', '@depth@100ms', '@depth@250ms', '@depth@500ms'] as const;

/** The streams of one listing, made once. */
function streamsOf({ listing }: Instrument) {
  const symbol = listing.symbol.toLowerCase();
  const pair = listing.pair.toLowerCase();
  const ref = (name: string): StreamRef => refOf(listing.scope, name, listing.symbol);
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

function open(deps: VenueDeps): RunningVenue {
  const { market, limits } = deps;
  return {
    events: eventsOf(deps),
    door: findDoor(deps),
    cost: costOf,
    answer: (request) => answerRest({ ...deps, market }, request),
    refuse: (status, waitMs) => refuse(limits.weightPerMinute, status, waitMs),
  };
}

function eventsOf({ market, delivery, truth, isSilenced }: VenueDeps): MarketEvents {
  const { emit } = delivery;
  const known = new Map<Instrument, ReturnType<typeof streamsOf>>();

  function refsOf(instrument: Instrument): ReturnType<typeof streamsOf> {
    const refs = known.get(instrument) ?? streamsOf(instrument);
    known.set(instrument, refs);
    return refs;
  }

  /** An array stream: listings that a fault silences are missing from it. */
  function emitArray(scope: MarketName, name: string, element: (instrument: Instrument) => string): void {
    const ref = refOf(scope, name, null);
    emit(ref, () => {
      const kind = ref.kind.replace(/Arr$/, '');
      const shown = market.instruments.filter(({ listing, status }) => {
        if (listing.scope !== scope || status !== 'trading') return false;
        return !isSilenced({ ...ref, kind, name: `${listing.symbol.toLowerCase()}@${kind}`, symbol: listing.symbol });
      });
      return `[${shown.map(element).join(',')}]`;
    });
  }

  function emitArrays(eventMs: number, atMs: number): void {
    for (const scope of ['usdm', 'coinm'] as const) {
      const bitcoin = market.instruments.find((i) => i.listing.scope === scope);
      const element = (instrument: Instrument): string => {
        const text = markPriceUpdate(instrument, eventMs);
        if (instrument !== bitcoin) return text;
        return `${text},${deliveryMarkPriceUpdate(DELIVERY[scope], instrument.index, eventMs)}`;
      };
      emitArray(scope, '!markPrice@arr@1s', element);
      if (atMs % 3_000 === 0) emitArray(scope, '!markPrice@arr', element);
      emitArray(scope, '!ticker@arr', (instrument) => dayTicker(instrument, eventMs));
    }
  }

  return {
    diff: (instrument, diff) => {
      const refs = refsOf(instrument);
      let text: string | null = null;
      const build = (): string => {
        text ??= depthUpdate(instrument, diff);
        return text;
      };
      for (const ref of refs.depth) emit(ref, build);
      emit(refs.bookTicker, () => bookTicker(instrument, diff));
    },
    trade: (instrument, trade, eventMs) => {
      const refs = refsOf(instrument);
      emit(refs.aggTrade, () => aggTrade(instrument, trade, eventMs));
      emit(refs.trade, () => singleTrade(instrument, trade, eventMs));
      emit(refs.kline, () => kline(instrument, instrument.candles.current(), { eventMs, closed: false }));
    },
    liquidation: (instrument, trade, eventMs) => {
      const build = (): string => forceOrder(instrument, trade, eventMs);
      emit(refsOf(instrument).forceOrder, build);
      emit(refOf(instrument.listing.scope, '!forceOrder@arr', null), build);
    },
    minuteClosed: (instrument, candle, eventMs) =>
      emit(refsOf(instrument).kline, () => kline(instrument, candle, { eventMs, closed: true })),
    second: (eventMs, atMs) => {
      for (const instrument of market.instruments) {
        if (instrument.status !== 'trading') continue;
        const refs = refsOf(instrument);
        const isCoin = instrument.listing.scope === 'coinm';
        emit(refs.markFast, () => markPriceUpdate(instrument, eventMs));
        if (isCoin) emit(refs.index, () => indexUpdate(instrument, eventMs));
        if (atMs % 3_000 === 0) emit(refs.mark, () => markPriceUpdate(instrument, eventMs));
      }
      emitArrays(eventMs, atMs);
    },
    // As recorded: marks of all symbols within milliseconds of the second, each ticker in its own moment of it.
    turn: (instrument, eventMs) => {
      truth.moment(instrument, eventMs, ['ticker', 'stats']);
      emit(refsOf(instrument).ticker, () => dayTicker(instrument, eventMs));
    },
  };
}
