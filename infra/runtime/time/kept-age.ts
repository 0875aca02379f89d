// Age of what is kept for a while by the wall clock.

/** Whether what was read at `atMs` is younger than `keptMs`. An age below zero shows that the clock was set back: the true age is not known. */
export const isYounger = (keptMs: number, atMs: number, nowMs: number): boolean =>
  atMs <= nowMs && nowMs - atMs < keptMs;
