// One column of a series: values of consecutive periods and when each was received, growing at its newest end.
import type { Micros } from '../../schemas/records.ts';

/** Periods kept free at the newest end when a full column moves on. */
const SLACK = 64;
const BYTES_A_PERIOD = 16;

export class Column {
  /** Number of the first period there is room for. */
  #first: number;
  /** NaN: no element. */
  #values: Float64Array;
  /** Of the last reading or candle of the period; NaN: none came. */
  #received: Float64Array;

  /** Room for the periods `first` to `last`, and a few more. */
  constructor(first: number, last: number) {
    const room = Math.max(0, last - first + 1) + SLACK;
    this.#first = first;
    this.#values = new Float64Array(room).fill(Number.NaN);
    this.#received = new Float64Array(room).fill(Number.NaN);
  }

  /** Every period from here on is known; what lies before must be loaded. */
  get first(): number {
    return this.#first;
  }

  get bytes(): number {
    return this.#values.length * BYTES_A_PERIOD;
  }

  /** Puts an element; of several of one period the last received counts, and a repeat says the same. Older than the first is dropped. */
  put(period: number, value: number, received: Micros): void {
    if (period < this.#first) return;
    if (period - this.#first >= this.#values.length) this.#moveTo(period);
    const i = period - this.#first;
    const held = this.#received[i] as number;
    if (held > received) return;
    this.#values[i] = value;
    this.#received[i] = received;
  }

  has(period: number): boolean {
    return !Number.isNaN(this.#values[period - this.#first] ?? Number.NaN);
  }

  /** Copies the values of `count` periods that end with `last`, oldest first; NaN where there is none. */
  copy(last: number, count: number): Float64Array {
    return this.#copyOf(this.#values, last, count);
  }

  /** As `copy`, of when they were received. */
  copyReceived(last: number, count: number): Float64Array {
    return this.#copyOf(this.#received, last, count);
  }

  #copyOf(kept: Float64Array, last: number, count: number): Float64Array {
    const out = new Float64Array(count).fill(Number.NaN);
    const start = last - count + 1 - this.#first;
    const from = Math.max(0, start);
    const to = Math.min(kept.length, last - this.#first + 1);
    if (to > from) out.set(kept.subarray(from, to), from - start);
    return out;
  }

  /** When the period's last reading was received; null without one. */
  receivedAt(period: number): Micros | null {
    const received = this.#received[period - this.#first] ?? Number.NaN;
    return Number.isNaN(received) ? null : received;
  }

  /** The oldest periods make room: `drop-oldest`. */
  #moveTo(period: number): void {
    const by = Math.min(this.#values.length, period - this.#first - this.#values.length + 1 + SLACK);
    const step = period - this.#first - this.#values.length + 1 + SLACK;
    for (const kept of [this.#values, this.#received]) {
      kept.copyWithin(0, by);
      kept.fill(Number.NaN, kept.length - by);
    }
    this.#first += step;
  }
}
