// The element of a message as JSON text (`include_raw`): lists that were read from the message's text are not parsed again for it.
import { parseMessage } from './json-numbers.ts';

/** Stands for a list that is not in the text; no venue sends it. */
export const PLACE = '\u0000';
export const PLACE_TEXT = JSON.stringify(PLACE);

/** A bare figure that JSON.parse and JSON.stringify may change (`12.50`, `0.0000001`, sixteen digits); figures in quotes they leave. */
const MAY_CHANGE = /[[,:](?=\d)(?!(?:0|[1-9]\d{0,14})[,\]}]|(?!0\.0{6})(?:0|[1-9]\d{0,6})\.\d{0,7}[1-9][,\]}])/;
/** What they omit of most such figures: `42500.0`. */
const NO_FRACTION = /\.0+(?=[,\]}])/g;

/** While an element is written, the texts of its lists; a place stands for each. */
let texts: string[] | null = null;

/** What `toJSON` of a list returns. `text`: the list in the message, in JSON without spaces and without a member twice. */
export const toJsonOfList = (text: string): unknown => {
  const kept = texts === null ? null : toKeptText(text);
  if (kept === null) return parseMessage(text);
  texts?.push(kept);
  return PLACE;
};

/** The list as JSON.stringify writes it after a parse; null when only they can tell. */
const toKeptText = (text: string): string | null => {
  if (!MAY_CHANGE.test(text)) return text;
  const short = text.replace(NO_FRACTION, '');
  return MAY_CHANGE.test(short) ? null : short;
};

/** As `JSON.stringify`. */
export const formatElement = (element: unknown): string | undefined => {
  const lists: string[] = [];
  texts = lists;
  let text: string | undefined;
  try {
    text = JSON.stringify(element);
  } finally {
    texts = null;
  }
  if (text === undefined || lists.length === 0) return text;
  const parts = text.split(PLACE_TEXT);
  // Another text of the message looks like a place.
  if (parts.length !== lists.length + 1) return JSON.stringify(element);
  return parts.reduce((written, part, at) => written + (lists[at - 1] as string) + part);
};
