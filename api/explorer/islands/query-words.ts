// Words of a query for colouring and completion in the editor. It has no grammar, which only the service has; text in, marks out.

type WordKind = 'keyword' | 'name' | 'function' | 'code' | 'number' | 'string' | 'instant' | 'op';
type Word = { readonly kind: WordKind; readonly text: string; readonly from: number; readonly to: number };

export const KEYWORDS = [
  ...['any', 'all', 'count', 'max', 'min', 'sum', 'venues', 'where', 'and', 'or', 'in', 'select', 'order', 'by', 'asc'],
  ...['desc', 'timeframe', 'as', 'of'],
];
export const STATUSES = ['present', 'stale', 'missing', 'not_published', 'off'];

const DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** In the order in which the language's own lexer prefers them (DQL-02). */
const WORDS: readonly (readonly [WordKind, string])[] = [
  ['string', '"(?:[^"\\\\]|\\\\.)*"?'],
  ['instant', `${DATE}(?:T[0-9:.]*(?:Z|[+-][0-9]{2}:[0-9]{2})?)?(?![A-Za-z0-9_])`],
  ['code', '[0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)*(?![A-Za-z0-9_])'],
  ['number', '[0-9]+(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?(?:bps|%|[smhd](?![A-Za-z0-9_]))?'],
  ['name', 'nearest-rank|[A-Za-z_][A-Za-z0-9_]*'],
  ['op', '<=|>=|[<>=+\\-*/(),]'],
];
const PATTERN = new RegExp(WORDS.map(([kind, source]) => `(?<${kind}>${source})`).join('|'), 'g');
const KINDS = WORDS.map(([kind]) => kind);
const RESERVED = new Set(KEYWORDS);

const findKind = (found: RegExpExecArray, text: string): WordKind => {
  const kind = KINDS.find((name) => found.groups?.[name] !== undefined) ?? 'op';
  if (kind !== 'name') return kind;
  if (RESERVED.has(found[0])) return 'keyword';
  return /^\s*\(/.test(text.slice(found.index + found[0].length)) ? 'function' : 'name';
};

/** The words of a text, in their order; words that are not part of the language are left out. */
export const splitWords = (text: string): Word[] =>
  [...text.matchAll(PATTERN)].map((found) => ({
    kind: findKind(found as RegExpExecArray, text),
    text: found[0],
    from: found.index,
    to: found.index + found[0].length,
  }));

/** Finds the clause `as of` of a query: its place and its instant; null when there is none. */
export const findAsOf = (text: string): { readonly from: number; readonly to: number; readonly at: string } | null => {
  const words = splitWords(text);
  const at = words.findIndex((word, i) => word.text === 'as' && words[i + 1]?.text === 'of');
  const [as, of, instant] = [words[at], words[at + 1], words[at + 2]];
  if (as === undefined || of === undefined) return null;
  const isGiven = instant?.kind === 'instant';
  return { from: as.from, to: isGiven ? instant.to : of.to, at: isGiven ? instant.text : '' };
};

/** The query about another instant; null: about now. */
export const withAsOf = (text: string, at: string | null): string => {
  const clause = findAsOf(text);
  const bare = clause === null ? text : `${text.slice(0, clause.from).trimEnd()} ${text.slice(clause.to).trimStart()}`;
  return at === null ? bare.trimEnd() : `${bare.trimEnd()} as of ${at}`;
};

/** The first full minute from an instant on: there every layer has a row of history (concepts, The past). Empty, which is now, while it is to come. */
export const toFullMinute = (ms: number, nowMs: number): string => {
  const at = Math.ceil(ms / 60_000) * 60_000;
  return at > nowMs ? '' : `${new Date(at).toISOString().slice(0, 19)}Z`;
};
