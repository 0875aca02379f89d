// Parses tokens into the tree of one expression (DQL-06): recursive descent that continues after a fault at commas and closing parentheses.
import { formatDuration, parseDuration } from '../../schemas/durations.ts';
import { formatInstant, parseInstant } from '../../schemas/instants.ts';
import { clip } from '../contract/sent-text.ts';
import { makeOpenCall, makeTimedCall } from './call-nodes.ts';
import { joinPlaces } from './faults.ts';
import { FIELDS, SOURCES } from './fields.ts';
import { FUNCTIONS, type Parameter } from './functions.ts';
import type { Token } from './lexer.ts';
import { describeOverLimit, LIMITS, PARENTHESES } from './limits.ts';
import { BINDING, findArithmetic, findComparison, TIGHTEST } from './operators.ts';
import type { Recovery } from './recovery.ts';
import { HALT, type TokenStream } from './token-stream.ts';
import {
  AGGREGATES,
  type Literal,
  makeAggregate,
  makeArith,
  makeBroken,
  makeCmp,
  makeCode,
  makeDuration,
  makeField,
  makeIn,
  makeLogic,
  makeNumber,
  makeQuantifier,
  makeSource,
  makeStatus,
  type Node,
  negateNode,
  QUANTIFIERS,
  STATUSES,
} from './tree.ts';
import { INNER_WORDS, isShouted, stopAtCode, stopBehindNot } from './words.ts';

const EXPRESSION = 'Write a field, a number, a function call or any(venues where ...).';
/** Calls make nodes, so a tree with more of them in one chain is refused by `depth` (DQL-30). */
const NESTED_CALLS = LIMITS.depth + 1;

/** What words mean on the right of `=` and inside `in` (DQL-03). */
type Position = 'code' | 'status' | 'expression';

/** The allowed other side of a comparison with this. */
const findPositionBeside = (left: Node): Position => {
  if (left.type === 'call' && left.name === 'status') return 'status';
  return left.type === 'field' && FIELDS.get(left.name)?.type === 'code' ? 'code' : 'expression';
};

export class ExpressionParser {
  readonly #stream: TokenStream;
  readonly #recovery: Recovery;
  #groups = 0;
  #calls = 0;

  constructor(stream: TokenStream, recovery: Recovery) {
    this.#stream = stream;
    this.#recovery = recovery;
  }

  /** expr = and_expr , { "or" , and_expr } ; */
  read(): Node {
    return this.#readLogic('or', () => this.#readLogic('and', () => this.#readComparison()));
  }

  /** and_expr = cmp_expr , { "and" , cmp_expr } ; */
  #readLogic(word: 'and' | 'or', readSide: () => Node): Node {
    const first = readSide();
    const args = [first];
    while (this.#stream.takeWord(word)) args.push(this.#recovery.behind(args, readSide));
    return args.length === 1 ? first : makeLogic(word, args, joinPlaces(first.place, args.at(-1)?.place ?? null));
  }

  /** cmp_expr = sum_expr , [ cmp_op , sum_expr | "in" , "(" , literal , { "," , literal } , ")" ] ; */
  #readComparison(): Node {
    const stream = this.#stream;
    const left = this.#readArithmetic(BINDING['+']);
    if (stream.takeWord('in')) return this.#recovery.behind([left], () => this.#readIn(left));
    const op = stream.token.kind === 'op' ? findComparison(stream.token.text) : undefined;
    if (op === undefined) return left;
    stream.take();
    const right = this.#recovery.behind([left], () =>
      this.#readBeside(op === '=' ? findPositionBeside(left) : 'expression'),
    );
    const comparison = makeCmp(op, { left, right }, joinPlaces(left.place, right.place));
    if (stream.token.kind === 'op' && findComparison(stream.token.text) !== undefined) {
      this.#recovery.leave(comparison);
      stream.stop('"and", "or" or the end of the comparison', 'Comparisons do not chain: write a < b and b < c.');
    }
    return comparison;
  }

  /** The right side of `=`: a word is a code if the left side is a code field, a status if it is `status(F)`; a NAME before "(" is a call (DQL-34d). */
  #readBeside(position: Position): Node {
    const { token, next } = this.#stream;
    const isCode = token.kind === 'string' || (token.kind === 'code' && position === 'code');
    const isLiteral = isCode || ((token.kind === 'name' || token.kind === 'code') && next.text !== '(');
    return isLiteral && position !== 'expression' ? this.#readWord(position) : this.#readArithmetic(BINDING['+']);
  }

  #readWord(position: 'code' | 'status'): Literal {
    const stream = this.#stream;
    const { token } = stream;
    if (position === 'code') {
      stream.takeCode();
      return { ...makeCode(token.value, token), isWord: token.kind === 'name' };
    }
    const status = STATUSES.find((s) => s === token.text);
    if (status === undefined) return stream.stop('a status', `Write one of ${STATUSES.join(', ')}.`);
    stream.take();
    return makeStatus(status, token);
  }

  #readIn(left: Node): Node {
    const stream = this.#stream;
    stream.expectOp('(', 'Write in (a, b).');
    const position = findPositionBeside(left);
    const values: Literal[] = [];
    let count = 0;
    do {
      const { token } = stream;
      const value = this.#recovery.item<Literal | null>(
        () => this.#readLiteral(position),
        () => null,
      );
      if (value !== null) values.push(value);
      if (++count === LIMITS.in_list + 1) {
        stream.faults.add('DQL_COMPLEXITY', token, () => ({
          message: describeOverLimit('Values in one "in" number', count, LIMITS.in_list),
          hint: `Write at most ${LIMITS.in_list}.`,
        }));
      }
    } while (stream.takeOp(','));
    const last = stream.token;
    stream.expectOp(')', 'Close the list of "in".');
    return makeIn(left, values, joinPlaces(left.place, last));
  }

  /** literal = [ "-" ] , ( NUMBER | BPS | PERCENT ) | DURATION | CODE | STRING | NAME ; */
  #readLiteral(position: Position): Literal {
    const stream = this.#stream;
    const { token } = stream;
    const isNegative = stream.takeOp('-');
    const { kind, value } = stream.token;
    if (kind === 'number' || kind === 'bps' || kind === 'percent') {
      const number = makeNumber(value, joinPlaces(token, stream.take()));
      return isNegative ? (negateNode(number, number.place) as Literal) : number;
    }
    if (isNegative) stream.stop('a number', 'Write a number after "-".');
    if (kind === 'duration') return makeDuration(this.durationOf(stream.take()), token);
    if (kind === 'name' || kind === 'code' || kind === 'string')
      return this.#readWord(position === 'status' ? 'status' : 'code');
    return stream.stop('a value', 'A list of "in" can contain only literals.');
  }

  /** sum_expr = mul_expr , { ( "+" | "-" ) , mul_expr } ; mul_expr = unary , { ( "*" | "/" ) , unary } ; */
  #readArithmetic(binding: number): Node {
    if (binding === TIGHTEST) return this.#readUnary();
    const stream = this.#stream;
    let left = this.#readArithmetic(binding + 1);
    for (;;) {
      const op = stream.token.kind === 'op' ? findArithmetic(stream.token.text) : undefined;
      if (op === undefined || BINDING[op] !== binding) return left;
      stream.take();
      const before = left;
      const right = this.#recovery.behind([before], () => this.#readArithmetic(binding + 1));
      left = makeArith(op, { left: before, right }, joinPlaces(before.place, right.place));
    }
  }

  /** unary = "-" , unary | primary ; read in a loop, since a text may hold thousands of signs. */
  #readUnary(): Node {
    const signs: Token[] = [];
    while (this.#stream.isOp('-')) signs.push(this.#stream.take());
    let node = this.#readPrimary();
    for (const sign of signs.reverse()) node = negateNode(node, joinPlaces(sign, node.place));
    return node;
  }

  /** primary = NUMBER | BPS | PERCENT | DURATION | "(" , expr , ")" | quantifier | aggregate | call | NAME ; */
  #readPrimary(): Node {
    const stream = this.#stream;
    const { token } = stream;
    switch (token.kind) {
      case 'number':
      case 'bps':
      case 'percent':
        return makeNumber(stream.take().value, token);
      case 'duration':
        return makeDuration(this.durationOf(stream.take()), token);
      case 'name':
      case 'code':
        return this.#readNamed();
      case 'string':
        return stream.stop('an expression', 'A quoted string can be used only in a comparison with a code.');
      case 'instant':
        return stream.stop('an expression', `Write "as of ${formatTokenInstant(token)}" as a clause.`);
      default:
        return token.text === '(' && token.kind === 'op' ? this.#readGroup() : stream.stop('an expression', EXPRESSION);
    }
  }

  #readNamed(): Node {
    const stream = this.#stream;
    const { token, word } = stream;
    const isCall = stream.next.kind === 'op' && stream.next.text === '(';
    const quantifier = QUANTIFIERS.find((name) => name === word);
    const aggregate = AGGREGATES.find((name) => name === word);
    if (quantifier ?? aggregate) {
      stream.take();
      const name = quantifier ?? aggregate;
      const shape = quantifier ? `${name}(venues where ...)` : `${name}(venues, ...)`;
      stream.expectOp('(', `Write ${shape}.`);
      return quantifier ? this.#readQuantifier(quantifier, token) : this.#readAggregate(aggregate ?? 'max', token);
    }
    if (stream.isClause || INNER_WORDS.has(word)) stream.stop('an expression', EXPRESSION);
    if (token.kind === 'code' || isShouted(token)) stopAtCode(stream, isCall ? 'function' : 'field');
    stream.take();
    if (isCall) {
      stream.take();
      return this.#readCall(token);
    }
    stopBehindNot(stream);
    return SOURCES.has(token.text) ? makeSource(token.text, token) : makeField(token.text, token);
  }

  /** quantifier = ( "any" | "all" | "count" ) , "(" , "venues" , "where" , expr , ")" ; */
  #readQuantifier(type: (typeof QUANTIFIERS)[number], token: Token): Node {
    const stream = this.#stream;
    const hint =
      type === 'count' && stream.next.text === ')'
        ? 'Write venues_listed for the number of listings.'
        : `Write ${type}(venues where funding > 1bps).`;
    const over = (parts: Node[]): Node => makeBroken(token, parts);
    const readCondition = (): Node => {
      stream.expectWord('venues', hint);
      stream.expectWord('where', hint);
      return this.read();
    };
    return this.#nested(
      token,
      () => {
        const where = this.#recovery.item(readCondition, over, ')');
        const last = stream.take();
        return makeQuantifier(type, where, joinPlaces(token, last));
      },
      (parts) => makeQuantifier(type, over(parts), token),
    );
  }

  /** aggregate = ( "max" | "min" | "sum" ) , "(" , "venues" , [ "where" , expr ] , "," , expr , ")" ; */
  #readAggregate(fn: (typeof AGGREGATES)[number], token: Token): Node {
    const hint = `Write ${fn}(venues, mark) or ${fn}(venues where status(mark) = present, mark).`;
    const over = (parts: Node[]): Node => makeBroken(token, parts);
    return this.#nested(
      token,
      () => {
        const where = this.#readAggregated(hint, over);
        const expr = this.#recovery.behind(where === null ? [] : [where], () =>
          this.#readSummand(where, { hint, over }),
        );
        const last = this.#stream.take();
        return makeAggregate(fn, { expr, where: where ?? undefined }, joinPlaces(token, last));
      },
      (parts) => makeAggregate(fn, { expr: over(parts) }, token),
    );
  }

  /** The condition of an aggregate; null without one. */
  #readAggregated(hint: string, over: (parts: Node[]) => Node): Node | null {
    const stream = this.#stream;
    const readCondition = (): Node | null => {
      stream.expectWord('venues', hint);
      if (stream.takeWord('where')) return this.read();
      return stream.isOp(',') || stream.isOp(')') ? null : stream.stop('"where" or ","', hint);
    };
    return this.#recovery.item<Node | null>(readCondition, over, ',');
  }

  /** The expression of an aggregate, up to its closing parenthesis. */
  #readSummand(
    where: Node | null,
    { hint, over }: { readonly hint: string; readonly over: (parts: Node[]) => Node },
  ): Node {
    const stream = this.#stream;
    if (stream.isOp(')') && where?.type === 'broken') return over([]);
    stream.expectOp(',', hint);
    const expr = this.#recovery.item(() => this.read(), over);
    if (!stream.isOp(')')) this.#recovery.behind([expr], () => stream.stop('")"', hint));
    return expr;
  }

  /** call = NAME , "(" , [ arg , { "," , arg } ] , ")" ; */
  #readCall(token: Token): Node {
    return this.#nested(
      token,
      () => {
        const args = this.#readArguments(FUNCTIONS.get(token.text)?.parameters ?? []);
        return makeTimedCall(token, args, this.#stream.take());
      },
      (parts) => makeOpenCall(token, parts),
    );
  }

  #readArguments(parameters: readonly Parameter[]): Node[] {
    const stream = this.#stream;
    const args: Node[] = [];
    if (stream.isOp(')')) return args;
    do {
      const { token } = stream;
      const readArgument = (): Node => this.#readArgument(parameters[args.length]);
      args.push(
        this.#recovery.behind(args, () => this.#recovery.item(readArgument, (parts) => makeBroken(token, parts))),
      );
    } while (stream.takeOp(','));
    return args;
  }

  /** arg = expr | BPS (* band *) | NAME (* method *) | DURATION (* timeframe, last *) ; */
  #readArgument(parameter: Parameter | undefined): Node {
    const stream = this.#stream;
    const { token, next } = stream;
    const isAlone = next.kind === 'op' && (next.text === ',' || next.text === ')');
    const isWord = (parameter === 'band' && token.kind === 'bps') || (parameter === 'method' && token.kind === 'name');
    return isWord && isAlone ? makeCode(stream.take().text, token) : this.read();
  }

  #readGroup(): Node {
    const stream = this.#stream;
    const open = stream.token;
    if (this.#groups === PARENTHESES) {
      const message = describeOverLimit(
        'Parentheses nest to a depth of',
        PARENTHESES + stream.countNested('group'),
        PARENTHESES,
      );
      stream.faults.add('DQL_COMPLEXITY', open, { message, hint: 'Remove the ones that have no effect.' });
      throw HALT;
    }
    stream.take();
    this.#groups++;
    try {
      const inner = this.#recovery.item(
        () => this.read(),
        (parts) => makeBroken(open, parts),
        ')',
      );
      stream.expectOp(')', 'Close "(" with ")".');
      return inner;
    } finally {
      this.#groups--;
    }
  }

  /**
   * Calls, quantifiers and aggregates in one chain: one past what `depth` allows is not read, so no text can overflow the stack.
   * Where reading stops inside, `enclose` wraps what was read, so that it is checked in its place.
   */
  #nested(token: Token, read: () => Node, enclose: (parts: Node[]) => Node): Node {
    if (this.#calls === NESTED_CALLS) {
      const calls = NESTED_CALLS + 1 + this.#stream.countNested('call');
      const message = describeOverLimit('Calls nest to a depth of', calls, LIMITS.depth);
      this.#stream.faults.addTooDeep(token, { message, hint: 'Split the condition.' });
      while (this.#stream.skipToSeparator() && !this.#stream.takeOp(')')) this.#stream.take();
      return makeBroken(token);
    }
    this.#calls++;
    try {
      return this.#recovery.inside(read, enclose);
    } finally {
      this.#calls--;
    }
  }

  durationOf(token: Token): string {
    const ms = parseDuration(token.text);
    if (ms !== null) return formatDuration(ms);
    const message = `"${clip(token.text)}" has more than nine digits.`;
    this.#stream.faults.add('DQL_ARGUMENT', token, { message, hint: 'Write a shorter duration.' });
    return token.text;
  }
}

const formatTokenInstant = ({ value }: Token): string => {
  const at = parseInstant(value);
  return at === null ? '2026-01-15' : formatInstant(at);
};
