// Hyperliquid's slots: sockets with all channels of their coins; subscriptions, and requests that fill in minutes.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot } from '../contract/feed.ts';
import type { VenueRequest } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { type Place, spreadListings } from '../shared/spread-listings.ts';
import { hasEvents } from './budget.ts';

/** An address may open ten connections: these, and one successor. */
const MOST_SOCKETS = 9;
/** Approximate number of subscriptions on a socket. */
const SUBSCRIPTIONS_PLANNED = 100;
/** No request returns a context by coin; a new subscription sends it, before the bounds of mark and open interest (F-03). */
const CONTEXT_SILENCE_MS = 20_000;
/** Subscriptions may die on a live socket. After this time trades are subscribed again, needlessly for a quiet coin. */
const EVENTS_SILENCE_MS = 300_000;

/** All channels of a coin on one socket, so that a new coin replaces one socket only: while both are open, their subscriptions count twice. */
export const planHyperliquid = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] =>
  spreadListings(listings, env, {
    sockets: countSockets(listings, env.shards),
    slot: (members, place) => toSocket(members, place, env.endpoints.ws ?? ''),
  });

/** A whole number for each shard; it doubles when needed, so that a new coin does not move the others. */
const countSockets = (listings: readonly ListingRecord[], shards: number): number => {
  const subscriptions = listings.reduce((sum, listing) => sum + (hasEvents(listing) ? 4 : 2), 0);
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, subscriptions / SUBSCRIPTIONS_PLANNED)));
  return Math.max(1, Math.floor(Math.min(wanted, MOST_SOCKETS) / shards)) * shards;
};

const toSocket = (members: readonly ListingRecord[], { shard, tag }: Place, url: string): Slot => {
  const symbols = listSymbols(members);
  const withEvents = listSymbols(members.filter(hasEvents));
  const of = (kind: string, coins: readonly string[]): readonly string[] => coins.map((coin) => `${kind} ${coin}`);
  const [books, contexts] = [of('l2Book', symbols), of('activeAssetCtx', symbols)];
  const events = [...of('trades', withEvents), ...of('candle', withEvents)];
  return {
    kind: 'socket',
    id: `coins.${tag}`,
    shards: [shard],
    url,
    subscribe: [...books, ...contexts, ...events].map((name) => toFrame('subscribe', name)),
    covers: [
      { layers: ['book', 'venue_depth', 'mark', 'funding', 'oi', 'stats'], symbols },
      ...(withEvents.length === 0 ? [] : [{ layers: ['trades', 'candles'], symbols: withEvents }]),
    ],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
    watched: [
      { subscriptions: books, silenceMs: SILENCE_MS },
      { subscriptions: contexts, silenceMs: CONTEXT_SILENCE_MS },
      { subscriptions: events, silenceMs: EVENTS_SILENCE_MS },
    ],
  };
};

const toFrame = (method: 'subscribe' | 'unsubscribe', name: string): string => {
  const [type, coin] = name.split(' ');
  const interval = type === 'candle' ? { interval: '1m' } : {};
  return JSON.stringify({ method, subscription: { type, coin, ...interval } });
};

/** Unsubscribes first: the venue refuses an active subscription. A new one starts with the newest book or context. */
export const toRenewal = (names: readonly string[]): string[] =>
  names.flatMap((name) => [toFrame('unsubscribe', name), toFrame('subscribe', name)]);

export const ask = (endpoints: Readonly<Record<string, string>>, body: unknown, weight: number): VenueRequest => ({
  method: 'POST',
  url: `${endpoints.rest}/info`,
  body: JSON.stringify(body),
  weight,
});

/** Documented: 20, and one more for up to sixty candles. */
const CANDLES_WEIGHT = 21;

/** Requests the minutes of trades that open from `fromMs` to `toMs`, and the next one; both bounds are inclusive. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
  const req = { coin: venue_symbol, interval: '1m', startTime: fromMs, endTime: toMs + MS_PER_MINUTE };
  const request = ask(endpoints, { type: 'candleSnapshot', req }, CANDLES_WEIGHT);
  // The parameters are in the body, but only the URL is recorded, and an answer may be an empty list. A fragment is not sent.
  const question = new URLSearchParams({
    coin: venue_symbol,
    startTime: `${req.startTime}`,
    endTime: `${req.endTime}`,
  });
  return { ...request, url: `${request.url}#candleSnapshot?${question}` };
};

/** Maximum number of candles in an answer. */
const CANDLES_LIMIT = 5_000;

/** Bounds are inclusive. The answer about a minute without candles is an empty list. */
export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const [, question] = /#candleSnapshot\?(\S+)$/.exec(message.request ?? '') ?? [];
  if (question === undefined || readRequest(message, '[') === null) return null;
  const query = new URLSearchParams(question);
  const [fromMs, toMs] = [readNumber(query, 'startTime'), readNumber(query, 'endTime')];
  return toAsked([query.get('coin') ?? ''], 'trade', { fromMs, toMs, limit: CANDLES_LIMIT });
};
