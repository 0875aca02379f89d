// WebSocket side of one simulated venue: connections, subscriptions, limits, and fan-out of a frame to many connections.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, WebSocketServer } from 'ws';
import type {
  Connection,
  Door,
  Encoded,
  Frame,
  Handshake,
  Session,
  SocketLimits,
  Sockets,
  Wire,
} from './connection.ts';
import type { StreamRef } from './faults.ts';
import { type ConnectionLog, digestFrame, type SentLog } from './sent-log.ts';

const POLICY_VIOLATION = 1008;

type SocketsOptions = {
  readonly venue: string;
  readonly nowMs: () => number;
  readonly sent: SentLog;
  readonly limits: SocketLimits;
  readonly refuses: () => boolean;
  readonly door: (url: URL) => Door | null;
  readonly spell: ((form: string, stream: string, text: string) => string) | undefined;
};

export const createSockets = (options: SocketsOptions): Sockets => new VenueSockets(options);

class VenueSockets implements Sockets {
  readonly open = new Set<Connection>();
  readonly #options: SocketsOptions;
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  readonly #sessions = new Map<Connection, Session>();
  /** By scope and name of the stream. */
  readonly #subscriptions = new Map<string, Map<string, Set<Connection>>>();
  #corked: Connection[] = [];

  constructor(options: SocketsOptions) {
    this.#options = options;
  }

  upgrade({ request, tcp, head }: Handshake, url: URL): void {
    const door = this.#options.door(url);
    if (this.#options.refuses() || door === null) {
      tcp.end(`HTTP/1.1 ${door === null ? '404 Not Found' : '503 Service Unavailable'}\r\nConnection: close\r\n\r\n`);
      return;
    }
    this.#server.handleUpgrade(request, tcp, head, (socket) => this.#enter({ socket, tcp, path: url.pathname }, door));
  }

  connect(wire: Wire, url: URL): boolean {
    const door = this.#options.door(url);
    if (this.#options.refuses() || door === null) return false;
    this.#enter({ socket: wire, tcp: null, path: url.pathname }, door);
    return true;
  }

  subscribe(connection: Connection, ref: StreamRef): boolean {
    if (!this.acknowledge(connection, ref)) return false;
    const byName = this.#openListeners(ref.scope);
    byName.set(ref.name, (byName.get(ref.name) ?? new Set()).add(connection));
    return true;
  }

  acknowledge(connection: Connection, ref: StreamRef): boolean {
    if (!connection.isOpen) return false;
    connection.streams.set(ref.name, ref);
    if (connection.streams.size <= this.#options.limits.streamsPerConnection) return true;
    this.#forget(connection, 'too_many_streams');
    connection.socket.close(POLICY_VIOLATION, 'Too many streams');
    return false;
  }

  unsubscribe(connection: Connection, name: string): void {
    const ref = connection.streams.get(name);
    connection.streams.delete(name);
    if (ref !== undefined) this.#subscriptions.get(ref.scope)?.get(name)?.delete(connection);
  }

  subscribers({ scope, name }: StreamRef): ReadonlySet<Connection> | undefined {
    const set = this.#subscriptions.get(scope)?.get(name);
    return set === undefined || set.size === 0 ? undefined : set;
  }

  send(connections: Iterable<Connection>, frame: Frame): void {
    for (const connection of connections) {
      const encoded = this.#encode(frame, connection.form);
      this.#cork(connection);
      this.#write(connection, frame.ref.name, encoded);
    }
  }

  sendTo(connection: Connection, frame: Frame): void {
    this.#write(connection, frame.ref.name, this.#encode(frame, connection.form));
  }

  reply(connection: Connection, text: string): void {
    this.#write(connection, 'reply', toEncoded(text));
  }

  tend(now: number): void {
    for (const connection of this.open) this.#tendConnection(connection, now);
    for (const connection of this.#corked) {
      connection.tcp?.uncork();
      connection.isCorked = false;
    }
    this.#corked = [];
  }

  disconnect(connection: Connection, cause: string): void {
    this.#forget(connection, cause);
    connection.socket.terminate();
  }

  close(): void {
    for (const connection of this.open) this.disconnect(connection, 'stopped');
    this.#server.close();
  }

  #enter(entry: Entry, door: Door): void {
    const { venue, nowMs, sent } = this.#options;
    const now = nowMs();
    const connection = toConnection(entry, door, { log: sent.open(venue, entry.path, now), nowMs: now });
    this.open.add(connection);
    this.#listen(connection);
    this.#sessions.set(connection, door.open(connection));
  }

  #listen(connection: Connection): void {
    const { socket } = connection;
    const incoming = (then: () => void): void => {
      if (this.#isTooMany(connection)) this.disconnect(connection, 'too_many_messages');
      else then();
    };
    socket.on('message', (data: RawData) => incoming(() => this.#sessions.get(connection)?.receive(data.toString())));
    socket.on('ping', () => incoming(() => undefined));
    socket.on('pong', () =>
      incoming(() => {
        connection.pongedMs = this.#options.nowMs();
      }),
    );
    socket.on('close', () => this.#forget(connection, 'client'));
    socket.on('error', () => this.#forget(connection, 'client'));
  }

  #isTooMany(connection: Connection): boolean {
    const { nowMs, limits } = this.#options;
    const now = nowMs();
    if (now - connection.incomingSinceMs >= 1_000) {
      connection.incomingSinceMs = now;
      connection.incoming = 0;
    }
    connection.incoming += 1;
    connection.receivedMs = now;
    return connection.incoming > limits.incomingPerSecond;
  }

  #tendConnection(connection: Connection, now: number): void {
    const cause = this.#findEnd(connection, now);
    if (cause === 'age') {
      this.#forget(connection, cause);
      connection.socket.close(1000);
    } else if (cause !== null) this.disconnect(connection, cause);
  }

  /** The reason for which the venue ends this connection by itself, if any; pings it when due. */
  #findEnd(connection: Connection, now: number): string | null {
    const { limits } = this.#options;
    if (now - connection.openedMs >= limits.maxAgeMs) return 'age';
    if (now - connection.pongedMs >= limits.pongWithinMs + limits.pingEveryMs) return 'no_pong';
    if (now - connection.receivedMs >= limits.idleMs) return 'idle';
    if (now - connection.pingedMs >= limits.pingEveryMs) {
      connection.pingedMs = now;
      connection.socket.ping(String(now));
    }
    this.#sessions.get(connection)?.tend?.(now);
    return null;
  }

  #forget(connection: Connection, cause: string): void {
    connection.log.closed(cause, this.#options.nowMs());
    connection.isOpen = false;
    for (const name of connection.streams.keys()) this.unsubscribe(connection, name);
    this.open.delete(connection);
    this.#sessions.delete(connection);
  }

  #openListeners(scope: string): Map<string, Set<Connection>> {
    const known = this.#subscriptions.get(scope) ?? new Map<string, Set<Connection>>();
    this.#subscriptions.set(scope, known);
    return known;
  }

  #encode({ encoded, text, ref }: Frame, form: string): Encoded {
    const { spell } = this.#options;
    const known = encoded.get(form);
    if (known !== undefined) return known;
    const fresh = toEncoded(spell === undefined ? text : spell(form, ref.name, text));
    encoded.set(form, fresh);
    return fresh;
  }

  #write(connection: Connection, stream: string, { bytes, digest }: Encoded): void {
    if (!connection.isOpen) return;
    if (connection.socket.bufferedAmount > this.#options.limits.maxBufferedBytes) {
      this.disconnect(connection, 'slow_consumer');
      return;
    }
    connection.socket.send(bytes, { binary: false });
    connection.log.add(stream, digest, this.#options.nowMs());
  }

  /** Combines all frames until the next `tend` into one write to the operating system. */
  #cork(connection: Connection): void {
    if (connection.isCorked || !connection.isOpen) return;
    connection.tcp?.cork();
    connection.isCorked = true;
    this.#corked.push(connection);
  }
}

function toEncoded(text: string): Encoded {
  const bytes = Buffer.from(text);
  return { bytes, digest: digestFrame(bytes) };
}

type Entry = { readonly socket: Wire; readonly tcp: Duplex | null; readonly path: string };
type Opened = { readonly log: ConnectionLog; readonly nowMs: number };

const toConnection = ({ socket, tcp }: Entry, { scope, form = '' }: Door, { log, nowMs }: Opened): Connection => ({
  log,
  scope,
  socket,
  tcp: tcp !== null && 'cork' in tcp ? (tcp as Socket) : null,
  streams: new Map(),
  openedMs: nowMs,
  form,
  isOpen: true,
  pingedMs: nowMs,
  pongedMs: nowMs,
  receivedMs: nowMs,
  incomingSinceMs: nowMs,
  incoming: 0,
  isCorked: false,
});
