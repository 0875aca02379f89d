// Keys that are derived from a secret and a name, so that they need not be stored and can be derived again for each call.
import { createHmac, hkdfSync } from 'node:crypto';
import { composeKey, toBase62 } from './keys.ts';

const KEY_CHARACTERS = 32;

/** 32 bytes. A value that is derived from a secret for one purpose cannot be used for another. */
export const deriveSecret = (secret: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

/** Makes the key of a name; it has the shape of every key. */
export const openDerivedKeys = (secret: Buffer, purpose: string): ((name: string) => string) => {
  const own = deriveSecret(secret, purpose);
  return (name) => composeKey(toBase62(createHmac('sha256', own).update(name).digest(), KEY_CHARACTERS));
};
