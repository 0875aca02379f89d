// Gate's slots: sockets of books, of prices with trades and liquidations, of candles; a poll of the contracts; their frames and requests.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot, type Watched } from '../contract/feed.ts';
import type { Endpoints, VenueRequest } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { isOpen, listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { MARKETS, type Market, toMarket } from './symbols.ts';

/** Three channels of a contract share a socket of prices, three more one of candles; no limit is documented, fewer limit the loss of one socket. */
const CONTRACTS_PER_CONNECTION = 60;
export const STREAMS_PER_CONNECTION = 3 * CONTRACTS_PER_CONNECTION;
/** Approximate number of contracts on a socket. */
const ABOUT = 50;
/** About 1,000 contracts in USDT; a few in USD1 and in bitcoin. */
const BOOK_SOCKETS: Readonly<Record<Market, number>> = { usdt: 6, usd1: 1, btc: 1 };
const CONTRACTS_PER_FRAME = 50;
const DEPTH = 100;
/** A mark price that does not change in this time is not live. */
const MARK_CANDLE_SILENCE_MS = 120_000;
/** Requests carry their send time; public channels ignore it, and a plan has no clock. */
const REQUEST_TIME = 1_700_000_000;

export const PING = JSON.stringify({ time: REQUEST_TIME, channel: 'futures.ping' });

export const planGate = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const ownBy = (market: Market): readonly ListingRecord[] =>
    listings.filter((listing) => isOpen(listing) && toMarket(listing.venue_symbol) === market);
  const markets = MARKETS.map((market) => [market, ownBy(market)] as const).filter(([, own]) => own.length > 0);
  const sockets = markets.flatMap(([market, own]) => {
    const count = Math.ceil(own.length / ABOUT);
    const plan = (feed: Feed): Slot[] => planSockets(own, env, { market, ...feed });
    return [
      ...plan({ ...BOOKS, sockets: BOOK_SOCKETS[market] }),
      ...plan({ ...PRICES, sockets: count, most: CONTRACTS_PER_CONNECTION }),
      ...plan({ ...CANDLES, sockets: count, most: CONTRACTS_PER_CONNECTION }),
    ];
  });
  return markets.length === 0
    ? []
    : [
        ...sockets,
        planContracts(
          markets.map(([market]) => market),
          env,
        ),
      ];
};

type Feed = {
  readonly id: string;
  readonly layers: readonly string[];
  readonly frames: (symbols: readonly string[]) => readonly string[];
  /** Channels that are never quiet for long: trades and liquidations may be. */
  readonly watched: (symbols: readonly string[]) => readonly Watched[];
  readonly sockets: number;
  readonly most?: number;
};

const toFrame = (event: 'subscribe' | 'unsubscribe', channel: string, payload: readonly string[]): string =>
  JSON.stringify({ time: REQUEST_TIME, channel: `futures.${channel}`, event, payload });

/** One contract a frame. No depth is given: with a depth the venue does not report levels that leave it. */
const BOOKS = {
  id: 'order_book_update',
  layers: ['book', 'venue_depth'],
  frames: (symbols: readonly string[]) =>
    symbols.map((symbol) => toFrame('subscribe', 'order_book_update', [symbol, '100ms'])),
  watched: () => [],
};

const PRICES = {
  id: 'prices',
  layers: ['ticker', 'mark', 'oi', 'stats', 'trades', 'liquidation'],
  frames: (symbols: readonly string[]) =>
    ['tickers', 'trades', 'public_liquidates'].flatMap((channel) =>
      splitChunks(symbols, CONTRACTS_PER_FRAME).map((payload) => toFrame('subscribe', channel, payload)),
    ),
  watched: (symbols: readonly string[]) => [
    { subscriptions: symbols.map((symbol) => `tickers:${symbol}`), silenceMs: SILENCE_MS },
  ],
};

/** One series a frame: the prefixes `mark_` and `index_` select the other prices. */
const CANDLES = {
  id: 'candlesticks',
  layers: ['candles'],
  frames: (symbols: readonly string[]) =>
    symbols.flatMap((symbol) =>
      ['', 'mark_', 'index_'].map((prefix) => toFrame('subscribe', 'candlesticks', ['1m', `${prefix}${symbol}`])),
    ),
  watched: (symbols: readonly string[]) => [
    { subscriptions: symbols.map((symbol) => `candlesticks:mark_${symbol}`), silenceMs: MARK_CANDLE_SILENCE_MS },
  ],
};

const planSockets = (
  listings: readonly ListingRecord[],
  env: PlanEnv,
  { market, id, layers, frames, watched, ...spread }: Feed & { readonly market: Market },
): Slot[] =>
  spreadListings(listings, env, {
    ...spread,
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      return {
        kind: 'socket',
        id: `${market}-${id}.${tag}`,
        shards: [shard],
        url: env.endpoints[`${market}_ws`] ?? '',
        subscribe: frames(symbols),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
        watched: watched(symbols),
      };
    },
  });

/** A new subscription starts with the newest value. */
export const toRenewal = (subscriptions: readonly string[]): string[] => {
  const listNames = (channel: string): string[] =>
    subscriptions.filter((name) => name.startsWith(`${channel}:`)).map((name) => name.slice(channel.length + 1));
  const frames = (event: 'subscribe' | 'unsubscribe'): string[] => [
    ...splitChunks(listNames('tickers'), CONTRACTS_PER_FRAME).map((payload) => toFrame(event, 'tickers', payload)),
    ...listNames('candlesticks').map((name) => toFrame(event, 'candlesticks', ['1m', name])),
  ];
  return [...frames('unsubscribe'), ...frames('subscribe')];
};

type Request = { readonly channel?: unknown; readonly payload?: readonly string[] };

/** A refused list of contracts is sent again without the one named in the refusal. */
export const withoutRefused = (refusal: string, request: string): string | null => {
  const { channel, payload = [], ...rest } = JSON.parse(request) as Request;
  const message = /"message":"([^"\\]*)"/.exec(refusal)?.[1] ?? '';
  const words = new Set(message.split(/[^\p{L}\p{N}_]+/u));
  const left = payload.filter((contract) => !words.has(contract));
  const isList =
    channel === 'futures.tickers' || channel === 'futures.trades' || channel === 'futures.public_liquidates';
  if (!isList || !refusal.includes(`"channel":"${channel}"`) || left.length === payload.length) return null;
  return left.length === 0 ? null : JSON.stringify({ ...rest, channel, payload: left });
};

/** Half the time in which the venue calculates a new rate. */
export const FUNDING_MS = 30_000;

/** All contracts of a market. */
export const toContractsRequest = (market: Market, endpoints: Endpoints): VenueRequest => ({
  method: 'GET',
  url: `${endpoints.rest}/futures/${market}/contracts`,
  weight: 1,
});

/** Tickers have a rate without its settlement. */
const planContracts = (markets: readonly Market[], { shards, endpoints }: PlanEnv): Slot => ({
  kind: 'poll',
  id: 'contracts',
  shards: listShards(shards),
  requests: markets.map((market) => toContractsRequest(market, endpoints)),
  everyMs: FUNDING_MS,
  covers: [{ layers: ['funding'], symbols: null }],
});

const toGet = (path: string, symbol: string, { query, endpoints }: { query: string; endpoints: Endpoints }) =>
  ({
    method: 'GET',
    url: `${endpoints.rest}/futures/${toMarket(symbol)}/${path}?contract=${encodeURIComponent(symbol)}&${query}`,
    weight: 1,
  }) satisfies VenueRequest;

export const bookSnapshot: NonNullable<Venue['bookSnapshot']> = ({ venue_symbol }, endpoints) =>
  toGet('order_book', venue_symbol, { query: `limit=${DEPTH}&with_id=true`, endpoints });

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one, which shows that the last is over; bounds are in seconds. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const query = `interval=1m&from=${fromMs / 1_000}&to=${(toMs + MS_PER_MINUTE) / 1_000}`;
  return toGet('candlesticks', venue_symbol, { query, endpoints });
};

/** Maximum number of points between two instants; without bounds and limit an answer has the newest 100. */
const CANDLES_LIMIT = 2_000;
const DEFAULT_LIMIT = 100;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const name = query.get('contract');
  if (!path.endsWith('/candlesticks') || name === null || query.get('interval') !== '1m') return null;
  const [, prefix, symbol = ''] = /^(mark_|index_)?(.+)$/.exec(name) ?? [];
  const priceType = prefix === 'mark_' ? 'mark' : prefix === 'index_' ? 'index' : 'trade';
  const parseBound = (bound: string): number | null => {
    const seconds = readNumber(query, bound);
    return seconds === null ? null : seconds * 1_000;
  };
  const [fromMs, toMs] = [parseBound('from'), parseBound('to')];
  const limit = readNumber(query, 'limit') ?? (fromMs === null ? DEFAULT_LIMIT : CANDLES_LIMIT);
  return toAsked([symbol], priceType, { fromMs, toMs, limit });
};
