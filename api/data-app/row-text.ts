// Walks through JSON text that our serialiser wrote (no white space) without parsing it: figures stay the digits they are (N-05).

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;

/** A place in a text; whoever looks at a value moves it past the value, or leaves it, and then it is moved. */
export type Cursor = { readonly text: string; at: number };

/** Just past a string that begins at `at`. */
const endOfString = (text: string, at: number): number => {
  let end = text.indexOf('"', at + 1);
  while (text.charCodeAt(end - 1) === BACKSLASH) {
    let before = end - 2;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) break;
    end = text.indexOf('"', end + 1);
  }
  return end + 1;
};

const endOfNested = (text: string, at: number): number => {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i) - 1;
    else if (code === OPEN_MAP || code === OPEN_LIST) depth++;
    else if ((code === CLOSE_MAP || code === CLOSE_LIST) && --depth === 0) return i + 1;
  }
  return text.length;
};

const endOfPlain = (text: string, at: number): number => {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA || code === CLOSE_MAP || code === CLOSE_LIST) return i;
  }
  return text.length;
};

/** Just past the value that begins at `at`. */
export const endOfValue = (text: string, at: number): number => {
  const code = text.charCodeAt(at);
  if (code === QUOTE) return endOfString(text, at);
  return code === OPEN_MAP || code === OPEN_LIST ? endOfNested(text, at) : endOfPlain(text, at);
};

/** Names of the members of the object at the cursor, which stands at the value of each in turn. */
export function* members(cursor: Cursor): Generator<string> {
  const { text } = cursor;
  cursor.at++;
  while (text.charCodeAt(cursor.at) === QUOTE) {
    const nameEnd = endOfString(text, cursor.at);
    const name = text.slice(cursor.at + 1, nameEnd - 1);
    const from = nameEnd + 1;
    cursor.at = from;
    yield name;
    if (cursor.at === from) cursor.at = endOfValue(text, from);
    if (text.charCodeAt(cursor.at) === COMMA) cursor.at++;
  }
  cursor.at++;
}

/** Yields with the cursor at each element of the array at the cursor. */
export function* elements(cursor: Cursor): Generator<void> {
  const { text } = cursor;
  cursor.at++;
  while (cursor.at < text.length && text.charCodeAt(cursor.at) !== CLOSE_LIST) {
    const from = cursor.at;
    yield;
    if (cursor.at === from) cursor.at = endOfValue(text, from);
    if (text.charCodeAt(cursor.at) === COMMA) cursor.at++;
  }
  cursor.at++;
}

/** The text of a scalar, a string without its quotes; null for `null`. Arrays stay JSON. */
const scalarAt = (text: string, from: number, to: number): string | null => {
  if (text.charCodeAt(from) !== QUOTE) {
    return to - from === 4 && text.startsWith('null', from) ? null : text.slice(from, to);
  }
  const inner = text.slice(from + 1, to - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(from, to)) as string) : inner;
};

export const scalarOf = (json: string): string | null => scalarAt(json, 0, json.length);

/** Members of members of the object at the cursor by their path (`values.mark`); moves the cursor past it. */
export const eachLeaf = (cursor: Cursor, visit: (path: string, scalar: string | null) => void, prefix = ''): void => {
  const { text } = cursor;
  cursor.at++;
  while (text.charCodeAt(cursor.at) === QUOTE) {
    const nameEnd = endOfString(text, cursor.at);
    const path = prefix + text.slice(cursor.at + 1, nameEnd - 1);
    cursor.at = nameEnd + 1;
    if (text.charCodeAt(cursor.at) === OPEN_MAP) eachLeaf(cursor, visit, `${path}.`);
    else {
      const to = endOfValue(text, cursor.at);
      visit(path, scalarAt(text, cursor.at, to));
      cursor.at = to;
    }
    if (text.charCodeAt(cursor.at) === COMMA) cursor.at++;
  }
  cursor.at++;
};
