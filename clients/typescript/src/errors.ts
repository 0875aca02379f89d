// The one error of this client: what the API refused, or why it could not be reached.
import type { ErrorBody, ErrorCode, ErrorItem, ErrorPosition } from './api-types.ts';

/** Codes of the API, and those of the client itself. */
export type ClientCode =
  /** No answer came: refused, broken off, or too slow. */
  | 'UNREACHABLE'
  /** An answer came that is none of the API, such as a proxy's page. */
  | 'BAD_ANSWER'
  /** A downloaded file has another hash than in the list. */
  | 'BAD_FILE';
export type AnyCode = ErrorCode | ClientCode;

type Facts = {
  readonly status?: number;
  readonly receipt?: string | null;
  readonly retryAfter?: number | null;
  readonly limit?: string | null;
  readonly cause?: unknown;
};

/** Branch on `code`: it is stable, `message` is not. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: AnyCode;
  /** Every fault that was found, the first one being this error's own. */
  readonly errors: readonly ErrorItem[];
  /** Place of the fault in the text of a query or selection. */
  readonly position: ErrorPosition | null;
  readonly hint: string | null;
  /** JSON pointer of the member at fault. */
  readonly path: string | null;
  /** Status of the answer; 0 when there was none. */
  readonly status: number;
  /** Names the answer; quote it to support. */
  readonly receipt: string | null;
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | null;
  /** Name of the limit that was reached. */
  readonly limit: string | null;

  constructor(errors: readonly [ErrorItem | ClientFault, ...ErrorItem[]], facts: Facts = {}) {
    const [first] = errors;
    super(first.message, facts.cause === undefined ? {} : { cause: facts.cause });
    this.code = first.code;
    this.errors = errors as readonly ErrorItem[];
    this.position = 'position' in first ? (first.position ?? null) : null;
    this.path = 'path' in first ? (first.path ?? null) : null;
    this.hint = first.hint ?? null;
    this.status = facts.status ?? 0;
    this.receipt = facts.receipt ?? null;
    this.retryAfter = facts.retryAfter ?? null;
    this.limit = facts.limit ?? null;
  }
}

type ClientFault = { readonly code: ClientCode; readonly message: string; readonly hint?: string };

export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError;

/**
 * `Retry-After` in seconds, from a number or a date; a date begins with the name of a day (`-5`, too, is one to `Date.parse`). The form without a zone
 * is in UTC (RFC 9110, section 5.6.7).
 */
const readRetryAfter = (headers: Headers): number | null => {
  const text = headers.get('retry-after');
  if (text === null) return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}/.test(text)) return null;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1_000);
};

/** Other programs have errors, too, such as a list of texts. */
const isItem = (item: Partial<ErrorItem> | null): boolean =>
  typeof item?.code === 'string' && typeof item.message === 'string';

const readBody = (text: string): ErrorBody | null => {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null;
    return Array.isArray(body?.errors) && body.errors.length > 0 && body.errors.every(isItem)
      ? (body as ErrorBody)
      : null;
  } catch {
    return null;
  }
};

/** The error of an answer that is none. */
export const readError = async (response: Response): Promise<ApiError> => {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const facts = {
    status,
    receipt: headers.get('x-service-receipt'),
    retryAfter: readRetryAfter(headers),
    limit: headers.get('x-service-limit'),
  };
  const body = readBody(text);
  if (body !== null) return new ApiError(body.errors as readonly [ErrorItem, ...ErrorItem[]], facts);
  const to = headers.get('location');
  const said = `${to === null ? '' : `which leads to ${to}, `}${text.slice(0, 80).replaceAll(/\s+/g, ' ')}`;
  return makeForeign(`status ${status}, ${said}`, facts);
};

const makeForeign = (found: string, facts: Facts): ApiError => {
  const message = `The answer is not from the API: ${found}`;
  return new ApiError(
    [{ code: 'BAD_ANSWER', message, hint: 'Check the base URL, and any proxy on the way to it.' }],
    facts,
  );
};

/** The error of an answer of another media type than the API has, such as a proxy's page in place of a table. */
export const makeOtherType = async ({ status, headers, body }: Response, type: string): Promise<ApiError> => {
  await body?.cancel().catch(() => undefined);
  return makeForeign(`status ${status}, ${headers.get('content-type') ?? 'no media type'} instead of ${type}`, {
    status,
  });
};

/** What `fetch` says of a connection is in its cause; of a name with several addresses it is in the error of each. */
const findReason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return findReason(error.cause);
  if (error.message === '' && error instanceof AggregateError) return findReason(error.errors[0]);
  return error.message || error.name;
};

export const makeUnreachable = (url: string, cause: unknown): ApiError => {
  const message = `${url} did not answer: ${findReason(cause)}`;
  return new ApiError(
    [{ code: 'UNREACHABLE', message, hint: 'Check the base URL, that the service runs there, and the network.' }],
    { cause },
  );
};
