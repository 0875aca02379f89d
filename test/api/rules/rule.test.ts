// A rule as its owner sends it and is shown it (AG-01, N-04).
import t from 'tap';
import { readDraft, toRuleJson } from '../../../api/rules/rule.ts';
import { ServiceError } from '../../../schemas/errors.ts';

const show = (sent: object) => {
  const at = new Date('2026-01-15T12:00:00.000Z');
  const kept = { ruleId: 'rule_1', accountId: 'a', version: 1, phase: 0, createdAt: at, updatedAt: at };
  return toRuleJson({ ...readDraft({ name: 'r', query: 'any(venues where mark > 1)', ...sent }), ...kept });
};

t.test(
  'its interval has the largest unit, its bounds are in seconds by the names of layers (N-04, L-01)',
  async (t) => {
    t.equal(show({ interval: '60s' }).interval, '1m');
    t.equal(show({}).freshness, null);
    t.equal(show({ freshness: '2m' }).freshness, '120s');
    t.equal(show({ freshness: '7d' }).freshness, '604800s');
    const bounds = { open_interest: '1h', book_bands: '90s', mark: '1m' };
    t.same(JSON.stringify(show({ freshness: bounds }).freshness), '{"mark":"60s","oi":"3600s","venue_depth":"90s"}');
  },
);

const findFaults = (sent: object): readonly string[] => {
  try {
    show(sent);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.errors.map(({ code, path }) => `${code} ${path}`);
  }
};

t.test('its interval is from 10 seconds to a day, its name has up to 100 characters', async (t) => {
  for (const interval of ['10s', '1d', '24h', '1440m', '86400s']) t.same(findFaults({ interval }), [], interval);
  for (const interval of ['9s', '0s', '86401s', '25h', '2d'])
    t.same(findFaults({ interval }), ['DQL_LIMIT /interval'], interval);
  t.same(findFaults({ name: '😀'.repeat(100) }), []);
  t.same(findFaults({ name: '😀'.repeat(101) }), ['DQL_JSON_SCHEMA /name']);
});

t.test('a member that is null is refused, except the bounds, of which null means the defaults', async (t) => {
  for (const name of ['name', 'query', 'interval', 'units', 'enabled', 'shared'])
    t.same(findFaults({ [name]: null }), [`DQL_JSON_SCHEMA /${name}`], name);
  t.equal(show({ freshness: null }).freshness, null);
});
