// The replacement of `node:crypto` in pages: a synchronous SHA-256; WebCrypto has only an asynchronous one.
import { sha256 } from 'viem/utils';
import { Buffer } from './buffer.ts';

class Digest {
  readonly #parts: Uint8Array[] = [];
  update(part: Uint8Array | string): this {
    this.#parts.push(typeof part === 'string' ? new TextEncoder().encode(part) : part);
    return this;
  }
  digest(): Uint8Array {
    return Buffer.from(sha256(Buffer.concat(this.#parts), 'bytes'));
  }
}

export const createHash = (name: string): Digest => {
  if (name !== 'sha256') throw new Error(`${name} is not there in a page`);
  return new Digest();
};
