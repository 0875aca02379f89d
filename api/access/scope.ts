// The scope of a narrowing plan today, and the refusals of names outside it (S-07, AC-02).
import type { ApiError } from '../../schemas/errors.ts';
import { parseInstant, toDayOf } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { isNarrowing, type Plan, type PlanCode } from '../contract/plans.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Names, Narrowing } from '../selection/resolve.ts';
import { chooseScope, listCovered, measureTurnover, type ScopeChoice, type Turnover } from './turnover.ts';
import type { StoredTurnover } from './turnover-store.ts';

export type { ScopeChoice } from './turnover.ts';
export type ChooseScope = (plan: Plan, at: Micros) => ScopeChoice;

/** `from`: what it was chosen from, so that it is chosen again when that changes. */
type Chosen = { readonly from: string; readonly choice: ScopeChoice };

/** Only venues that are served can be chosen; null when none of them was measured. */
const pickServed = ({ turnover }: StoredTurnover, live: LiveMemory): Turnover | null => {
  const served = new Set([...live.venues()].map(({ venue }) => venue));
  const within = new Map([...turnover].filter(([venue]) => served.has(venue)));
  return within.size === 0 ? null : within;
};

/** Scopes by the stored turnover of the day, until one is stored by that of the memory copy; as of each listing change. */
export const createScopeChooser = (live: LiveMemory, stored: () => StoredTurnover | null = () => null): ChooseScope => {
  const chosen = new Map<PlanCode, Chosen>();
  return (plan, at) => {
    const day = stored();
    const from = `${day?.day ?? ''} ${toDayOf(at)} ${live.version}`;
    const held = chosen.get(plan.code);
    if (held?.from === from) return held.choice;
    const turnover = (day === null ? null : pickServed(day, live)) ?? measureTurnover(live, at).turnover;
    const choice = chooseScope(plan, turnover, { live, dayStart: parseInstant(toDayOf(at)) ?? at });
    chosen.set(plan.code, { from, choice });
    return choice;
  };
};

/** The scopes of one request: the selection and the reported scope are from the same state, even if it changes while the request is answered. */
export const holdScopes = (choose: ChooseScope, at: Micros): ((plan: Plan) => ScopeChoice) => {
  const held = new Map<PlanCode, ScopeChoice>();
  return (plan) => {
    const choice = held.get(plan.code) ?? choose(plan, at);
    held.set(plan.code, choice);
    return choice;
  };
};

/** `scope` of a data answer: required whenever the plan narrows (S-07). It counts the instruments that are covered and listed. */
export const makeScopeMember = (
  plan: Plan,
  choice: ScopeChoice,
  { live, at }: { readonly live: LiveMemory; readonly at: Micros },
) => {
  if (!isNarrowing(plan)) return undefined;
  const venues = choice.venues ?? [...live.venues()].map(({ venue }) => venue);
  const instruments = plan.instruments === null ? 'all' : listCovered(choice, live, at).length;
  return { venues, instruments, plan: plan.code };
};

export const toNarrowing = ({ venues, instruments }: ScopeChoice): Narrowing => ({
  venues: venues === null ? null : new Set(venues),
  instruments: instruments === null ? null : new Set(instruments),
});

/** Names outside the plan: a venue, an instrument, or a base whose instrument is outside. */
export const refuseOutside = (names: Names, plan: Plan, { venues, instruments, known }: ScopeChoice): ApiError[] => {
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
  const covered = instruments ?? known;
  if (covered === undefined) return errors;
  for (const { code, instrument, origin } of asked) {
    if (covered.includes(instrument)) continue;
    const message = `"${code}" is not among the ${covered.length} instruments of the plan ${plan.name}.`;
    errors.push({
      code: 'PLAN_LIMIT',
      message,
      hint: `Ask for one of: ${covered.slice(0, 10).join(', ')}.`,
      ...origin,
    });
  }
  return errors;
};
