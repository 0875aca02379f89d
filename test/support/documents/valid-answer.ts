// Requirements on every answer of the data app, whatever the request: its declared shape and order, or the one shape of errors with the
// headers of its status, and its place in `/openapi.json` (N-01, N-12 to N-14, E-05, E-06, AC-03).
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { SERVICE_LIMITS } from '../../../api/contract/limits.ts';
import { makeOpenApi } from '../../../api/data-app/openapi.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM_EVENTS } from '../../../api/stream/events.ts';
import { type ApiError, CATALOGUE, sortErrors } from '../../../schemas/errors.ts';
import type { StreamEvent } from '../services/stream-client.ts';
import { findSchemaFaults, listShapeFaults } from './closed-schema.ts';

type Answered = {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
};

/** A literal path is matched before one with parameters (AN-01). */
const ROUTES = (OPERATIONS as readonly Endpoint[])
  .toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
  .map((endpoint) => ({
    endpoint,
    shape: new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

const JSON_TYPE = 'application/json; charset=utf-8';
const MEMBERS = ['code', 'message', 'position', 'hint', 'path'];

/** Faults of the list of errors itself; without a status it is part of a stream. */
const listFaults = (errors: readonly ApiError[], status: number | null): string[] => {
  const [first] = errors;
  if (first === undefined || errors.length > 20) return ['no list of 1 to 20 errors'];
  const known = errors.filter(({ code }) => code in CATALOGUE);
  return [
    ...(known.length < errors.length ? ['a code that the catalogue has not'] : []),
    ...(status === null || CATALOGUE[first.code]?.status === status ? [] : [`${first.code} with status ${status}`]),
    ...(JSON.stringify(sortErrors(errors)) === JSON.stringify(errors) ? [] : ['errors out of order']),
    ...errors.flatMap((error) => {
      const order = MEMBERS.filter((member) => member in error).join();
      return Object.keys(error).join() === order && error.message.length > 0 ? [] : [`members of ${error.code}`];
    }),
  ];
};

/** Headers that a status must have. */
const headerFaults = ({ statusCode, headers }: Answered): string[] => {
  const needed: Readonly<Record<number, readonly [string, RegExp][]>> = {
    401: [['www-authenticate', /^Bearer$/]],
    402: [['payment-required', /^[A-Za-z0-9+/=]{1,4096}$/]],
    405: [['allow', /^[A-Z]+(, [A-Z]+)*$/]],
    429: [
      ['retry-after', /^[1-9]\d*$/],
      ['x-service-limit', new RegExp(`^(${SERVICE_LIMITS.join('|')})$`)],
    ],
    503: [['retry-after', /^[1-9]\d*$/]],
  };
  const all: readonly [string, RegExp][] = [
    ['x-service-receipt', /^rcp_[0-9A-HJKMNP-TV-Z]{26}$/],
    ['access-control-allow-origin', /^\*$/],
    ...(statusCode >= 400 ? [['cache-control', /^no-store$/] as [string, RegExp]] : []),
    ...(needed[statusCode] ?? []),
  ];
  return all.flatMap(([name, shape]) => (shape.test(String(headers[name])) ? [] : [`${name}: ${headers[name]}`]));
};

/** Whether something in it was converted with a mark (N-07). */
const hasMark = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, part]) => (name === 'conversion' ? 'mark' in part : hasMark(part)));
};

/** Bounds are complete: that of a mark which converts is used too (F-03). */
const boundFaults = ({ freshness, ...answer }: { readonly freshness?: object }): string[] =>
  freshness !== undefined && !('mark' in freshness) && hasMark(answer) ? ['freshness without the bound of mark'] : [];

const bodyFaults = (endpoint: Endpoint | undefined, { statusCode, headers, body }: Answered): string[] => {
  if (statusCode >= 400) {
    if (headers['content-type'] !== JSON_TYPE) return [`errors as ${headers['content-type']}`];
    return listFaults((JSON.parse(body) as { errors: ApiError[] }).errors, statusCode);
  }
  // The purchase of a plan is returned on any payable path (P-06).
  const isJson = headers['content-type'] === JSON_TYPE && headers['content-encoding'] === undefined;
  if (endpoint === undefined || !isJson || body.startsWith('{"purchase"')) return [];
  const answer = JSON.parse(body) as { readonly receipt_id?: string; readonly freshness?: object };
  const isOfReceipt = endpoint.class === 'receipt' || answer.receipt_id === undefined;
  return [
    ...findSchemaFaults(endpoint, answer),
    ...boundFaults(answer),
    ...(isOfReceipt || answer.receipt_id === headers['x-service-receipt'] ? [] : ['two receipts']),
  ];
};

type Responses = Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
const DOCUMENT = makeOpenApi({ operations: OPERATIONS as readonly Endpoint[], baseUrl: '', simulated: false });

/** Its status and media type are those that `/openapi.json` states (OP-01). */
const documentFaults = ({ path, method }: Endpoint, { statusCode, headers, body }: Answered): string[] => {
  const item = DOCUMENT.paths[path]?.[method.toLowerCase()] as { readonly responses: Responses };
  const stated = item.responses[statusCode];
  if (stated === undefined) return [`status ${statusCode} is not in /openapi.json`];
  const type = String(headers['content-type']).split(';')[0] as string;
  return body === '' || type in (stated.content ?? {}) ? [] : [`${type} with ${statusCode} is not in /openapi.json`];
};

/** Faults of an event of a stream: undocumented, or of another shape (ST-02, ST-03, ST-09). */
export const invalidEvent = ({ id, event, data }: StreamEvent): string[] => {
  const idFaults = id.length > 0 && id.length <= 512 ? [] : [`the id of ${event}`];
  if (event === 'error') return [...idFaults, ...listFaults((data as { errors: ApiError[] }).errors, null)];
  // Transitions of rules are sent besides the log (D-113).
  if (event === 'rule') return idFaults;
  const schema = (STREAM_EVENTS as Readonly<Record<string, object>>)[event];
  if (schema === undefined) return [`${event} is no event`];
  return [...idFaults, ...listShapeFaults('stream', schema, data).map((fault) => `${event}: ${fault}`)];
};

/** Everything that is forbidden in any answer; paths outside of `/v2` and streams are not checked here. */
export const invalid = ({ method, url }: { method: string; url: string }, answer: Answered): string[] => {
  const path = url.split('?')[0] ?? '';
  if (!path.startsWith('/v2') || method === 'OPTIONS') return [];
  const endpoint = ROUTES.find((route) => route.endpoint.method === method && route.shape.test(path))?.endpoint;
  const ofDocument = endpoint === undefined ? [] : documentFaults(endpoint, answer);
  const hasBody = method !== 'HEAD' && answer.statusCode !== 304 && answer.body !== '';
  return [...headerFaults(answer), ...ofDocument, ...(hasBody ? bodyFaults(endpoint, answer) : [])];
};
