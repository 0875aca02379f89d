// Finished files by key in a folder of this machine. A file is stored whole or not at all.
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import type { Readable } from 'node:stream';

/** Bytes `[start, end)` of a file. */
export type ByteRange = { readonly start: number; readonly end: number };

export type ObjectStore = {
  /** A new folder on the store's own disk for files in progress, of one attempt alone: who opens it removes it. */
  readonly workFolder: (name: string) => Promise<string>;
  /** Removes the files of killed attempts. Only for the process that has the right to write: an attempt of any other process fails at its next file. */
  readonly clearWork: () => Promise<void>;
  /** Moves a durable file into the store; an existing key is replaced whole. */
  readonly put: (key: string, path: string) => Promise<void>;
  /** Length in bytes, null when there is no such file. */
  readonly size: (key: string) => Promise<number | null>;
  /** Rejects with ENOENT when there is no such file. */
  readonly read: (key: string, range?: ByteRange) => Promise<Readable>;
  readonly remove: (key: string) => Promise<void>;
  /** A URL of the store's own that anyone may read until it expires; null: the store has no address. */
  readonly presign: ((key: string, link: PresignedLink) => Promise<string>) | null;
};

/** Response headers of the link: `Content-Disposition` and `Content-Type`. */
type PresignedLink = { readonly expiresInS: number; readonly disposition: string; readonly type: string };

/** Key parts are letters, digits and `. _ - = %`; an empty part, `.` and `..` are invalid. */
const KEY = /^[A-Za-z0-9_%=-][A-Za-z0-9._%=-]*(?:\/[A-Za-z0-9_%=-][A-Za-z0-9._%=-]*)*$/;

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** A rename is durable once its folder is synced. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Returns the key; throws for one that is no path inside a store. */
export const checkKey = (key: string): string => {
  if (!KEY.test(key)) throw new Error(`"${key}" is not a key of a file`);
  return key;
};

const toPath = (folder: string, key: string): string => {
  const path = normalize(join(folder, checkKey(key)));
  if (!path.startsWith(`${normalize(folder)}${sep}`)) throw new Error(`"${key}" is not a key of a file`);
  return path;
};

/** The key as the path of a URL. Each part is encoded once: keys hold `%`, which a URL escapes. */
export const encodeKey = (key: string): string => key.split('/').map(encodeURIComponent).join('/');

const findWorkFolders = (folder: string): string => join(folder, '.partial');

/** A former owner may still write into a folder of the same name, so each attempt has its own. */
export const makeWorkFolder = async (folder: string, name: string): Promise<string> => {
  const parent = findWorkFolders(folder);
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, `${name}-`));
};

export const clearWorkFolders = async (folder: string): Promise<void> => {
  const parent = findWorkFolders(folder);
  await rm(parent, { recursive: true, force: true });
  await mkdir(parent, { recursive: true });
};

/** Opens a folder as a store; creates it when missing. */
export const openFolderStore = (folder: string): ObjectStore => ({
  workFolder: (name) => makeWorkFolder(folder, name),
  clearWork: () => clearWorkFolders(folder),
  put: async (key, path) => {
    const target = toPath(folder, key);
    await mkdir(dirname(target), { recursive: true });
    await rename(path, target);
    await syncFolder(dirname(target));
  },
  size: async (key) => {
    try {
      return (await stat(toPath(folder, key))).size;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  },
  read: async (key, range) => {
    const handle = await open(toPath(folder, key), 'r');
    const bounds = range === undefined ? {} : { start: range.start, end: range.end - 1 };
    return createReadStream('', { ...bounds, fd: handle });
  },
  remove: (key) => rm(toPath(folder, key), { force: true }),
  presign: null,
});
