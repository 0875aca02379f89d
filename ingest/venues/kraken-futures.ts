// Kraken Futures perpetuals (PF multi-collateral, PI inverse). https://docs.kraken.com/exchange/api-reference/futures-websocket, checked 2026-11-21.
//
// One socket path for everything; a book's snapshot comes with its subscription, then one price level a message.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './kraken-futures-listings.ts';
import { mapMessage } from './kraken-futures-messages.ts';
import { quantityOf, readChain } from './kraken-futures-symbols.ts';
import { chunks, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://futures.kraken.com/derivatives/api/v3',
  ws: 'wss://futures.kraken.com/ws/v1',
};

/** The docs name no limit on products; some 300 listings over four sockets keep a lost one small. */
const SOCKETS = 4;
const PRODUCTS_PER_FRAME = 50;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** `seq` of a product rises by one a message; a snapshot stands at its own. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.last === null) return 'break';
    // A repeat says nothing new; an older number is a feed that began anew.
    if (next.last === last) return 'skip';
    return next.last === last + 1n ? 'apply' : 'break';
  },
};

export const krakenFutures: Venue = {
  id: 'kraken-futures',
  name: 'Kraken Futures',
  docs: 'https://docs.kraken.com/exchange/api-reference/futures-websocket',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: 200,
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
  // Books apart from tickers, so that a busy book never delays a mark.
  plan: (listings, env) => [
    ...planSockets(listings, env, { feed: 'book', layers: ['book', 'venue_depth'] }),
    ...planSockets(listings, env, { feed: 'ticker', layers: ['ticker', 'mark', 'funding', 'oi', 'stats'] }),
  ],
  classify: (text) => {
    const event = /^\{"event":"([a-z_]+)"/.exec(text)?.[1];
    if (event === 'info' || text.startsWith('{"feed":"heartbeat"')) return 'heartbeat';
    if (event === undefined) return 'data';
    return event === 'subscribed' ? 'ack' : 'error';
  },
  // The venue closes a socket that has not pinged for 60 s.
  ping: { everyMs: 20_000, frame: null },
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) =>
    quantityOf(venueSymbol) ?? { venue_kind: null, contract_size: null, quantity_unit: 'contracts' },
  map: (_state, message) => mapMessage(message),
};

type Feed = { readonly feed: string; readonly layers: readonly string[] };

const planSockets = (
  listings: readonly ListingRecord[],
  env: Parameters<Venue['plan']>[1],
  { feed, layers }: Feed,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: SOCKETS,
    slot: (members, { shard, tag }) => {
      const symbols = members.map(({ venue_symbol }) => venue_symbol);
      return {
        kind: 'socket',
        id: `${feed}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: chunks(symbols, PRODUCTS_PER_FRAME).map((product_ids) =>
          JSON.stringify({ event: 'subscribe', feed, product_ids }),
        ),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      };
    },
  });
