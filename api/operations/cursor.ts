// Page cursors: what of a request a cursor belongs to, and how its values are written (V-05, AR-01, H-15).
import { createHash } from 'node:crypto';
import type { ApiError } from '../../schemas/errors.ts';
import { parseJson } from '../../schemas/json-object.ts';

/** Names what the pages of one list have in common. */
export const digestRequest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);

export const WRONG_CURSOR: ApiError = {
  code: 'DQL_JSON_SCHEMA',
  message: 'The cursor does not belong to this request.',
  hint: 'Send it with the request it was answered to, or leave it out.',
  path: '/cursor',
};

/** A cursor of these values, opaque to callers. */
export const printCursor = (values: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(values)).toString('base64url');

/** The values of a cursor; null for a text with another number of values. */
export const parseCursor = (text: string, count: number): unknown[] | null => {
  const values = parseJson(Buffer.from(text, 'base64url').toString());
  return Array.isArray(values) && values.length === count ? values : null;
};
