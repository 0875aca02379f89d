// Errors as they are sent: in their one shape, with the headers of their status (E-05); and the failures that a caller may see.
import type { FastifyReply } from 'fastify';
import { CATALOGUE, makeServiceError, ServiceError } from '../../schemas/errors.ts';
import { printErrors } from '../contract/errors-text.ts';
import { LimitReached, makeLimitHeaders } from '../contract/limits.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';
const RETRY_AFTER_S = '5';

export const WRONG_MEDIA_TYPE: ServiceError = makeServiceError(
  'UNSUPPORTED_MEDIA_TYPE',
  'The body is not application/json.',
  { hint: 'Send Content-Type: application/json.' },
);

export const WRONG_ENCODING: ServiceError = makeServiceError('UNSUPPORTED_MEDIA_TYPE', 'The body is encoded.', {
  hint: 'Send it without Content-Encoding.',
});

export const sendErrors = (reply: FastifyReply, error: ServiceError): FastifyReply => {
  const { status, errors } = error;
  if (error instanceof LimitReached) reply.headers(makeLimitHeaders(error.refusal));
  if (status === 503) reply.header('retry-after', RETRY_AFTER_S);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  // RFC 9110 section 15.5.16: which of the two a 415 is about.
  if (error === WRONG_MEDIA_TYPE) reply.header('accept', 'application/json');
  if (error === WRONG_ENCODING) reply.header('accept-encoding', 'identity');
  return reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE).send(printErrors(errors));
};

/** Codes of the HTTP parser that have a specific text. */
const UNREADABLE: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  HPE_HEADER_OVERFLOW: ['The URL and headers are larger than 16 KiB.', 'Shorten them; long selections go in a body.'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    'The request was not complete in time.',
    'Send the complete request again without pauses.',
  ],
};

/** A request that never became one. */
export const refuseUnreadable = (code = ''): ServiceError => {
  const [message, hint] = UNREADABLE[code] ?? ['The request cannot be read.', 'Send a well-formed URL and body.'];
  return makeServiceError('DQL_JSON_SCHEMA', message, { hint });
};

const isFastifyError = (error: unknown): error is { readonly statusCode: number; readonly code: string } =>
  typeof error === 'object' && error !== null && 'statusCode' in error && typeof error.statusCode === 'number';

/** The error that a caller may see; null for our own faults, which are logged and answer `INTERNAL`. */
export const toServiceError = (error: unknown): ServiceError | null => {
  if (error instanceof ServiceError) return error;
  if (!isFastifyError(error) || error.statusCode >= 500) return null;
  if (error.statusCode === 413) {
    return makeServiceError('PAYLOAD_TOO_LARGE', 'The body is larger than 64 KiB.', {
      hint: CATALOGUE.PAYLOAD_TOO_LARGE.fix,
    });
  }
  return error.statusCode === 415 ? WRONG_MEDIA_TYPE : refuseUnreadable(error.code);
};

export const INTERNAL: ServiceError = makeServiceError('INTERNAL', 'The service failed to answer.', {
  hint: CATALOGUE.INTERNAL.fix,
});
