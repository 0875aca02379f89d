// Checks whether a store responds, for /readyz.
import { limitTime } from '../time/within.ts';

const PATIENCE_MS = 2_000;

/** Reason of a process that needs it. */
export const POSTGRES_AWAY = 'PostgreSQL does not respond within two seconds, or is read-only';

/**
 * `ping` resolves to whether the store can be used, and rejects while it is away. No response within two seconds counts as away. Concurrent callers
 * share one ping, so a store that hangs holds one connection.
 */
export const watchReachable = (ping: () => Promise<boolean>, patienceMs = PATIENCE_MS): (() => Promise<boolean>) => {
  let pending: Promise<boolean> | null = null;
  return () => {
    pending ??= ping().finally(() => {
      pending = null;
    });
    return limitTime(pending, patienceMs).catch(() => false);
  };
};
