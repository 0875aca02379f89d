// The OpenAPI 3.1 document, rendered from the operations (OP-01).
import { CATALOGUE } from '../../schemas/errors.ts';
import type { Endpoint } from '../operations/operation.ts';

export type OpenApiOptions = {
  readonly operations: readonly Endpoint[];
  readonly baseUrl: string;
  readonly simulated: boolean;
};

const ERROR = { $ref: '#/components/schemas/Errors' };

const errorResponse = (description: string) => ({ description, content: { 'application/json': { schema: ERROR } } });

/** Statuses an operation can answer besides 200, each with the codes that have it. */
const statusesOf = ({ key, price, method }: Endpoint): number[] => {
  const statuses = [400, 401, 403, 429, 500, 503];
  if (key === 'required' && price !== null) statuses.push(402);
  if (method === 'POST') statuses.push(413, 415);
  return statuses.sort((a, b) => a - b);
};

const codesOf = (status: number): string =>
  Object.entries(CATALOGUE)
    .filter(([, entry]) => entry.status === status)
    .map(([code]) => code)
    .join(', ');

const parametersOf = ({ input }: Endpoint) => {
  const { properties = {}, required = [] } = input as {
    readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: schema.description ?? name,
    schema,
  }));
};

/** A stream's answer is text with events; every other one is JSON. */
const contentOf = ({ class: requestClass, output, example }: Endpoint) =>
  requestClass === 'stream'
    ? { 'text/event-stream': { schema: output } }
    : { 'application/json': { schema: output, example: example.output } };

const pathItem = (operation: Endpoint) => {
  const { name, summary, key, price, method, input, example } = operation;
  const errors = statusesOf(operation).map((status) => [status, errorResponse(codesOf(status))] as const);
  return {
    operationId: name,
    summary,
    security: key === 'required' ? [{ key: [] }] : [{}, { key: [] }],
    ...(price === null ? {} : { 'x-price-usdc': String(price / 1_000_000) }),
    ...(method === 'GET'
      ? { parameters: parametersOf(operation) }
      : {
          requestBody: { required: true, content: { 'application/json': { schema: input, example: example.input } } },
        }),
    responses: {
      200: {
        description: summary,
        headers: { 'X-Service-Receipt': { description: 'Receipt id of the answer.', schema: { type: 'string' } } },
        content: contentOf(operation),
      },
      ...Object.fromEntries(errors),
    },
  };
};

const ERRORS_SCHEMA = {
  type: 'object',
  required: ['errors'],
  properties: {
    errors: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      items: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'string', enum: Object.keys(CATALOGUE) },
          message: { type: 'string' },
          position: {
            type: 'object',
            required: ['line', 'column', 'offset', 'length'],
            properties: Object.fromEntries(['line', 'column', 'offset', 'length'].map((m) => [m, { type: 'integer' }])),
          },
          hint: { type: 'string' },
          path: { type: 'string', description: 'JSON pointer of the offending member.' },
        },
      },
    },
  },
};

const pathsOf = (operations: readonly Endpoint[]): Record<string, Record<string, unknown>> => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: pathItem(operation) };
  }
  return paths;
};

export const openApiOf = ({ operations, baseUrl, simulated }: OpenApiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'Perpetual-futures market data',
    version: '2.0.0',
    description: `Market data that says how old each number is, who said it and whether it still holds.${simulated ? ' This instance reads simulated venues.' : ''}`,
  },
  servers: [{ url: baseUrl }],
  paths: pathsOf(operations),
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
    schemas: { Errors: ERRORS_SCHEMA },
  },
});
