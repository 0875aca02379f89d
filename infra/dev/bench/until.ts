// Waits for what cannot tell that it has come: asked again and again, for so long and no longer.
import { setTimeout as pause } from 'node:timers/promises';

type Patience = { readonly everyMs: number; readonly forMs: number };

/** Whether it held in time; it is asked at least once. */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  { everyMs, forMs }: Patience,
): Promise<boolean> => {
  const deadline = performance.now() + forMs;
  while (!(await holds())) {
    if (performance.now() > deadline) return false;
    await pause(everyMs);
  }
  return true;
};
