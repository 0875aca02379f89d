// The element of a message that a reading came from, in JSON, for `include_raw`.
import { formatElement } from '../../ingest/venues/shared/element-text.ts';

/** A larger piece of a message is not kept. */
const RAW_LIMIT = 16_384;

/** Null: not kept, or the text is longer than the limit. A restored one is its text. */
export type Raw = string | null | LateRaw;

/** Its text is formatted when it is read: most changes of a book are replaced before they are published. */
type LateRaw = { readonly toJSON: () => string | null };

/** The element, to be formatted when it is read. It must not change meanwhile. */
export const deferRaw = (element: unknown): LateRaw => ({ toJSON: () => formatRaw(element) });

/** The text of what is held. */
export const toRawText = (raw: Raw): string | null => (typeof raw === 'object' && raw !== null ? raw.toJSON() : raw);

/** The last element and its text: the layers of a ticker share one. */
let last: { readonly element: unknown; readonly raw: string | null } = { element: undefined, raw: null };

/** The element in JSON; null when it is too long to keep. An element that is text is JSON already. */
export const formatRaw = (element: unknown): string | null => {
  if (typeof element === 'string') return keepRaw(element);
  if (element !== last.element) last = { element, raw: keepRaw(formatElement(element)) };
  return last.raw;
};

/** The text, or null when there is none or it is too long to keep. */
export const keepRaw = (text: string | undefined): string | null =>
  text === undefined || text.length > RAW_LIMIT ? null : text;
