// Waits for a condition without notification: polls it until it holds or a deadline.
import { setTimeout as pause } from 'node:timers/promises';

type Patience = { readonly everyMs: number; readonly forMs: number };

/** Whether the condition held in time; it is checked at least once. */
export const waitUntil = async (
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
