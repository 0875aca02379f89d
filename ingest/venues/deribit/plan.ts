// Deribit's slots: sockets of books, and of tickers with trades and candles; JSON-RPC calls that subscribe, requests that fill in and confirm.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import {
  type PlanEnv,
  RENEW_AFTER_MS,
  SILENCE_MS,
  type Slot,
  type SymbolRequest,
  type Watched,
} from '../contract/feed.ts';
import type { Endpoints, VenueRequest } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { type Place, splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';

/** Channels of a connection; the docs allow as many in one request. */
export const STREAMS_PER_CONNECTION = 500;
const BOOKS_PER_CONNECTION = 400;
/** Three channels each. */
const PRICES_PER_CONNECTION = 160;
/** Channels named by one request. */
const CHANNELS_PER_FRAME = 100;
/** The venue sends a test request after this many seconds of silence, and closes the socket when it gets no answer. */
const HEARTBEAT_S = 30;
/** A third of the bounds of ticker, mark and book is left for the answer (F-03). */
const CONFIRM_AFTER_MS = 20_000;
/** A quiet book sends nothing; a new subscription sends it whole. */
const BOOK_SILENCE_MS = 20_000;
/** Documented: a minute without trades is sent too, with the last price and no volume. */
const CANDLE_SILENCE_MS = 120_000;

export const planDeribit = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const spread = (most: number, plan: (symbols: readonly string[]) => SocketPlan): Slot[] =>
    spreadListings(listings, env, {
      sockets: 1,
      most,
      slot: (members, place) => {
        const symbols = listSymbols(members);
        return toSocket(place, { ...plan(symbols), symbols, url: env.endpoints.ws ?? '' });
      },
    });
  return [...spread(BOOKS_PER_CONNECTION, toBooks), ...spread(PRICES_PER_CONNECTION, toPrices)];
};

type SocketPlan = {
  readonly name: string;
  readonly layers: readonly string[];
  readonly channels: readonly string[];
  readonly watched: readonly Watched[];
};

const listChannels = (kind: string, symbols: readonly string[], interval: string): readonly string[] =>
  symbols.map((symbol) => `${kind}.${symbol}.${interval}`);

const toBooks = (symbols: readonly string[]): SocketPlan => {
  const channels = listChannels('book', symbols, '100ms');
  return {
    name: 'book',
    layers: ['book', 'venue_depth'],
    channels,
    watched: [{ subscriptions: channels, silenceMs: BOOK_SILENCE_MS }],
  };
};

/** Trades may be quiet for long; tickers, which are not, share their socket and show that it is alive. Liquidations are marks of trades. */
const toPrices = (symbols: readonly string[]): SocketPlan => {
  const tickers = listChannels('ticker', symbols, '100ms');
  const candles = listChannels('chart.trades', symbols, '1');
  return {
    name: 'price',
    layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'],
    channels: [...tickers, ...listChannels('trades', symbols, '100ms'), ...candles],
    watched: [
      { subscriptions: tickers, silenceMs: SILENCE_MS, confirmAfterMs: CONFIRM_AFTER_MS },
      { subscriptions: candles, silenceMs: CANDLE_SILENCE_MS },
    ],
  };
};

type Subject = { readonly symbols: readonly string[]; readonly url: string };

const toSocket = ({ shard, tag }: Place, plan: SocketPlan & Subject): Slot => ({
  kind: 'socket',
  id: `${plan.name}.${tag}`,
  shards: [shard],
  url: plan.url,
  subscribe: [
    toCall(1, 'public/set_heartbeat', { interval: HEARTBEAT_S }),
    ...toChannelCalls('public/subscribe', plan.channels),
  ],
  covers: [{ layers: plan.layers, symbols: plan.symbols }],
  silenceMs: SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
  watched: plan.watched,
});

export const toCall = (id: number, method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

const toChannelCalls = (method: 'public/subscribe' | 'public/unsubscribe', channels: readonly string[]): string[] =>
  splitChunks(channels, CHANNELS_PER_FRAME).map((some, i) => toCall(i + 2, method, { channels: some }));

/** Unsubscribes first: subscribing to an active channel changes nothing. */
export const toRenewal = (channels: readonly string[]): string[] => [
  ...toChannelCalls('public/unsubscribe', channels),
  ...toChannelCalls('public/subscribe', channels),
];

const toGet = (method: string, query: string, { rest }: Endpoints): VenueRequest => ({
  method: 'GET',
  url: `${rest}/public/${method}?${query}`,
  weight: 1,
});

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one; minutes without trades are sent too. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const range = `start_timestamp=${fromMs}&end_timestamp=${toMs + MS_PER_MINUTE}&resolution=1`;
  return toGet('get_tradingview_chart_data', `instrument_name=${encodeURIComponent(venue_symbol)}&${range}`, endpoints);
};

/** Requests the whole ticker of one listing. */
export const toConfirmRequest = (channel: string, endpoints: Endpoints): SymbolRequest | null => {
  const symbol = /^ticker\.([^.]+)\./.exec(channel)?.[1];
  if (symbol === undefined) return null;
  return { symbol, request: toGet('ticker', `instrument_name=${encodeURIComponent(symbol)}`, endpoints) };
};

/** Maximum number of candles in an answer. */
const CANDLES_LIMIT = 5_000;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"ticks"') ?? {};
  const symbol = query.get('instrument_name');
  if (!path.endsWith('/get_tradingview_chart_data') || symbol === null || query.get('resolution') !== '1') return null;
  const [fromMs, toMs] = [readNumber(query, 'start_timestamp'), readNumber(query, 'end_timestamp')];
  return toAsked([symbol], 'trade', { fromMs, toMs, limit: CANDLES_LIMIT });
};
