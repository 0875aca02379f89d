// The service's clock as far as a page can know it: from the instants that the stream states, never behind by more than the way takes.

/** How long a sample counts; two such stretches are kept. */
const STRETCH_MS = 60_000;

/** `localMs` is a clock that only goes forward (`performance.now()`). */
export class ServerClock {
  #best = Number.NEGATIVE_INFINITY;
  #previous = Number.NEGATIVE_INFINITY;
  #stretchFrom = Number.NEGATIVE_INFINITY;

  /** Notes that the service reported `serverMs`. The message was delayed on its way, so the largest difference is the most accurate. */
  note(serverMs: number, localMs: number): void {
    if (!Number.isFinite(serverMs)) return;
    if (localMs - this.#stretchFrom >= STRETCH_MS) {
      this.#previous = this.#best;
      this.#best = Number.NEGATIVE_INFINITY;
      this.#stretchFrom = localMs;
    }
    this.#best = Math.max(this.#best, serverMs - localMs);
  }

  /** Null before the first report. */
  nowMs(localMs: number): number | null {
    const offset = Math.max(this.#best, this.#previous);
    return Number.isFinite(offset) ? localMs + offset : null;
  }
}
