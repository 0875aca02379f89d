// Protocol of Binance's sockets: paths, subscribe commands, and the meaning of stream names.
import type { Connection, Door, Session } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { RunningVenue, VenueDeps } from '../../venue.ts';

/** Since April 2026 USD-M is split; the legacy paths acknowledge everything and deliver only public streams. */
type SocketPath = 'public' | 'market' | 'legacy' | 'coinm';

/** Frames wrapped as `{"stream":…,"data":…}`. */
export const COMBINED = 'combined';

const PUBLIC_KINDS = /^(depth|bookTicker|trade|rpiDepth)/;
const PATH = /^\/(?:(public|market|coinm)\/)?(ws|stream)(?:\/(.*))?$/;

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  depth: ['book', 'venue_depth'],
  bookTicker: [],
  markPrice: ['mark', 'funding'],
  indexPrice: ['mark'],
  ticker: ['ticker', 'stats'],
  aggTrade: ['trades'],
  trade: ['trades'],
  forceOrder: ['liquidations'],
  kline: ['candles'],
};

/** `btcusdt@depth@100ms` -> `depth`; `!markPrice@arr` -> `markPriceArr`. */
function toStreamKind(stream: string): string {
  if (stream.startsWith('!')) return `${stream.slice(1).split('@')[0]}Arr`;
  return (stream.split('@')[1] ?? '').replace(/_.*$/, '');
}

export function toStreamRef(scope: string, name: string, symbol: string | null): StreamRef {
  const kind = toStreamKind(name);
  return { scope, kind, name, symbol, layers: LAYERS[kind.replace(/Arr$/, '')] ?? [] };
}

function isDelivered(path: SocketPath, { kind }: StreamRef): boolean {
  if (path === 'coinm') return true;
  return PUBLIC_KINDS.test(kind) === (path !== 'market');
}

export const findDoor =
  (deps: VenueDeps): RunningVenue['door'] =>
  (url): Door | null => {
    const found = PATH.exec(url.pathname);
    if (found === null) return null;
    const isCombined = found[2] === 'stream';
    const listed = isCombined ? (url.searchParams.get('streams') ?? '') : (found[3] ?? '');
    const path = (found[1] ?? 'legacy') as SocketPath;
    return {
      scope: path === 'coinm' ? 'coinm' : 'usdm',
      form: isCombined ? COMBINED : '',
      open: (connection) => {
        const session = openSession(deps, connection, path);
        session.subscribe(listed.split('/').filter((name) => name !== ''));
        return session;
      },
    };
  };

function openSession(
  { market, sockets }: VenueDeps,
  connection: Connection,
  path: SocketPath,
): Session & { readonly subscribe: (names: readonly string[]) => boolean } {
  const { scope } = connection;
  const reply = (value: unknown): void => sockets.reply(connection, JSON.stringify(value));

  /** Streams of listings that do not exist are accepted as well, but send nothing. */
  function toRef(name: string): StreamRef {
    const subject = (name.split('@')[0] ?? '').toUpperCase();
    const isIndex = toStreamKind(name) === 'indexPrice';
    const named = market.instruments.find(
      ({ listing }) => listing.scope === scope && (isIndex ? listing.pair : listing.symbol) === subject,
    );
    return toStreamRef(scope, name, name.startsWith('!') ? null : (named?.listing.symbol ?? subject));
  }

  const take = (ref: StreamRef): boolean =>
    isDelivered(path, ref) ? sockets.subscribe(connection, ref) : sockets.acknowledge(connection, ref);
  const subscribe = (names: readonly string[]): boolean => names.map(toRef).every(take);

  function obey(method: unknown, params: readonly string[], id: unknown): void {
    switch (method) {
      case 'SUBSCRIBE':
        if (subscribe(params)) reply({ result: null, id });
        return;
      case 'UNSUBSCRIBE':
        for (const name of params) sockets.unsubscribe(connection, name);
        reply({ result: null, id });
        return;
      case 'LIST_SUBSCRIPTIONS':
        reply({ result: [...connection.streams.keys()], id });
        return;
      case 'SET_PROPERTY':
        connection.form = params[1] === 'true' ? COMBINED : '';
        reply({ result: null, id });
        return;
      default:
        reply({ error: { code: 2, msg: `Invalid request: unknown variant \`${String(method)}\`` }, id });
    }
  }

  return {
    subscribe,
    receive: (text) => {
      let command: { readonly method?: unknown; readonly params?: unknown; readonly id?: unknown };
      try {
        command = JSON.parse(text) as typeof command;
      } catch {
        reply({ error: { code: 3, msg: 'Invalid JSON: expected value at line 1 column 1' } });
        return;
      }
      const params = Array.isArray(command.params) ? command.params.map(String) : [];
      obey(command.method, params, command.id);
    },
  };
}
