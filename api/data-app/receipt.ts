// Receipt ids: `rcp_` and the Crockford base32 of a UUIDv7 (N-12, RFC 9562 section 5.7).
import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 26;

const uuidV7 = (nowMs: number): bigint => {
  const random = randomBytes(10);
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70;
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80;
  return (BigInt(nowMs) << 80n) | BigInt(`0x${random.toString('hex')}`);
};

export const makeReceiptId = (nowMs: number): string => {
  let rest = uuidV7(Math.floor(nowMs));
  let text = '';
  for (let i = 0; i < LENGTH; i++) {
    text = (ALPHABET[Number(rest & 31n)] ?? '') + text;
    rest >>= 5n;
  }
  return `rcp_${text}`;
};
