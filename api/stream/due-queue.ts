// Instants at which something must be checked again, soonest first: a binary heap, so that waiting costs nothing.
import type { Micros } from '../../schemas/records.ts';

type Due<T> = { readonly at: Micros; readonly subject: T };

export class DueQueue<T> {
  #heap: Due<T>[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(at: Micros, subject: T): void {
    let i = this.#heap.push({ at, subject }) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#at(parent) <= this.#at(i)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  /** Whether an instant at or before `now` is queued. */
  isDue(now: Micros): boolean {
    return this.#at(0) <= now;
  }

  /** Removes and returns the earliest instant at or before `now`; null when there is none. */
  take(now: Micros): Due<T> | null {
    const [top] = this.#heap;
    if (top === undefined || top.at > now) return null;
    const last = this.#heap.pop() as Due<T>;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    return top;
  }

  /** Drops the moments of which `isKept` is false. */
  keep(isKept: (at: Micros, subject: T) => boolean): void {
    // What ascends is a heap.
    this.#heap = this.#heap.filter(({ at, subject }) => isKept(at, subject)).sort((a, b) => a.at - b.at);
  }

  #sink(): void {
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(least) >= this.#at(i)) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #at(i: number): Micros {
    return this.#heap[i]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(i: number, j: number): void {
    const [a, b] = [this.#heap[i] as Due<T>, this.#heap[j] as Due<T>];
    this.#heap[i] = b;
    this.#heap[j] = a;
  }
}
