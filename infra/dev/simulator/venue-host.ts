// One simulated venue at work: its market, truth, sockets and faults put together, its REST answered within its limits.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Connection, Wire } from './connection.ts';
import { createCrossings } from './crossings.ts';
import { createDelivery } from './delivery.ts';
import { createFaults, type FaultEntry, type FaultRequest, isAbout, type StreamRef } from './faults.ts';
import { FINE } from './figures.ts';
import { type ListingStatus, madeUpCoin, renamed } from './listings.ts';
import { createMarket, type Instrument, type Market, type MarketEvents } from './market.ts';
import { readBody } from './request-body.ts';
import type { SentLog } from './sent-log.ts';
import { createSockets } from './sockets.ts';
import { createTruthLog, type TruthLog, type TruthRow } from './truth-log.ts';
import type { RestAnswer, RestRequest, SimulatedVenue, VenueDeps, VenueLimits } from './venue.ts';

export type VenueHost = {
  readonly venue: SimulatedVenue;
  readonly market: Market;
  readonly truth: TruthLog;
  /** Requests by bucket and path. */
  readonly restCounts: Readonly<Record<string, number>>;
  /** `url` without the venue's prefix. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;
  readonly upgrade: (request: IncomingMessage, tcp: Duplex, head: Buffer, url: URL) => void;
  /** The same without a network, for whoever lives in this process. */
  readonly ask: (request: Asked) => RestAnswer;
  readonly connect: (wire: Wire, url: URL) => boolean;
  readonly inject: (request: FaultRequest) => FaultEntry;
  /** Lets everything due happen. */
  readonly advance: () => void;
  readonly close: () => void;
};

/** A request as it reaches the venue, without its prefix. */
export type Asked = Pick<RestRequest, 'method' | 'path' | 'query' | 'body'>;

export type HostOptions = {
  readonly nowMs: () => number;
  readonly seed: number;
  readonly listings: number;
  readonly levels: number;
  readonly rate: number;
  readonly truthPerListing: number;
  readonly limits: Partial<VenueLimits>;
  readonly sent: SentLog;
  readonly faultLog: FaultEntry[];
  readonly onFault: (entry: FaultEntry) => void;
  readonly onTruth: ((row: TruthRow) => void) | null;
};

const MINUTE_MS = 60_000;
const DOWN_STATUS = 503;
const NOT_FOUND: RestAnswer = { status: 404, body: '{"error":"the venue has no such path"}' };
/** Numbers of made-up coins that come while the simulator runs. */
const FIRST_EXTRA = 1_000;

export function openVenue(venue: SimulatedVenue, options: HostOptions): VenueHost {
  const { nowMs } = options;
  const limits = { ...venue.limits, ...options.limits };
  const market = createMarket({
    seed: options.seed,
    listings: venue.listings(options.listings),
    levels: options.levels,
    rate: options.rate,
    startMs: nowMs(),
    steadyFrames: venue.steadyFrames,
    framesPerTrade: venue.framesPerTrade,
    runsAhead: venue.runsAhead,
  });
  const faults = createFaults(options.faultLog, options.onFault);
  const venueNowMs = (): number => nowMs() + faults.skewMs(nowMs());
  const truth = createTruthLog({
    venue: venue.id,
    bookIds: venue.bookIds,
    shownLevels: venue.shownLevels ?? Number.POSITIVE_INFINITY,
    tradeId: venue.tradeId ?? (({ id }) => String(id)),
    perListing: options.truthPerListing,
    onRow: options.onTruth,
  });
  const crossings = createCrossings(faults, nowMs);
  const sockets = createSockets({
    venue: venue.id,
    nowMs,
    sent: options.sent,
    limits,
    refuses: () => faults.isActive('disconnect', nowMs()) || faults.isActive('restart', nowMs()),
    door: (url) => running.door(url),
    spell: venue.spell,
  });
  const delivery = createDelivery(sockets, faults, nowMs);
  const isSilenced = (ref: StreamRef): boolean => faults.silences(ref, nowMs());
  const deps: VenueDeps = { nowMs: venueNowMs, market, truth, crossings, delivery, sockets, limits, isSilenced };
  const running = venue.open(deps);
  /** What holds from a listing's start until its first second. */
  const witnessStart = (instrument: Instrument): Instrument => {
    truth.moment(instrument, instrument.steppedAtMs);
    return instrument;
  };
  market.instruments.forEach(witnessStart);

  // ---- market: its truth first, then the venue's frames ----

  const { events } = running;
  const witnessed: MarketEvents = {
    mustMove: crossings.isDue,
    diff: (instrument, diff) => {
      const shown = { ...diff, changes: crossings.shown(instrument, diff) };
      truth.diff(instrument, diff, crossings.priceOf(instrument));
      events.diff(instrument, shown);
    },
    trade: (instrument, trade, eventMs) => {
      truth.trade(instrument, trade);
      events.trade(instrument, trade, eventMs);
    },
    liquidation: (instrument, trade, eventMs) => {
      truth.liquidation(instrument, trade);
      events.liquidation(instrument, trade, eventMs);
    },
    minuteClosed: (instrument, candle, eventMs) => {
      truth.minute(instrument, candle, eventMs);
      events.minuteClosed(instrument, candle, eventMs);
    },
    second: (eventMs, atMs) => {
      for (const instrument of market.instruments)
        if (instrument.status === 'trading') truth.moment(instrument, eventMs);
      events.second(eventMs, atMs);
    },
    turn: (instrument, eventMs) => events.turn?.(instrument, eventMs),
  };

  // ---- REST ----

  const restCounts: Record<string, number> = {};
  const weights = new Map<string, { readonly minute: number; readonly used: number }>();

  /** Weight of the bucket used this minute after this request, by the clock's minutes. */
  function weigh(bucket: string, weight: number): number {
    const minute = Math.floor(nowMs() / MINUTE_MS);
    const before = weights.get(bucket);
    const used = weight + (before?.minute === minute ? before.used : 0);
    weights.set(bucket, { minute, used });
    return used;
  }

  function answer(request: Asked): RestAnswer {
    const cost = running.cost(request);
    if (cost === null) return NOT_FOUND;
    const name = `${cost.bucket} ${request.path}`;
    restCounts[name] = (restCounts[name] ?? 0) + 1;
    const used = weigh(cost.bucket, cost.weight);
    const refusal = faults.refusal(nowMs());
    if (refusal?.kind === 'rest_down') return { status: refusal.status ?? DOWN_STATUS, body: 'upstream unavailable' };
    if (refusal !== null) return running.refuse(refusal.status, refusal.untilMs - nowMs());
    if (used > limits.weightPerMinute) return running.refuse(null, MINUTE_MS - (nowMs() % MINUTE_MS));
    return running.answer({ ...request, used, nowMs: venueNowMs() });
  }

  async function handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { method = 'GET' } = request;
    const body = method === 'POST' ? await readBody(request) : '';
    const { status, body: text, headers } = answer({ method, path: url.pathname, query: url.searchParams, body });
    response.writeHead(status, { 'content-type': 'application/json;charset=UTF-8', ...headers });
    response.end(text);
  }

  // ---- faults ----

  const refsOf = (connection: Connection): StreamRef[] => [...connection.streams.values()];
  const symbolsOf = (list: Iterable<Instrument>): string[] => [...list].map(({ listing }) => listing.symbol);
  let extras = FIRST_EXTRA;

  const isOneOf = ({ symbol }: StreamRef, symbols: readonly string[] | undefined): boolean =>
    symbols === undefined || symbol === null || symbols.includes(symbol);

  /** Open streams that a request is about. */
  function affected(request: FaultRequest, connections: Iterable<Connection> = sockets.open): StreamRef[] {
    return [...connections].flatMap(refsOf).filter((ref) => isAbout(request, ref) && isOneOf(ref, request.symbols));
  }

  function cut(request: FaultRequest): FaultEntry {
    const chosen = [...sockets.open]
      .filter((connection) => {
        if (request.symbols === undefined && request.stream === undefined) return true;
        return refsOf(connection).some((ref) => isAbout(request, ref) && isOneOf(ref, request.symbols));
      })
      .slice(0, request.count ?? Number.POSITIVE_INFINITY);
    const streams = chosen.flatMap(refsOf);
    const carried = new Set(streams.map(({ symbol }) => symbol));
    const symbols = symbolsOf(market.instruments).filter((symbol) => carried.has(null) || carried.has(symbol));
    const connections = chosen.map(({ log }) => log.summary.connection);
    const entry = faults.start(request, { symbols, streams, connections }, nowMs());
    for (const connection of chosen) sockets.disconnect(connection, 'fault');
    return entry;
  }

  function restart(request: FaultRequest): FaultEntry {
    const chosen = request.keepSockets === true ? [] : [...sockets.open];
    const streams = chosen.length > 0 ? chosen.flatMap(refsOf) : affected({ ...request, stream: 'book' });
    const connections = chosen.map(({ log }) => log.summary.connection);
    const entry = faults.start(request, { symbols: symbolsOf(market.instruments), streams, connections }, nowMs());
    for (const connection of chosen) sockets.disconnect(connection, 'restart');
    market.restart();
    if (request.keepSockets === true) running.restarted?.();
    return entry;
  }

  function rename(instrument: Instrument): Instrument {
    instrument.status = 'closed';
    const { priceDecimals } = instrument.listing;
    const startPrice = Math.max(1, Math.round(instrument.index / 10 ** (FINE - priceDecimals)));
    const onboardedAtMs = nowMs();
    const listing = { ...renamed(instrument.listing, madeUpCoin(extras++)), startPrice, onboardedAtMs };
    return witnessStart(market.add(listing, onboardedAtMs));
  }

  /** Listings changed, the old ones and the new. */
  function changeListings(request: FaultRequest): readonly Instrument[] {
    const chosen = market.instruments.filter(({ listing }) => request.symbols?.includes(listing.symbol) ?? false);
    switch (request.kind) {
      case 'listing_added':
        return [witnessStart(market.add({ ...venue.extra(extras++), onboardedAtMs: nowMs() }, nowMs()))];
      case 'listing_renamed':
        return chosen.flatMap((instrument) => [instrument, rename(instrument)]);
      case 'listing_delisted':
        for (const instrument of chosen) instrument.status = 'closed' satisfies ListingStatus;
        return chosen;
      default:
        for (const instrument of chosen) instrument.fundingHours = request.hours ?? 4;
        return chosen;
    }
  }

  function inject(request: FaultRequest): FaultEntry {
    switch (request.kind) {
      case 'disconnect':
        return cut(request);
      case 'restart':
        return restart(request);
      case 'listing_added':
      case 'listing_delisted':
      case 'listing_renamed':
      case 'funding_interval_changed':
        return faults.start(request, { symbols: symbolsOf(changeListings(request)), streams: [] }, nowMs());
      case 'rate_limit':
      case 'rest_down':
        return faults.start(request, { symbols: symbolsOf(market.instruments), streams: [] }, nowMs());
      default: {
        const symbols = request.symbols ?? symbolsOf(market.instruments);
        return faults.start(request, { symbols, streams: affected(request) }, nowMs());
      }
    }
  }

  return {
    venue,
    market,
    truth,
    restCounts,
    handle,
    upgrade: sockets.upgrade,
    ask: answer,
    connect: sockets.connect,
    inject,
    advance: () => {
      const now = nowMs();
      faults.expire(now);
      market.setSkew(faults.skewMs(now));
      delivery.release(now);
      market.advance(now, witnessed);
      sockets.tend(now);
    },
    close: sockets.close,
  };
}
