// One side of a book as text for checkpoints: a third of the size of its numbers as JSON, in two thirds of the time.
//
// The first key, then for each level the difference of its key to the one before, and its size. A number is written in base 32, least digits first,
// one character each; all but its last have a sixth bit set (variable-length quantities, as in source maps). The first key's sign is its lowest bit.
import type { View } from './view.ts';

/** Keys are ascending; keys and sizes are integers below 2^51. */
type Side = { readonly keys: number[]; readonly sizes: number[] };

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 'latin1');
const DIGIT = new Uint8Array(128);
for (const [digit, character] of ALPHABET.entries()) DIGIT[character] = digit;

const BASE = 32;
/** Numbers below this fit V8's shift operators. */
const NARROW = 2 ** 30;
/** Two numbers below 2^52 a level, five bits a character. */
const LEVEL_BYTES = 22;
const FIRST_BYTES = 11;

let scratch = Buffer.allocUnsafe(65_536);

const put = (at: number, value: number): number => {
  let [rest, end] = [value, at];
  for (; rest >= NARROW; rest = Math.floor(rest / BASE)) scratch[end++] = ALPHABET[BASE + (rest % BASE)] as number;
  for (; rest >= BASE; rest >>>= 5) scratch[end++] = ALPHABET[BASE | (rest & 31)] as number;
  scratch[end++] = ALPHABET[rest] as number;
  return end;
};

export const formatSide = ({ keys, sizes }: View<Side>): string => {
  const room = FIRST_BYTES + keys.length * LEVEL_BYTES;
  if (scratch.length < room) scratch = Buffer.allocUnsafe(room * 2);
  const first = keys[0] ?? 0;
  let at = put(0, first < 0 ? 1 - 2 * first : 2 * first);
  let before = first;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as number;
    at = put(at, key - before);
    at = put(at, sizes[i] as number);
    before = key;
  }
  return scratch.toString('latin1', 0, at);
};

/** Throws SyntaxError for a text that encodes no side. */
export const parseSide = (text: string): Side => {
  let at = 0;
  const take = (): number => {
    let [value, unit] = [0, 1];
    for (; at < text.length; unit *= BASE) {
      const digit = DIGIT[text.charCodeAt(at++)] as number;
      if (digit < BASE) return value + digit * unit;
      value += (digit - BASE) * unit;
    }
    throw new SyntaxError('a side of a book ends within a number');
  };
  const first = take();
  let key = first % 2 === 1 ? (1 - first) / 2 : first / 2;
  const side: Side = { keys: [], sizes: [] };
  while (at < text.length) {
    key += take();
    side.keys.push(key);
    side.sizes.push(take());
  }
  return side;
};
