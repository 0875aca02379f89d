// Parses tokens into the tree of a query: a condition and its clauses (DQL-06, DQL-07); continues after a fault at clauses and commas.
import { INSTANT_HINT, parseInstant } from '../../schemas/instants.ts';
import { clip } from '../contract/sent-text.ts';
import { ExpressionParser } from './expression-parser.ts';
import { describeOverLimit, LIMITS } from './limits.ts';
import { Recovery } from './recovery.ts';
import { Halt, TokenStream } from './token-stream.ts';
import { type AsOf, makeBroken, NO_CLAUSES, type Node, type OrderKey, type OwnTimeframe, type Query } from './tree.ts';
import { readSelection, type SelectionTerms } from './where-text.ts';

const CLAUSES = 'Clauses are timeframe, as of, where, select, order by.';
/** A clause of SQL, which many write. */
const LIMIT = 'Send limit as a member of the request, beside the query.';
const CONDITION = 'Write a condition such as any(venues where funding > 1bps).';

/** The number of items that a clause may have, their kind, and the remains of a faulty item. */
type Items<T> = { readonly most: number; readonly of: string; readonly over: (left: Node) => T };

type Reading = { -readonly [K in keyof Query]: Query[K] };

/** Clauses whose contents are checked, by their first word. */
const MEMBERS = { timeframe: 'timeframe', as: 'asOf', where: 'where', select: 'select', order: 'orderBy' } as const;

class Parser {
  readonly #stream: TokenStream;
  readonly #recovery: Recovery;
  readonly #expressions: ExpressionParser;
  /** What was not read has a duration: it may be a timeframe clause that is misspelt. */
  #hasSkippedPeriod = false;

  constructor(stream: TokenStream) {
    this.#stream = stream;
    this.#recovery = new Recovery(stream);
    this.#expressions = new ExpressionParser(stream, this.#recovery);
  }

  /** query = [ expr ] , { clause } ; (* not empty *) */
  read(): Query {
    const stream = this.#stream;
    const query: Reading = { ...NO_CLAUSES, condition: null, repeated: [] };
    if (stream.isEnd) {
      const place = { from: 0, to: stream.token.from };
      stream.faults.add('DQL_SYNTAX', place, { message: 'The query is empty.', hint: CONDITION });
    }
    const seen = new Set<string>();
    if (!stream.isEnd && !stream.isClause) query.condition = this.#atTop(() => this.#readCondition());
    while (!stream.isEnd) {
      this.#atTop(() => {
        this.#readClause(query, seen);
        return null;
      });
    }
    if (this.#hasSkippedPeriod) query.timeframe ??= { text: null, place: null };
    return query;
  }

  #readCondition(): Node {
    const { word } = this.#stream;
    return word === 'as' || word === 'order' ? this.#stop('a clause') : this.#expressions.read();
  }

  /** Reading stops: behind the first word of a clause of two, else here. */
  #stop(wanted: string): never {
    const stream = this.#stream;
    if (stream.takeWord('as')) stream.expectWord('of', 'Write as of 2026-01-15T12:00:00Z.');
    if (stream.takeWord('order')) stream.expectWord('by', 'Write order by, then what to order by.');
    return stream.stop(wanted, stream.token.text.toLowerCase() === 'limit' ? LIMIT : CLAUSES);
  }

  /** Reads a part of the query that must be followed by a clause or the end; after a fault it continues at the next clause. */
  #atTop(read: () => Node | null): Node | null {
    const stream = this.#stream;
    const { token } = stream;
    let part: Node | null = null;
    try {
      part = read();
      if (!stream.isEnd && !stream.isClause) this.#stop('a clause or the end');
      return part;
    } catch (error) {
      if (!(error instanceof Halt)) throw error;
      if (stream.skipToClause().some(({ kind }) => kind === 'duration')) this.#hasSkippedPeriod = true;
      if (part !== null) this.#recovery.leave(part);
      return makeBroken(token, this.#recovery.takeLeft());
    }
  }

  #readClause(query: Reading, seen: Set<string>): void {
    const stream = this.#stream;
    const { token: first, word } = stream;
    stream.take();
    const last = word === 'as' || word === 'order' ? stream.take() : first;
    if (seen.has(word)) {
      const name = word === 'as' ? 'as of' : word === 'order' ? 'order by' : word;
      const message = `The clause "${name}" is given twice.`;
      stream.faults.add('DQL_DUPLICATE_CLAUSE', { from: first.from, to: last.to }, { message, hint: 'Give it once.' });
      const member = Object.hasOwn(MEMBERS, word) ? MEMBERS[word as keyof typeof MEMBERS] : undefined;
      if (member !== undefined) query.repeated = [...query.repeated, { ...NO_CLAUSES, [member]: query[member] }];
    }
    seen.add(word);
    switch (word) {
      case 'timeframe':
        query.timeframe = { text: null, place: first };
        query.timeframe = this.#readTimeframe();
        return;
      case 'as':
        query.asOf = null;
        query.asOf = this.#readInstant();
        return;
      case 'where':
        this.#readWhere(query);
        return;
      case 'select':
        query.select = this.#readItems(() => this.#expressions.read(), {
          most: LIMITS.select,
          of: 'Expressions in "select"',
          over: (node) => node,
        });
        return;
      default:
        query.orderBy = this.#readItems(() => this.#readKey(), {
          most: LIMITS.order_by,
          of: 'Keys in "order by"',
          over: (expr) => ({ expr, descending: false }),
        });
    }
  }

  /** Terms before a fault are kept. */
  #readWhere(query: Reading): void {
    const stream = this.#stream;
    const terms: SelectionTerms = {};
    query.where = terms;
    readSelection(stream, { into: terms, mayEnd: () => stream.isEnd || stream.isClause });
  }

  #readTimeframe(): OwnTimeframe {
    const stream = this.#stream;
    if (stream.token.kind !== 'duration') stream.stop('a timeframe', 'Write a timeframe such as 1h.');
    const token = stream.take();
    return { text: this.#expressions.durationOf(token), place: token };
  }

  #readInstant(): AsOf | null {
    const stream = this.#stream;
    const { kind } = stream.token;
    if (kind !== 'instant' && kind !== 'string') stream.stop('an instant', INSTANT_HINT);
    const token = stream.take();
    const at = parseInstant(token.value);
    if (at === null) {
      const message = `"${clip(token.value)}" is not an instant from 2000 to 2100.`;
      stream.faults.add('DQL_SYNTAX', token, { message, hint: INSTANT_HINT });
    }
    return at === null ? null : { at, place: token };
  }

  /** key = expr , [ "asc" | "desc" ] ; */
  #readKey(): OrderKey {
    const expr = this.#expressions.read();
    const descending = this.#stream.takeWord('desc');
    if (!descending) this.#stream.takeWord('asc');
    return { expr, descending };
  }

  /** Items of a clause, separated by commas; of a faulty one what was read is kept, and the next is read. */
  #readItems<T>(readItem: () => T, { most, of, over }: Items<T>): T[] {
    const stream = this.#stream;
    const items: T[] = [];
    let count = 0;
    do {
      const { token } = stream;
      try {
        items.push(readItem());
        if (!stream.isOp(',') && !stream.isEnd && !stream.isClause) this.#stop('"," or a clause');
      } catch (error) {
        if (!(error instanceof Halt)) throw error;
        items.push(over(makeBroken(token, this.#recovery.takeLeft())));
        while (stream.skipToSeparator() && stream.takeOp(')'));
      }
      if (++count === most + 1) {
        stream.faults.add('DQL_COMPLEXITY', token, () => ({
          message: describeOverLimit(`${of} number`, count, most),
          hint: `Write at most ${most}.`,
        }));
      }
    } while (stream.takeOp(','));
    return items;
  }
}

/** Reads the text of a query; faults are in the stream, and what they spoil is `broken`. */
export const parseText = (text: string): { readonly query: Query; readonly stream: TokenStream } => {
  const stream = new TokenStream(text);
  return { query: new Parser(stream).read(), stream };
};
