// The simulated Binance's streams: what happens in the market becomes frames, and rows of truth beside them.
import {
  aggTrade,
  bookTicker,
  dayTicker,
  deliveryMarkPriceUpdate,
  depthUpdate,
  forceOrder,
  indexPriceUpdate,
  kline,
  markPriceUpdate,
  singleTrade,
} from './binance-frames.ts';
import { DELIVERY } from './binance-rest.ts';
import { createSockets, type SocketLimits, type Sockets, streamKind } from './binance-sockets.ts';
import type { Crossings } from './crossings.ts';
import { createDelivery } from './delivery.ts';
import type { Faults, StreamRef } from './faults.ts';
import type { Market as MarketName } from './listings.ts';
import type { Diff, Instrument, Market, MarketEvents } from './market.ts';
import type { SentLog } from './sent-log.ts';
import type { TruthLog } from './truth-log.ts';

export type BinanceDeps = {
  readonly nowMs: () => number;
  readonly market: Market;
  readonly faults: Faults;
  readonly truth: TruthLog;
  readonly sent: SentLog;
  readonly crossings: Crossings;
  readonly limits: SocketLimits;
};

export type Binance = {
  readonly sockets: Sockets;
  /** Lets the market and the held frames move to `nowMs`. */
  readonly advance: (nowMs: number) => void;
};

/** All speeds carry the same frames: one diff chain a listing. */
const DEPTH_SPEEDS = ['@depth', '@depth@0ms', '@depth@100ms', '@depth@250ms', '@depth@500ms'] as const;

/** The names one listing's streams have, made once. */
function streamNames({ listing }: Instrument) {
  const symbol = listing.symbol.toLowerCase();
  const ref = (name: string): StreamRef => ({ kind: streamKind(name), name, symbol: listing.symbol });
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
    index: ref(`${listing.pair.toLowerCase()}@indexPrice`),
    indexFast: ref(`${listing.pair.toLowerCase()}@indexPrice@1s`),
  };
}

export function createBinance(deps: BinanceDeps): Binance {
  const { nowMs, market, faults, truth, crossings } = deps;
  const refuses = (): boolean => faults.isActive('disconnect', nowMs());
  const sockets = createSockets({ nowMs, sent: deps.sent, limits: deps.limits, refuses });
  const delivery = createDelivery(sockets, faults, nowMs);
  const { emit } = delivery;
  const names = new Map<Instrument, ReturnType<typeof streamNames>>();

  function namesOf(instrument: Instrument): ReturnType<typeof streamNames> {
    const known = names.get(instrument) ?? streamNames(instrument);
    names.set(instrument, known);
    return known;
  }

  function onDiff(instrument: Instrument, diff: Diff): void {
    const { market: marketName } = instrument.listing;
    const refs = namesOf(instrument);
    const changes = crossings.shown(instrument, diff);
    truth.diff(instrument, diff, crossings.priceOf(instrument));
    let text: string | null = null;
    for (const ref of refs.depth) {
      emit(marketName, ref, () => {
        text ??= depthUpdate(instrument, diff, changes);
        return text;
      });
    }
    emit(marketName, refs.bookTicker, () => bookTicker(instrument, diff));
  }

  const onTrade: MarketEvents['trade'] = (instrument, trade, eventMs) => {
    const refs = namesOf(instrument);
    emit(instrument.listing.market, refs.aggTrade, () => aggTrade(instrument, trade, eventMs));
    emit(instrument.listing.market, refs.trade, () => singleTrade(instrument, trade, eventMs));
    const candle = instrument.candles.current();
    emit(instrument.listing.market, refs.kline, () => kline(instrument, candle, { eventMs, closed: false }));
  };

  const onLiquidation: MarketEvents['liquidation'] = (instrument, trade, eventMs) => {
    const { market: marketName } = instrument.listing;
    const text = forceOrder(instrument, trade, eventMs);
    emit(marketName, namesOf(instrument).forceOrder, () => text);
    emit(marketName, { kind: 'forceOrderArr', name: '!forceOrder@arr', symbol: null }, () => text);
  };

  /** An array stream: listings that a fault silences are missing from it. */
  function emitArray(marketName: MarketName, name: string, element: (instrument: Instrument) => string | null): void {
    const ref = { kind: streamKind(name), name, symbol: null };
    emit(marketName, ref, () => {
      const kind = ref.kind.replace(/Arr$/, '');
      const shown = market.instruments.filter(
        (i) =>
          i.listing.market === marketName &&
          i.status === 'TRADING' &&
          !faults.silences(
            { kind, name: `${i.listing.symbol.toLowerCase()}@${kind}`, symbol: i.listing.symbol },
            nowMs(),
          ),
      );
      return `[${shown
        .map(element)
        .filter((text) => text !== null)
        .join(',')}]`;
    });
  }

  function emitMarkArrays(eventMs: number): void {
    for (const marketName of ['usdm', 'coinm'] as const) {
      const bitcoin = market.instruments.find((i) => i.listing.market === marketName);
      const element = (instrument: Instrument): string => {
        const text = markPriceUpdate(instrument, eventMs);
        return instrument === bitcoin
          ? `${text},${deliveryMarkPriceUpdate(DELIVERY[marketName], instrument.index, eventMs)}`
          : text;
      };
      emitArray(marketName, '!markPrice@arr@1s', element);
      if (eventMs % 3_000 === 0) emitArray(marketName, '!markPrice@arr', element);
      emitArray(marketName, '!ticker@arr', (instrument) => dayTicker(instrument, eventMs));
    }
  }

  function onSecond(eventMs: number): void {
    for (const instrument of market.instruments) {
      if (instrument.status !== 'TRADING') continue;
      const { market: marketName } = instrument.listing;
      const refs = namesOf(instrument);
      truth.second(instrument, eventMs);
      emit(marketName, refs.markFast, () => markPriceUpdate(instrument, eventMs));
      emit(marketName, refs.ticker, () => dayTicker(instrument, eventMs));
      if (marketName === 'coinm') emit(marketName, refs.indexFast, () => indexPriceUpdate(instrument, eventMs));
      if (eventMs % 3_000 !== 0) continue;
      emit(marketName, refs.mark, () => markPriceUpdate(instrument, eventMs));
      if (marketName === 'coinm') emit(marketName, refs.index, () => indexPriceUpdate(instrument, eventMs));
    }
    emitMarkArrays(eventMs);
  }

  const events: MarketEvents = {
    diff: onDiff,
    trade: onTrade,
    liquidation: onLiquidation,
    minuteClosed: (instrument, candle, eventMs) =>
      emit(instrument.listing.market, namesOf(instrument).kline, () =>
        kline(instrument, candle, { eventMs, closed: true }),
      ),
    second: onSecond,
  };

  return {
    sockets,
    advance: (now) => {
      delivery.release(now);
      market.advance(now, events);
      sockets.tend(now);
    },
  };
}
