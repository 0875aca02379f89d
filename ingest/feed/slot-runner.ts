// The collector's interface to a running slot.
import type { LossCause } from './loss-cause.ts';

/** A slot that runs until stopped. */
export type SlotRunner<S> = {
  readonly slot: () => S;
  /** Switches to a new definition of the same slot; the old connection ends once the new one is settled. */
  readonly replace: (slot: S) => void;
  /** Ends the open connections and discards pending requests; new ones follow. */
  readonly renew: (cause: LossCause, detail: string) => void;
  readonly stop: (cause: LossCause, detail: string) => void;
};
