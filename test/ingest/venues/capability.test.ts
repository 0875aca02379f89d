// Deliveries of a venue as the log has them.
import t from 'tap';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';

t.test('a live cadence is no number of milliseconds in a capability', async (t) => {
  const body = toCapability({
    name: 'Somewhere',
    layers: {
      book: { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' },
      mark: { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' },
    },
  });
  t.equal(body.name, 'Somewhere');
  t.same(body.layers.book, { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' });
  t.same(body.layers.mark, { policy: 'on', cadence_ms: 1_000, horizon_ms: 2_000, horizon_source: 'documented' });
});
