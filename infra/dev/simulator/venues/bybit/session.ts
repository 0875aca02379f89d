// Conversations on Bybit's public sockets: one path a market, topics, pings; a topic of state begins with its snapshot.

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
export function refOf(scope: string, name: string, symbol: string): StreamRef {
  const kind = name.slice(0, name.indexOf('.'));
  return { scope, kind, name, symbol, layers: LAYERS[kind] ?? [] };
}

type Deps = Pick<VenueDeps, 'market' | 'sockets'> & {
  /** Sends what a new subscriber must know first. */
  readonly greet: (connection: Connection, ref: StreamRef, instrument: Instrument) => void;
};

export const findDoor =
  (deps: Deps): RunningVenue['door'] =>
  (url) => {
    const scope = PATH.exec(url.pathname)?.[1];
    return scope === undefined ? null : { scope, open: (connection) => openSession(deps, connection) };
  };

const instrumentOf = (market: MarketModel, scope: string, topic: string): Instrument | undefined => {
  const symbol = TOPIC.exec(topic)?.[2];
  const found = symbol === undefined ? undefined : market.find(scope, symbol);
  return found?.status === 'closed' ? undefined : found;
};

function openSession({ market, sockets, greet }: Deps, connection: Connection): Session {
  const { scope } = connection;
  const connId = `51b0d1ce-0000-4000-8000-${String(connection.log.summary.connection).padStart(12, '0')}`;

  function reply(op: string, reqId: unknown, refusal: string | null, message = ''): void {
    const answer = { success: refusal === null, ret_msg: refusal ?? message, conn_id: connId, req_id: reqId ?? '', op };
    sockets.reply(connection, JSON.stringify(answer));
  }

  /** A request with one unknown topic is refused whole. */
  function subscribe(topics: readonly string[], reqId: unknown): void {
    const unknown = topics.find((topic) => instrumentOf(market, scope, topic) === undefined);
    if (unknown !== undefined) {
      reply('subscribe', reqId, `error:handler not found,topic:${unknown}`);
      return;
    }
    reply('subscribe', reqId, null);
    for (const topic of topics) {
      const instrument = instrumentOf(market, scope, topic);
      if (instrument === undefined) continue;
      const ref = refOf(scope, topic, instrument.listing.symbol);
      greet(connection, ref, instrument);
      if (!sockets.subscribe(connection, ref)) return;
    }
  }

  return {
    receive: (text) => {
      let command: { readonly op?: unknown; readonly args?: unknown; readonly req_id?: unknown };
      try {
        command = JSON.parse(text) as typeof command;
      } catch {
        reply('', '', 'Request not JSON');
        return;
      }
      const { op, req_id: reqId } = command;
      const topics = Array.isArray(command.args) ? command.args.map(String) : [];
      if (op === 'ping') reply('ping', reqId, null, 'pong');
      else if (op === 'subscribe') subscribe(topics, reqId);
      else if (op === 'unsubscribe') {
        for (const topic of topics) sockets.unsubscribe(connection, topic);
        reply('unsubscribe', reqId, null);
      } else reply(String(op), reqId, `error:unknown op ${String(op)}`);
    },
  };
}
