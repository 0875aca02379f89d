// Parsed JSON of which nothing is known but that it is an object.

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed value is an object: neither null nor a list. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
