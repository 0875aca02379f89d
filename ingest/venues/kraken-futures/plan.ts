// Kraken Futures' slots: sockets of books and of everything else, a poll of candles of mark and index prices; requests that fill in minutes.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
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
import { isOpen, listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { watchBeginning } from '../shared/watched.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { type ChartType, PRICE_TYPES } from './symbols.ts';

/** The docs limit no products; some 300 listings over four sockets limit the loss of one. */
const SOCKETS = 4;
const PRODUCTS_PER_CONNECTION = 100;
/** Two feeds of a product share a socket. */
export const STREAMS_PER_CONNECTION = 2 * PRODUCTS_PER_CONNECTION;
const PRODUCTS_PER_FRAME = 50;
/**
 * Every minute's candle must be recorded within 100 s of its end (N-11). Two requests a listing: 15 a second with 600 listings, beside 10 a
 * second for their minutes of trades; 37 may be used for both.
 */
const PRICE_CANDLES_EVERY_MS = 80_000;
/** The running minute and the two before it. */
const PRICE_CANDLES_SINCE_MS = 180_000;

/** Books have their own sockets, so that a busy book never delays a mark. */
export const planKrakenFutures = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => [
  ...planSockets(listings, env, { id: 'book', feeds: ['book'], layers: ['book', 'venue_depth'], busy: [] }),
  ...planSockets(listings, env, {
    id: 'prices',
    feeds: ['ticker', 'trade'],
    layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'],
    busy: ['ticker'],
  }),
  ...planPriceCandles(listings, env),
];

type SocketPlan = {
  readonly id: string;
  readonly feeds: readonly string[];
  readonly layers: readonly string[];
  /** Feeds that are never quiet for long: trades may be; tickers share their socket and show that it is alive. */
  readonly busy: readonly string[];
};

const planSockets = (listings: readonly ListingRecord[], env: PlanEnv, plan: SocketPlan): Slot[] =>
  spreadListings(listings, env, {
    sockets: SOCKETS,
    most: PRODUCTS_PER_CONNECTION,
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      return {
        kind: 'socket',
        id: `${plan.id}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: plan.feeds.flatMap((feed) => toFrames(feed, symbols)),
        covers: [{ layers: plan.layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
        // Each subscription begins with a snapshot. One of a product that is not tradeable has none, and is made again until it is.
        watched: plan.feeds.map((feed): Watched => {
          const subscriptions = symbols.map((symbol) => `${feed}:${symbol}`);
          return plan.busy.includes(feed) ? { subscriptions, silenceMs: SILENCE_MS } : watchBeginning(subscriptions);
        }),
      };
    },
  });

type Event = 'subscribe' | 'unsubscribe';

const toFrame = (event: Event, feed: string, product_ids: readonly string[]): string =>
  JSON.stringify({ event, feed, product_ids });

const toFrames = (feed: string, symbols: readonly string[]): string[] =>
  splitChunks(symbols, PRODUCTS_PER_FRAME).map((some) => toFrame('subscribe', feed, some));

/** One product a frame: a refusal, of a product that is not tradeable now, concerns no other. A new subscription starts with the newest ticker, or the whole book. */
export const toRenewal = (subscriptions: readonly string[]): string[] => {
  const listFrames = (event: Event): string[] =>
    subscriptions.map((name) => {
      const colon = name.indexOf(':');
      return toFrame(event, name.slice(0, colon), [name.slice(colon + 1)]);
    });
  return [...listFrames('unsubscribe'), ...listFrames('subscribe')];
};

/** `from` and `to` are seconds, both inclusive. */
const toCandlePoll = (type: ChartType, symbol: string, { charts }: Endpoints): PollRequest => ({
  method: 'GET',
  url: `${charts}/${type}/${encodeURIComponent(symbol)}/1m`,
  weight: 1,
});

const planPriceCandles = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] =>
  listShards(env.shards).flatMap((shard): Slot[] => {
    const own = listings.filter((listing) => isOpen(listing) && env.shardOf(listing.venue_symbol) === shard);
    const symbols = listSymbols(own).toSorted();
    const requests = symbols.flatMap((symbol) =>
      (['mark', 'spot'] as const).map((type): PollRequest => {
        const request = toCandlePoll(type, symbol, env.endpoints);
        const url = `${request.url}?from={since}`;
        return { ...request, url, sinceMs: PRICE_CANDLES_SINCE_MS, urgency: 'price_candle' };
      }),
    );
    const covers = [{ layers: ['price_candles'], symbols }];
    const slot = { id: `price-candles.${shard}`, shards: [shard], requests, everyMs: PRICE_CANDLES_EVERY_MS, covers };
    return symbols.length === 0 ? [] : [{ kind: 'poll', ...slot }];
  });

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one, which shows that the last is over. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const request = toCandlePoll('trade', venue_symbol, endpoints);
  return { ...request, url: `${request.url}?from=${fromMs / 1_000}&to=${(toMs + MS_PER_MINUTE) / 1_000}` };
};

/** A truncated answer is marked as such: it covers the minutes between its oldest and its newest candle. */
export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"candles"') ?? {};
  const [, type = '', symbol] = /\/charts\/v1\/([^/]+)\/([^/]+)\/1m$/.exec(path) ?? [];
  const priceType = PRICE_TYPES.get(type);
  const from = readNumber(query, 'from');
  if (priceType === undefined || symbol === undefined || from === null) return null;
  const to = readNumber(query, 'to');
  const limit = readRequest(message, '"more_candles":true') === null ? Number.POSITIVE_INFINITY : 0;
  const bounds = { fromMs: from * 1_000, toMs: to === null ? null : to * 1_000, limit };
  return toAsked([symbol], priceType, bounds);
};
