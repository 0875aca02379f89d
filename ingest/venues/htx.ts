// HTX perpetual swaps, USDT-margined and coin-margined. https://www.htx.com/en-us/opend/newApiPages, checked 2026-11-21.
//
// Each market has a socket for trading data and one for notices; marks and indexes of both come from a third. Frames are gzip. The venue pings,
// in two styles, and closes what does not answer. Open interest is only asked for. Every quantity counts contracts.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Delivery, Slot, Venue } from '../venue.ts';
import { mapReference } from './htx-listings.ts';
import { mapMessage } from './htx-messages.ts';
import { inflate, type Market, marketOf, readChain } from './htx-symbols.ts';
import { isOpen, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://api.hbdm.com',
  linear_ws: 'wss://api.hbdm.com/linear-swap-ws',
  linear_notification_ws: 'wss://api.hbdm.com/linear-swap-notification',
  inverse_ws: 'wss://api.hbdm.com/swap-ws',
  inverse_notification_ws: 'wss://api.hbdm.com/swap-notification',
  index_ws: 'wss://api.hbdm.com/ws_index',
};
type Endpoints = Readonly<Record<string, string>>;

const FUNDING_EVERY_MS = 60_000;
const OI_EVERY_MS = 5_000;
/** Pushed every 60 seconds, say the docs: two of them (F-02). */
const FUNDING: Delivery = {
  policy: 'on',
  cadence: FUNDING_EVERY_MS,
  horizonMs: 2 * FUNDING_EVERY_MS,
  horizonSource: 'documented',
};
const POLLED: Delivery = {
  policy: 'on',
  cadence: OI_EVERY_MS,
  horizonMs: 2 * OI_EVERY_MS,
  horizonSource: 'assumed',
};

const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** `high_freq` counts its messages: each version is the last one and one more. Only a new subscription brings a snapshot. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => (next.last === last + 1n ? 'apply' : 'break'),
};

export const htx: Venue = {
  id: 'htx',
  name: 'HTX',
  docs: 'https://www.htx.com/en-us/opend/newApiPages',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: 100,
    // 40 messages a second; pongs are some of them.
    subscribePerSecond: 20,
    // 800 a second for market data, 120 in three for reference data.
    restWeightPerMinute: 1200,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: ON_CHANGE,
    mark: ON_CHANGE,
    funding: FUNDING,
    oi: POLLED,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: ({ rest }) =>
    [
      'linear-swap-api/v1/swap_query_elements',
      'linear-swap-api/v1/swap_contract_info',
      'swap-api/v1/swap_contract_info',
    ].map((path) => ({ method: 'GET', url: `${rest}/${path}`, weight: 1 })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) =>
    (['linear', 'inverse'] as const).flatMap((market) => {
      const members = listings.filter((l) => isOpen(l) && marketOf(l.venue_symbol) === market);
      return members.length === 0 ? [] : planMarket(market, members, env);
    }),
  classify: (text) => {
    const head = text.slice(0, 200);
    if (/^\{"ping":|^\{"op":"ping"/.test(head)) return 'heartbeat';
    if (head.includes('"status":"error"') || head.includes('"op":"error"') || head.includes('"op":"close"')) {
      return 'error';
    }
    if (/"op":"(sub|unsub)"/.test(head)) return /"err-code":"?0\b/.test(text) ? 'ack' : 'error';
    return /"(subbed|unsubbed)":/.test(head) ? 'ack' : 'data';
  },
  replyTo: (text) => {
    const [, market] = /^\{"ping":(\d+)\}$/.exec(text) ?? [];
    if (market !== undefined) return `{"pong":${market}}`;
    if (!text.startsWith('{"op":"ping"')) return null;
    const [, ts] = /"ts":("?\d+"?)/.exec(text) ?? [];
    return ts === undefined ? null : `{"op":"pong","ts":${ts}}`;
  },
  decode: inflate,
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: marketOf(venueSymbol),
    contract_size: null,
    quantity_unit: 'contracts',
  }),
  map: (_state, message) => mapMessage(message),
};

// ---- plan ----

type PlanEnv = Parameters<Venue['plan']>[1];

/** Books apart from prices, so that a busy book never delays a mark. */
const planMarket = (market: Market, members: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const { endpoints } = env;
  const market_ws = endpoints[`${market}_ws`];
  return [
    ...planSockets(members, env, {
      name: `${market}-book`,
      url: market_ws,
      layers: ['book', 'venue_depth'],
      perSocket: 30,
      topics: ['depth.size_150.high_freq'],
    }),
    ...planSockets(members, env, {
      name: `${market}-detail`,
      url: market_ws,
      layers: ['ticker', 'stats'],
      perSocket: 60,
      topics: ['detail'],
    }),
    ...planSockets(members, env, {
      name: `${market}-price`,
      url: endpoints.index_ws,
      layers: ['mark'],
      perSocket: 30,
      topics: ['mark_price.1min', 'basis.1min.close'],
    }),
    planFunding(market, members, env),
    planOpenInterest(market, members, env),
  ];
};

type SocketPlan = {
  readonly name: string;
  readonly url: string | undefined;
  readonly layers: readonly string[];
  readonly perSocket: number;
  readonly topics: readonly string[];
};

const planSockets = (members: readonly ListingRecord[], env: PlanEnv, plan: SocketPlan): Slot[] =>
  spreadListings(members, env, {
    sockets: Math.ceil(members.length / plan.perSocket),
    slot: (listings, { shard, tag }) => ({
      kind: 'socket',
      id: `${plan.name}.${tag}`,
      shards: [shard],
      url: plan.url ?? '',
      subscribe: listings.flatMap(({ venue_symbol }) =>
        plan.topics.map((topic) => toSubscribe(`market.${venue_symbol}.${topic}`)),
      ),
      covers: [{ layers: plan.layers, symbols: symbolsOf(listings) }],
      silenceMs: SILENCE_MS,
      renewAfterMs: RENEW_AFTER_MS,
    }),
  });

/** One channel a frame; a book in increments has to be asked for as such. */
const toSubscribe = (sub: string): string =>
  JSON.stringify(sub.endsWith('.high_freq') ? { sub, data_type: 'incremental', id: sub } : { sub, id: sub });

/** One topic tells the rates of all contracts of a market, and nothing between two rounds. */
const planFunding = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'socket',
  id: `${market}-funding`,
  shards: Array.from({ length: shards }, (_, shard) => shard),
  url: endpoints[`${market}_notification_ws`] ?? '',
  subscribe: [JSON.stringify({ op: 'sub', cid: 'funding', topic: 'public.*.funding_rate' })],
  covers: [{ layers: ['funding'], symbols: symbolsOf(members) }],
  silenceMs: 2 * FUNDING_EVERY_MS + SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
});

const planOpenInterest = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'poll',
  id: `${market}-oi`,
  shards: Array.from({ length: shards }, (_, shard) => shard),
  requests: [{ method: 'GET', url: openInterestUrl(market, endpoints), weight: 1 }],
  everyMs: OI_EVERY_MS,
  covers: [{ layers: ['oi'], symbols: symbolsOf(members) }],
});

const openInterestUrl = (market: Market, { rest }: Endpoints): string =>
  `${rest}/${market === 'linear' ? 'linear-swap' : 'swap'}-api/v1/swap_open_interest`;

const symbolsOf = (listings: readonly ListingRecord[]): string[] =>
  listings.map(({ venue_symbol }) => venue_symbol).toSorted();
