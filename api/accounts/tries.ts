// Tries to sign in, counted over all processes by mailbox, by network and by both together; beyond a few each waits longer.
import { createHash } from 'node:crypto';
import { toSource } from '../contract/source-address.ts';
import type { Db } from './events.ts';

/** `mail`: a mailbox from one network, letters to it, or the holder of a session; `mailbox`: one from anywhere. */
export type Subject = { readonly kind: 'mail' | 'mailbox' | 'network'; readonly value: string };

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

/** Counts a try of each subject, as far as none waits. Seconds to wait for the first that has had too many; 0: it may be made. */
export const takeTry = async (db: Db, subjects: readonly Subject[]): Promise<number> => {
  for (const subject of subjects) {
    const { free, mostS } = LIMITS[subject.kind];
    const values = [hashSubject(subject), free, mostS];
    const { rows } = await db.query<{ wait: number }>('select take_try($1, $2, $3) as wait', values);
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
