// The element of a message that a reading came from, in JSON, for `include_raw`.

/** A larger piece of a message is not kept. */
const RAW_LIMIT = 16_384;

/** Null: not kept, or the text is longer than the limit. A restored one is its text. */
export type Raw = string | null | LateRaw;

/** Its text is formatted when it is read: most changes of a book are replaced before they are published. */
type LateRaw = { readonly toJSON: () => string | null };

export const deferRaw = (element: unknown): LateRaw => ({ toJSON: () => formatRaw(element) });

export const readRaw = (raw: Raw): string | null => (typeof raw === 'object' && raw !== null ? raw.toJSON() : raw);

export const formatRaw = (element: unknown): string | null =>
  keepRaw(typeof element === 'string' ? element : JSON.stringify(element));

export const keepRaw = (text: string | undefined): string | null =>
  text === undefined || text.length > RAW_LIMIT ? null : text;
