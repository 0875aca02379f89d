// Protocol of Hyperliquid's socket: a greeting, one subscription per command, pings by method, and the end of an idle connection.
import { parseJson } from '../../../../../schemas/json-object.ts';
import type { Connection, Session } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument } from '../../market.ts';
import type { RunningVenue, VenueDeps } from '../../venue.ts';
import { formatFrame } from './frames.ts';
import { SCOPE } from './listings.ts';

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  l2Book: ['book', 'venue_depth'],
  activeAssetCtx: ['mark', 'funding', 'oi', 'stats'],
  trades: ['trades'],
  candle: ['candles'],
};

/** `l2Book:BTC`, kind `l2Book`. */
export const toStreamRef = (kind: string, coin: string): StreamRef => ({
  scope: SCOPE,
  kind,
  name: `${kind}:${coin}`,
  symbol: coin,
  layers: LAYERS[kind] ?? [],
});

type Subscription = Readonly<Record<string, unknown>>;
type Found = { readonly ref: StreamRef; readonly instrument: Instrument };

/** Names are case-sensitive. Null for what this venue lacks: another type, an unknown coin, aggregated books, longer candles. */
function find({ market }: Deps, { type, coin, interval, ...others }: Subscription): Found | null {
  const kind = String(type);
  const instrument = market.find(SCOPE, String(coin));
  if (instrument === undefined || LAYERS[kind] === undefined) return null;
  if (kind === 'candle' ? interval !== '1m' : interval !== undefined) return null;
  if (Object.values(others).some((value) => value !== null)) return null;
  return { ref: toStreamRef(kind, instrument.listing.symbol), instrument };
}

/** A subscription in the venue's spelling, with all its members. */
function spellStream({ kind, symbol }: StreamRef): object {
  if (kind === 'candle') return { type: kind, coin: symbol, interval: '1m' };
  return kind === 'l2Book'
    ? { type: kind, coin: symbol, nSigFigs: null, mantissa: null }
    : { type: kind, coin: symbol };
}

type Deps = Pick<VenueDeps, 'market' | 'sockets'> & {
  /** Sends the first messages to a new subscriber. */
  readonly greet: (connection: Connection, ref: StreamRef, instrument: Instrument) => void;
};

export const findDoor =
  (deps: Deps): RunningVenue['door'] =>
  (url) =>
    url.pathname === '/ws' ? { scope: SCOPE, open: (connection) => openSession(deps, connection) } : null;

/** A connection to which nothing was sent for this long is closed. */
const IDLE_MS = 60_000;

function watchIdle({ sockets }: Deps, connection: Connection): (nowMs: number) => void {
  const { summary } = connection.log;
  let told = summary.frames;
  let sentMs = connection.openedMs;
  return (nowMs) => {
    if (summary.frames !== told) {
      told = summary.frames;
      sentMs = nowMs;
    }
    if (nowMs - sentMs >= IDLE_MS) sockets.disconnect(connection, 'idle');
  };
}

/** The first frame of every connection, the only one that is not JSON. */
const GREETING = 'Websocket connection established.';

function openSession(deps: Deps, connection: Connection): Session {
  const { sockets, greet } = deps;
  const reply = (channel: string, data: unknown): void =>
    sockets.reply(connection, formatFrame(channel, JSON.stringify(data)));

  function change(method: 'subscribe' | 'unsubscribe', asked: Subscription): void {
    const found = find(deps, asked);
    const isHeld = found !== null && connection.streams.has(found.ref.name);
    if (found === null) reply('error', `Invalid subscription ${JSON.stringify(asked)}`);
    else if (isHeld === (method === 'subscribe'))
      reply('error', `Already ${method}d: ${JSON.stringify(spellStream(found.ref))}`);
    else {
      reply('subscriptionResponse', { method, subscription: spellStream(found.ref) });
      if (method === 'unsubscribe') sockets.unsubscribe(connection, found.ref.name);
      else if (sockets.subscribe(connection, found.ref)) greet(connection, found.ref, found.instrument);
    }
  }

  function receive(text: string): void {
    const command = readCommand(text);
    switch (command?.method) {
      case 'ping':
        sockets.reply(connection, '{"channel":"pong"}');
        return;
      case 'subscribe':
      case 'unsubscribe':
        change(command.method, command.subscription);
        return;
      default:
        reply('error', `Error parsing JSON into valid websocket request: ${text}`);
    }
  }

  sockets.reply(connection, GREETING);
  return { receive, tend: watchIdle(deps, connection) };
}

type Command = { readonly method: unknown; readonly subscription: Subscription };

function readCommand(text: string): Command | null {
  const command = parseJson(text);
  if (command === undefined) return null;
  const { method, subscription } = Object(command) as { method?: unknown; subscription?: unknown };
  return { method, subscription: Object(subscription) as Subscription };
}
