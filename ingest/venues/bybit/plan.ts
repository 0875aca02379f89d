// Bybit's slots: sockets of books and of everything else, a poll of candles of mark and index prices; requests that fill in and confirm.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord, PriceType } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import {
  type PlanEnv,
  type PollRequest,
  RENEW_AFTER_MS,
  SILENCE_MS,
  type Slot,
  type SymbolRequest,
  type Watched,
  type WatchedMember,
} from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { isOpen, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { type Market, toMarket } from './symbols.ts';

/** Levels a side of the followed book, sent every 200 ms. */
const BOOK_DEPTH = 1000;
/** The venue limits the characters of all topics of a connection to 21,000; fewer limit the loss of one socket. */
const BOOKS_PER_CONNECTION = 50;
const PRICES_PER_CONNECTION = 100;
export const STREAMS_PER_CONNECTION = 4 * PRICES_PER_CONNECTION;
/** The venue refuses a whole request for one unknown topic. */
const TOPICS_PER_FRAME = 10;
/** A delta omits or repeats unchanged members. A third of each layer's bound is left for the answer (F-03). */
const TICKER_MEMBERS: readonly WatchedMember[] = [
  { name: 'lastPrice', confirmAfterMs: 20_000 },
  { name: 'markPrice', confirmAfterMs: 20_000 },
  { name: 'openInterest', confirmAfterMs: 20_000 },
  { name: 'volume24h', confirmAfterMs: 80_000 },
  { name: 'fundingRate', confirmAfterMs: 200_000 },
];
/** Documented: a candle is sent every 1 to 60 seconds. */
const CANDLE_SILENCE_MS = 120_000;
/**
 * Every minute's candle must be recorded within 100 s of its end (N-11). Two requests a listing: with 600 listings 15 a second of the venue's
 * 120, of which the collector uses 72 for periodic requests.
 */
const PRICE_CANDLES_EVERY_MS = 80_000;

/** Slots of one market and shard. */
type Group = {
  readonly market: Market;
  readonly shard: number;
  readonly listings: readonly ListingRecord[];
  readonly endpoints: Endpoints;
};

export const planBybit = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const open = sortByAge(listings.filter(isOpen));
  return listShards(env.shards).flatMap((shard) =>
    (['linear', 'inverse'] as const).flatMap((market) => {
      const mine = open.filter((l) => toMarket(l.venue_symbol) === market && env.shardOf(l.venue_symbol) === shard);
      const group = { market, shard, listings: mine, endpoints: env.endpoints };
      return mine.length === 0 ? [] : [...planBooks(group), ...planPrices(group), toPriceCandles(group)];
    }),
  );
};

const listTopics = (kind: string, listings: readonly ListingRecord[]): readonly string[] =>
  listings.map(({ venue_symbol }) => `${kind}.${venue_symbol}`);

const planBooks = (group: Group): Slot[] =>
  splitChunks(group.listings, BOOKS_PER_CONNECTION).map((chunk, i) => {
    const topics = listTopics(`orderbook.${BOOK_DEPTH}`, chunk);
    const id = `${group.market}-book.${group.shard}.${i}`;
    const layers = ['book', 'venue_depth'];
    return toSocket(group, { id, layers, chunk, topics, watched: [{ subscriptions: topics, silenceMs: SILENCE_MS }] });
  });

/** Trades, candles and liquidations may be quiet for long; tickers, which are not, share their socket and show that it is alive. */
const planPrices = (group: Group): Slot[] =>
  splitChunks(group.listings, PRICES_PER_CONNECTION).map((chunk, i) => {
    const tickers = listTopics('tickers', chunk);
    const candles = listTopics('kline.1', chunk);
    const id = `${group.market}-price.${group.shard}.${i}`;
    const layers = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'];
    const topics = [
      ...tickers,
      ...candles,
      ...listTopics('publicTrade', chunk),
      ...listTopics('allLiquidation', chunk),
    ];
    const watched = [
      { subscriptions: tickers, silenceMs: SILENCE_MS, members: TICKER_MEMBERS },
      { subscriptions: candles, silenceMs: CANDLE_SILENCE_MS },
    ];
    return toSocket(group, { id, layers, chunk, topics, watched });
  });

type SocketPlan = {
  readonly id: string;
  readonly layers: readonly string[];
  readonly chunk: readonly ListingRecord[];
  readonly topics: readonly string[];
  readonly watched: readonly Watched[];
};

const toSocket = (group: Group, { id, layers, chunk, topics, watched }: SocketPlan): Slot => ({
  kind: 'socket',
  id,
  shards: [group.shard],
  url: (group.market === 'linear' ? group.endpoints.linear_ws : group.endpoints.inverse_ws) ?? '',
  subscribe: toFrames('subscribe', topics),
  covers: [{ layers, symbols: listSymbols(chunk) }],
  silenceMs: SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
  watched,
});

const toFrames = (op: 'subscribe' | 'unsubscribe', topics: readonly string[]): string[] =>
  splitChunks(topics, TOPICS_PER_FRAME).map((args, i) => JSON.stringify({ req_id: String(i + 1), op, args }));

/** A new subscription starts with the whole book or ticker. */
export const toRenewal = (topics: readonly string[]): string[] => [
  ...toFrames('unsubscribe', topics),
  ...toFrames('subscribe', topics),
];

/** `error:handler not found,topic:tickers.X` names the first unknown topic; the request is sent again without it. */
export const withoutRefused = (refusal: string, request: string): string | null => {
  const topic = /topic:([^\s,"]+)/.exec(refusal)?.[1];
  if (topic === undefined || !request.includes(`"${topic}"`)) return null;
  const { args, ...rest } = JSON.parse(request) as { readonly args: readonly string[] };
  const left = args.filter((arg) => arg !== topic);
  return left.length === 0 ? null : JSON.stringify({ ...rest, args: left });
};

const toGet = (path: string, venueSymbol: string, endpoints: Endpoints): PollRequest => {
  const [name, query = ''] = path.split('?');
  const subject = `category=${toMarket(venueSymbol)}&symbol=${encodeURIComponent(venueSymbol)}`;
  const url = `${endpoints.rest}/v5/market/${name}?${subject}${query === '' ? '' : `&${query}`}`;
  return { method: 'GET', url, weight: 1 };
};

/** The running minute and those that ended since the last answer. */
const toPriceCandles = ({ market, shard, listings, endpoints }: Group): Slot => ({
  kind: 'poll',
  id: `${market}-price-candles.${shard}`,
  shards: [shard],
  requests: listings.flatMap(({ venue_symbol }) =>
    ['mark-price-kline', 'index-price-kline'].map(
      (name): PollRequest => ({
        ...toGet(`${name}?interval=1&limit=3`, venue_symbol, endpoints),
        urgency: 'price_candle',
      }),
    ),
  ),
  everyMs: PRICE_CANDLES_EVERY_MS,
  covers: [{ layers: ['price_candles'], symbols: listSymbols(listings) }],
});

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one, which shows that the last is over. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const limit = (toMs - fromMs) / MS_PER_MINUTE + 2;
  const range = `interval=1&start=${fromMs}&end=${toMs + MS_PER_MINUTE}&limit=${limit}`;
  return toGet(`kline?${range}`, venue_symbol, endpoints);
};

/** Requests the whole ticker of one listing. */
export const toConfirmRequest = (topic: string, endpoints: Endpoints): SymbolRequest | null => {
  const symbol = /^tickers\.(.+)$/.exec(topic)?.[1];
  return symbol === undefined ? null : { symbol, request: toGet('tickers', symbol, endpoints) };
};

/** Levels of an answer that is requested for its update id only: it is numbered like the followed book (docs of market/orderbook). */
export const CONFIRMING_LEVELS = '1';

export const bookConfirmation: NonNullable<Venue['bookConfirmation']> = ({ venue_symbol }, endpoints) =>
  toGet(`orderbook?limit=${CONFIRMING_LEVELS}`, venue_symbol, endpoints);

const PRICES: Readonly<Record<string, PriceType>> = {
  kline: 'trade',
  'mark-price-kline': 'mark',
  'index-price-kline': 'index',
};
/** Default number of candles in an answer, newest first. */
const DEFAULT_LIMIT = 200;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const priceType = PRICES[path.slice(path.lastIndexOf('/') + 1)];
  const symbol = query.get('symbol');
  if (priceType === undefined || symbol === null || query.get('interval') !== '1') return null;
  const [fromMs, toMs] = [readNumber(query, 'start'), readNumber(query, 'end')];
  return toAsked([symbol], priceType, { fromMs, toMs, limit: readNumber(query, 'limit') ?? DEFAULT_LIMIT });
};
