// What a narrowing plan covers today, and the refusals of naming more (S-07, AC-02).

import { add, compare } from '../../schemas/decimals.ts';
import { type ApiError, ServiceError } from '../../schemas/errors.ts';
import { dayOf } from '../../schemas/instants.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import { isListed } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Names, Narrowing } from '../selection/resolve.ts';
import { narrows, type Plan, type PlanCode } from './plans.ts';

/** Venues and instruments of a plan, ascending; null where the plan narrows none. */
export type ScopeChoice = { readonly venues: readonly string[] | null; readonly instruments: readonly string[] | null };

type Turnover = {
  readonly byVenue: Map<string, Digits>;
  readonly byInstrument: Map<string, Map<string, Digits>>;
  measured: boolean;
};

/** 24 h turnover by venue, and by instrument and venue; zero where no stats are collected. */
const measureTurnover = (live: LiveMemory, at: Micros): Turnover => {
  const turnover: Turnover = { byVenue: new Map(), byInstrument: new Map(), measured: false };
  for (const { venue, listings } of live.venues()) {
    turnover.byVenue.set(venue, '0');
    for (const { versions, readings } of listings.values()) {
      const version = versions.at(-1);
      if (version === undefined || !isListed(version, at)) continue;
      const digits = readings.stats?.values.turnover_24h;
      if (digits !== undefined) turnover.measured = true;
      const { instrument } = version.record.values;
      const ofInstrument = turnover.byInstrument.get(instrument) ?? new Map<string, Digits>();
      turnover.byInstrument.set(instrument, ofInstrument);
      ofInstrument.set(venue, add(ofInstrument.get(venue) ?? '0', digits ?? '0'));
      turnover.byVenue.set(venue, add(turnover.byVenue.get(venue) ?? '0', digits ?? '0'));
    }
  }
  return turnover;
};

/** The `count` codes with the largest figure, equal ones by code; ascending by code. */
const largest = (figures: ReadonlyMap<string, Digits>, count: number): string[] =>
  [...figures]
    .sort(([a, x], [b, y]) => -compare(x, y) || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([code]) => code)
    .sort();

/** Chooses by turnover; while no stats are collected every figure is zero, and the first codes are taken. */
const chooseScope = (plan: Plan, turnover: Turnover): ScopeChoice => {
  const venues = plan.venues === null ? null : largest(turnover.byVenue, plan.venues);
  if (plan.instruments === null) return { venues, instruments: null };
  const figures = new Map<string, Digits>();
  for (const [instrument, byVenue] of turnover.byInstrument) {
    const within = [...byVenue].filter(([venue]) => venues === null || venues.includes(venue));
    if (within.length > 0)
      figures.set(
        instrument,
        within.reduce<Digits>((sum, [, digits]) => add(sum, digits), '0'),
      );
  }
  return { venues, instruments: largest(figures, plan.instruments) };
};

type Chosen = {
  readonly day: string;
  readonly version: number;
  readonly settled: boolean;
  readonly choice: ScopeChoice;
};

/** Scopes of a memory copy: chosen once a UTC day, and again with every listing change until stats have been seen. */
export const scopeChooser = (live: LiveMemory) => {
  const chosen = new Map<PlanCode, Chosen>();
  return (plan: Plan, at: Micros): ScopeChoice => {
    const day = dayOf(at);
    const held = chosen.get(plan.code);
    if (held !== undefined && held.day === day && (held.settled || held.version === live.version)) return held.choice;
    const turnover = measureTurnover(live, at);
    const choice = chooseScope(plan, turnover);
    chosen.set(plan.code, { day, version: live.version, settled: turnover.measured, choice });
    return choice;
  };
};

/** `scope` of a data answer: required whenever the plan narrows (S-07). */
export const scopeMember = (plan: Plan, choice: ScopeChoice, allVenues: readonly string[]) =>
  narrows(plan)
    ? { venues: choice.venues ?? allVenues, instruments: plan.instruments ?? 'all', plan: plan.code }
    : undefined;

export const narrowingOf = ({ venues, instruments }: ScopeChoice): Narrowing => ({
  venues: venues === null ? null : new Set(venues),
  instruments: instruments === null ? null : new Set(instruments),
});

/** Names outside the plan: a venue, an instrument, or a base whose instrument is outside. */
export const refuseOutside = (names: Names, plan: Plan, { venues, instruments }: ScopeChoice): ApiError[] => {
  const errors: ApiError[] = [];
  for (const { code, origin } of venues === null ? [] : (names.venue ?? [])) {
    if (venues?.includes(code)) continue;
    const message = `Venue "${code}" is not in the plan ${plan.name}; its venues are ${venues?.join(', ')}.`;
    errors.push({
      code: 'PLAN_VENUE_NOT_INCLUDED',
      message,
      hint: `Ask for one of: ${venues?.join(', ')}.`,
      ...origin,
    });
  }
  const asked = [
    ...(names.instrument ?? []).map((n) => ({ ...n, instrument: n.code })),
    ...(names.base ?? []).map((n) => ({ ...n, instrument: `${n.code}-PERP` })),
  ];
  for (const { code, instrument, origin } of instruments === null ? [] : asked) {
    if (instruments?.includes(instrument)) continue;
    const message = `"${code}" is not among the ${plan.instruments} instruments of the plan ${plan.name}.`;
    errors.push({
      code: 'PLAN_LIMIT',
      message,
      hint: `Ask for one of: ${instruments?.slice(0, 10).join(', ')}.`,
      ...origin,
    });
  }
  return errors;
};

/** Throws what was collected, if anything was. */
export const throwAll = (errors: readonly ApiError[]): void => {
  if (errors.length > 0) throw new ServiceError(errors);
};
