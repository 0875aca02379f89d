// What requests bring, as PostgreSQL can take it: fields of forms, which are texts of bounded length, and ids in paths.
import { isJsonObject } from '../../schemas/json-object.ts';

/** The text of a field; empty when it is absent, no text, or longer than `most`. */
export const readField = (body: unknown, name: string, most = 1_000): string => {
  const value = isJsonObject(body) ? body[name] : undefined;
  // PostgreSQL takes neither a zero character in a text nor half a character in a document (`isStorable`).
  return typeof value === 'string' && value.length <= most ? value.replaceAll('\0', '').toWellFormed() : '';
};

/** An id of a path: PostgreSQL takes no zero character in a text. */
export const cleanId = (id: string): string => id.replaceAll('\0', '');

/** The client's name for itself. */
export const readAgent = (headers: { readonly 'user-agent'?: string | undefined }): string =>
  headers['user-agent'] ?? '';
