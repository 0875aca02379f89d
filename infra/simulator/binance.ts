// The simulated Binance: market events become stream frames (with faults and truth), REST requests become answers with weights.
import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { answerRest, DELIVERY, weightOf } from './binance-rest.ts';
import { createSockets, type Frame, type SocketLimits, type Sockets, streamKind } from './binance-sockets.ts';
import type { Change } from './book-model.ts';
import type { Faults, StreamRef } from './faults.ts';
import { fixed } from './figures.ts';
import type { Market as MarketName } from './listings.ts';
import type { Diff, Instrument, Market, MarketEvents } from './market.ts';
import type { SentLog } from './sent-log.ts';
import type { TruthLog } from './truth-log.ts';

export type BinanceLimits = SocketLimits & { readonly weightPerMinute: number };
export type BinanceDeps = {
  readonly nowMs: () => number;
  readonly market: Market;
  readonly faults: Faults;
  readonly truth: TruthLog;
  readonly sent: SentLog;
  readonly limits: BinanceLimits;
};

export type Binance = {
  readonly sockets: Sockets;
  /** True when the request was one of the venue's paths. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Lets the market and the held frames move to `nowMs`. */
  readonly advance: (nowMs: number) => void;
  readonly restCounts: Readonly<Record<string, number>>;
  readonly symbols: () => readonly string[];
};

type Held = { readonly dueMs: number; readonly market: MarketName; readonly frame: Frame };
/** Price and size units of the level a `crossed_book` fault shows; far larger than any real one. */
type Ghost = { readonly price: number; readonly size: number };

const REST_PATH = /^\/(fapi|dapi)\/v1\/(.+)$/;
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

/** Cuts a frame in the middle: no longer JSON, and nothing of it can be trusted. */
export function malformed(text: string): string {
  return text.slice(0, Math.floor(text.length / 2));
}

export function createBinance(deps: BinanceDeps): Binance {
  const { nowMs, market, faults, truth, limits } = deps;
  const sockets = createSockets({
    nowMs,
    sent: deps.sent,
    limits,
    refuses: () => faults.isActive('disconnect', nowMs()),
  });
  const names = new Map<Instrument, ReturnType<typeof streamNames>>();
  const ghosts = new Map<Instrument, Ghost>();
  const restCounts: Record<string, number> = {};
  const weights: Record<MarketName, { minute: number; used: number }> = {
    usdm: { minute: 0, used: 0 },
    coinm: { minute: 0, used: 0 },
  };
  const swapped = new Map<string, Frame>();
  let held: Held[] = [];

  function namesOf(instrument: Instrument): ReturnType<typeof streamNames> {
    const known = names.get(instrument) ?? streamNames(instrument);
    names.set(instrument, known);
    return known;
  }

  function send(marketName: MarketName, frame: Frame): void {
    const connections = sockets.subscribers(marketName, frame.stream);
    if (connections !== undefined) sockets.send(connections, frame, nowMs());
  }

  function hold(marketName: MarketName, frame: Frame, delayMs: number): void {
    held.push({ dueMs: nowMs() + delayMs, market: marketName, frame });
  }

  /** Sends one frame unless a fault says otherwise. `build` runs only when somebody listens. */
  function emit(marketName: MarketName, ref: StreamRef, build: () => string): void {
    if (sockets.subscribers(marketName, ref.name) === undefined) return;
    const action = faults.actionOn(ref, nowMs());
    if (action === 'drop') return;
    const frame = { stream: ref.name, text: build(), encoded: new Map() };
    // A frame never overtakes an older one of its stream that a fault still holds.
    const behind =
      held.length > 0 ? held.findLast((h) => h.frame.stream === ref.name && h.market === marketName) : undefined;
    if (action === 'reorder') swapped.set(`${marketName} ${ref.name}`, frame);
    else if (action === 'malformed') send(marketName, { ...frame, text: malformed(frame.text) });
    else if (typeof action === 'object')
      hold(marketName, frame, Math.max(action.delayMs, (behind?.dueMs ?? 0) - nowMs()));
    else if (behind !== undefined) hold(marketName, frame, behind.dueMs - nowMs());
    else sendNow(marketName, frame, action === 'duplicate' ? 2 : 1);
  }

  function sendNow(marketName: MarketName, frame: Frame, times: 1 | 2): void {
    send(marketName, frame);
    if (times === 2) send(marketName, frame);
    const key = `${marketName} ${frame.stream}`;
    const older = swapped.size > 0 ? swapped.get(key) : undefined;
    if (older === undefined) return;
    swapped.delete(key);
    send(marketName, older);
  }

  function release(now: number): void {
    if (held.length === 0) return;
    const due = held.filter((h) => h.dueMs <= now);
    held = held.filter((h) => h.dueMs > now);
    for (const { market: marketName, frame } of due) sendNow(marketName, frame, 1);
  }

  /** The crossing level follows the best ask, so that the book stays crossed while the fault lasts; gone at its end. */
  function haunt(instrument: Instrument): readonly Change[] {
    const { book, listing } = instrument;
    const old = ghosts.get(instrument);
    const bestAsk = book.asks.prices.at(-1) ?? 0;
    const wanted = faults.isActive('crossed_book', nowMs(), listing.symbol);
    if (!wanted && old === undefined) return [];
    if (wanted && old !== undefined && old.price >= bestAsk) return [];
    const real = (price: number): number => book.bids.sizes[book.bids.prices.indexOf(price)] ?? 0;
    const gone =
      old === undefined ? [] : [{ side: 'b' as const, price: old.price, size: real(old.price), before: old.size }];
    ghosts.delete(instrument);
    if (!wanted) return gone;
    const ghost = { price: bestAsk + 3 * listing.tick, size: 1_234 };
    ghosts.set(instrument, ghost);
    return [...gone, { side: 'b', price: ghost.price, size: ghost.size, before: 0 }];
  }

  /** What the frame says of a level must be what the haunted book has there. */
  function shownChanges(instrument: Instrument, diff: Diff): readonly Change[] {
    const added = haunt(instrument);
    const ghost = ghosts.get(instrument);
    if (added.length === 0 && ghost === undefined) return diff.changes;
    const hidden = new Set(added.map((change) => change.price));
    if (ghost !== undefined) hidden.add(ghost.price);
    return [...diff.changes.filter((c) => c.side !== 'b' || !hidden.has(c.price)), ...added];
  }

  function onDiff(instrument: Instrument, diff: Diff): void {
    const { market: marketName } = instrument.listing;
    const refs = namesOf(instrument);
    const changes = shownChanges(instrument, diff);
    truth.diff(instrument, diff, ghosts.get(instrument)?.price ?? null);
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

  /** Weight used this minute after this request; the venue counts by the clock's minute. */
  function weigh(marketName: MarketName, weight: number, now: number): number {
    const minute = Math.floor(now / 60_000);
    const used = weights[marketName];
    if (used.minute !== minute) weights[marketName] = { minute, used: weight };
    else used.used += weight;
    return weights[marketName].used;
  }

  function refuse(response: ServerResponse, now: number): void {
    const seconds = Math.ceil((60_000 - (now % 60_000)) / 1_000);
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': String(seconds) });
    response.end(
      `{"code":-1003,"msg":"Too many requests; current limit of IP is ${limits.weightPerMinute} requests per minute."}`,
    );
  }

  /** A snapshot shows the crossing level too, and its own stamp gets a row of truth. */
  function snapshotBody(body: string, instrument: Instrument): string {
    const ghost = ghosts.get(instrument);
    truth.snapshot(instrument, ghost?.price ?? null);
    if (ghost === undefined) return body;
    const { listing } = instrument;
    const level = `["${fixed(ghost.price, listing.priceDecimals)}","${fixed(ghost.size, listing.qtyDecimals)}"]`;
    const real = new RegExp(`,?\\["${fixed(ghost.price, listing.priceDecimals).replace('.', '\\.')}","[^"]*"\\]`);
    const [bids = '', asks = ''] = body.split('"asks":');
    return `${bids.replace(real, '').replace('"bids":[', `"bids":[${level},`)}"asks":${asks}`;
  }

  function handle(request: IncomingMessage, response: ServerResponse): boolean {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const found = REST_PATH.exec(url.pathname);
    if (found === null) return false;
    const marketName = found[1] === 'dapi' ? 'coinm' : 'usdm';
    const path = found[2] ?? '';
    const now = nowMs();
    restCounts[`${marketName} ${path}`] = (restCounts[`${marketName} ${path}`] ?? 0) + 1;
    const used = weigh(marketName, weightOf(path, url.searchParams), now);
    if (used > limits.weightPerMinute || faults.isActive('rate_limit', now)) {
      refuse(response, now);
      return true;
    }
    const answer = answerRest(market, { market: marketName, path, query: url.searchParams, nowMs: now });
    const instrument = path === 'depth' ? market.find(marketName, url.searchParams.get('symbol') ?? '') : undefined;
    const body =
      instrument === undefined || answer.status !== 200 ? answer.body : snapshotBody(answer.body, instrument);
    response.writeHead(answer.status, {
      'content-type': 'application/json;charset=UTF-8',
      'x-mbx-used-weight-1m': String(used),
    });
    response.end(body);
    return true;
  }

  return {
    sockets,
    handle,
    restCounts,
    symbols: () => market.instruments.map((i) => i.listing.symbol),
    advance: (now) => {
      release(now);
      market.advance(now, events);
      sockets.tend(now);
    },
  };
}
