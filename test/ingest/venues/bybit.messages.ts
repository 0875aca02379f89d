// Bybit's messages and records as its tests write them, and the names of its recordings.
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { frame, ...bench } = venueBench(bybit);

export const REST = 'jkorf-rest-examples.ndjson';

export const WS = 'jkorf-ws-examples.ndjson';

export const TARDIS = 'tardis-tests-bybit-messagesV5.ndjson';

export const answer = (path: string, result: unknown, time: number | undefined = 1700000000001): VenueMessage => ({
  ...frame({ retCode: 0, retMsg: 'OK', result, time }),
  kind: 'response',
  request: `GET https://api.bybit.com/v5/market/${path}`,
});

export const record = (layer: string, symbol: string, venueMs: number | null, values: unknown): unknown =>
  bench.record(layer, symbol, [venueMs, null], values);

export const listListings = (message: VenueMessage, state = {}): readonly ListingRecord[] =>
  bybit.mapReference(state, message)?.listings ?? [];

export const instrument = (symbol: string, change: object = {}): object => ({
  symbol,
  contractType: 'LinearPerpetual',
  status: 'Trading',
  baseCoin: symbol.replace(/(USDT|PERP|USD)$/, ''),
  quoteCoin: 'USDT',
  launchTime: '1585526400000',
  deliveryTime: '0',
  priceScale: '2',
  fundingInterval: 480,
  ...change,
});
