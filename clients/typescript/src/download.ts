// Archive files on disk: each is fetched beside its name, goes on where it broke off, is checked against its hash, and then gets its name.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArchiveFile, ArchiveFileAnswer, ArchiveFileRequest, ArchiveRequest, Digits } from './api-types.ts';
import type { Client } from './client.ts';
import { ApiError, makeUnreachable, readError } from './errors.ts';
import { computeWaitMs, pause } from './wait.ts';

export type DownloadProgress = {
  readonly file: ArchiveFile;
  /** Path of the file once it is whole. */
  readonly path: string;
  readonly bytes: number;
  readonly total: number;
  /** Files done so far, this one among them when `state` is `done` or `kept`. */
  readonly files: number;
  /** `kept`: it was there already, with the right hash. */
  readonly state: 'fetching' | 'done' | 'kept';
};

export type ArchiveFormat = NonNullable<ArchiveFileRequest['format']>;

export type DownloadOptions = {
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: DownloadProgress) => void;
  /** Format of the files: that of the list, which is Parquet, unless another is chosen. */
  readonly format?: ArchiveFormat;
  /** Attempts a file, each with a link of its own: a link lives fifteen minutes. */
  readonly tries?: number;
};

type Downloaded = { readonly path: string; readonly file: ArchiveFile; readonly sha256: string };
type Target = { readonly link: ArchiveFileAnswer; readonly path: string; readonly part: string };
type ReportProgress = (bytes: number, total: number) => void;
/** The file and its destination. */
type Wanted = { readonly file: ArchiveFile; readonly format: ArchiveFormat; readonly path: string };

const TRIES = 5;
const ENDINGS: Readonly<Record<ArchiveFormat, string>> = { parquet: 'parquet', csv: 'csv.zst', jsonl: 'jsonl.zst' };

/** Letters, digits, dot, dash and underscore stay; every other byte is `~XX`, so that no two symbols share a name. */
const toPlainName = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9._-]/g, (c) => `~${c.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);

/** `binance-BTCUSDT-funding-2026-01-10.parquet`: whatever the list says, a name in the folder. */
export const archiveFileName = (
  { venue, venue_symbol, layer, day, format: own }: ArchiveFile,
  format: ArchiveFormat = own,
): string => `${[venue, venue_symbol, layer, day].map(toPlainName).join('-')}.${ENDINGS[format]}`;

const readSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const hashFile = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

/** Adds what is missing of the part; a service that does not go on begins it anew. The key is not sent: the link is enough. */
const fetchRest = async (
  { link, part }: Target,
  told: ReportProgress,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const held = await readSize(part);
  if (held === link.bytes) return;
  const headers: Record<string, string> = held === 0 || held > link.bytes ? {} : { range: `bytes=${held}-` };
  const response = await fetch(link.url, { headers, signal: signal ?? null });
  if (response.status !== 200 && response.status !== 206) throw await readError(response);
  if (response.body === null) throw makeUnreachable(link.url, new Error('no body'));
  const goesOn = response.status === 206;
  let bytes = goesOn ? held : 0;
  const file = await open(part, goesOn ? 'a' : 'w');
  try {
    // Each piece is written before the next is read: what came before a break is kept.
    for await (const piece of response.body) {
      await file.writeFile(piece);
      bytes += piece.length;
      told(bytes, link.bytes);
    }
  } finally {
    await file.close();
  }
};

/** A part that is whole gets its name; one with another hash is removed, because nothing more can be added to it. */
const finish = async ({ link, path, part }: Target): Promise<void> => {
  const [bytes, sha256] = [await readSize(part), await hashFile(part)];
  if (bytes === link.bytes && sha256 === link.sha256) return rename(part, path);
  if (bytes < link.bytes)
    throw makeUnreachable(link.url, new Error(`the file broke off after ${bytes} of ${link.bytes} bytes`));
  await rm(part);
  const message = `The file has the hash ${sha256}, and the service states ${link.sha256}.`;
  throw new ApiError([{ code: 'BAD_FILE', message, hint: 'It was removed; fetch it again.' }]);
};

/** A longer wait than this is the caller's. */
const LONGEST_WAIT_S = 60;
/** Worth another link: nothing came, it broke off, the link ended, or the file is another one. */
const mayHelp = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  ((error.retryAfter ?? 0) <= LONGEST_WAIT_S &&
    (['UNREACHABLE', 'BAD_ANSWER', 'BAD_FILE'].includes(error.code) || error.status >= 500));

type Session = {
  readonly client: Client<Digits>;
  readonly options: DownloadOptions;
  readonly told: ReportProgress;
};

/** One attempt, by a link of its own; gives the link. */
const fetchOnce = async ({ client, options, told }: Session, { file, format, path }: Wanted) => {
  const { listing, layer, day } = file;
  const link = await client.archiveFile({ listing, layer, day, format }, pickSignal(options));
  // The list states the hash of Parquet alone: only the link shows whether another format is there already.
  if (format !== file.format && (await isHeld(path, link))) return link;
  const target = { link, path, part: `${path}.${link.sha256.slice(0, 16)}.part` };
  await fetchRest(target, told, options.signal);
  await finish(target);
  return link;
};

const downloadOne = async (session: Session, wanted: Wanted): Promise<ArchiveFileAnswer> => {
  const { signal, tries = TRIES } = session.options;
  for (let done = 1; ; done += 1) {
    try {
      return await fetchOnce(session, wanted);
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayHelp(error) || done >= tries)
        throw error instanceof ApiError ? error : makeUnreachable(session.client.baseUrl, error);
      const asked = error instanceof ApiError ? error.retryAfter : null;
      await pause(computeWaitMs(done - 1, asked), signal ?? null);
    }
  }
};

const pickSignal = ({ signal }: DownloadOptions): { readonly signal?: AbortSignal } =>
  signal === undefined ? {} : { signal };

/** Whether the file is there as it is described. */
const isHeld = async (path: string, { bytes, sha256 }: Pick<ArchiveFile, 'bytes' | 'sha256'>): Promise<boolean> =>
  (await readSize(path)) === bytes && (await hashFile(path)) === sha256;

/**
 * Fetches every file of a list that the plan includes into a folder, one after the other. What is there with the right hash is kept; what was
 * begun goes on. Throws the first error that another attempt does not mend.
 */
export const downloadArchive = async (
  client: Client<Digits>,
  request: ArchiveRequest,
  options: DownloadOptions,
): Promise<readonly Downloaded[]> => {
  await mkdir(options.folder, { recursive: true });
  const downloaded: Downloaded[] = [];
  for await (const { items } of client.pages('archive', request, pickSignal(options))) {
    for (const file of items.filter(({ included }) => included)) {
      const { format = file.format } = options;
      const path = join(options.folder, archiveFileName(file, format));
      const report = (state: DownloadProgress['state'], bytes: number, total: number): void =>
        options.onProgress?.({ file, path, bytes, total, files: downloaded.length, state });
      const isKept = format === file.format && (await isHeld(path, file));
      const told: ReportProgress = (bytes, total) => report('fetching', bytes, total);
      const { bytes, sha256 } = isKept ? file : await downloadOne({ client, options, told }, { file, format, path });
      downloaded.push({ path, file, sha256 });
      report(isKept ? 'kept' : 'done', bytes, bytes);
    }
  }
  return downloaded;
};
