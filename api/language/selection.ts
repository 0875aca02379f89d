// A selection, the result of every form of it: five keys, each with the requested codes and their places (S-01, S-02).
import type { ApiError } from '../../schemas/errors.ts';

export const SELECTION_KEYS = ['instrument', 'base', 'venue', 'quote', 'symbol'] as const;
export type SelectionKey = (typeof SELECTION_KEYS)[number];

type Position = NonNullable<ApiError['position']>;
/** The place of a code in the request: a position in the text form, a JSON pointer in the object form. */
export type Origin = { readonly position: Position } | { readonly path: string };
export type Code = { readonly text: string; readonly origin: Origin };
export type Selection = Partial<Readonly<Record<SelectionKey, readonly Code[]>>>;

/** `in` lists hold at most this many codes (S-01). */
export const IN_LIST = 32;
