// One call of the API: request, repetition, answer or error.
import { ENDPOINTS } from './api-types.ts';
import { ApiError, makeOtherType, makeUnreachable, readError } from './errors.ts';
import { computeWaitMs, limitTimer, pause } from './wait.ts';

export type EndpointName = keyof typeof ENDPOINTS;

export type Retry = {
  readonly operation: EndpointName;
  /** 1 for the first repetition. */
  readonly attempt: number;
  readonly waitMs: number;
  readonly error: ApiError;
};

export type CallOptions = { readonly signal?: AbortSignal };

/** What every call is made with. */
export type Caller = {
  readonly baseUrl: string;
  readonly key: string | null;
  readonly fetch: typeof fetch;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly longestWaitMs: number;
  readonly isExact: boolean;
  readonly onRetry: (retry: Retry) => void;
};

type CallRequest = {
  readonly operation: EndpointName;
  readonly request: Readonly<Record<string, unknown>>;
  /** Type that the answer must have; when it is left out the answer is read as JSON. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
};

const REPEATABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Operations whose figures have two formats. */
const HAS_FORMAT: ReadonlySet<EndpointName> = new Set([
  ...(['instruments', 'screen', 'snapshots', 'history', 'candles', 'books', 'liquidations', 'stream'] as const),
]);

const toText = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value));

/** Members of the path are taken out of the request. */
const makeUrl = (
  { baseUrl, isExact }: Caller,
  { operation, request }: CallRequest,
): { url: string; rest: Record<string, unknown> } => {
  const rest: Record<string, unknown> = { ...request };
  const path = ENDPOINTS[operation].path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(toText(value));
  });
  if (isExact && HAS_FORMAT.has(operation)) rest['number_format'] = 'string';
  return { url: baseUrl + path, rest };
};

const writeQuery = (members: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value !== undefined) query.set(name, toText(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
};

const makeRequest = (caller: Caller, asked: CallRequest): { url: string; init: RequestInit } => {
  const { url, rest } = makeUrl(caller, asked);
  const headers = {
    accept: asked.accept ?? 'application/json',
    ...(caller.key === null ? {} : { authorization: `Bearer ${caller.key}` }),
    ...asked.headers,
  };
  // Of a redirect only the body is read: to follow it would lose the key, and turn a POST into a GET.
  const redirect = 'manual';
  if (ENDPOINTS[asked.operation].method === 'GET') return { url: url + writeQuery(rest), init: { headers, redirect } };
  const init = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(rest),
    redirect,
  } as const;
  return { url, init };
};

/** What a file is answered with: a redirect to the store, whose body is the answer. */
const isLink = ({ operation }: CallRequest, { status }: Response): boolean =>
  operation === 'archiveFile' && status === 302;

const isOfType = ({ headers }: Response, type: string): boolean =>
  headers.get('content-type')?.toLowerCase().startsWith(type) ?? false;

/** One attempt; an answer other than 200, or the link of a file, is thrown. */
export const attempt = async (caller: Caller, asked: CallRequest): Promise<Response> => {
  const { url, init } = makeRequest(caller, asked);
  const signal = asked.signal ?? null;
  let response: Response;
  try {
    response = await caller.fetch(url, { ...init, signal });
  } catch (error) {
    if (signal?.aborted && !isTimeout(signal.reason)) throw signal.reason;
    throw makeUnreachable(new URL(url).origin, error);
  }
  if (response.status !== 200 && !isLink(asked, response)) throw await readError(response);
  if (asked.accept !== undefined && !isOfType(response, asked.accept))
    throw await makeOtherType(response, asked.accept);
  return response;
};

const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

const isRepeatable = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.code === 'UNREACHABLE' || REPEATABLE.has(error.status));

const limitSignal = (signal: AbortSignal | undefined, ms: number): AbortSignal => {
  const timeout = AbortSignal.timeout(limitTimer(ms));
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
};

/** Calls, reads the answer, and does so again while that may help. Reading is part of it: an answer may break off. */
export const call = async <Read>(
  caller: Caller,
  asked: CallRequest,
  read: (response: Response) => Promise<Read>,
): Promise<Read> => {
  for (let done = 0; ; done += 1) {
    const signal = limitSignal(asked.signal, caller.timeoutMs);
    try {
      return await readWhole(caller, await attempt(caller, { ...asked, signal }), read);
    } catch (error) {
      if (asked.signal?.aborted) throw asked.signal.reason;
      if (!isRepeatable(error) || done >= caller.retries) throw error;
      if ((error.retryAfter ?? 0) * 1_000 > caller.longestWaitMs) throw error;
      const ms = computeWaitMs(done, error.retryAfter);
      caller.onRetry({ operation: asked.operation, attempt: done + 1, waitMs: ms, error });
      await pause(ms, asked.signal ?? null);
    }
  }
};

const readWhole = async <Read>(
  { baseUrl }: Caller,
  response: Response,
  read: (response: Response) => Promise<Read>,
): Promise<Read> => {
  try {
    return await read(response);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof SyntaxError) throw makeNotJson(response, error);
    throw makeUnreachable(baseUrl, error);
  }
};

const makeNotJson = ({ status }: Response, cause: unknown): ApiError =>
  new ApiError(
    [
      {
        code: 'BAD_ANSWER',
        message: 'The answer is not a JSON object.',
        hint: 'Check the base URL: it may be that of another service.',
      },
    ],
    {
      status,
      cause,
    },
  );
