// Fields of forms as they were sent: texts of bounded length; any other value counts as absent.

/** The text of a field; empty when it is absent, repeated or longer than `most`. */
export const readField = (body: unknown, name: string, most = 1_000): string => {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  // PostgreSQL takes neither a zero character in a text nor half a character in a document (`isStorable`).
  return typeof value === 'string' && value.length <= most ? value.replaceAll('\0', '').toWellFormed() : '';
};

/** The client's name for itself. */
export const readAgent = (headers: { readonly 'user-agent'?: string | undefined }): string =>
  headers['user-agent'] ?? '';
