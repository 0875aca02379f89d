// HTTP side of the simulated Binance: request weights by the minute, 429, and the answers of the market model.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerRest, type RestAnswer, weightOf } from './binance-rest.ts';
import type { Crossings } from './crossings.ts';
import type { Faults } from './faults.ts';
import type { Market as MarketName } from './listings.ts';
import type { Market } from './market.ts';
import type { TruthLog } from './truth-log.ts';

export type RestDeps = {
  readonly nowMs: () => number;
  readonly market: Market;
  readonly faults: Faults;
  readonly truth: TruthLog;
  readonly crossings: Crossings;
  readonly weightPerMinute: number;
};

export type RestServer = {
  /** True when the request was one of the venue's paths. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Requests by market and path. */
  readonly counts: Readonly<Record<string, number>>;
};

const PATH = /^\/(fapi|dapi)\/v1\/(.+)$/;

export function createRestServer(deps: RestDeps): RestServer {
  const { nowMs, market, faults, truth, crossings, weightPerMinute } = deps;
  const counts: Record<string, number> = {};
  const weights: Record<MarketName, { minute: number; used: number }> = {
    usdm: { minute: 0, used: 0 },
    coinm: { minute: 0, used: 0 },
  };

  /** Weight used this minute after this request; the venue counts by the clock's minute, each market apart. */
  function weigh(marketName: MarketName, weight: number): number {
    const minute = Math.floor(nowMs() / 60_000);
    const used = weights[marketName];
    weights[marketName] = { minute, used: weight + (used.minute === minute ? used.used : 0) };
    return weights[marketName].used;
  }

  function refuse(response: ServerResponse): void {
    const seconds = Math.ceil((60_000 - (nowMs() % 60_000)) / 1_000);
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': String(seconds) });
    response.end(
      `{"code":-1003,"msg":"Too many requests; current limit of IP is ${weightPerMinute} requests per minute."}`,
    );
  }

  function answer(marketName: MarketName, path: string, query: URLSearchParams): RestAnswer {
    const given = answerRest(market, { market: marketName, path, query, nowMs: nowMs(), bidsOf: crossings.bids });
    const instrument = path === 'depth' ? market.find(marketName, query.get('symbol') ?? '') : undefined;
    // A snapshot may stand between two diffs: its own stamp gets its own row of truth.
    if (instrument !== undefined && given.status === 200) truth.snapshot(instrument, crossings.priceOf(instrument));
    return given;
  }

  return {
    counts,
    handle: (request, response) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const found = PATH.exec(url.pathname);
      if (found === null) return false;
      const marketName = found[1] === 'dapi' ? 'coinm' : 'usdm';
      const path = found[2] ?? '';
      counts[`${marketName} ${path}`] = (counts[`${marketName} ${path}`] ?? 0) + 1;
      const used = weigh(marketName, weightOf(path, url.searchParams));
      if (used > weightPerMinute || faults.isActive('rate_limit', nowMs())) {
        refuse(response);
        return true;
      }
      const { status, body } = answer(marketName, path, url.searchParams);
      response.writeHead(status, {
        'content-type': 'application/json;charset=UTF-8',
        'x-mbx-used-weight-1m': String(used),
      });
      response.end(body);
      return true;
    },
  };
}
