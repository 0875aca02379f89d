/** A parent killed with -9 forwards no signal: its children check whether it still runs. */

const LOOK_EVERY_MS = 1000;

/** Calls back once when the process that started this one is gone, which changes our parent. */
export function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
}
