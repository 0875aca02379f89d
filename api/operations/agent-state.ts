// GET /v2/agent/state: states of the rules of an account, or of shared rules, and the state that the caller received before (AG-02 to AG-06).
import Type, { type Static } from 'typebox';
import { formatDuration } from '../../schemas/durations.ts';
import { type ApiError, makeServiceError, makeUnavailable, ServiceError } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { formatCount } from '../contract/counts.ts';
import type { Quote, Sent } from '../contract/endpoint.ts';
import { InstantText, NullableInstant } from '../contract/parameters.ts';
import { makeKeyRequired } from '../contract/refusals.ts';
import { clip } from '../contract/sent-text.ts';
import { computeFittingCount, type Refused } from '../history/fitting.ts';
import { computePriceOfRules } from '../payments/offers.ts';
import type { AgentRules, RuleCaller, RuleStatus } from '../rules/desk.ts';
import { RULE_REASONS, RULE_STATES } from '../rules/rule.ts';
import { isRuleId, RULE_IDS_FORM } from '../rules/rule-id.ts';
import answer from './examples/agent-state.json' with { type: 'json' };
import { type Answer, type Context, defineOperation } from './operation.ts';

const MOST_IDS = 100;
const EXAMPLE_ID = 'rule_3V7Q2M9K4T8B6R1W5Y0ZC2D4F6';

const Input = Type.Object(
  {
    rule_id: Type.Optional(
      Type.Array(Type.String({ pattern: RULE_IDS_FORM, examples: [EXAMPLE_ID] }), {
        minItems: 1,
        description: `Ids of rules, repeated or separated by commas, at most ${MOST_IDS}. Without it a key reads all rules of its account; a paid call names at least one.`,
        examples: [[EXAMPLE_ID]],
      }),
    ),
    fresh: Type.Optional(
      Type.Boolean({
        description:
          'Whether the rules are evaluated now, each at most once per second. Every evaluation counts against the limit of the day. Default false.',
        examples: [true],
      }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const State = Type.Enum([...RULE_STATES]);
const Output = Type.Object({
  evaluated_at: InstantText,
  receipt_id: Type.String(),
  rules: Type.Array(
    Type.Object({
      rule_id: Type.String(),
      name: Type.String(),
      state: State,
      reason: Type.Union([Type.Enum([...RULE_REASONS]), Type.Null()]),
      previous_state: Type.Union([State, Type.Null()]),
      changed: Type.Boolean(),
      since: InstantText,
      evaluated_at: NullableInstant,
      next_evaluation_at: NullableInstant,
      effective_interval: Type.String(),
      query: Type.String(),
      matched: Type.Array(Type.String()),
      matched_total: Type.Integer(),
      unknown: Type.Array(Type.String()),
      unknown_total: Type.Integer(),
    }),
  ),
  missing: Type.Array(Type.String()),
});

const findIdFaults = (ids: readonly string[]): ApiError[] => {
  const malformed = ids.flatMap((id, i): ApiError[] => {
    if (isRuleId(id)) return [];
    const message = `"${clip(id)}" is not the id of a rule.`;
    const hint = 'Write rule_ and 26 characters, as the account site shows it.';
    return [{ code: 'DQL_JSON_SCHEMA', message, hint, path: `/rule_id/${i}` }];
  });
  const count = new Set(ids).size;
  if (count <= MOST_IDS) return malformed;
  const message = `${count} rules are named, the limit is ${MOST_IDS}.`;
  return [
    ...malformed,
    { code: 'DQL_JSON_SCHEMA', message, hint: `Name at most ${MOST_IDS} rules in one call.`, path: '/rule_id' },
  ];
};

/** Without a key: malformed names are refused before a payment is requested for them; each distinct one costs the same (AG-05). */
const quoteRules = async ({ query }: Sent): Promise<Quote> => {
  const ids = query.getAll('rule_id').flatMap((text) => text.split(','));
  const errors = findIdFaults(ids);
  return errors.length > 0 ? { errors } : { price: computePriceOfRules(ids), class: 'agent_state' };
};

const listDistinct = ({ rule_id: ids }: Input): readonly string[] | null =>
  ids === undefined ? null : [...new Set(ids)];

type StatesQuestion = {
  readonly rules: AgentRules;
  readonly caller: RuleCaller;
  readonly ids: readonly string[] | null;
};

/** Any failure other than a caller's fault is a failure of the store of rules. */
const refuseForNow = (error: unknown): never => {
  if (error instanceof ServiceError) throw error;
  throw makeUnavailable('Rules cannot be read now.');
};

const readParameters = (input: Input, { rules, caller, payer }: Context): StatesQuestion => {
  if (rules === null) return refuseForNow(null);
  const ids = listDistinct(input);
  if (caller !== null) return { rules, caller, ids };
  if (payer === null) throw makeKeyRequired();
  if (ids === null) {
    const hint = 'Name one that its owner shares: rule_id=rule_...';
    throw makeServiceError('DQL_JSON_SCHEMA', 'A paid call names at least one rule.', { hint, path: '/rule_id' });
  }
  return { rules, caller: { payer }, ids };
};

/** Refuses when every name is unknown, or of a rule that the caller may not read; no caller learns which. */
const refuseNone = (ids: readonly string[] | null, found: number): void => {
  if (ids === null || found > 0) return;
  throw makeServiceError('NOT_FOUND', 'None of the rules named can be read.', {
    hint: 'Name rules of the account, or shared ones.',
  });
};

const judge = async (input: Input, context: Context): Promise<void> => {
  const { rules, caller, ids } = readParameters(input, context);
  refuseNone(ids, (await rules.find(ids, caller).catch(refuseForNow)).length);
};

const toItem = (status: RuleStatus): JsonValue => ({
  rule_id: status.rule.ruleId,
  name: status.rule.name,
  state: status.state,
  reason: status.reason,
  previous_state: status.before,
  changed: status.before !== null && status.before !== status.state,
  since: formatInstant(status.since),
  evaluated_at: formatInstantOrNull(status.evaluatedAt),
  next_evaluation_at: formatInstantOrNull(status.nextAt),
  effective_interval: formatDuration(status.intervalS * 1_000),
  query: status.rule.query,
  matched: status.matched,
  matched_total: status.matchedTotal,
  unknown: status.unknown,
  unknown_total: status.unknownTotal,
});

/** In the order named. */
const sortRules = (ids: readonly string[] | null, found: readonly RuleStatus[]): readonly RuleStatus[] => {
  if (ids === null) return found;
  const byId = new Map(found.map((status) => [status.rule.ruleId, status]));
  return ids.flatMap((id) => byId.get(id) ?? []);
};

const evaluateFirst = async ({ rules, caller, ids }: StatesQuestion, context: Context): Promise<void> => {
  const readable = await rules.find(ids, caller).catch(refuseForNow);
  refuseNone(ids, readable.length);
  // A paid call counts on no plan.
  const spend = async (count: number): Promise<void> => context.caller?.spend('agent_evaluations', count);
  await rules.evaluate(readable, context.evaluatedAt, spend).catch(refuseForNow);
};

const makeFits =
  (count: number) =>
  (refused: Refused): string => {
    const most = Math.max(1, computeFittingCount(refused, count));
    return `Narrow rule_id: name at most ${formatCount(most, 'rule')} a call.`;
  };

const run = async (input: Input, context: Context): Promise<Answer> => {
  const asked = readParameters(input, context);
  const { rules, caller, ids } = asked;
  if (input.fresh === true) await evaluateFirst(asked, context);
  const makeBody = (found: readonly RuleStatus[]): JsonValue => {
    const foundIds = new Set(found.map((status) => status.rule.ruleId));
    return {
      evaluated_at: formatInstant(Math.max(context.evaluatedAt, ...found.map((one) => one.evaluatedAt ?? 0))),
      receipt_id: context.receiptId,
      rules: sortRules(ids, found).map(toItem),
      missing: (ids ?? []).filter((id) => !foundIds.has(id)),
    };
  };
  const found = await rules
    .read({ ids, caller, at: context.evaluatedAt }, (states) => context.reaches(makeBody(states)))
    .catch(refuseForNow);
  refuseNone(ids, found.length);
  return { body: makeBody(found), numberFormat: 'json', fits: makeFits(found.length) };
};

export const agentState = defineOperation({
  name: 'agent_state',
  method: 'GET',
  path: '/v2/agent/state',
  key: 'required',
  class: 'agent_state',
  price: computePriceOfRules([]),
  cacheS: null,
  summary: 'States of agent rules, and their states in the previous answer.',
  tool: true,
  input: Input,
  output: Output,
  codes: ['DQL_LIMIT', 'NOT_FOUND'],
  pricing: 'Without a key a call costs 0.01 USDC per distinct rule that it names.',
  example: {
    question: 'Does my rule hold, and has it changed since my last answer?',
    input: { rule_id: [EXAMPLE_ID] },
    output: answer,
  },
  refine: ({ rule_id: ids }) => (ids === undefined ? [] : findIdFaults(ids)),
  quote: quoteRules,
  judge,
  run,
});
