// Opens a WebSocket of a venue: requests its address where the venue issues one for each connection, and limits the time of the handshake.
import type { IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import { LIMITS } from '../../infra/runtime/kafka/topics.ts';
import type { CollectedVenue, SocketSlot } from '../venues/contract/feed.ts';
import { VenueError } from '../venues/contract/listings.ts';
import { type LossCause, toLossCause } from './loss-cause.ts';
import { type RestClient, RestError, readRetryAfterMs } from './rest-client.ts';

export type HandshakeDeps = {
  readonly venue: CollectedVenue;
  /** Requests the address where the venue issues one for each connection. */
  readonly rest: RestClient;
  /** Time of a handshake; ten seconds by default. */
  readonly handshakeMs?: number;
};

/** The attempt to open failed. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';
  readonly loss: LossCause;
  /** Pause that the venue requested. */
  readonly waitMs: number;
  constructor(loss: LossCause, detail: string, waitMs = 0) {
    super(detail);
    this.loss = loss;
    this.waitMs = waitMs;
  }
}

const HANDSHAKE_MS = 10_000;

const fetchAddress = async (slot: SocketSlot, { venue, rest }: HandshakeDeps): Promise<string> => {
  if (!venue.prepare) return slot.url;
  try {
    return venue.prepare.socketUrl(await rest.ask(venue.prepare.request(slot.url), 'connection'));
  } catch (error) {
    if (error instanceof RestError) throw new ConnectFailure(toLossCause(error.status, error), error.message);
    if (error instanceof VenueError) throw new ConnectFailure('venue_down', error.message);
    throw error;
  }
};

/** Frames that arrive with the handshake wait in the socket, which is paused. Rejects with ConnectFailure. */
export const openSocket = async (slot: SocketSlot, deps: HandshakeDeps): Promise<WebSocket> => {
  const url = await fetchAddress(slot, deps);
  const { venue, handshakeMs = HANDSHAKE_MS } = deps;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: venue.headers ?? {},
      perMessageDeflate: false,
      maxPayload: LIMITS.frameBytes,
    });
    // The library's own limit is for a server that sends nothing: one byte begins it anew.
    const timer = setTimeout(() => {
      reject(new ConnectFailure('venue_down', `the handshake took longer than ${handshakeMs} ms`));
      socket.terminate();
    }, handshakeMs);
    socket.once('close', () => clearTimeout(timer));
    socket.once('unexpected-response', (request, answer) => {
      clearTimeout(timer);
      request.destroy();
      reject(toRefusal(answer));
    });
    socket.once('error', (error) => reject(new ConnectFailure(toLossCause(null, error), error.message)));
    socket.once('open', () => {
      clearTimeout(timer);
      resolve(socket);
      // Frames that arrived with the handshake wait until the caller has attached its listeners.
      socket.pause();
    });
  });
};

const toRefusal = ({ statusCode = 0, headers }: IncomingMessage): ConnectFailure => {
  const detail = `handshake answered ${statusCode}`;
  if (statusCode !== 429 && statusCode !== 418) {
    return new ConnectFailure(statusCode >= 500 ? 'venue_down' : 'connection_lost', detail);
  }
  const retryAfter = headers['retry-after'];
  const asked = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  return new ConnectFailure('venue_rate_limit', detail, readRetryAfterMs({ status: statusCode, headers: asked }) ?? 0);
};
