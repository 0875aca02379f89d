// A collector of one simulated venue in virtual time: it follows the venue's own plan and writes frames and responses as `ingest` does.
import { Registry } from 'prom-client';
import { type BookWatch, createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { createConnectionLog, type Source } from '../../../ingest/feed/connection-log.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { CollectedVenue, Cover, PollSlot, Slot, SocketSlot } from '../../../ingest/venues/contract/feed.ts';
import type { VenueRequest } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { shardOf } from '../../../schemas/shards.ts';
import type { CapabilityBody } from '../../../schemas/topics.ts';
import type { VenueHost } from '../simulator/venue-host.ts';
import { createMemorySocket, type MemorySocket } from './memory-socket.ts';
import type { VirtualClock, VirtualLog } from './virtual-log.ts';

export type VirtualCollector = {
  /** Writes capability and listings, and opens every slot of the plan. */
  readonly start: () => void;
  /** Does what is due at the clock's instant: commands, pings, polls, book snapshots, reconnects, a tick. */
  readonly tend: () => void;
  /** Runs each poll for one of the layers once, for a venue with one look a minute. */
  readonly look: (layers: ReadonlySet<string>) => void;
  /** Changes the collected layers from here on. */
  readonly change: (capability: CapabilityBody) => void;
  /** Ends the connections and publishes that no layer is collected. */
  readonly stop: (capability: CapabilityBody) => void;
};

type Options = {
  readonly venue: CollectedVenue;
  readonly host: VenueHost;
  readonly shards: number;
  readonly clock: VirtualClock;
  readonly log: VirtualLog;
  readonly capability: CapabilityBody;
  /** Opens the slots that deliver one of these layers. */
  readonly layers: ReadonlySet<string>;
  /** One connection carries everything. */
  readonly isSingle?: true;
};

type Link = {
  readonly slot: SocketSlot;
  source: Source | null;
  socket: MemorySocket | null;
  books: BookWatch | null;
  unsent: string[];
  sentMs: number;
  pingedMs: number;
  againMs: number;
};
type Poll = { readonly slot: PollSlot; readonly source: Source; next: number; dueMs: number };

const COLLECTOR = 'past';
/** The longest possible: connections count as lost after three seconds without a message (F-02). */
const TICK_MS = 2_750;
const RECONNECT_MS = 5_000;
const SNAPSHOT_AGAIN_MS = 2_000;
/** Latency from the venue to the collector: a minimum, and the most that is added to it. */
const TRIP_MICROS = 38_000;
const JITTER_MICROS = 9_001;

export const createVirtualCollector = (options: Options): VirtualCollector => {
  const { venue, host, shards, clock, log, layers } = options;
  let single: Source | null = null;
  let messages = 0;
  /** Receipts differ by some milliseconds, deterministically. */
  const nowMicros = (): number => {
    messages += 1;
    return clock.ms * 1_000 + TRIP_MICROS + ((messages * 7_919) % JITTER_MICROS);
  };
  const connections = createConnectionLog({
    writer: log.writer,
    nowMicros,
    collector: COLLECTOR,
    shards,
    meters: createMeters(new Registry()).venue(venue.id),
    onTickSkipped: () => undefined,
  });
  const endpoints = Object.fromEntries(
    Object.entries(host.venue.endpoints).map(([name, { protocol, path }]) => [
      name,
      `${protocol}://127.0.0.1/${venue.id}${path}`,
    ]),
  );
  const everyShard = Array.from({ length: shards }, (_, shard) => shard);
  const toHost = (url: string): URL => new URL(url.replace(`/${venue.id}`, ''));
  let listings: readonly ListingRecord[] = [];
  let links: readonly Link[] = [];
  let polls: readonly Poll[] = [];
  let tickedMs = 0;

  const delivers = ({ covers }: Slot, wanted: ReadonlySet<string>): boolean =>
    covers.some((cover) => cover.layers.some((name) => wanted.has(name)));

  /** Null when the venue refuses. */
  const ask = ({ method, url, body = '' }: VenueRequest): Buffer | null => {
    const { pathname: path, searchParams: query } = toHost(url);
    const answer = host.ask({ method, path, query, body });
    return answer.status === 200 ? Buffer.from(answer.body) : null;
  };

  const readListings = (): readonly ListingRecord[] => {
    const source = connections.attach({ slot: 'reference', shards: everyShard });
    const state = {};
    const scopes = new Map<string, readonly ListingRecord[]>();
    for (const asked of venue.reference(endpoints)) {
      const payload = ask(asked);
      if (payload === null) throw new Error(`the simulated ${venue.id} refuses ${asked.url}`);
      const request = `${asked.method} ${asked.url}`;
      source.response(request, payload);
      const answer = venue.mapReference(state, { kind: 'response', received_at: clock.ms * 1_000, request, payload });
      if (answer !== null) scopes.set(answer.scope, answer.listings);
    }
    return [...scopes.values()].flat();
  };

  const bookSymbols = (covers: readonly Cover[]): readonly string[] =>
    covers
      .filter((cover) => cover.layers.includes('book'))
      .flatMap(({ symbols }) => symbols ?? listings.map((listing) => listing.venue_symbol));

  const receive = (link: Link, payload: Buffer): void => {
    link.source?.frame(payload);
    const text = payload.toString();
    const reply = venue.replyTo?.(text) ?? null;
    if (reply !== null) link.socket?.send(reply);
    if (link.books === null || venue.classify(text) !== 'data') return;
    const chain = venue.sequence(text);
    if (chain !== null) link.books.take(chain, clock.ms);
  };

  const open = (link: Link): void => {
    const { slot } = link;
    const early: Buffer[] = [];
    const socket = createMemorySocket(
      (payload) => (link.source === null ? void early.push(payload) : receive(link, payload)),
      () => {
        link.source?.lost('connection_lost', 'the venue closed the connection');
        Object.assign(link, { source: null, socket: null, againMs: clock.ms + RECONNECT_MS });
      },
    );
    link.againMs = clock.ms + RECONNECT_MS;
    if (!host.connect(socket.wire, toHost(slot.url))) {
      connections.failed({ slot: slot.id, shards: slot.shards }, 'venue_down', 'the venue refuses connections');
      return;
    }
    link.socket = socket;
    link.source =
      single ?? connections.open({ slot: slot.id, shards: slot.shards, url: slot.url, covers: slot.covers });
    link.unsent = [...slot.subscribe];
    link.pingedMs = clock.ms;
    const isAsked = venue.bookRule.style === 'snapshot' && venue.bookSnapshot !== undefined;
    const symbols = bookSymbols(slot.covers);
    link.books = isAsked ? createBookWatch({ rule: venue.bookRule, symbols, nowMs: clock.ms }) : null;
    for (const payload of early) receive(link, payload);
  };

  const sendNext = (link: Link): void => {
    const { ping, limits } = venue;
    if (clock.ms - link.sentMs < 1_000 / limits.subscribePerSecond) return;
    const isPing = ping?.frame != null && clock.ms - link.pingedMs >= ping.everyMs;
    const frame = link.unsent.shift() ?? (isPing ? ping?.frame : null);
    if (frame == null) return;
    if (isPing) link.pingedMs = clock.ms;
    link.sentMs = clock.ms;
    link.socket?.send(frame);
  };

  const joinBook = ({ books, source, unsent }: Link): void => {
    const need = unsent.length === 0 ? books?.urgent(clock.ms, ['join', 'confirm']) : null;
    const listing = listings.find(({ venue_symbol }) => venue_symbol === need?.symbol);
    if (books == null || need == null || listing === undefined || venue.bookSnapshot === undefined) return;
    books.postpone(need.symbol, clock.ms + SNAPSHOT_AGAIN_MS);
    const asked = venue.bookSnapshot(listing, endpoints);
    const payload = ask(asked);
    if (payload === null) return;
    source?.response(`${asked.method} ${asked.url}`, payload, [shardOf(need.symbol, shards)]);
    const chain = venue.sequence(payload.toString());
    if (chain?.kind === 'snapshot') books.take({ ...chain, symbol: need.symbol }, clock.ms);
  };

  const poll = (one: Poll): void => {
    const { requests } = one.slot;
    const request = requests[one.next % requests.length];
    one.next += 1;
    if (request === undefined) return;
    const since = String(Math.floor((clock.ms - (request.sinceMs ?? 0)) / 1_000));
    const asked = { ...request, url: request.url.replace('{since}', since) };
    const payload = ask(asked);
    if (payload !== null) one.source.response(`${asked.method} ${asked.url}`, payload);
  };

  const tick = (): void => {
    tickedMs = clock.ms;
    connections.tick();
  };

  const tendLink = (link: Link): void => {
    if (link.socket === null) {
      if (clock.ms >= link.againMs) open(link);
      return;
    }
    sendNext(link);
    joinBook(link);
  };

  const tendPoll = (one: Poll): void => {
    while (one.dueMs <= clock.ms) {
      poll(one);
      one.dueMs += one.slot.everyMs / Math.max(1, one.slot.requests.length);
    }
  };

  return {
    start: () => {
      connections.capability(options.capability);
      tick();
      listings = readListings();
      const plan = venue.plan(listings, { shards, shardOf: (symbol) => shardOf(symbol, shards), endpoints });
      const slots = plan.filter((slot) => delivers(slot, layers));
      const everything = { layers: [...layers], symbols: null };
      // In a slot that the live collector opens anew: one that nobody opens again counts as lost (V-01).
      const names = { slot: slots[0]?.id ?? '', shards: everyShard, url: Object.values(endpoints)[0] ?? '' };
      if (options.isSingle) single = connections.open({ ...names, covers: [everything] });
      links = slots.flatMap((slot) => {
        if (slot.kind !== 'socket') return [];
        const begun = { source: null, socket: null, books: null, unsent: [], sentMs: 0, pingedMs: 0, againMs: 0 };
        return [{ slot, ...begun }];
      });
      polls = slots.flatMap((slot) => {
        if (slot.kind !== 'poll') return [];
        const { id, shards: to, covers, requests } = slot;
        const source = single ?? connections.open({ slot: id, shards: to, url: requests[0]?.url ?? '', covers });
        return [{ slot, source, next: 0, dueMs: clock.ms }];
      });
      for (const link of links) open(link);
    },
    tend: () => {
      for (const link of links) tendLink(link);
      for (const one of polls) tendPoll(one);
      if (clock.ms - tickedMs >= TICK_MS) tick();
    },
    look: (wanted) => {
      for (const one of polls.filter(({ slot }) => delivers(slot, wanted)))
        for (const _ of one.slot.requests) poll(one);
    },
    change: connections.capability,
    stop: (off) => {
      for (const { source } of [...links, ...polls]) source?.lost('collector_down', 'the collector stops');
      connections.capability(off);
    },
  };
};
