// The definition of a rule, and its parsing from what its owner sends (AG-01).
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import { formatDuration, parseDuration } from '../../schemas/durations.ts';
import { type ApiError, findNearest, makeShapeFault, ServiceError } from '../../schemas/errors.ts';
import { isJsonObject, type JsonObject } from '../../schemas/json-object.ts';
import { clip, toPointerName } from '../contract/sent-text.ts';
import { type FreshnessInput, findFreshnessFaults, findFreshnessLimits, printSentBounds } from '../live/bounds.ts';

export const RULE_UNITS = ['published', 'base', 'quote'] as const;
export type RuleUnits = (typeof RULE_UNITS)[number];

/** A rule as its owner writes it. */
export type RuleDraft = {
  readonly name: string;
  /** DQL text without `as of`, `select`, `order by`. */
  readonly query: string;
  readonly intervalS: number;
  readonly units: RuleUnits;
  /** As `freshness` of a screen; null: the defaults. */
  readonly freshness: FreshnessInput | null;
  readonly enabled: boolean;
  /** Others may read its state by its name, for a payment too (AG-05). */
  readonly shared: boolean;
};

export type Rule = RuleDraft & {
  readonly ruleId: string;
  readonly accountId: string;
  readonly version: number;
  readonly phase: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

export const RULE_STATES = ['true', 'false', 'unknown'] as const;
export type RuleState = (typeof RULE_STATES)[number];
/** Why a state is unknown (AG-04). */
export const RULE_REASONS = [
  ...(['never_evaluated', 'stale_input', 'missing_input', 'not_published'] as const),
  ...(['disabled', 'plan_venue', 'evaluation_error'] as const),
] as const;
export type RuleReason = (typeof RULE_REASONS)[number];

const NAME_LENGTH = 100;
const LEAST_S = 10;
const MOST_S = 86_400;
const USUAL_INTERVAL = '1m';

const MEMBERS = ['name', 'query', 'interval', 'units', 'freshness', 'enabled', 'shared'];

const findMemberFaults = (sent: JsonObject): ApiError[] =>
  Object.keys(sent)
    .filter((name) => !MEMBERS.includes(name))
    .map((name) => {
      const [near] = findNearest(name, MEMBERS);
      const hint = near === undefined ? `Members are ${MEMBERS.join(', ')}.` : `Did you mean ${near}?`;
      return makeShapeFault(`/${toPointerName(name)}`, `"${clip(name)}" is not a member of a rule.`, hint);
    });

const findIntervalFaults = (interval: unknown = USUAL_INTERVAL): ApiError[] => {
  const ms = typeof interval === 'string' ? parseDuration(interval) : null;
  const hint = `Write one unit from ${LEAST_S}s to ${formatDuration(MOST_S * 1_000)}, such as 30s or 5m.`;
  if (ms === null) return [makeShapeFault('/interval', '"interval" is not a duration.', hint)];
  if (ms >= LEAST_S * 1_000 && ms <= MOST_S * 1_000) return [];
  return [{ code: 'DQL_LIMIT', message: `The interval "${interval}" is out of range.`, hint, path: '/interval' }];
};

const checkFreshness = (freshness: unknown): ApiError[] => {
  const isText = typeof freshness === 'string';
  if (!isText && (!isJsonObject(freshness) || Object.values(freshness).some((bound) => typeof bound !== 'string')))
    return [
      makeShapeFault('/freshness', '"freshness" is not a valid bound.', 'Write a duration, or durations by layer.'),
    ];
  const given = freshness as FreshnessInput;
  const faults = findFreshnessFaults(given);
  return faults.length > 0 ? faults : findFreshnessLimits(given);
};

const findBooleanFaults = (sent: JsonObject, name: string): ApiError[] =>
  sent[name] === undefined || typeof sent[name] === 'boolean'
    ? []
    : [makeShapeFault(`/${name}`, `"${name}" is neither true nor false.`, 'Send true or false.')];

const findDraftFaults = (sent: JsonObject): ApiError[] => {
  const { name, query, units, freshness } = sent;
  const isNamed = typeof name === 'string' && name.trim() !== '' && [...name].length <= NAME_LENGTH && isStorable(name);
  const isAsked = typeof query === 'string' && isStorable(query);
  return [
    ...findMemberFaults(sent),
    ...(isNamed
      ? []
      : [
          makeShapeFault(
            '/name',
            'The name is missing, is not a text, or is too long.',
            `Give 1 to ${NAME_LENGTH} characters.`,
          ),
        ]),
    ...(isAsked
      ? []
      : [makeShapeFault('/query', 'The query is missing or is not a text.', 'Send the text of a query.')]),
    ...findIntervalFaults(sent['interval']),
    ...(units === undefined || RULE_UNITS.some((one) => one === units)
      ? []
      : [makeShapeFault('/units', '"units" is out of its set.', `Use one of ${RULE_UNITS.join(', ')}.`)]),
    ...(freshness === undefined || freshness === null ? [] : checkFreshness(freshness)),
    ...findBooleanFaults(sent, 'enabled'),
    ...findBooleanFaults(sent, 'shared'),
  ];
};

/** A rule as an owner sends it; omitted members get their defaults. Throws ServiceError with every fault of its members. */
export const readDraft = (sent: unknown): RuleDraft => {
  if (!isJsonObject(sent))
    throw new ServiceError([makeShapeFault('', 'The body is not an object.', 'Send a JSON object.')]);
  const faults = findDraftFaults(sent);
  if (faults.length > 0) throw new ServiceError(faults);
  const { name, query, interval = USUAL_INTERVAL, units, freshness, enabled, shared } = sent;
  return {
    name: (name as string).trim(),
    query: query as string,
    intervalS: (parseDuration(interval as string) ?? 0) / 1_000,
    units: (units as RuleUnits | undefined) ?? 'published',
    freshness: (freshness as FreshnessInput | null | undefined) ?? null,
    enabled: (enabled as boolean | undefined) ?? true,
    shared: (shared as boolean | undefined) ?? false,
  };
};

/** A rule as its owner is shown it (AG-01). */
export const toRuleJson = (rule: Rule) => ({
  rule_id: rule.ruleId,
  name: rule.name,
  query: rule.query,
  interval: formatDuration(rule.intervalS * 1_000),
  units: rule.units,
  freshness: rule.freshness === null ? null : printSentBounds(rule.freshness),
  enabled: rule.enabled,
  shared: rule.shared,
  created_at: rule.createdAt.toISOString(),
  updated_at: rule.updatedAt.toISOString(),
});
