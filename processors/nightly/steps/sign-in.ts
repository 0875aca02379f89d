// Expires sign-in data of agents' clients: ends connections with their keys, deletes old codes, tokens and unused clients (T-08, T-10).
import type { Pool } from 'pg';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import type { Step } from '../step.ts';

const DUE_MS = 5.25 * 3_600_000;
/** A user cannot repair "Unknown client", so this is far longer than any refresh token. */
const CLIENT_DAYS = 180;
/** An ended connection is only history. */
const ENDED_DAYS = 400;

/** Records the end of expired connections; their keys have expired with them. */
const END = `
  with ended as (
    update connections set ended_at = $1, end_reason = 'expired' where ended_at is null and expires_at <= $1 returning *),
  told as (
    insert into account_events (account_id, action, actor, details)
    select account_id, 'connection_ended', 'nightly',
      jsonb_build_object('connection_id', connection_id, 'client_name', client_name, 'end_reason', end_reason) from ended),
  revoked as (
    update api_keys k set revoked_at = $1 from ended e where k.key_id = e.key_id and k.revoked_at is null returning k.key_id),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'revoked', 'nightly', jsonb_build_object('end_reason', 'expired') from revoked)
  select 1 from ended`;
const FORGET: readonly (readonly [statement: string, days: number])[] = [
  ['delete from oidc_items i using connections c where c.connection_id = i.connection_id and c.ended_at <= $1', 0],
  ['delete from oidc_renewals r using connections c where c.connection_id = r.connection_id and c.ended_at <= $1', 0],
  ['delete from oidc_items where expires_at <= $1', 0],
  ['delete from oidc_renewals where answered_at <= $1', 1],
  [
    `delete from oidc_clients o where used_at <= $1 and not exists (
      select 1 from connections c where c.client_id = o.client_id and c.ended_at is null)`,
    CLIENT_DAYS,
  ],
  ['delete from connections where ended_at <= $1', ENDED_DAYS],
];

const forget = async (database: Pool, nowMs: number): Promise<number> => {
  let forgotten = 0;
  for (const [statement, days] of FORGET)
    forgotten += (await database.query(statement, [new Date(nowMs - days * MS_PER_DAY)])).rowCount ?? 0;
  return forgotten;
};

export const signIn: Step = {
  name: 'sign-in',
  summary: 'connections that have expired are ended; expired tokens and unused clients are forgotten',
  dueMs: DUE_MS,
  run: async (_day, { database, nowMs }) => {
    const now = nowMs();
    const { rows } = await database.query(END, [new Date(now)]);
    return `${rows.length} connections ended, ${await forget(database, now)} rows forgotten`;
  },
};
