// Conditions and ranges of a request for a file (RFC 9110 sections 13 and 14). Pure.
import type { ByteRange } from '../../infra/runtime/files/object-store.ts';

const RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * The bytes that a `Range` header requests of a file of `size`: null for the whole file (no range, several, none that can be read),
 * `unsatisfiable` for a range outside.
 */
export const readRange = (header: string | undefined, size: number): ByteRange | null | 'unsatisfiable' => {
  const [, first = '', last = ''] = RANGE.exec(header?.replaceAll(' ', '') ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const start = Math.max(0, size - Number(last));
    return start < size ? { start, end: size } : 'unsatisfiable';
  }
  if (last !== '' && Number(last) < Number(first)) return null;
  if (Number(first) >= size) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) };
};

/** Whether `If-None-Match` names the file; tags compare weakly. */
export const isNamed = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);

/** Whether a range may be answered: without `If-Range`, or when it is the tag itself; a date never is. */
export const isSameFile = (header: string | undefined, etag: string): boolean =>
  header === undefined || header.trim() === etag;
