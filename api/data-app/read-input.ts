// The input of a request as it was sent: parameters of the URL or a JSON body, and the one header that is checked with them (E-01 steps 5 and 6).
import type { FastifyRequest } from 'fastify';
import { type ApiError, makeShapeFault, ServiceError } from '../../schemas/errors.ts';
import type { Call } from '../access/call.ts';
import { type Endpoint, listPathParameters } from '../contract/endpoint.ts';
import { clip, toPointerName } from '../contract/sent-text.ts';
import { parseExactly } from '../language/exact-json.ts';
import { findByteLimitFaults } from './answers.ts';
import { findRepeatedMembers, type MemberPath } from './repeated-members.ts';
import { WRONG_ENCODING, WRONG_MEDIA_TYPE } from './sent-errors.ts';

export type Read = {
  readonly input: unknown;
  /** Faults of members of the input. */
  readonly faults: readonly ApiError[];
  /** Faults outside of its members: headers, parameters of a URL that accepts none, members that are given twice in a body. */
  readonly apart: readonly ApiError[];
};

const CONVERSIONS: Readonly<Record<string, (text: string) => unknown>> = {
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  // Of any length, as a number of a body: what passes a limit is clamped (H-16g).
  integer: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
};

/** A list is given by repeats of its parameter, by commas, or by both. */
const addToList = (held: unknown, text: string): string[] => [...(Array.isArray(held) ? held : []), ...text.split(',')];

const makeRepeatedFault = (path: MemberPath): ApiError => {
  const name = clip(String(path.at(-1)));
  return makeShapeFault(
    `/${path.map((part) => toPointerName(String(part))).join('/')}`,
    `"${name}" is given twice.`,
    'Give it once.',
  );
};

/** Reads query parameters into members; a parameter given twice is a fault, unless it is a list. */
const readQuery = (endpoint: Endpoint, { query, params }: Call, apart: readonly ApiError[]): Read => {
  const { properties = {} } = endpoint.input;
  const input: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const repeated = new Set<string>();
  for (const name of listPathParameters(endpoint.path)) input[name] = params[name] ?? '';
  for (const [name, text] of query) {
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    if (type === 'array') {
      input[name] = addToList(input[name], text);
      continue;
    }
    if (Object.hasOwn(input, name)) repeated.add(name);
    input[name] = (type === undefined ? undefined : CONVERSIONS[type])?.(text) ?? text;
  }
  return { input, faults: [...repeated].map((name) => makeRepeatedFault([name])), apart };
};

/** Parameters in the URL of an endpoint that takes a body. */
const findStrayParameters = (query: URLSearchParams): ApiError[] =>
  [...new Set(query.keys())].map((name) =>
    makeShapeFault(
      `/${toPointerName(name)}`,
      `"${clip(name)}" is in the URL, but this endpoint takes no parameters there.`,
      'Send it in the body.',
    ),
  );

/** A body as JSON. A body that is not JSON, or not UTF-8, is a fault of shape; if a member is given twice, the last one is checked with the others. */
const readBody = (body: Buffer, apart: readonly ApiError[]): Read => {
  const none = makeShapeFault('', 'The body is empty.', 'Send a JSON object, such as {}.');
  if (body.length === 0) throw new ServiceError([...apart, none]);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    const input = parseExactly(text);
    return { input, faults: [], apart: [...apart, ...findRepeatedMembers(text).map(makeRepeatedFault)] };
  } catch {
    const broken = makeShapeFault('', 'The body is not JSON.', 'Send one JSON object in UTF-8.');
    throw new ServiceError([...apart, broken]);
  }
};

/** Parameters mean nothing to JSON (RFC 8259 section 11), but for a charset, which can only be UTF-8. */
const JSON_BODY = /^application\/json *(?:;(?!\s*charset=(?!"?utf-8"?\s*(?:;|$)))[^;]*)*$/i;

/** Whether the media type that was sent is JSON, independent of the one that the framework sees. */
export const isJsonType = ({ raw }: FastifyRequest): boolean => JSON_BODY.test(raw.headers['content-type'] ?? '');

/** Whether the body was sent in an encoding, such as gzip: none is taken. */
const isEncoded = ({ raw }: FastifyRequest): boolean => !/^(?:|identity)$/i.test(raw.headers['content-encoding'] ?? '');

/** The input of an operation as it was sent; its media type and encoding are checked after its size. */
export const readInput = (request: FastifyRequest, call: Call): Read => {
  const { operation, query } = call;
  const apart = findByteLimitFaults(request);
  if (operation.method === 'GET') return readQuery(operation, call, apart);
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (body.length > 0 && !isJsonType(request)) throw WRONG_MEDIA_TYPE;
  if (body.length > 0 && isEncoded(request)) throw WRONG_ENCODING;
  return readBody(body, [...apart, ...findStrayParameters(query)]);
};
