// The collector's interface to a running slot, and the loss cause that an HTTP status implies.
import type { LossCause } from './connection-log.ts';

/** A slot that runs until stopped. */
export type SlotRunner<S> = {
  readonly slot: () => S;
  /** Switches to a new definition of the same slot; the old connection ends once the new one is settled. */
  readonly replace: (slot: S) => void;
  /** Ends the open connections and discards pending requests; new ones follow. */
  readonly renew: (cause: LossCause, detail: string) => void;
  readonly stop: (cause: LossCause, detail: string) => void;
};

/** Codes for a machine that has no descriptor, port, buffer or memory left: the request never reached the venue. */
const OUR_OWN: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']);

/** Of a host with several addresses all attempts have to be: on a machine without IPv6 one of them always is. */
const isOurOwn = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOurOwn);
  return error instanceof Error && (('code' in error && OUR_OWN.has(error.code)) || isOurOwn(error.cause));
};

/** `status` null: no answer, because of `error`. */
export const toLossCause = (status: number | null, error: unknown): LossCause => {
  if (status === 429 || status === 418) return 'venue_rate_limit';
  if (status === null && isOurOwn(error)) return 'collector_down';
  return status === null || status >= 500 ? 'venue_down' : 'connection_lost';
};
