// GET and POST /api/keys, DELETE /api/keys/{key_id}: what the page of keys does, for programs with the owner's session (AC-04).
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { MICROS_PER_MS, parseInstant } from '../../schemas/instants.ts';
import { isJsonObject } from '../../schemas/json-object.ts';
import { LONGEST_NAME, listOwnKeys, makeOwnKey, type OwnKey, revokeOwnKey } from '../accounts/account-keys.ts';
import { clip } from '../contract/sent-text.ts';
import { cleanId, readField } from './fields.ts';
import { readSession, refuseEnded } from './guards.ts';
import { sendProblem } from './shell.ts';
import type { Site } from './site.ts';

/** Null: never; undefined: it is no instant, or has passed. */
const readExpiry = (body: unknown, nowMs: number): Date | null | undefined => {
  const given = (body as { readonly expires_at?: unknown } | null)?.expires_at ?? null;
  if (given === null) return null;
  const at = typeof given === 'string' ? parseInstant(given) : null;
  if (at === null) return undefined;
  const atMs = Math.floor(at / MICROS_PER_MS);
  return atMs > nowMs ? new Date(atMs) : undefined;
};

/** A member that is misspelt would be a key that never expires. */
const findStrangeMember = (body: unknown): string | undefined =>
  isJsonObject(body) ? Object.keys(body).find((name) => name !== 'name' && name !== 'expires_at') : undefined;

const toEntry = ({ state, key_id, name, display, plan, kind, ...rest }: OwnKey) => ({
  ...{ key_id, name, display, plan, kind, state },
  created_at: rest.created_at,
  expires_at: rest.expires_at,
  revoked_at: rest.revoked_at,
  compromised_at: rest.compromised_at,
  last_used_on: rest.last_used_on,
});

export const addKeysJson = (app: FastifyInstance, site: Site): void => {
  app.get('/api/keys', async (request, reply) => {
    const { accountId } = readSession(request);
    const items = (await listOwnKeys(site.pool, accountId)).map(toEntry);
    return reply.header('cache-control', 'no-store').send({ items });
  });
  app.post('/api/keys', async (request, reply) => {
    const exchange = { request, reply };
    const refuse = (text: string) => sendProblem(site, exchange, { status: 400, text });
    const session = readSession(request);
    const name = readField(request.body, 'name', LONGEST_NAME).trim();
    const expiresAt = readExpiry(request.body, site.nowMs());
    const strange = findStrangeMember(request.body);
    if (strange !== undefined) return refuse(`"${clip(strange)}" is not a member here: send "name" and "expires_at".`);
    if (name === '') return refuse(`"name" must be a text of 1 to ${LONGEST_NAME} characters.`);
    if (expiresAt === undefined)
      return refuse('"expires_at" must be null or an instant to come, such as 2030-01-01T00:00:00Z.');
    const made = await makeOwnKey(site.pool, { session, name, expiresAt, formId: randomUUID() });
    if (made.is === 'ended') return refuseEnded(request, reply);
    if (made.is !== 'made')
      return sendProblem(site, exchange, {
        status: 403,
        code: 'PLAN_LIMIT',
        text:
          made.is === 'often'
            ? `An account can create at most ${made.most} keys in 24 hours; use an existing one.`
            : 'All keys of the plan are in use; revoke one.',
      });
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ key: made.key, ...toEntry(made.entry) });
  });
  app.delete<{ Params: { keyId: string } }>('/api/keys/:keyId', async (request, reply) => {
    const { accountId } = readSession(request);
    if (await revokeOwnKey(site.pool, cleanId(request.params.keyId), accountId)) return reply.code(204).send();
    return sendProblem(site, { request, reply }, { status: 404, text: 'You have no such key.' });
  });
};
