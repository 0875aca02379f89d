/** A parent that was killed with -9 passes nothing on: its children look for themselves whether it still runs. */

const LOOK_EVERY_MS = 1000;

/** Calls back once when the process that started this one is gone: our parent is another one then. */
export function whenParentEnds(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
}
