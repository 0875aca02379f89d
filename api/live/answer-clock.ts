// The clock by which a node answers: its own, which only goes forward, and never far behind both the log and the wall (D-509).
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from './memory.ts';

type Clocks = {
  /** Never backwards, slewed towards the wall (`createClock`). */
  readonly ownMicros: () => Micros;
  /** May jump. */
  readonly wallMicros: () => Micros;
};

/**
 * The clock of a node that was suspended, or began before its host had the time, would take months to come up by slewing, and readings that are long
 * stale would be present. The log's time corrects it as far as the wall agrees: neither of them moves it alone.
 */
export const createAnswerClock = (
  live: Pick<LiveMemory, 'logTime'>,
  { ownMicros, wallMicros }: Clocks,
): (() => Micros) => {
  let answered = 0;
  return () => {
    answered = Math.max(answered, ownMicros(), Math.min(live.logTime, wallMicros()));
    return answered;
  };
};
