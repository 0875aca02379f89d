// POST /v2/books: the collected order book of each listing, level by level, with its depth bands (H-14, L-03, N-07).
import Type, { type Static } from 'typebox';
import { findStatusAt } from '../../schemas/freshness.ts';
import { formatInstant } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { refuseOutside, toNarrowing } from '../access/scope.ts';
import {
  AnswerUnits,
  Conversion,
  IncludeSynthetic,
  InstantText,
  ListingNames,
  NullableInteger,
  NullableText,
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
import { makeBookObject } from '../live/book-object.ts';
import { makeBounds } from '../live/bounds.ts';
import { findVersionAt, nameListing, type Selected } from '../live/listing-book.ts';
import { findHeldReading, findLostAt, findPresentMark, makeVenueViews, type VenueView } from '../live/listing-view.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, selectListings } from '../selection/resolve.ts';
import answer from './examples/books.json' with { type: 'json' };
import { findListingLimit, makeScope, readNames, requirePlan, Scope } from './listing-input.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';

const DEPTH = 10;
const LIQUIDITY_NOTE =
  'Displayed resting orders at the stated instant; not a promise of execution, hidden and withdrawn orders are not shown.';

const Input = Type.Object(
  {
    where: Type.Optional(Where),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    depth: Type.Optional(
      Type.Integer({ minimum: 1, description: `Levels per side. Default ${DEPTH}, reduced to the limit of the plan.` }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Side = Type.Array(Type.Array(NullableText, { minItems: 2, maxItems: 2 }), {
  description:
    'Levels `[price, size]`, best first. A size that cannot be converted is null. Empty unless `status` is `present`.',
});
const BookBand = Type.Object({
  reference: NullableText,
  bid: NullableText,
  ask: NullableText,
  bid_value: NullableText,
  ask_value: NullableText,
  bid_levels: NullableInteger,
  ask_levels: NullableInteger,
  complete: Type.Object({ bid: Type.Boolean(), ask: Type.Boolean() }),
});

const Output = Type.Object({
  evaluated_at: InstantText,
  units: AnswerUnits,
  depth: Type.Integer(),
  liquidity_note: Type.String(),
  scope: Scope,
  receipt_id: Type.String(),
  items: Type.Array(
    Type.Object({
      ...ListingNames,
      ...StatusMembers,
      horizon_source: NullableText,
      anchor: NullableText,
      size_unit: Type.Enum(['base', 'contracts', 'quote']),
      sequence: NullableText,
      bids: Side,
      asks: Side,
      null_reasons: Type.Optional(Texts),
      collected_levels: Type.Optional(Type.Object({ bids: Type.Integer(), asks: Type.Integer() })),
      bands: Type.Optional(Type.Record(Type.String(), BookBand)),
      conversion: Conversion,
    }),
  ),
});

const selectWithin = (names: Names, { live, evaluatedAt, scopeOf }: Context, plan: Plan): Selected[] => {
  const choice = scopeOf(plan);
  const selected = selectListings(names, findDirectory(live), { at: evaluatedAt, narrowing: toNarrowing(choice) });
  throwAll([...refuseOutside(names, plan, choice), ...findListingLimit(selected.length, plan.limits.books_listings)]);
  return selected;
};

type Shown = { readonly at: Context['evaluatedAt']; readonly units: UnitsMode; readonly levels: number };

const toItem = (view: VenueView, { listing, version }: Selected, shown: Shown) => {
  const { at } = shown;
  const book = findHeldReading(view, listing, { layer: 'book', at });
  const bounds = makeBounds(undefined);
  const answer = findStatusAt({
    reading: book,
    policy: findListingPolicy(view.capability, 'book', version),
    lostAt: findLostAt(view, listing, book),
    boundMs: bounds.book,
    at,
    stateLag: view.stateLag,
  });
  return {
    ...nameListing({ listing, version }),
    ...makeBookObject({
      book,
      depth: findHeldReading(view, listing, { layer: 'venue_depth', at }),
      answer,
      version: book === null ? version : (findVersionAt(listing.versions, book.recorded_at) ?? version),
      ...shown,
      mark: () => findPresentMark(view, listing, { at, bounds }),
    }),
  };
};

const listItems = (selected: readonly Selected[], context: Context, shown: Shown): JsonValue[] => {
  const views = makeVenueViews(context.live, context.evaluatedAt);
  return selected.flatMap((one): JsonValue[] => {
    const view = views.get(one.listing.venue);
    return view === undefined ? [] : [toItem(view, one, shown)];
  });
};

const run = (input: Input, context: Context, names: Names): Answer => {
  const { evaluatedAt } = context;
  const plan = requirePlan(context);
  const selected = selectWithin(names, context, plan);
  const units = input.units ?? 'published';
  const levels = Math.min(input.depth ?? DEPTH, plan.limits.book_depth);
  const body: JsonValue = {
    evaluated_at: formatInstant(evaluatedAt),
    units,
    depth: levels,
    liquidity_note: LIQUIDITY_NOTE,
    scope: makeScope(plan, context),
    receipt_id: context.receiptId,
    items: listItems(selected, context, { at: evaluatedAt, units, levels }),
  };
  return { body, numberFormat: input.number_format ?? 'json' };
};

export const books = defineOperation({
  name: 'books',
  method: 'POST',
  path: '/v2/books',
  key: 'required',
  class: 'books',
  price: null,
  cacheS: null,
  summary: 'Order books.',
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, ...SCOPE_CODES],
  example: {
    question: 'How much BTC can be sold at once within 10 bps, in quote currency?',
    input: { where: 'base = BTC and quote = USDT', units: 'quote', depth: 5 },
    output: answer,
  },
  understand: ({ where }, { live }) => readNames(where, live),
  run,
});
