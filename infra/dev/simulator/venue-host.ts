// One running simulated venue: combines its market, truth, sockets and faults, and serves its REST within its limits.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handshake, Wire } from './connection.ts';
import { type Crossings, createCrossings } from './crossings.ts';
import { createDelivery } from './delivery.ts';
import { FaultDesk } from './fault-desk.ts';
import { createFaults, type FaultEntry, type FaultRequest, type StreamRef } from './faults.ts';
import { createMarket, type Instrument, type Market, type MarketEvents } from './market.ts';
import { type RestCall, RestDesk } from './rest-desk.ts';
import type { SentLog } from './sent-log.ts';
import { createSockets } from './sockets.ts';
import { createTruthLog, type TruthLog } from './truth-log.ts';
import type { TruthRow } from './truth-rows.ts';
import type { RestAnswer, SimulatedVenue, VenueDeps, VenueLimits } from './venue.ts';

export type VenueHost = {
  readonly venue: SimulatedVenue;
  readonly market: Market;
  readonly truth: TruthLog;
  /** Requests by bucket and path. */
  readonly restCounts: Readonly<Record<string, number>>;
  /** `url` without the venue's prefix. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;
  readonly upgrade: (handshake: Handshake, url: URL) => void;
  /** The same without a network, for callers in this process. */
  readonly ask: (request: RestCall) => RestAnswer;
  readonly connect: (wire: Wire, url: URL) => boolean;
  readonly inject: (request: FaultRequest) => FaultEntry;
  /** Runs everything that is due. */
  readonly advance: () => void;
  readonly close: () => void;
};

type HostOptions = {
  readonly nowMs: () => number;
  readonly seed: number;
  readonly listings: number;
  readonly levels: number;
  readonly rate: number;
  readonly stepMs: number;
  readonly truthPerListing: number;
  readonly limits: Partial<VenueLimits>;
  readonly sent: SentLog;
  readonly faultLog: FaultEntry[];
  readonly onFault: (entry: FaultEntry) => void;
  readonly onTruth: ((row: TruthRow) => void) | null;
};

export function openVenue(venue: SimulatedVenue, options: HostOptions): VenueHost {
  const { nowMs } = options;
  const limits = { ...venue.limits, ...options.limits };
  const market = openMarket(venue, options);
  const faults = createFaults(options.faultLog, options.onFault);
  /** Never past an event that waits, on a machine with too much to do: what is stamped with it comes before that event. */
  const venueNowMs = (): number => Math.min(nowMs(), market.dueMs() - 1) + faults.skewMs(nowMs());
  const truth = openTruth(venue, options);
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
  /** The truth from a listing's start until its first second. */
  const witnessStart = (instrument: Instrument): void => truth.moment(instrument, instrument.steppedAtMs);
  market.instruments.forEach(witnessStart);
  const events = witnessEvents(running.events, { market, truth, crossings });
  const rest = new RestDesk({ running, faults, limits, nowMs, venueNowMs });
  const desk = new FaultDesk({ venue, running, market, sockets, faults, nowMs, witnessStart });

  return {
    venue,
    market,
    truth,
    restCounts: rest.counts,
    handle: (request, response, url) => rest.handle(request, response, url),
    upgrade: (handshake, url) => sockets.upgrade(handshake, url),
    ask: (request) => rest.answer(request),
    connect: (wire, url) => sockets.connect(wire, url),
    inject: (request) => desk.inject(request),
    advance: () => {
      const now = nowMs();
      faults.expire(now);
      market.setSkew(faults.skewMs(now));
      delivery.release(now);
      market.advance(now, events);
      sockets.tend(now);
    },
    close: () => sockets.close(),
  };
}

const openMarket = (venue: SimulatedVenue, { seed, listings, levels, rate, stepMs, nowMs }: HostOptions): Market =>
  createMarket({
    seed,
    levels,
    rate,
    listings: venue.listings(listings),
    startMs: nowMs(),
    stepMs,
    steadyFrames: venue.steadyFrames,
    framesPerTrade: venue.framesPerTrade,
    runsAhead: venue.runsAhead,
  });

const openTruth = (venue: SimulatedVenue, { truthPerListing, onTruth }: HostOptions): TruthLog =>
  createTruthLog({
    venue: venue.id,
    bookIds: venue.bookIds,
    shownLevels: venue.shownLevels ?? Number.POSITIVE_INFINITY,
    tradeId: venue.tradeId ?? (({ id }) => String(id)),
    perListing: truthPerListing,
    onRow: onTruth,
  });

type Witness = { readonly market: Market; readonly truth: TruthLog; readonly crossings: Crossings };

/** Events of the market: records their truth first, then passes them to the venue. */
const witnessEvents = (events: MarketEvents, { market, truth, crossings }: Witness): MarketEvents => ({
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
    for (const instrument of market.instruments) {
      if (instrument.status === 'trading') truth.moment(instrument, eventMs);
    }
    events.second(eventMs, atMs);
  },
  turn: (instrument, eventMs) => events.turn?.(instrument, eventMs),
});
