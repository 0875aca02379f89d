// A selection as every form of it is read into: five keys, each with the codes asked for and where they stood (S-01, S-02).
import type { ApiError } from '../../schemas/errors.ts';

export const SELECTION_KEYS = ['instrument', 'base', 'venue', 'quote', 'symbol'] as const;
export type SelectionKey = (typeof SELECTION_KEYS)[number];

export type Position = NonNullable<ApiError['position']>;
/** Where a code stood in the request: a place in the text form, a JSON pointer in the object form. */
export type Origin = { readonly position: Position } | { readonly path: string };
export type Code = { readonly text: string; readonly origin: Origin };
export type Selection = Partial<Readonly<Record<SelectionKey, readonly Code[]>>>;

/** `in` lists hold at most this many codes (S-01). */
export const IN_LIST = 32;
