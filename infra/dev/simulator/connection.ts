// What a connection to a simulated venue is: its limits, its conversation, its frames, and the sockets as venues use them.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RawData } from 'ws';
import type { StreamRef } from './faults.ts';
import type { ConnectionLog } from './sent-log.ts';

export type SocketLimits = {
  readonly streamsPerConnection: number;
  readonly incomingPerSecond: number;
  /** Pings of the WebSocket protocol; infinite where the venue leaves them to the client. */
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
  /** Silence of the client after which the venue closes; infinite where it does not mind. */
  readonly idleMs: number;
  readonly maxAgeMs: number;
  /** A reader this far behind is closed, as venues do. */
  readonly maxBufferedBytes: number;
};

/** What a connection needs of its socket: a `WebSocket`, or one in memory. */
export type Wire = {
  readonly bufferedAmount: number;
  readonly send: (bytes: Buffer, options: { readonly binary: boolean }) => void;
  readonly ping: (data: string) => void;
  readonly close: (code: number, reason?: string) => void;
  readonly terminate: () => void;
  readonly on: (event: 'message' | 'ping' | 'pong' | 'close' | 'error', listener: (data: RawData) => void) => unknown;
};

/** A request to become a WebSocket, as the HTTP server gives it. */
export type Handshake = { readonly request: IncomingMessage; readonly tcp: Duplex; readonly head: Buffer };

export type Connection = {
  readonly log: ConnectionLog;
  readonly scope: string;
  readonly socket: Wire;
  readonly tcp: Socket | null;
  /** By name: also those the venue acknowledges and never delivers. */
  readonly streams: Map<string, StreamRef>;
  readonly openedMs: number;
  form: string;
  isOpen: boolean;
  pingedMs: number;
  pongedMs: number;
  heardMs: number;
  incomingSinceMs: number;
  incoming: number;
  isCorked: boolean;
};

/** One connection's conversation. */
export type Session = {
  readonly receive: (text: string) => void;
  /** Called every few milliseconds: heartbeats of the application. */
  readonly tend?: (nowMs: number) => void;
};

/** How a path is entered; the streams of its `scope` are told apart from those of others. */
export type Door = {
  readonly scope: string;
  /** Spelling of its frames, when the venue has several (`spell`). */
  readonly form?: string;
  readonly open: (connection: Connection) => Session;
};

export type Encoded = { readonly bytes: Buffer; readonly digest: Buffer };

/** One frame in each of its spellings, encoded and hashed at most once. */
export type Frame = {
  readonly ref: StreamRef;
  readonly text: string;
  readonly encoded: Map<string, Encoded>;
};

export type Sockets = {
  /** `url` without the venue's prefix. */
  readonly upgrade: (handshake: Handshake, url: URL) => void;
  /** Opens a connection over a socket in memory; false when the venue refuses it. */
  readonly connect: (wire: Wire, url: URL) => boolean;
  /** False when that was one stream too many: the connection is then closed. */
  readonly subscribe: (connection: Connection, ref: StreamRef) => boolean;
  /** As `subscribe`, for a stream that the venue acknowledges and never delivers. */
  readonly acknowledge: (connection: Connection, ref: StreamRef) => boolean;
  readonly unsubscribe: (connection: Connection, name: string) => void;
  /** Undefined when nobody listens. */
  readonly subscribers: (ref: StreamRef) => ReadonlySet<Connection> | undefined;
  readonly send: (connections: Iterable<Connection>, frame: Frame) => void;
  /** To one connection at once. */
  readonly sendTo: (connection: Connection, frame: Frame) => void;
  /** The same with something that is of no stream: an acknowledgement, a pong. */
  readonly reply: (connection: Connection, text: string) => void;
  /** Pings, ages and flushes; called after each batch of frames. */
  readonly tend: (nowMs: number) => void;
  readonly open: ReadonlySet<Connection>;
  readonly disconnect: (connection: Connection, cause: string) => void;
  readonly close: () => void;
};
