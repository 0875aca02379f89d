// A collector of one simulated venue in virtual time: it follows the venue's own plan and writes frames and responses as `ingest` does.
import { Registry } from 'prom-client';
import { type BookWatch, createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { type ConnectionLog, createConnectionLog, type Source } from '../../../ingest/feed/connection-log.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { CollectedVenue, Cover, PollSlot, Slot, SocketSlot } from '../../../ingest/venues/contract/feed.ts';
import type { VenueRequest } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards, toShard } from '../../../schemas/shards.ts';
import type { CapabilityBody } from '../../../schemas/topics.ts';
import type { VenueHost } from '../simulator/venue-host.ts';
import { createMemorySocket, type MemorySocket } from './memory-socket.ts';
import type { VirtualClock, VirtualLog } from './virtual-log.ts';

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

const canDeliver = ({ covers }: Slot, wanted: ReadonlySet<string>): boolean =>
  covers.some((cover) => cover.layers.some((name) => wanted.has(name)));

export class VirtualCollector {
  readonly #options: Options;
  readonly #connections: ConnectionLog;
  readonly #endpoints: Readonly<Record<string, string>>;
  readonly #everyShard: readonly number[];
  /** The connection that carries everything; null when each slot has its own. */
  #single: Source | null = null;
  #messages = 0;
  #listings: readonly ListingRecord[] = [];
  #links: readonly Link[] = [];
  #polls: readonly Poll[] = [];
  #tickedMs = 0;

  constructor(options: Options) {
    const { venue, host, shards, log } = options;
    this.#options = options;
    this.#everyShard = listShards(shards);
    this.#endpoints = Object.fromEntries(
      Object.entries(host.venue.endpoints).map(([name, { protocol, path }]) => [
        name,
        `${protocol}://127.0.0.1/${venue.id}${path}`,
      ]),
    );
    this.#connections = createConnectionLog({
      writer: log.writer,
      nowMicros: () => this.#readReceipt(),
      collector: COLLECTOR,
      shards,
      meters: createMeters(new Registry()).venue(venue.id),
    });
  }

  /** Writes capability and listings, and opens every slot of the plan. */
  start(): void {
    const { venue, shards, layers, capability, isSingle } = this.#options;
    this.#connections.capability(capability);
    this.#tick();
    this.#listings = this.#readListings();
    const env = { shards, shardOf: (symbol: string) => toShard(symbol, shards), endpoints: this.#endpoints };
    const slots = venue.plan(this.#listings, env).filter((slot) => canDeliver(slot, layers));
    if (isSingle) this.#single = this.#openSingle(slots[0]?.id ?? '');
    this.#links = slots.flatMap((slot) => {
      if (slot.kind !== 'socket') return [];
      const begun = { source: null, socket: null, books: null, unsent: [], sentMs: 0, pingedMs: 0, againMs: 0 };
      return [{ slot, ...begun }];
    });
    this.#polls = slots.flatMap((slot) => (slot.kind === 'poll' ? [this.#openPoll(slot)] : []));
    for (const link of this.#links) this.#open(link);
  }

  /** Does what is due at the clock's instant: commands, pings, polls, book snapshots, reconnects, a tick. */
  tend(): void {
    for (const link of this.#links) this.#tendLink(link);
    for (const one of this.#polls) this.#tendPoll(one);
    if (this.#nowMs - this.#tickedMs >= TICK_MS) this.#tick();
  }

  /** Runs each poll for one of the layers once, for a venue with one look a minute. */
  look(wanted: ReadonlySet<string>): void {
    for (const one of this.#polls.filter(({ slot }) => canDeliver(slot, wanted)))
      for (const _ of one.slot.requests) this.#poll(one);
  }

  /** Changes the collected layers from here on. */
  change(capability: CapabilityBody): void {
    this.#connections.capability(capability);
  }

  /** Ends the connections and publishes that no layer is collected. */
  stop(off: CapabilityBody): void {
    for (const { source } of [...this.#links, ...this.#polls]) source?.lost('collector_down', 'the collector stops');
    this.#connections.capability(off);
  }

  get #nowMs(): number {
    return this.#options.clock.ms;
  }

  /** Receipts differ by some milliseconds, deterministically. */
  #readReceipt(): number {
    this.#messages += 1;
    return this.#nowMs * 1_000 + TRIP_MICROS + ((this.#messages * 7_919) % JITTER_MICROS);
  }

  #toHost(url: string): URL {
    return new URL(url.replace(`/${this.#options.venue.id}`, ''));
  }

  #tick(): void {
    this.#tickedMs = this.#nowMs;
    this.#connections.tick();
  }

  /** Null when the venue refuses. */
  #ask({ method, url, body = '' }: VenueRequest): Buffer | null {
    const { pathname: path, searchParams: query } = this.#toHost(url);
    const answer = this.#options.host.ask({ method, path, query, body });
    return answer.status === 200 ? Buffer.from(answer.body) : null;
  }

  #readListings(): readonly ListingRecord[] {
    const { venue } = this.#options;
    const source = this.#connections.attach({ slot: 'reference', shards: this.#everyShard });
    const state = {};
    const scopes = new Map<string, readonly ListingRecord[]>();
    for (const asked of venue.reference(this.#endpoints)) {
      const payload = this.#ask(asked);
      if (payload === null) throw new Error(`the simulated ${venue.id} refuses ${asked.url}`);
      const request = `${asked.method} ${asked.url}`;
      source.response(request, payload);
      const message = { kind: 'response', received_at: this.#nowMs * 1_000, request, payload } as const;
      const answer = venue.mapReference(state, message);
      if (answer !== null) scopes.set(answer.scope, answer.listings);
    }
    return [...scopes.values()].flat();
  }

  #openPoll(slot: PollSlot): Poll {
    const { id, shards, covers, requests } = slot;
    const source = this.#single ?? this.#connections.open({ slot: id, shards, url: requests[0]?.url ?? '', covers });
    return { slot, source, next: 0, dueMs: this.#nowMs };
  }

  #poll(one: Poll): void {
    const { requests } = one.slot;
    const request = requests[one.next % requests.length];
    one.next += 1;
    if (request === undefined) return;
    const since = String(Math.floor((this.#nowMs - (request.sinceMs ?? 0)) / 1_000));
    const asked = { ...request, url: request.url.replace('{since}', since) };
    const payload = this.#ask(asked);
    if (payload !== null) one.source.response(`${asked.method} ${asked.url}`, payload);
  }

  #tendPoll(one: Poll): void {
    while (one.dueMs <= this.#nowMs) {
      this.#poll(one);
      one.dueMs += one.slot.everyMs / Math.max(1, one.slot.requests.length);
    }
  }

  /** In a slot that the live collector opens anew: one that nobody opens again counts as lost (V-01). */
  #openSingle(slot: string): Source {
    const everything = { layers: [...this.#options.layers], symbols: null };
    const url = Object.values(this.#endpoints)[0] ?? '';
    return this.#connections.open({ slot, shards: this.#everyShard, url, covers: [everything] });
  }

  #listBookSymbols(covers: readonly Cover[]): readonly string[] {
    return covers
      .filter((cover) => cover.layers.includes('book'))
      .flatMap(({ symbols }) => symbols ?? this.#listings.map((listing) => listing.venue_symbol));
  }

  #open(link: Link): void {
    const { venue, host } = this.#options;
    const { slot } = link;
    const early: Buffer[] = [];
    const socket = createMemorySocket(
      (payload) => (link.source === null ? void early.push(payload) : this.#receive(link, payload)),
      () => {
        link.source?.lost('connection_lost', 'the venue closed the connection');
        Object.assign(link, { source: null, socket: null, againMs: this.#nowMs + RECONNECT_MS });
      },
    );
    link.againMs = this.#nowMs + RECONNECT_MS;
    if (!host.connect(socket.wire, this.#toHost(slot.url))) {
      const refused = { slot: slot.id, shards: slot.shards, covers: slot.covers };
      this.#connections.failed(refused, 'venue_down', 'the venue refuses connections');
      return;
    }
    const { id, shards, url, covers } = slot;
    link.socket = socket;
    link.source = this.#single ?? this.#connections.open({ slot: id, shards, url, covers });
    link.unsent = [...slot.subscribe];
    link.pingedMs = this.#nowMs;
    const isAsked = venue.bookRule.style === 'snapshot' && venue.bookSnapshot !== undefined;
    const symbols = this.#listBookSymbols(covers);
    link.books = isAsked ? createBookWatch({ rule: venue.bookRule, symbols, nowMs: this.#nowMs }) : null;
    for (const payload of early) this.#receive(link, payload);
  }

  #receive(link: Link, payload: Buffer): void {
    const { venue } = this.#options;
    link.source?.frame(payload);
    const text = payload.toString();
    const reply = venue.replyTo?.(text) ?? null;
    if (reply !== null) link.socket?.send(reply);
    if (link.books === null || venue.classify(text) !== 'data') return;
    const chain = venue.sequence(text);
    if (chain !== null) link.books.take(chain, this.#nowMs);
  }

  #tendLink(link: Link): void {
    if (link.socket === null) {
      if (this.#nowMs >= link.againMs) this.#open(link);
      return;
    }
    this.#sendNext(link);
    this.#joinBook(link);
  }

  #sendNext(link: Link): void {
    const { ping, limits } = this.#options.venue;
    if (this.#nowMs - link.sentMs < 1_000 / limits.subscribePerSecond) return;
    const isPing = ping?.frame != null && this.#nowMs - link.pingedMs >= ping.everyMs;
    const frame = link.unsent.shift() ?? (isPing ? ping?.frame : null);
    if (frame == null) return;
    if (isPing) link.pingedMs = this.#nowMs;
    link.sentMs = this.#nowMs;
    link.socket?.send(frame);
  }

  #joinBook({ books, source, unsent }: Link): void {
    const { venue, shards } = this.#options;
    const need =
      unsent.length === 0 ? (books?.oldest(this.#nowMs, 'join') ?? books?.oldest(this.#nowMs, 'confirm')) : null;
    const listing = this.#listings.find(({ venue_symbol }) => venue_symbol === need?.symbol);
    if (books == null || need == null || listing === undefined || venue.bookSnapshot === undefined) return;
    books.postpone(need.symbol, this.#nowMs + SNAPSHOT_AGAIN_MS);
    const asked = venue.bookSnapshot(listing, this.#endpoints);
    const payload = this.#ask(asked);
    if (payload === null) return;
    source?.response(`${asked.method} ${asked.url}`, payload, [toShard(need.symbol, shards)]);
    const chain = venue.sequence(payload.toString());
    if (chain?.kind === 'snapshot') books.take({ ...chain, symbol: need.symbol }, this.#nowMs);
  }
}
