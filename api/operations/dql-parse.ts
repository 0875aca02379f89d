// POST /v2/dql/parse: checks a query without running it; reads no market data.
import Type, { type Static } from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { type Compiled, compile, type QueryInput } from '../dql/compile.ts';
import { timeframesOf } from '../dql/cost.ts';
import { VERSION } from '../dql/limits.ts';
import type { JsonObject } from '../dql/object-shape.ts';
import { directoryOf } from '../selection/directory.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';

const MachineForm = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Machine form: {dql, condition, timeframe, as_of, where, select, order_by}.',
});

const Input = Type.Object(
  {
    query: Type.Optional(
      Type.Union([Type.String({ description: 'Text of a query.' }), MachineForm], {
        examples: ['any(venues where funding > 1bps)'],
      }),
    ),
    query_object: Type.Optional(MachineForm),
    dql: Type.Optional(Type.Unknown({ description: `Language version, "${VERSION}".` })),
    context: Type.Optional(Type.Enum(['screen'], { description: 'What the query is for.' })),
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

const refine = ({ query, query_object, dql }: Input): ApiError[] => {
  const errors: ApiError[] = [];
  if (dql !== undefined && dql !== VERSION) {
    const message = `The language version ${JSON.stringify(dql).slice(0, 40)} is not "${VERSION}".`;
    errors.push({ code: 'DQL_VERSION', message, hint: `Send dql "${VERSION}", or leave it out.`, path: '/dql' });
  }
  if (query === undefined && query_object === undefined) {
    const message = 'Neither "query" nor "query_object" is sent.';
    errors.push({ code: 'DQL_JSON_SCHEMA', message, hint: 'Send query as text, or query_object.', path: '/query' });
  }
  if (query !== undefined && query_object !== undefined) {
    const message = 'Both "query" and "query_object" are sent.';
    errors.push({ code: 'DQL_JSON_SCHEMA', message, hint: 'Send one of them.', path: '/query_object' });
  }
  return errors;
};

const inputOf = ({ query, query_object }: Input): QueryInput => {
  if (typeof query === 'string') return { text: query };
  return query === undefined
    ? { object: query_object as JsonObject, path: '/query_object' }
    : { object: query, path: '/query' };
};

const answerOf = (compiled: Compiled): JsonValue => {
  const { query, string, json, complexity } = compiled;
  return {
    dql: VERSION,
    query: { string, json },
    atoms: { instrument: [...query.names.instrument].sort(), venue: [...query.names.venue].sort() },
    functions: [...query.functions].sort(),
    timeframes: timeframesOf(query),
    complexity,
  };
};

const run = (input: Input, { live }: Context): Answer => ({
  body: answerOf(compile(inputOf(input), directoryOf(live).codes)),
  numberFormat: 'json',
});

export const dqlParse = defineOperation({
  name: 'dql_parse',
  method: 'POST',
  path: '/v2/dql/parse',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: null,
  summary: 'Checks a query: canonical form, names, complexity, or every fault.',
  input: Input,
  output: Output,
  example: {
    input: { query: 'any(venues where funding > 1bps)' },
    output: {
      dql: VERSION,
      query: {
        string: 'any(venues where funding > 0.0001)',
        json: {
          dql: VERSION,
          condition: {
            type: 'any',
            where: {
              type: 'cmp',
              op: '>',
              left: { type: 'field', name: 'funding' },
              right: { type: 'number', value: 0.0001 },
            },
          },
        },
      },
      atoms: { instrument: [], venue: ['funding'] },
      functions: [],
      timeframes: [],
      complexity: { nodes: 4, bars: 0, cost: 4 },
    },
  },
  refine,
  run,
});
