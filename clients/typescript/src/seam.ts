// Where history ends and the stream goes on, for one listing and layer: the next event of the stream bounds the rows needed from history.
// While the last reading of a window before it is not known, the event waits, and everything behind it.
import type { Digits, SnapshotEvent, UpdateEvent } from './api-types.ts';
import { toComparable } from './delivered.ts';
import type { Known, Row } from './past.ts';

export type LiveReading<F extends Digits> = SnapshotEvent<F> | UpdateEvent<F>;

/** A stretch that was requested from history. */
export type Stretch = {
  /** Nothing was requested past this. */
  readonly to: string;
  /** How often it was requested again. */
  tries: number;
};

/** After every instant. */
const NEVER = '~';

class Piece<F extends Digits> {
  readonly stretch: Stretch;
  #rows: readonly Row<F>[];
  #open: readonly string[];
  /** Receipt of the next event of the stream: the stream has everything after it. */
  #bound: string | null = null;

  constructor(stretch: Stretch, rows: readonly Row<F>[], open: readonly string[]) {
    this.stretch = stretch;
    this.#rows = rows;
    this.#open = open;
  }

  /** End of the oldest window that is not known. */
  get open(): string | null {
    const [first] = this.#open;
    return first === undefined || (this.#bound !== null && first >= this.#bound) ? null : first;
  }

  bind(receivedAt: string | null): void {
    this.#bound ??= receivedAt === null ? NEVER : toComparable(receivedAt);
  }

  /** Another answer about what was received from `from` on. */
  learn(from: string, { rows, open }: Known<F>): void {
    this.#rows = [...this.#rows.filter(({ key }) => key < from), ...rows.filter(({ key }) => key >= from)];
    this.#open = open;
  }

  /** Takes the rows that can be delivered now, in their order. */
  take(): Row<F>[] {
    if (this.#bound === null) return [];
    const [bound, open = NEVER] = [this.#bound, this.#open[0]];
    // A period that reaches past the bound has its last reading from the stream.
    const count = this.#rows.findIndex(({ key, at }) => at >= open || key > bound);
    const taken = count < 0 ? this.#rows : this.#rows.slice(0, count);
    this.#rows = this.#rows.slice(taken.length);
    return [...taken];
  }

  /** Stops waiting for unknown windows. */
  giveUp(): void {
    this.#open = [];
    this.bind(null);
  }

  /** Whether everything of it that is wanted was taken. */
  get isDone(): boolean {
    return this.#bound !== null && this.open === null;
  }
}

export type Item<F extends Digits> =
  | { readonly key: string; readonly row: Row<F> }
  | { readonly key: string; readonly live: LiveReading<F> };

/** The waiting items of one listing and layer, in its order. */
export class Seam<F extends Digits> {
  readonly #parts: (Piece<F> | LiveReading<F>)[] = [];
  #newest = '';

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** Events of the stream and stretches that wait. */
  get waiting(): number {
    return this.#parts.length;
  }

  addStretch(stretch: Stretch, rows: readonly Row<F>[], open: readonly string[]): void {
    this.#parts.push(new Piece(stretch, rows, open));
  }

  addLive(event: LiveReading<F>): void {
    this.#bind(event.state.received_at);
    this.#parts.push(event);
  }

  /** The stream has no reading of it. */
  end(): void {
    this.#bind(null);
  }

  /** Stretches with windows that are not known, and the end of the oldest one of each. */
  *open(): Generator<readonly [Stretch, string]> {
    for (const piece of this.#pieces()) if (piece.open !== null) yield [piece.stretch, piece.open];
  }

  learn(stretch: Stretch, from: string, known: Known<F>): void {
    for (const piece of this.#pieces()) if (piece.stretch === stretch) piece.learn(from, known);
  }

  /** Takes what can be delivered now. Keys ascend, so that items of several seams can be delivered in one order. */
  take(): Item<F>[] {
    const items: Item<F>[] = [];
    let done = 0;
    for (const part of this.#parts) {
      if (part instanceof Piece) {
        for (const row of part.take()) items.push({ key: this.#ascend(row.key), row });
        if (!part.isDone) break;
      } else items.push({ key: this.#ascend(toComparable(part.state.received_at ?? '')), live: part });
      done += 1;
    }
    this.#parts.splice(0, done);
    return items;
  }

  giveUp(): void {
    for (const piece of this.#pieces()) piece.giveUp();
  }

  *#pieces(): Generator<Piece<F>> {
    for (const part of this.#parts) if (part instanceof Piece) yield part;
  }

  /** The next event of the stream bounds every stretch since its last one. */
  #bind(receivedAt: string | null): void {
    for (let i = this.#parts.length - 1; i >= 0; i -= 1) {
      const part = this.#parts[i];
      if (!(part instanceof Piece)) return;
      part.bind(receivedAt);
    }
  }

  #ascend(key: string): string {
    if (key > this.#newest) this.#newest = key;
    return this.#newest;
  }
}
