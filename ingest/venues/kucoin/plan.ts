// KuCoin's slots: sockets of books and of everything else, a poll of the list of contracts; the request that fills in minutes.
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import { isOpen, listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';

/** A connection holds at least 100 topics; a topic names one kind and one symbol. */
export const STREAMS_PER_CONNECTION = 100;
/** Maximum number of symbols in one subscription. */
const SYMBOLS_PER_FRAME = 50;
/** The day's figures arrive every five seconds; this is the layer's bound (F-03). */
const DAY_SILENCE_MS = 120_000;
export const POLL_MS = 6_000;

const INSTRUMENT = '/contract/instrument';
const DAY = '/contractMarket/snapshot';
const CANDLES = '/contractMarket/limitCandle';

type SocketKind = {
  readonly name: string;
  readonly topics: readonly string[];
  /** Approximate number of listings on a socket. */
  readonly about: number;
  readonly layers: readonly string[];
};

const BOOKS: SocketKind = {
  name: 'book',
  topics: ['/contractMarket/level2'],
  about: 40,
  layers: ['book', 'venue_depth'],
};
/** Books have their own sockets, so that a busy book never delays a mark. Trades and candles may be quiet; marks show that their socket is alive. */
const PRICES: SocketKind = {
  name: 'price',
  topics: [INSTRUMENT, DAY, '/contractMarket/execution', CANDLES],
  about: 20,
  layers: ['ticker', 'mark', 'stats', 'trades', 'candles'],
};

export const planKucoin = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const count = listings.filter(isOpen).length;
  const rest = env.endpoints.rest ?? '';
  const sockets = (kind: SocketKind): Slot[] =>
    spreadListings(listings, env, {
      sockets: Math.ceil(count / kind.about),
      most: Math.floor(STREAMS_PER_CONNECTION / kind.topics.length),
      slot: (members, { shard, tag }) => toSocket(kind, members, { shard, tag, rest }),
    });
  const poll: Slot = {
    kind: 'poll',
    id: 'contracts',
    shards: listShards(env.shards),
    requests: [{ method: 'GET', url: `${rest}/api/v1/contracts/active`, weight: 3 }],
    everyMs: POLL_MS,
    covers: [{ layers: ['funding', 'oi'], symbols: null }],
  };
  return [...sockets(BOOKS), ...sockets(PRICES), ...(count === 0 ? [] : [poll])];
};

type Place = { readonly shard: number; readonly tag: string; readonly rest: string };

const toSocket = (
  { name, topics, layers }: SocketKind,
  members: readonly ListingRecord[],
  { shard, tag, rest }: Place,
): Slot => {
  const symbols = listSymbols(members);
  const named = (topic: string): string[] => symbols.map((symbol) => toTopic(topic, symbol));
  const watched = [
    { topic: INSTRUMENT, silenceMs: SILENCE_MS },
    { topic: DAY, silenceMs: DAY_SILENCE_MS },
  ].filter(({ topic }) => topics.includes(topic));
  return {
    kind: 'socket',
    id: `${name}.${tag}`,
    shards: [shard],
    url: `${rest}/api/v1/bullet-public`,
    subscribe: toFrames('subscribe', topics.flatMap(named)),
    covers: [{ layers, symbols }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
    ...(watched.length === 0
      ? {}
      : { watched: watched.map(({ topic, silenceMs }) => ({ subscriptions: named(topic), silenceMs })) }),
  };
};

const toTopic = (topic: string, symbol: string): string => `${topic}:${symbol}${topic === CANDLES ? '_1min' : ''}`;

/** One frame has symbols of one kind. */
const toFrames = (type: 'subscribe' | 'unsubscribe', topics: readonly string[]): string[] => {
  const kinds = [...new Set(topics.map((topic) => topic.slice(0, topic.indexOf(':'))))];
  return kinds.flatMap((kind) => {
    const names = topics.filter((topic) => topic.startsWith(`${kind}:`)).map((topic) => topic.slice(kind.length + 1));
    return splitChunks(names, SYMBOLS_PER_FRAME).map((part, i) =>
      JSON.stringify({ id: `${kind} ${i + 1}`, type, topic: `${kind}:${part.join(',')}`, response: true }),
    );
  });
};

export const toRenewal = (topics: readonly string[]): string[] => [
  ...toFrames('unsubscribe', topics),
  ...toFrames('subscribe', topics),
];

/** Ends with the last millisecond of the minute after `toMs`, which shows that `toMs` is over. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, { rest }) => ({
  method: 'GET',
  url: `${rest}/api/v1/kline/query?symbol=${encodeURIComponent(venue_symbol)}&granularity=1&from=${fromMs}&to=${toMs + 119_999}`,
  weight: 3,
});

/** The smallest maximum of an answer in any version of the docs. */
const CANDLES_LIMIT = 200;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"data":[') ?? {};
  const symbol = query.get('symbol');
  const [fromMs, toMs] = [readNumber(query, 'from'), readNumber(query, 'to')];
  if (!path.endsWith('/kline/query') || symbol === null || query.get('granularity') !== '1') return null;
  return fromMs === null ? null : toAsked([symbol], 'trade', { fromMs, toMs, limit: CANDLES_LIMIT });
};
