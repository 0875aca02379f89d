// Kraken Futures perpetuals (PF multi-collateral, PI inverse). https://docs.kraken.com/exchange/api-reference/futures-websocket, checked 2026-11-21.
//
// One socket path for everything; a book's snapshot comes with its subscription, then one price level a message.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Delivery, Slot, Venue } from '../venue.ts';
import { mapReference } from './kraken-futures-listings.ts';
import { mapMessage } from './kraken-futures-messages.ts';
import { quantityOf, readChain } from './kraken-futures-symbols.ts';

const ENDPOINTS = {
  rest: 'https://futures.kraken.com/derivatives/api/v3',
  ws: 'wss://futures.kraken.com/ws/v1',
};

const OFF: Delivery = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null };
/** Tickers are sent when they change, at most once a second. */
const ON_CHANGE: Delivery = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };

/** The docs name no limit; few keep a lost socket small. */
const PRODUCTS_PER_CONNECTION = 100;
const PRODUCTS_PER_FRAME = 50;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** `seq` of a product rises by one a message; a snapshot stands at its own. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.last === null) return 'break';
    if (next.last <= last) return 'skip';
    return next.last === last + 1n ? 'apply' : 'break';
  },
};

export const krakenFutures: Venue = {
  id: 'kraken-futures',
  name: 'Kraken Futures',
  docs: 'https://docs.kraken.com/exchange/api-reference/futures-websocket',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: PRODUCTS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 600,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: ON_CHANGE,
    mark: ON_CHANGE,
    funding: ON_CHANGE,
    oi: ON_CHANGE,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/instruments`, weight: 1 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const open = listings.filter(({ values }) => values.status !== 'delisted' && values.status !== 'pre_launch');
    return Array.from({ length: env.shards }, (_, shard) => shard).flatMap((shard) => {
      const mine = open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard);
      return FEEDS.flatMap((feed) => planSockets(mine, { ...feed, shard, url: env.endpoints.ws ?? '' }));
    });
  },
  classify: (text) => {
    const event = /^\{"event":"([a-z_]+)"/.exec(text)?.[1];
    if (event !== undefined) return event === 'subscribed' || event === 'info' ? 'ack' : 'error';
    return text.startsWith('{"feed":"heartbeat"') ? 'heartbeat' : 'data';
  },
  // The venue closes a socket that has not pinged for 60 s.
  ping: { everyMs: 20_000, frame: null },
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) =>
    quantityOf(venueSymbol) ?? { venue_kind: null, contract_size: null, quantity_unit: 'contracts' },
  map: (_state, message) => mapMessage(message),
};

// ---- plan ----

type Feed = { readonly feed: string; readonly layers: readonly string[] };

/** Books apart from tickers, so that a busy book never delays a mark. */
const FEEDS: readonly Feed[] = [
  { feed: 'book', layers: ['book', 'venue_depth'] },
  { feed: 'ticker', layers: ['ticker', 'mark', 'funding', 'oi', 'stats'] },
];

type SocketPlan = Feed & { readonly shard: number; readonly url: string };

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = (listings: readonly ListingRecord[], { feed, layers, shard, url }: SocketPlan): Slot[] => {
  const byAge = listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );
  const symbols = byAge.map(({ venue_symbol }) => venue_symbol);
  return chunks(symbols, PRODUCTS_PER_CONNECTION).map((chunk, i) => ({
    kind: 'socket',
    id: `${feed}.${shard}.${i}`,
    shards: [shard],
    url,
    subscribe: chunks(chunk, PRODUCTS_PER_FRAME).map((product_ids) =>
      JSON.stringify({ event: 'subscribe', feed, product_ids }),
    ),
    covers: [{ layers, symbols: chunk }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
  }));
};

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
