// An entry of `live` as received, and the newest readings of a listing: decoded on first use, because most are never used.
import { codecs, decodeLiveHead, type LiveHead } from '../../schemas/avro/codec.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { isAbove, type LiveEntry, type Place, type Reading } from '../../schemas/topics.ts';

/** A reading that is held, decoded or not yet. */
export type HeldReading = { readonly reading: Reading | null };

export class LiveMessage implements LiveHead, HeldReading {
  readonly offset: number;
  readonly index: number;
  readonly recorded_at: Micros;
  readonly kind: LiveEntry['kind'];
  readonly symbol: string | null;
  readonly layer: ReadingLayer | null;
  /** A copy for readings, which are kept and would otherwise retain the whole batch; for other entries, valid only while the entry is applied. */
  readonly bytes: Buffer;
  #reading: Reading | null = null;

  constructor({ offset, index, recorded_at, kind, symbol, layer }: LiveHead, bytes: Buffer) {
    this.offset = offset;
    this.index = index;
    this.recorded_at = recorded_at;
    this.kind = kind;
    this.symbol = symbol;
    this.layer = layer;
    this.bytes = kind === 'reading' ? Buffer.from(bytes) : bytes;
  }

  /** Everything it carries, decoded at each call. */
  entry(): LiveEntry {
    return codecs.live.decode(this.bytes);
  }

  /** The same object for every read. */
  get reading(): Reading | null {
    if (this.layer !== null) this.#reading ??= this.entry().reading;
    return this.#reading;
  }
}

/** The message when it is above `place`, else null: then it is a repeat. Throws `AvroError`. */
export const decodeAbove = (place: Place, bytes: Buffer): LiveMessage | null => {
  const head = decodeLiveHead(bytes);
  return isAbove(head, place) ? new LiveMessage(head, bytes) : null;
};

/** The newest reading of each layer of a listing. */
export class NewestReadings {
  readonly #held = new Map<ReadingLayer, HeldReading>();

  /** Layers that have one. */
  get size(): number {
    return this.#held.size;
  }

  get(layer: ReadingLayer): Reading | null {
    return this.#held.get(layer)?.reading ?? null;
  }

  held(layer: ReadingLayer): HeldReading | null {
    return this.#held.get(layer) ?? null;
  }

  set(layer: ReadingLayer, held: HeldReading): void {
    this.#held.set(layer, held);
  }

  /** Those of now: later ones do not replace them. */
  copy(): NewestReadings {
    const copy = new NewestReadings();
    for (const [layer, held] of this.#held) copy.set(layer, held);
    return copy;
  }

  *values(): Generator<Reading> {
    for (const { reading } of this.#held.values()) if (reading !== null) yield reading;
  }
}
