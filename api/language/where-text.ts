// The text form of a selection: `base in (BTC, ETH) and quote = USDT` (S-01), on the tokens of the language (DQL-02).
import { type ApiError, findNearest } from '../../schemas/errors.ts';
import { clip } from '../contract/sent-text.ts';
import { describeUnknown } from './faults.ts';
import type { Token } from './lexer.ts';
import { describeOverLimit, LIMITS } from './limits.ts';
import { type Code, IN_LIST, SELECTION_KEYS, type Selection, type SelectionKey } from './selection.ts';
import { Halt, TokenStream } from './token-stream.ts';

const TERMS = 'A selection has terms like quote = USDT or base in (BTC, ETH), joined by "and".';
const LISTS = 'A selection has no "or" and no "not": name the codes wanted, as in base in (BTC, ETH).';
const KEYS = `Use one of ${SELECTION_KEYS.join(', ')}.`;
/** Of words that are no misspelt key. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['not', LISTS],
  ['where', 'Begin with a term such as base = BTC, and leave "where" out.'],
]);
const QUOTED = 'Write a code, or a quoted string.';

/** A selection that is being read. */
export type SelectionTerms = Partial<Record<SelectionKey, readonly Code[]>>;

type Term = { readonly key: SelectionKey; readonly codes: readonly Code[] };

/** A key in another letter case is not a key (DQL-34d); any other word is not a name of a selection. */
const refuseKey = ({ faults }: TokenStream, token: Token): void => {
  const key = SELECTION_KEYS.find((k) => k === token.text.toLowerCase());
  if (key !== undefined) {
    const message = `"${token.text}" is used where a lower-case name is expected.`;
    faults.add('DQL_SYNTAX', token, { message, hint: `Write ${key}.` });
    return;
  }
  faults.add('DQL_UNKNOWN_FIELD', token, () => {
    const near = findNearest(token.text.toLowerCase(), SELECTION_KEYS);
    const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : (HINTS.get(token.text.toLowerCase()) ?? KEYS);
    return { message: describeUnknown(token.text, 'a name of a selection', near), hint };
  });
};

/** code = NAME | CODE | STRING ; any word, keywords too (DQL-03). */
const readCode = (stream: TokenStream, key: SelectionKey | undefined): Code => {
  const { kind, text, value } = stream.token;
  if (kind !== 'name' && kind !== 'code' && kind !== 'string') stream.stop('a code', QUOTED);
  if (key === 'symbol' && kind !== 'string') stream.stop('a quoted symbol', `Write symbol = "${clip(text)}".`);
  return { text: value, origin: { position: stream.positionOf(stream.takeCode()) } };
};

/** A code of a list; null after a fault after which the list continues. */
const readListed = (stream: TokenStream, key: SelectionKey | undefined): Code | null => {
  try {
    const code = readCode(stream, key);
    if (!stream.isOp(',') && !stream.isOp(')')) stream.stop('"," or ")"', TERMS);
    return code;
  } catch (error) {
    if (!(error instanceof Halt) || !stream.skipToSeparator()) throw error;
    return null;
  }
};

const readCodes = (stream: TokenStream, key: SelectionKey | undefined): Code[] => {
  if (stream.takeOp('=')) return [readCode(stream, key)];
  if (!stream.takeWord('in')) stream.stop('"=" or "in"', stream.word === 'not' ? LISTS : TERMS);
  stream.expectOp('(', TERMS);
  const codes: Code[] = [];
  let count = 0;
  do {
    const { token } = stream;
    const code = readListed(stream, key);
    if (code !== null) codes.push(code);
    // H-16i: the thirty-third is where the list became too long.
    if (++count === IN_LIST + 1) {
      stream.faults.add('DQL_COMPLEXITY', token, () => ({
        message: describeOverLimit('Codes in one "in" number', count, IN_LIST),
        hint: 'Ask in several requests.',
      }));
    }
  } while (stream.takeOp(','));
  stream.expectOp(')', TERMS);
  return codes;
};

/** Whether the term is missing: another clause begins, with no operator of a term behind its word. */
const isOtherClause = (stream: TokenStream): boolean =>
  stream.isClause && stream.word !== 'where' && !/^(?:=|in)$/i.test(stream.next.text);

/** term = key , ( "=" , code | "in" , "(" , code , { "," , code } , ")" ) ; */
const readTerm = (stream: TokenStream, before: SelectionTerms): Term | null => {
  const { token } = stream;
  if (stream.word === '' || isOtherClause(stream))
    stream.stop('a selection term', `Start a term with one of ${SELECTION_KEYS.join(', ')}.`);
  const key = SELECTION_KEYS.find((k) => k === token.text);
  if (key === undefined) refuseKey(stream, token);
  stream.take();
  const codes = readCodes(stream, key);
  if (key === undefined) return null;
  if (before[key] !== undefined) {
    const message = `"${key}" is given twice.`;
    stream.faults.add('DQL_DUPLICATE_CLAUSE', token, { message, hint: `Use ${key} in (a, b).` });
  }
  return { key, codes };
};

/** All codes of a key that is given twice are checked. */
const addTerm = (selection: SelectionTerms, term: Term | null): void => {
  if (term !== null) selection[term.key] = [...(selection[term.key] ?? []), ...term.codes];
};

type Reading = {
  /** Receives the terms. */
  readonly into: SelectionTerms;
  /** Whether the selection may end at the next token. */
  readonly mayEnd: () => boolean;
};

/**
 * selection = term , { "and" , term } ; Throws Halt where reading cannot go on: `into` then has the terms before. A term with something
 * behind it is left out: that may belong to its code, so it names no unknown one (D-65). An `or` belongs to none.
 */
export const readSelection = (stream: TokenStream, { into, mayEnd }: Reading): void => {
  let term = readTerm(stream, into);
  while (stream.takeWord('and')) {
    addTerm(into, term);
    term = readTerm(stream, into);
  }
  const isBeforeOr = stream.word === 'or';
  if (isBeforeOr || mayEnd()) addTerm(into, term);
  if (isBeforeOr || stream.isOp(',')) stream.stop('"and"', isBeforeOr ? LISTS : TERMS);
};

export type ReadSelection = { readonly selection: Selection; readonly errors: readonly ApiError[] };

/** Reads the text form: every fault found, and the terms that could be read. */
export const readSelectionText = (text: string): ReadSelection => {
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.source_bytes) {
    const message = `The selection has ${bytes} bytes, the limit is ${LIMITS.source_bytes}.`;
    return { selection: {}, errors: [{ code: 'DQL_COMPLEXITY', message, hint: 'Name fewer codes.' }] };
  }
  const stream = new TokenStream(text);
  const selection: SelectionTerms = {};
  try {
    readSelection(stream, { into: selection, mayEnd: () => stream.isEnd });
    if (!stream.isEnd) stream.stop('"and"', TERMS);
  } catch (error) {
    if (!(error instanceof Halt)) throw error;
  }
  return { selection, errors: stream.faults.told() };
};
