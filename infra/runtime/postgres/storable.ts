// Texts that PostgreSQL cannot store: a query for one fails, where the result should be empty.
import { describeError } from '../../../schemas/thrown.ts';

/** False for a text with a zero character (PostgreSQL, section 8.3) or a lone surrogate, which UTF-8 does not have and `jsonb` refuses. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether every text in a JSON value, member names included, can be stored. */
export const isStorableJson = (value: unknown): boolean => {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableJson(member));
};

const MOST_LETTERS = 1_000;

/** The text with U+FFFD for what cannot be stored: a recorded failure may contain text from outside, such as that of a chain node. */
export const makeStorable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** The text of a thrown value for a column of failures. */
export const describeStorable = (error: unknown): string => makeStorable(describeError(error).slice(0, MOST_LETTERS));
