// Shape of API keys: `sk_`, 32 random base62 characters, 4 of checksum (E-03). Only the SHA-256 of a key is ever stored.
import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 4;
const SHAPE = /^sk_[0-9A-Za-z]{36}$/;
/** The same anywhere in a text: a key in a URL value is detected regardless of the surrounding text. */
const SHAPE_WITHIN = /sk_[0-9A-Za-z]{36}/g;
const DISPLAYED = 8;

/** CRC-32 of the text before it, modulo 62^4, most significant character first. */
const computeChecksum = (body: string): string => {
  let rest = crc32(body) % ALPHABET.length ** CHECKSUM_LENGTH;
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = (ALPHABET[rest % ALPHABET.length] ?? '') + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
};

/** The given number of random characters for a key. */
export const makeRandomCharacters = (count: number): string =>
  Array.from({ length: count }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** The given number of base62 characters of a digest: random for anyone without its secret. */
export const toBase62 = (digest: Buffer, count: number): string => {
  let rest = BigInt(`0x${digest.toString('hex')}`);
  return Array.from({ length: count }, () => {
    const character = ALPHABET[Number(rest % BigInt(ALPHABET.length))];
    rest /= BigInt(ALPHABET.length);
    return character;
  }).join('');
};

/** The key of 32 characters: anyone can make one of the right shape, and only a stored one is good. */
export const composeKey = (characters: string): string => `sk_${characters}${computeChecksum(`sk_${characters}`)}`;

/** A new key; shown once, then only its hash exists. */
export const makeKey = (): string => composeKey(makeRandomCharacters(RANDOM_LENGTH));

/** Whether the text has a key's shape and its checksum: what fails is refused without a lookup. */
export const isKey = (text: string): boolean =>
  SHAPE.test(text) && computeChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);

/** Everything in a text that has the shape of a key. */
export const findKeyShapes = (text: string): readonly string[] => text.match(SHAPE_WITHIN) ?? [];

export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest();

/** What an account site may show of a key. */
export const shortenKey = (key: string): string => key.slice(0, DISPLAYED);
