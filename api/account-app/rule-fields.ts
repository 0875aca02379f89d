// The members of a rule as a form has them: texts, and boxes that are sent only when they are ticked.
import { formatDuration } from '../../schemas/durations.ts';
import type { Rule } from '../rules/rule.ts';
import { readField } from './fields.ts';
import { LONGEST_QUERY } from './rules-json.ts';

export type RuleFields = Readonly<
  Record<'name' | 'query' | 'interval' | 'units' | 'freshness' | 'enabled' | 'shared', string>
>;

export const readSentFields = (body: unknown): RuleFields => ({
  name: readField(body, 'name'),
  query: readField(body, 'query', LONGEST_QUERY),
  interval: readField(body, 'interval'),
  units: readField(body, 'units'),
  freshness: readField(body, 'freshness').trim(),
  enabled: readField(body, 'enabled'),
  shared: readField(body, 'shared'),
});

/** As `readDraft` reads a rule. Bounds by layer do not fit into a text: they stay as they are while the field is empty. */
export const toMembers = ({ freshness, enabled, shared, ...texts }: RuleFields, before: Rule | null) => {
  const kept = typeof before?.freshness === 'object' ? before.freshness : null;
  return {
    ...texts,
    freshness: freshness === '' ? kept : freshness,
    enabled: enabled === 'on',
    shared: shared === 'on',
  };
};

export const toRuleFields = (rule: Rule): RuleFields => ({
  name: rule.name,
  query: rule.query,
  interval: formatDuration(rule.intervalS * 1_000),
  units: rule.units,
  freshness: typeof rule.freshness === 'string' ? rule.freshness : '',
  enabled: rule.enabled ? 'on' : '',
  shared: rule.shared ? 'on' : '',
});

export const NEW_RULE: RuleFields = {
  ...{ name: 'funding spike', query: 'any(venues where funding > 5bps)', interval: '1m', units: 'published' },
  ...{ freshness: '', enabled: 'on', shared: '' },
};
