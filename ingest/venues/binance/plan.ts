// Binance's slots: sockets of books, of prices and of trades, each apart; polls of open interest and of candles of mark and index prices.
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import {
  type PlanEnv,
  type PollRequest,
  RENEW_AFTER_MS,
  SILENCE_MS,
  type Slot,
  type Watched,
} from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import { hasPriceCandles, isOpen, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { splitChunks } from '../shared/spread-listings.ts';
import { computeOiEveryMs, PRICE_CANDLES_EVERY_MS } from './budget.ts';
import { toMarket } from './symbols.ts';

/** The docs allow 1,024; fewer limit the loss of one socket. */
export const STREAMS_PER_CONNECTION = 200;
/** Streams named by one SUBSCRIBE frame, which the venue limits to a few kilobytes. */
const STREAMS_PER_FRAME = 50;
/** A third of the bounds of ticker, mark and book is left for the answer (F-03). */
const CONFIRM_AFTER_MS = 20_000;

/** Slots of one market and shard. */
type Group = { readonly listings: readonly ListingRecord[]; readonly shard: number; readonly endpoints: Endpoints };

export const planBinance = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const open = listings.filter(isOpen);
  const everyMs = computeOiEveryMs(open);
  return listShards(env.shards).flatMap((shard) => {
    const mine = sortByAge(open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard));
    const group = (market: 'usdm' | 'coinm'): Group => ({
      listings: mine.filter(({ venue_symbol }) => toMarket(venue_symbol) === market),
      shard,
      endpoints: env.endpoints,
    });
    const [usdm, coinm] = [group('usdm'), group('coinm')];
    return [
      ...planSockets('usdm', usdm),
      ...planPolls('usdm', usdm, everyMs),
      ...planSockets('coinm', coinm),
      ...planPolls('coinm', coinm, everyMs),
    ];
  });
};

type SocketPlan = {
  readonly name: string;
  readonly url: string | undefined;
  readonly layers: readonly string[];
  /** Streams of a listing that are never quiet for long. */
  readonly steady: (listing: ListingRecord) => readonly string[];
  readonly restless?: (listing: ListingRecord) => readonly string[];
  readonly confirmAfterMs?: number;
};

const toLower = (symbol: string): string => symbol.toLowerCase();
const listStreams =
  (...kinds: readonly string[]) =>
  ({ venue_symbol }: ListingRecord): string[] =>
    kinds.map((kind) => `${toLower(venue_symbol)}@${kind}`);

/**
 * Separate sockets: a busy book never delays a mark, nor trades a book. Trades are `aggTrade` (documented, ids without gaps, without fills of
 * the insurance fund and of auto-deleveraging). Liquidations are subscribed by symbol, so that a shard receives only its own.
 */
const planSockets = (market: 'usdm' | 'coinm', group: Group): Slot[] => {
  const { usdm_public_ws, usdm_market_ws, coinm_ws } = group.endpoints;
  const [bookUrl, marketUrl] = market === 'usdm' ? [usdm_public_ws, usdm_market_ws] : [coinm_ws, coinm_ws];
  const mark = listStreams('markPrice@1s');
  // COIN-M sends the index separately, by pair, each second (`@1s` is gone since 2026-06-30).
  const markAndIndex = (listing: ListingRecord): string[] => [
    ...mark(listing),
    `${toLower(listing.values.pair ?? '')}@indexPrice`,
  ];
  const plans: readonly SocketPlan[] = [
    { name: 'book', url: bookUrl, layers: ['book', 'venue_depth'], steady: listStreams('depth@100ms') },
    { name: 'mark', url: marketUrl, layers: ['mark', 'funding'], steady: market === 'usdm' ? mark : markAndIndex },
    {
      name: 'trade',
      url: marketUrl,
      layers: ['ticker', 'stats', 'trades', 'liquidation', 'candles'],
      steady: listStreams('ticker'),
      restless: listStreams('aggTrade', 'kline_1m', 'forceOrder'),
      confirmAfterMs: CONFIRM_AFTER_MS,
    },
  ];
  return plans.flatMap((plan) => toSlots(group, { ...plan, name: `${market}-${plan.name}` }));
};

/** Listings by age, so that a new one changes only the last socket. */
const toSlots = ({ listings, shard }: Group, plan: SocketPlan): Slot[] => {
  const { name, url, layers, steady, restless = () => [], confirmAfterMs } = plan;
  const streams = (listing: ListingRecord): readonly string[] => [...steady(listing), ...restless(listing)];
  const [first] = listings;
  const perSocket = Math.floor(STREAMS_PER_CONNECTION / (first ? streams(first).length : 1));
  const watch = (chunk: readonly ListingRecord[]): Watched => ({
    subscriptions: [...new Set(chunk.flatMap(steady))],
    silenceMs: SILENCE_MS,
    ...(confirmAfterMs === undefined ? {} : { confirmAfterMs }),
  });
  return splitChunks(listings, perSocket).map((chunk, i) => ({
    kind: 'socket',
    id: `${name}.${shard}.${i}`,
    shards: [shard],
    url: url ?? '',
    subscribe: toFrames('SUBSCRIBE', [...new Set(chunk.flatMap(streams))]),
    covers: [{ layers, symbols: listSymbols(chunk) }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
    watched: [watch(chunk)],
  }));
};

const toFrames = (method: 'SUBSCRIBE' | 'UNSUBSCRIBE', streams: readonly string[]): string[] =>
  splitChunks(streams, STREAMS_PER_FRAME).map((params, i) => JSON.stringify({ method, params, id: i + 1 }));

/** Unsubscribes first: the venue only acknowledges a subscription that it considers active. */
export const toRenewal = (streams: readonly string[]): string[] => [
  ...toFrames('UNSUBSCRIBE', streams),
  ...toFrames('SUBSCRIBE', streams),
];

export const toRestBase = (venueSymbol: string, { usdm_rest, coinm_rest }: Endpoints): string =>
  toMarket(venueSymbol) === 'usdm' ? `${usdm_rest}/fapi/v1` : `${coinm_rest}/dapi/v1`;

const toPoll = (url: string): PollRequest => ({ method: 'GET', url, weight: 1 });

const planPolls = (market: 'usdm' | 'coinm', { listings, shard, endpoints }: Group, everyMs: number): Slot[] => {
  const poll = (layer: string, members: readonly ListingRecord[], slot: PollPlan): Slot[] =>
    members.length === 0
      ? []
      : [
          {
            kind: 'poll',
            id: `${market}-${layer.replaceAll('_', '-')}.${shard}`,
            shards: [shard],
            ...slot,
            covers: [{ layers: [layer], symbols: listSymbols(members) }],
          },
        ];
  const priced = listings.filter(hasPriceCandles);
  return [
    ...poll('oi', listings, { everyMs, requests: listings.map((listing) => toOi(listing, endpoints)) }),
    ...poll('price_candles', priced, {
      everyMs: PRICE_CANDLES_EVERY_MS,
      requests: priced.flatMap((listing) => toPriceCandles(listing, endpoints)),
    }),
  ];
};

type PollPlan = Pick<Extract<Slot, { kind: 'poll' }>, 'everyMs' | 'requests'>;

const toOi = ({ venue_symbol }: ListingRecord, endpoints: Endpoints): PollRequest =>
  toPoll(`${toRestBase(venue_symbol, endpoints)}/openInterest?symbol=${encodeURIComponent(venue_symbol)}`);

/** The running minute and those that ended since the last answer. */
const toPriceCandles = ({ venue_symbol, values }: ListingRecord, endpoints: Endpoints): PollRequest[] => {
  const base = toRestBase(venue_symbol, endpoints);
  const of = (path: string, subject: string): PollRequest => ({
    ...toPoll(`${base}/${path}?${subject}&interval=1m&limit=3`),
    urgency: 'price_candle',
  });
  return [
    of('markPriceKlines', `symbol=${encodeURIComponent(venue_symbol)}`),
    of('indexPriceKlines', `pair=${encodeURIComponent(values.pair ?? '')}`),
  ];
};
