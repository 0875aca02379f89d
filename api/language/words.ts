// Words that are used where an expression is expected but cannot begin one: keywords, names in upper case, codes (DQL-03, DQL-34d).
import { FIELDS, SOURCES } from './fields.ts';
import { FUNCTIONS } from './functions.ts';
import { findSpelling, NO_NOT, type Token } from './lexer.ts';
import type { TokenStream } from './token-stream.ts';

/** Keywords that begin no expression and no clause; no field has such a name (DQL-03). */
export const INNER_WORDS = new Set(['and', 'or', 'in', 'venues', 'as', 'of', 'order', 'by', 'asc', 'desc']);

/** A field or function in upper case with an underscore, which no code has: the lexer takes it for a name (DQL-34d). */
export const isShouted = ({ kind, text }: Token): boolean => {
  const lower = text.toLowerCase();
  if (kind !== 'name' || text !== text.toUpperCase() || text === lower) return false;
  return FUNCTIONS.has(lower) || FIELDS.has(lower) || SOURCES.has(lower);
};

/**
 * Field and function names are lower case only; a code is allowed only beside a code field (DQL-03, DQL-34d). `place`: what a name there is of.
 */
export const stopAtCode = (stream: TokenStream, place: 'function' | 'field'): never => {
  const { token } = stream;
  const lower = token.text.toLowerCase();
  const known = place === 'function' ? FUNCTIONS.has(lower) : FIELDS.has(lower) || SOURCES.has(lower);
  if (known) stream.stop('a name in lower case', `Write ${lower}.`);
  const spelt = findSpelling(token.text);
  if (spelt !== null) stream.stop('an expression', `Write ${spelt}.`);
  return stream.stop(
    'an expression',
    'A code can be used only on the right side of "=" or in a list of "in", compared with a code field.',
  );
};

/** A `not` that a word follows is no field: reading stops at that word, as behind any name (DQL-06). */
export const stopBehindNot = (stream: TokenStream): void => {
  const { word, previous } = stream;
  if (previous?.text === 'not' && word !== '' && !stream.isClause && !INNER_WORDS.has(word))
    stream.stop('an operator', NO_NOT);
};
