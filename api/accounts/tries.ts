// Tries to sign in, counted over all processes by address of mail and by address of the network; beyond a few each waits longer.
import { createHash } from 'node:crypto';
import { toSource } from '../contract/source-address.ts';
import type { Db } from './events.ts';

export type Subject = { readonly kind: 'mail' | 'network'; readonly value: string };

/** Tries without a wait, and the longest wait. A whole office may share an address of the network, but not a mailbox. */
const LIMITS = { mail: { free: 5, mostS: 300 }, network: { free: 60, mostS: 60 } } as const;

/** Neither address is stored, only its hash. */
const hashSubject = ({ kind, value }: Subject): Buffer =>
  createHash('sha256')
    .update(`${kind}\n${kind === 'network' ? toSource(value) : value}`)
    .digest();

/** Counts a try of each subject. Seconds to wait when one of them has had too many; 0: it may be made. */
export const takeTry = async (db: Db, subjects: readonly Subject[]): Promise<number> => {
  let waitS = 0;
  for (const subject of subjects) {
    const { free, mostS } = LIMITS[subject.kind];
    const values = [hashSubject(subject), free, mostS];
    const { rows } = await db.query<{ wait: number }>('select take_try($1, $2, $3) as wait', values);
    waitS = Math.max(waitS, rows[0]?.wait ?? 0);
  }
  return waitS;
};

const FORGET = `update sign_in_tries set blocked_until = '-infinity', tries = case when $2 then 0 else greatest(0, tries - 1) end
  where subject = $1`;

/** It was the owner: tries of the mailbox are forgotten, the one of the network is given back. */
export const forgiveTries = async (db: Db, subjects: readonly Subject[]): Promise<void> => {
  for (const subject of subjects) await db.query(FORGET, [hashSubject(subject), subject.kind === 'mail']);
};
