// The clock for answers of a node: its own clock, which never goes backwards and never stays behind the log, unless the log is far from wall clock and own clock (D-509, D-770).
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from './memory.ts';

type Clocks = {
  /** Never backwards, slewed towards the wall (`createClock`). */
  readonly ownMicros: () => Micros;
  /** May jump. */
  readonly wallMicros: () => Micros;
};

/** The log's time as far as the host agrees with it: a log that is far ahead of both clocks of the host is not believed, and the node is not ready. */
const findAgreed = (log: Micros, [own, wall]: readonly [own: Micros, wall: Micros]): Micros =>
  log - Math.max(own, wall) > STATE_LAG ? wall : log;

/**
 * The clock of a node that was suspended, or began before its host had the time, would take months to come up by slewing, and readings that are long
 * stale would be present. The log's time corrects it as far as wall or clock agree: none of them moves it alone by more than clocks may be apart.
 */
export const createAnswerClock = (
  live: Pick<LiveMemory, 'logTime'>,
  { ownMicros, wallMicros }: Clocks,
): (() => Micros) => {
  let answered = 0;
  return () => {
    const [own, wall] = [ownMicros(), wallMicros()];
    answered = Math.max(answered, own, findAgreed(live.logTime, [own, wall]));
    return answered;
  };
};

/** How far the node's clock is ahead where the wall and the log agree that it is, by more than 5 s; else 0. The log's time comes at most that late. */
export const findLead = (live: Pick<LiveMemory, 'logTime'>, { ownMicros, wallMicros }: Clocks): Micros => {
  const [own, wall] = [ownMicros(), wallMicros()];
  const isLogOfWall = Math.abs(wall - live.logTime) <= STATE_LAG;
  return isLogOfWall && own - wall > STATE_LAG ? own - wall : 0;
};

const LOOK_EVERY_MS = 1_000;

/** Calls `onLead` when the clock is ahead: it cannot go back. Returns the stop. */
export const watchLead = (
  live: Pick<LiveMemory, 'logTime'>,
  clocks: Clocks,
  onLead: (micros: Micros) => void,
): (() => void) => {
  const timer = setInterval(() => {
    const lead = findLead(live, clocks);
    if (lead > 0) onLead(lead);
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
};
