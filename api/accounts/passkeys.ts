// Passkeys: made and shown over challenges that one browser may answer once; discoverable, and always with the user verified.
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type WebAuthnCredential,
} from '@simplewebauthn/server';
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { isJsonObject, parseJson } from '../../schemas/json-object.ts';
import { lockAccount } from './accounts.ts';
import { type Db, recordEvent } from './events.ts';
import { lockSession } from './sessions.ts';

const MOST_PASSKEYS = 20;
const CHALLENGE_MINUTES = 10;

/** The site as authenticators know it: its host, and the origin of its pages. */
export type RelyingParty = { readonly id: string; readonly origin: string; readonly name: string };

export type Passkey = {
  readonly credentialId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
};
type StoredKey = {
  readonly account_id: string;
  readonly public_key: Buffer;
  /** A bigint, as the driver gives it. */
  readonly counter: string;
  readonly transports: string[];
};

const LIST = `select credential_id as "credentialId", name, created_at as "createdAt", last_used_at as "lastUsedAt"
  from account_passkeys where account_id = $1 order by created_at, credential_id`;
const KEEP = `insert into passkey_challenges (challenge, binding, account_id, expires_at)
  values ($1, $2, $3, now() + interval '${CHALLENGE_MINUTES} minutes')`;
const TAKE = `delete from passkey_challenges where challenge = $1 and binding = $2 and expires_at > now() returning account_id`;
const FIND = `select k.account_id, public_key, counter, transports from account_passkeys k join accounts a using (account_id)
  where credential_id = $1 and a.closed_at is null`;
const ADD = `insert into account_passkeys (credential_id, account_id, public_key, counter, transports, name)
  select $1, $2, $3, $4, $5, $6 where (select count(*) from account_passkeys where account_id = $2) < ${MOST_PASSKEYS}
  on conflict do nothing`;
const USED = 'update account_passkeys set counter = $2, last_used_at = now() where credential_id = $1';

export const listPasskeys = async (db: Db, accountId: string): Promise<readonly Passkey[]> =>
  (await db.query<Passkey>(LIST, [accountId])).rows;

/** By the session that its browser has. */
type Adding = { readonly accountId: string; readonly email: string; readonly sessionId: string };

/** The options with which the browser makes a passkey. */
export const requestNewPasskey = async (
  db: Db,
  { accountId, email, sessionId }: Adding,
  rp: RelyingParty,
): Promise<PublicKeyCredentialCreationOptionsJSON> => {
  const held = await listPasskeys(db, accountId);
  const options = await generateRegistrationOptions({
    rpID: rp.id,
    rpName: rp.name,
    userName: email,
    userID: new Uint8Array(Buffer.from(accountId)),
    excludeCredentials: held.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  await db.query(KEEP, [options.challenge, sessionId, accountId]);
  return options;
};

/** The challenge that an answer is to; null: its text is no answer at all. */
const readChallenge = (response: unknown): string | null => {
  const text = (response as { response?: { clientDataJSON?: unknown } } | null)?.response?.clientDataJSON;
  if (typeof text !== 'string') return null;
  const data = parseJson(Buffer.from(text, 'base64url').toString());
  const challenge = isJsonObject(data) ? data['challenge'] : null;
  return typeof challenge === 'string' && challenge.length <= 200 && !challenge.includes('\0') ? challenge : null;
};

/** Uses a challenge up; null: it was never given to this browser, was answered before, or is old. */
const takeChallenge = async (db: Db, response: unknown, binding: string) => {
  const challenge = readChallenge(response);
  if (challenge === null) return null;
  const { rows } = await db.query<{ account_id: string | null }>(TAKE, [challenge, binding]);
  return rows[0] === undefined ? null : { challenge, accountId: rows[0].account_id };
};

/** Stores what the browser made; false: the answer is not good, the session has ended, or the account has enough of them. */
export const addPasskey = async (
  pool: Pool,
  {
    response,
    name,
    rp,
    ...adding
  }: Adding & { readonly response: unknown; readonly name: string; readonly rp: RelyingParty },
): Promise<boolean> => {
  const taken = await takeChallenge(pool, response, adding.sessionId);
  if (taken?.accountId !== adding.accountId) return false;
  const verified = await verifyRegistrationResponse({
    response: response as RegistrationResponseJSON,
    expectedChallenge: taken.challenge,
    expectedOrigin: rp.origin,
    expectedRPID: rp.id,
    requireUserVerification: true,
  }).catch(() => null);
  if (verified?.verified !== true) return false;
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
  return runInTransaction(pool, async (client) => {
    if (!(await lockSession(client, adding))) return false;
    const values = [id, adding.accountId, Buffer.from(publicKey), counter, transports, name];
    if ((await client.query(ADD, values)).rowCount !== 1) return false;
    await recordEvent(client, { accountId: adding.accountId, action: 'passkey_added', details: { name } });
    return true;
  });
};

/** `accountId`: only a passkey of this account is accepted; null: any passkey, which then identifies its account. */
export const requestPasskey = async (
  db: Db,
  { binding, accountId }: { readonly binding: string; readonly accountId: string | null },
  rp: RelyingParty,
): Promise<PublicKeyCredentialRequestOptionsJSON> => {
  const held = accountId === null ? [] : await listPasskeys(db, accountId);
  const options = await generateAuthenticationOptions({
    rpID: rp.id,
    userVerification: 'required',
    allowCredentials: held.map(({ credentialId }) => ({ id: credentialId })),
  });
  await db.query(KEEP, [options.challenge, binding, accountId]);
  return options;
};

/** The passkey that answered, and whose it is. */
export type Shown = { readonly accountId: string; readonly credentialId: string };

/** Null: the answer is not good. */
export const checkPasskey = async (
  db: Db,
  { response, binding }: { readonly response: unknown; readonly binding: string },
  rp: RelyingParty,
): Promise<Shown | null> => {
  const taken = await takeChallenge(db, response, binding);
  const { id } = (response ?? {}) as { readonly id?: unknown };
  if (taken === null || typeof id !== 'string' || id.includes('\0')) return null;
  const { rows } = await db.query<StoredKey>(FIND, [id]);
  const held = rows[0];
  if (held === undefined || (taken.accountId !== null && taken.accountId !== held.account_id)) return null;
  const credential = {
    id,
    publicKey: new Uint8Array(held.public_key),
    counter: Number(held.counter),
    transports: held.transports,
  } as WebAuthnCredential;
  const verified = await verifyAuthenticationResponse({
    response: response as AuthenticationResponseJSON,
    expectedChallenge: taken.challenge,
    expectedOrigin: rp.origin,
    expectedRPID: rp.id,
    credential,
    requireUserVerification: true,
  }).catch(() => null);
  if (verified?.verified !== true) return null;
  await db.query(USED, [id, verified.authenticationInfo.newCounter]);
  return { accountId: held.account_id, credentialId: id };
};

/** Whether the account has this passkey still; looked at once its row is locked. */
export const hasPasskey = async (db: Db, accountId: string, credentialId: string): Promise<boolean> => {
  const { rowCount } = await db.query('select 1 from account_passkeys where credential_id = $1 and account_id = $2', [
    credentialId,
    accountId,
  ]);
  return rowCount === 1;
};

const REMOVE = 'delete from account_passkeys where credential_id = $1 and account_id = $2 returning name';
/** Without a passkey no second factor can be required after the password. */
const UNNEEDED = `update accounts set needs_passkey = false where account_id = $1
  and not exists (select 1 from account_passkeys where account_id = $1)`;
/** The last way in is not removed. Read once the account's row is locked: a statement that waits for the lock does not see what it waited for. */
const IS_LAST = `select a.password_hash is null and (select count(*) from account_passkeys where account_id = $1) <= 1 as last
  from accounts a where account_id = $1`;

/** `last`: the account has no password and no other passkey. */
export const removePasskey = (
  pool: Pool,
  accountId: string,
  credentialId: string,
): Promise<'removed' | 'last' | 'unknown'> =>
  runInTransaction(pool, async (client) => {
    await lockAccount(client, accountId);
    const { rows } = await client.query<{ last: boolean }>(IS_LAST, [accountId]);
    if (rows[0]?.last === true) return 'last';
    const removed = await client.query<{ name: string }>(REMOVE, [credentialId, accountId]);
    const name = removed.rows[0]?.name;
    if (name === undefined) return 'unknown';
    await client.query(UNNEEDED, [accountId]);
    await recordEvent(client, { accountId, action: 'passkey_removed', details: { name } });
    return 'removed';
  });

const NO_PASSWORD = `update accounts set password_hash = null, needs_passkey = false where account_id = $1 and password_hash is not null
  and exists (select 1 from account_passkeys where account_id = $1)`;

/** Leaves the passkeys as the ways to sign in; nothing changes for an account without one. */
export const removePassword = (pool: Pool, accountId: string): Promise<void> =>
  runInTransaction(pool, async (client) => {
    await lockAccount(client, accountId);
    if ((await client.query(NO_PASSWORD, [accountId])).rowCount === 1)
      await recordEvent(client, { accountId, action: 'password_changed', details: { removed: true } });
  });
