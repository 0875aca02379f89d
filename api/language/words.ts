// What a word of the text is by its spelling alone (DQL-03, DQL-34d).
import { FIELDS, SOURCES } from './fields.ts';
import { FUNCTIONS } from './functions.ts';
import type { Token } from './lexer.ts';

/** Keywords that begin no expression and no clause; no field has such a name (DQL-03). */
export const INNER_WORDS: ReadonlySet<string> = new Set([
  ...['and', 'or', 'in', 'venues', 'as', 'of'],
  ...['order', 'by', 'asc', 'desc'],
]);

/** A field or function in upper case with an underscore, which no code has: the lexer takes it for a name (DQL-34d). */
export const isShouted = ({ kind, text }: Token): boolean => {
  const lower = text.toLowerCase();
  if (kind !== 'name' || text !== text.toUpperCase() || text === lower) return false;
  return FUNCTIONS.has(lower) || FIELDS.has(lower) || SOURCES.has(lower);
};
