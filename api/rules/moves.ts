// Moves of rules as they happen, for streams of their accounts: PostgreSQL notifies every process of each, and each reads what is followed.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/log.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { writeJson } from '../../schemas/json.ts';
import type { RuleReason, RuleState } from './rule.ts';
import {
  RULE_COLUMNS,
  type RuleRow,
  readMicros,
  TRANSITION_COLUMNS,
  type TransitionRow,
  toTransition,
} from './store.ts';

/** Data of an event, as JSON. */
export type SendMove = (data: string) => void;

export type RuleMoves = {
  /** A move was made, by whichever process. */
  readonly note: (transitionId: string) => void;
  /**
   * Sends the state of every rule of the key's account, then each move, until the returned function is called. It subscribes before it reads
   * the states, so that no move is lost between them.
   */
  readonly follow: (keyId: string, send: SendMove) => () => void;
};

type StateRow = RuleRow & { readonly state: RuleState; readonly reason: RuleReason | null; readonly since: string };

const ACCOUNT = 'select account_id from api_keys where key_id = $1';
const STATES = `
  select ${RULE_COLUMNS}, s.state, s.reason, s.since from rules r join rule_states s using (rule_id)
  where r.account_id = $1 order by r.created_at, r.rule_id`;
const MOVED = `
  select r.account_id, r.name, ${TRANSITION_COLUMNS} from rule_transitions t join rules r using (rule_id)
  where t.transition_id = any($1) order by t.transition_id`;

type MovedRow = TransitionRow & { readonly account_id: string; readonly name: string };

const stateData = ({ rule_id, name, state, reason, since }: StateRow): string =>
  writeJson({
    rule_id,
    name,
    change: 'snapshot',
    at: formatInstant(readMicros(since)),
    previous_state: null,
    state,
    reason,
  });

const moveData = (row: MovedRow): string => {
  const { ruleId, at, from, to, reason, matched, matchedTotal } = toTransition(row);
  const moved = {
    at: formatInstant(at),
    previous_state: from,
    state: to,
    reason,
    matched,
    matched_total: matchedTotal,
  };
  return writeJson({ rule_id: ruleId, name: row.name, change: 'move', ...moved });
};

type Follower = { readonly accountId: string; readonly send: SendMove };

export const openMoves = (pool: Pick<Pool, 'query'>, log: Pick<Logger, 'warn'>): RuleMoves => {
  const followers = new Set<Follower>();
  let noted: string[] = [];
  let isReading = false;

  const read = async (): Promise<void> => {
    while (noted.length > 0) {
      const ids = noted;
      noted = [];
      const { rows } = await pool.query<MovedRow>(MOVED, [ids]);
      for (const row of rows) {
        const data = moveData(row);
        for (const { accountId, send } of followers) if (accountId === row.account_id) send(data);
      }
    }
  };
  const warn = (err: unknown): void => log.warn({ err }, 'moves of rules cannot be sent to streams');

  return {
    note(transitionId) {
      if (followers.size === 0) return;
      noted.push(transitionId);
      if (isReading) return;
      isReading = true;
      read()
        .catch(warn)
        .finally(() => {
          isReading = false;
        });
    },
    follow(keyId, send) {
      let follower: Follower | null = null;
      let isOver = false;
      const begin = async (): Promise<void> => {
        const found = await pool.query<{ account_id: string }>(ACCOUNT, [keyId]);
        const accountId = found.rows[0]?.account_id;
        if (accountId === undefined || isOver) return;
        follower = { accountId, send };
        followers.add(follower);
        for (const row of (await pool.query<StateRow>(STATES, [accountId])).rows) if (!isOver) send(stateData(row));
      };
      begin().catch(warn);
      return () => {
        isOver = true;
        if (follower !== null) followers.delete(follower);
      };
    },
  };
};
