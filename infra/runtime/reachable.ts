// Whether a store answers, for /readyz.
import { within } from './within.ts';

const PATIENCE_MS = 2_000;

/**
 * `ping` resolves to whether the store can be used, and rejects while it is away. No answer within two seconds is away too; whoever asks meanwhile
 * waits for the same ping, so a store that hangs holds one connection.
 */
export const watchReachable = (ping: () => Promise<boolean>, patienceMs = PATIENCE_MS): (() => Promise<boolean>) => {
  let pending: Promise<boolean> | null = null;
  return () => {
    pending ??= ping().finally(() => {
      pending = null;
    });
    return within(pending, patienceMs).catch(() => false);
  };
};
