// `freshness` of answers is the complete map of the bounds used: of each layer, and of the mark where it converts quantities (F-03, N-07).
import t from 'tap';
import { printBounds } from '../../../api/live/bounds.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { UNITS_MODES, type UnitsMode } from '../../../schemas/units.ts';
import { market, post, testApp } from '../../support/apps/live-fixture.ts';
import { StreamClient } from '../../support/services/stream-client.ts';

/** Layers of the interface's table whose members have the unit quantity. */
const WITH_QUANTITIES: ReadonlySet<ReadingLayer> = new Set(['oi', 'book', 'stats', 'venue_depth']);
const expected = (layer: ReadingLayer, units: UnitsMode): string[] =>
  [...new Set([layer, ...(units !== 'published' && WITH_QUANTITIES.has(layer) ? ['mark'] : [])])].sort();

t.test('every layer in every unit', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  for (const layer of READING_LAYERS) {
    for (const units of UNITS_MODES) {
      const bounds = { freshness: { mark: '7s' }, units, layers: [layer] };
      const { freshness } = (await post(app, as('pro_plus'), bounds)).json<{ freshness: Record<string, string> }>();
      t.same(Object.keys(freshness), expected(layer, units), `${layer} ${units}`);
      if ('mark' in freshness) t.equal(freshness.mark, '7s');
    }
  }
  const bounds = Object.fromEntries(READING_LAYERS.map((layer) => [layer, 7_000])) as Record<ReadingLayer, number>;
  t.same(printBounds(bounds, ['ticker', 'oi'], 'base'), { mark: '7s', oi: '7s', ticker: '7s' });
  t.same(Object.keys(printBounds(bounds, ['ticker', 'oi'], 'base')), ['mark', 'oi', 'ticker']);
});

t.test('streams name the same, also for volumes of candles', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const hello = async (query: string): Promise<unknown> => {
    const client = await StreamClient.open(`${url}/v2/stream?${query}`, as('pro_plus'));
    const [event] = await client.untilCount('hello', 1);
    await client.close();
    return event?.data.freshness;
  };
  t.same(await hello('layers=oi,book_bands'), { book_bands: '30s', oi: '30s' });
  t.same(await hello('layers=oi,book_bands&units=quote'), { book_bands: '30s', mark: '30s', oi: '30s' });
  t.same(await hello('layers=ticker,candles&units=base'), { mark: '30s', ticker: '30s' });
  t.same(await hello('layers=ticker,candles'), { ticker: '30s' });
  t.same(await hello('layers=ticker,trade&units=base'), { ticker: '30s' }, 'trades convert at their own price');
});
