// Source texts of a reference answer's elements: each listing's object in the venue's own text, cut out of the bytes (V-02, `include_raw`).

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Position after the string whose quote is at `from`. */
const findTextEnd = (bytes: Buffer, from: number): number => {
  for (let at = from + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at + 1;
  }
  return bytes.length;
};

const skipSpace = (bytes: Buffer, from: number): number => {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
};

const readText = (bytes: Buffer, from: number, end: number): string =>
  JSON.parse(bytes.subarray(from, end).toString('utf8')) as string;

type Opened = { readonly from: number; name: string | null };
type Cut = { readonly depth: number; readonly text: string };

/**
 * The texts of the objects of `payload` by the value of their member `member`; of equal values the first outermost object wins.
 * `payload` is valid JSON. The texts are copies: a slice of a string would keep the whole answer in memory.
 */
export const splitElements = (payload: Uint8Array, member: string): ReadonlyMap<string, string> => {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const key = Buffer.from(JSON.stringify(member));
  const open: Opened[] = [];
  const cuts = new Map<string, Cut>();

  /** The member's value, when the string from `from` to `end` is its key and the value is a string. */
  const readName = (from: number, end: number): string | null => {
    if (end - from !== key.length || bytes.compare(key, 0, key.length, from, end) !== 0) return null;
    const colon = skipSpace(bytes, end);
    if (bytes[colon] !== COLON) return null;
    const value = skipSpace(bytes, colon + 1);
    return bytes[value] === QUOTE ? readText(bytes, value, findTextEnd(bytes, value)) : null;
  };

  const close = (end: number): void => {
    const closed = open.pop();
    if (closed === undefined || closed.name === null) return;
    const depth = open.length;
    if ((cuts.get(closed.name)?.depth ?? Number.POSITIVE_INFINITY) <= depth) return;
    cuts.set(closed.name, { depth, text: bytes.subarray(closed.from, end).toString('utf8') });
  };

  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN) open.push({ from: at, name: null });
    else if (byte === CLOSE) close(at + 1);
    else if (byte === QUOTE) {
      const end = findTextEnd(bytes, at);
      const element = open.at(-1);
      if (element !== undefined) element.name = readName(at, end) ?? element.name;
      at = end - 1;
    }
  }
  return new Map([...cuts].map(([name, { text }]) => [name, text]));
};
