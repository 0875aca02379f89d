// A rule covers what a screen under the plan of its owner does, and nothing more (AC-02, AG-04).
import t from 'tap';
import { createScopeChooser } from '../../../api/access/scope.ts';
import { PLAN_CODES, PLANS } from '../../../api/contract/plans.ts';
import { FIELDS } from '../../../api/language/fields.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { isOutsidePlan, Questions } from '../../../api/rules/questions.ts';
import { Feed, listing, listingValues, NOW, testApp } from '../../support/apps/live-fixture.ts';

const reads = [...FIELDS.values()]
  .filter(({ scope, type }) => scope === 'venue' && type !== 'code')
  .map(({ name, type }) => `any(venues where ${name} > ${type === 'duration' ? '1s' : '1'})`);
const aboutLayers = ['status(mark) = present', 'age(oi) > 1s'].map((condition) => `any(venues where ${condition})`);
const calls = [...FUNCTIONS.values()].filter(({ how }) => how.by === 'layer').map(({ example }) => example);
const selections = ['venue = okx', 'venue in (okx, deribit)', 'base = BTC', 'base = MOG', 'instrument = MOG-PERP'];
const named = selections.map((selection) => `any(venues where mark > 1) where ${selection}`);
const compared = [
  ...['okx', 'deribit'].map((venue) => `any(venues where venue = ${venue} and mark > 1)`),
  ...['BTC', 'MOG'].map((base) => `base = ${base} and any(venues where mark > 1)`),
];

/** Two venues with one instrument, and a smaller one with another. */
const wideMarket = (): Feed => {
  const venues = ['binance', 'okx', 'deribit'];
  const feed = new Feed(venues);
  for (const venue of venues) {
    feed.venue(venue);
    for (const base of venue === 'deribit' ? ['BTC', 'MOG'] : ['BTC'])
      feed.list(listing(venue, listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base })));
  }
  return feed;
};
const TURNOVER = new Map(['binance', 'okx'].map((venue) => [venue, new Map([['BTC-PERP', '3']])]));

t.test('a rule is outside the plan exactly when the plan refuses the screen', async (t) => {
  const feed = wideMarket();
  const turnover = () => ({ day: '2026-01-15', turnover: TURNOVER });
  const { app, table } = await testApp(feed, { turnover });
  t.teardown(() => app.close());
  const questions = new Questions(feed.memory);
  const choose = createScopeChooser(feed.memory, turnover);
  const outside = new Map<string, number>();
  for (const query of [...reads, ...aboutLayers, ...calls, ...named, ...compared]) {
    for (const code of PLAN_CODES) {
      // A key of its own: a free one may call four times at once.
      const headers = { authorization: `Bearer ${table.add(code)}` };
      const { statusCode } = await app.inject({ method: 'POST', url: '/v2/screen', headers, payload: { query } });
      const question = questions.of({ query, units: 'published', freshness: null });
      const isOutside = isOutsidePlan(question, PLANS[code], choose(PLANS[code], NOW));
      t.equal(isOutside, statusCode === 403, `${query} under ${code}`);
      if (isOutside) outside.set(code, (outside.get(code) ?? 0) + 1);
    }
  }
  t.ok((outside.get('free') ?? 0) >= 9, 'a free plan has no depth, no third venue, and no instrument of its own');
});

t.test('rules are evaluated together only when they ask the same in the same units and bounds', (t) => {
  const questions = new Questions(wideMarket().memory);
  const query = 'any(venues where mark > 1)';
  const asked = [
    { query, units: 'published', freshness: null },
    { query, units: 'quote', freshness: null },
    { query, units: 'published', freshness: '5s' },
    { query: 'any(venues where mark > 2)', units: 'published', freshness: null },
  ] as const;
  const found = asked.map((each) => questions.of(each));
  t.equal(new Set(found.map(({ key }) => key)).size, asked.length);
  t.same(
    found.map(({ units, bounds }) => [units, bounds.mark]),
    asked.map(({ units, freshness }) => [units, freshness === null ? found[0]?.bounds.mark : 5_000]),
  );
  t.equal(questions.of({ ...asked[0], query: 'any( venues  where mark > 1 )' }).key, found[0]?.key);
  t.end();
});
