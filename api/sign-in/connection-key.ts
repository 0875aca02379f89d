// Keys derived from CONNECTION_SECRET: the key of a connection is not stored and can be derived again for each call (T-10).
import { deriveSecret, openDerivedKeys } from '../access/derived-keys.ts';

const toPurpose = (what: string): string => `perp sign-in: ${what}`;

export const makeSignInSecret = (secret: Buffer, what: string): Buffer => deriveSecret(secret, toPurpose(what));

/** Makes the key of a connection; it has the shape of every key. */
export const openConnectionKeys = (secret: Buffer): ((connectionId: string) => string) =>
  openDerivedKeys(secret, toPurpose('connection keys'));
