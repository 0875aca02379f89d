// The one order of texts: ascending by their UTF-8 bytes (N-01), whatever locale or engine.

const PRINTABLE = /^[\x20-\x7e]*$/;

/** For `sort`: below, at or above zero as `a` stands before, at or after `b`. Codes and symbols are nearly all ASCII, where units of text are bytes. */
export const compareBytes = (a: string, b: string): number => {
  if (a === b) return 0;
  if (PRINTABLE.test(a) && PRINTABLE.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
};
