// A rule covers what a screen under the plan of its owner does, and nothing more (AC-02, AG-04).
import t from 'tap';
import { createScopeChooser } from '../../../api/access/scope.ts';
import { PLAN_CODES, PLANS } from '../../../api/contract/plans.ts';
import { FIELDS } from '../../../api/language/fields.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { isOutsidePlan, Questions } from '../../../api/rules/questions.ts';
import { market, NOW, testApp } from '../live-fixture.ts';

const reads = [...FIELDS.values()]
  .filter(({ scope, type }) => scope === 'venue' && type !== 'code')
  .map(({ name, type }) => `any(venues where ${name} > ${type === 'duration' ? '1s' : '1'})`);
const aboutLayers = ['status(mark) = present', 'age(oi) > 1s'].map((condition) => `any(venues where ${condition})`);
const calls = [...FUNCTIONS.values()].filter(({ how }) => how.by === 'layer').map(({ example }) => example);
const named = ['venue = okx', 'venue in (okx, binance)', 'base = BTC', 'instrument = BTC-PERP'].map(
  (selection) => `any(venues where mark > 1) where ${selection}`,
);
const compared = ['any(venues where venue = okx and mark > 1)', 'base = ETH and any(venues where mark > 1)'];

t.test('a rule is outside the plan exactly when the plan refuses the screen', async (t) => {
  const feed = market();
  const { app, table } = await testApp(feed);
  t.teardown(() => app.close());
  const questions = new Questions(feed.memory);
  const choose = createScopeChooser(feed.memory);
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
  t.ok((outside.get('free') ?? 0) >= 4, 'a free plan has no depth');
});
