// The readings that the stream has sent, one per listing and layer: bounded by the selection, however long the stream runs.
import type { ListingName, Reading } from './reading.ts';
import { toListingKey } from './reading.ts';

export type LayerUpdate = ListingName & {
  readonly instrument: string;
  readonly layer: string;
  readonly rev: number;
  readonly state: Reading;
};

export class Picture {
  readonly #readings = new Map<string, Map<string, LayerUpdate>>();
  /** Revisions of each listing and layer follow each other (ST-03); how often they did not. */
  #holes = 0;

  get holes(): number {
    return this.#holes;
  }
  get size(): number {
    let size = 0;
    for (const layers of this.#readings.values()) size += layers.size;
    return size;
  }

  /** A new reading, or a new status of the one that is there. */
  apply(told: LayerUpdate): void {
    const key = toListingKey(told);
    const layers = this.#readings.get(key) ?? new Map<string, LayerUpdate>();
    const before = layers.get(told.layer);
    if (before !== undefined && told.rev > before.rev + 1) this.#holes += 1;
    layers.set(told.layer, told);
    this.#readings.set(key, layers);
  }

  /** Replaces the reading by a snapshot, which has no information about the revisions in between. */
  replace(told: LayerUpdate): void {
    this.#readings.get(toListingKey(told))?.delete(told.layer);
    this.apply(told);
  }

  /** The next reading need not follow: a gap was announced, or the stream begins anew. */
  excuse(): void {
    for (const layers of this.#readings.values())
      for (const [layer, told] of layers) layers.set(layer, { ...told, rev: Number.POSITIVE_INFINITY });
  }

  read(listing: string, layer: string): Reading | undefined {
    return this.#readings.get(listing)?.get(layer)?.state;
  }

  clear(): void {
    this.#readings.clear();
  }
}
