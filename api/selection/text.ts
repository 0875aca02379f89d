// The text form of a selection: `base in (BTC, ETH) and quote = USDT` (S-01, DQL-01, DQL-02).
import { type ApiError, nearest, ServiceError } from '../../schemas/errors.ts';
import { type Code, IN_LIST, type Position, SELECTION_KEYS, type Selection, type SelectionKey } from './selection.ts';

const SOURCE_BYTES = 8192;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const CODE = /[0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)*(?![A-Za-z0-9_])/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const SPACE = /[ \t\r\n]*/y;
const PUNCTUATION = '=(),';

type Token = {
  readonly kind: 'word' | 'string' | 'punctuation' | 'end';
  readonly text: string;
  readonly from: number;
  readonly to: number;
};

/** Thrown inside this file where reading stops; never leaves it. */
class Halt extends Error {}

const matchAt = (pattern: RegExp, source: string, at: number): string => {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
};

/** JSON's own rules decide what a string may hold; null when it is none. */
const readString = (literal: string): string | null => {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return null;
  }
};

class Parser {
  readonly #source: string;
  readonly #errors: ApiError[] = [];
  #at = 0;
  #token: Token;

  constructor(source: string) {
    this.#source = source;
    this.#token = { kind: 'end', text: '', from: 0, to: 0 };
  }

  /** selection = term , { "and" , term } ; */
  parse(): Selection {
    const selection: Partial<Record<SelectionKey, readonly Code[]>> = {};
    try {
      this.#next();
      this.#readTerm(selection);
      while (this.#token.kind !== 'end') {
        this.#expectWord('and');
        this.#readTerm(selection);
      }
    } catch (error) {
      if (!(error instanceof Halt)) throw error;
    }
    if (this.#errors.length > 0) throw new ServiceError(this.#errors);
    return selection;
  }

  /** term = key , ( "=" , code | "in" , "(" , code , { "," , code } , ")" ) ; */
  #readTerm(selection: Partial<Record<SelectionKey, readonly Code[]>>): void {
    const word = this.#token;
    if (word.kind !== 'word') this.#stop('a selection term', `Start a term with one of ${SELECTION_KEYS.join(', ')}.`);
    const key = SELECTION_KEYS.find((k) => k === word.text);
    if (key === undefined) this.#refuseKey(word);
    this.#next();
    const codes = this.#readCodes(key);
    if (key === undefined) return;
    if (selection[key] !== undefined)
      this.#fault('DQL_DUPLICATE_CLAUSE', word, `"${key}" is given twice.`, `Use ${key} in (a, b).`);
    selection[key] = codes;
  }

  #readCodes(key: SelectionKey | undefined): Code[] {
    if (this.#isPunctuation('=')) {
      this.#next();
      return [this.#readCode(key)];
    }
    this.#expectWord('in');
    this.#expectPunctuation('(');
    const codes = [this.#readCode(key)];
    while (this.#isPunctuation(',')) {
      this.#next();
      const token = this.#token;
      codes.push(this.#readCode(key));
      // H-16i: the thirty-third is where the list became too long.
      if (codes.length === IN_LIST + 1) {
        this.#fault(
          'DQL_COMPLEXITY',
          token,
          `More than ${IN_LIST} codes stand in one "in".`,
          'Ask in several requests.',
        );
      }
    }
    this.#expectPunctuation(')');
    return codes;
  }

  #readCode(key: SelectionKey | undefined): Code {
    const token = this.#token;
    if (token.kind !== 'word' && token.kind !== 'string') this.#stop('a code', 'Write a code, or a quoted string.');
    if (key === 'symbol' && token.kind === 'word') this.#stop('a quoted symbol', `Write symbol = "${token.text}".`);
    this.#next();
    return { text: token.text, origin: { position: this.#positionOf(token) } };
  }

  #refuseKey(word: Token): void {
    const near = nearest(word.text.toLowerCase(), SELECTION_KEYS);
    const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Use one of ${SELECTION_KEYS.join(', ')}.`;
    this.#fault('DQL_UNKNOWN_FIELD', word, `"${clip(word.text)}" is not a name of a selection.`, hint);
  }

  #next(): void {
    this.#at += matchAt(SPACE, this.#source, this.#at).length;
    this.#token = this.#read(this.#at);
    this.#at = this.#token.to;
  }

  /** Longest match of the tokens a selection has (DQL-02). */
  #read(from: number): Token {
    const source = this.#source;
    if (from >= source.length) return { kind: 'end', text: '', from, to: from };
    const next = source[from] as string;
    if (PUNCTUATION.includes(next)) return { kind: 'punctuation', text: next, from, to: from + 1 };
    const literal = matchAt(STRING, source, from);
    if (literal !== '') {
      const text = readString(literal);
      const token: Token = { kind: 'string', text: text ?? literal, from, to: from + literal.length };
      if (text === null) this.#refuse(token, 'is not a string', 'Escape as JSON does.');
      return token;
    }
    const [name, code] = [matchAt(NAME, source, from), matchAt(CODE, source, from)];
    const word = code.length > name.length ? code : name;
    const token: Token = { kind: 'word', text: word, from, to: from + word.length };
    if (word === '') {
      const [char = ''] = source.slice(from, from + 2);
      this.#refuse({ ...token, to: from + char.length }, 'cannot stand here', char === '-' ? QUOTING : OPERATORS);
    }
    return token;
  }

  #expectWord(word: 'and' | 'in'): void {
    if (this.#token.kind !== 'word' || this.#token.text.toLowerCase() !== word) this.#stop(`"${word}"`, OPERATORS);
    this.#next();
  }

  #isPunctuation(text: string): boolean {
    return this.#token.kind === 'punctuation' && this.#token.text === text;
  }

  #expectPunctuation(text: string): void {
    if (!this.#isPunctuation(text)) this.#stop(`"${text}"`, OPERATORS);
    this.#next();
  }

  /** Reading cannot go on: `wanted` should stand where the token stands. */
  #stop(wanted: string, hint: string): never {
    const { kind, text } = this.#token;
    const found = kind === 'end' ? 'The selection ends' : `"${clip(text)}" stands`;
    this.#fault('DQL_SYNTAX', this.#token, `${found} where ${wanted} is expected.`, hint);
    throw new Halt();
  }

  #refuse(token: Token, what: string, hint: string): never {
    this.#fault('DQL_SYNTAX', token, `"${clip(this.#source.slice(token.from, token.to))}" ${what}.`, hint);
    throw new Halt();
  }

  #fault(code: ApiError['code'], token: Token, message: string, hint: string): void {
    this.#errors.push({ code, message, position: this.#positionOf(token), hint });
  }

  /** Counted in code points; CR LF, LF and a lone CR each end a line (DQL-01, DQL-34e). */
  #positionOf({ from, to }: Token): Position {
    const before = this.#source.slice(0, from);
    const lines = before.split(/\r\n|\n|\r/);
    return {
      line: lines.length,
      column: [...(lines.at(-1) ?? '')].length + 1,
      offset: [...before].length,
      length: [...this.#source.slice(from, to)].length,
    };
  }
}

const OPERATORS = 'A selection has terms like quote = USDT or base in (BTC, ETH), joined by "and".';
const QUOTING = 'Quote a code that is not all letters and digits, such as "A-b".';
const CLIPPED = 40;
const clip = (text: string): string => (text.length > CLIPPED ? `${text.slice(0, CLIPPED)}…` : text);

/** Reads the text form. Throws ServiceError with every fault found up to where reading stopped. */
export const parseSelection = (source: string): Selection => {
  const bytes = Buffer.byteLength(source);
  if (bytes > SOURCE_BYTES) {
    const message = `The selection has ${bytes} bytes, the limit is ${SOURCE_BYTES}.`;
    throw new ServiceError([{ code: 'DQL_COMPLEXITY', message, hint: 'Name fewer codes.' }]);
  }
  return new Parser(source).parse();
};
