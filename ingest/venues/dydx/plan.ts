// dYdX's slots: one socket of all markets, sockets of books, trades and candles; subscriptions, and requests that fill in minutes.
import { formatInstant, MICROS_PER_MS, MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import { listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, shift, toAsked } from '../shared/covered-minutes.ts';
import { spreadListings } from '../shared/spread-listings.ts';
import { watchBeginning } from '../shared/watched.ts';
import { NO_QUERY } from '../shared/wire.ts';

/** Subscriptions of one channel on one connection. */
const PER_CHANNEL = 32;
export const STREAMS_PER_CONNECTION = 3 * PER_CHANNEL;
/** Sockets are planned half full, so that a hash seldom overfills one. */
const LISTINGS_PLANNED = 16;
/** A quiet book sends nothing; a new subscription sends it whole, before its bound of 30 s (F-03). */
const BOOK_SILENCE_MS = 20_000;

export const planDydx = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const url = env.endpoints.ws ?? '';
  const age = { silenceMs: SILENCE_MS, renewAfterMs: RENEW_AFTER_MS };
  const markets: Slot = {
    kind: 'socket',
    id: 'markets',
    shards: listShards(env.shards),
    url,
    subscribe: [toFrame('subscribe', 'v4_markets')],
    covers: [{ layers: ['mark', 'funding', 'oi', 'stats'], symbols: null }],
    ...age,
  };
  // Markets in final settlement stay listed permanently and have no book.
  const traded = listings.filter(({ values }) => values.status !== 'settling');
  const sockets = spreadListings(traded, env, {
    sockets: toPowerOfTwo(traded.length / LISTINGS_PLANNED),
    most: PER_CHANNEL,
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      const books = symbols.map((symbol) => `v4_orderbook/${symbol}`);
      const events = symbols.flatMap(listEvents);
      return {
        kind: 'socket',
        id: `market.${tag}`,
        shards: [shard],
        url,
        // Trades and candles may be quiet; books, which seldom are, share their socket and show that it is alive.
        subscribe: [...books, ...events].map((name) => toCommand('subscribe', name)),
        covers: [{ layers: ['book', 'venue_depth', 'trades', 'liquidation', 'candles'], symbols }],
        ...age,
        // The first message of trades or candles is the answer to the subscription. The venue refuses some: it "could not fetch data" for the answer.
        watched: [{ subscriptions: books, silenceMs: BOOK_SILENCE_MS }, watchBeginning(events)],
      };
    },
  });
  return [markets, ...sockets];
};

const listEvents = (symbol: string): readonly string[] => [`v4_trades/${symbol}`, `v4_candles/${symbol}/1MIN`];

/** The number of sockets doubles when needed: a new listing does not move the others. */
const toPowerOfTwo = (wanted: number): number => 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, wanted))));

type Command = 'subscribe' | 'unsubscribe';

const toFrame = (type: Command, channel: string, id?: string): string => JSON.stringify({ type, channel, id });

const toCommand = (type: Command, subscription: string): string => {
  const slash = subscription.indexOf('/');
  return toFrame(type, subscription.slice(0, slash), subscription.slice(slash + 1));
};

/** Unsubscribes first: the venue refuses an active subscription. */
export const toRenewal = (subscriptions: readonly string[]): string[] =>
  subscriptions.flatMap((name) => [toCommand('unsubscribe', name), toCommand('subscribe', name)]);

const toIso = (ms: number): string => formatInstant(ms * MICROS_PER_MS);

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one; `toISO` is exclusive. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const limit = (toMs - fromMs) / MS_PER_MINUTE + 2;
  const range = `fromISO=${toIso(fromMs)}&toISO=${toIso(toMs + 2 * MS_PER_MINUTE)}&limit=${limit}`;
  const path = `v4/candles/perpetualMarkets/${encodeURIComponent(venue_symbol)}`;
  return { method: 'GET', url: `${endpoints.rest}/${path}?resolution=1MIN&${range}`, weight: 1 };
};

/** Default number of candles in an answer, newest first. */
const DEFAULT_LIMIT = 100;

const toMs = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso));

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"candles"') ?? {};
  const symbol = /\/candles\/perpetualMarkets\/([^/]+)$/.exec(path)?.[1];
  if (symbol === undefined || query.get('resolution') !== '1MIN') return null;
  const bounds = { fromMs: toMs(query.get('fromISO')), toMs: shift(toMs(query.get('toISO')), -1) };
  return toAsked([symbol], 'trade', {
    ...bounds,
    limit: readNumber(query, 'limit') ?? DEFAULT_LIMIT,
  });
};
