// The text of a failed call for a model: the API's errors, what to do next, and whether to repeat the call (T-05).
import type { ApiError, ErrorCode } from '../../schemas/errors.ts';
import { isJsonObject, parseJson } from '../../schemas/json-object.ts';
import type { ApiAnswer } from './call-api.ts';
import { fixFor, fixWithToolsFor } from './tool-words.ts';

const RETRY_AFTER_S = 5;

const formatWait = (waitS: number): string => `Wait ${waitS} seconds, then repeat the same call.`;

const printUnavailable = (message: string, hint: string): string =>
  JSON.stringify({ errors: [{ code: 'UNAVAILABLE', message, hint }] });

const makeUnreachable = (retryAfterS: number): ApiAnswer => ({
  status: 503,
  retryAfterS,
  text: printUnavailable('The data API cannot be reached.', formatWait(retryAfterS)),
});

/** A redirect, or a refusal that is not the API's: the next call is answered the same way. */
const makeForeign = (status: number): ApiAnswer => ({
  status,
  retryAfterS: null,
  text: printUnavailable(
    `Something before the data API answered, with status ${status}.`,
    'Tell whoever runs the tool server that it does not get to the data API.',
  ),
});

/** The answer while the API cannot be reached. */
export const UNREACHABLE: ApiAnswer = makeUnreachable(RETRY_AFTER_S);

export type Failure = {
  readonly isError: true;
  readonly content: [{ readonly type: 'text'; readonly text: string }];
  readonly _meta: Record<string, number>;
};

const isRetried = (status: number): boolean => status === 429 || status === 503;
const isRefused = (status: number): boolean => status >= 300 && status < 500 && status !== 429;

/** The failure that an answer without errors of the API is: of a proxy before it, which may say when to come again. */
const replaceForeign = ({ status, retryAfterS }: ApiAnswer): ApiAnswer =>
  isRefused(status) ? makeForeign(status) : makeUnreachable(retryAfterS ?? RETRY_AFTER_S);

/** A hint may name an address of the API, which an agent with tools alone cannot call. */
const ADDRESS = /\b(?:GET|POST) \/v2\//;

/** The hint; where it names an address, the tool or page that has the same (D-517). */
const findHint = ({ code, hint }: ApiError): string => {
  const byTools = hint !== undefined && ADDRESS.test(hint) ? fixWithToolsFor(code) : undefined;
  return byTools ?? hint ?? fixFor(code) ?? 'Correct the request.';
};

/** What the hint names where a condition stands; in a key of `order by` none does (D-518). */
const CONDITION = 'any(venues where ...)';

const NEXT: Partial<Readonly<Record<ErrorCode, (error: ApiError, waitS: number) => string>>> = {
  DQL_SCOPE: ({ hint = CONDITION }) => (hint.includes(CONDITION) ? `Put the field inside ${CONDITION}.` : hint),
  DQL_LIMIT: (error) => `Narrow the request: ${findHint(error)}`,
  AUTH_REQUIRED: () => 'Sign in again.',
  AUTH_INVALID: () => 'Sign in again.',
  RATE_LIMITED: (_error, waitS) => formatWait(waitS),
  UNAVAILABLE: ({ hint }, waitS) => hint ?? formatWait(waitS),
};

const isApiError = (item: unknown): item is ApiError =>
  isJsonObject(item) && typeof item['code'] === 'string' && typeof item['message'] === 'string';

/** The errors of an answer of the API. Those of a proxy before it are another's, such as a list of texts. */
export const readErrors = (text: string): readonly ApiError[] => {
  const answer = parseJson(text);
  const errors = isJsonObject(answer) ? answer['errors'] : null;
  return Array.isArray(errors) && errors.every(isApiError) ? errors : [];
};

/** A refusal of the API as the result of a tool. */
export const toFailure = (answer: ApiAnswer): Failure => {
  const errors = readErrors(answer.text);
  const [first] = errors;
  if (first === undefined) return toFailure(replaceForeign(answer));
  const { code, message, position, hint } = first;
  const retry = isRetried(answer.status);
  const waitS = answer.retryAfterS ?? RETRY_AFTER_S;
  const next = NEXT[code]?.(first, waitS) ?? findHint(first);
  const failure = { code, message, position, hint, errors, next, retry, ...(retry ? { retry_after: waitS } : {}) };
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(failure) }],
    _meta: { 'http/status': answer.status, ...(retry ? { 'http/retry-after': waitS } : {}) },
  };
};
