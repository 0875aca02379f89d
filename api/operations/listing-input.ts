// Common input and checks of the operations over listings: a plan, selection, layers, how many listings, the scope they state.
import Type, { type Static } from 'typebox';
import { type ApiError, ServiceError } from '../../schemas/errors.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { makeScopeMember } from '../access/scope.ts';
import { findLayer, hasLayer } from '../contract/layer-names.ts';
import type { Plan } from '../contract/plans.ts';
import { makeKeyRequired } from '../contract/refusals.ts';
import { toSelection, type Where } from '../language/where-object.ts';
import { type ReadSelection, readSelectionText } from '../language/where-text.ts';
import type { Selected } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, resolveNames } from '../selection/resolve.ts';
import type { Context } from './operation.ts';

type LayerNames = readonly string[] | undefined;

/** `scope` of an answer under a plan that narrows (S-07). */
export const Scope = Type.Optional(
  Type.Object({
    venues: Type.Array(Type.String()),
    instruments: Type.Union([Type.Integer(), Type.Enum(['all'])]),
    plan: Type.String(),
  }),
);

export const makeScope = (plan: Plan, { live, scopeOf, evaluatedAt }: Context) =>
  makeScopeMember(plan, scopeOf(plan), { live, at: evaluatedAt });

/** The plan of an endpoint that needs a key. */
export const requirePlan = ({ plan }: Context): Plan => {
  if (plan === null) throw makeKeyRequired();
  return plan;
};

/** A selection in either form (S-02), with its faults; none selects everything. */
export const readWhere = (where: Static<typeof Where> | undefined): ReadSelection => {
  if (where === undefined) return { selection: {}, errors: [] };
  return typeof where === 'string' ? readSelectionText(where) : { selection: toSelection(where, '/where'), errors: [] };
};

/** The result of `work`; a caller's faults that it throws are added to those `found`, and the result is null. */
export const attempt = <T>(work: () => T, found: ApiError[]): T | null => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    found.push(...error.errors);
    return null;
  }
};

/** The result of `read`; its errors and those `found` before are of one step, and are returned in one list (E-01). */
export const collectErrors = <T>(found: readonly ApiError[], read: () => T): T => {
  if (found.length === 0) return read();
  const errors = [...found];
  attempt(read, errors);
  throw new ServiceError(errors);
};

/** The names of a selection in catalogue spelling. Throws ServiceError with every fault of it. */
export const readNames = (where: Static<typeof Where> | undefined, live: LiveMemory): Names => {
  const { selection, errors } = readWhere(where);
  return collectErrors(errors, () => resolveNames(selection, findDirectory(live)));
};

/** Layers to answer, ascending by bytes; without `layers` all that the plan includes. */
export const readLayers = (asked: LayerNames, plan: Plan): ReadingLayer[] => {
  const all = [...READING_LAYERS].sort();
  if (asked === undefined) return all.filter((layer) => hasLayer(plan, layer));
  const wanted = new Set(asked.map(findLayer));
  return all.filter((layer) => wanted.has(layer));
};

/** Layers named that the plan does not have (H-01). */
export const findLayerRefusals = (asked: LayerNames, plan: Plan): ApiError[] =>
  (asked ?? []).flatMap((name, i): ApiError[] => {
    const layer = findLayer(name);
    if (layer === undefined || hasLayer(plan, layer)) return [];
    const message = `Layer "${name}" is not in the plan ${plan.name}.`;
    return [{ code: 'PLAN_LIMIT', message, hint: `The plan has ${plan.layers.join(', ')}.`, path: `/layers/${i}` }];
  });

/** More listings than one call answers (E-01 step 8). */
export const findListingLimit = (count: number, limit: number): ApiError[] => {
  if (count <= limit) return [];
  const message = `The selection has ${count} listings, the limit is ${limit}.`;
  return [{ code: 'DQL_LIMIT', message, hint: 'Narrow where, by venue, quote or base.', path: '/where' }];
};

/** Venues that a selection may have listings of: a venue that is behind may have one that is not known yet. */
export const listPossibleVenues = (names: Names, live: LiveMemory): ReadonlySet<string> =>
  new Set(names.venue === undefined ? [...live.venues()].map(({ venue }) => venue) : names.venue.map((n) => n.code));

/** Venues of an answer: those of its items, or all possible ones when it has none. */
export const listVenues = (selected: readonly Selected[], names: Names, live: LiveMemory): ReadonlySet<string> =>
  selected.length > 0 ? new Set(selected.map(({ listing }) => listing.venue)) : listPossibleVenues(names, live);
