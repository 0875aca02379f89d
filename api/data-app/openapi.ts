// The OpenAPI 3.1 document, rendered from the operations (OP-01), every shape in its place; `named-openapi.ts` gives them names.
import { CATALOGUE } from '../../schemas/errors.ts';
import { type Endpoint, listPathParameters } from '../contract/endpoint.ts';
import { ENDPOINT_LIMITS, LEAST_BYTES } from '../contract/endpoint-limits.ts';
import type { Shape } from '../contract/json-schema.ts';
import { SERVICE_LIMITS } from '../contract/limits.ts';
import { listCodesByStatus } from './endpoint-codes.ts';
import { listEnvelopeHeaders } from './envelope-headers.ts';
import { findMemberText } from './member-words.ts';
import {
  listSecurity,
  makeChallengeResponse,
  makeHeader,
  makePaidHeaders,
  PAYMENT_SCHEMAS,
  PAYMENT_SECURITY,
  planAnswer,
} from './payment-openapi.ts';
import { ROW_TYPES } from './row-formats.ts';
import { withParts } from './schema-parts.ts';

export type OpenApiOptions = {
  readonly operations: readonly Endpoint[];
  readonly baseUrl: string;
  readonly simulated: boolean;
};

const ERROR = { $ref: '#/components/schemas/ErrorBody' };

/** Of every answer under a key (AC-03); a client slows down by them before it is refused. */
const LIMITS = {
  'RateLimit-Policy': makeHeader(
    'Under a key: limits per second and per day, as `"second";q=2;w=1, "day";q=5000;w=86400`.',
  ),
  RateLimit: makeHeader('Under a key: requests left of the day and seconds until it ends, as `"day";r=4880;t=43200`.'),
};

const WAIT = makeHeader('Whole seconds to wait before the call is repeated.');
/** What refusals of a status say in headers (AC-03, E-06). */
const REFUSAL_HEADERS: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': makeHeader('`Bearer`.') },
  429: {
    ...LIMITS,
    'Retry-After': WAIT,
    'X-Service-Limit': makeHeader(
      `Limit that was reached: ${SERVICE_LIMITS.map((limit) => `\`${limit}\``).join(', ')}.`,
    ),
  },
  503: { 'Retry-After': WAIT },
};

const RECEIPT = { 'X-Service-Receipt': makeHeader('Receipt id of the answer. Quote it to support.') };

const makeRefusal = (status: string, codes: string) => ({
  description: codes,
  headers: { ...RECEIPT, ...REFUSAL_HEADERS[status] },
  content: { 'application/json': { schema: ERROR } },
});

/** Its answers besides 200: statuses, each with its codes. */
const listErrors = (endpoint: Endpoint) =>
  Object.fromEntries(
    [...listCodesByStatus(endpoint)].map(([status, codes]) => [
      status,
      status === 402 ? makeChallengeResponse(codes.join(', '), RECEIPT) : makeRefusal(String(status), codes.join(', ')),
    ]),
  );

/** Headers that a request may send besides its credentials. */
const MAX_BYTES = {
  name: 'X-Service-Max-Bytes',
  in: 'header',
  required: false,
  description: 'Most bytes that the answer may have. A larger answer is refused with `DQL_LIMIT`.',
  schema: { type: 'integer', minimum: LEAST_BYTES, maximum: ENDPOINT_LIMITS.response_bytes },
};
const NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: '`ETag` of an earlier answer. An unchanged answer is a 304 without a body.',
  schema: { type: 'string' },
};
const LAST_EVENT = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description:
    'Id of the last event received, with the same parameters. The stream resumes after it when it is at most 300 s old; else a `gap` and new snapshots are sent.',
  schema: { type: 'string', maxLength: 512 },
};

const listHeaderParameters = (endpoint: Endpoint) =>
  endpoint.class === 'stream' ? [LAST_EVENT] : [MAX_BYTES, ...(hasTag(endpoint) ? [NONE_MATCH] : [])];

/** A shape whose enumerations say that their values are texts: makers of clients read no type from the values. */
const annotateShape = (shape: Shape): Shape => {
  const whole = withParts(shape, (part) => annotateShape(part));
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
export const describeSchema = (schema: Shape, path: readonly string[]): Shape => annotateShape(withWords(schema, path));

const listParameters = ({ input, example, path }: Endpoint) => {
  const { properties = {}, required = [] } = input;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: listPathParameters(path).includes(name) ? 'path' : 'query',
    required: required.includes(name),
    description: schema.description ?? name,
    schema: annotateShape(schema),
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

const TAG = makeHeader(
  'Tag of the answer, to be sent as `If-None-Match`. An answer with `settled` has one only when that is true.',
);

/** What an answer becomes when the caller has it. */
const makeUnchangedAnswer = (endpoint: Endpoint) =>
  hasTag(endpoint)
    ? {
        304: {
          description: 'The answer has not changed since the one whose `ETag` was sent as `If-None-Match`.',
          headers: { ...RECEIPT, ...LIMITS, ETag: TAG },
        },
      }
    : {};

/** Where the envelope is when rows are sent as a table (N-15). */
const makeEnvelope = (endpoint: Endpoint) =>
  Object.fromEntries(
    [...listEnvelopeHeaders(endpoint)].map(([name, member]) => {
      const words = member === 'gaps' ? 'Number of `gaps` of the items' : `\`${member}\` of the answer`;
      return [name, makeHeader(`${words}, when the rows are answered as a table.`)];
    }),
  );

/** Headers of a good answer that a client acts on. */
const makeAnswerHeaders = (endpoint: Endpoint) => ({
  ...RECEIPT,
  ...LIMITS,
  ...(hasTag(endpoint) ? { ETag: TAG } : {}),
  ...(endpoint.redirects ? { Location: makeHeader('The link to the file.') } : {}),
  ...makePaidHeaders(endpoint),
  ...makeEnvelope(endpoint),
});

const makePathItem = (operation: Endpoint) => {
  const { name, summary, price, pricing, method, input, example } = operation;
  return {
    operationId: name,
    summary,
    description: [example.question, ...(pricing === undefined ? [] : [pricing])].join(' '),
    ...(operation.deprecated === undefined ? {} : { deprecated: true }),
    security: listSecurity(operation),
    ...(price === null ? {} : { 'x-price-usdc': String(price / 1_000_000) }),
    ...planAnswer(operation),
    parameters: [...(method === 'GET' ? listParameters(operation) : []), ...listHeaderParameters(operation)],
    ...(method === 'GET'
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: annotateShape(input), example: example.input } },
          },
        }),
    responses: {
      [operation.redirects ? 302 : 200]: {
        description: summary,
        headers: makeAnswerHeaders(operation),
        content: makeContent(operation),
      },
      ...makeUnchangedAnswer(operation),
      ...listErrors(operation),
    },
  };
};

const ERROR_SCHEMAS = {
  ErrorBody: {
    type: 'object',
    required: ['errors'],
    properties: {
      errors: {
        type: 'array',
        minItems: 1,
        maxItems: 20,
        items: { $ref: '#/components/schemas/ErrorItem' },
        description: 'Every fault found, at most 20. The status of the answer is that of the first.',
      },
    },
  },
  ErrorItem: {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode', description: 'Stable code. Branch on it.' },
      message: { type: 'string', description: 'What is wrong. Its wording may change.' },
      position: {
        $ref: '#/components/schemas/ErrorPosition',
        description: 'Place of the fault in the text of the query or selection.',
      },
      hint: { type: 'string', description: 'What to send instead.' },
      path: { type: 'string', description: 'JSON pointer of the member or parameter with the fault.' },
    },
  },
  ErrorCode: { type: 'string', enum: Object.keys(CATALOGUE) },
  ErrorPosition: {
    type: 'object',
    required: ['line', 'column', 'offset', 'length'],
    properties: {
      line: { type: 'integer', description: 'Line, from 1.' },
      column: { type: 'integer', description: 'Column, from 1, in Unicode code points.' },
      offset: { type: 'integer', description: 'Offset in the text, from 0, in Unicode code points.' },
      length: { type: 'integer', description: 'Length, in Unicode code points; 0 at the end of the text.' },
    },
  },
};

const describePaths = (operations: readonly Endpoint[]): Record<string, Record<string, unknown>> => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: makePathItem(operation) };
  }
  return paths;
};

/** What holds for every call; readers of the document alone need no other page (OP-01). */
const RULES = [
  'Market data of perpetual futures. Each value has its venue, its timestamps, its age and its status.',
  '',
  '* **Credentials**: send a key as `Authorization: Bearer <API_KEY>`, or pay for one call (x402 version 2). Venues, instruments, the catalogue, parse, day anchors and receipts need neither.',
  '* **Values**: only a reading with `status` `present` has numbers. Any other reading has a `reason` instead; with `allow_stale` the number of a stale value is under `withheld`. A missing value is never 0 and never an earlier value.',
  '* **Selections** (`where`): `base in (BTC, ETH) and quote = USDT`, on `instrument`, `base`, `venue`, `quote`, `symbol`. Without one, everything that the plan covers is selected.',
  '* **Units**: prices are in the quote currency of the listing and are never converted. Rates and spreads are fractions: 0.0001 is one basis point. Quantities are as published unless `units` is `base` or `quote`; `units` of the answer names the unit of each figure.',
  '* **Instants** are UTC. An answer writes ISO 8601 with milliseconds or microseconds; a request may send an RFC 3339 instant with at most six fractional digits, or a date.',
  '* **Settled answers**: an answer about the past with `settled` true does not change as long as its rows are kept; `items_sha256` is the hash of its items.',
  '* **Tables**: history, candles and liquidations return rows as `text/csv`, `application/x-ndjson` or `application/vnd.apache.parquet` when `Accept` asks for it.',
  '* **Errors** are `{"errors": [{"code", "message", "position", "hint", "path"}]}` with every fault found. Unknown members and parameters are refused. Repeat a 429 or a 503 after `Retry-After` seconds.',
  '* **Limits**: a request body has at most 64 KiB, an answer at most 8 MiB. Limits of a plan are in the answer of account, limits of the language in the catalogue.',
  '* **Open sets**: clients must ignore members and events that they do not know.',
];

export type OpenApi = ReturnType<typeof makeOpenApi>;

export const makeOpenApi = ({ operations, baseUrl, simulated }: OpenApiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'Perpetual-futures market data',
    version: '2.0.0',
    description: [...(simulated ? ['This instance reads simulated venues.', ''] : []), ...RULES].join('\n'),
  },
  servers: [{ url: baseUrl }],
  paths: describePaths(operations),
  components: {
    securitySchemes: {
      key: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key, sent as `Authorization: Bearer <API_KEY>`. Never send it in the URL.',
      },
      ...PAYMENT_SECURITY,
    },
    schemas: { ...ERROR_SCHEMAS, ...PAYMENT_SCHEMAS },
  },
});
