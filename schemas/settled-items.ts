// The hash by which a settled answer is compared with itself on another day: that of its items without what retention moves (N-10, OP-03).
import { createHash } from 'node:crypto';

/** No string of a JSON text holds this: its quotes are escaped. */
const RETENTION = /"retention_from":"[^"]*",?/g;
const ITEMS = '"items":';
const STRINGS_AND_BRACKETS = /"(?:[^"\\]|\\.)*"|[[\]]/g;

/**
 * Of the bytes of `items` as they were sent. `retention_from` moves every day as soon as a listing is older than what is kept, and `items_sha256` with
 * it; the rows of an answer stay what they are.
 */
export const hashSettledItems = (items: string): string =>
  createHash('sha256').update(items.replaceAll(RETENTION, '')).digest('hex');

/** The text of the array `items` of an answer, unchanged; null: there is none. */
export const findItems = (answer: string): string | null => {
  const at = answer.indexOf(ITEMS);
  if (at === -1) return null;
  // Up to the end of the answer: what a venue sent (`raw`) may have a member of that name, too.
  const rest = answer.slice(at + ITEMS.length);
  let depth = 0;
  for (const { 0: token, index } of rest.matchAll(STRINGS_AND_BRACKETS)) {
    if (token === '[') depth += 1;
    if (token === ']') depth -= 1;
    if (depth === 0) return rest.slice(0, index + 1);
  }
  return null;
};
