// A connection to a simulated venue: its limits, its session, its frames, and the sockets as venues use them.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RawData } from 'ws';
import type { StreamRef } from './faults.ts';
import type { ConnectionLog } from './sent-log.ts';

export type SocketLimits = {
  readonly streamsPerConnection: number;
  readonly incomingPerSecond: number;
  /** Pings of the WebSocket protocol; infinite where the client sends them. */
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
  /** Silence of the client after which the venue closes; infinite where the venue has no such limit. */
  readonly idleMs: number;
  readonly maxAgeMs: number;
  /** A reader this far behind is disconnected, as venues do. */
  readonly maxBufferedBytes: number;
};

/** The defaults: only a reader that is far behind is disconnected. Each venue states its other limits. */
export const UNLIMITED = {
  pingEveryMs: Number.POSITIVE_INFINITY,
  pongWithinMs: Number.POSITIVE_INFINITY,
  idleMs: Number.POSITIVE_INFINITY,
  maxAgeMs: Number.POSITIVE_INFINITY,
  maxBufferedBytes: 16 * 1_048_576,
} as const satisfies Partial<SocketLimits>;

/** The part of a socket that a connection uses: a `WebSocket`, or one in memory. */
export type Wire = {
  readonly bufferedAmount: number;
  readonly send: (bytes: Buffer, options: { readonly binary: boolean }) => void;
  readonly ping: (data: string) => void;
  readonly close: (code: number, reason?: string) => void;
  readonly terminate: () => void;
  readonly on: (event: 'message' | 'ping' | 'pong' | 'close' | 'error', listener: (data: RawData) => void) => unknown;
};

/** A request to upgrade to a WebSocket, as received from the HTTP server. */
export type Handshake = { readonly request: IncomingMessage; readonly tcp: Duplex; readonly head: Buffer };

export type Connection = {
  readonly log: ConnectionLog;
  readonly scope: string;
  readonly socket: Wire;
  readonly tcp: Socket | null;
  /** By name; includes streams that the venue acknowledges and never delivers. */
  readonly streams: Map<string, StreamRef>;
  readonly openedMs: number;
  form: string;
  isOpen: boolean;
  pingedMs: number;
  pongedMs: number;
  receivedMs: number;
  incomingSinceMs: number;
  incoming: number;
  isCorked: boolean;
};

/** The protocol of one connection. */
export type Session = {
  readonly receive: (text: string) => void;
  /** Called every few milliseconds, for heartbeats of the application. */
  readonly tend?: (nowMs: number) => void;
};

/** Entry of a path; streams of its `scope` are separate from those of other scopes. */
export type Door = {
  readonly scope: string;
  /** Spelling of its frames, when the venue has several (`spell`). */
  readonly form?: string;
  readonly open: (connection: Connection) => Session;
};

export type Encoded = { readonly bytes: Buffer; readonly digest: Buffer };

/** One frame in all its spellings, each encoded and hashed at most once. */
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
  /** False when this exceeds the limit of streams: the connection is then closed. */
  readonly subscribe: (connection: Connection, ref: StreamRef) => boolean;
  /** As `subscribe`, for a stream that the venue acknowledges and never delivers. */
  readonly acknowledge: (connection: Connection, ref: StreamRef) => boolean;
  readonly unsubscribe: (connection: Connection, name: string) => void;
  /** Undefined without subscribers. */
  readonly subscribers: (ref: StreamRef) => ReadonlySet<Connection> | undefined;
  readonly send: (connections: Iterable<Connection>, frame: Frame) => void;
  /** Sends to one connection at once. */
  readonly sendTo: (connection: Connection, frame: Frame) => void;
  /** Sends a message that belongs to no stream: an acknowledgement, a pong. */
  readonly reply: (connection: Connection, text: string) => void;
  /** Pings, ages and flushes; called after each batch of frames. */
  readonly tend: (nowMs: number) => void;
  readonly open: ReadonlySet<Connection>;
  readonly disconnect: (connection: Connection, cause: string) => void;
  readonly close: () => void;
};
