// avsc's reader of maps with names that recur: the members of readings and the columns of rows are a few dozen, and a known one is found by its bytes.
import avro from 'avsc';

type Tap = { buf: Buffer; pos: number; readLong(): number; readString(): string };
type Values = { _read(tap: Tap): unknown };
type OwnMap = { readonly valuesType: Values; _read(tap: Tap): Record<string, unknown> };

/** Avro's length of a text below 64 bytes is one byte: twice the length. */
const LONGEST = 63;
const PLACES = 1_024;
/** The newest name at each hash. */
const known = new Array<string>(PLACES).fill('');

const isText = (text: string, bytes: Buffer, from: number): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[from + i]) return false;
  return true;
};

const readName = (tap: Tap): string => {
  const { buf, pos } = tap;
  const head = buf[pos] ?? 1;
  const length = head >> 1;
  const end = pos + 1 + length;
  if (head % 2 === 1 || length > LONGEST || end > buf.length) return tap.readString();
  let hash = length;
  for (let i = pos + 1; i < end; i++) hash = (Math.imul(hash, 31) + (buf[i] as number)) | 0;
  const place = hash & (PLACES - 1);
  const found = known[place] as string;
  // A text of as many characters as bytes is ASCII.
  if (found.length !== length || !isText(found, buf, pos + 1)) {
    const text = tap.readString();
    if (text.length === length) known[place] = text;
    return text;
  }
  tap.pos = end;
  return found;
};

(avro.types.MapType.prototype as unknown as OwnMap)._read = function (this: OwnMap, tap: Tap): Record<string, unknown> {
  const { valuesType } = this;
  const values: Record<string, unknown> = {};
  for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
    // The block's length in bytes follows a negative count.
    if (count < 0) tap.readLong();
    for (let left = Math.abs(count); left > 0; left--) {
      const name = readName(tap);
      values[name] = valuesType._read(tap);
    }
  }
  return values;
};
