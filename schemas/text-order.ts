// The order of texts: ascending by their UTF-8 bytes (N-01), independent of locale and engine.

const PRINTABLE = /^[\x20-\x7e]*$/;

/** For `sort`: negative, zero or positive as `a` precedes, equals or follows `b`. Fast path: nearly all texts are ASCII, with code units as bytes. */
export const compareBytes = (a: string, b: string): number => {
  if (a === b) return 0;
  if (PRINTABLE.test(a) && PRINTABLE.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
};
