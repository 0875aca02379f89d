// A query as bodies carry it: text, or machine form under either name.
import Type, { type Static } from 'typebox';
import type { ApiError, ErrorCode } from '../../schemas/errors.ts';
import type { JsonObject } from '../../schemas/json-object.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import { WHERE_CODES } from '../contract/parameters.ts';
import { describeValue } from '../contract/sent-text.ts';
import type { QueryInput } from '../language/compile.ts';
import { LIMITS, VERSION } from '../language/limits.ts';
import { OBJECT_MEMBERS } from '../language/object.ts';

const MachineForm = Type.Record(Type.String(), Type.Unknown(), {
  propertyNames: { type: 'string', enum: OBJECT_MEMBERS },
  description: `Machine form \`{${OBJECT_MEMBERS.join(', ')}}\`. Send either \`query\` or \`query_object\`.`,
});

/** Members of a body that hold a query. */
export const QueryMembers = {
  query: Type.Optional(
    Type.Union(
      [Type.String({ description: `Text of the query, at most ${LIMITS.source_bytes} bytes.` }), MachineForm],
      {
        examples: ['any(venues where funding > 1bps)'],
      },
    ),
  ),
  query_object: Type.Optional(MachineForm),
  dql: Type.Optional(Type.Unknown({ description: `Version of the language: "${VERSION}".` })),
};
const Body = Type.Object(QueryMembers);
type Body = Static<typeof Body>;

/** The possible errors of a query. */
export const QUERY_CODES: readonly ErrorCode[] = [
  ...WHERE_CODES,
  'DQL_VERSION',
  'DQL_UNKNOWN_FUNCTION',
  'DQL_SCOPE',
  'DQL_NESTING',
  'DQL_TYPE',
  'DQL_TIMEFRAME_REQUIRED',
  'DQL_TIMEFRAME_UNSUPPORTED',
  'DQL_TIMEFRAME_MISMATCH',
  'DQL_ARGUMENT',
];

/** Faults that the schema cannot express: both forms, none, another version. */
export const findQueryFaults = ({ query, query_object, dql }: Body, spoilt: Spoilt): ApiError[] => {
  const errors: ApiError[] = [];
  if (dql !== undefined && dql !== VERSION) {
    const message = `The language version ${describeValue(dql)} is not "${VERSION}".`;
    errors.push({ code: 'DQL_VERSION', message, hint: `Send dql "${VERSION}", or leave it out.`, path: '/dql' });
  }
  const isNone = query === undefined && query_object === undefined;
  if (isNone && !spoilt.has('query') && !spoilt.has('query_object')) {
    const message = 'Neither "query" nor "query_object" is sent.';
    errors.push({ code: 'DQL_JSON_SCHEMA', message, hint: 'Send query as text, or query_object.', path: '/query' });
  }
  if (query !== undefined && query_object !== undefined) {
    const message = 'Both "query" and "query_object" are sent.';
    errors.push({ code: 'DQL_JSON_SCHEMA', message, hint: 'Send one of them.', path: '/query_object' });
  }
  return errors;
};

/** The query of a body; null when none was left whole. */
export const findQueryInput = ({ query, query_object }: Body): QueryInput | null => {
  if (typeof query === 'string') return { text: query };
  if (query !== undefined) return { object: query, path: '/query' };
  return query_object === undefined ? null : { object: query_object as JsonObject, path: '/query_object' };
};
