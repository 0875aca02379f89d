// The instants at which a rule is evaluated: whole seconds that follow from its id and its interval alone (AG-03).
import { parseDuration } from '../../schemas/durations.ts';
import { MICROS_PER_SECOND } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Plan } from '../contract/plans.ts';

type Rhythm = { readonly phase: number; readonly intervalS: number };

/** The interval of a rule under a plan: the larger of its own and the plan's (AG-03). */
export const computeIntervalS = (intervalS: number, { limits }: Plan): number =>
  Math.max(intervalS, (parseDuration(limits.agent_interval_min) ?? 0) / 1_000);

/** The first instant of the rhythm after `after`. */
export const findInstantAfter = (after: Micros, { phase, intervalS }: Rhythm): Micros => {
  const length = intervalS * MICROS_PER_SECOND;
  const offset = (phase % intervalS) * MICROS_PER_SECOND;
  return (Math.floor((after - offset) / length) + 1) * length + offset;
};

/** Whether no rule has an instant at or after `from` and before `to`. */
export const isBetweenInstants = (from: Micros, to: Micros): boolean =>
  Math.ceil(from / MICROS_PER_SECOND) * MICROS_PER_SECOND >= to;
