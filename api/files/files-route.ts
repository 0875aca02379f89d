// GET and HEAD of `/files/…`: the bytes of one archive file for the holder of its link, whole or in a range (AR-06).
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { makeServiceError, makeUnavailable, type ServiceError } from '../../schemas/errors.ts';
import { readPath } from '../contract/request-url.ts';
import { isNamed, isSameFile, readRange } from './byte-range.ts';
import { FILES_PATH, readLink } from './link.ts';
import type { FileLinks } from './links.ts';
import { type ObjectName, readObjectName } from './object-name.ts';

/** A client that takes nothing for so long is gone. */
const IDLE_MS = 60_000;

/** Headers that a browser may read of a file, and send for one. */
export const FILE_EXPOSED = ['Accept-Ranges', 'Content-Disposition', 'Content-Length', 'Content-Range', 'ETag'];
export const FILE_ALLOWED = ['Range', 'If-Range'];

export const isFileUrl = (url: string): boolean => readPath(url).startsWith(FILES_PATH);

export const refuseNoFile = (): ServiceError =>
  makeServiceError('NOT_FOUND', 'The link has expired or was altered.', {
    hint: 'Request a new link from GET /v2/archive/{listing}/{layer}/{day}.',
  });

type File = {
  readonly key: string;
  readonly name: ObjectName;
  readonly size: number;
  readonly etag: string;
};
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** A file that has been replaced meanwhile is no file; whatever else the store answers is no fault of the caller. */
const askStore = async <T>(asked: Promise<T>, { log }: FastifyRequest): Promise<T> => {
  try {
    return await asked;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') throw refuseNoFile();
    log.warn({ err }, 'the store of archive files does not respond');
    throw makeUnavailable('The file cannot be read now.');
  }
};

/** What every answer about a file says; a refusal says none of it. */
const describeFile = (reply: FastifyReply, { etag, name }: File): FastifyReply =>
  reply
    .headers({
      etag,
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
      'content-disposition': name.disposition,
    })
    .type(name.type);

const sendFile = async (file: File, links: FileLinks, { request, reply }: Exchange): Promise<FastifyReply> => {
  const { key, size, etag } = file;
  const { headers, method } = request;
  if (isNamed(headers['if-none-match'], etag))
    return describeFile(reply, file).code(304).removeHeader('content-type').send();
  // Ranges are defined for GET only (RFC 9110 section 14.2).
  const asked = method === 'GET' && isSameFile(headers['if-range'] as string | undefined, etag);
  const range = asked ? readRange(headers.range, size) : null;
  if (range === 'unsatisfiable')
    return describeFile(reply, file)
      .code(416)
      .header('content-range', `bytes */${size}`)
      .removeHeader('content-type')
      .send();
  // For an empty text the framework would send its own length; for a stream it sends ours.
  const bytes =
    method === 'HEAD' ? Readable.from([]) : await askStore(links.store.read(key, range ?? undefined), request);
  const { start, end } = range ?? { start: 0, end: size };
  describeFile(reply, file).header('content-length', String(end - start));
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
  if (method !== 'HEAD') reply.raw.setTimeout(IDLE_MS, () => reply.raw.destroy());
  return reply.send(bytes);
};

/** Throws ServiceError NOT_FOUND for whatever is no link that holds now. */
const answerFile = async (links: FileLinks, exchange: Exchange, nowMs: number): Promise<FastifyReply> => {
  const { request } = exchange;
  const key = readLink(await links.secret(), request.url, nowMs);
  const name = key === null ? null : readObjectName(key);
  const size = key === null || name === null ? null : await askStore(links.store.size(key), request);
  if (key === null || name === null || size === null) throw refuseNoFile();
  return sendFile({ key, name, size, etag: `"${name.sha256}"` }, links, exchange);
};

export const addFiles = (app: FastifyInstance, links: FileLinks, nowMs: () => number): void => {
  app.get(`${FILES_PATH}*`, (request, reply) => answerFile(links, { request, reply }, nowMs()));
};
