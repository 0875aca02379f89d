// WebSocket side of the simulated Binance: paths, subscriptions, pings, limits, and one frame to many connections.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { combined } from './binance-frames.ts';
import type { Market } from './listings.ts';
import { type ConnectionLog, frameDigest, type SentLog } from './sent-log.ts';

/** Since April 2026 USD-M is split; the legacy paths acknowledge everything and deliver only public streams. */
export type SocketPath = 'public' | 'market' | 'legacy' | 'coinm';

export type SocketLimits = {
  readonly streamsPerConnection: number;
  readonly incomingPerSecond: number;
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
  readonly maxAgeMs: number;
  /** A reader this far behind is closed, as the venue does. */
  readonly maxBufferedBytes: number;
};

export const BINANCE_LIMITS: SocketLimits = {
  streamsPerConnection: 1_024,
  incomingPerSecond: 10,
  pingEveryMs: 180_000,
  pongWithinMs: 600_000,
  maxAgeMs: 86_400_000,
  maxBufferedBytes: 16 * 1_048_576,
};

export type Connection = {
  readonly log: ConnectionLog;
  readonly path: SocketPath;
  readonly socket: WebSocket;
  readonly tcp: Socket | null;
  readonly streams: Set<string>;
  readonly openedMs: number;
  combined: boolean;
  pingedMs: number;
  pongedMs: number;
  incomingSinceMs: number;
  incoming: number;
  corked: boolean;
};

/** One frame in its two spellings, each encoded and hashed at most once. */
export type Frame = {
  readonly stream: string;
  readonly text: string;
  encoded: Map<boolean, { readonly bytes: Buffer; readonly digest: Buffer }>;
};

export type Sockets = {
  readonly upgrade: (request: IncomingMessage, tcp: Duplex, head: Buffer) => void;
  readonly subscribers: (market: Market, stream: string) => ReadonlySet<Connection> | undefined;
  readonly send: (connections: Iterable<Connection>, frame: Frame) => void;
  /** Pings, ages and flushes; called after each batch of frames. */
  readonly tend: (nowMs: number) => void;
  readonly open: ReadonlySet<Connection>;
  readonly disconnect: (connection: Connection, cause: string) => void;
  readonly close: () => void;
};

const PUBLIC_KINDS = /^(depth|bookTicker|trade|rpiDepth)/;
const PATH = /^\/(?:(public|market|coinm)\/)?(ws|stream)(?:\/(.*))?$/;

/** `btcusdt@depth@100ms` -> `depth`; `!markPrice@arr` -> `markPriceArr`. */
export function streamKind(stream: string): string {
  if (stream.startsWith('!')) return `${stream.slice(1).split('@')[0]}Arr`;
  return (stream.split('@')[1] ?? '').replace(/_.*$/, '');
}

export function delivers(path: SocketPath, stream: string): boolean {
  if (path === 'coinm') return true;
  return PUBLIC_KINDS.test(streamKind(stream)) === (path !== 'market');
}

function parsePath(
  url: URL,
): { readonly path: SocketPath; readonly combined: boolean; readonly streams: readonly string[] } | null {
  const found = PATH.exec(url.pathname);
  if (found === null) return null;
  const isCombined = found[2] === 'stream';
  const listed = isCombined ? (url.searchParams.get('streams') ?? '') : (found[3] ?? '');
  const path = (found[1] ?? 'legacy') as SocketPath;
  return { path, combined: isCombined, streams: listed.split('/').filter((s) => s !== '') };
}

export function createSockets(deps: {
  readonly nowMs: () => number;
  readonly sent: SentLog;
  readonly limits: SocketLimits;
  readonly refuses: () => boolean;
}): Sockets {
  const { nowMs, sent, limits } = deps;
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const open = new Set<Connection>();
  const subscriptions: Record<Market, Map<string, Set<Connection>>> = { usdm: new Map(), coinm: new Map() };
  let dirty: Connection[] = [];

  const marketOf = (path: SocketPath): Market => (path === 'coinm' ? 'coinm' : 'usdm');

  function subscribe(connection: Connection, stream: string): void {
    connection.streams.add(stream);
    if (!delivers(connection.path, stream)) return;
    const byStream = subscriptions[marketOf(connection.path)];
    const set = byStream.get(stream) ?? new Set();
    set.add(connection);
    byStream.set(stream, set);
  }

  function unsubscribe(connection: Connection, stream: string): void {
    connection.streams.delete(stream);
    subscriptions[marketOf(connection.path)].get(stream)?.delete(connection);
  }

  function closed(connection: Connection, cause: string): void {
    connection.log.closed(cause, nowMs());
    for (const stream of connection.streams) unsubscribe(connection, stream);
    open.delete(connection);
  }

  function disconnect(connection: Connection, cause: string): void {
    closed(connection, cause);
    connection.socket.terminate();
  }

  function encode(frame: Frame, isCombined: boolean): { readonly bytes: Buffer; readonly digest: Buffer } {
    const known = frame.encoded.get(isCombined);
    if (known !== undefined) return known;
    const bytes = Buffer.from(isCombined ? combined(frame.stream, frame.text) : frame.text);
    const fresh = { bytes, digest: frameDigest(bytes) };
    frame.encoded.set(isCombined, fresh);
    return fresh;
  }

  function write(connection: Connection, stream: string, bytes: Buffer, digest: Buffer): void {
    if (connection.socket.bufferedAmount > limits.maxBufferedBytes) {
      disconnect(connection, 'slow_consumer');
      return;
    }
    if (!connection.corked) {
      connection.tcp?.cork();
      connection.corked = true;
      dirty.push(connection);
    }
    connection.socket.send(bytes, { binary: false });
    connection.log.add(stream, digest, nowMs());
  }

  function reply(connection: Connection, value: unknown): void {
    const bytes = Buffer.from(JSON.stringify(value));
    connection.socket.send(bytes, { binary: false });
    connection.log.add('reply', frameDigest(bytes), nowMs());
  }

  function tooMany(connection: Connection): boolean {
    const now = nowMs();
    if (now - connection.incomingSinceMs >= 1_000) {
      connection.incomingSinceMs = now;
      connection.incoming = 0;
    }
    connection.incoming += 1;
    return connection.incoming > limits.incomingPerSecond;
  }

  function subscribeAll(connection: Connection, streams: readonly string[]): boolean {
    for (const stream of streams) subscribe(connection, stream);
    if (connection.streams.size <= limits.streamsPerConnection) return true;
    closed(connection, 'too_many_streams');
    connection.socket.close(1008, 'Too many streams');
    return false;
  }

  function obey(connection: Connection, text: string): void {
    let command: { readonly method?: unknown; readonly params?: unknown; readonly id?: unknown };
    try {
      command = JSON.parse(text) as typeof command;
    } catch {
      reply(connection, { error: { code: 3, msg: 'Invalid JSON: expected value at line 1 column 1' } });
      return;
    }
    const { method, id } = command;
    const params = Array.isArray(command.params) ? command.params.map(String) : [];
    switch (method) {
      case 'SUBSCRIBE':
        if (subscribeAll(connection, params)) reply(connection, { result: null, id });
        return;
      case 'UNSUBSCRIBE':
        for (const stream of params) unsubscribe(connection, stream);
        reply(connection, { result: null, id });
        return;
      case 'LIST_SUBSCRIPTIONS':
        reply(connection, { result: [...connection.streams], id });
        return;
      case 'SET_PROPERTY':
        connection.combined = params[1] === 'true';
        reply(connection, { result: null, id });
        return;
      default:
        reply(connection, { error: { code: 2, msg: `Invalid request: unknown variant \`${String(method)}\`` }, id });
    }
  }

  function accept(socket: WebSocket, tcp: Duplex, url: URL): void {
    const parsed = parsePath(url);
    if (parsed === null) return;
    const now = nowMs();
    const connection: Connection = {
      log: sent.open(url.pathname, now),
      path: parsed.path,
      socket,
      tcp: 'cork' in tcp ? (tcp as Socket) : null,
      streams: new Set(),
      openedMs: now,
      combined: parsed.combined,
      pingedMs: now,
      pongedMs: now,
      incomingSinceMs: now,
      incoming: 0,
      corked: false,
    };
    open.add(connection);
    const incoming = (then: () => void): void => {
      if (tooMany(connection)) disconnect(connection, 'too_many_messages');
      else then();
    };
    socket.on('message', (data: RawData) => incoming(() => obey(connection, data.toString())));
    socket.on('ping', () => incoming(() => undefined));
    socket.on('pong', () =>
      incoming(() => {
        connection.pongedMs = nowMs();
      }),
    );
    socket.on('close', () => closed(connection, 'client'));
    socket.on('error', () => closed(connection, 'client'));
    subscribeAll(connection, parsed.streams);
  }

  return {
    open,
    disconnect,
    subscribers: (market, stream) => {
      const set = subscriptions[market].get(stream);
      return set === undefined || set.size === 0 ? undefined : set;
    },
    upgrade: (request, tcp, head) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      if (deps.refuses() || parsePath(url) === null) {
        tcp.end(
          `HTTP/1.1 ${deps.refuses() ? '503 Service Unavailable' : '404 Not Found'}\r\nConnection: close\r\n\r\n`,
        );
        return;
      }
      server.handleUpgrade(request, tcp, head, (socket) => accept(socket, tcp, url));
    },
    send: (connections, frame) => {
      for (const connection of connections) {
        const { bytes, digest } = encode(frame, connection.combined);
        write(connection, frame.stream, bytes, digest);
      }
    },
    tend: (now) => {
      for (const connection of dirty) {
        connection.tcp?.uncork();
        connection.corked = false;
      }
      dirty = [];
      for (const connection of open) {
        if (now - connection.openedMs >= limits.maxAgeMs) {
          closed(connection, 'age');
          connection.socket.close(1000);
        } else if (now - connection.pongedMs >= limits.pongWithinMs + limits.pingEveryMs)
          disconnect(connection, 'no_pong');
        else if (now - connection.pingedMs >= limits.pingEveryMs) {
          connection.pingedMs = now;
          connection.socket.ping(String(now));
        }
      }
    },
    close: () => {
      for (const connection of open) disconnect(connection, 'stopped');
      server.close();
    },
  };
}
