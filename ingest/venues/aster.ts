// Aster perpetuals. https://docs.asterdex.com/product/aster-perpetuals/api, checked 2026-11-21.
//
// A dialect of Binance's USD-M: the same frames, answers and chain of book messages, on one socket path. Open interest is told by REST and symbol
// by symbol only, which would take the requests that books need: it is mapped where it comes, not collected.
import type { ListingRecord } from '../../schemas/records.ts';
import type { Delivery, Mapped, Slot, Venue } from '../venue.ts';
import { binance } from './binance.ts';
import { mapReference } from './binance-listings.ts';
import { mapMessage } from './binance-messages.ts';
import { chunks, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = { rest: 'https://fapi.asterdex.com', ws: 'wss://fstream.asterdex.com/ws' };

const STREAMS_PER_CONNECTION = 200;
/** A spread by names is uneven: the mean leaves room to the limit. */
const STREAMS_PER_SOCKET = 100;
const STREAMS_PER_FRAME = 50;
const SILENCE_MS = 30_000;
/** The venue closes sockets at 24 h. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' };

export const aster: Venue = {
  id: 'aster',
  name: 'Aster',
  docs: 'https://docs.asterdex.com/product/aster-perpetuals/api',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 2_400,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: ON_CHANGE,
    mark: EVERY_SECOND,
    funding: EVERY_SECOND,
    oi: OFF,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) =>
    ['fundingInfo', 'exchangeInfo'].map((name) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/fapi/v3/${name}`,
      weight: 1,
    })),
  referenceEveryMs: 300_000,
  mapReference: (state, message) => {
    const answer = mapReference(state, message);
    return answer && { ...answer, listings: answer.listings.map((listing) => ({ ...listing, venue: 'aster' })) };
  },
  plan: (listings, env) => KINDS.flatMap((kind) => planSockets(listings, env, kind)),
  classify: binance.classify,
  sequence: binance.sequence,
  bookRule: binance.bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/fapi/v3/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=1000`,
    weight: 20,
  }),
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (_state, message, context) => mapMessage(message, context).filter(saysSomething).map(toOwn),
};

const toOwn = (mapped: Mapped): Mapped => ({ ...mapped, record: { ...mapped.record, venue: 'aster' } });

/** Tickers may carry the last price alone. */
const saysSomething = ({ record }: Mapped): boolean =>
  record.layer !== 'stats' ||
  record.values.volume_24h !== null ||
  record.values.turnover_24h !== null ||
  record.values.change_24h !== null;

// ---- plan ----

type SocketKind = { readonly name: string; readonly streams: readonly string[]; readonly layers: readonly string[] };

/** Books apart from prices, so that a busy book never delays a mark. */
const KINDS: readonly SocketKind[] = [
  { name: 'book', streams: ['depth@100ms'], layers: ['book', 'venue_depth'] },
  { name: 'price', streams: ['markPrice@1s', 'ticker'], layers: ['ticker', 'mark', 'funding', 'stats'] },
];

const planSockets = (
  listings: readonly ListingRecord[],
  env: Parameters<Venue['plan']>[1],
  { name, streams, layers }: SocketKind,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: Math.ceil((listings.length * streams.length) / STREAMS_PER_SOCKET),
    slot: (members, { shard, tag }) => {
      const symbols = members.map(({ venue_symbol }) => venue_symbol);
      const named = symbols.flatMap((symbol) => streams.map((stream) => `${symbol.toLowerCase()}@${stream}`));
      return {
        kind: 'socket',
        id: `${name}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: chunks(named, STREAMS_PER_FRAME).map((params, i) =>
          JSON.stringify({ method: 'SUBSCRIBE', params, id: i + 1 }),
        ),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      };
    },
  });
