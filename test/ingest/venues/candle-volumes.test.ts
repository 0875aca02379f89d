// A candle of trades whose volume is not sent has the prices that are, and no volume (records.md); a member that is absent altogether is counted.
import t from 'tap';
import { venues } from '../../../ingest/venues/index.ts';
import { watchUnexpected } from '../../../ingest/venues/shared/unexpected.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';

const PARTS = {
  openMs: 1_700_000_040_000,
  prices: { open: '61', high: '63', low: '60', close: '62' },
  letters: { o: '61', h: '63', l: '60', c: '62' },
};

for (const venue of venues.values()) {
  const { volume: name, frame: form } = factsAbout(venue).candle;
  t.test(venue.id, (t) => {
    const counted: string[] = [];
    const { frame, map } = venueBench(watchUnexpected(venue, (kind) => counted.push(kind)));
    const read = (volume: Readonly<Record<string, unknown>>): readonly unknown[] =>
      map(frame(form({ ...PARTS, volume }))).map(({ values }) => values);
    const whole = read({ [name]: '5' });
    t.match(whole, [{ ...PARTS.prices, open_time: PARTS.openMs * 1_000, price_type: 'trade', volume: '5' }]);
    const without = whole.map((values) => ({ ...(values as object), volume: null }));
    for (const none of [null, '']) t.same(read({ [name]: none }), without, `the volume is ${JSON.stringify(none)}`);
    t.same(counted, []);
    t.same(read({}), without, 'there is no volume');
    t.same(counted, ['missing_member']);
    t.end();
  });
}
