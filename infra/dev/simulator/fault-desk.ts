// Faults of one simulated venue on request: selects the connections, streams and listings of a request, and applies the fault.
import type { Connection, Sockets } from './connection.ts';
import { type FaultEntry, type FaultRequest, type Faults, isAbout, type StreamRef } from './faults.ts';
import { FINE } from './figures.ts';
import { makeUpCoin, renameListing } from './listings.ts';
import type { Instrument, Market } from './market.ts';
import type { RunningVenue, SimulatedVenue } from './venue.ts';

type FaultDeskOptions = {
  readonly venue: SimulatedVenue;
  readonly running: RunningVenue;
  readonly market: Market;
  readonly sockets: Sockets;
  readonly faults: Faults;
  readonly nowMs: () => number;
  /** Records the truth that holds from a new listing's start. */
  readonly witnessStart: (instrument: Instrument) => void;
};

/** Numbers of made-up coins that are listed while the simulator runs. */
const FIRST_EXTRA = 1_000;

const listStreams = (connection: Connection): StreamRef[] => [...connection.streams.values()];
const listSymbols = (list: Iterable<Instrument>): string[] => [...list].map(({ listing }) => listing.symbol);

const isIncluded = ({ symbol }: StreamRef, symbols: readonly string[] | undefined): boolean =>
  symbols === undefined || symbol === null || symbols.includes(symbol);
const isConcerned = (request: FaultRequest, ref: StreamRef): boolean =>
  isAbout(request, ref) && isIncluded(ref, request.symbols);

export class FaultDesk {
  readonly #options: FaultDeskOptions;
  #extras = FIRST_EXTRA;

  constructor(options: FaultDeskOptions) {
    this.#options = options;
  }

  inject(request: FaultRequest): FaultEntry {
    const { market, faults, nowMs } = this.#options;
    switch (request.kind) {
      case 'disconnect':
        return this.#cut(request);
      case 'restart':
        return this.#restart(request);
      case 'listing_added':
      case 'listing_delisted':
      case 'listing_renamed':
      case 'funding_interval_changed':
        return faults.start(request, { symbols: listSymbols(this.#changeListings(request)), streams: [] }, nowMs());
      case 'rate_limit':
      case 'rest_down':
        return faults.start(request, { symbols: listSymbols(market.instruments), streams: [] }, nowMs());
      default: {
        const symbols = request.symbols ?? listSymbols(market.instruments);
        return faults.start(request, { symbols, streams: this.#findStreams(request) }, nowMs());
      }
    }
  }

  /** Open streams that a request selects. */
  #findStreams(request: FaultRequest): StreamRef[] {
    return [...this.#options.sockets.open].flatMap(listStreams).filter((ref) => isConcerned(request, ref));
  }

  #cut(request: FaultRequest): FaultEntry {
    const { market, sockets, faults, nowMs } = this.#options;
    const isAboutAll = request.symbols === undefined && request.stream === undefined;
    const chosen = [...sockets.open]
      .filter((connection) => isAboutAll || listStreams(connection).some((ref) => isConcerned(request, ref)))
      .slice(0, request.count ?? Number.POSITIVE_INFINITY);
    const streams = chosen.flatMap(listStreams);
    const carried = new Set(streams.map(({ symbol }) => symbol));
    const symbols = listSymbols(market.instruments).filter((symbol) => carried.has(null) || carried.has(symbol));
    const connections = chosen.map(({ log }) => log.summary.connection);
    const entry = faults.start(request, { symbols, streams, connections }, nowMs());
    for (const connection of chosen) sockets.disconnect(connection, 'fault');
    return entry;
  }

  #restart(request: FaultRequest): FaultEntry {
    const { market, sockets, faults, running, nowMs } = this.#options;
    const chosen = request.keepSockets === true ? [] : [...sockets.open];
    const streams = chosen.length > 0 ? chosen.flatMap(listStreams) : this.#findStreams({ ...request, stream: 'book' });
    const connections = chosen.map(({ log }) => log.summary.connection);
    const entry = faults.start(request, { symbols: listSymbols(market.instruments), streams, connections }, nowMs());
    for (const connection of chosen) sockets.disconnect(connection, 'restart');
    market.restart();
    if (request.keepSockets === true) running.restarted?.();
    return entry;
  }

  /** Changed listings, the old ones and the new. */
  #changeListings(request: FaultRequest): readonly Instrument[] {
    const { market } = this.#options;
    const chosen = market.instruments.filter(({ listing }) => request.symbols?.includes(listing.symbol) ?? false);
    switch (request.kind) {
      case 'listing_added':
        return [this.#addExtra()];
      case 'listing_renamed':
        return chosen.flatMap((instrument) => [instrument, this.#rename(instrument)]);
      case 'listing_delisted':
        for (const instrument of chosen) instrument.status = 'closed';
        return chosen;
      default:
        for (const instrument of chosen) instrument.fundingHours = request.hours ?? 4;
        return chosen;
    }
  }

  #addExtra(): Instrument {
    const { venue, market, nowMs, witnessStart } = this.#options;
    const added = market.add({ ...venue.extra(this.#extras++), onboardedAtMs: nowMs() }, nowMs());
    witnessStart(added);
    return added;
  }

  #rename(instrument: Instrument): Instrument {
    const { market, nowMs, witnessStart } = this.#options;
    instrument.status = 'closed';
    const { priceDecimals } = instrument.listing;
    const startPrice = Math.max(1, Math.round(instrument.index / 10 ** (FINE - priceDecimals)));
    const onboardedAtMs = nowMs();
    const listing = { ...renameListing(instrument.listing, makeUpCoin(this.#extras++)), startPrice, onboardedAtMs };
    const added = market.add(listing, onboardedAtMs);
    witnessStart(added);
    return added;
  }
}
