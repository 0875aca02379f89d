// OKX's slots: sockets of prices and trades, of books, of candles, one of all liquidations; requests that fill in and confirm.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import {
  type Cover,
  type PlanEnv,
  RENEW_AFTER_MS,
  SILENCE_MS,
  type Slot,
  type SymbolRequest,
  type Watched,
} from '../contract/feed.ts';
import type { Endpoints, VenueRequest } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { isOpen, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, shift, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { toIndex } from './symbols.ts';

/** Channels of a connection; the docs state no limit, and fewer limit the loss of one socket. */
export const STREAMS_PER_CONNECTION = 250;
/** Arguments of one frame, which the docs limit to 64 KB. */
const ARGUMENTS_PER_FRAME = 100;
/** A connection may send 480 subscribe or unsubscribe requests an hour. A renewal takes two: 400 in all, and 80 for broken books. */
export const RENEW_EVERY_MS = 18_000;
/** Approximate and maximum number of listings on a socket: six channels of prices each, one of books, three of candles. */
const SOCKETS = { prices: { about: 25, most: 40 }, books: { about: 40, most: 80 }, candles: { about: 50, most: 80 } };
/** A third of the bound of ticker, mark and open interest is left for the answer (F-03). */
const CONFIRM_AFTER_MS = 20_000;
/** Documented: funding every 30 to 90 seconds, a quiet index each minute. */
const FUNDING_CONFIRM_MS = 100_000;
const FUNDING_SILENCE_MS = 120_000;
const INDEX_SILENCE_MS = 90_000;
/**
 * A quiet book sends a message only each minute, and a REST answer has no id that could confirm it. It is subscribed again, which sends the
 * whole book, before the bound of 30 s (F-03): 10 s and the interval between two checks.
 */
const BOOK_SILENCE_MS = 10_000;
const MARK_CANDLE_SILENCE_MS = 60_000;
/** A minute without trades may have no candle here. */
const CANDLE_SILENCE_MS = 180_000;

type Argument = { readonly channel: string; readonly instId?: string; readonly instType?: string };

export const planOkx = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const open = listings.filter(isOpen);
  const spread = (name: keyof typeof SOCKETS, plan: (members: readonly ListingRecord[]) => SocketPlan): Slot[] =>
    spreadListings(open, env, {
      sockets: Math.ceil(open.length / SOCKETS[name].about),
      most: SOCKETS[name].most,
      slot: (members, { shard, tag }) =>
        toSocket({ id: `${name}.${tag}`, shards: [shard] }, env.endpoints, plan(members)),
    });
  return [
    ...spread('prices', toPrices),
    ...spread('books', toBooks),
    ...spread('candles', toCandles),
    ...planLiquidations(open, env),
  ];
};

type SocketPlan = {
  readonly endpoint: 'public_ws' | 'business_ws';
  readonly covers: readonly Cover[];
  readonly args: readonly Argument[];
  readonly watched: readonly Watched[];
};

/** An index is subscribed by pair and shared by the listings that use it. */
const listIndexes = (listings: readonly ListingRecord[]): readonly string[] => [
  ...new Set(listings.flatMap(({ values }) => (values.pair === null ? [] : [toIndex(values.pair)]))),
];

const listArguments = (channels: readonly string[], subjects: readonly string[]): Argument[] =>
  channels.flatMap((channel) => subjects.map((instId) => ({ channel, instId })));

const formatName = ({ channel, instId = '' }: Argument): string => `${channel}:${instId}`;
const watch = (args: readonly Argument[], rule: Omit<Watched, 'subscriptions'>): Watched => ({
  subscriptions: args.map(formatName),
  ...rule,
});

/** Trades may be quiet for long; prices, which are not, share their socket and show that it is alive. */
const toPrices = (listings: readonly ListingRecord[]): SocketPlan => {
  const symbols = listSymbols(listings);
  const steady = listArguments(['tickers', 'mark-price', 'open-interest'], symbols);
  const indexes = listArguments(['index-tickers'], listIndexes(listings));
  const funding = listArguments(['funding-rate'], symbols);
  return {
    endpoint: 'public_ws',
    covers: [{ layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades'], symbols }],
    args: [...steady, ...indexes, ...funding, ...listArguments(['trades'], symbols)],
    watched: [
      watch(steady, { silenceMs: SILENCE_MS, confirmAfterMs: CONFIRM_AFTER_MS }),
      watch(indexes, { silenceMs: INDEX_SILENCE_MS }),
      watch(funding, { silenceMs: FUNDING_SILENCE_MS, confirmAfterMs: FUNDING_CONFIRM_MS }),
    ],
  };
};

const toBooks = (listings: readonly ListingRecord[]): SocketPlan => {
  const symbols = listSymbols(listings);
  const args = listArguments(['books'], symbols);
  return {
    endpoint: 'public_ws',
    covers: [{ layers: ['book', 'venue_depth'], symbols }],
    args,
    watched: [watch(args, { silenceMs: BOOK_SILENCE_MS })],
  };
};

const toCandles = (listings: readonly ListingRecord[]): SocketPlan => {
  const symbols = listSymbols(listings);
  const marks = listArguments(['mark-price-candle1m'], symbols);
  const others = [...listArguments(['candle1m'], symbols), ...listArguments(['index-candle1m'], listIndexes(listings))];
  return {
    endpoint: 'business_ws',
    covers: [{ layers: ['candles'], symbols }],
    args: [...marks, ...others],
    watched: [watch(marks, { silenceMs: MARK_CANDLE_SILENCE_MS }), watch(others, { silenceMs: CANDLE_SILENCE_MS })],
  };
};

/**
 * All liquidations arrive in one channel, which concerns every shard and may be quiet for long. The mark price of one listing, sent at least every
 * ten seconds, shows that the socket is alive; it is no reading, since the socket does not cover it.
 */
const planLiquidations = (open: readonly ListingRecord[], { shards, endpoints }: PlanEnv): Slot[] => {
  const [oldest] = sortByAge(open);
  if (oldest === undefined) return [];
  const pulse = listArguments(['mark-price'], [oldest.venue_symbol]);
  const everyShard = listShards(shards);
  return [
    toSocket({ id: 'liquidations', shards: everyShard }, endpoints, {
      endpoint: 'public_ws',
      covers: [{ layers: ['liquidation'], symbols: null }],
      args: [{ channel: 'liquidation-orders', instType: 'SWAP' }, ...pulse],
      watched: [watch(pulse, { silenceMs: SILENCE_MS })],
    }),
  ];
};

const toSocket = ({ id, shards }: Pick<Slot, 'id' | 'shards'>, endpoints: Endpoints, plan: SocketPlan): Slot => ({
  kind: 'socket',
  id,
  shards,
  url: endpoints[plan.endpoint] ?? '',
  subscribe: toFrames('subscribe', plan.args),
  covers: plan.covers,
  silenceMs: SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
  watched: plan.watched,
});

const toFrames = (op: 'subscribe' | 'unsubscribe', args: readonly Argument[]): string[] =>
  splitChunks(args, ARGUMENTS_PER_FRAME).map((part) => JSON.stringify({ op, args: part }));

const toArgument = (subscription: string): Argument => {
  const colon = subscription.indexOf(':');
  return { channel: subscription.slice(0, colon), instId: subscription.slice(colon + 1) };
};

/** A new subscription starts with the newest value, or the whole book. */
export const toRenewal = (subscriptions: readonly string[]): string[] => {
  const args = subscriptions.map(toArgument);
  return [...toFrames('unsubscribe', args), ...toFrames('subscribe', args)];
};

/** `Wrong URL or channel:books,instId:X doesn't exist` (60018): the request is sent again without the ended instrument. */
export const withoutRefused = (refusal: string, request: string): string | null => {
  const [, channel, instId] = /channel:([\w-]+),\s*instId:([^\s,"]+)/.exec(refusal) ?? [];
  const { args, ...rest } = JSON.parse(request) as { readonly args: readonly Argument[] };
  const left = args.filter((arg) => arg.channel !== channel || arg.instId !== instId);
  return left.length === 0 || left.length === args.length ? null : JSON.stringify({ ...rest, args: left });
};

/** Weights express the limit of a path: 40 requests in two seconds weigh 2 each, 20 weigh 4, 10 weigh 8. All paths together stay below one limit. */
const toGet = (path: string, query: string, { endpoints, weight }: { endpoints: Endpoints; weight: number }) =>
  ({ method: 'GET', url: `${endpoints.rest}/api/v5/${path}?${query}`, weight }) satisfies VenueRequest;

export const listReferenceRequests: Venue['reference'] = (endpoints) => [
  toGet('public/funding-rate', 'instId=ANY', { endpoints, weight: 8 }),
  toGet('public/instruments', 'instType=SWAP', { endpoints, weight: 4 }),
];

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one; both bounds of the query are exclusive. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const limit = (toMs - fromMs) / MS_PER_MINUTE + 2;
  const range = `before=${fromMs - 1}&after=${toMs + MS_PER_MINUTE + 1}&limit=${limit}`;
  return toGet('market/candles', `instId=${encodeURIComponent(venue_symbol)}&bar=1m&${range}`, {
    endpoints,
    weight: 2,
  });
};

type Confirming = { readonly path: string; readonly query: string; readonly weight: number };

/** The request for the newest value of a channel. */
const CONFIRMING: Readonly<Record<string, Confirming>> = {
  tickers: { path: 'market/ticker', query: '', weight: 4 },
  'mark-price': { path: 'public/mark-price', query: 'instType=SWAP&', weight: 8 },
  'open-interest': { path: 'public/open-interest', query: 'instType=SWAP&', weight: 4 },
  'funding-rate': { path: 'public/funding-rate', query: '', weight: 8 },
};

export const toConfirmRequest = (subscription: string, endpoints: Endpoints): SymbolRequest | null => {
  const { channel, instId: symbol = '' } = toArgument(subscription);
  const asking = CONFIRMING[channel];
  if (asking === undefined) return null;
  const query = `${asking.query}instId=${encodeURIComponent(symbol)}`;
  return { symbol, request: toGet(asking.path, query, { endpoints, weight: asking.weight }) };
};

/** Default number of candles in an answer, newest first. */
const DEFAULT_LIMIT = 100;

/** `before` and `after` are exclusive: earlier and later than every candle of the answer. */
export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const symbol = query.get('instId');
  if (!path.endsWith('/market/candles') || symbol === null || query.get('bar') !== '1m') return null;
  const [fromMs, toMs] = [shift(readNumber(query, 'before'), 1), shift(readNumber(query, 'after'), -1)];
  return toAsked([symbol], 'trade', { fromMs, toMs, limit: readNumber(query, 'limit') ?? DEFAULT_LIMIT });
};
