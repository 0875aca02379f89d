// The collector's interface to a running slot, and the loss cause that an HTTP status implies.
import type { LossCause } from './connection-log.ts';

/** A slot that runs until stopped. */
export type SlotRunner<S> = {
  readonly slot: () => S;
  /** Switches to a new definition of the same slot; the old connection ends once the new one is settled. */
  readonly replace: (slot: S) => void;
  /** Ends the open connections and what is asked; new ones follow. */
  readonly renew: (cause: LossCause, detail: string) => void;
  readonly stop: (cause: LossCause, detail: string) => void;
};

/** `status` null: no answer. */
export const toLossCause = (status: number | null): LossCause => {
  if (status === 429 || status === 418) return 'venue_rate_limit';
  return status === null || status >= 500 ? 'venue_down' : 'connection_lost';
};
