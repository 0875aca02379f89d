// The archive files that a plan may fetch (AR-05), by venue, instrument, layer and age; and the rows for which it may request a proof (AN-06).
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, MICROS_PER_DAY, parseInstant } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ScopeChoice } from '../access/scope.ts';
import type { SetName } from '../contract/archive.ts';
import { findLayer } from '../contract/layer-names.ts';
import { EARLIEST_HOLDS, type Plan } from '../contract/plans.ts';

type PlanScope = { readonly plan: Plan; readonly choice: ScopeChoice };
export type FileScope = PlanScope & { readonly evaluatedAt: Micros };

type File = SetName & { readonly instrument: string };

type Rows = {
  readonly venue: string;
  readonly layer: string;
  /** Null when the owner of the rows is unknown. */
  readonly instrument: string | null;
};
/** JSON pointers of the members that name the listing. */
type ListingPaths = { readonly venue: string; readonly instrument: string };

/** Why the plan may not read these rows whatever their day, everything at once; empty when it may (AN-06, AR-05). */
export const findRowRefusals = (
  { venue, layer, instrument }: Rows,
  { plan, choice: { venues, instruments } }: PlanScope,
  paths: ListingPaths,
): ApiError[] => {
  const errors: ApiError[] = [];
  if (venues !== null && !venues.includes(venue)) {
    const message = `Venue "${venue}" is not in the plan ${plan.name}; its venues are ${venues.join(', ')}.`;
    const hint = `Ask for one of: ${venues.join(', ')}.`;
    errors.push({ code: 'PLAN_VENUE_NOT_INCLUDED', message, hint, path: paths.venue });
  } else if (instruments !== null && instrument !== null && !instruments.includes(instrument)) {
    const message = `"${instrument}" is not among the ${plan.instruments} instruments of the plan ${plan.name}.`;
    const hint = `Ask for one of: ${instruments.slice(0, 10).join(', ')}.`;
    errors.push({ code: 'PLAN_LIMIT', message, hint, path: paths.instrument });
  }
  // A plan states layers by the snapshot's names.
  if (!plan.layers.includes(findLayer(layer) ?? layer)) {
    const message = `Layer "${layer}" is not in the plan ${plan.name}.`;
    errors.push({ code: 'PLAN_LIMIT', message, hint: `The plan has ${plan.layers.join(', ')}.`, path: '/layer' });
  }
  return errors;
};

/** Why the plan may not fetch the file, everything at once; empty when it may. */
export const findFileRefusals = ({ day, ...rows }: File, { plan, choice, evaluatedAt }: FileScope): ApiError[] => {
  const errors = findRowRefusals(rows, { plan, choice }, { venue: '/listing', instrument: '/listing' });
  const from = plan.history_days === null ? null : evaluatedAt - plan.history_days * MICROS_PER_DAY;
  if (from !== null && (parseInstant(day) ?? 0) + MICROS_PER_DAY < from - EARLIEST_HOLDS) {
    const message = `The plan ${plan.name} includes history from ${formatInstant(from)} on; the day ${day} ended before that.`;
    errors.push({ code: 'PLAN_LIMIT', message, hint: 'Ask for a later day.', path: '/day' });
  }
  return errors;
};

/** Whether the plan includes the file (AR-01). One that it includes now may be fetched a while from now, too. */
export const isIncluded = (file: File, scope: FileScope): boolean =>
  findFileRefusals(file, { ...scope, evaluatedAt: scope.evaluatedAt + EARLIEST_HOLDS }).length === 0;
