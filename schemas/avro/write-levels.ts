// Levels of a book are `[price, size]` in code and records of two strings on the wire: their list writes the pairs as they are.
import avro from 'avsc';

type Tap = { writeLong(value: number): void; writeString(text: string): void };
type Pair = readonly [price: string, size: string];
const NAME = 'Level';

/** A list of the record `Level`, defined here or by name. */
const isLevels = (schema: unknown): boolean => {
  const { type, items } = Object(schema) as { readonly type?: unknown; readonly items?: unknown };
  return type === 'array' && (items === NAME || (Object(items) as { readonly name?: unknown }).name === NAME);
};

class LevelsType extends avro.types.ArrayType {
  /** avsc's own takes items as they are on the wire. */
  _write(tap: Tap, levels: readonly Pair[]): void {
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
