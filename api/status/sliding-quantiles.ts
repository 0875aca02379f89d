// Quantiles of what was measured within the last hour, to five per cent: counts by logarithmic step and minute.

const MINUTES = 60;
const STEP = Math.log(1.05);
/** Everything below a millisecond counts as one. */
const LEAST_MS = 1;

type Minute = { readonly minute: number; readonly counts: Map<number, number> };

export type Quantiles = { readonly p50: number; readonly p99: number; readonly count: number };

export class SlidingQuantiles {
  #minutes: Minute[] = [];

  /** `ms` of zero or less counts as below a millisecond. */
  add(ms: number, nowMs: number): void {
    const minute = Math.floor(nowMs / 60_000);
    this.#forget(minute);
    let newest = this.#minutes.at(-1);
    if (newest === undefined || newest.minute < minute) {
      newest = { minute, counts: new Map() };
      this.#minutes.push(newest);
    }
    const step = ms <= LEAST_MS ? 0 : Math.ceil(Math.log(ms) / STEP);
    newest.counts.set(step, (newest.counts.get(step) ?? 0) + 1);
  }

  /** In milliseconds, each at most five per cent above the measured value; null without a measurement. */
  read(nowMs: number): Quantiles | null {
    this.#forget(Math.floor(nowMs / 60_000));
    const counts = new Map<number, number>();
    for (const minute of this.#minutes)
      for (const [step, count] of minute.counts) counts.set(step, (counts.get(step) ?? 0) + count);
    const steps = [...counts].sort(([a], [b]) => a - b);
    const count = steps.reduce((sum, [, n]) => sum + n, 0);
    return count === 0
      ? null
      : { p50: findQuantile(steps, count * 0.5), p99: findQuantile(steps, count * 0.99), count };
  }

  #forget(minute: number): void {
    // What lies ahead was measured before the clock was set back: it would be the last hour's until the clock comes there again.
    const isOfHour = (held: Minute | undefined): boolean =>
      held === undefined || (held.minute > minute - MINUTES && held.minute <= minute + 1);
    if (isOfHour(this.#minutes[0]) && isOfHour(this.#minutes.at(-1))) return;
    this.#minutes = this.#minutes.filter(isOfHour);
  }
}

const findQuantile = (steps: readonly (readonly [step: number, count: number])[], rank: number): number => {
  let seen = 0;
  for (const [step, count] of steps) {
    seen += count;
    if (seen >= rank) return Math.ceil(Math.exp(step * STEP));
  }
  return 0;
};
