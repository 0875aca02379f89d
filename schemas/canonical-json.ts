// RFC 8785 (JSON Canonicalization Scheme): the text that is hashed. Members ascend by UTF-16 code units, JavaScript's own order.

/** The value has no canonical text: a number that is not finite, a lone surrogate. */
export class CanonicalJsonError extends Error {
  override readonly name = 'CanonicalJsonError';
}

export type CanonicalValue =
  | null
  | boolean
  | number
  | string
  | readonly CanonicalValue[]
  | { readonly [member: string]: CanonicalValue };

/** Printable ASCII without escapes: nearly every cell of a row, and there are millions. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Throws CanonicalJsonError for a lone surrogate, which JSON.stringify would escape silently. */
export const formatCanonicalString = (text: string): string => {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new CanonicalJsonError(`a lone surrogate in ${JSON.stringify(text.slice(0, 80))}`);
  return JSON.stringify(text);
};

const formatCanonicalNumber = (value: number): string => {
  if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} is not a JSON number`);
  return JSON.stringify(value);
};

/** The canonical text. Throws CanonicalJsonError. */
export const formatCanonicalJson = (value: CanonicalValue): string => {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return formatCanonicalNumber(value);
  if (typeof value === 'string') return formatCanonicalString(value);
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${formatCanonicalString(name)}:${formatCanonicalJson(member)}`).join(',')}}`;
};
