// Bitget's messages and records as its tests write them, and the names of its recordings.
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { frame, ...bench } = venueBench(bitget);

export const REST = 'jkorf-rest-examples.ndjson';

export const WS = 'jkorf-ws-examples.ndjson';

export const TARDIS = 'tardis-tests-bitget-futures.ndjson';

export const SESSION = 'cryptofeed-mix-v1-ws-2.ndjson.gz';

export const V1_CONTRACTS = 'cryptofeed-mix-v1-rest-instruments.ndjson.gz';

export const answer = (path: string, data: unknown): VenueMessage => ({
  ...frame({ code: '00000', msg: 'success', requestTime: 1700000000009, data }),
  kind: 'response',
  request: `GET https://api.bitget.com/api/${path}`,
});

export const record = (
  layer: string,
  symbol: string,
  [venueMs, receivedMs = null]: readonly [venueMs: number | null, receivedMs?: number | null],
  values: unknown,
): unknown => bench.record(layer, symbol, [venueMs, receivedMs], values);

export const trade = (symbol: string, at: readonly [number, number?], values: object): unknown =>
  record('trade', symbol, at, { ...values, quantity_unit: 'base' });

export const v3 = (topic: string, data: readonly unknown[], more: object = {}, action = 'update'): VenueMessage =>
  frame({ action, arg: { instType: 'usdt-futures', topic, symbol: 'AUSDT', ...more }, data, ts: 1700000000009 });

/** As v3 sends it: the argument behind the levels, ids beyond 2^53. */
export const bookFrame = (action: string, seq: bigint, pseq: bigint, topic = 'books'): string =>
  `{"data":[{"a":[["7","8"]],"b":[["5","6"],["4","0"]],"checksum":0,"pseq":${pseq},"seq":${seq},"ts":"1700000000001"}],` +
  `"arg":{"instType":"usdt-futures","symbol":"AUSDT","topic":"${topic}"},"action":"${action}","ts":1700000000002}`;

export const listListings = (message: VenueMessage): readonly ListingRecord[] =>
  bitget.mapReference({}, message)?.listings ?? [];

export const instrument = (symbol: string, change: object = {}): object => ({
  symbol,
  category: 'USDT-FUTURES',
  baseCoin: symbol.replace(/(USDT|PERP|USD)$/, ''),
  quoteCoin: 'USDT',
  type: 'perpetual',
  symbolType: 'crypto',
  status: 'online',
  ...change,
});
