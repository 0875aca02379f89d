// Protocol of Deribit's socket: JSON-RPC calls with ids, channels, and heartbeats whose test requests the client must answer.
import { parseJson } from '../../../../../schemas/json-object.ts';
import type { Connection, Session } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, Market } from '../../market.ts';
import type { RunningVenue, VenueDeps } from '../../venue.ts';
import { answerText, type CallDeps, CallError, call, type Parameters, refuseParameter } from './calls.ts';
import { SCOPE, toIndex } from './listings.ts';

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  ticker: ['ticker', 'mark', 'funding', 'oi', 'stats'],
  book: ['book', 'venue_depth'],
  trades: ['trades', 'liquidations'],
  perpetual: ['mark'],
  chart: ['candles'],
  deribit_price_index: ['mark'],
};

const parseChannel = {
  ticker: (symbol: string) => `ticker.${symbol}.100ms`,
  book: (symbol: string) => `book.${symbol}.100ms`,
  trades: (symbol: string) => `trades.${symbol}.100ms`,
  perpetual: (symbol: string) => `perpetual.${symbol}.100ms`,
  chart: (symbol: string) => `chart.trades.${symbol}.1`,
  deribit_price_index: (index: string) => `deribit_price_index.${index}`,
} as const;
export type Kind = keyof typeof parseChannel;
const KINDS = Object.keys(parseChannel) as readonly Kind[];

export function toStreamRef(kind: Kind, { listing }: Instrument): StreamRef {
  const name = parseChannel[kind](kind === 'deribit_price_index' ? toIndex(listing) : listing.symbol);
  return { scope: SCOPE, kind, name, symbol: listing.symbol, layers: LAYERS[kind] ?? [] };
}

type Found = { readonly ref: StreamRef; readonly instrument: Instrument };

/** Null for a channel that does not exist, which the response omits. */
function find({ instruments }: Market, channel: string): Found | null {
  const kind = KINDS.find((known) => channel.startsWith(`${known}.`));
  if (kind === undefined) return null;
  for (const instrument of instruments) {
    const ref = toStreamRef(kind, instrument);
    if (ref.name === channel && instrument.status !== 'closed') return { ref, instrument };
  }
  return null;
}

type Deps = CallDeps &
  Pick<VenueDeps, 'sockets'> & {
    /** Sends the first data to a new subscriber. */
    readonly greet: (connection: Connection, ref: StreamRef, instrument: Instrument) => void;
  };

export const findDoor =
  (deps: Deps): RunningVenue['door'] =>
  (url) =>
    url.pathname === '/ws/api/v2' ? { scope: SCOPE, open: (connection) => openSession(deps, connection) } : null;

const SHORTEST_INTERVAL_S = 10;
/** A test request without a reply within this time ends the connection. */
const ANSWER_WITHIN_MS = 10_000;

const formatHeartbeat = (type: 'heartbeat' | 'test_request'): string =>
  `{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"${type}"}}`;

type Heartbeat = ReturnType<typeof createHeartbeat>;

/** Every interval the venue sends a heartbeat, or a test request to a client that sent nothing in it. */
function createHeartbeat({ sockets }: Deps, connection: Connection) {
  let everyMs = Number.POSITIVE_INFINITY;
  let sentMs = 0;
  let askedMs: number | null = null;
  return {
    set: (intervalMs: number): void => {
      everyMs = intervalMs;
      sentMs = connection.receivedMs;
      askedMs = null;
    },
    answered: (): void => {
      askedMs = null;
    },
    tend: (nowMs: number): void => {
      if (askedMs !== null && nowMs - askedMs >= ANSWER_WITHIN_MS) {
        sockets.disconnect(connection, 'no_test');
        return;
      }
      if (nowMs - sentMs < everyMs) return;
      const isSilent = nowMs - connection.receivedMs >= everyMs;
      if (isSilent) askedMs ??= nowMs;
      sentMs = nowMs;
      sockets.reply(connection, formatHeartbeat(isSilent ? 'test_request' : 'heartbeat'));
    },
  };
}

function readChannels({ channels }: Parameters): readonly string[] {
  if (!Array.isArray(channels)) throw refuseParameter('channels', 'missing');
  return channels.map(String);
}

const formatTexts = (names: readonly string[]): string => JSON.stringify(names);

const openSession = (deps: Deps, connection: Connection): Session => new Conversation(deps, connection);

class Conversation implements Session {
  readonly #deps: Deps;
  readonly #connection: Connection;
  readonly #heartbeat: Heartbeat;

  constructor(deps: Deps, connection: Connection) {
    this.#deps = deps;
    this.#connection = connection;
    this.#heartbeat = createHeartbeat(deps, connection);
  }

  receive(text: string): void {
    const request = readCall(text);
    try {
      this.#answer(request);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      this.#reply(request.id, error);
    }
  }

  tend(nowMs: number): void {
    this.#heartbeat.tend(nowMs);
  }

  #answer({ id, method, params }: Call): void {
    switch (method) {
      case 'public/subscribe':
        this.#subscribe(id, readChannels(params));
        return;
      case 'public/unsubscribe':
        this.#unsubscribe(id, readChannels(params));
        return;
      case 'public/set_heartbeat':
        this.#setHeartbeat(id, Number(params.interval));
        return;
      case 'public/disable_heartbeat':
        this.#heartbeat.set(Number.POSITIVE_INFINITY);
        this.#reply(id, '"ok"');
        return;
      default:
        if (method === 'public/test') this.#heartbeat.answered();
        this.#reply(id, call(this.#deps, method, params));
    }
  }

  #subscribe(id: unknown, channels: readonly string[]): void {
    const { market, sockets, greet } = this.#deps;
    if (channels.some((channel) => channel.endsWith('.raw')))
      throw new CallError(13_778, 'raw_subscriptions_not_available_for_unauthorized', {});
    const found = channels.flatMap((channel) => find(market, channel) ?? []);
    this.#reply(id, formatTexts(found.map(({ ref }) => ref.name)));
    for (const { ref, instrument } of found) {
      // An existing subscription continues unchanged.
      if (this.#connection.streams.has(ref.name) || !sockets.subscribe(this.#connection, ref)) continue;
      greet(this.#connection, ref, instrument);
    }
  }

  #unsubscribe(id: unknown, channels: readonly string[]): void {
    const held = channels.filter((channel) => this.#connection.streams.has(channel));
    for (const channel of held) this.#deps.sockets.unsubscribe(this.#connection, channel);
    this.#reply(id, formatTexts(held));
  }

  #setHeartbeat(id: unknown, intervalS: number): void {
    if (!(intervalS >= SHORTEST_INTERVAL_S))
      throw refuseParameter('interval', `must be at least ${SHORTEST_INTERVAL_S}`);
    this.#heartbeat.set(intervalS * 1_000);
    this.#reply(id, '"ok"');
  }

  #reply(id: unknown, outcome: string | CallError): void {
    const { sockets, nowMs } = this.#deps;
    sockets.reply(this.#connection, answerText(id, outcome, nowMs()));
  }
}

type Call = { readonly id: unknown; readonly method: string; readonly params: Parameters };

/** An unreadable message calls a method that does not exist. */
function readCall(text: string): Call {
  const { id = null, method, params } = Object(parseJson(text)) as Readonly<Record<string, unknown>>;
  return { id, method: typeof method === 'string' ? method : '', params: Object(params) as Parameters };
}
