// Settings of the collector that cannot be meant are refused before anything is opened, by name and with what is known.
import t from 'tap';
import { readSettings } from '../../ingest/config.ts';

const ENV = { KAFKA_BROKERS: '127.0.0.1:9092', VENUES: 'binance' };
const readWith = (env: Readonly<Record<string, string>>) => readSettings({ ...ENV, ...env });

t.test('venues and shards', (t) => {
  t.same(
    readWith({}).venues.map(({ id }) => id),
    ['binance'],
  );
  t.throws(() => readWith({ VENUES: 'binnance' }), /VENUES: binnance is an unknown venue; known: .*\bbinance\b/);
  t.throws(() => readWith({ VENUES: '' }), /VENUES/);
  t.throws(() => readWith({ SHARDS: '0' }), /SHARDS must be at least 1/);
  t.throws(() => readSettings({ VENUES: 'binance' }), /KAFKA_BROKERS is required/);
  t.end();
});

t.test('endpoints', (t) => {
  const readEndpoints = (value: unknown) => readWith({ VENUE_ENDPOINTS: JSON.stringify(value) }).endpoints;
  const own = { binance: { usdm_rest: 'http://127.0.0.1' } };
  t.same(readEndpoints(own), own);
  t.throws(
    () => readEndpoints({ binance: { nowhere: 'http://127.0.0.1' } }),
    /VENUE_ENDPOINTS.binance.nowhere is unknown; known: usdm_rest/,
  );
  t.throws(() => readEndpoints({ binnance: {} }), /VENUE_ENDPOINTS.binnance is an unknown venue; known: .*\bbinance\b/);
  t.throws(() => readEndpoints({ binance: { usdm_rest: 'here' } }), /must be a URL/);
  t.throws(() => readEndpoints([]), /must be a JSON object/);
  t.end();
});

t.test('weights', (t) => {
  const readWeights = (value: unknown) => readWith({ VENUE_REST_WEIGHTS: JSON.stringify(value) }).restWeights;
  t.same(readWeights({ binance: 6_000 }), { binance: 6_000 });
  t.throws(() => readWeights({ binnance: 1 }), /VENUE_REST_WEIGHTS.binnance is an unknown venue/);
  t.throws(() => readWeights({ binance: '1' }), /VENUE_REST_WEIGHTS.binance must be a whole number above 0/);
  t.throws(() => readWeights([]), /must be a JSON object/);
  t.end();
});
