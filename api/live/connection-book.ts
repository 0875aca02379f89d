// Alive spans of connections as one task knows them, by connection: when the connection of a reading was lost (F-01, F-02).
import type { Micros } from '../../schemas/records.ts';
import type { Span } from '../../schemas/topics.ts';

/** Ended spans no reading refers to are dropped past this many spans: the state of a venue is derived from all of them. */
const MOST_SPANS = 10_000;
/** Of a connection that is kept, the newest ones stay: its collector may have been silent thousands of times. */
const MOST_OF_ONE = 100;

export class ConnectionBook {
  readonly #spans = new Map<string, Span[]>();
  #count = 0;
  #changes = 0;

  /** How often the spans have changed. */
  get changes(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#spans.size;
  }

  /** Adds a span, or replaces the one with the same start (its end became known). */
  apply(span: Span): void {
    this.#changes += 1;
    const spans = this.#spans.get(span.conn_id);
    if (spans === undefined) {
      this.#spans.set(span.conn_id, [span]);
      this.#count += 1;
      return;
    }
    const i = findPlace(spans, span.from);
    const known = spans[i]?.from === span.from ? 1 : 0;
    spans.splice(i, known, span);
    this.#count += 1 - known;
  }

  /** Adds the spans of an earlier book that this one does not know; those it knows may have ended since. */
  join(past: ConnectionBook): void {
    for (const [connId, spans] of past.#spans) {
      const known = this.#spans.get(connId) ?? [];
      for (const span of spans) if (!known.some(({ from }) => from === span.from)) this.apply(span);
    }
  }

  /** The span on which a message with this `receivedAt` was received: the newest that had begun by then, or the first; null when none is known. */
  spanOf(connId: string, receivedAt: Micros): Span | null {
    const spans = this.#spans.get(connId);
    if (spans === undefined) return null;
    for (let i = spans.length - 1; i >= 0; i--) {
      const span = spans[i] as Span;
      if (span.from <= receivedAt) return span;
    }
    return spans[0] ?? null;
  }

  /** All spans that are known. */
  *spans(): Generator<Span> {
    for (const spans of this.#spans.values()) yield* spans;
  }

  /** The newest span of every slot. */
  newestBySlot(): Map<string, Span> {
    const newest = new Map<string, Span>();
    for (const spans of this.#spans.values()) {
      for (const span of spans) {
        const held = newest.get(span.slot);
        if (held === undefined || isNewer(span, held)) newest.set(span.slot, span);
      }
    }
    return newest;
  }

  /** Forgets ended connections that no reading refers to, and old spans of the others, once there are too many. */
  prune(referred: () => ReadonlySet<string>): void {
    if (this.#count <= MOST_SPANS) return;
    const kept = referred();
    this.#changes += 1;
    this.#count = 0;
    for (const [connId, spans] of this.#spans) {
      if (!kept.has(connId) && spans.every((s) => s.to !== null)) this.#spans.delete(connId);
      else {
        spans.splice(0, Math.max(0, spans.length - MOST_OF_ONE));
        this.#count += spans.length;
      }
    }
  }
}

/** Place of the first span that does not begin before `from`. An unstable connection has thousands, and the newest is read most often. */
const findPlace = (spans: readonly Span[], from: Micros): number => {
  let i = spans.length;
  while (i > 0 && (spans[i - 1] as Span).from >= from) i -= 1;
  return i;
};

const isNewer = (a: Span, b: Span): boolean => {
  if ((a.to === null) !== (b.to === null)) return a.to === null;
  return a.from > b.from;
};
