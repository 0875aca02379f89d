// Sign-up, sign-in and recovery by a code: each is one transaction, and answers alike for an address with an account and without one.
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { createAccount, findAccount, lockAccount, lockAccountOf, setPassword } from './accounts.ts';
import { type AccountAction, type Db, recordEvent } from './events.ts';
import { endLetters, writeLetter } from './mail.ts';
import { hasPasskey, type Shown } from './passkeys.ts';
import { hashPassword, isPasswordOf } from './passwords.ts';
import { dropKeptCodes, MAILED_FOR, makeMailedCode, renewCodes, takeCode } from './recovery-codes.ts';
import { beginSession, endOtherSessions } from './sessions.ts';
import { forgiveTries, listTried, takeTry } from './tries.ts';

type Credentials = {
  /** In its normal form. */
  readonly email: string;
  readonly password: string;
  /** Address of the network. */
  readonly address: string;
  readonly agent: string;
};

type SignedIn = { readonly is: 'in'; readonly token: string; readonly accountId: string };
/** `wait`: too many tries. `wrong`: the cause is not disclosed. `passkey`: the password was right and is not enough. */
export type SignInOutcome =
  | SignedIn
  | { readonly is: 'wrong' }
  | { readonly is: 'wait'; readonly seconds: number }
  | { readonly is: 'passkey'; readonly accountId: string };

/** The account, its codes and its first session, or nothing; null: the address has an account. */
export const signUp = async (
  pool: Pool,
  { email, password, agent }: Credentials,
): Promise<{ readonly token: string; readonly codes: readonly string[]; readonly accountId: string } | null> => {
  const passwordHash = await hashPassword(password);
  return runInTransaction(pool, async (client) => {
    const accountId = await createAccount(client, { email, passwordHash });
    if (accountId === null) return null;
    const codes = await renewCodes(client, accountId);
    await recordEvent(client, { accountId, action: 'signed_up' });
    const { token } = await beginSession(client, { accountId, agent });
    return { token, codes, accountId };
  });
};

type Proven = { readonly accountId: string; readonly agent: string; readonly method: string };

const beginProven = async (client: Db, { accountId, agent, method }: Proven): Promise<SignedIn> => {
  const { token } = await beginSession(client, { accountId, agent });
  await recordEvent(client, { accountId, action: 'signed_in', details: { method } });
  return { is: 'in', token, accountId };
};

/** Begins a session of whoever has just shown this passkey; null: meanwhile it was removed, or the account closed. */
export const enterWithPasskey = (
  pool: Pool,
  { accountId, credentialId, agent }: Shown & { readonly agent: string },
): Promise<SignedIn | null> =>
  runInTransaction(pool, async (client) => {
    if (!(await lockAccount(client, accountId)) || !(await hasPasskey(client, accountId, credentialId))) return null;
    return beginProven(client, { accountId, agent, method: 'passkey' });
  });

/** Whoever replaces a password ends every session: one that was checked meanwhile begins none after that. */
const enterWithPassword = (pool: Pool, credentials: Credentials, checkedHash: string | null): Promise<SignInOutcome> =>
  runInTransaction<SignInOutcome>(pool, async (client) => {
    const { email, agent } = credentials;
    const account = await lockAccountOf(client, email);
    if (account === null || account.passwordHash !== checkedHash) return { is: 'wrong' };
    const { accountId, needsPasskey } = account;
    await forgiveTries(client, listTried(credentials));
    return needsPasskey ? { is: 'passkey', accountId } : beginProven(client, { accountId, agent, method: 'password' });
  });

/** `note` writes a failure to the audit after the answer has been sent: a write before it would reveal that there is an account. */
export const signIn = async (
  pool: Pool,
  credentials: Credentials,
  note: (accountId: string, action: AccountAction) => void,
): Promise<SignInOutcome> => {
  const { email, password } = credentials;
  const subjects = listTried(credentials);
  const seconds = await takeTry(pool, subjects);
  if (seconds > 0) return { is: 'wait', seconds };
  const account = await findAccount(pool, email);
  if (!(await isPasswordOf(account?.passwordHash ?? null, password)) || account === null) {
    if (account !== null) note(account.accountId, 'sign_in_failed');
    return { is: 'wrong' };
  }
  return enterWithPassword(pool, credentials, account.passwordHash);
};

/**
 * What whoever signed up could sign in with later: anybody may sign up with an address that is not theirs, and wait for its owner. The first letter
 * that is answered shows whose it is.
 */
const endEarlierWays = async (client: Db, accountId: string): Promise<void> => {
  await client.query('delete from account_passkeys where account_id = $1', [accountId]);
  await dropKeptCodes(client, accountId);
};

/** A new password for the holder of a code; every session ends. A mailed code is not enough where a passkey is required. */
export const resetPassword = async (
  pool: Pool,
  credentials: Credentials & { readonly code: string },
): Promise<SignInOutcome> => {
  const { email, password, agent, code } = credentials;
  const subjects = listTried(credentials);
  const seconds = await takeTry(pool, subjects);
  if (seconds > 0) return { is: 'wait', seconds };
  const passwordHash = await hashPassword(password);
  return runInTransaction<SignInOutcome>(pool, async (client) => {
    const account = await lockAccountOf(client, email);
    const kind = await takeCode(client, account?.accountId ?? '', { code });
    if (account === null || kind === null) return { is: 'wrong' };
    const { accountId } = account;
    await setPassword(client, accountId, passwordHash);
    if (kind === 'kept')
      await client.query('update accounts set needs_passkey = false where account_id = $1', [accountId]);
    else
      await client.query('update accounts set confirmed_at = coalesce(confirmed_at, now()) where account_id = $1', [
        accountId,
      ]);
    await endOtherSessions(client, accountId, null);
    const isFirstProof = kind === 'mailed' && account.confirmedAt === null && !account.needsPasskey;
    if (isFirstProof) await endEarlierWays(client, accountId);
    const details = { code: kind, ...(isFirstProof ? { earlier_passkeys_and_codes: 'ended' } : {}) };
    await recordEvent(client, { accountId, action: 'password_reset', details });
    await forgiveTries(client, subjects);
    if (account.needsPasskey && kind === 'mailed') return { is: 'passkey', accountId };
    const { token } = await beginSession(client, { accountId, agent });
    return { is: 'in', token, accountId };
  });
};

const CODE_SUBJECT = 'Your code';

/**
 * Mails a code to the account of the address, if there is one; the caller gets the same answer in both cases. Beyond a few letters each
 * waits longer, and one that would come earlier is not written: a stranger fills no mailbox, and does not end the code that its owner reads. A letter
 * that waits is sent as long as its code can be used.
 */
export const mailCode = async (
  pool: Pool,
  { email, site, use = 'password' }: { email: string; site: string; use?: 'password' | 'address' },
): Promise<void> => {
  if ((await takeTry(pool, [{ kind: 'mail', value: `letter ${email}` }])) > 0) return;
  await runInTransaction(pool, async (client) => {
    const account = await lockAccountOf(client, email);
    if (account === null) return;
    const { accountId } = account;
    const code = await makeMailedCode(client, accountId);
    const body = [
      `Your code for ${site} is`,
      '',
      `    ${code}`,
      '',
      use === 'password'
        ? `Enter it at ${site}/recover within half an hour to set a new password.`
        : `Enter it on the page where you requested it (${site}/security) within half an hour to confirm your address.`,
      'If you did not request it, someone else did. Nothing has changed, and you do not need to do anything.',
      '',
    ].join('\n');
    await endLetters(client, { accountId, subject: CODE_SUBJECT });
    await writeLetter(client, { accountId, recipient: email, subject: CODE_SUBJECT, body, lastsFor: MAILED_FOR });
  });
};
