// Venues that publish Binance's frames, answers and book chain: one function builds each venue from its differences.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Delivery, SymbolRequest, VenueLimits } from '../contract/feed.ts';
import type { Endpoints, VenueRequest } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { makePolledDelivery } from './budget.ts';
import { askedMinutes } from './events.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import { toRenewal } from './plan.ts';
import { CONFIRMING_LEVELS, readChain, readClosedMinute, readSubscription } from './symbols.ts';

/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1000, horizonMs: 2000, horizonSource: 'documented' };

/**
 * The snapshot has `lastUpdateId`; diffs behind it are dropped. The first diff kept contains it or continues it directly (`pu` equals it:
 * observed, not documented); after that each `pu` is the previous `u`. A repeat of the last diff is skipped.
 */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    if (next.previous === last) return 'apply';
    if (joined) return next.last === last ? 'skip' : 'break';
    if (next.last < last) return 'skip';
    return next.first <= last ? 'apply' : 'break';
  },
};

/** What differs between venues of this dialect. */
type Differences = {
  readonly id: string;
  readonly name: string;
  readonly docs: string;
  readonly endpoints: Endpoints;
  readonly limits: VenueLimits;
  /** REST bases of the markets; each answers `fundingInfo` and `exchangeInfo`, and is a scope of listings. */
  readonly toRestBases: (endpoints: Endpoints) => readonly string[];
  /** REST base of a listing's market. */
  readonly toRestBase: (venueSymbol: string, endpoints: Endpoints) => string;
  /** Weight of `depth` with five levels, by which quiet books are confirmed; null: they are confirmed by whole snapshots. */
  readonly confirmationWeight: number | null;
  readonly plan: Venue['plan'];
  readonly impliedQuantity: NonNullable<Venue['impliedQuantity']>;
};

const LAYERS: Venue['layers'] = {
  ...ALL_ON_CHANGE,
  mark: EVERY_SECOND,
  funding: EVERY_SECOND,
  oi: makePolledDelivery([]),
  // The venue publishes at most one a second and symbol: a lower bound.
  liquidation: { ...ON_CHANGE, completeness: 'sampled' },
};

export const makeBinanceDialect = (own: Differences): Venue => {
  const { id, name, docs, endpoints, limits, confirmationWeight, plan, impliedQuantity } = own;
  const toRequests = createRequests(own);
  return {
    id,
    name,
    docs,
    endpoints,
    limits,
    layers: LAYERS,
    deliveries: (listings) => ({ oi: makePolledDelivery(listings) }),
    reference: (bases) =>
      own.toRestBases(bases).flatMap((base) => [toGet(`${base}/fundingInfo`, 1), toGet(`${base}/exchangeInfo`, 1)]),
    referenceEveryMs: 300_000,
    mapReference: (state, message) => mapReference(id, state, message),
    plan,
    classify,
    sequence: readChain,
    bookRule,
    sendsMarksApart: true,
    bookSnapshot: ({ venue_symbol }, bases) => toRequests.depth(venue_symbol, bases, { limit: '1000', weight: 20 }),
    ...(confirmationWeight === null
      ? {}
      : {
          bookConfirmation: ({ venue_symbol }, bases) =>
            toRequests.depth(venue_symbol, bases, { limit: CONFIRMING_LEVELS, weight: confirmationWeight }),
        }),
    subscriptionOf: readSubscription,
    renew: toRenewal,
    confirm: toRequests.confirm,
    closedMinute: readClosedMinute,
    candles: toRequests.candles,
    askedMinutes,
    impliedQuantity,
    map: (_state, message, context) => mapMessage(id, message, context),
  };
};

const classify: Venue['classify'] = (text) => {
  const head = text.slice(0, 40);
  if (head.startsWith('{"result":')) return 'ack';
  return /^\{"(error|code)":/.test(head) || /^\{"id":[^,]*,"error":/.test(head) ? 'error' : 'data';
};

const toGet = (url: string, weight: number): VenueRequest => ({ method: 'GET', url, weight });

type Depth = { readonly limit: string; readonly weight: number };
type Requests = {
  readonly depth: (venueSymbol: string, endpoints: Endpoints, depth: Depth) => VenueRequest;
  readonly confirm: (subscription: string, endpoints: Endpoints) => SymbolRequest | null;
  readonly candles: NonNullable<Venue['candles']>;
};

const createRequests = ({ toRestBase }: Differences): Requests => {
  const toUrl = (path: string, venueSymbol: string, endpoints: Endpoints): string =>
    `${toRestBase(venueSymbol, endpoints)}/${path}?symbol=${encodeURIComponent(venueSymbol)}`;
  return {
    depth: (venueSymbol, endpoints, { limit, weight }) =>
      toGet(`${toUrl('depth', venueSymbol, endpoints)}&limit=${limit}`, weight),
    /** The day's figures and last price of one listing. */
    confirm: (subscription, endpoints) => {
      const [name = '', stream] = subscription.split('@');
      if (stream !== 'ticker') return null;
      const symbol = name.toUpperCase();
      return { symbol, request: toGet(toUrl('ticker/24hr', symbol, endpoints), 1) };
    },
    /** Requests the minutes of trades from `fromMs` to `toMs`, and the next one, which shows that the last is over. Weight 1 below 100 minutes. */
    candles: ({ venue_symbol }, { fromMs, toMs }, endpoints) => {
      const limit = (toMs - fromMs) / MS_PER_MINUTE + 2;
      const range = `interval=1m&startTime=${fromMs}&limit=${limit}`;
      return toGet(`${toUrl('klines', venue_symbol, endpoints)}&${range}`, 1);
    },
  };
};
