// Rows of an answer as values, grouped by their listing and layer: every format other than JSON is rendered from them (N-15).
import type { JsonValue } from '../../schemas/json.ts';

/** A row by its members; absent ones are left out. */
export type Row = { readonly [member: string]: JsonValue | undefined };

/** Rows of one listing, or of one of its layers. */
export type RowGroup = {
  /** Members of the listing, and of the layer, that begin each row: all members except the rows and those that accompany them (N-15). */
  readonly head: Row;
  readonly rows: readonly Row[];
};

/** The items of an answer: the JSON array exactly as it is sent and hashed, and their rows if another format renders them. */
export type Items = { readonly text: string; readonly groups: readonly RowGroup[] };
