// Changes of rules by their owners, in PostgreSQL: each change is one transaction with its version and its move (AG-01, AG-06).
import type { Pool, PoolClient } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { makeServiceError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { AccountAction } from '../accounts/events.ts';
import { formatCount } from '../contract/counts.ts';
import { isPlanCode, PLANS, type Plan } from '../contract/plans.ts';
import { clip } from '../contract/sent-text.ts';
import type { FreshnessInput } from '../live/bounds.ts';
import type { Rule, RuleDraft, RuleReason, RuleState, RuleUnits } from './rule.ts';
import { toRuleJson } from './rule.ts';
import { derivePhase, isRuleId, makeRuleId } from './rule-id.ts';

export type RuleRow = {
  readonly rule_id: string;
  readonly account_id: string;
  readonly name: string;
  readonly query: string;
  readonly interval_s: number;
  readonly units: RuleUnits;
  readonly freshness: FreshnessInput | null;
  readonly enabled: boolean;
  readonly shared: boolean;
  readonly version: number;
  readonly phase: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};

/** Columns of `rules` that a rule is read from. */
export const RULE_COLUMNS = `r.rule_id, r.account_id, r.name, r.query, r.interval_s, r.units, r.freshness, r.enabled,
  r.shared, r.version, r.phase, r.created_at, r.updated_at`;

export const fromRow = (row: RuleRow): Rule => ({
  ruleId: row.rule_id,
  accountId: row.account_id,
  name: row.name,
  query: row.query,
  intervalS: row.interval_s,
  units: row.units,
  freshness: row.freshness,
  enabled: row.enabled,
  shared: row.shared,
  version: row.version,
  phase: row.phase,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** Who makes a change: an account its own rules, an operator (null) all; `actor` is written to the versions. */
type Owner = { readonly accountId: string | null; readonly actor: string };

const INSERT = `
  insert into rules as r (rule_id, account_id, name, query, interval_s, units, freshness, enabled, shared, phase)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning ${RULE_COLUMNS}`;
const FIND = `select ${RULE_COLUMNS} from rules r where r.rule_id = $1 and ($2::text is null or r.account_id = $2)`;
const UPDATE = `
  update rules r set name = $2, query = $3, interval_s = $4, units = $5, freshness = $6, enabled = $7, shared = $8,
    version = version + 1, updated_at = now()
  where rule_id = $1 returning ${RULE_COLUMNS}`;
const VERSION = `insert into rule_versions (rule_id, version, actor, rule) values ($1, $2, $3, $4)`;
/** Rules are made and changed by processes whose clocks nothing compares; one that is ahead would put off the first evaluation (D-1113). */
const NOW_MICROS = '(extract(epoch from statement_timestamp()) * 1000000)::bigint';
const BEGIN_STATE = `
  insert into rule_states (rule_id, version, reason, since, after) values ($1, $2, $3, ${NOW_MICROS}, ${NOW_MICROS})`;
/** Moves of a rule are in the order of their instants, even when a clock goes back. */
const HELD_STATE = `select state, greatest(after, ${NOW_MICROS}) as at from rule_states where rule_id = $1 for update`;
/** The earlier state is kept only where the query is the same. */
const RESET_STATE = `
  update rule_states set version = $2, state = 'unknown', reason = $3, since = $4, after = greatest(after, $4),
    matched = '{}', matched_total = 0, unknown = '{}', unknown_total = 0,
    evaluated_at = case when $3 = 'disabled' then evaluated_at end
  where rule_id = $1`;
const KEEP_STATE = `update rule_states set version = $2 where rule_id = $1`;
const MOVE = `
  insert into rule_transitions (rule_id, version, at, from_state, to_state, reason) values ($1, $2, $3, $4, 'unknown', $5)`;
/** The audit of the account has every change of a rule, by any actor. */
const AUDIT = `
  insert into account_events (account_id, action, actor, details)
  values ($1, $2, case when $3 = 'account ' || $1 then 'owner' else $3 end, jsonb_build_object('rule_id', $4::text, 'name', $5::text))`;
/**
 * Events of an account are kept for ever, and versions of its rules for 30 days: without a bound, changes without end fill the database. What strangers
 * try at its sign-in is no doing of the owner. An instant to come is of before the clock was set back (D-1172).
 */
const MOST_EVENTS_A_DAY = 2_000;
const IS_BUSY = `
  select at > now() - interval '1 day' and at < now() + interval '1 minute' as busy from account_events
  where account_id = $1 and action <> 'sign_in_failed' order by event_id desc offset ${MOST_EVENTS_A_DAY - 1} limit 1`;
const COUNT = `select count(*)::integer as count from rules where account_id = $1 and rule_id <> $2`;
/** A closing that is under way is waited for, and nothing is made of a closed account. */
const PLAN = `select best_plan(account_id) as plan from accounts where account_id = $1 and closed_at is null for share`;
/** Changes of one account are serialised, so that two of them never exceed its limit together. */
const LOCK = `select pg_advisory_xact_lock(hashtextextended($1, 7305124))`;

type Queryable = Pick<Pool, 'query'>;

const isMissing = (ruleId: string): Error =>
  makeServiceError('NOT_FOUND', `There is no rule "${clip(ruleId)}".`, { hint: 'List the rules of the account.' });

/** The best plan of an account; null when there is no such account, or it is closed. */
const planOfAccount = async (pool: Queryable, accountId: string): Promise<Plan | null> => {
  const { rows } = await pool.query<{ plan: string | null }>(PLAN, [accountId]);
  const code = rows[0]?.plan ?? '';
  return isPlanCode(code) ? PLANS[code] : null;
};

/** Until the transaction ends, nothing else is added to the rules and webhooks of the account. */
export const lockAdditions = async (client: PoolClient, accountId: string): Promise<void> => {
  await client.query(LOCK, [accountId]);
};

const refuseBeyondPlan = async (client: PoolClient, accountId: string, ruleId: string): Promise<void> => {
  await lockAdditions(client, accountId);
  const plan = await planOfAccount(client, accountId);
  if (plan === null)
    throw makeServiceError('NOT_FOUND', `There is no account "${clip(accountId)}".`, {
      hint: 'Name an account that exists.',
    });
  const { rows } = await client.query<{ count: number }>(COUNT, [accountId, ruleId]);
  const most = plan.limits.agent_rules;
  if ((rows[0]?.count ?? 0) < most) return;
  throw makeServiceError('PLAN_LIMIT', `The plan ${plan.name} has room for ${formatCount(most, 'rule')}.`, {
    hint: 'Remove a rule, or change the plan.',
  });
};

const refuseTooOften = async (client: PoolClient, accountId: string): Promise<void> => {
  const { rows } = await client.query<{ busy: boolean }>(IS_BUSY, [accountId]);
  if (rows[0]?.busy !== true) return;
  throw makeServiceError('PLAN_LIMIT', `An account has at most ${MOST_EVENTS_A_DAY} changes in 24 hours.`, {
    hint: 'Change rules less often.',
  });
};

const toParameters = (draft: RuleDraft) => [
  ...[draft.name, draft.query, draft.intervalS, draft.units],
  ...[draft.freshness === null ? null : JSON.stringify(draft.freshness), draft.enabled, draft.shared],
];

const auditChange = async (
  client: PoolClient,
  { accountId, ruleId, name }: Rule,
  { action, actor }: { readonly action: AccountAction; readonly actor: string },
): Promise<void> => {
  await client.query(AUDIT, [accountId, action, actor, ruleId, name]);
};

/** Makes a rule of an account. The query was checked before. Throws ServiceError PLAN_LIMIT when the plan has no room. */
export const createRule = (
  pool: Pool,
  draft: RuleDraft,
  of: { accountId: string; actor: string; ruleId?: string },
): Promise<Rule> =>
  runInTransaction(pool, async (client) => {
    const ruleId = of.ruleId ?? makeRuleId();
    await refuseBeyondPlan(client, of.accountId, ruleId);
    await refuseTooOften(client, of.accountId);
    const values = [ruleId, of.accountId, ...toParameters(draft), derivePhase(ruleId)];
    const { rows } = await client.query<RuleRow>(INSERT, values);
    const rule = fromRow(rows[0] as RuleRow);
    await client.query(VERSION, [ruleId, rule.version, of.actor, toRuleJson(rule)]);
    await auditChange(client, rule, { action: 'rule_made', actor: of.actor });
    const reason: RuleReason = draft.enabled ? 'never_evaluated' : 'disabled';
    await client.query(BEGIN_STATE, [ruleId, rule.version, reason]);
    return rule;
  });

/** Whether two drafts have the same query: a state of one query does not apply to another. */
const isSameQuery = (a: RuleDraft, b: RuleDraft): boolean =>
  a.query === b.query && a.units === b.units && JSON.stringify(a.freshness) === JSON.stringify(b.freshness);

const moveState = async (client: PoolClient, { ruleId, version }: Rule, reason: RuleReason): Promise<void> => {
  const { rows } = await client.query<{ state: RuleState; at: string }>(HELD_STATE, [ruleId]);
  const { state, at } = rows[0] ?? { state: 'unknown', at: '0' };
  await client.query(RESET_STATE, [ruleId, version, reason, at]);
  if (state !== 'unknown') await client.query(MOVE, [ruleId, version, at, state, reason]);
};

/** Changes a rule; members it leaves out stay. The query was checked before. Throws ServiceError NOT_FOUND of another's rule too, and PLAN_LIMIT. */
export const changeRule = (
  pool: Pool,
  { ruleId, draft: change }: { ruleId: string; draft: Partial<RuleDraft> },
  { accountId, actor }: Owner,
): Promise<Rule> =>
  runInTransaction(pool, async (client) => {
    if (!isRuleId(ruleId)) throw isMissing(ruleId);
    // The state first, as an evaluation that moves the rule does: it then looks at the rule, so the other order would be a deadlock.
    await client.query(HELD_STATE, [ruleId]);
    const before = await findRule(client, ruleId, accountId);
    if (accountId !== null) await refuseTooOften(client, accountId);
    const draft: RuleDraft = { ...before, ...change };
    const { rows } = await client.query<RuleRow>(UPDATE, [ruleId, ...toParameters(draft)]);
    const rule = fromRow(rows[0] as RuleRow);
    await client.query(VERSION, [ruleId, rule.version, actor, toRuleJson(rule)]);
    await auditChange(client, rule, { action: 'rule_changed', actor });
    if (!rule.enabled && before.enabled) await moveState(client, rule, 'disabled');
    else if (rule.enabled && (!before.enabled || !isSameQuery(before, rule)))
      await moveState(client, rule, 'never_evaluated');
    else await client.query(KEEP_STATE, [ruleId, rule.version]);
    return rule;
  });

/** Removes a rule with all that is known of it. Throws ServiceError NOT_FOUND of another's rule too. */
export const removeRule = (pool: Pool, ruleId: string, { accountId, actor }: Owner): Promise<void> =>
  runInTransaction(pool, async (client) => {
    const rule = await findRule(client, ruleId, accountId);
    await client.query(HELD_STATE, [ruleId]);
    // Of two concurrent calls the second finds nothing.
    if ((await client.query('delete from rules where rule_id = $1', [ruleId])).rowCount === 0) throw isMissing(ruleId);
    await auditChange(client, rule, { action: 'rule_removed', actor });
  });

export const findRule = async (pool: Queryable, ruleId: string, accountId: string | null): Promise<Rule> => {
  const row = isRuleId(ruleId) ? (await pool.query<RuleRow>(FIND, [ruleId, accountId])).rows[0] : undefined;
  if (row === undefined) throw isMissing(ruleId);
  return fromRow(row);
};

/** Rules of an account, or of all (null), oldest first. */
export const listRules = async (pool: Queryable, accountId: string | null): Promise<readonly Rule[]> => {
  const { rows } = await pool.query<RuleRow>(
    `select ${RULE_COLUMNS} from rules r where $1::text is null or account_id = $1 order by created_at, rule_id`,
    [accountId],
  );
  return rows.map(fromRow);
};

/** The last state of a rule, for its owner; it is not marked as delivered. */
export type OwnState = {
  readonly state: RuleState;
  readonly reason: RuleReason | null;
  readonly since: Micros;
  readonly evaluatedAt: Micros | null;
  readonly matched: readonly string[];
  readonly matchedTotal: number;
  readonly unknownTotal: number;
};

type OwnStateRow = Omit<OwnState, 'since' | 'evaluatedAt' | 'matchedTotal' | 'unknownTotal'> & {
  readonly rule_id: string;
  readonly since: string;
  readonly evaluated_at: string | null;
  readonly matched_total: number;
  readonly unknown_total: number;
};

/** States of the rules of an account, by rule. */
export const readOwnStates = async (pool: Queryable, accountId: string): Promise<ReadonlyMap<string, OwnState>> => {
  const { rows } = await pool.query<OwnStateRow>(
    `select s.rule_id, s.state, s.reason, s.since, s.evaluated_at, s.matched, s.matched_total, s.unknown_total
     from rule_states s join rules r using (rule_id) where r.account_id = $1`,
    [accountId],
  );
  return new Map(
    rows.map(({ rule_id: ruleId, since, evaluated_at: at, matched_total, unknown_total, ...row }) => [
      ruleId,
      {
        ...row,
        since: readMicros(since),
        evaluatedAt: at === null ? null : readMicros(at),
        matchedTotal: matched_total,
        unknownTotal: unknown_total,
      },
    ]),
  );
};

export type Transition = {
  readonly transitionId: number;
  readonly ruleId: string;
  readonly version: number;
  readonly at: Micros;
  readonly from: RuleState;
  readonly to: RuleState;
  readonly reason: RuleReason | null;
  readonly matched: readonly string[];
  readonly matchedTotal: number;
};

/** The driver returns bigint as text. */
export const readMicros = (text: string): Micros => Number(text);

export type TransitionRow = {
  readonly transition_id: string;
  readonly rule_id: string;
  readonly version: number;
  readonly at: string;
  readonly from_state: RuleState;
  readonly to_state: RuleState;
  readonly reason: RuleReason | null;
  readonly matched: readonly string[];
  readonly matched_total: number;
};

export const TRANSITION_COLUMNS =
  't.transition_id, t.rule_id, t.version, t.at, t.from_state, t.to_state, t.reason, t.matched, t.matched_total';

export const toTransition = (row: TransitionRow): Transition => ({
  transitionId: Number(row.transition_id),
  ruleId: row.rule_id,
  version: row.version,
  at: readMicros(row.at),
  from: row.from_state,
  to: row.to_state,
  reason: row.reason,
  matched: row.matched,
  matchedTotal: row.matched_total,
});

/** The members of a move, as streams and webhooks send it. */
export const toMoveJson = ({ at, from, to, reason, matched, matchedTotal }: Transition) => ({
  at: formatInstant(at),
  previous_state: from,
  state: to,
  reason,
  matched,
  matched_total: matchedTotal,
});

/** Moves of a rule, newest first. */
export const readTransitions = async (pool: Queryable, ruleId: string, most = 100): Promise<readonly Transition[]> => {
  const { rows } = await pool.query<TransitionRow>(
    `select ${TRANSITION_COLUMNS} from rule_transitions t where rule_id = $1 order by at desc, transition_id desc limit $2`,
    [ruleId, most],
  );
  return rows.map(toTransition);
};

const KEPT_DAYS = 30;
const DROP_TRANSITIONS = `delete from rule_transitions where recorded_at < now() - make_interval(days => $1)`;
/** A message of a webhook names the version of its move, so that version stays with the move. */
const DROP_VERSIONS = `
  delete from rule_versions v
  where exists (
      select 1 from rule_versions later
      where later.rule_id = v.rule_id and later.version > v.version and later.at < now() - make_interval(days => $1))
    and not exists (select 1 from rule_transitions t where t.rule_id = v.rule_id and t.version = v.version)`;

/** Drops moves after 30 days (AG-06), and versions 30 days after the next version took their place. The current version of a rule stays. */
export const dropOldMoves = async (pool: Queryable): Promise<void> => {
  await pool.query(DROP_TRANSITIONS, [KEPT_DAYS]);
  await pool.query(DROP_VERSIONS, [KEPT_DAYS]);
};
