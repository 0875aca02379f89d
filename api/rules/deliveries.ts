// Delivers moves of rules to webhooks from a queue in PostgreSQL: at least once, retried for a day, then abandoned with a notice (AG-06).
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { CountRules, DeliveryOutcome } from './metrics.ts';
import { TRANSITION_COLUMNS, type TransitionRow, toMoveJson, toTransition } from './store.ts';
import { type CallOptions, callWebhook } from './webhook-call.ts';

const LOOK_EVERY_MS = 500;
/** Messages on their way at a time. */
const AT_ONCE = 16;
/** Of these to webhooks that are late: the places that are left are for all others, also while every late one takes its full time. */
const LATE_AT_ONCE = 12;
/** An attempt that took at least this time is treated like a failed one, regardless of the response. */
const SLOW_MS = 1_000;
/** While it is being sent no other process sends it; longer than any call takes. */
const LEASE_S = 30;
/** The first wait after a failure; doubled each time. */
const FIRST_WAIT_S = 5;
const LONGEST_WAIT_S = 3_600;
export const GIVEN_UP_AFTER_H = 24;
/** At least ten minutes of attempts: while no process runs, no message is refused. */
const LEAST_ATTEMPTS = 8;
/** Late webhooks that are remembered; one that is forgotten is tried as a new one. */
const MOST_LATE = 1_000;

const DUE = 'next_at <= now()';
/**
 * Further than the longest wait: before the clock of the database was set back (D-1046). By a minute, because a transaction that began before an attempt
 * failed may read what that wrote (D-1085). Like `DUE` it is a range of the index.
 */
const PUT_OFF = `next_at > now() + make_interval(secs => ${LONGEST_WAIT_S + 60})`;
const selectOldest = (condition: string): string => `
  (select delivery_id, webhook_id, next_at from rule_deliveries
    where state = 'waiting' and webhook_id = w.webhook_id and ${condition} order by next_at, delivery_id limit 1)`;

/**
 * The oldest message that is due of each webhook, with the name that its rule had at the move: every attempt carries the same. Those that are late,
 * whose newest attempt failed or was slow, come last, the one that was tried longest ago first, and at most `$4` of them: however many there are,
 * they hold up no other. Reads an entry or two of the index for each webhook, however many messages of it wait.
 */
const CLAIM = `
  with recursive waiting (webhook_id) as (
    (select webhook_id from rule_deliveries where state = 'waiting' order by webhook_id limit 1)
    union all
    select (select d.webhook_id from rule_deliveries d
      where d.state = 'waiting' and d.webhook_id > w.webhook_id order by d.webhook_id limit 1)
    from waiting w where w.webhook_id is not null),
  oldest as (
    select d.* from waiting join rule_webhooks w using (webhook_id)
      cross join lateral (${selectOldest(DUE)} union all ${selectOldest(PUT_OFF)} limit 1) d
    where w.disabled_at is null and w.webhook_id <> all($2::text[])),
  ranked as (
    select o.*, l.late, row_number() over (partition by l.late is null order by l.late, next_at, delivery_id) as place
    from oldest o cross join lateral (select array_position($3::text[], webhook_id) as late) l),
  due as (
    select delivery_id from ranked where late is null or place <= $4
    order by late nulls first, next_at, delivery_id limit $1),
  claimed as (
    update rule_deliveries d set next_at = now() + make_interval(secs => ${LEASE_S}), attempts = attempts + 1
    where d.delivery_id in (
      select q.delivery_id from rule_deliveries q join due using (delivery_id)
      where (${DUE} or ${PUT_OFF}) and q.state = 'waiting' for update of q skip locked)
    returning d.*)
  select c.delivery_id, c.webhook_id, c.attempts, w.url, w.secret, v.rule ->> 'name' as name, ${TRANSITION_COLUMNS}
  from claimed c join rule_webhooks w using (webhook_id) join rule_transitions t using (transition_id)
    join rule_versions v on v.rule_id = t.rule_id and v.version = t.version`;
const DELIVERED = `
  update rule_deliveries set state = 'delivered', outcome = $2, tried_at = now(), ended_at = now() where delivery_id = $1`;
const IS_OVER = `made_at < now() - make_interval(hours =>
  case when attempts < ${LEAST_ATTEMPTS} then 2 * ${GIVEN_UP_AFTER_H} else ${GIVEN_UP_AFTER_H} end)`;
/** One that another process has delivered meanwhile, because this one was held up for longer than its lease, stays delivered. */
const FAILED = `
  update rule_deliveries set outcome = $2, tried_at = now(), next_at = now() + make_interval(secs => $3),
    state = case when ${IS_OVER} then 'dead' else state end,
    ended_at = case when ${IS_OVER} then now() end
  where delivery_id = $1 and state = 'waiting' returning state`;
/** Unless it has taken another message since the dead one was made: then the receiver lives and refuses that message alone. */
const DISABLE = `
  update rule_webhooks w set disabled_at = now(), notice = $3
  where w.webhook_id = $1 and w.disabled_at is null and not exists (
    select from rule_deliveries dead join rule_deliveries d using (webhook_id)
    where dead.delivery_id = $2 and d.state = 'delivered' and d.ended_at > dead.made_at)`;

/** Its messages keep waiting, as those of any disabled webhook (D-410). */
const DISABLE_GONE =
  'update rule_webhooks set disabled_at = now(), notice = $2 where webhook_id = $1 and disabled_at is null';

type Claimed = TransitionRow & {
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly attempts: number;
  readonly url: string;
  readonly secret: string;
  readonly name: string;
};

/** The body that a receiver gets, the same at every attempt. */
const buildBody = (claimed: Claimed): string => {
  const moved = toTransition(claimed);
  return JSON.stringify({
    id: `move_${moved.transitionId}`,
    event: 'rule',
    rule_id: moved.ruleId,
    name: claimed.name,
    ...toMoveJson(moved),
  });
};

const computeWaitS = (attempts: number): number => Math.min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempts - 1));

export type DeliveryDeps = {
  readonly pool: Pick<Pool, 'query'>;
  readonly calls: CallOptions;
  readonly count: Pick<CountRules, 'delivered'>;
  readonly log: Pick<Logger, 'warn'>;
};

const deliverClaimed = async (claimed: Claimed, { pool, calls, count }: DeliveryDeps): Promise<DeliveryOutcome> => {
  const { url, secret, delivery_id: id, webhook_id: webhookId, attempts } = claimed;
  const { isDelivered, words, isGone } = await callWebhook({ url, secret, body: buildBody(claimed) }, calls);
  if (isDelivered) {
    await pool.query(DELIVERED, [id, words]);
    count.delivered('delivered');
    return 'delivered';
  }
  const { rows } = await pool.query<{ state: string }>(FAILED, [id, words, computeWaitS(attempts)]);
  const outcome = rows[0]?.state === 'dead' ? 'dead' : 'failed';
  count.delivered(outcome);
  if (isGone)
    await pool.query(DISABLE_GONE, [
      webhookId,
      `Disabled: its receiver ${words}, which means that it no longer exists.`,
    ]);
  else if (outcome === 'dead')
    await pool.query(DISABLE, [webhookId, id, `Disabled: no message could be delivered for 24 hours (${words}).`]);
  return outcome;
};

/** Messages on their way: at most one of a webhook, so that a receiver that is slow holds up itself alone. */
export class Sending {
  readonly #deps: DeliveryDeps;
  readonly #onFault: (error: unknown) => void;
  readonly #byWebhook = new Map<string, Promise<void>>();
  /** Webhooks whose newest attempt of this process failed or was slow, in the order of these attempts; `drop-oldest`. */
  readonly #late = new Set<string>();

  constructor(deps: DeliveryDeps, onFault: (error: unknown) => void) {
    this.#deps = deps;
    this.#onFault = onFault;
  }

  /** Takes the messages that are due, as far as places are free, and starts to send them; returns their number. Rejects when the store is unavailable. */
  async begin(): Promise<number> {
    const room = AT_ONCE - this.#byWebhook.size;
    if (room === 0) return 0;
    const underWay = [...this.#byWebhook.keys()];
    const late = underWay.filter((webhookId) => this.#late.has(webhookId)).length;
    const values = [room, underWay, [...this.#late], LATE_AT_ONCE - late];
    const { rows } = await this.#deps.pool.query<Claimed>(CLAIM, values);
    const { nowMs } = this.#deps.calls;
    for (const claimed of rows) {
      const begunMs = nowMs();
      const sent = deliverClaimed(claimed, this.#deps).then((outcome) => {
        const isPrompt = outcome === 'delivered' && nowMs() - begunMs < SLOW_MS;
        this.#note(claimed.webhook_id, isPrompt ? 'prompt' : 'late');
      }, this.#onFault);
      this.#byWebhook.set(
        claimed.webhook_id,
        sent.finally(() => this.#byWebhook.delete(claimed.webhook_id)),
      );
    }
    return rows.length;
  }

  #note(webhookId: string, attempt: 'prompt' | 'late'): void {
    this.#late.delete(webhookId);
    if (attempt === 'prompt') return;
    this.#late.add(webhookId);
    const [oldest] = this.#late;
    if (this.#late.size > MOST_LATE && oldest !== undefined) this.#late.delete(oldest);
  }

  /** Resolves when one of them has arrived or failed; never while there is none. */
  anyEnd(): Promise<void> {
    return Promise.race(this.#byWebhook.values());
  }

  async allEnd(): Promise<void> {
    await Promise.all(this.#byWebhook.values());
  }
}

type Deliveries = { readonly stop: () => Promise<void> };

/** Starts to deliver; any number of processes may. What one that died had claimed is sent again. */
export const startDeliveries = (deps: DeliveryDeps): Deliveries => {
  const stopping = new AbortController();
  let isAway = false;
  const onFault = (err: unknown): void => {
    if (!isAway) deps.log.warn({ err }, 'moves of rules cannot be delivered, trying again');
    isAway = true;
  };
  const sending = new Sending(deps, onFault);
  const look = async (): Promise<number> => {
    try {
      const begun = await sending.begin();
      isAway = false;
      return begun;
    } catch (error) {
      onFault(error);
      return 0;
    }
  };
  /** Until it is time to look again, or the next message of a webhook may go. */
  const rest = async (): Promise<void> => {
    const over = new AbortController();
    const signal = AbortSignal.any([stopping.signal, over.signal]);
    const later = pauseUnlessAborted(LOOK_EVERY_MS, signal);
    await (isAway ? later : Promise.race([later, sending.anyEnd()]));
    over.abort();
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) if ((await look()) === 0) await rest();
    await sending.allEnd();
  };
  const looping = loop();
  return {
    async stop() {
      stopping.abort();
      await looping;
    },
  };
};
