// One WebSocket connection: opens, subscribes at the venue's pace, writes every frame, watches for silence of data, ends once.
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Logger } from '../../infra/runtime/log.ts';
import { LIMITS } from '../../infra/runtime/topics.ts';
import type { Slot, Venue } from '../venue.ts';
import type { BookClient, BookSnapshots } from './book-snapshots.ts';
import { createBookWatch } from './book-watch.ts';
import type { ConnectionLog, LossCause, Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { retryAfterMs } from './rest-client.ts';

export type SocketSlot = Extract<Slot, { kind: 'socket' }>;

export type LinkDeps = {
  readonly venue: Venue;
  readonly connections: ConnectionLog;
  readonly books: BookSnapshots;
  /** Every known symbol of the venue, for covers that name none. */
  readonly symbols: () => Iterable<string>;
  readonly meters: VenueMeters;
  readonly log: Logger;
};

export type Link = {
  readonly slot: SocketSlot;
  readonly source: Source;
  readonly openedMs: number;
  /** Subscriptions are sent and answered, data has come since, and the books are whole: it can stand alone. */
  readonly isSettled: () => boolean;
  /** Resolves when it is over, whoever ended it. */
  readonly ended: Promise<void>;
  readonly end: (cause: LossCause, detail: string) => void;
};

/** The attempt to open failed. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';
  readonly loss: LossCause;
  /** The venue asked to wait so long. */
  readonly waitMs: number;
  constructor(loss: LossCause, detail: string, waitMs = 0) {
    super(detail);
    this.loss = loss;
    this.waitMs = waitMs;
  }
}

const HANDSHAKE_MS = 10_000;
const CLOSE_MS = 2_000;
/** Venues that answer no subscription, or one for several, have so long before data alone is believed. */
const ANSWER_MS = 5_000;
/** A book that cannot be had must not keep two connections open for ever. */
const BOOKS_MS = 300_000;

/** Resolves at the handshake's end with a link that already writes. Rejects with ConnectFailure. */
export const openLink = async (slot: SocketSlot, deps: LinkDeps): Promise<Link> => {
  const socket = await handshake(slot.url);
  return runLink(socket, slot, deps);
};

const handshake = (url: string): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: LIMITS.frameBytes,
    });
    socket.once('unexpected-response', (request, answer) => {
      request.destroy();
      reject(toRefusal(answer));
    });
    socket.once('error', (error) => reject(new ConnectFailure('venue_down', error.message)));
    socket.once('open', () => {
      resolve(socket);
      // Frames that came with the handshake wait until whoever awaits this has put on its listeners.
      socket.pause();
    });
  });

const toRefusal = ({ statusCode = 0, headers }: IncomingMessage): ConnectFailure => {
  const detail = `handshake answered ${statusCode}`;
  if (statusCode !== 429 && statusCode !== 418) {
    return new ConnectFailure(statusCode >= 500 ? 'venue_down' : 'connection_lost', detail);
  }
  const retryAfter = headers['retry-after'];
  const asked = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  return new ConnectFailure('venue_rate_limit', detail, retryAfterMs({ status: statusCode, headers: asked }) ?? 0);
};

const bookSymbols = (slot: SocketSlot, all: Iterable<string>): Iterable<string> => {
  const covers = slot.covers.filter(({ layers }) => layers.includes('book'));
  return new Set(covers.flatMap(({ symbols }) => symbols ?? [...all]));
};

const runLink = (socket: WebSocket, slot: SocketSlot, deps: LinkDeps): Link => {
  const { venue, connections, books, meters, log } = deps;
  const openedMs = performance.now();
  const source = connections.open({ slot: slot.id, shards: slot.shards, url: slot.url, covers: slot.covers });
  const watch = createBookWatch({ rule: venue.bookRule, symbols: bookSymbols(slot, deps.symbols()), nowMs: openedMs });
  const client: BookClient = { source, watch };
  const over = new AbortController();
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>();
  let dataMs: number | null = null;
  let subscribedMs: number | null = null;
  let answers = 0;
  let paused = false;
  let silenceTimer: NodeJS.Timeout | undefined;
  let pingTimer: NodeJS.Timeout | undefined;

  const end = (cause: LossCause, detail: string): void => {
    if (over.signal.aborted) return;
    over.abort();
    clearTimeout(silenceTimer);
    clearInterval(pingTimer);
    source.lost(cause, detail);
    books.remove(client);
    log.info({ slot: slot.id, conn_id: source.connId, cause, detail }, 'connection ended');
    if (paused) meters.paused(-1);
    socket.close();
    setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    resolveEnded();
  };
  const send = (text: string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  };

  const readLess = async (): Promise<void> => {
    if (paused || !connections.isFull()) return;
    paused = true;
    meters.paused(1);
    socket.pause();
    await connections.ready();
    if (over.signal.aborted) return;
    paused = false;
    meters.paused(-1);
    // What the venue sent meanwhile is still to be read: that was our silence, not the venue's.
    dataMs = performance.now();
    socket.resume();
  };

  const onText = (text: string, bytes: number): void => {
    const what = venue.classify(text);
    meters.message(slot.id, what, bytes);
    if (what === 'data') dataMs = performance.now();
    if (what === 'ack') answers += 1;
    if (what === 'error') log.warn({ slot: slot.id, frame: text.slice(0, 500) }, 'venue answered an error');
    const reply = venue.replyTo?.(text) ?? null;
    if (reply !== null) send(reply);
    if (what === 'data') onBook(text);
  };
  const onBook = (text: string): void => {
    const chain = venue.sequence(text);
    if (!chain) return;
    const broke = watch.take(chain, performance.now());
    if (!broke) return;
    log.info({ slot: slot.id, symbol: chain.symbol }, 'book sequence broke');
    if (venue.bookRule.style === 'snapshot') books.wake();
    // Such a venue sends a snapshot at each subscription only.
    else end('sequence_break', `${chain.symbol}: subscribing again`);
  };
  const onFrame = (payload: Buffer): void => {
    source.frame(payload);
    try {
      onText((venue.decode?.(payload) ?? payload).toString(), payload.byteLength);
    } catch (error) {
      // It is in the log as it came; what cannot be read is the task's to report.
      log.debug({ err: error, slot: slot.id }, 'unreadable frame');
    }
    void readLess();
  };

  const silentMs = (): number => performance.now() - (dataMs ?? openedMs);
  const watchSilence = (): void => {
    const leftMs = slot.silenceMs - silentMs();
    silenceTimer = setTimeout(onSilenceTimer, paused ? slot.silenceMs : Math.max(leftMs, 0));
  };
  // After a stall of our own, frames that already arrived are read between this timer and the next immediate.
  const onSilenceTimer = (): void => {
    setImmediate(() => {
      if (over.signal.aborted) return;
      if (paused || silentMs() < slot.silenceMs) watchSilence();
      else end('connection_lost', `no data for ${slot.silenceMs} ms`);
    });
  };

  const subscribe = async (): Promise<void> => {
    for (const [index, frame] of slot.subscribe.entries()) {
      if (index > 0) await pause(1_000 / venue.limits.subscribePerSecond, undefined, { signal: over.signal });
      send(frame);
    }
    subscribedMs = performance.now();
  };
  const isSettled = (): boolean => {
    if (over.signal.aborted || subscribedMs === null || dataMs === null || dataMs < subscribedMs) return false;
    const nowMs = performance.now();
    const answered = answers >= slot.subscribe.length || nowMs - subscribedMs > ANSWER_MS;
    return answered && (watch.allWhole() || nowMs - openedMs > BOOKS_MS);
  };

  socket.on('message', (data) => onFrame(data as Buffer));
  socket.on('error', (error) => end('connection_lost', error.message));
  socket.on('close', (code, reason) => end('connection_lost', `closed with ${code} ${reason.toString()}`.trim()));
  books.add(client);
  const { ping } = venue;
  if (ping) pingTimer = setInterval(() => send(ping.frame), ping.everyMs);
  subscribe().catch(() => undefined);
  watchSilence();
  socket.resume();
  log.info({ slot: slot.id, conn_id: source.connId }, 'connection open');
  return { slot, source, openedMs, isSettled, ended, end };
};
