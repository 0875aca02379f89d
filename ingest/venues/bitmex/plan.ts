// BitMEX' slots: sockets of books and of everything else, one topic for each table and symbol; the request that fills in minutes.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot, type Watched } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import { listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';
import { watchBeginning } from '../shared/watched.ts';
import { NO_QUERY } from '../shared/wire.ts';

const SOCKETS = 3;
/** Four tables of a listing share a socket; the docs state no limit, and fewer limit the loss of one socket. */
const LISTINGS_PER_CONNECTION = 50;
const PRICES = ['instrument', 'trade', 'liquidation', 'tradeBin1m'];
export const STREAMS_PER_CONNECTION = PRICES.length * LISTINGS_PER_CONNECTION;
/** Maximum number of topics the venue reads from one frame. */
const TOPICS_PER_FRAME = 20;

/** Books have their own sockets, so that a busy book never delays a mark. */
export const planBitmex = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => [
  ...planSockets(listings, env, {
    id: 'orderBookL2',
    tables: ['orderBookL2'],
    layers: ['book', 'venue_depth'],
    busy: [],
  }),
  ...planSockets(listings, env, {
    id: 'prices',
    tables: PRICES,
    layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'],
    busy: ['instrument'],
  }),
];

type SocketPlan = {
  readonly id: string;
  readonly tables: readonly string[];
  readonly layers: readonly string[];
  /** Tables that are never quiet for long: trades, bins and liquidations may be; instruments share their socket and show that it is alive. */
  readonly busy: readonly string[];
};

const planSockets = (listings: readonly ListingRecord[], env: PlanEnv, plan: SocketPlan): Slot[] =>
  spreadListings(listings, env, {
    sockets: SOCKETS,
    most: LISTINGS_PER_CONNECTION,
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      const listTopics = (table: string): string[] => symbols.map((symbol) => `${table}:${symbol}`);
      return {
        kind: 'socket',
        id: `${plan.id}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: toFrames('subscribe', plan.tables.flatMap(listTopics)),
        covers: [{ layers: plan.layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
        // Every subscription is acknowledged by its name; one that the venue refused, for its limits or in a failure, is not.
        watched: plan.tables.map((table): Watched => {
          const subscriptions = listTopics(table);
          return plan.busy.includes(table) ? { subscriptions, silenceMs: SILENCE_MS } : watchBeginning(subscriptions);
        }),
      };
    },
  });

const toFrames = (op: 'subscribe' | 'unsubscribe', topics: readonly string[]): string[] =>
  splitChunks(topics, TOPICS_PER_FRAME).map((args) => JSON.stringify({ op, args }));

/** A new subscription starts with its partial. */
export const toRenewal = (topics: readonly string[]): string[] => [
  ...toFrames('unsubscribe', topics),
  ...toFrames('subscribe', topics),
];

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one, which may still run; bins are stamped with their end. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const formatEnd = (openMs: number): string => encodeURIComponent(new Date(openMs + MS_PER_MINUTE).toISOString());
  const count = (toMs - fromMs) / MS_PER_MINUTE + 2;
  const range = `startTime=${formatEnd(fromMs)}&endTime=${formatEnd(toMs + MS_PER_MINUTE)}&count=${count}`;
  const query = `binSize=1m&partial=true&symbol=${encodeURIComponent(venue_symbol)}&${range}`;
  return { method: 'GET', url: `${endpoints.rest}/trade/bucketed?${query}`, weight: 1 };
};

/** Default number of bins in an answer. */
const DEFAULT_COUNT = 100;

const parseOpen = (end: string | null): number | null => (end === null ? null : Date.parse(end) - MS_PER_MINUTE);

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message) ?? {};
  const symbol = query.get('symbol');
  if (!path.endsWith('/trade/bucketed') || symbol === null || query.get('binSize') !== '1m') return null;
  const [fromMs, toMs] = [parseOpen(query.get('startTime')), parseOpen(query.get('endTime'))];
  return toAsked([symbol], 'trade', { fromMs, toMs, limit: readNumber(query, 'count') ?? DEFAULT_COUNT });
};
