// POST /v2/snapshots: the newest reading of each listing and layer, with its age and status (H-01, L-04, S-05, S-07).
import Type, { type Static } from 'typebox';
import { type ApiError, makeUnavailable } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { refuseOutside, toNarrowing } from '../access/scope.ts';
import { findLayerFault, Layers } from '../contract/layer-names.ts';
import {
  AllowStale,
  AnswerUnits,
  Conversion,
  IncludeRaw,
  IncludeSynthetic,
  InstantText,
  ListingNames,
  NullableFigure,
  NumberFormatParameter,
  SCOPE_CODES,
  StatusMembers,
  Texts,
  Units,
  WHERE_CODES,
} from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { throwAll } from '../contract/refusals.ts';
import { Where } from '../language/where-object.ts';
import { Freshness, findFreshnessFaults, findFreshnessLimits, makeBounds, printBounds } from '../live/bounds.ts';
import { nameListing, type Selected } from '../live/listing-book.ts';
import { makeLayerObjects, makeVenueViews, type ViewOptions } from '../live/listing-view.ts';
import { findDirectory } from '../selection/directory.ts';
import { findMissingPairs, type MissingPair, type Names, selectListings } from '../selection/resolve.ts';
import answer from './examples/snapshots.json' with { type: 'json' };
import {
  findLayerRefusals,
  findListingLimit,
  listVenues,
  makeScope,
  readLayers,
  readNames,
  requirePlan,
  Scope,
} from './listing-input.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';

const Input = Type.Object(
  {
    where: Type.Optional(Where),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    layers: Layers,
    include_raw: IncludeRaw,
    allow_stale: AllowStale,
    freshness: Type.Optional(Freshness),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

/** The value object (L-04). */
export const LayerObject = Type.Object({
  ...StatusMembers,
  horizon_source: Type.Union([
    Type.Enum(['measured', 'documented', 'assumed', 'venue_declared', 'connection']),
    Type.Null(),
  ]),
  anchor: Type.Union([Type.Enum(['venue', 'receipt']), Type.Null()]),
  values: Type.Record(Type.String(), NullableFigure),
  null_reasons: Type.Optional(Texts),
  units: Texts,
  instants: Type.Optional(Type.Record(Type.String(), InstantText)),
  conversion: Conversion,
  withheld: Type.Optional(
    Type.Object({
      values: Type.Record(Type.String(), NullableFigure),
      null_reasons: Type.Optional(Texts),
    }),
  ),
  raw: Type.Optional(Type.Unknown()),
});

const Output = Type.Object({
  evaluated_at: InstantText,
  served_at: InstantText,
  receipt_id: Type.String(),
  units: AnswerUnits,
  freshness: Texts,
  scope: Scope,
  items: Type.Array(
    Type.Object({
      ...ListingNames,
      layers: Type.Record(Type.String(), LayerObject),
    }),
  ),
  missing: Type.Array(
    Type.Object({
      instrument: Type.Optional(Type.String()),
      symbol: Type.Optional(Type.String()),
      venue: Type.String(),
    }),
  ),
});

const refine = ({ layers = [], freshness }: Partial<Input>): ApiError[] => [
  ...layers.flatMap(findLayerFault),
  ...findFreshnessFaults(freshness),
];

const findRawRefusal = (input: Input, plan: Plan): ApiError[] =>
  input.include_raw === true && !plan.raw
    ? [
        {
          code: 'PLAN_LIMIT',
          message: `The plan ${plan.name} has no raw messages.`,
          hint: 'Leave include_raw out, or use Standard or above.',
          path: '/include_raw',
        },
      ]
    : [];

/** Checks of step 8 in one list, after which the rest is valid (E-01). */
const selectWithin = (input: Input, names: Names, context: Context): Selected[] => {
  const { live, evaluatedAt } = context;
  const plan = requirePlan(context);
  const choice = context.scopeOf(plan);
  const selected = selectListings(names, findDirectory(live), { at: evaluatedAt, narrowing: toNarrowing(choice) });
  throwAll([
    ...refuseOutside(names, plan, choice),
    ...findLayerRefusals(input.layers, plan),
    ...findRawRefusal(input, plan),
    ...findFreshnessLimits(input.freshness),
    ...findListingLimit(selected.length, plan.limits.snapshots_listings),
  ]);
  return selected;
};

/** The newest instant up to which everything recorded has been applied, over the requested venues (F-05). */
const findServedAt = ({ live, evaluatedAt }: Context, venues: ReadonlySet<string>): Micros => {
  let least = Number.POSITIVE_INFINITY;
  for (const venue of venues) least = Math.min(least, live.watermark(venue) ?? Number.POSITIVE_INFINITY);
  if (least === Number.POSITIVE_INFINITY)
    throw makeUnavailable('No state of the requested venues has been received yet.');
  return Math.min(least, evaluatedAt);
};

/** Pairs that do not exist (S-05): what only the plan leaves out is there, so it is looked for without it (S-07). */
const findMissing = (names: Names, selected: readonly Selected[], { live, evaluatedAt }: Context): MissingPair[] => {
  const missing = findMissingPairs(names, selected);
  if (missing.length === 0) return missing;
  return findMissingPairs(names, selectListings(names, findDirectory(live), { at: evaluatedAt }));
};

const makeItems = (
  selected: readonly Selected[],
  context: Context,
  shown: { readonly layers: readonly ReadingLayer[]; readonly options: ViewOptions },
): JsonValue => {
  const views = makeVenueViews(context.live, context.evaluatedAt);
  return selected.flatMap((one): JsonValue[] => {
    const view = views.get(one.listing.venue);
    return view === undefined ? [] : [{ ...nameListing(one), layers: makeLayerObjects(view, one, shown) }];
  });
};

const run = (input: Input, context: Context, names: Names): Answer => {
  const { live, evaluatedAt } = context;
  const plan = requirePlan(context);
  const selected = selectWithin(input, names, context);
  const layers = readLayers(input.layers, plan);
  const options: ViewOptions = {
    at: evaluatedAt,
    units: input.units ?? 'published',
    bounds: makeBounds(input.freshness),
    allowStale: input.allow_stale ?? false,
    includeRaw: input.include_raw ?? false,
    numberFormat: input.number_format ?? 'json',
  };
  const body: JsonValue = {
    evaluated_at: formatInstant(evaluatedAt),
    served_at: formatInstant(findServedAt(context, listVenues(selected, names, live))),
    receipt_id: context.receiptId,
    units: options.units,
    freshness: printBounds(options.bounds, layers, options.units),
    scope: makeScope(plan, context),
    items: makeItems(selected, context, { layers, options }),
    missing: findMissing(names, selected, context),
  };
  return { body, numberFormat: options.numberFormat };
};

export const snapshots = defineOperation({
  name: 'snapshots',
  method: 'POST',
  path: '/v2/snapshots',
  key: 'required',
  class: 'snapshots',
  price: 5_000,
  cacheS: null,
  summary: 'Latest readings per layer.',
  tool: true,
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, ...SCOPE_CODES],
  example: {
    question: 'Where does BTC stand on each venue right now, and how old is each figure?',
    input: { where: 'base = BTC', layers: ['mark', 'funding', 'book'] },
    output: answer,
  },
  refine,
  understand: ({ where }, { live }) => readNames(where, live),
  judge: (input, context, names) => selectWithin(input, names, context),
  run,
});
