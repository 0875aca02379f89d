// How often an address may do a thing in a while; kept in the memory of the one process that serves sign-in.
import { toSource } from '../contract/source-address.ts';

/** `drop-oldest`. */
const MOST_SOURCES = 50_000;

export class AddressMeter {
  readonly #most: number;
  readonly #windowMs: number;
  /** Instants within the window, oldest first, by source. */
  readonly #sources = new Map<string, number[]>();

  constructor(most: number, windowMs: number) {
    this.#most = most;
    this.#windowMs = windowMs;
  }

  /** Seconds until the address may again, at least 1; null: it may now. */
  waitS(address: string, nowMs: number): number | null {
    const held = this.#within(toSource(address), nowMs);
    // Of more at once than there may be, all but the newest have to leave first.
    const last = held[held.length - this.#most];
    if (last === undefined) return null;
    return Math.ceil((last + this.#windowMs - nowMs) / 1_000);
  }

  note(address: string, nowMs: number): void {
    const source = toSource(address);
    const held = [...this.#within(source, nowMs), nowMs];
    this.#sources.delete(source);
    this.#sources.set(source, held);
    const oldest = this.#sources.size > MOST_SOURCES ? this.#sources.keys().next().value : undefined;
    if (oldest !== undefined) this.#sources.delete(oldest);
  }

  /** Takes back the last noted attempt, which did not happen after all. */
  takeBack(address: string): void {
    this.#sources.get(toSource(address))?.pop();
  }

  #within(source: string, nowMs: number): number[] {
    // After the clock was set back, an instant to come would count for as long as the step was.
    return (this.#sources.get(source) ?? []).filter((at) => at > nowMs - this.#windowMs && at <= nowMs);
  }
}
