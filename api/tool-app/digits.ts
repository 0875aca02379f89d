// JSON that passes through unchanged: a number that a double would print differently is written again as it was read, and members keep their order.

/** Of newer engines than the library of types knows. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

type Context = { readonly source?: string };

/** Names that are whole numbers: an object gives them first, whatever the order of the text (a screen's values, a venue's message). */
const NUMBER_NAMES = /([{,]\s*")(\d+"\s*:)/g;
/** Before such a name, so that it is none for the engine. No name of ours begins so. */
const MARK = '\0';
const MARKED = new RegExp(`^${MARK}(?=\\d+$)`);

/** The object under the names of the text; `JSON.stringify` takes their order from `ownKeys`. */
const unmarkObject = (marked: object): object => {
  const members = Object.entries(marked).map(([name, value]) => [name.replace(MARKED, ''), value] as const);
  const names = [...new Set(members.map(([name]) => name))];
  return new Proxy(Object.fromEntries(members), { ownKeys: () => names });
};

const keepText = (_key: string, value: unknown, { source }: Context): unknown => {
  if (typeof value === 'number') return source !== undefined && String(value) !== source ? rawJSON(source) : value;
  const isMarked = typeof value === 'object' && value !== null && Object.keys(value).some((name) => MARKED.test(name));
  return isMarked ? unmarkObject(value) : value;
};

/** Whole numbers of what a client sends are numbers in every spelling: the id `1.0` is the id 1. */
const keepFigure = (key: string, value: unknown, context: Context): unknown =>
  Number.isSafeInteger(value) ? value : keepText(key, value, context);

const parse = (text: string, keep: typeof keepText): unknown =>
  JSON.parse(text.replace(NUMBER_NAMES, '$1\\u0000$2'), keep as (key: string, value: unknown) => unknown);

/** As `JSON.parse`; `JSON.stringify` of the result has the digits and the order of the text. */
export const parseKeepingDigits = (text: string): unknown => parse(text, keepText);

/** The same for a message of the protocol, whose whole numbers the protocol library and a URL take in their plain spelling only. */
export const parseMessage = (text: string): unknown => parse(text, keepFigure);
