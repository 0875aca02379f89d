// Webhooks of accounts: the addresses to which moves of rules are sent, and the outcome of the messages.
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { makeServiceError } from '../../schemas/errors.ts';
import { CROCKFORD, printCrockford } from '../contract/crockford.ts';
import { clip } from '../contract/sent-text.ts';
import { GIVEN_UP_AFTER_H } from './deliveries.ts';
import { lockAdditions } from './store.ts';
import { findWebhookFault } from './webhook-call.ts';

const MOST_WEBHOOKS = 5;
const BETTER_URL = 'Send an absolute https address of at most 2,000 characters, without user and password.';

export type Webhook = {
  readonly webhook_id: string;
  readonly url: string;
  readonly created_at: Date;
  /** When it was disabled because nothing arrived for a day, and the sentence that states it. */
  readonly disabled_at: Date | null;
  readonly notice: string | null;
  readonly waiting: number;
  readonly delivered: number;
  readonly dead: number;
  /** The outcome of the newest attempt that has ended. */
  readonly outcome: string | null;
};

type Queryable = Pick<Pool, 'query'>;

const ADD = `
  insert into rule_webhooks (webhook_id, account_id, url, secret)
  select $1, account_id, $3, $4 from accounts where account_id = $2 and closed_at is null
    and (select count(*) from rule_webhooks where account_id = $2) < ${MOST_WEBHOOKS} for share`;
const LIST = `
  select w.webhook_id, w.url, w.created_at, w.disabled_at, w.notice,
    (select count(*)::integer from rule_deliveries d where d.webhook_id = w.webhook_id and d.state = 'waiting') as waiting,
    (select count(*)::integer from rule_deliveries d where d.webhook_id = w.webhook_id and d.state = 'delivered') as delivered,
    (select count(*)::integer from rule_deliveries d where d.webhook_id = w.webhook_id and d.state = 'dead') as dead,
    (select outcome from rule_deliveries d where d.webhook_id = w.webhook_id and d.outcome is not null
     order by d.tried_at desc nulls last, d.delivery_id desc limit 1) as outcome
  from rule_webhooks w where w.account_id = $1 order by w.created_at, w.webhook_id`;
/** What has waited for a day is given up as it would have been otherwise: one more failure of it would disable the webhook again. */
const ENABLE = `
  with disabled as (
    select webhook_id from rule_webhooks where webhook_id = $1 and account_id = $2 and disabled_at is not null),
  given_up as (
    update rule_deliveries d set state = 'dead', ended_at = now() from disabled
    where d.webhook_id = disabled.webhook_id and d.state = 'waiting'
      and d.made_at < now() - make_interval(hours => ${GIVEN_UP_AFTER_H}))
  update rule_webhooks set disabled_at = null, notice = null where webhook_id = $1 and account_id = $2`;

const ID = new RegExp(`^hook_${CROCKFORD}$`);
const isMissing = (webhookId: string): Error =>
  makeServiceError('NOT_FOUND', `There is no webhook "${clip(webhookId)}".`, { hint: 'List those of the account.' });

/** Adds an address; its secret is in this answer and shown nowhere else. Throws ServiceError. */
export const addWebhook = async (
  pool: Pool,
  { accountId, url, allowsLoopback }: { accountId: string; url: string; allowsLoopback: boolean },
): Promise<{ readonly webhookId: string; readonly secret: string }> => {
  const fault = findWebhookFault(url, { allowsLoopback });
  if (fault !== null) throw makeServiceError('DQL_JSON_SCHEMA', fault, { hint: BETTER_URL, path: '/url' });
  const webhookId = `hook_${printCrockford(BigInt(`0x${randomBytes(16).toString('hex')}`))}`;
  const secret = `whsec_${randomBytes(32).toString('base64url')}`;
  // As a parser writes it: without characters that no text of a database may have.
  const values = [webhookId, accountId, new URL(url).href, secret];
  const { rowCount } = await runInTransaction(pool, async (client) => {
    await lockAdditions(client, accountId);
    return client.query(ADD, values);
  });
  if (rowCount === 1) return { webhookId, secret };
  throw makeServiceError('PLAN_LIMIT', `An account has at most ${MOST_WEBHOOKS} webhooks.`, {
    hint: 'Remove one first.',
  });
};

export const listWebhooks = async (pool: Queryable, accountId: string): Promise<readonly Webhook[]> =>
  (await pool.query<Webhook>(LIST, [accountId])).rows;

/** An enabled webhook receives moves from now on. */
export const enableWebhook = async (pool: Queryable, webhookId: string, accountId: string): Promise<void> => {
  if (!ID.test(webhookId) || (await pool.query(ENABLE, [webhookId, accountId])).rowCount === 0)
    throw isMissing(webhookId);
};

export const removeWebhook = async (pool: Queryable, webhookId: string, accountId: string): Promise<void> => {
  const sql = 'delete from rule_webhooks where webhook_id = $1 and account_id = $2';
  if (!ID.test(webhookId) || (await pool.query(sql, [webhookId, accountId])).rowCount === 0) throw isMissing(webhookId);
};
