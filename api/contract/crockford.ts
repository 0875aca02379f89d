// Identifiers of 128 bits as 26 characters of Crockford's base32 (crockford.com/base32.html).
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 26;

/** The shape of 26 such characters, for patterns. */
export const CROCKFORD = '[0-9A-HJKMNP-TV-Z]{26}';

export const printCrockford = (bits: bigint): string => {
  let rest = bits;
  let text = '';
  for (let i = 0; i < LENGTH; i++) {
    text = (ALPHABET[Number(rest & 31n)] ?? '') + text;
    rest >>= 5n;
  }
  return text;
};
