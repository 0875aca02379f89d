// The text of a link to a file: bound to its key, which holds the file's own SHA-256, and to its end (AR-06). Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { encodeKey } from '../../infra/runtime/files/object-store.ts';

/** Links are valid for 15 minutes. */
export const LINK_S = 900;
export const FILES_PATH = '/files/';

/** The signature covers every character before it, so that no other spelling of the same address is valid. */
const LINK = /^(\/files\/([^?#]+)\?expires=([1-9]\d{9}))&signature=([0-9a-f]{64})$/;

const decodeKey = (path: string): string | null => {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
};

const sign = (secret: Uint8Array, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/** Path and query of a link that ends at `expires`, in whole seconds since 1970. */
export const writeLink = (secret: Uint8Array, key: string, expires: number): string => {
  const text = `${FILES_PATH}${encodeKey(key)}?expires=${expires}`;
  return `${text}&signature=${sign(secret, text)}`;
};

/** The key that a link leads to; null for one that has ended, was changed, or was never ours. */
export const readLink = (secret: Uint8Array, url: string, nowMs: number): string | null => {
  const [, text, path, expires, signature] = LINK.exec(url) ?? [];
  if (text === undefined || path === undefined || signature === undefined) return null;
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(sign(secret, text)))) return null;
  return Number(expires) * 1_000 > nowMs ? decodeKey(path) : null;
};
