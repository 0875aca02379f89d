// GET /v2/account: the key, its plan and limits, and what it has used today (AC-01).
import Type from 'typebox';
import { CATALOGUE, makeServiceError } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull, MICROS_PER_DAY, toDayOf } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { KeyFacts } from '../access/account-store.ts';
import { listCovered } from '../access/turnover.ts';
import type { RequestClass } from '../contract/endpoint.ts';
import { InstantText, NullableInstant } from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import answer from './examples/account.json' with { type: 'json' };
import { defineOperation } from './operation.ts';

const CLASSES: readonly Exclude<RequestClass, 'account' | 'receipt'>[] = [
  'snapshots',
  'history',
  'candles',
  'screen',
  'books',
  'liquidations',
  'reference',
  'agent_state',
  'stream',
  'archive',
];

const Quota = Type.Object({ used: Type.Integer(), limit: Type.Integer() });
const Codes = Type.Array(Type.String());

const Output = Type.Object({
  evaluated_at: InstantText,
  key: Type.Object({
    key_id: Type.String(),
    name: Type.String(),
    created_at: InstantText,
    expires_at: NullableInstant,
    kind: Type.Enum(['account', 'purchased', 'connection']),
  }),
  plan: Type.Object({
    code: Type.String(),
    name: Type.String(),
    since: InstantText,
    expires_at: NullableInstant,
  }),
  venues: Codes,
  instruments: Type.Union([Codes, Type.Null()]),
  layers: Codes,
  history_from: NullableInstant,
  limits: Type.Record(Type.String(), Type.Union([Type.Integer(), Type.String()])),
  today: Type.Object({
    day: Type.String(),
    resets_at: InstantText,
    requests: Type.Object({
      used: Type.Integer(),
      limit: Type.Integer(),
      remaining: Type.Integer(),
      by_class: Type.Record(Type.String(), Type.Integer()),
    }),
    dql: Quota,
    agent_evaluations: Quota,
    archive_files: Quota,
  }),
  now: Type.Object({ streams: Type.Integer(), requests_in_flight: Type.Integer() }),
});

/** A bought key ends with its plan; another key may end before its plan. */
const describePlan = (plan: Plan, facts: KeyFacts): JsonValue => ({
  code: plan.code,
  name: plan.name,
  since: formatInstant(facts.plan_since),
  expires_at: facts.kind === 'purchased' ? formatInstantOrNull(facts.expires_at) : null,
});

type UsedOf = { readonly used: number; readonly limit: number };
/** What a key has used of a UTC day. */
export type Today = {
  readonly day: string;
  readonly resets_at: string;
  readonly requests: UsedOf & { readonly remaining: number; readonly by_class: Readonly<Record<string, number>> };
  readonly dql: UsedOf;
  readonly agent_evaluations: UsedOf;
  readonly archive_files: UsedOf;
};

export const makeToday = ({ limits }: Plan, { used }: Pick<KeyFacts, 'used'>, at: Micros): Today => {
  const byClass = Object.fromEntries(CLASSES.map((name) => [name, used[name] ?? 0]));
  const requests = Object.values(byClass).reduce((sum, count) => sum + count, 0);
  return {
    day: toDayOf(at),
    resets_at: formatInstant((Math.floor(at / MICROS_PER_DAY) + 1) * MICROS_PER_DAY),
    requests: {
      used: requests,
      limit: limits.requests_per_day,
      remaining: Math.max(0, limits.requests_per_day - requests),
      by_class: byClass,
    },
    dql: { used: used['dql'] ?? 0, limit: limits.dql_per_day },
    agent_evaluations: { used: used['agent_evaluations'] ?? 0, limit: limits.agent_evaluations_per_day },
    archive_files: { used: used['archive_files'] ?? 0, limit: limits.archive_files_per_day },
  };
};

export const account = defineOperation({
  name: 'account',
  method: 'GET',
  path: '/v2/account',
  key: 'required',
  class: 'account',
  price: null,
  cacheS: null,
  summary: 'Plan, scope, limits and counters of the key.',
  tool: true,
  input: Type.Object({}, { additionalProperties: false }),
  output: Output,
  codes: [],
  example: {
    question: 'What may this key do, and how much of today is left?',
    input: {},
    output: answer,
  },
  run: async (_input, { live, evaluatedAt, scopeOf, caller }) => {
    const facts = await caller?.read(toDayOf(evaluatedAt));
    if (!caller || !facts)
      throw makeServiceError('AUTH_INVALID', 'The key is unknown, revoked or expired.', {
        hint: CATALOGUE.AUTH_INVALID.fix,
      });
    const { plan } = caller;
    const [streams, inFlight] = await Promise.all([caller.streams(), caller.inFlight()]);
    const scope = scopeOf(plan);
    const days = plan.history_days;
    return {
      body: {
        evaluated_at: formatInstant(evaluatedAt),
        key: {
          key_id: facts.key_id,
          name: facts.name,
          created_at: formatInstant(facts.created_at),
          expires_at: formatInstantOrNull(facts.expires_at),
          kind: facts.kind,
        },
        plan: describePlan(plan, facts),
        venues: scope.venues ?? [...live.venues()].map(({ venue }) => venue).sort(),
        instruments: plan.instruments === null ? null : (scope.instruments ?? listCovered(scope, live, evaluatedAt)),
        layers: plan.layers,
        history_from: days === null ? null : formatInstant(evaluatedAt - days * MICROS_PER_DAY),
        limits: { ...plan.limits },
        today: makeToday(plan, facts, evaluatedAt),
        now: { streams, requests_in_flight: inFlight },
      },
      numberFormat: 'json',
    };
  },
});
