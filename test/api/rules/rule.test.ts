// A rule as its owner is shown it (AG-01, N-04).
import t from 'tap';
import { readDraft, toRuleJson } from '../../../api/rules/rule.ts';

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
