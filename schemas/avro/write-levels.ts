// Levels of a book are `[price, size]` in code and records of two strings on the wire: their list writes the pairs as they are.
import avro from 'avsc';

type Tap = { buf: Buffer; pos: number; writeLong(value: number): void; writeString(text: string): void };
type Pair = readonly [price: string, size: string];
const NAME = 'Level';

/** The list in Avro, as text of one byte a character. */
const AVRO_TEXT = Symbol('avro text');
type Levels = readonly Pair[] & { [AVRO_TEXT]?: string };

/** Avro's zigzag of a number below 64 is one byte. */
const SHORT = 63;
const toLength = (length: number): string => String.fromCharCode(length << 1);

/** A level in Avro as text of one byte a character; null when a figure is longer than 63 characters. Figures are ASCII. */
export const formatLevel = ([price, size]: Pair): string | null =>
  price.length > SHORT || size.length > SHORT ? null : toLength(price.length) + price + toLength(size.length) + size;

/** Gives a list the texts of its levels: the best levels of a book are written several times, and most were written with the book's last change. */
export const attachLevelTexts = (levels: readonly Pair[], texts: readonly (string | null)[]): void => {
  if (levels.length === 0 || levels.length > SHORT || texts.includes(null)) return;
  (levels as Levels)[AVRO_TEXT] = `${toLength(levels.length)}${texts.join('')}\0`;
};

/** A list of the record `Level`, defined here or by name. */
const isLevels = (schema: unknown): boolean => {
  const { type, items } = Object(schema) as { readonly type?: unknown; readonly items?: unknown };
  return type === 'array' && (items === NAME || (Object(items) as { readonly name?: unknown }).name === NAME);
};

class LevelsType extends avro.types.ArrayType {
  /** avsc's own takes items as they are on the wire. A position beyond the buffer tells avsc how much is missing. */
  _write(tap: Tap, levels: Levels): void {
    const text = levels[AVRO_TEXT];
    if (text !== undefined) {
      if (tap.pos + text.length <= tap.buf.length) tap.buf.write(text, tap.pos, 'latin1');
      tap.pos += text.length;
      return;
    }
    if (levels.length > 0) tap.writeLong(levels.length);
    for (const [price, size] of levels) {
      tap.writeString(price);
      tap.writeString(size);
    }
    tap.writeLong(0);
  }
}

/** avsc's hook on each type of a schema. */
export const writeLevels = (schema: avro.Schema, { typeHook: _, ...options }: avro.ForSchemaOptions) =>
  isLevels(schema) ? new LevelsType(schema as avro.schema.ArrayType, options) : undefined;
