// How answers leave: the bytes of an operation's answer with its caching, and errors in their one shape (E-05, N-10, N-14, T-04).
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ApiError, CATALOGUE, ServiceError, serviceError } from '../../schemas/errors.ts';
import { writeJson } from '../../schemas/json.ts';
import type { Answer, Operation } from '../operations/operation.ts';
import { acceptedFormat, envelopeHeaders, ROW_TYPES, writeRows } from './row-formats.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
/** What can never change may be kept by its owner (N-14). */
const SETTLED = 'private, max-age=86400, immutable';
const RESPONSE_BYTES = 8_388_608;
const LEAST_BYTES = 4_096;
const RETRY_AFTER_S = '5';
/** What differs between two answers that say the same: the instant of evaluation and ages. */
const VOLATILE = /"(?:evaluated_at|as_of)":"[^"]*"|"age_ms":-?\d+/g;

/** `X-Service-Max-Bytes` may lower the limit (T-04). */
const byteLimitOf = (request: FastifyRequest): number => {
  const asked = request.headers['x-service-max-bytes'];
  if (typeof asked !== 'string' || !/^\d{1,9}$/.test(asked)) return RESPONSE_BYTES;
  return Math.min(RESPONSE_BYTES, Math.max(LEAST_BYTES, Number(asked)));
};

const refuseTooLarge = (text: string, limit: number, operation: Operation): void => {
  if (text.length * 3 <= limit) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= limit) return;
  const hint = operation.name === 'instruments' ? 'Narrow where, or lower limit.' : 'Narrow where or layers.';
  throw serviceError('DQL_LIMIT', `The answer has ${bytes} bytes, the limit is ${limit}.`, { hint });
};

/** Weak, over the answer without what is volatile; the same answer from any node has the same tag. */
const etagOf = (text: string): string =>
  `W/"${createHash('sha256').update(text.replace(VOLATILE, '')).digest('base64url').slice(0, 27)}"`;

const matches = (request: FastifyRequest, etag: string): boolean => {
  const asked = request.headers['if-none-match'];
  if (asked === undefined) return false;
  return asked
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''));
};

/** Sends the answer of an operation. Throws ServiceError when it is too large. */
export const sendAnswer = (
  answer: Answer,
  operation: Operation,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply => {
  const { itemsText, settledAs } = answer;
  const format = itemsText === undefined ? 'json' : acceptedFormat(request.headers.accept);
  if (itemsText !== undefined) reply.header('vary', 'accept');
  const isRows = itemsText !== undefined && format !== 'json';
  const text = isRows ? writeRows(format, itemsText) : writeJson(answer.body, { numberFormat: answer.numberFormat });
  refuseTooLarge(text, byteLimitOf(request), operation);
  const type = isRows ? ROW_TYPES[format] : JSON_TYPE;
  if (isRows) reply.headers(envelopeHeaders(answer.body));
  if (settledAs !== undefined) {
    const etag = isRows ? `"${settledAs}.${format}"` : `"${settledAs}"`;
    return reply.header('etag', etag).header('cache-control', SETTLED).type(type).send(text);
  }
  if (isRows) return reply.header('cache-control', 'no-store').type(type).send(text);
  if (operation.cacheS === null) return reply.header('cache-control', 'no-store').type(JSON_TYPE).send(text);
  const etag = etagOf(text);
  reply.header('etag', etag).header('cache-control', `public, max-age=${operation.cacheS}`);
  return matches(request, etag) ? reply.code(304).send() : reply.type(JSON_TYPE).send(text);
};

/** Members of an error in the documented order (E-05). */
const asWritten = ({ code, message, position, hint, path }: ApiError): Record<string, unknown> => ({
  code,
  message,
  position,
  hint,
  path,
});

export const errorsText = (errors: readonly ApiError[]): string => JSON.stringify({ errors: errors.map(asWritten) });

export const sendErrors = (
  reply: FastifyReply,
  { status, errors }: Pick<ServiceError, 'status' | 'errors'>,
): FastifyReply => {
  if (status === 503) reply.header('retry-after', RETRY_AFTER_S);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE).send(errorsText(errors));
};

const isFastifyError = (error: unknown): error is { readonly statusCode: number; readonly code: string } =>
  typeof error === 'object' && error !== null && 'statusCode' in error && typeof error.statusCode === 'number';

/** What a caller may know of a failure; null for our own faults, which are logged and answer `INTERNAL`. */
export const asServiceError = (error: unknown): ServiceError | null => {
  if (error instanceof ServiceError) return error;
  if (!isFastifyError(error) || error.statusCode >= 500) return null;
  if (error.statusCode === 413) {
    return serviceError('PAYLOAD_TOO_LARGE', 'The body is larger than 64 KiB.', {
      hint: CATALOGUE.PAYLOAD_TOO_LARGE.fix,
    });
  }
  return serviceError('DQL_JSON_SCHEMA', 'The request cannot be read.', { hint: 'Send a well-formed URL and body.' });
};

export const INTERNAL: ServiceError = serviceError('INTERNAL', 'The service failed to answer.', {
  hint: CATALOGUE.INTERNAL.fix,
});
