// Moves of rules for the streams of their accounts: PostgreSQL notifies every process of each move, and the process reads those that its streams follow.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog, type OutageLog } from '../../infra/runtime/process/outage-log.ts';
import { createBackoff } from '../../infra/runtime/time/backoff.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { writeJson } from '../../schemas/json.ts';
import type { RuleReason, RuleState } from './rule.ts';
import {
  RULE_COLUMNS,
  type RuleRow,
  readMicros,
  TRANSITION_COLUMNS,
  type TransitionRow,
  toMoveJson,
  toTransition,
} from './store.ts';

/** Sends the data of one event, as JSON, to a stream. */
type SendMove = (data: string) => void;

export type RuleMoves = {
  /** Takes a notice of PostgreSQL: some process recorded this move. */
  readonly note: (transitionId: string) => void;
  /** Sends every follower the states again, because notices may have been missed. */
  readonly noteAll: () => void;
  /**
   * Sends the state of every rule of the key's account, then each move, until the returned function is called. What the database cannot be
   * asked now is read when it answers again; moves that were missed meanwhile are replaced by the states.
   */
  readonly follow: (keyId: string, send: SendMove) => () => void;
};

type StateRow = RuleRow & { readonly state: RuleState; readonly reason: RuleReason | null; readonly since: string };

const ACCOUNTS = 'select key_id, account_id from api_keys where key_id = any($1)';
const STATES = `
  select ${RULE_COLUMNS}, s.state, s.reason, s.since from rules r join rule_states s using (rule_id)
  where r.account_id = any($1) order by r.created_at, r.rule_id`;
const MOVED = `
  select r.account_id, r.name, ${TRANSITION_COLUMNS} from rule_transitions t join rules r using (rule_id)
  where t.transition_id = any($1) order by t.transition_id`;

type MovedRow = TransitionRow & { readonly account_id: string; readonly name: string };

const formatState = ({ rule_id, name, state, reason, since }: StateRow): string =>
  writeJson({
    rule_id,
    name,
    change: 'snapshot',
    at: formatInstant(readMicros(since)),
    previous_state: null,
    state,
    reason,
  });

const formatMove = (row: MovedRow): string => {
  const moved = toTransition(row);
  return writeJson({ rule_id: moved.ruleId, name: row.name, change: 'move', ...toMoveJson(moved) });
};

type Follower = { readonly keyId: string; readonly send: SendMove; accountId: string | null };

const BACKOFF = { minMs: 500, maxMs: 10_000 };

/** Needs no database to start. */
export const openMoves = (pool: Pick<Pool, 'query'>, log: Pick<Logger, 'warn'>): RuleMoves => new Moves(pool, log);

class Moves implements RuleMoves {
  readonly #pool: Pick<Pool, 'query'>;
  readonly #backoff = createBackoff(BACKOFF);
  readonly #followers = new Set<Follower>();
  /** Followers that the states are still to be sent to. */
  #behind = new Set<Follower>();
  /** Moves that are still to be read. */
  #noted: string[] = [];
  #isSending = false;
  readonly #outages: OutageLog;

  constructor(pool: Pick<Pool, 'query'>, log: Pick<Logger, 'warn'>) {
    this.#pool = pool;
    this.#outages = createOutageLog(log, 'moves of rules cannot be sent to streams, trying again');
  }

  readonly note = (transitionId: string): void => {
    if (this.#followers.size === 0) return;
    this.#noted.push(transitionId);
    void this.#sendAll();
  };

  readonly noteAll = (): void => {
    this.#behind = new Set(this.#followers);
    void this.#sendAll();
  };

  follow(keyId: string, send: SendMove): () => void {
    const follower: Follower = { keyId, send, accountId: null };
    this.#followers.add(follower);
    this.#behind.add(follower);
    void this.#sendAll();
    return () => {
      this.#followers.delete(follower);
      this.#behind.delete(follower);
    };
  }

  /** Never rejects: it continues until nothing is left to send. */
  async #sendAll(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#behind.size > 0 || this.#noted.length > 0) {
      try {
        await this.#sendStates();
        await this.#sendMoves();
        this.#backoff.reset();
        this.#outages.noteSuccess();
      } catch (err) {
        this.#outages.noteFailure(err);
        // A move that could not be read may be anybody's.
        this.#noted = [];
        this.#behind = new Set(this.#followers);
        await pause(this.#backoff.next(), undefined, { ref: false });
      }
    }
    this.#isSending = false;
  }

  /** The accounts are set before the states are read, so that no move is lost between them. */
  async #sendStates(): Promise<void> {
    if (this.#behind.size === 0) return;
    const behind = [...this.#behind];
    this.#behind = new Set();
    const keyIds = behind.map(({ keyId }) => keyId);
    const accounts = await this.#pool.query<{ key_id: string; account_id: string }>(ACCOUNTS, [keyIds]);
    const accountOf = new Map(accounts.rows.map((row) => [row.key_id, row.account_id]));
    for (const follower of behind) follower.accountId = accountOf.get(follower.keyId) ?? null;
    const { rows } = await this.#pool.query<StateRow>(STATES, [[...new Set(accountOf.values())]]);
    this.#send(behind, rows, formatState);
  }

  async #sendMoves(): Promise<void> {
    if (this.#noted.length === 0) return;
    const ids = this.#noted;
    this.#noted = [];
    const { rows } = await this.#pool.query<MovedRow>(MOVED, [ids]);
    this.#send(this.#followers, rows, formatMove);
  }

  #send<Row extends { readonly account_id: string }>(
    to: Iterable<Follower>,
    rows: readonly Row[],
    toData: (row: Row) => string,
  ): void {
    const following = [...to].filter((follower) => this.#followers.has(follower));
    for (const row of rows) {
      const data = toData(row);
      for (const { accountId, send } of following) if (accountId === row.account_id) send(data);
    }
  }
}
