// What is published of a time that is long past, when a task works through a log that waited: readers have no use for all of it.
import type { Micros } from '../schemas/records.ts';
import type { LiveEntry } from '../schemas/topics.ts';
import type { Outputs } from './task/outputs.ts';

/** As long as `live` and `state` keep what is written, and as the memory copy holds rows beside the stored ones. */
const LONG_PAST: Micros = 900_000_000;
const ROUND_EVERY_MS = 60_000;

type Wanted = { readonly live: readonly LiveEntry[]; readonly stateRound: Outputs['stateRound'] };

export type Backlog = {
  /** What goes out of the outputs of a record: everything, unless the record is long past. `nowMs` is wall time. */
  readonly wantedOf: (outputs: Outputs, recordedAt: Micros, nowMs: number) => Wanted;
};

/** A reader that begins later needs these to know what holds; rows and watermarks are of moments, and stored. */
const holdsOn = ({ kind }: LiveEntry): boolean =>
  kind === 'reading' || kind === 'connection' || kind === 'listing' || kind === 'capability';

/**
 * `isFirst`: no owner of this task has said anything before, so nobody follows it who would miss a row. Rounds come once a minute of
 * wall time then, so that a reader who begins meanwhile finds one that `live` still leads on from.
 */
export const createBacklog = ({ isFirst }: { readonly isFirst: boolean }): Backlog => {
  let roundAtMs = Number.NEGATIVE_INFINITY;
  return {
    wantedOf: ({ live, stateRound }, recordedAt, nowMs) => {
      if (recordedAt >= nowMs * 1_000 - LONG_PAST) return { live, stateRound };
      const isRoundWanted = stateRound !== null && nowMs - roundAtMs >= ROUND_EVERY_MS;
      if (isRoundWanted) roundAtMs = nowMs;
      return { live: isFirst ? live.filter(holdsOn) : live, stateRound: isRoundWanted ? stateRound : null };
    },
  };
};

/** A log that is finished is of another time altogether: all of it is published. */
export const NO_BACKLOG: Backlog = { wantedOf: ({ live, stateRound }) => ({ live, stateRound }) };
