// One WebSocket connection: opens, subscribes at the venue's pace, writes every frame, detects silence of data, ends once.
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { MICROS_PER_MS } from '../../schemas/instants.ts';
import type { CollectedVenue, SocketSlot } from '../venues/contract/feed.ts';
import type { BookClient, BookSnapshots } from './book-snapshots.ts';
import { createBookWatch } from './book-watch.ts';
import type { ClosedMinutes } from './candle-watch.ts';
import { checkJson } from './check-json.ts';
import { type ConnectionLog, type Source, STANDSTILL } from './connection-log.ts';
import type { FillInClient, FillIns } from './fill-ins.ts';
import { type HandshakeDeps, openSocket } from './handshake.ts';
import { createLinkWatch, type LinkWatch } from './link-watch.ts';
import type { LossCause } from './loss-cause.ts';
import type { VenueMeters } from './meters.ts';

export type LinkDeps = HandshakeDeps & {
  readonly venue: CollectedVenue;
  readonly connections: ConnectionLog;
  readonly books: BookSnapshots;
  readonly fillIns: FillIns;
  /** Minutes that earlier links of the slot closed; this link does not request them again. */
  readonly closed: ClosedMinutes;
  readonly endpoints: Readonly<Record<string, string>>;
  /** Wall time in milliseconds, by which minutes of candles are counted. */
  readonly wallMs: () => number;
  /** Every known symbol of the venue, for covers without a list. */
  readonly symbols: () => Iterable<string>;
  readonly meters: VenueMeters;
  /** The venue refused a subscription: the listing may have ended. */
  readonly onRefused: () => void;
  readonly log: Logger;
};

export type Link = {
  readonly slot: SocketSlot;
  readonly source: Source;
  readonly openedMs: number;
  /** Subscriptions are sent and answered, data has arrived since, and the books are whole: no predecessor is needed. */
  readonly isSettled: () => boolean;
  /** Resolves when the connection has ended, for any cause. */
  readonly ended: Promise<void>;
  readonly end: (cause: LossCause, detail: string) => void;
};

const CLOSE_MS = 2_000;
/** What is sent to the venue and not read by it. */
const MOST_UNREAD_BYTES = 1_048_576;
/** Lines about what a venue sends in one connection; metrics count all of it. */
const MOST_LINES = 100;
/** Grace period for venues that acknowledge no subscription, or several with one answer; after it data alone is enough. */
const ANSWER_MS = 5_000;
const RENEW_EVERY_MS = 1_000;
/** Retry interval for a book that a new subscription did not make whole. */
const BOOK_AGAIN_MS = 5_000;
/** A book that never becomes whole must not keep two connections open forever. */
const BOOKS_MS = 300_000;

/** Resolves after the handshake with a link that already writes. Rejects with ConnectFailure. */
export const openLink = async (slot: SocketSlot, deps: LinkDeps): Promise<Link> => {
  const link = new SocketLink(await openSocket(slot, deps), slot, deps);
  link.start();
  return link;
};

const listCovered = (slot: SocketSlot, layer: string, all: Iterable<string>): Iterable<string> => {
  const covers = slot.covers.filter(({ layers }) => layers.includes(layer));
  return new Set(covers.flatMap(({ symbols }) => symbols ?? [...all]));
};

/** State of one open connection; callers use it as a `Link`. */
class SocketLink implements Link {
  readonly slot: SocketSlot;
  readonly source: Source;
  readonly openedMs = performance.now();
  readonly ended: Promise<void>;
  readonly #socket: WebSocket;
  readonly #deps: LinkDeps;
  readonly #client: BookClient;
  readonly #watch: LinkWatch;
  readonly #filler: FillInClient;
  readonly #over = new AbortController();
  readonly #resolveEnded: () => void;
  #silenceTimer: NodeJS.Timeout | undefined;
  #pingTimer: NodeJS.Timeout | undefined;
  #renewTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  /** Subscribe requests in their current form, for a retry without the parts that the venue refuses. */
  #asked: readonly string[];
  readonly #bookRenewedMs = new Map<string, number>();
  #dataMs: number | null = null;
  #subscribedMs: number | null = null;
  #answers = 0;
  #lines = 0;
  #paused = false;

  constructor(socket: WebSocket, slot: SocketSlot, deps: LinkDeps) {
    const { venue, connections, symbols } = deps;
    this.#socket = socket;
    this.slot = slot;
    this.#asked = slot.subscribe;
    this.#deps = deps;
    this.source = connections.open({ slot: slot.id, shards: slot.shards, url: slot.url, covers: slot.covers });
    const covered = listCovered(slot, 'book', symbols());
    this.#client = {
      source: this.source,
      watch: createBookWatch({ rule: venue.bookRule, symbols: covered, nowMs: this.openedMs }),
    };
    this.#watch = createLinkWatch({
      ...deps,
      watched: slot.watched ?? [],
      candles: listCovered(slot, 'candles', symbols()),
      aliveFrom: () => this.source.aliveFrom(),
    });
    this.#filler = { source: this.source, next: (kind) => this.#watch.next(kind) };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  start(): void {
    const { slot, source } = this;
    const [socket, deps] = [this.#socket, this.#deps];
    const { ping } = deps.venue;
    socket.on('message', (data) => this.#onFrame(data as Buffer));
    socket.on('error', (error) => this.end('connection_lost', error.message));
    socket.on('close', (code, reason) =>
      this.end('connection_lost', `closed with ${code} ${reason.toString()}`.trim()),
    );
    deps.books.add(this.#client);
    if (ping) this.#pingTimer = setInterval(() => this.#ping(ping.frame), ping.everyMs);
    this.#sendPaced(slot.subscribe, () => {
      this.#subscribedMs = performance.now();
      deps.fillIns.add(this.#filler);
    });
    this.#renewTimer = setInterval(() => this.#renewSilent(), deps.venue.limits.renewEveryMs ?? RENEW_EVERY_MS);
    this.#watchSilence();
    socket.resume();
    deps.log.info({ slot: slot.id, conn_id: source.connId }, 'connection open');
  }

  end(cause: LossCause, detail: string): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    clearTimeout(this.#silenceTimer);
    clearInterval(this.#pingTimer);
    clearInterval(this.#renewTimer);
    this.source.lost(cause, detail);
    this.#deps.books.remove(this.#client);
    this.#deps.fillIns.remove(this.#filler);
    this.#deps.log.info({ slot: this.slot.id, conn_id: this.source.connId, cause, detail }, 'connection ended');
    if (this.#paused) this.#deps.meters.paused(-1);
    this.#socket.close();
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
    this.#resolveEnded();
  }

  isSettled(): boolean {
    const [dataMs, subscribedMs] = [this.#dataMs, this.#subscribedMs];
    if (this.#over.signal.aborted || subscribedMs === null || dataMs === null || dataMs < subscribedMs) return false;
    const nowMs = performance.now();
    const answered = this.#answers >= this.slot.subscribe.length || nowMs - subscribedMs > ANSWER_MS;
    return answered && (this.#client.watch.allWhole() || nowMs - this.openedMs > BOOKS_MS);
  }

  #onFrame(payload: Buffer): void {
    // Frames arrive until the venue has answered the close; the log takes none after `lost`.
    if (this.#over.signal.aborted) return;
    const { slot, source } = this;
    const deps = this.#deps;
    source.frame(payload);
    if (this.#over.signal.aborted) return;
    try {
      this.#onText((deps.venue.decode?.(payload) ?? payload).toString(), payload.byteLength);
    } catch (error) {
      // The log has the frame as received; the task reports what is unreadable.
      deps.meters.message(slot.id, 'unreadable', payload.byteLength);
      deps.log.debug({ err: error, slot: slot.id }, 'unreadable frame');
      this.#onUnreadable();
    }
    if (!this.#paused && !this.#over.signal.aborted && deps.connections.isFull()) void this.#readLess();
  }

  #onText(text: string, bytes: number): void {
    const { venue, meters, log } = this.#deps;
    const what = venue.classify(text);
    meters.message(this.slot.id, what, bytes);
    const reply = venue.replyTo?.(text) ?? null;
    if (reply !== null) this.#send(reply);
    if (what === 'ack') {
      this.#answers += 1;
      this.#watch.begin(text);
    }
    if (what === 'error') {
      if (this.#mayLog()) log.warn({ slot: this.slot.id, frame: text.slice(0, 500) }, 'venue answered an error');
      this.#onRefusal(text);
    }
    if (what !== 'data') return;
    this.#dataMs = performance.now();
    this.#watch.take(text);
    this.#onBook(text);
  }

  /** What cannot be read may be a change of a book: without ids no later one shows that it is missing, and only a new connection brings a snapshot. */
  #onUnreadable(): void {
    const { slot } = this;
    if (this.#deps.venue.bookRule.isUnnumbered !== true || !slot.covers.some(({ layers }) => layers.includes('book')))
      return;
    this.end('sequence_break', 'a frame that cannot be read may be a change of a book');
  }

  /** An ended listing must not block the other subscriptions of its request. */
  #onRefusal(text: string): void {
    const { venue, onRefused } = this.#deps;
    for (const request of this.#asked) {
      const rest = venue.without?.(text, request) ?? null;
      if (rest === null) continue;
      this.#asked = this.#asked.map((one) => (one === request ? rest : one));
      this.#sendPaced([rest], () => undefined);
      onRefused();
      return;
    }
  }

  #onBook(text: string): void {
    const { venue, books, log } = this.#deps;
    const chain = venue.sequence(text);
    // Its ids, or its symbol, may be in what was cut off.
    if (!chain && (venue.bookRule.isUnnumbered !== true || text.endsWith('}'))) return;
    // A truncated frame may still contain the ids. The task refuses such a frame, so this watch must see the gap too.
    checkJson(text);
    if (!chain) return;
    const broke = this.#client.watch.take(chain, performance.now());
    if (broke && this.#mayLog()) log.info({ slot: this.slot.id, symbol: chain.symbol }, 'book sequence broke');
    if (venue.bookRule.style === 'snapshot') {
      if (broke) books.wake();
      return;
    }
    if (this.#client.watch.isWhole(chain.symbol)) return;
    const frames = this.#makeRenewal(text);
    if (frames.length > 0) this.#subscribeAgain(chain.symbol, frames);
    else if (broke) this.end('sequence_break', `${chain.symbol}: subscribing again`);
  }

  /** Frames that renew the subscription of a frame; empty where only a new connection does. */
  #makeRenewal(text: string): readonly string[] {
    const { venue } = this.#deps;
    const subscription = venue.subscriptionOf?.(text) ?? null;
    return subscription === null ? [] : (venue.renew?.([subscription]) ?? []);
  }

  /** For venues that send a book's snapshot only with a subscription. */
  #subscribeAgain(symbol: string, frames: readonly string[]): void {
    const nowMs = performance.now();
    if (nowMs - (this.#bookRenewedMs.get(symbol) ?? Number.NEGATIVE_INFINITY) < BOOK_AGAIN_MS) return;
    this.#bookRenewedMs.set(symbol, nowMs);
    this.#sendPaced(frames, () => undefined);
  }

  /** Overflow policy `block`: further messages wait in the socket's buffers, then at the venue. */
  async #readLess(): Promise<void> {
    const { connections, meters, wallMs } = this.#deps;
    const fromMs = wallMs();
    this.#paused = true;
    meters.paused(1);
    this.#socket.pause();
    await connections.ready();
    if (this.#over.signal.aborted) return;
    this.#paused = false;
    meters.paused(-1);
    const unreadMs = wallMs() - fromMs;
    if (unreadMs > STANDSTILL / MICROS_PER_MS)
      return this.end('storage_failure', `not read for ${Math.round(unreadMs)} ms: the disk accepts no more`);
    // This process paused the socket: the silence was not the venue's.
    this.#dataMs = performance.now();
    this.#watch.forgive();
    this.#socket.resume();
  }

  #silentMs(): number {
    return performance.now() - (this.#dataMs ?? this.openedMs);
  }

  #watchSilence(): void {
    const { silenceMs } = this.slot;
    const leftMs = this.#paused ? silenceMs : Math.max(silenceMs - this.#silentMs(), 0);
    // After a stall of this process, frames that already arrived are read between a timer and the next immediate.
    this.#silenceTimer = setTimeout(() => setImmediate(() => this.#onSilenceTimer()), leftMs);
  }

  #onSilenceTimer(): void {
    if (this.#over.signal.aborted) return;
    const { silenceMs } = this.slot;
    if (this.#paused || this.#silentMs() < silenceMs) this.#watchSilence();
    else this.end('connection_lost', `no data for ${silenceMs} ms`);
  }

  /** Queues frames behind earlier ones, at the venue's pace; frames unsent at the end of the connection are dropped. */
  #sendPaced(frames: readonly string[], sent: () => void): void {
    const gapMs = 1_000 / this.#deps.venue.limits.subscribePerSecond;
    const { signal } = this.#over;
    const run = async (): Promise<void> => {
      for (const frame of frames) {
        this.#send(frame);
        await pause(gapMs, undefined, { signal });
      }
      sent();
    };
    this.#sending = this.#sending.then(run).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  #renewSilent(): void {
    const { venue, meters, log } = this.#deps;
    if (this.#paused || this.#subscribedMs === null) return;
    const silent = this.#watch.silent();
    const frames = silent.length > 0 ? venue.renew?.(silent) : undefined;
    if (!frames) return;
    log.info(
      { slot: this.slot.id, subscriptions: silent.slice(0, 10), count: silent.length },
      'silent: subscribed again',
    );
    meters.renewed(silent.length);
    this.#sendPaced(frames, () => undefined);
  }

  #ping(frame: string | null): void {
    if (frame !== null) this.#send(frame);
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  #send(text: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(text);
    // A venue that sends its pings as text and never reads would have the answers held without end.
    if (this.#socket.bufferedAmount > MOST_UNREAD_BYTES)
      this.end('connection_lost', `${MOST_UNREAD_BYTES} bytes that were sent to the venue are unread`);
  }

  #mayLog(): boolean {
    this.#lines += 1;
    return this.#lines <= MOST_LINES;
  }
}
