// The OpenAPI 3.1 document, rendered from the operations (OP-01), every shape in its place; `named-openapi.ts` gives them names.
import type { TSchema } from 'typebox';
import { CATALOGUE } from '../../schemas/errors.ts';
import { type Endpoint, listPathParameters } from '../contract/endpoint.ts';
import { listCodesByStatus } from './endpoint-codes.ts';
import { listEnvelopeHeaders } from './envelope-headers.ts';
import { findMemberText } from './member-words.ts';
import {
  challengeResponse,
  header,
  listSecurity,
  PAYMENT_SCHEMAS,
  PAYMENT_SECURITY,
  paidHeaders,
  planAnswer,
} from './payment-openapi.ts';
import { ROW_TYPES } from './row-formats.ts';
import { type Shape, withParts } from './schema-parts.ts';

export type OpenApiOptions = {
  readonly operations: readonly Endpoint[];
  readonly baseUrl: string;
  readonly simulated: boolean;
};

const ERROR = { $ref: '#/components/schemas/ErrorBody' };

/** Of every answer under a key (AC-03); a client slows down by them before it is refused. */
const LIMITS = {
  'RateLimit-Policy': header('Under a key: calls a second and a day, as `"second";q=2;w=1, "day";q=5000;w=86400`.'),
  RateLimit: header('Under a key: calls left of the day and seconds to its end, as `"day";r=4880;t=43200`.'),
};

const WAIT = header('Seconds to wait before the call is repeated.');
/** What refusals of a status say in headers (AC-03, E-06). */
const REFUSAL_HEADERS: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': header('`Bearer`.') },
  429: { ...LIMITS, 'Retry-After': WAIT, 'X-Service-Limit': header('Name of the limit that was reached.') },
  503: { 'Retry-After': WAIT },
};

const RECEIPT = { 'X-Service-Receipt': header('Receipt id of the answer: quote it to support.') };

const refusal = (status: string, codes: string) => ({
  description: codes,
  headers: { ...RECEIPT, ...REFUSAL_HEADERS[status] },
  content: { 'application/json': { schema: ERROR } },
});

/** Its answers besides 200: statuses, each with its codes. */
const listErrors = (endpoint: Endpoint) =>
  Object.fromEntries(
    [...listCodesByStatus(endpoint)].map(([status, codes]) => [
      status,
      status === 402 ? challengeResponse(codes.join(', '), RECEIPT) : refusal(String(status), codes.join(', ')),
    ]),
  );

/** A shape whose enumerations say that their values are texts: makers of clients read no type from the values. */
const typed = (shape: Shape): Shape => {
  const whole = withParts(shape, (part) => typed(part));
  return whole.enum === undefined || whole.type !== undefined ? whole : { type: 'string', ...whole };
};

/** A shape with a sentence for each member that has none. */
const withWords = (shape: Shape, path: readonly string[]): Shape =>
  withParts(shape, (part, name) => {
    if (name === undefined) return withWords(part, path);
    const inner = [...path, name];
    const words = findMemberText(inner);
    return { ...(words === '' ? {} : { description: words }), ...withWords(part, inner) };
  });

/** The shape of an answer as the document gives it. */
export const describeSchema = (schema: TSchema, path: readonly string[]): Shape => typed(withWords(schema, path));

const listParameters = ({ input, example, path }: Endpoint) => {
  const { properties = {}, required = [] } = input as {
    readonly properties?: Readonly<Record<string, Shape>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: listPathParameters(path).includes(name) ? 'path' : 'query',
    required: required.includes(name),
    description: schema.description ?? name,
    schema: typed(schema),
    ...(Object.hasOwn(example.input, name) ? { example: example.input[name] } : {}),
  }));
};

const TABLES = Object.values(ROW_TYPES).map((type) => type.split(';')[0] as string);
/** Rows as a table are text, but Parquet is bytes, which have no schema. */
const TABLE_CONTENT = Object.fromEntries(
  TABLES.map((type) => [type, type === ROW_TYPES.parquet ? {} : { schema: { type: 'string' } }]),
);

/** A stream's answer is text with events; every other one is JSON, or a table of its rows. */
const makeContent = ({ name, class: requestClass, output, example, rows }: Endpoint) => ({
  [requestClass === 'stream' ? 'text/event-stream' : 'application/json']: {
    schema: describeSchema(output, [name]),
    example: example.output,
  },
  ...(rows === true ? TABLE_CONTENT : {}),
});

/** Whether answers have an `ETag`, if only settled ones (N-14). */
const hasTag = ({ cacheS, rows }: Endpoint): boolean => cacheS !== null || rows === true;

const TAG = header('Tag of the answer, to be sent as `If-None-Match`; rows have one once settled.');

/** What an answer becomes when the caller has it. */
const unchangedAnswer = (endpoint: Endpoint) =>
  hasTag(endpoint)
    ? {
        304: {
          description: 'Unchanged since the answer whose `ETag` was sent as `If-None-Match`.',
          headers: { ...RECEIPT, ...LIMITS, ETag: TAG },
        },
      }
    : {};

/** Where the envelope is when rows are sent as a table (N-15). */
const envelopeOf = (endpoint: Endpoint) =>
  Object.fromEntries(
    [...listEnvelopeHeaders(endpoint)].map(([name, member]) => {
      const words = member === 'gaps' ? 'How many `gaps` the items have' : `\`${member}\` of the answer`;
      return [name, header(`${words}, beside rows as a table.`)];
    }),
  );

/** Headers of a good answer that a client acts on. */
const answerHeaders = (endpoint: Endpoint) => ({
  ...RECEIPT,
  ...LIMITS,
  ...(hasTag(endpoint) ? { ETag: TAG } : {}),
  ...(endpoint.redirects ? { Location: header('The link to the file.') } : {}),
  ...paidHeaders(endpoint),
  ...envelopeOf(endpoint),
});

const pathItem = (operation: Endpoint) => {
  const { name, summary, price, method, input, example } = operation;
  return {
    operationId: name,
    summary,
    description: example.question,
    ...(operation.deprecated === undefined ? {} : { deprecated: true }),
    security: listSecurity(operation),
    ...(price === null ? {} : { 'x-price-usdc': String(price / 1_000_000) }),
    ...planAnswer(operation),
    ...(method === 'GET'
      ? { parameters: listParameters(operation) }
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: typed(input), example: example.input } },
          },
        }),
    responses: {
      [operation.redirects ? 302 : 200]: {
        description: summary,
        headers: answerHeaders(operation),
        content: makeContent(operation),
      },
      ...unchangedAnswer(operation),
      ...listErrors(operation),
    },
  };
};

const ERROR_SCHEMAS = {
  ErrorBody: {
    type: 'object',
    required: ['errors'],
    properties: {
      errors: { type: 'array', minItems: 1, maxItems: 20, items: { $ref: '#/components/schemas/ErrorItem' } },
    },
  },
  ErrorItem: {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode' },
      message: { type: 'string' },
      position: { $ref: '#/components/schemas/ErrorPosition' },
      hint: { type: 'string' },
      path: { type: 'string', description: 'JSON pointer of the offending member.' },
    },
  },
  ErrorCode: { type: 'string', enum: Object.keys(CATALOGUE) },
  ErrorPosition: {
    type: 'object',
    required: ['line', 'column', 'offset', 'length'],
    properties: Object.fromEntries(['line', 'column', 'offset', 'length'].map((m) => [m, { type: 'integer' }])),
  },
};

const describePaths = (operations: readonly Endpoint[]): Record<string, Record<string, unknown>> => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: pathItem(operation) };
  }
  return paths;
};

export type OpenApi = ReturnType<typeof makeOpenApi>;

export const makeOpenApi = ({ operations, baseUrl, simulated }: OpenApiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'Perpetual-futures market data',
    version: '2.0.0',
    description: `Market data that says how old each number is, who said it and whether it still holds.${simulated ? ' This instance reads simulated venues.' : ''}`,
  },
  servers: [{ url: baseUrl }],
  paths: describePaths(operations),
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key.' }, ...PAYMENT_SECURITY },
    schemas: { ...ERROR_SCHEMAS, ...PAYMENT_SCHEMAS },
  },
});
