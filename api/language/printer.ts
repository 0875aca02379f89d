// The canonical pair of a query: text with no more parentheses than needed, and the machine form (DQL-08, DQL-09).
import { formatInstant } from '../../schemas/instants.ts';
import { type JsonValue, makeFigure } from '../../schemas/json.ts';
import type { CheckedQuery } from './check-query.ts';
import { isBareCode } from './lexer.ts';
import { VERSION } from './limits.ts';
import { BINDING, TIGHTEST } from './operators.ts';
import { SELECTION_KEYS, type Selection, type SelectionKey } from './selection.ts';
import type { AggregateNode, CallNode, Node } from './tree.ts';

const findBinding = (node: Node): number => {
  switch (node.type) {
    case 'arith':
    case 'cmp':
      return BINDING[node.op];
    case 'and':
    case 'or':
    case 'in':
      return BINDING[node.type];
    default:
      return TIGHTEST;
  }
};

/** The text, in parentheses when it binds looser than its place needs. */
const printWithin = (node: Node, least: number): string => {
  const text = printNode(node);
  return findBinding(node) < least ? `(${text})` : text;
};

const printCode = (code: string): string => (isBareCode(code) ? code : JSON.stringify(code));

const printCall = ({ name, args, timeframe }: CallNode): string => {
  // A band or method is a name, regardless of its spelling.
  const parts = args.map((arg) => (arg.type === 'code' ? arg.value : printNode(arg)));
  return `${name}(${[...parts, ...(timeframe?.text == null ? [] : [timeframe.text])].join(', ')})`;
};

const printAggregate = ({ fn, expr, where }: AggregateNode): string =>
  `${fn}(venues${where === undefined ? '' : ` where ${printNode(where)}`}, ${printNode(expr)})`;

/** An expression as text. */
export const printNode = (node: Node): string => {
  switch (node.type) {
    case 'number':
    case 'duration':
    case 'status':
      return node.value;
    case 'code':
      return printCode(node.value);
    case 'field':
    case 'source':
      return node.name;
    case 'call':
      return printCall(node);
    case 'arith': {
      const binding = BINDING[node.op];
      return `${printWithin(node.left, binding)} ${node.op} ${printWithin(node.right, binding + 1)}`;
    }
    case 'cmp':
      return `${printWithin(node.left, BINDING['+'])} ${node.op} ${printWithin(node.right, BINDING['+'])}`;
    case 'in':
      return `${printWithin(node.left, BINDING['+'])} in (${node.values.map(printNode).join(', ')})`;
    case 'and':
    case 'or':
      return node.args.map((arg) => printWithin(arg, BINDING[node.type] + 1)).join(` ${node.type} `);
    case 'any':
    case 'all':
    case 'count':
      return `${node.type}(venues where ${printNode(node.where)})`;
    case 'agg':
      return printAggregate(node);
    case 'broken':
      throw new Error('a query with faults has no canonical form');
    default: {
      const never: never = node;
      return never;
    }
  }
};

const printTerm = (key: SelectionKey, texts: readonly string[]): string => {
  const codes = texts.map((text) => (key === 'symbol' ? JSON.stringify(text) : printCode(text)));
  return codes.length === 1 ? `${key} = ${codes[0]}` : `${key} in (${codes.join(', ')})`;
};

const listTerms = (where: Selection): [SelectionKey, readonly string[]][] =>
  SELECTION_KEYS.flatMap((key): [SelectionKey, readonly string[]][] => {
    const codes = where[key];
    return codes === undefined ? [] : [[key, codes.map((code) => code.text)]];
  });

/** A selection as text: empty when it has no term. */
export const printSelection = (where: Selection): string =>
  listTerms(where)
    .map(([key, codes]) => printTerm(key, codes))
    .join(' and ');

/** `query.string`. */
export const printQuery = ({ condition, timeframe, asOf, where, select, orderBy }: CheckedQuery): string => {
  const keys = orderBy.map(({ expr, descending }) => `${printNode(expr)}${descending ? ' desc' : ''}`);
  const selection = where === null ? '' : printSelection(where);
  return [
    ...(condition === null ? [] : [printNode(condition)]),
    ...(timeframe === null ? [] : [`timeframe ${timeframe}`]),
    ...(asOf === null ? [] : [`as of ${formatInstant(asOf.at)}`]),
    ...(selection === '' ? [] : [`where ${selection}`]),
    ...(select.length === 0 ? [] : [`select ${select.map(printNode).join(', ')}`]),
    ...(keys.length === 0 ? [] : [`order by ${keys.join(', ')}`]),
  ].join(' ');
};

/** An expression as a node of the machine form, members in the order of DQL-08. */
const toNodeJson = (node: Node): JsonValue => {
  const { type } = node;
  switch (type) {
    case 'number':
      return { type, value: makeFigure(node.value) };
    case 'duration':
    case 'code':
    case 'status':
      return { type, value: node.value };
    case 'field':
    case 'source':
      return { type, name: node.name };
    case 'call':
      return { type, name: node.name, args: node.args.map(toNodeJson), timeframe: node.timeframe?.text ?? undefined };
    case 'arith':
    case 'cmp':
      return { type, op: node.op, left: toNodeJson(node.left), right: toNodeJson(node.right) };
    case 'in':
      return { type, left: toNodeJson(node.left), values: node.values.map(toNodeJson) };
    case 'and':
    case 'or':
      return { type, args: node.args.map(toNodeJson) };
    case 'any':
    case 'all':
    case 'count':
      return { type, where: toNodeJson(node.where) };
    case 'agg':
      return {
        type,
        fn: node.fn,
        expr: toNodeJson(node.expr),
        where: node.where === undefined ? undefined : toNodeJson(node.where),
      };
    case 'broken':
      throw new Error('a query with faults has no canonical form');
    default: {
      const never: never = type;
      return never;
    }
  }
};

/** `query.json`. */
export const toQueryJson = ({ condition, timeframe, asOf, where, select, orderBy }: CheckedQuery): JsonValue => ({
  dql: VERSION,
  condition: condition === null ? undefined : toNodeJson(condition),
  timeframe: timeframe ?? undefined,
  as_of: asOf === null ? undefined : formatInstant(asOf.at),
  where: where === null ? undefined : Object.fromEntries(listTerms(where)),
  select: select.length === 0 ? undefined : select.map(toNodeJson),
  order_by:
    orderBy.length === 0
      ? undefined
      : orderBy.map(({ expr, descending }) => ({ expr: toNodeJson(expr), dir: descending ? 'desc' : undefined })),
});
