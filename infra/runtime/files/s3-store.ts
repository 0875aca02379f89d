// Finished files by key in a bucket of any S3-compatible server. An object is stored whole or not at all: one PUT, or a completed multipart upload.
import { hash } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { AwsClient } from 'aws4fetch';
import { checkKey, clearWorkFolders, encodeKey, makeWorkFolder, type ObjectStore } from './object-store.ts';

type S3Settings = {
  /** `https://s3.eu-central-1.amazonaws.com`; the bucket is the first part of the path. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Folder of this machine for files in progress. */
  readonly workFolder: string;
  /** Milliseconds until an answer has begun; 30 seconds by default. */
  readonly headMs?: number;
};

/** Files up to this size are sent in one request, larger ones in parts of it: 10,000 parts are 160 GB. At least 5 MiB (S3). */
const PART_BYTES = 16 * 1024 * 1024;
const RETRIES = 4;
const HEAD_MS = 30_000;
const PART_MS = 300_000;

/** An error response of the server, with its own code. */
class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly status: number;
  constructor(what: string, status: number, body: string) {
    const code = /<Code>([^<]+)<\/Code>/.exec(body)?.[1] ?? 'no code';
    super(`${what}: ${status} ${code}`);
    this.status = status;
  }
}

/** As in the folder store: readers get the same error from either store for a missing file. */
const makeMissingError = (key: string): Error => Object.assign(new Error(`no object ${key}`), { code: 'ENOENT' });

/**
 * Keeps each request as long as its signal: aws4fetch hands `fetch` a Request alone, whose signal follows the caller's only until the Request is
 * collected. A server that is silent for longer than that would then be waited for without end.
 */
class Client extends AwsClient {
  readonly #requests = new WeakMap<AbortSignal, Request>();

  override async sign(...[input, init]: Parameters<AwsClient['sign']>): Promise<Request> {
    const request = await super.sign(input, init);
    if (init?.signal) this.#requests.set(init.signal, request);
    return request;
  }
}

type Ask = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly query?: string;
  readonly body?: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
};
type Asker = (key: string, ask: Ask) => Promise<Response>;

const createAsker = (client: Client, root: string, headMs: number): Asker => {
  return (key, { method, query = '', body, headers = {}, timeoutMs = headMs }) =>
    client.fetch(`${root}/${encodeKey(key)}${query}`, {
      method,
      headers: { ...headers },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: body as Buffer<ArrayBuffer> | string }),
    });
};

/** For a body that is passed on at its reader's pace: the deadline ends with the head, and `fetch` itself ends a request whose server stops sending. */
const createOpener = (client: Client, root: string, headMs: number) => {
  return async (key: string, headers: Readonly<Record<string, string>>): Promise<Response> => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${headMs} ms`)), headMs);
    try {
      return await client.fetch(`${root}/${encodeKey(key)}`, { headers: { ...headers }, signal: late.signal });
    } finally {
      clearTimeout(timer);
    }
  };
};

/** The body of a success response. Rejects with S3Error for any other status. */
const readText = async (answer: Response, what: string): Promise<string> => {
  const body = await answer.text();
  if (!answer.ok) throw new S3Error(what, answer.status, body);
  return body;
};

/** The server refuses a body that was altered in transit. */
const makeChecksumHeader = (body: Uint8Array): Record<string, string> => ({
  'x-amz-checksum-sha256': hash('sha256', body, 'base64'),
});

type Piece = { readonly offset: number; readonly length: number };
const listPieces = (bytes: number): Piece[] =>
  Array.from({ length: Math.ceil(bytes / PART_BYTES) }, (_, at) => ({
    offset: at * PART_BYTES,
    length: Math.min(PART_BYTES, bytes - at * PART_BYTES),
  }));

const readPiece = async (path: string, { offset, length }: Piece): Promise<Buffer> => {
  const handle = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, offset);
    if (bytesRead !== length) throw new Error(`${path} ended at ${offset + bytesRead} while it was sent`);
    return buffer;
  } finally {
    await handle.close();
  }
};

const putWhole = async (ask: Asker, key: string, body: Buffer): Promise<void> => {
  const answer = await ask(key, { method: 'PUT', body, headers: makeChecksumHeader(body), timeoutMs: PART_MS });
  await readText(answer, `put ${key}`);
};

const putParts = async (ask: Asker, key: string, { path, bytes }: { path: string; bytes: number }): Promise<void> => {
  const headers = { 'x-amz-checksum-algorithm': 'SHA256' };
  const begun = await readText(await ask(key, { method: 'POST', query: '?uploads=', headers }), `begin ${key}`);
  const upload = /<UploadId>([^<]+)<\/UploadId>/.exec(begun)?.[1];
  if (upload === undefined) throw new Error(`the server began no upload of ${key}`);
  const named = `uploadId=${encodeURIComponent(upload)}`;
  try {
    const parts: string[] = [];
    for (const [at, piece] of listPieces(bytes).entries()) {
      const body = await readPiece(path, piece);
      const sums = makeChecksumHeader(body);
      const query = `?partNumber=${at + 1}&${named}`;
      const answer = await ask(key, { method: 'PUT', query, body, headers: sums, timeoutMs: PART_MS });
      await readText(answer, `part ${at + 1} of ${key}`);
      const tag = answer.headers.get('etag') ?? '';
      const sum = `<ChecksumSHA256>${sums['x-amz-checksum-sha256']}</ChecksumSHA256>`;
      parts.push(`<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag>${sum}</Part>`);
    }
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const done = await readText(
      await ask(key, { method: 'POST', query: `?${named}`, body, timeoutMs: PART_MS }),
      `end ${key}`,
    );
    // S3 reports a failure of this call in the body of a 200.
    if (done.includes('<Error>')) throw new S3Error(`end ${key}`, 200, done);
  } catch (error) {
    await ask(key, { method: 'DELETE', query: `?${named}` }).catch(() => undefined);
    throw error;
  }
};

/** Opens an existing bucket as a store. */
export const openS3Store = (settings: S3Settings): ObjectStore => {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, workFolder, headMs = HEAD_MS } = settings;
  const client = new Client({ accessKeyId, secretAccessKey, region, service: 's3', retries: RETRIES });
  const root = `${endpoint.replace(/\/$/, '')}/${bucket}`;
  const ask = createAsker(client, root, headMs);
  const openBody = createOpener(client, root, headMs);
  return {
    workFolder: (name) => makeWorkFolder(workFolder, name),
    clearWork: () => clearWorkFolders(workFolder),
    put: async (key, path) => {
      checkKey(key);
      const { size: bytes } = await stat(path);
      if (bytes > PART_BYTES) await putParts(ask, key, { path, bytes });
      else await putWhole(ask, key, await readPiece(path, { offset: 0, length: bytes }));
      await rm(path);
    },
    size: async (key) => {
      const answer = await ask(checkKey(key), { method: 'HEAD' });
      if (answer.status === 404) return null;
      await readText(answer, `head ${key}`);
      return Number(answer.headers.get('content-length'));
    },
    read: async (key, range) => {
      const headers = range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` };
      const answer = await openBody(checkKey(key), headers);
      if (answer.status === 404) throw makeMissingError(key);
      // As in the folder store: behind the end of a file there is nothing to read.
      if (answer.status === 416) {
        await answer.body?.cancel();
        return Readable.from([]);
      }
      if (!answer.ok || answer.body === null) throw new S3Error(`get ${key}`, answer.status, await answer.text());
      return Readable.fromWeb(answer.body as ReadableStream);
    },
    remove: async (key) => {
      await readText(await ask(checkKey(key), { method: 'DELETE' }), `remove ${key}`);
    },
    presign: async (key, { expiresInS, disposition, type }) => {
      const query = new URLSearchParams({
        'X-Amz-Expires': String(expiresInS),
        'response-content-disposition': disposition,
        'response-content-type': type,
      });
      const url = `${root}/${encodeKey(checkKey(key))}?${query}`;
      return (await client.sign(url, { method: 'GET', aws: { signQuery: true } })).url;
    },
  };
};
