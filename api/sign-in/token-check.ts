// Checks an access token for the tool server alone: on the private listener, which requires a secret.
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { hashKey } from '../access/keys.ts';
import { hashToken } from '../accounts/token-hash.ts';
import type { Units } from './units.ts';

const TOUCH_MS = 60_000;
const BODY_BYTES = 4_096;

/** Joined with the connection, its key and the account: a token is good only as long as all of them are. */
const CHECK = `
  select c.connection_id, c.key_id, c.last_used_at, k.hash, k.plan, i.expires_at
  from oidc_items i join connections c using (connection_id) join api_keys k using (key_id)
    join accounts a on a.account_id = c.account_id
  where i.model = 'AccessToken' and i.id_hash = $1 and i.expires_at > $2 and i.payload ->> 'aud' = $3
    and c.ended_at is null and c.expires_at > $2 and k.revoked_at is null and a.closed_at is null`;
const TOUCH = 'update connections set last_used_at = $2 where connection_id = $1';

type Row = {
  readonly connection_id: string;
  readonly key_id: string;
  readonly last_used_at: Date | null;
  readonly hash: Buffer;
  readonly plan: string;
  readonly expires_at: Date;
};

/** `key` is what the tool server calls the API with; the token itself goes nowhere (T-11). */
type TokenAnswer =
  | { readonly active: false }
  | {
      readonly active: true;
      readonly key: string;
      readonly key_id: string;
      readonly plan: string;
      readonly expires_at: string;
    };

const INACTIVE: TokenAnswer = { active: false };

type TokenCheckDeps = {
  readonly units: Units;
  readonly keyOf: (connectionId: string) => string;
  readonly mcpUrl: string;
  readonly nowMs: () => number;
  readonly log: Logger;
};

export const createTokenCheck = ({ units: { alone }, keyOf, mcpUrl, nowMs, log }: TokenCheckDeps) => {
  /** Not waited for: a connection is valid even if its use could not be noted. */
  const touch = ({ connection_id, last_used_at }: Row): void => {
    if (last_used_at !== null && nowMs() - last_used_at.getTime() < TOUCH_MS) return;
    alone(TOUCH, [connection_id, new Date(nowMs())]).catch((err: unknown) =>
      log.warn({ err }, 'the use of a connection could not be noted'),
    );
  };

  /** One query for each check, nothing is kept: what ended a moment ago is refused. Rejects when the database is unavailable. */
  return async (token: string): Promise<TokenAnswer> => {
    const { rows } = await alone<Row>(CHECK, [hashToken(token), new Date(nowMs()), mcpUrl]);
    const row = rows[0];
    if (row === undefined) return INACTIVE;
    const key = keyOf(row.connection_id);
    // Another CONNECTION_SECRET than that of its Allow: the key is lost, and the client signs in again.
    if (!timingSafeEqual(hashKey(key), row.hash)) return INACTIVE;
    touch(row);
    return { active: true, key, key_id: row.key_id, plan: row.plan, expires_at: row.expires_at.toISOString() };
  };
};
type TokenCheck = ReturnType<typeof createTokenCheck>;

/** Its route on the private listener, which requires the secret. */
export const addTokenCheckRoute = (app: FastifyInstance, { check, log }: { check: TokenCheck; log: Logger }): void => {
  app.post<{ Body: { token: string } }>(
    '/internal/token-check',
    {
      bodyLimit: BODY_BYTES,
      schema: {
        body: { type: 'object', required: ['token'], properties: { token: { type: 'string', maxLength: 1_000 } } },
      },
    },
    async ({ body }, reply) => {
      reply.header('cache-control', 'no-store');
      try {
        return await check(body.token);
      } catch (error) {
        log.warn({ err: error }, 'a token could not be checked');
        return reply.code(503).header('retry-after', '5').send();
      }
    },
  );
};
