// What the operations over listings ask and check alike: a plan, selection, layers, how many listings, the scope they state.
import Type, { type Static } from 'typebox';
import { type ApiError, nearest, ServiceError, serviceError } from '../../schemas/errors.ts';
import { CANDLES, EVENTS } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Plan } from '../access/plans.ts';
import { scopeMember } from '../access/scope.ts';
import { layerNamed } from '../live/bounds.ts';
import type { LiveMemory } from '../live/memory.ts';
import { directoryOf } from '../selection/directory.ts';
import { selectionOf, type Where } from '../selection/object.ts';
import { type Names, resolveNames, type Selected } from '../selection/resolve.ts';
import { type ReadSelection, readSelectionText } from '../selection/text.ts';
import type { Context } from './operation.ts';

export const Layers = Type.Optional(
  Type.Array(Type.String(), {
    minItems: 1,
    maxItems: 32,
    description: `Layers to answer: ${READING_LAYERS.join(', ')}. All of the plan when left out.`,
  }),
);
type AskedLayers = readonly string[] | undefined;

/** `scope` of an answer under a plan that narrows (S-07). */
export const Scope = Type.Optional(
  Type.Object({
    venues: Type.Array(Type.String()),
    instruments: Type.Union([Type.Integer(), Type.Enum(['all'])]),
    plan: Type.String(),
  }),
);

export const scopeStated = (plan: Plan, { live, scopeOf }: Context) =>
  scopeMember(
    plan,
    scopeOf(plan),
    [...live.venues()].map(({ venue }) => venue),
  );

/** The plan of an endpoint that needs a key. */
export const requirePlan = ({ plan }: Context): Plan => {
  if (plan === null) throw serviceError('AUTH_REQUIRED', 'This endpoint needs a key.');
  return plan;
};

/** Kinds that exist but are no readings, with the endpoint that answers them (L-01). */
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  [CANDLES, ...EVENTS].flatMap(({ name, aliases, endpoint }) =>
    [name, ...aliases].map((alias) => [alias, endpoint] as const),
  ),
);

/** Fault of form: a name that is no layer of readings. */
export const layerFault = (name: string, index: number): ApiError[] => {
  if (layerNamed(name) !== undefined) return [];
  const path = `/layers/${index}`;
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) {
    return [
      { code: 'DQL_JSON_SCHEMA', message: `Layer "${name}" has no readings here.`, hint: `Use ${elsewhere}.`, path },
    ];
  }
  const near = nearest(name.slice(0, 40), READING_LAYERS);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Layers are ${READING_LAYERS.join(', ')}.`;
  return [{ code: 'DQL_JSON_SCHEMA', message: `"${name.slice(0, 40)}" is not a layer.`, hint, path }];
};

/** A selection in either form (S-02), with its faults; none selects everything. */
export const readWhere = (where: Static<typeof Where> | undefined): ReadSelection => {
  if (where === undefined) return { selection: {}, errors: [] };
  return typeof where === 'string' ? readSelectionText(where) : { selection: selectionOf(where, '/where'), errors: [] };
};

/** What `work` gives; what it throws as faults of a caller is added to those `found`, and it gives null. */
export const attempt = <T>(work: () => T, found: ApiError[]): T | null => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    found.push(...error.errors);
    return null;
  }
};

/** What `read` gives; its errors and those `found` before are of one step, and told in one list (E-01). */
export const collected = <T>(found: readonly ApiError[], read: () => T): T => {
  if (found.length === 0) return read();
  const errors = [...found];
  attempt(read, errors);
  throw new ServiceError(errors);
};

/** The names of a selection in catalogue spelling. Throws ServiceError with every fault of it. */
export const namesOf = (where: Static<typeof Where> | undefined, live: LiveMemory): Names => {
  const { selection, errors } = readWhere(where);
  return collected(errors, () => resolveNames(selection, directoryOf(live)));
};

/** A plan states layers by the listing record's names or by the snapshot's (L-01). */
const includesLayer = (plan: Plan, layer: ReadingLayer): boolean =>
  plan.layers.includes(layer) || plan.layers.includes(LAYERS[layer].recordName);

/** Layers to answer, ascending by bytes; without `layers` all that the plan includes. */
export const layersOf = (asked: AskedLayers, plan: Plan): ReadingLayer[] => {
  const all = [...READING_LAYERS].sort();
  if (asked === undefined) return all.filter((layer) => includesLayer(plan, layer));
  const wanted = new Set(asked.map(layerNamed));
  return all.filter((layer) => wanted.has(layer));
};

/** Layers named that the plan does not have (H-01). */
export const layerRefusals = (asked: AskedLayers, plan: Plan): ApiError[] =>
  (asked ?? []).flatMap((name, i): ApiError[] => {
    const layer = layerNamed(name);
    if (layer === undefined || includesLayer(plan, layer)) return [];
    const message = `Layer "${name}" is not in the plan ${plan.name}.`;
    return [{ code: 'PLAN_LIMIT', message, hint: `The plan has ${plan.layers.join(', ')}.`, path: `/layers/${i}` }];
  });

/** More listings than one call answers (E-01 step 8). */
export const listingLimit = (count: number, limit: number): ApiError[] => {
  if (count <= limit) return [];
  const message = `The selection has ${count} listings, the limit is ${limit}.`;
  return [{ code: 'DQL_LIMIT', message, hint: 'Narrow where, by venue, quote or base.', path: '/where' }];
};

/** Venues an answer speaks of: those of its items, or all it could have spoken of when it has none. */
export const venuesAsked = (selected: readonly Selected[], names: Names, live: LiveMemory): ReadonlySet<string> => {
  if (selected.length > 0) return new Set(selected.map(({ listing }) => listing.venue));
  if (names.venue !== undefined) return new Set(names.venue.map((n) => n.code));
  return new Set([...live.venues()].map(({ venue }) => venue));
};
