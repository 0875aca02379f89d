// Bitget's slots: sockets of books and of everything else, one of all liquidations; a poll of candles of mark and index prices; fill-in requests.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord, PriceType } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import {
  type PlanEnv,
  type PollRequest,
  RENEW_AFTER_MS,
  SILENCE_MS,
  type Slot,
  type Watched,
} from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { hasPriceCandles, isOpen, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, shift, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { PRICE_CANDLES_EVERY_MS } from './budget.ts';
import { toProduct } from './symbols.ts';

/** The venue allows 1,000 and recommends at most 50. */
export const TOPICS_PER_CONNECTION = 50;
const TOPICS_PER_FRAME = 5;
/** Topics of one listing on the sockets of prices. */
const PRICES = ['ticker', 'publicTrade', 'kline'];
/** A connection may send 240 subscribe or unsubscribe requests an hour. A renewal takes two, 180 in all; 60 are for first ones and broken books. */
export const RENEW_EVERY_MS = 40_000;

type Topic = {
  readonly instType: string;
  readonly topic: string;
  readonly symbol?: string;
  readonly interval?: string;
};
/** Slots of one shard. */
type Group = { readonly shard: number; readonly listings: readonly ListingRecord[]; readonly endpoints: Endpoints };

export const planBitget = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const open = sortByAge(listings.filter(isOpen));
  const shards = listShards(env.shards);
  const slots = shards.flatMap((shard) => {
    const mine = open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard);
    return planShard({ shard, listings: mine, endpoints: env.endpoints });
  });
  return [...slots, ...planLiquidations(open, shards, env.endpoints)];
};

/** Books have their own sockets, so that a busy book never delays a mark. */
const planShard = (group: Group): Slot[] => [
  ...planSockets(group, { id: 'book', topics: ['books'], layers: ['book', 'venue_depth'], watched: [] }),
  ...planSockets(group, {
    id: 'prices',
    topics: PRICES,
    layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'candles'],
    watched: ['ticker'],
  }),
  ...planPriceCandles(group),
];

type SocketPlan = {
  readonly id: string;
  readonly topics: readonly string[];
  readonly layers: readonly string[];
  /** Topics that are never quiet for long: trades and candles may be; tickers share their socket and show that it is alive. */
  readonly watched: readonly string[];
};

const toTopic = (topic: string, symbol: string): Topic => ({
  instType: toProduct(symbol),
  topic,
  symbol,
  ...(topic === 'kline' ? { interval: '1m' } : {}),
});

const watch = (topic: string, symbols: readonly string[]): Watched => ({
  subscriptions: symbols.map((symbol) => `${topic}:${symbol}`),
  silenceMs: SILENCE_MS,
});

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = ({ shard, listings, endpoints }: Group, { id, topics, layers, watched }: SocketPlan): Slot[] =>
  splitChunks(listings, Math.floor(TOPICS_PER_CONNECTION / topics.length)).map((chunk, i) => {
    const symbols = listSymbols(chunk);
    return {
      ...SOCKET,
      id: `${id}.${shard}.${i}`,
      shards: [shard],
      url: endpoints.ws ?? '',
      subscribe: toFrames(
        'subscribe',
        topics.flatMap((topic) => symbols.map((symbol) => toTopic(topic, symbol))),
      ),
      covers: [{ layers, symbols }],
      watched: watched.map((topic) => watch(topic, symbols)),
    };
  });

const SOCKET = { kind: 'socket', silenceMs: SILENCE_MS, renewAfterMs: RENEW_AFTER_MS } as const;

/**
 * All liquidations of a product arrive in one topic, which concerns every shard and may be quiet for long. The ticker of one listing shows
 * that the socket is alive; it is no reading, since the socket does not cover it.
 */
const planLiquidations = (open: readonly ListingRecord[], shards: readonly number[], endpoints: Endpoints): Slot[] => {
  const [oldest] = open;
  if (oldest === undefined) return [];
  const products = [...new Set(open.map(({ venue_symbol }) => toProduct(venue_symbol)))].toSorted();
  const topics = products.map((instType): Topic => ({ instType, topic: 'liquidation' }));
  return [
    {
      ...SOCKET,
      id: 'liquidations',
      shards,
      url: endpoints.ws ?? '',
      subscribe: toFrames('subscribe', [...topics, toTopic('ticker', oldest.venue_symbol)]),
      covers: [{ layers: ['liquidation'], symbols: null }],
      watched: [watch('ticker', [oldest.venue_symbol])],
    },
  ];
};

const toFrames = (op: 'subscribe' | 'unsubscribe', topics: readonly Topic[]): string[] =>
  splitChunks(topics, TOPICS_PER_FRAME).map((args) => JSON.stringify({ op, args }));

/** A new subscription starts with the newest ticker, or the whole book. */
export const toRenewal = (subscriptions: readonly string[]): string[] => {
  const topics = subscriptions.map((name) => {
    const colon = name.indexOf(':');
    return toTopic(name.slice(0, colon), name.slice(colon + 1));
  });
  return [...toFrames('unsubscribe', topics), ...toFrames('subscribe', topics)];
};

const toCandlePoll = (symbol: string, query: string, endpoints: Endpoints): PollRequest => {
  const subject = `category=${toProduct(symbol).toUpperCase()}&symbol=${encodeURIComponent(symbol)}&interval=1m`;
  return { method: 'GET', url: `${endpoints.rest}/api/v3/market/candles?${subject}&${query}`, weight: 1 };
};

/** The running minute and those that ended since the last answer. */
const planPriceCandles = ({ shard, listings, endpoints }: Group): Slot[] => {
  const symbols = listSymbols(listings.filter(hasPriceCandles));
  const requests = symbols.flatMap((symbol) =>
    ['MARK', 'INDEX'].map(
      (type): PollRequest => ({ ...toCandlePoll(symbol, `type=${type}&limit=3`, endpoints), urgency: 'price_candle' }),
    ),
  );
  const covers = [{ layers: ['price_candles'], symbols }];
  const slot = { id: `price-candles.${shard}`, shards: [shard], requests, everyMs: PRICE_CANDLES_EVERY_MS, covers };
  return symbols.length === 0 ? [] : [{ kind: 'poll', ...slot }];
};

/**
 * Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one, which shows that the last is over. The docs do not state
 * whether the bounds of the query are inclusive: they are one minute wider on both sides.
 */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const [start, end] = [fromMs - MS_PER_MINUTE, toMs + 2 * MS_PER_MINUTE];
  const limit = (end - start) / MS_PER_MINUTE + 1;
  return toCandlePoll(venue_symbol, `startTime=${start}&endTime=${end}&limit=${limit}`, endpoints);
};

const PRICE_TYPES: Readonly<Record<string, PriceType>> = { market: 'trade', mark: 'mark', index: 'index' };

/** The docs of v3 state no default. */
const FEWEST = 100;

/** The docs do not state whether the bounds are inclusive: minutes at the bounds are not counted. */
export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const priceType = PRICE_TYPES[(query.get('type') ?? 'market').toLowerCase()];
  const symbol = query.get('symbol');
  if (!path.endsWith('/v3/market/candles') || symbol === null || priceType === undefined) return null;
  if (query.get('interval') !== '1m') return null;
  const [fromMs, toMs] = [shift(readNumber(query, 'startTime'), 1), shift(readNumber(query, 'endTime'), -1)];
  return toAsked([symbol], priceType, { fromMs, toMs, limit: readNumber(query, 'limit') ?? FEWEST });
};
