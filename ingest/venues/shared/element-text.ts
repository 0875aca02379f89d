// The element of a message as JSON text (`include_raw`): lists that were read from the message's text are not parsed again for it.
import { parseMessage } from './long-numbers.ts';

/** Stands for a list that is not in the text; no venue sends it. */
export const PLACE = '\u0000';
export const PLACE_TEXT = JSON.stringify(PLACE);

/** Members or bare figures: JSON.parse and JSON.stringify may change such a text (`12.50`, a member twice), but none of figures in quotes. */
const MAY_CHANGE = /\{|[[,]\d/;

/** While an element is written, the texts of its lists; a place stands for each. */
let texts: string[] | null = null;

/** What `toJSON` of a list returns. `text`: the list in the message, in JSON without spaces. */
export const toJsonOfList = (text: string): unknown => {
  if (texts === null || MAY_CHANGE.test(text)) return parseMessage(text);
  texts.push(text);
  return PLACE;
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
