// avsc's writer of strings for texts that are ASCII, as nearly all are: one pass, without counting the bytes before.
import { createRequire } from 'node:module';

type Tap = { buf: Buffer; pos: number; writeString(text: string): void };
/** A part of the package without types. */
const utils = createRequire(import.meta.url)('avsc/lib/utils') as { readonly Tap: { readonly prototype: Tap } };
const tap = utils.Tap.prototype;
const writeAny = tap.writeString;

/** A longer text has a length of two bytes. */
const SHORT = 63;
const ASCII_END = 0x80;

tap.writeString = function (this: Tap, text: string): void {
  const { buf } = this;
  const start = this.pos;
  const { length } = text;
  if (length > SHORT || start + 1 + length > buf.length) return writeAny.call(this, text);
  let at = start + 1;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code >= ASCII_END) return writeAny.call(this, text);
    buf[at++] = code;
  }
  // Avro's zigzag of a length below 64 is one byte.
  buf[start] = length << 1;
  this.pos = at;
};
