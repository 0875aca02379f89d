// JSON of which nothing is known: its value, if it is JSON at all, and whether that is an object.

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed value is an object: neither null nor a list. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a JSON text; undefined for a text that is no JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
