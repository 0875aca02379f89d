// POST /v2/dql/parse: checks a query without running it; reads no market data.
import Type, { type Static } from 'typebox';
import type { JsonValue } from '../../schemas/json.ts';
import { type Compiled, compile } from '../language/compile.ts';
import { listTimeframes } from '../language/cost.ts';
import { VERSION } from '../language/limits.ts';
import { findDirectory } from '../selection/directory.ts';
import answer from './examples/dql-parse.json' with { type: 'json' };
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';
import { findQueryFaults, findQueryInput, QUERY_CODES, QueryMembers } from './query-input.ts';

const Input = Type.Object(
  {
    ...QueryMembers,
    context: Type.Optional(Type.Enum(['screen'], { description: 'Use of the query. Only `screen` exists.' })),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Output = Type.Object({
  dql: Type.String(),
  query: Type.Object({ string: Type.String(), json: Type.Record(Type.String(), Type.Unknown()) }),
  atoms: Type.Object({ instrument: Type.Array(Type.String()), venue: Type.Array(Type.String()) }),
  functions: Type.Array(Type.String()),
  timeframes: Type.Array(Type.String()),
  complexity: Type.Object({ nodes: Type.Integer(), bars: Type.Integer(), cost: Type.Integer() }),
});

const toAnswer = (compiled: Compiled): JsonValue => {
  const { query, string, json, complexity } = compiled;
  return {
    dql: VERSION,
    query: { string, json },
    atoms: { instrument: [...query.names.instrument].sort(), venue: [...query.names.venue].sort() },
    functions: [...query.functions].sort(),
    timeframes: listTimeframes(query),
    complexity,
  };
};

const understand = (input: Partial<Input>, { live }: InputContext): Compiled | null => {
  const query = findQueryInput(input);
  return query === null ? null : compile(query, findDirectory(live).codes);
};

const run = (_input: Input, _context: Context, compiled: Compiled | null): Answer => {
  if (compiled === null) throw new Error('a body without a query is refused before');
  return { body: toAnswer(compiled), numberFormat: 'json' };
};

export const dqlParse = defineOperation({
  name: 'dql_parse',
  method: 'POST',
  path: '/v2/dql/parse',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: null,
  summary: 'Checks a query: returns its canonical form, names and complexity, or every fault.',
  input: Input,
  output: Output,
  codes: [...QUERY_CODES, 'DQL_LIMIT'],
  example: {
    question: 'Is my query right, and what does it cost?',
    input: {
      query:
        'any(venues where funding_8h > 0.5bps and spread < 5bps) select funding_8h, spread order by max(venues, funding_8h) desc',
    },
    output: answer,
  },
  refine: findQueryFaults,
  understand,
  run,
});
