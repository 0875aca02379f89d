// What a fault shows of what a caller sent: the beginning of a long text, the name of a member in a JSON pointer, the kind of a value.

/** Code points that are shown of a text. */
const CLIPPED = 40;

/** The same of a path, whose end tells as much as its beginning. */
export const CLIPPED_PATH = 120;

/** The part of a caller's text that a message shows: at most `length` whole characters, and an ellipsis for the rest. */
export const clip = (text: string, length = CLIPPED): string => {
  // So many units hold more than `length` points; a half character, if any, is the last of them.
  const points = [...text.slice(0, 2 * length + 1)];
  return points.length > length ? `${points.slice(0, length).join('')}…` : text;
};

/** A member's name inside a JSON pointer (RFC 6901), clipped. */
export const toPointerName = (name: string): string => clip(name).replaceAll('~', '~0').replaceAll('/', '~1');

/** A value as a message names it: texts clipped, lists and objects by their kind. */
export const describeValue = (value: unknown): string => {
  if (typeof value === 'string') return `"${clip(value)}"`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
};
