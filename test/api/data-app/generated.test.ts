// Generated queries over HTTP, valid and hostile, of a market with gaps, losses, stale, unpublished and ended listings: none gets a 5xx (E-05).
import t from 'tap';
import { askGenerated } from '../../../infra/dev/tools/ask-generated.ts';
import { capability, listing, listingValues, markReading, testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import { PaperWorld } from '../../support/tasks/paper-world.ts';

const SCREENS = Number(process.env['GENERATED_SCREENS'] ?? 300);
const PARSES = Number(process.env['GENERATED_PARSES'] ?? 2_000);
const SEED = Number(process.env['GENERATED_SEED'] ?? 1);
/** Second of the log: after its faults, with a loss a few minutes back. */
const AT = 1_273;
/** Requests that a key may send at once, less some. */
const SCREENS_A_KEY = 80;

t.setTimeout(900_000);
const { history, write } = await openTestStore(t, await useEngines(t, ['questdb']));

/** A second venue that lists what the first does not, and publishes little. */
const besides = (world: PaperWorld): void => {
  const { feed } = world;
  feed.venue('okx', capability('okx', { oi: { policy: 'off' }, stats: { policy: 'not_published' } }));
  for (const base of ['BTC', 'LIN']) {
    const values = { base, instrument: `${base}-PERP`, venue_symbol: `${base}-USDC`, quote: 'USDC' };
    feed.list(listing('okx', listingValues(values)));
    const now = world.paper.log.now;
    feed.read('okx', `${base}-USDC`, markReading('7', { received_at: now, recorded_at: now, venue_ts: null }));
  }
  feed.watermark('okx', world.paper.log.now);
  feed.memory.applyHistoryWatermark('okx', 0, world.paper.log.now);
};

t.test('no generated query is answered with a 5xx', async (t) => {
  const world = new PaperWorld({ seed: SEED, write, beside: ['okx'] });
  await world.goTo(AT, 7);
  besides(world);
  const { app, table } = await testApp(world.feed, { history, nowMicros: () => world.paper.log.now });
  t.teardown(() => app.close());
  const keys = Array.from({ length: Math.ceil(SCREENS / SCREENS_A_KEY) + 1 }, () => table.add('pro_plus'));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const tally = await askGenerated({ url, keys, screens: SCREENS, parses: PARSES, seed: SEED, concurrency: 4 });
  t.comment(JSON.stringify({ ...tally, failures: [] }));
  t.same(tally.failures, [], 'none failed');
  const { statuses, codes } = tally;
  t.ok((statuses['screen 200'] ?? 0) > SCREENS / 2, `screens were answered: ${JSON.stringify(statuses)}`);
  t.ok((statuses['parse 200'] ?? 0) > PARSES / 5 && (statuses['parse 400'] ?? 0) > PARSES / 5, 'both kinds of parses');
  t.notOk('screen (no JSON)' in codes || 'parse (no JSON)' in codes, 'every refusal has its code');
});
