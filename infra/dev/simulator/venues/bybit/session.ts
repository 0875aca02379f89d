// Protocol of Bybit's public sockets: one path a market, topics, pings; a topic of state begins with its snapshot.
import type { Connection, Session } from '../../connection.ts';
import type { StreamRef } from '../../faults.ts';
import type { Instrument, Market as MarketModel } from '../../market.ts';
import type { RunningVenue, VenueDeps } from '../../venue.ts';

const PATH = /^\/v5\/public\/(linear|inverse)$/;
/** Depths that carry the whole simulated book. */
export const DEPTHS = ['200', '500', '1000'] as const;
const TOPIC = /^(tickers|publicTrade|allLiquidation|kline\.1|orderbook\.(?:200|500|1000))\.([^.]+)$/;

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  tickers: ['ticker', 'mark', 'funding', 'oi', 'stats'],
  orderbook: ['book', 'venue_depth'],
  publicTrade: ['trades'],
  allLiquidation: ['liquidations'],
  kline: ['candles'],
};

/** `orderbook.1000.BTCUSDT`: kind `orderbook`. */
export function toStreamRef(scope: string, name: string, symbol: string): StreamRef {
  const kind = name.slice(0, name.indexOf('.'));
  return { scope, kind, name, symbol, layers: LAYERS[kind] ?? [] };
}

type Deps = Pick<VenueDeps, 'market' | 'sockets'> & {
  /** Sends the initial state to a new subscriber. */
  readonly greet: (connection: Connection, ref: StreamRef, instrument: Instrument) => void;
};

export const findDoor =
  (deps: Deps): RunningVenue['door'] =>
  (url) => {
    const scope = PATH.exec(url.pathname)?.[1];
    return scope === undefined ? null : { scope, open: (connection) => openSession(deps, connection) };
  };

const findInstrument = (market: MarketModel, scope: string, topic: string): Instrument | undefined => {
  const symbol = TOPIC.exec(topic)?.[2];
  const found = symbol === undefined ? undefined : market.find(scope, symbol);
  return found?.status === 'closed' ? undefined : found;
};

type Command = { readonly op: string; readonly reqId: unknown };

function openSession({ market, sockets, greet }: Deps, connection: Connection): Session {
  const { scope } = connection;
  const connId = `51b0d1ce-0000-4000-8000-${String(connection.log.summary.connection).padStart(12, '0')}`;

  function answer({ op, reqId }: Command, outcome: { readonly success: boolean; readonly ret_msg: string }): void {
    sockets.reply(connection, JSON.stringify({ ...outcome, conn_id: connId, req_id: reqId ?? '', op }));
  }
  const accept = (command: Command, message = ''): void => answer(command, { success: true, ret_msg: message });
  const refuse = (command: Command, message: string): void => answer(command, { success: false, ret_msg: message });

  /** A request with one unknown topic is refused whole. */
  function subscribe(topics: readonly string[], command: Command): void {
    const unknown = topics.find((topic) => findInstrument(market, scope, topic) === undefined);
    if (unknown !== undefined) {
      refuse(command, `error:handler not found,topic:${unknown}`);
      return;
    }
    accept(command);
    for (const topic of topics) {
      const instrument = findInstrument(market, scope, topic);
      if (instrument === undefined) continue;
      const ref = toStreamRef(scope, topic, instrument.listing.symbol);
      greet(connection, ref, instrument);
      if (!sockets.subscribe(connection, ref)) return;
    }
  }

  return {
    receive: (text) => {
      let request: { readonly op?: unknown; readonly args?: unknown; readonly req_id?: unknown };
      try {
        request = JSON.parse(text) as typeof request;
      } catch {
        refuse({ op: '', reqId: '' }, 'Request not JSON');
        return;
      }
      const command = { op: String(request.op), reqId: request.req_id };
      const topics = Array.isArray(request.args) ? request.args.map(String) : [];
      if (request.op === 'ping') accept(command, 'pong');
      else if (request.op === 'subscribe') subscribe(topics, command);
      else if (request.op === 'unsubscribe') {
        for (const topic of topics) sockets.unsubscribe(connection, topic);
        accept(command);
      } else refuse(command, `error:unknown op ${command.op}`);
    },
  };
}
