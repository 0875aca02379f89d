// Deribit perpetuals, inverse in USD and linear in USDC or USDT. https://docs.deribit.com, checked 2026-11-21.
//
// JSON-RPC over one socket: a ticker says price, mark, index, funding, open interest and the day; options, dated futures and combos share the
// channels and are never mapped. Inverse instruments count amounts of USD, linear ones of base. Figures are JSON numbers.
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './deribit-listings.ts';
import { mapMessage, readChain, readChannel } from './deribit-messages.ts';
import { isLinear, quantityUnitOf } from './deribit-symbols.ts';
import { chunks, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = { rest: 'https://www.deribit.com/api/v2', ws: 'wss://streams.deribit.com/ws/api/v2' };

/** Channels named by one request; the docs allow 500. */
const CHANNELS_PER_FRAME = 100;
/** The venue asks back after so many seconds of silence, and closes the socket when it is not answered. */
const HEARTBEAT_S = 30;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** The subscription brings the whole book; each change names the change before it. A hole is cured by a new subscription of that book only. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.previous === last) return 'apply';
    // A repeat says nothing new; any other id is a hole, or ids that began anew.
    return next.last === last ? 'skip' : 'break';
  },
};

const toCall = (id: number, method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

const toChannelCalls = (method: 'public/subscribe' | 'public/unsubscribe', channels: readonly string[]): string[] =>
  chunks(channels, CHANNELS_PER_FRAME).map((some, i) => toCall(i + 2, method, { channels: some }));

const toSubscribe = (channels: readonly string[]): string[] => [
  toCall(1, 'public/set_heartbeat', { interval: HEARTBEAT_S }),
  ...toChannelCalls('public/subscribe', channels),
];

/** What is subscribed already would go on as it is. */
const toRenewal = (channels: readonly string[]): string[] => [
  ...toChannelCalls('public/unsubscribe', channels),
  ...toChannelCalls('public/subscribe', channels),
];

export const deribit: Venue = {
  id: 'deribit',
  name: 'Deribit',
  docs: 'https://docs.deribit.com',
  endpoints: ENDPOINTS,
  // 10,000 credits a second, 500 a request; a subscribe request costs 3,000.
  limits: { streamsPerConnection: 500, subscribePerSecond: 3, restWeightPerMinute: 600, connectionsPerMinute: 30 },
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
  reference: (endpoints) => [
    {
      method: 'GET',
      url: `${endpoints.rest}/public/get_instruments?currency=any&kind=future&expired=false`,
      weight: 60,
    },
  ],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const socket =
      (name: string, layers: readonly string[]) =>
      (members: readonly { readonly venue_symbol: string }[], place: { shard: number; tag: string }): Slot => ({
        kind: 'socket',
        id: `${name}.${place.tag}`,
        shards: [place.shard],
        url: env.endpoints.ws ?? '',
        subscribe: toSubscribe(members.map(({ venue_symbol }) => `${name}.${venue_symbol}.100ms`)),
        covers: [{ layers, symbols: members.map(({ venue_symbol }) => venue_symbol) }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      });
    return [
      ...spreadListings(listings, env, { sockets: 1, slot: socket('book', ['book', 'venue_depth']) }),
      ...spreadListings(listings, env, {
        sockets: 1,
        slot: socket('ticker', ['ticker', 'mark', 'funding', 'oi', 'stats']),
      }),
    ];
  },
  classify: (text) => {
    const head = text.slice(0, 200);
    if (head.includes('"method":"subscription"')) return 'data';
    if (head.includes('"method":"heartbeat"')) return 'heartbeat';
    return /"error":\{/.test(head) ? 'error' : 'ack';
  },
  replyTo: (text) => (text.length < 400 && text.includes('"test_request"') ? toCall(0, 'public/test', {}) : null),
  sequence: readChain,
  bookRule,
  subscriptionOf: readChannel,
  renew: toRenewal,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: isLinear(venueSymbol) ? 'linear' : 'inverse',
    contract_size: '1',
    quantity_unit: quantityUnitOf(venueSymbol),
  }),
  map: (_state, message, context) => mapMessage(message, context),
};
