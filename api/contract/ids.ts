// Ids that sort by the time at which they were created: a prefix and the Crockford base32 of a UUIDv7 (N-12, RFC 9562 section 5.7).
import { randomBytes } from 'node:crypto';
import { printCrockford } from './crockford.ts';

const makeUuidV7 = (nowMs: number): bigint => {
  const random = randomBytes(10);
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70;
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80;
  return (BigInt(Math.floor(nowMs)) << 80n) | BigInt(`0x${random.toString('hex')}`);
};

/** `nowMs`: milliseconds since 1970. */
const makeId = (prefix: string, nowMs: number): string => `${prefix}_${printCrockford(makeUuidV7(nowMs))}`;

export const makeReceiptId = (nowMs: number): string => makeId('rcp', nowMs);

export const makeKeyId = (nowMs: number): string => makeId('key', nowMs);
