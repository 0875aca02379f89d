// Bytes one after the other outside of the heap, in chunks. A chunk is left when nothing in it is held any more, whatever is held
// before it.
const CHUNK = 1_048_576;

/** The place of bytes. */
export type BytePlace = { readonly chunk: number; readonly start: number; readonly length: number };

type Chunk = { readonly bytes: Buffer; used: number; held: number };

export class ByteLog {
  /** By number: chunks are numbered on and on. */
  readonly #chunks = new Map<number, Chunk>();
  /** The one that is filled. */
  #newest = -1;
  /** A chunk that was left, for the next one. */
  #spare: Buffer | null = null;

  /** Bytes of the chunks that are held. */
  get size(): number {
    let size = 0;
    for (const { bytes } of this.#chunks.values()) size += bytes.length;
    return size;
  }

  append(bytes: Buffer): BytePlace {
    const { length } = bytes;
    let chunk = this.#chunks.get(this.#newest);
    if (chunk === undefined || chunk.used + length > chunk.bytes.length) {
      if (chunk?.held === 0) this.#leave(this.#newest, chunk);
      chunk = { bytes: this.#allocate(length), used: 0, held: 0 };
      this.#newest += 1;
      this.#chunks.set(this.#newest, chunk);
    }
    const start = chunk.used;
    chunk.used += bytes.copy(chunk.bytes, start);
    chunk.held++;
    return { chunk: this.#newest, start, length };
  }

  /** The bytes in place: valid until they are freed. */
  at({ chunk, start, length }: BytePlace): Buffer {
    return this.#require(chunk).bytes.subarray(start, start + length);
  }

  /** Each place is freed once. */
  free({ chunk: number }: Pick<BytePlace, 'chunk'>): void {
    const chunk = this.#require(number);
    chunk.held--;
    if (chunk.held === 0 && number !== this.#newest) this.#leave(number, chunk);
  }

  #leave(number: number, { bytes }: Chunk): void {
    this.#chunks.delete(number);
    if (bytes.length === CHUNK) this.#spare = bytes;
  }

  #require(number: number): Chunk {
    const chunk = this.#chunks.get(number);
    if (chunk === undefined) throw new Error(`chunk ${number} is not held`);
    return chunk;
  }

  /** Bytes longer than a chunk get a separate chunk. */
  #allocate(length: number): Buffer {
    if (length > CHUNK) return Buffer.allocUnsafeSlow(length);
    const chunk = this.#spare ?? Buffer.allocUnsafeSlow(CHUNK);
    this.#spare = null;
    return chunk;
  }
}
