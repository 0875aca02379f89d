// One HTTP call to the data API for one call of a tool: arguments are the request, the bytes of the answer come back as they are (T-04, T-11).
import type { Static } from 'typebox';
import type { Dispatcher } from 'undici';
import { type ApiError, sortErrors } from '../../schemas/errors.ts';
import { printErrors } from '../contract/errors-text.ts';
import type { Shape } from '../contract/json-schema.ts';
import { refuseUnreadable } from '../data-app/sent-errors.ts';
import { findShapeFaults } from '../data-app/shape-faults.ts';
import { printSelection } from '../language/printer.ts';
import { toSelection, type Where } from '../language/where-object.ts';

/** Bytes of an answer that model clients commonly still take (T-04). */
export const MOST_BYTES = 65_536;
/** Longer than any budget of the API: past it the service hangs. */
const TIMEOUT_MS = 30_000;

/** The caller, and how long it waits for the answer. */
export type Caller = {
  /** Key that the call counts on. */
  readonly key: string;
  /** Address of the client; null where there is none, as over stdio. */
  readonly address: string | null;
  readonly signal: AbortSignal;
};

export type ApiAnswer = { readonly status: number; readonly retryAfterS: number | null; readonly text: string };

export type Arguments = Readonly<Record<string, unknown>>;

/** The endpoint behind a tool. */
export type CalledEndpoint = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Its members as a body would have them, none of them required. */
  readonly members: Shape;
  /** Arguments that are sent unless the caller gives others. */
  readonly defaults: Arguments;
};

/** Rejects when the API cannot be reached, does not answer in time, or the caller has gone. */
export type CallApi = (endpoint: CalledEndpoint, args: Arguments, caller: Caller) => Promise<ApiAnswer>;

/** Characters of values without a text of which none fits the head of a request. */
const LONGEST_VALUES = 65_536;

/** Of newer engines than the library of types knows: a number whose digits are kept. */
const { isRawJSON } = JSON as unknown as { readonly isRawJSON: (value: unknown) => boolean };

const isPlain = (value: unknown): boolean => typeof value !== 'object' || isRawJSON(value);
/** Whether a URL can have the value as it is meant; as text, null would be the word and an object a word like any other. */
const hasText = (name: string, value: unknown): boolean => {
  if (name === 'where') return typeof value === 'string';
  return Array.isArray(value) ? value.every(isPlain) : isPlain(value);
};

/** What is wrong with values that a URL would have to take as text: the API could not name them in what was sent (D-177, D-695). */
const findFaults = ({ members: input }: CalledEndpoint, args: Arguments): readonly ApiError[] => {
  const textless = Object.entries(args).filter(([name, value]) => !hasText(name, value));
  if (textless.length === 0) return [];
  const values = Object.fromEntries(textless);
  if (JSON.stringify(values).length > LONGEST_VALUES) return refuseUnreadable('HPE_HEADER_OVERFLOW').errors;
  return sortErrors(findShapeFaults({ input }, values));
};

type SelectionObject = Exclude<Static<typeof Where>, string>;

const formatParameter = (name: string, value: unknown): string => {
  if (typeof value === 'string') return value;
  return name === 'where' ? printSelection(toSelection(value as SelectionObject, '')) : JSON.stringify(value);
};

/** Arguments as parameters of a URL: a list is a parameter given several times. One without members is one without a text, never none: that means all. */
const writeQuery = (args: Arguments): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    for (const one of Array.isArray(value) ? (value.length > 0 ? value : ['']) : [value])
      query.append(name, formatParameter(name, one));
  }
  return query.size === 0 ? '' : `?${query}`;
};

/** Seconds, or a date as a proxy may send it; a wait below a second is none (D-583). */
const readRetryAfterS = (header: string | string[] | undefined, nowMs: number): number | null => {
  if (typeof header !== 'string') return null;
  const isDate = /^[A-Z][a-z]{2}, /.test(header);
  const seconds = isDate ? Math.ceil((Date.parse(header) - nowMs) / 1_000) : Number(/^\d{1,9}$/.exec(header)?.[0]);
  return seconds >= 1 ? seconds : null;
};

/** Calls the API at `baseUrl`, which may have a path, over the connections of `dispatcher`. */
export const createCallApi = (baseUrl: string, dispatcher: Dispatcher): CallApi => {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  return async (endpoint, args, { key, address, signal }) => {
    const { method, defaults } = endpoint;
    const path = `${prefix}${endpoint.path}`;
    const sent = { ...defaults, ...args };
    const isGet = method === 'GET';
    const faults = isGet ? findFaults(endpoint, sent) : [];
    if (faults.length > 0) return { status: 400, retryAfterS: null, text: printErrors(faults) };
    const answer = await dispatcher.request({
      origin,
      path: isGet ? `${path}${writeQuery(sent)}` : path,
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        'x-service-max-bytes': String(MOST_BYTES),
        // A page of the usual number of rows is as long as it fits (T-04, D-360).
        ...('limit' in defaults && sent['limit'] === defaults['limit'] ? { prefer: 'shorter-page' } : {}),
        ...(address === null ? {} : { 'x-forwarded-for': address }),
        ...(isGet ? {} : { 'content-type': 'application/json' }),
      },
      ...(isGet ? {} : { body: JSON.stringify(sent) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, retryAfterS: readRetryAfterS(answer.headers['retry-after'], Date.now()), text };
  };
};
