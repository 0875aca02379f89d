// WebSocket side of one simulated venue: connections, who subscribed to what, limits, and one frame to many connections.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, WebSocketServer } from 'ws';
import type { Connection, Door, Frame, Session, SocketLimits, Sockets, Wire } from './connection.ts';
import type { StreamRef } from './faults.ts';
import { frameDigest, type SentLog } from './sent-log.ts';

const POLICY_VIOLATION = 1008;

export function createSockets(deps: {
  readonly venue: string;
  readonly nowMs: () => number;
  readonly sent: SentLog;
  readonly limits: SocketLimits;
  readonly refuses: () => boolean;
  readonly door: (url: URL) => Door | null;
  readonly spell: ((form: string, stream: string, text: string) => string) | undefined;
}): Sockets {
  const { nowMs, sent, limits, spell } = deps;
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const sessions = new Map<Connection, Session>();
  const open = new Set<Connection>();
  const subscriptions = new Map<string, Map<string, Set<Connection>>>();
  let dirty: Connection[] = [];

  function openListeners(scope: string): Map<string, Set<Connection>> {
    const known = subscriptions.get(scope) ?? new Map<string, Set<Connection>>();
    subscriptions.set(scope, known);
    return known;
  }

  function subscribe(connection: Connection, ref: StreamRef, isDelivered = true): boolean {
    if (!connection.isOpen) return false;
    connection.streams.set(ref.name, ref);
    if (connection.streams.size > limits.streamsPerConnection) {
      closed(connection, 'too_many_streams');
      connection.socket.close(POLICY_VIOLATION, 'Too many streams');
      return false;
    }
    if (!isDelivered) return true;
    const byName = openListeners(ref.scope);
    byName.set(ref.name, (byName.get(ref.name) ?? new Set()).add(connection));
    return true;
  }

  function unsubscribe(connection: Connection, name: string): void {
    const ref = connection.streams.get(name);
    connection.streams.delete(name);
    if (ref !== undefined) subscriptions.get(ref.scope)?.get(name)?.delete(connection);
  }

  function closed(connection: Connection, cause: string): void {
    connection.log.closed(cause, nowMs());
    connection.isOpen = false;
    for (const name of connection.streams.keys()) unsubscribe(connection, name);
    open.delete(connection);
    sessions.delete(connection);
  }

  function disconnect(connection: Connection, cause: string): void {
    closed(connection, cause);
    connection.socket.terminate();
  }

  function encode({ encoded, text, ref }: Frame, form: string): { readonly bytes: Buffer; readonly digest: Buffer } {
    const known = encoded.get(form);
    if (known !== undefined) return known;
    const bytes = Buffer.from(spell === undefined ? text : spell(form, ref.name, text));
    const fresh = { bytes, digest: frameDigest(bytes) };
    encoded.set(form, fresh);
    return fresh;
  }

  function write(connection: Connection, stream: string, bytes: Buffer, digest: Buffer): void {
    if (!connection.isOpen) return;
    if (connection.socket.bufferedAmount > limits.maxBufferedBytes) {
      disconnect(connection, 'slow_consumer');
      return;
    }
    connection.socket.send(bytes, { binary: false });
    connection.log.add(stream, digest, nowMs());
  }

  /** One write to the operating system for all frames until the next `tend`. */
  function cork(connection: Connection): void {
    if (connection.isCorked || !connection.isOpen) return;
    connection.tcp?.cork();
    connection.isCorked = true;
    dirty.push(connection);
  }

  function isTooMany(connection: Connection): boolean {
    const now = nowMs();
    if (now - connection.incomingSinceMs >= 1_000) {
      connection.incomingSinceMs = now;
      connection.incoming = 0;
    }
    connection.incoming += 1;
    connection.heardMs = now;
    return connection.incoming > limits.incomingPerSecond;
  }

  function newConnection(socket: Wire, tcp: Duplex | null, path: string, { scope, form = '' }: Door): Connection {
    const now = nowMs();
    return {
      log: sent.open(deps.venue, path, now),
      scope,
      socket,
      tcp: tcp !== null && 'cork' in tcp ? (tcp as Socket) : null,
      streams: new Map(),
      openedMs: now,
      form,
      isOpen: true,
      pingedMs: now,
      pongedMs: now,
      heardMs: now,
      incomingSinceMs: now,
      incoming: 0,
      isCorked: false,
    };
  }

  function listen(connection: Connection): void {
    const { socket } = connection;
    const incoming = (then: () => void): void => {
      if (isTooMany(connection)) disconnect(connection, 'too_many_messages');
      else then();
    };
    socket.on('message', (data: RawData) => incoming(() => sessions.get(connection)?.receive(data.toString())));
    socket.on('ping', () => incoming(() => undefined));
    socket.on('pong', () =>
      incoming(() => {
        connection.pongedMs = nowMs();
      }),
    );
    socket.on('close', () => closed(connection, 'client'));
    socket.on('error', () => closed(connection, 'client'));
  }

  function enter(connection: Connection, door: Door): void {
    open.add(connection);
    listen(connection);
    sessions.set(connection, door.open(connection));
  }

  /** Why the venue ends this connection by itself, if it does; pings it when it is time. */
  function look(connection: Connection, now: number): string | null {
    if (now - connection.openedMs >= limits.maxAgeMs) return 'age';
    if (now - connection.pongedMs >= limits.pongWithinMs + limits.pingEveryMs) return 'no_pong';
    if (now - connection.heardMs >= limits.idleMs) return 'idle';
    if (now - connection.pingedMs >= limits.pingEveryMs) {
      connection.pingedMs = now;
      connection.socket.ping(String(now));
    }
    sessions.get(connection)?.tend?.(now);
    return null;
  }

  return {
    open,
    disconnect,
    subscribe,
    unsubscribe,
    subscribers: ({ scope, name }) => {
      const set = subscriptions.get(scope)?.get(name);
      return set === undefined || set.size === 0 ? undefined : set;
    },
    upgrade: (request, tcp, head, url) => {
      const door = deps.door(url);
      if (deps.refuses() || door === null) {
        tcp.end(`HTTP/1.1 ${door === null ? '404 Not Found' : '503 Service Unavailable'}\r\nConnection: close\r\n\r\n`);
        return;
      }
      server.handleUpgrade(request, tcp, head, (socket) => enter(newConnection(socket, tcp, url.pathname, door), door));
    },
    connect: (wire, url) => {
      const door = deps.door(url);
      if (deps.refuses() || door === null) return false;
      enter(newConnection(wire, null, url.pathname, door), door);
      return true;
    },
    send: (connections, frame) => {
      for (const connection of connections) {
        const { bytes, digest } = encode(frame, connection.form);
        cork(connection);
        write(connection, frame.ref.name, bytes, digest);
      }
    },
    sendTo: (connection, frame) => {
      const { bytes, digest } = encode(frame, connection.form);
      write(connection, frame.ref.name, bytes, digest);
    },
    reply: (connection, text) => {
      const bytes = Buffer.from(text);
      write(connection, 'reply', bytes, frameDigest(bytes));
    },
    tend: (now) => {
      for (const connection of open) {
        const cause = look(connection, now);
        if (cause === 'age') {
          closed(connection, cause);
          connection.socket.close(1000);
        } else if (cause !== null) disconnect(connection, cause);
      }
      for (const connection of dirty) {
        connection.tcp?.uncork();
        connection.isCorked = false;
      }
      dirty = [];
    },
    close: () => {
      for (const connection of open) disconnect(connection, 'stopped');
      server.close();
    },
  };
}
