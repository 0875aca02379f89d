// A page's estimate of the service's clock, from the instants that the stream states: it is behind by at most the delay of a message.

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
