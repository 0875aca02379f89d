// Subscriptions of a socket that may be quiet: only their beginning is watched (D-576).
import type { Watched } from '../contract/feed.ts';

/** A venue answers a subscription within seconds. */
const BEGIN_MS = 60_000;

/** Those that have not begun by then were refused, and are made again. */
export const watchBeginning = (subscriptions: readonly string[]): Watched => ({
  subscriptions,
  silenceMs: BEGIN_MS,
  mayBeQuiet: true,
});
