// The stream of tokens for the parsers of queries and of selections: peek, take, stop, recover.
import type { Position } from '../../schemas/errors.ts';
import { clip } from '../contract/sent-text.ts';
import { Faults } from './faults.ts';
import { FIELDS } from './fields.ts';
import { isFigure, readTokens, type Token } from './lexer.ts';
import { SELECTION_KEYS } from './selection.ts';
import { Source } from './source.ts';
import { AGGREGATES, QUANTIFIERS } from './tree.ts';

/** Thrown where parsing stops, after the fault was recorded; the parsers catch it where they can continue. */
export class Halt extends Error {}
/** One for all: its stack is never read, and making one costs more than the reading around it. */
export const HALT = new Halt();

const CLAUSE_WORDS = new Set(['timeframe', 'select', 'where']);
const CODE_FIELDS: ReadonlySet<string> = new Set([
  ...SELECTION_KEYS,
  ...[...FIELDS.values()].filter(({ type }) => type === 'code').map(({ name }) => name),
]);

const OPENERS: ReadonlySet<string> = new Set([...QUANTIFIERS, ...AGGREGATES]);

/** Keywords that an expression follows: a parenthesis behind them calls nothing. */
const BEFORE_EXPRESSIONS = new Set(['and', 'or', 'where', 'select', 'by']);
const isCallOpener = (before: Token | undefined): boolean =>
  before !== undefined && isWordToken(before) && !BEFORE_EXPRESSIONS.has(before.text.toLowerCase());

const isWordToken = ({ kind }: Token): boolean => kind === 'name' || kind === 'code';

export class TokenStream {
  readonly faults: Faults;
  readonly #source: Source;
  readonly #tokens: readonly Token[];
  #at = 0;
  #stoppedAt: Token | null = null;

  constructor(text: string) {
    this.#source = new Source(text);
    this.faults = new Faults(this.#source);
    this.#tokens = readTokens(this.#source, this.faults);
  }

  get token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  get previous(): Token | undefined {
    return this.#tokens[this.#at - 1];
  }

  get next(): Token {
    return (this.#tokens[this.#at + 1] ?? this.#tokens.at(-1)) as Token;
  }

  get isEnd(): boolean {
    return this.token.kind === 'end';
  }

  take(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  isOp(text: string): boolean {
    return this.token.kind === 'op' && this.token.text === text;
  }

  takeOp(text: string): boolean {
    if (!this.isOp(text)) return false;
    this.take();
    return true;
  }

  expectOp(text: string, hint: string): void {
    if (!this.takeOp(text)) this.stop(`"${text}"`, hint);
  }

  /** The token as a keyword, in lower case; empty when it is no word. Keywords have any letter case (DQL-03). */
  get word(): string {
    return isWordToken(this.token) ? this.token.text.toLowerCase() : '';
  }

  takeWord(word: string): boolean {
    if (this.word !== word) return false;
    this.take();
    return true;
  }

  expectWord(word: string, hint: string): void {
    if (!this.takeWord(word)) this.stop(`"${word}"`, hint);
  }

  positionOf(token: Token): Position {
    return this.#source.positionOf(token);
  }

  /** Whether a token is on the right side of `=` with a code field on the left: then a word is a code (DQL-03). */
  #isCodeAt(at: number): boolean {
    return this.#tokens[at - 1]?.text === '=' && CODE_FIELDS.has(this.#tokens[at - 2]?.text ?? '');
  }

  /** Whether `where` belongs to a quantifier or aggregate: it follows `venues`, or the word used instead of it, as in `any(venue where ...)`. */
  get #isInnerWhere(): boolean {
    if (this.previous?.text.toLowerCase() === 'venues' && !this.#isCodeAt(this.#at - 1)) return true;
    const back = [1, 2].find((one) => this.#tokens[this.#at - one]?.text === '(');
    return back !== undefined && OPENERS.has(this.#tokens[this.#at - back - 1]?.text.toLowerCase() ?? '');
  }

  /** Whether a clause begins here with its keyword; a code, or a word inside a quantifier's head, is not a keyword (DQL-03). */
  get isClause(): boolean {
    const { word } = this;
    if (this.#isCodeAt(this.#at)) return false;
    if (word === 'where' && this.#isInnerWhere) return false;
    if (CLAUSE_WORDS.has(word)) return true;
    const following = isWordToken(this.next) ? this.next.text.toLowerCase() : '';
    return (word === 'as' && following === 'of') || (word === 'order' && following === 'by');
  }

  /** Of a unit apart from its number, such as `1 bps`. */
  #findUnitHint(): string | null {
    const { previous, token } = this;
    if (previous?.kind !== 'number' || token.kind !== 'name') return null;
    const joined = `${previous.text}${token.text}`;
    return isFigure(joined) ? `Write ${joined}.` : null;
  }

  /** Parsing cannot continue: `wanted` is expected here. An invalid token, or one where parsing stopped, has already reported its fault. */
  stop(wanted: string, hint: string): never {
    const { token } = this;
    if (token.kind !== 'invalid' && token !== this.#stoppedAt) {
      this.#stoppedAt = token;
      const found = token.kind === 'end' ? 'The text ends' : `"${clip(token.text)}" was found`;
      const message = `${found} where ${wanted} is expected.`;
      this.faults.add('DQL_SYNTAX', token, { message, hint: this.#findUnitHint() ?? hint });
    }
    throw HALT;
  }

  /** Takes a code. In lower case a hyphen is no part of it (DQL-02), so reading stops there. */
  takeCode(): Token {
    const token = this.take();
    if (token.kind === 'string' || !this.isOp('-') || this.token.from !== token.to) return token;
    const [whole = token.text] = /^[\w.:-]+/.exec(this.#source.text.slice(token.from)) ?? [];
    return this.stop('the end of the code', `Write it in quotes: "${clip(whole)}".`);
  }

  /** Skips to a comma or closing parenthesis of this level; false when a clause or the end is found first. */
  skipToSeparator(): boolean {
    for (let open = 0; !this.isEnd && !this.isClause; this.take()) {
      if (this.isOp('(')) open++;
      else if (this.isOp(')') && open-- === 0) return true;
      else if (this.isOp(',') && open === 0) return true;
    }
    return false;
  }

  /**
   * How deep parentheses of a kind nest from here to where this level closes: those of calls, quantifiers and aggregates, or those
   * around an expression.
   */
  countNested(kind: 'call' | 'group'): number {
    const open: boolean[] = [];
    let [depth, most] = [0, 0];
    for (let at = this.#at; at < this.#tokens.length; at++) {
      const [before, token] = [this.#tokens[at - 1], this.#tokens[at]];
      if (token?.text === '(') {
        const counts = kind === (isCallOpener(before) ? 'call' : 'group') && before?.text.toLowerCase() !== 'in';
        open.push(counts);
        if (counts) most = Math.max(most, ++depth);
      } else if (token?.text === ')') {
        const counted = open.pop();
        if (counted === undefined) break;
        if (counted) depth--;
      }
    }
    return most;
  }

  /** Skips to the next clause or the end; returns what was skipped. */
  skipToClause(): readonly Token[] {
    const start = this.#at;
    while (!this.isEnd && !this.isClause) this.take();
    return this.#tokens.slice(start, this.#at);
  }
}
