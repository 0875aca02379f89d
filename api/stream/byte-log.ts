// Bytes one after the other outside of the heap, in chunks: what came first leaves first.
const CHUNK = 1_048_576;

/** Where bytes begin. */
export type BytePlace = { readonly chunk: number; readonly start: number };

export class ByteLog {
  readonly #chunks: Buffer[] = [];
  /** Chunks are numbered on and on; this is the first that is held. */
  #first = 0;
  /** Bytes used of the last chunk. */
  #used = 0;
  /** A chunk that was left, for the next one. */
  #spare: Buffer | null = null;

  append(bytes: Buffer): BytePlace {
    let last = this.#chunks.at(-1);
    if (last === undefined || this.#used + bytes.length > last.length) {
      last = this.#newChunk(bytes.length);
      this.#chunks.push(last);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes.copy(last, start);
    return { chunk: this.#first + this.#chunks.length - 1, start };
  }

  /** The bytes where they stand: good until their chunk is left. */
  at({ chunk, start }: BytePlace, length: number): Buffer {
    const held = this.#chunks[chunk - this.#first];
    if (held === undefined) throw new Error(`chunk ${chunk} is not held`);
    return held.subarray(start, start + length);
  }

  /** Leaves all chunks before this one. */
  leave(before: number): void {
    for (; this.#first < before; this.#first++) {
      const left = this.#chunks.shift();
      if (left?.length === CHUNK) this.#spare = left;
    }
  }

  /** Bytes longer than a chunk get one of their own. */
  #newChunk(length: number): Buffer {
    if (length > CHUNK) return Buffer.allocUnsafeSlow(length);
    const chunk = this.#spare ?? Buffer.allocUnsafeSlow(CHUNK);
    this.#spare = null;
    return chunk;
  }
}
