// Tries to sign in, counted over all processes by mailbox, by network and by both together; beyond a few each waits longer.
import { createHash } from 'node:crypto';
import { toSource } from '../contract/source-address.ts';
import type { Db } from './events.ts';

/** `mail`: a mailbox from one network, letters to it, or the holder of a session; `mailbox`: one from anywhere. */
type Subject = { readonly kind: 'mail' | 'mailbox' | 'network'; readonly value: string };

/** Tries without a wait, and the longest wait. A whole office may share a network; whoever knows the address of a mailbox may try it. */
const LIMITS = {
  mail: { free: 5, mostS: 300 },
  mailbox: { free: 50, mostS: 60 },
  network: { free: 60, mostS: 60 },
} as const;

/** Those of a password, or a code in its place: a stranger keeps its own network waiting, and nobody for minutes. */
export const listTried = ({ email, address }: { readonly email: string; readonly address: string }) =>
  [
    { kind: 'mail', value: `${email} from ${toSource(address)}` },
    { kind: 'mailbox', value: email },
    { kind: 'network', value: address },
  ] as const satisfies readonly Subject[];

/** Whoever has a session is no stranger: their tries are counted apart. */
export const listHeld = (accountId: string) =>
  [{ kind: 'mail', value: `held ${accountId}` }] as const satisfies readonly Subject[];

/** Neither address is stored, only its hash. */
const hashSubject = ({ kind, value }: Subject): Buffer =>
  createHash('sha256')
    .update(`${kind}\n${kind === 'network' ? toSource(value) : value}`)
    .digest();

/** Seconds until none of the subjects waits; a wait that lies further ahead than the longest is of the time before a clock was set back. */
const FIND_WAIT = `select coalesce(max(ceil(extract(epoch from t.blocked_until - clock_timestamp()))), 0)::integer as wait
  from unnest($1::bytea[], $2::integer[]) as s (subject, most) join sign_in_tries t using (subject)
  where t.blocked_until > clock_timestamp() and t.blocked_until <= clock_timestamp() + interval '1 second' * s.most`;
const TAKE = 'select take_try($1, $2, $3) as wait';

/**
 * Counts a try of each subject, unless one of them waits: who is kept waiting by others has made none. Seconds to wait when one has had too many;
 * 0: it may be made. Of tries at the same time one that waits may be counted for the subjects before it.
 */
export const takeTry = async (db: Db, subjects: readonly Subject[]): Promise<number> => {
  const all = subjects.map((subject) => ({ hash: hashSubject(subject), ...LIMITS[subject.kind] }));
  const waiting = await db.query<{ wait: number }>(FIND_WAIT, [
    all.map(({ hash }) => hash),
    all.map(({ mostS }) => mostS),
  ]);
  const foundS = waiting.rows[0]?.wait ?? 0;
  if (foundS > 0) return foundS;
  for (const { hash, free, mostS } of all) {
    const { rows } = await db.query<{ wait: number }>(TAKE, [hash, free, mostS]);
    const waitS = rows[0]?.wait ?? 0;
    if (waitS > 0) return waitS;
  }
  return 0;
};

const FORGET = `update sign_in_tries set blocked_until = '-infinity', tries = case when $2 then 0 else greatest(0, tries - 1) end
  where subject = $1`;

/** It was the owner: tries of the mailbox are forgotten, the one of the network is given back. */
export const forgiveTries = async (db: Db, subjects: readonly Subject[]): Promise<void> => {
  for (const subject of subjects) await db.query(FORGET, [hashSubject(subject), subject.kind !== 'network']);
};
