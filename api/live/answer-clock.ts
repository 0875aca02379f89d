// The clock for answers of a node: its own clock, which never goes backwards, moved forward to the time of the log (D-509, D-770, D-797).
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from './memory.ts';

type Clocks = {
  /** Never backwards, slewed towards the wall (`createClock`). */
  readonly ownMicros: () => Micros;
  /** May jump. */
  readonly wallMicros: () => Micros;
};

/** A log that is far ahead of both clocks of the host is not believed, and the node is not ready. */
const isBelieved = (log: Micros, { own, wall }: HostTime): boolean => log - Math.max(own, wall) <= STATE_LAG;

type HostTime = { readonly own: Micros; readonly wall: Micros };

/** How far the node's own clock is moved forward: to the newest time of the log, but not beyond the wall clock if the wall clock agrees with the log. */
const moveLead = (lead: Micros, log: Micros, { own, wall }: HostTime): Micros => {
  const moved = isBelieved(log, { own, wall }) ? Math.max(lead, log - own) : lead;
  return Math.abs(wall - log) <= STATE_LAG ? Math.min(moved, Math.max(0, wall - own)) : moved;
};

/**
 * The clock of a node that was suspended, or that started before its host had the correct time, would need months of slewing, and meanwhile readings
 * that became stale long ago would be `present`. The log's time corrects it if the wall clock or the node's clock agrees with the log: none of the three
 * alone moves it by more than the permitted difference of clocks. The correction remains while the log stands still or is behind; otherwise nothing
 * would show that the log is behind.
 */
export const createAnswerClock = (
  live: Pick<LiveMemory, 'logTime'>,
  { ownMicros, wallMicros }: Clocks,
): (() => Micros) => {
  let answered = 0;
  let lead = 0;
  return () => {
    const { logTime } = live;
    const host = { own: ownMicros(), wall: wallMicros() };
    lead = moveLead(lead, logTime, host);
    answered = Math.max(answered, host.own + lead, isBelieved(logTime, host) ? logTime : host.wall);
    return answered;
  };
};

type AnswerClock = Pick<Clocks, 'wallMicros'> & { readonly nowMicros: () => Micros };

/** How far the node's clock is ahead where the wall and the log agree that it is, by more than 5 s; else 0. The log's time comes at most that late. */
export const findLead = (live: Pick<LiveMemory, 'logTime'>, { nowMicros, wallMicros }: AnswerClock): Micros => {
  const [now, wall] = [nowMicros(), wallMicros()];
  const isLogOfWall = Math.abs(wall - live.logTime) <= STATE_LAG;
  return isLogOfWall && now - wall > STATE_LAG ? now - wall : 0;
};

const LOOK_EVERY_MS = 1_000;

/** Calls `onLead` when the clock is ahead: it cannot go back. Returns the stop. */
export const watchLead = (
  live: Pick<LiveMemory, 'logTime'>,
  clocks: AnswerClock,
  onLead: (micros: Micros) => void,
): (() => void) => {
  const timer = setInterval(() => {
    const lead = findLead(live, clocks);
    if (lead > 0) onLead(lead);
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
};
