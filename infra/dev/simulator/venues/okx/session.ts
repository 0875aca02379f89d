// Protocol of OKX's public and business sockets: channels and their arguments, text pings, and the end of a silent connection.
import { parseJson } from '../../../../../schemas/json-object.ts';
import type { Connection, Session } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, Market } from '../../market.ts';
import type { RunningVenue, VenueDeps } from '../../venue.ts';
import { formatArgument } from './frames.ts';
import { SCOPE, toIndex } from './listings.ts';

const PATH = /^\/ws\/v5\/(public|business)$/;
type SocketPath = 'public' | 'business';

type Channel = {
  readonly path: SocketPath;
  /** What its argument identifies. */
  readonly of: 'instId' | 'index' | 'instType';
  readonly layers: readonly string[];
};

const CHANNELS: ReadonlyMap<string, Channel> = new Map([
  ['tickers', { path: 'public', of: 'instId', layers: ['ticker', 'stats'] }],
  ['mark-price', { path: 'public', of: 'instId', layers: ['mark'] }],
  ['index-tickers', { path: 'public', of: 'index', layers: ['mark'] }],
  ['funding-rate', { path: 'public', of: 'instId', layers: ['funding'] }],
  ['open-interest', { path: 'public', of: 'instId', layers: ['oi'] }],
  ['books', { path: 'public', of: 'instId', layers: ['book', 'venue_depth'] }],
  ['trades', { path: 'public', of: 'instId', layers: ['trades'] }],
  ['liquidation-orders', { path: 'public', of: 'instType', layers: ['liquidations'] }],
  ['candle1m', { path: 'business', of: 'instId', layers: ['candles'] }],
  ['mark-price-candle1m', { path: 'business', of: 'instId', layers: ['candles'] }],
  ['index-candle1m', { path: 'business', of: 'index', layers: ['candles'] }],
]);

/** Channels for logged-in accounts with enough volume. */
const PRIVILEGED: ReadonlySet<string> = new Set(['books-l2-tbt', 'books50-l2-tbt']);

/** `books:BTC-USDT-SWAP`, kind `books`. `symbol` is null for a stream of several listings. */
export const toStreamRef = (channel: string, subject: string, symbol: string | null): StreamRef => ({
  scope: SCOPE,
  kind: channel,
  name: `${channel}:${subject}`,
  symbol,
  layers: CHANNELS.get(channel)?.layers ?? [],
});

/** The swaps that follow an index. */
export const listFollowers = ({ instruments }: Market, index: string): readonly Instrument[] =>
  instruments.filter(({ listing, status }) => status !== 'closed' && toIndex(listing) === index);

/** A stream of an index belongs to its only follower, or to several. */
export const toIndexRef = (channel: string, index: string, followers: readonly Instrument[]): StreamRef =>
  toStreamRef(channel, index, followers.length === 1 ? (followers[0]?.listing.symbol ?? null) : null);

type Found = { readonly ref: StreamRef; readonly instruments: readonly Instrument[] };
type Argument = { readonly channel?: unknown; readonly instId?: unknown; readonly instType?: unknown };

/** The target of an argument; null when this address has no such channel. */
function find(market: Market, path: SocketPath, { channel, instId, instType }: Argument): Found | null {
  const name = String(channel);
  const known = CHANNELS.get(name);
  if (known?.path !== path) return null;
  if (known.of === 'instType')
    return instType === 'SWAP' ? { ref: toStreamRef(name, 'SWAP', null), instruments: [] } : null;
  const subject = String(instId);
  if (known.of === 'index') {
    const instruments = listFollowers(market, subject);
    return instruments.length === 0 ? null : { ref: toIndexRef(name, subject, instruments), instruments };
  }
  const instrument = market.find(SCOPE, subject);
  if (instrument === undefined || instrument.status === 'closed') return null;
  return { ref: toStreamRef(name, subject, subject), instruments: [instrument] };
}

type Deps = Pick<VenueDeps, 'market' | 'sockets' | 'nowMs'> & {
  /** Sends the first messages to a new subscriber. */
  readonly greet: (connection: Connection, ref: StreamRef, instruments: readonly Instrument[]) => void;
};

export const findDoor =
  (deps: Deps): RunningVenue['door'] =>
  (url) => {
    const path = PATH.exec(url.pathname)?.[1] as SocketPath | undefined;
    return path === undefined ? null : { scope: SCOPE, open: (connection) => openSession(deps, connection, path) };
  };

/** After this long without a message from either side the venue ends the connection. */
const IDLE_MS = 30_000;

function watchIdle({ sockets }: Deps, connection: Connection): (nowMs: number) => void {
  const { summary } = connection.log;
  let pushed = summary.frames;
  let pushedMs = connection.openedMs;
  return (nowMs) => {
    if (summary.frames !== pushed) {
      pushed = summary.frames;
      pushedMs = nowMs;
    }
    if (nowMs - Math.max(pushedMs, connection.receivedMs) >= IDLE_MS) sockets.disconnect(connection, 'idle');
  };
}

/** A connection's commands an hour. */
const COMMANDS_AN_HOUR = 480;
const HOUR_MS = 3_600_000;

function makeCommandBudget({ nowMs }: Deps): () => boolean {
  let sinceMs = nowMs();
  let used = 0;
  return () => {
    if (nowMs() - sinceMs >= HOUR_MS) {
      sinceMs = nowMs();
      used = 0;
    }
    used += 1;
    return used <= COMMANDS_AN_HOUR;
  };
}

const WRONG = "doesn't exist. Please use the correct URL, channel and parameters referring to API document.";

function openSession(deps: Deps, connection: Connection, path: SocketPath): Session {
  const { market, sockets, greet } = deps;
  const isWithinBudget = makeCommandBudget(deps);
  const connId = connection.log.summary.connection.toString(16).padStart(8, 'a4d3ae55');

  const reply = (answer: object): void => sockets.reply(connection, JSON.stringify({ ...answer, connId }));
  const refuse = (code: string, msg: string): void => reply({ event: 'error', code, msg });

  const acknowledge = (event: string, { kind, name }: StreamRef): void =>
    reply({ event, arg: JSON.parse(formatArgument(kind, name.slice(kind.length + 1))) });

  /** Each argument is acknowledged separately. */
  function obey(op: 'subscribe' | 'unsubscribe', asked: Argument): void {
    const found = find(market, path, asked);
    if (PRIVILEGED.has(String(asked.channel))) refuse('60011', 'Please log in');
    else if (found === null)
      refuse('60018', `Wrong URL or channel:${String(asked.channel)},instId:${String(asked.instId)} ${WRONG}`);
    else {
      acknowledge(op, found.ref);
      if (op === 'unsubscribe') sockets.unsubscribe(connection, found.ref.name);
      else if (sockets.subscribe(connection, found.ref)) greet(connection, found.ref, found.instruments);
    }
  }

  function receive(text: string): void {
    if (text === 'ping') {
      sockets.reply(connection, 'pong');
      return;
    }
    const command = readCommand(text);
    if (command === null) refuse('60012', `Invalid request: ${text}`);
    else if (!isWithinBudget()) refuse('60014', 'Requests too frequent');
    else if (command.op !== 'subscribe' && command.op !== 'unsubscribe') refuse('60012', `Invalid request: ${text}`);
    else for (const asked of command.args) obey(command.op, asked);
  }

  return { receive, tend: watchIdle(deps, connection) };
}

type Command = { readonly op: unknown; readonly args: readonly Argument[] };

function readCommand(text: string): Command | null {
  const { op, args } = Object(parseJson(text)) as { readonly op?: unknown; readonly args?: unknown };
  return Array.isArray(args) ? { op, args: args.map((one: unknown) => Object(one) as Argument) } : null;
}
