// Bytes one after the other outside of the heap, in chunks. What came first is freed first, about: a chunk is left when nothing in
// it is held any more.
const CHUNK = 1_048_576;

/** The place of bytes. */
export type BytePlace = { readonly chunk: number; readonly start: number; readonly length: number };

type Chunk = { readonly bytes: Buffer; used: number; held: number };

export class ByteLog {
  readonly #chunks: Chunk[] = [];
  /** Chunks are numbered on and on; this is the first that is held. */
  #first = 0;
  /** A chunk that was left, for the next one. */
  #spare: Buffer | null = null;

  append(bytes: Buffer): BytePlace {
    const { length } = bytes;
    let last = this.#chunks.at(-1);
    if (last === undefined || last.used + length > last.bytes.length) {
      last = { bytes: this.#allocate(length), used: 0, held: 0 };
      this.#chunks.push(last);
    }
    const start = last.used;
    last.used += bytes.copy(last.bytes, start);
    last.held++;
    return { chunk: this.#first + this.#chunks.length - 1, start, length };
  }

  /** The bytes in place: valid until they are freed. */
  at({ chunk, start, length }: BytePlace): Buffer {
    return this.#chunk(chunk).bytes.subarray(start, start + length);
  }

  /** Each place is freed once. */
  free({ chunk }: Pick<BytePlace, 'chunk'>): void {
    this.#chunk(chunk).held--;
    while (this.#chunks.length > 1 && this.#chunks[0]?.held === 0) {
      const left = this.#chunks.shift()?.bytes ?? null;
      if (left?.length === CHUNK) this.#spare = left;
      this.#first++;
    }
  }

  #chunk(chunk: number): Chunk {
    const held = this.#chunks[chunk - this.#first];
    if (held === undefined) throw new Error(`chunk ${chunk} is not held`);
    return held;
  }

  /** Bytes longer than a chunk get one of their own. */
  #allocate(length: number): Buffer {
    if (length > CHUNK) return Buffer.allocUnsafeSlow(length);
    const chunk = this.#spare ?? Buffer.allocUnsafeSlow(CHUNK);
    this.#spare = null;
    return chunk;
  }
}
