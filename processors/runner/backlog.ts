// Limits what is published while a task works through an old backlog: readers do not need all of it.
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry } from '../../schemas/topics.ts';
import type { Outputs } from '../task/outputs.ts';

/** The retention of `live` and `state`, and the time the memory copy keeps rows beside the stored ones. */
const LONG_PAST: Micros = 900_000_000;
const ROUND_EVERY_MS = 60_000;

type Wanted = { readonly live: readonly LiveEntry[]; readonly stateRound: Outputs['stateRound'] };

export type Backlog = {
  /** The outputs of a record to publish: all of them, unless the record is long past. `nowMs` is wall time. */
  readonly selectOutputs: (outputs: Outputs, recordedAt: Micros, nowMs: number) => Wanted;
};

/** A later reader needs these to know the current state; rows and watermarks belong to moments, and rows are stored. */
const isHeldOn = ({ kind }: LiveEntry): boolean =>
  kind === 'reading' || kind === 'connection' || kind === 'listing' || kind === 'capability';

/**
 * `isFirst`: no earlier owner of this task has published, so no reader can miss a row. Rounds are then published once a minute of wall
 * time, so that a reader that starts meanwhile finds one from which `live` still continues.
 */
export const createBacklog = ({ isFirst }: { readonly isFirst: boolean }): Backlog => {
  let roundAtMs = Number.NEGATIVE_INFINITY;
  return {
    selectOutputs: ({ live, stateRound }, recordedAt, nowMs) => {
      if (recordedAt >= nowMs * 1_000 - LONG_PAST) return { live, stateRound };
      // Either way: after wall time was set back none would follow until it is again where it was.
      const isRoundWanted = stateRound !== null && Math.abs(nowMs - roundAtMs) >= ROUND_EVERY_MS;
      if (isRoundWanted) roundAtMs = nowMs;
      return { live: isFirst ? live.filter(isHeldOn) : live, stateRound: isRoundWanted ? stateRound : null };
    },
  };
};

/** A finished log belongs to another time: all of it is published. */
export const NO_BACKLOG: Backlog = { selectOutputs: ({ live, stateRound }) => ({ live, stateRound }) };
