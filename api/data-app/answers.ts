// Sends answers: the bytes of an operation's answer, and its caching (N-10, N-14, T-04).
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type ApiError,
  CATALOGUE,
  makeServiceError,
  makeUnavailable,
  type ServiceError,
} from '../../schemas/errors.ts';
import { type JsonValue, writeJson } from '../../schemas/json.ts';
import { ENDPOINT_LIMITS, LEAST_BYTES } from '../contract/endpoint-limits.ts';
import { clip } from '../contract/sent-text.ts';
import {
  computeFittingCount,
  countFittingRows,
  countLineBytes,
  type ItemsLimit,
  type Refused,
} from '../history/fitting.ts';
import type { Answer, Operation } from '../operations/operation.ts';
import { GAPS_HEADER, makeEnvelopeHeaders } from './envelope-headers.ts';
import { chooseFormat, measureTable, ROW_TYPES, type RowFormat, type RowsRequest, writeRows } from './row-formats.ts';
import { JSON_TYPE } from './sent-errors.ts';
import { listColumns } from './table-columns.ts';

/** What can never change may be kept by its owner (N-14). */
const SETTLED = 'private, max-age=86400, immutable';
const RESPONSE_BYTES = ENDPOINT_LIMITS.response_bytes;
/** Items as JSON that a table may be made of: 100,000 rows of any layer are less (H-08). */
const TABLE_SOURCE_BYTES = 8 * RESPONSE_BYTES;
/** The differences between two equal answers: the instant of evaluation, which a cursor contains too, and ages. */
const VOLATILE = /"(?:evaluated_at|as_of|next_cursor)":"[^"]*"|"age_ms":-?\d+/g;

/** Bytes that `X-Service-Max-Bytes` lowers the answer to (T-04); null when it is no number within the range. */
const readByteLimit = ({ headers }: FastifyRequest): number | null => {
  const asked = headers['x-service-max-bytes'];
  if (asked === undefined) return RESPONSE_BYTES;
  const bytes = typeof asked === 'string' && /^\d{1,9}$/.test(asked) ? Number(asked) : 0;
  return bytes >= LEAST_BYTES && bytes <= RESPONSE_BYTES ? bytes : null;
};

/** Bytes that the answer may have; a header that is no limit was refused before it is made. */
const findByteLimit = (request: FastifyRequest): number => readByteLimit(request) ?? RESPONSE_BYTES;

/** The fault of a limit header whose value is not a valid limit (T-04, E-01 step 6). */
export const findByteLimitFaults = (request: FastifyRequest): ApiError[] => {
  if (readByteLimit(request) !== null) return [];
  const message = `"${clip(String(request.headers['x-service-max-bytes']))}" is not a valid limit for the size of an answer.`;
  const hint = `Send a whole number from ${LEAST_BYTES} to ${RESPONSE_BYTES}, or omit the header.`;
  return [{ code: 'DQL_JSON_SCHEMA', message, hint, path: '/headers/x-service-max-bytes' }];
};

/** Members that make an answer smaller, as far as the operation has them (T-04). */
const NARROWING = ['where', 'layers', 'limit', 'interval', 'depth'] as const;

type Page = { readonly page?: { readonly returned: number } };

/** Rows of a page that fit; null where an answer has no pages, or where not one row would fit. */
const findPage = ({ body, measureRows }: Answer, refused: Refused): number | null => {
  const { page } = body as Page;
  const countRows = () =>
    measureRows === undefined
      ? computeFittingCount(refused, page?.returned ?? 0)
      : countFittingRows(refused, measureRows());
  const rows = page === undefined ? 0 : countRows();
  return rows < 1 ? null : rows;
};

const makeHint = (answer: Answer, { input }: Operation, refused: Refused): string => {
  if (answer.fits !== undefined) return answer.fits(refused);
  const { properties = {} } = input;
  const names = NARROWING.filter((name) => Object.hasOwn(properties, name));
  const rows = findPage(answer, refused);
  if (rows === null || !names.includes('limit'))
    return names.length === 0 ? 'Allow a larger answer.' : `Narrow ${names.join(' or ')}.`;
  const others = names.filter((name) => name !== 'limit').join(' or ');
  return `${others === '' ? 'Send' : `Narrow ${others}, or send`} limit ${rows}: this number of rows fits in an answer.`;
};

/** The refusal of a body of `size` bytes, with what would fit. */
const refuseTooLarge = (size: string, limit: number, hint: string): ServiceError =>
  makeServiceError('DQL_LIMIT', `The answer has ${size} bytes, the limit is ${limit}.`, { hint });

/** A weak tag over the answer without its volatile parts; the same answer from any node has the same tag. */
const computeEtag = (text: string): string =>
  `W/"${createHash('sha256').update(text.replace(VOLATILE, '')).digest('base64url').slice(0, 27)}"`;

const isMatching = (request: FastifyRequest, etag: string): boolean => {
  const asked = request.headers['if-none-match'];
  if (asked === undefined) return false;
  return asked
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''));
};

/** Whether rows are requested in another format than JSON. */
export const wantsTable = ({ headers }: FastifyRequest): boolean => chooseFormat(headers.accept) !== 'json';

/** Bytes of items as JSON that an operation may produce for this request; tables are checked by their own bytes afterwards. */
export const findItemsLimit = (request: FastifyRequest): ItemsLimit =>
  wantsTable(request)
    ? { stopsAt: TABLE_SOURCE_BYTES, named: TABLE_SOURCE_BYTES }
    : { stopsAt: RESPONSE_BYTES, named: findByteLimit(request) };

/** Whether a body of JSON reaches the caller: HEAD gives none (RFC 9110: it is safe), and one that is too large is refused. */
export const canReachCaller = (request: FastifyRequest, body: JsonValue): boolean =>
  request.method !== 'HEAD' && Buffer.byteLength(writeJson(body)) <= findByteLimit(request);

/** The preference (RFC 7240) of a shorter page to the refusal of one that is too large (T-04, D-360). */
const SHORTER_PAGE = 'shorter-page';

const wantsShorterPage = ({ headers }: FastifyRequest): boolean =>
  [headers.prefer ?? []].flat().some((line) => line.split(',').some((one) => one.trim() === SHORTER_PAGE));

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };
type Body = {
  readonly content: string | Buffer;
  readonly type: string;
  readonly format: RowFormat | 'json';
  /** A page with fewer rows than requested, because no more fit. */
  readonly isShorter: boolean;
};

/** The answer as JSON; one that is too large is a shorter page where the request prefers that, else refused. */
const makeJsonBody = (answer: Answer, operation: Operation, request: FastifyRequest): Body => {
  const limit = findByteLimit(request);
  for (let page = answer; ; ) {
    const { body, numberFormat, shorten } = page;
    const content = writeJson(body, { numberFormat });
    const bytes = content.length * 3 <= limit ? 0 : Buffer.byteLength(content);
    if (bytes <= limit) return { content, type: JSON_TYPE, format: 'json', isShorter: page !== answer };
    const refused = { bytes, limit };
    const rows = wantsShorterPage(request) ? findPage(page, refused) : null;
    if (rows === null || shorten === undefined)
      throw refuseTooLarge(`${bytes}`, limit, makeHint(page, operation, refused));
    page = shorten(rows);
  }
};

/** Thrown where a table has become too large; `whole`: what all of it may have. */
class TableTooLarge extends Error {
  readonly bytes: number;
  readonly whole: number;

  constructor(bytes: number, share: number) {
    super();
    this.bytes = bytes;
    this.whole = bytes / share;
  }
}

type TableRequest = Omit<RowsRequest, 'onBytes'>;

/** Writes a table of at most `limit` bytes. Throws ServiceError with `hint` of the size of the whole when it is larger. */
const writeTableWithin = async (
  table: TableRequest,
  { limit, reply, hint }: { limit: number; reply: FastifyReply; hint: (refused: Refused) => string },
): Promise<Buffer> => {
  // No client waits for it any more.
  const checkCaller = (): void => {
    if (reply.raw.destroyed) throw makeUnavailable('The client has gone.', CATALOGUE.UNAVAILABLE.fix);
  };
  const onBytes = (bytes: number, share: number): void => {
    if (bytes > limit) throw new TableTooLarge(bytes, share);
    checkCaller();
  };
  try {
    return await writeRows({ ...table, onBytes });
  } catch (error) {
    if (!(error instanceof TableTooLarge)) throw error;
    const lines = await measureTable({ ...table, onBytes: checkCaller }, error.whole);
    throw refuseTooLarge(`at least ${error.bytes}`, limit, hint({ bytes: countLineBytes(lines), limit, lines }));
  }
};

/** The body in the format that the request likes best. Throws ServiceError when it is too large. */
const makeBody = async (answer: Answer, operation: Operation, { request, reply }: Exchange): Promise<Body> => {
  const { groups, body, numberFormat, settledAs } = answer;
  const format = groups === undefined ? 'json' : chooseFormat(request.headers.accept);
  if (groups === undefined || format === 'json') return makeJsonBody(answer, operation, request);
  const metadata = settledAs === undefined ? {} : { items_sha256: settledAs };
  const table = { format, columns: listColumns(operation), groups, numberFormat, metadata };
  const content = await writeTableWithin(table, {
    ...{ limit: findByteLimit(request), reply },
    hint: (refused) => makeHint(answer, operation, refused),
  });
  reply.headers(makeEnvelopeHeaders(body));
  if (answer.gaps !== undefined) reply.header(GAPS_HEADER, String(answer.gaps));
  return { content, type: ROW_TYPES[format], format, isShorter: false };
};

/** Tag and caching of an answer: settled ones never change, some may be kept for seconds, the rest not at all (N-14). */
const chooseCaching = (
  { settledAs }: Answer,
  operation: Operation,
  { content, format, isShorter }: Body,
): [string | null, string] => {
  // A shorter page is no answer to those who did not prefer it.
  if (isShorter) return [null, 'no-store'];
  if (settledAs !== undefined) return [`"${settledAs}${format === 'json' ? '' : `.${format}`}"`, SETTLED];
  if (operation.cacheS === null || typeof content !== 'string') return [null, 'no-store'];
  return [computeEtag(content), `public, max-age=${operation.cacheS}`];
};

/** The headers of a request that the answer varies by; for open endpoints also the key: it may add `raw`, and a bad one is refused (N-14, E-04). */
const findVary = ({ groups }: Answer, { cacheS }: Operation): string | null => {
  if (groups !== undefined) return 'accept, accept-encoding';
  return cacheS === null ? null : 'authorization, accept-encoding';
};

/** Sends the answer of an operation. Throws ServiceError when it is too large. */
export const sendAnswer = async (answer: Answer, operation: Operation, exchange: Exchange): Promise<FastifyReply> => {
  const { request, reply } = exchange;
  const varies = findVary(answer, operation);
  if (varies !== null) reply.header('vary', varies);
  const body = await makeBody(answer, operation, exchange);
  if (body.isShorter) reply.header('preference-applied', SHORTER_PAGE);
  const [etag, caching] = chooseCaching(answer, operation, body);
  reply.header('cache-control', caching);
  if (etag !== null) reply.header('etag', etag);
  if (etag !== null && isMatching(request, etag)) return reply.code(304).send();
  if (answer.location !== undefined) reply.code(302).header('location', answer.location);
  return reply.type(body.type).send(body.content);
};
