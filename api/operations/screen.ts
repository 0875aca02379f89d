// POST /v2/screen: evaluates a query over all its listings, now or as of a past instant (SC-01 to SC-07, DQL-10 to DQL-29).
import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { type ApiError, makeServiceError } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { makeRawJson, writeJson } from '../../schemas/json.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { refuseOutside, toNarrowing } from '../access/scope.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import {
  AnswerPage,
  AnswerUnits,
  IncludeSynthetic,
  InstantText,
  NullableInstant,
  NullableText,
  NumberFormatParameter,
  SCOPE_CODES,
  Texts,
  Units,
} from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { throwAll } from '../contract/refusals.ts';
import { findReachRefusals, isSettled, listVersions } from '../history/past.ts';
import { type Compiled, compile, type Demands } from '../language/compile.ts';
import { VERSION } from '../language/limits.ts';
import type { Selection } from '../language/selection.ts';
import { Where } from '../language/where-object.ts';
import { Freshness, findFreshnessFaults, findFreshnessLimits, makeBounds, printBounds } from '../live/bounds.ts';
import type { Selected } from '../live/listing-book.ts';
import { findLayerPlace, makePlan, type Plan as QueryPlan } from '../screen/plan.ts';
import { readFacts } from '../screen/read-facts.ts';
import { Budget, makeScreenItems } from '../screen/screen.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, resolveNames, selectListings } from '../selection/resolve.ts';
import { computeCatalogueVersion } from './catalogue-version.ts';
import answer from './examples/screen.json' with { type: 'json' };
import { describeOutOfRange } from './known-range.ts';
import {
  attempt,
  collectErrors,
  findLayerRefusals,
  listPossibleVenues,
  makeScope,
  requirePlan,
  Scope,
} from './listing-input.ts';
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';
import { findQueryFaults, findQueryInput, QUERY_CODES, QueryMembers } from './query-input.ts';
import { findCursorFaults, findPage, makePage, type Page, type ScreenResult } from './screen-pages.ts';
import { placeAtPart, placeInQuery, readBodySelection } from './two-texts.ts';

const BUDGET_MS = 5_000;
/** Additions that a slow machine does within half of the budget; a query over more of them is refused before anything is read (SC-06). */
const MOST_STEPS = 1.5e9;
const DEFAULT_LIMIT = 100;

const Input = Type.Object(
  {
    ...QueryMembers,
    context: Type.Optional(Type.Enum(['screen'], { description: 'Use of the query. Only `screen` exists.' })),
    where: Type.Optional(Where),
    freshness: Type.Optional(Freshness),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Instruments per page. Default ${DEFAULT_LIMIT}, reduced to the limit of the plan.`,
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 512,
        description:
          '`page.next_cursor` of the page before, with the same request, within 300 s of the first page. All pages are of one evaluation.',
      }),
    ),
    include_unknown: Type.Optional(
      Type.Boolean({ description: 'Whether instruments whose result is unknown are returned too. Default false.' }),
    ),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Values = Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
  description:
    'Value objects by canonical text of the expression: `value`, `unit`, `status`, `reason` when the value is unknown (null), and `venue`, `layer`, `venue_ts`, `received_at`, `age_ms` of a reading.',
});
const Output = Type.Object({
  dql: Type.String(),
  query: Type.Object({ string: Type.String(), json: Type.Record(Type.String(), Type.Unknown()) }),
  evaluated_at: InstantText,
  as_of: NullableInstant,
  settled: Type.Boolean(),
  catalogue: Type.Optional(NullableText),
  timeframe: NullableText,
  units: AnswerUnits,
  freshness: Texts,
  listings_as_of: NullableInstant,
  capabilities_as_of: NullableInstant,
  items_sha256: Type.Optional(Type.String()),
  scope: Scope,
  receipt_id: Type.String(),
  instruments: Type.Array(
    Type.Object({
      instrument: Type.String(),
      result: Type.Enum(['true', 'unknown']),
      values: Values,
      venues: Type.Array(
        Type.Object({ venue: Type.String(), symbol: Type.String(), quote: Type.String(), values: Values }),
      ),
      because: Type.Optional(
        Type.Array(
          Type.Object({
            expr: Type.String(),
            venue: NullableText,
            symbol: NullableText,
            status: Type.String(),
            reason: Type.String(),
          }),
        ),
      ),
    }),
  ),
  page: AnswerPage,
});

const refine = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => [
  ...findQueryFaults(input, spoilt),
  ...findFreshnessFaults(input.freshness),
];

/** The query, checked with the body's selection; of a body whose query is spoilt the selection alone. */
const understand = (input: Partial<Input>, context: InputContext): Compiled | null => {
  const { live, spoilt } = context;
  const directory = findDirectory(live);
  const { selection, errors: ofSelection } = readBodySelection(input);
  const errors = [...findCursorFaults(input.cursor, context), ...ofSelection];
  const query = findQueryInput(input);
  if (query === null) {
    collectErrors(errors, () => resolveNames(selection ?? {}, directory));
    return null;
  }
  const demands: Demands = {
    where: selection,
    refuseQuantitySums: !spoilt.has('units') && (input.units ?? 'published') === 'published',
    outOfRange: (at) => describeOutOfRange(at, context),
  };
  const found: ApiError[] = [];
  const compiled = attempt(() => compile(query, directory.codes, demands), found);
  const all = [...errors, ...placeInQuery(input, found)];
  throwAll(all);
  return compiled;
};

/** Layers that the plan lacks: candles are in every plan, so only readings can be. */
const findLayersRefused = ({ input, compiled, plan }: Question, reading: QueryPlan): ApiError[] =>
  reading.layers.flatMap((layer) => {
    const origin = compiled.originOf(findLayerPlace(reading, layer));
    return findLayerRefusals([layer], plan).flatMap((error) => placeAtPart(input, error, origin));
  });

/** T before what the plan reaches back to. */
const findReachRefused = ({ input, compiled, plan }: Question, evaluatedAt: Micros): ApiError[] => {
  const { asOf } = compiled.query;
  if (asOf === null) return [];
  const refusals = findReachRefusals(asOf.at, plan, { evaluatedAt, path: '' });
  return refusals.flatMap((error) => placeAtPart(input, error, compiled.originOf(asOf.place)));
};

type Question = {
  readonly input: Input;
  readonly compiled: Compiled;
  /** Codes of its selection, and of its expressions. */
  readonly names: Names;
  readonly named: Names;
  readonly plan: Plan;
};

/** Checks of step 8, then the listings of T (E-01, S-07). */
const selectWithin = (question: Question, reading: QueryPlan, context: Context): Selected[] => {
  const { input, compiled, names, named, plan } = question;
  const { live, evaluatedAt } = context;
  const { asOf } = compiled.query;
  const choice = context.scopeOf(plan);
  throwAll([
    ...refuseOutside(names, plan, choice),
    ...placeInQuery(input, refuseOutside(named, plan, choice)),
    ...findLayersRefused(question, reading),
    ...findReachRefused(question, evaluatedAt),
    ...findFreshnessLimits(input.freshness),
  ]);
  return selectListings(names, findDirectory(live), { at: asOf?.at ?? evaluatedAt, narrowing: toNarrowing(choice) });
};

/** Whose question it is and what it was: a cursor is good for the same one only (SC-05). */
const hashRequest = (input: Input, { string }: Compiled, { caller, payer }: Context): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        caller?.keyId ?? payer,
        string,
        input.units ?? 'published',
        input.number_format ?? 'json',
        makeBounds(input.freshness),
        input.include_unknown ?? false,
      ]),
    )
    .digest('base64url');

const makeHead = (question: Question, selected: readonly Selected[], context: Context): ScreenResult['head'] => {
  const { live, evaluatedAt } = context;
  const { compiled, input, names } = question;
  const { asOf, timeframe } = compiled.query;
  const past =
    asOf === null ? { listings_as_of: null, capabilities_as_of: null } : listVersions(selected, live, asOf.at);
  return {
    dql: VERSION,
    query: { string: compiled.string, json: makeRawJson(writeJson(compiled.json)) },
    evaluated_at: formatInstant(evaluatedAt),
    as_of: formatInstantOrNull(asOf?.at ?? null),
    settled: asOf !== null && isSettled(asOf.at, context, listPossibleVenues(names, live)),
    catalogue: asOf === null ? undefined : computeCatalogueVersion(live, asOf.at),
    timeframe,
    units: input.units ?? 'published',
    freshness: printBounds(makeBounds(input.freshness), READING_LAYERS),
    ...past,
  };
};

const refuseLong = (steps: number, listings: number): void => {
  if (steps * listings <= MOST_STEPS) return;
  const most = Math.floor(MOST_STEPS / steps);
  throw makeServiceError(
    'DQL_LIMIT',
    `The query over ${listings} listings takes longer than ${BUDGET_MS / 1_000} seconds; its windows allow ${most}.`,
    { hint: 'Narrow where, or use smaller windows.' },
  );
};

/** Step 8: the listings that a query is evaluated over. */
const selectFor = (
  question: Question,
  context: Context,
): { readonly plan: QueryPlan; readonly selected: Selected[] } => {
  const plan = makePlan(question.compiled.query, question.input.units ?? 'published');
  const selected = selectWithin(question, plan, context);
  refuseLong(plan.steps, selected.length);
  return { plan, selected };
};

const evaluate = async (question: Question, context: Context): Promise<ScreenResult> => {
  const { compiled, input } = question;
  const { live, evaluatedAt, history } = context;
  const units = input.units ?? 'published';
  const { plan, selected } = selectFor(question, context);
  const budget = new Budget(BUDGET_MS);
  const terms = { at: compiled.query.asOf?.at ?? evaluatedAt, units, bounds: makeBounds(input.freshness) };
  const [head, scope] = [makeHead(question, selected, context), makeScope(question.plan, context)];
  const facts = readFacts(plan, selected, { live, history, terms, evaluatedAt, budget });
  await context.caller?.spend('dql', 1);
  const items = await makeScreenItems(plan, await facts.complete(), {
    includeUnknown: input.include_unknown ?? false,
    numberFormat: input.number_format ?? 'json',
    budget,
  });
  return { plan: question.plan.code, head, scope, items };
};

const makeQuestion = (input: Input, context: Context, compiled: Compiled | null): Question => {
  if (compiled === null) throw new Error('a body without a query is refused before');
  const { query } = compiled;
  const resolve = (codes: Selection): Names => resolveNames(codes, findDirectory(context.live));
  return {
    input,
    compiled,
    names: resolve(query.where ?? {}),
    named: resolve(query.named),
    plan: requirePlan(context),
  };
};

/** The page that the request's cursor names; null without a cursor. */
const findAskedPage = ({ input, compiled, plan }: Question, context: Context): Page | null => {
  if (input.cursor === undefined) return null;
  return findPage(input.cursor, { asked: hashRequest(input, compiled, context), plan: plan.code }, context);
};

const judge = (input: Input, context: Context, compiled: Compiled | null): void => {
  const question = makeQuestion(input, context, compiled);
  if (findAskedPage(question, context) === null) selectFor(question, context);
};

const run = async (input: Input, context: Context, compiled: Compiled | null): Promise<Answer> => {
  const question = makeQuestion(input, context, compiled);
  const page = findAskedPage(question, context) ?? { id: null, from: 0, result: await evaluate(question, context) };
  return makePage(page, context, {
    limit: Math.min(input.limit ?? DEFAULT_LIMIT, question.plan.limits.screen_limit),
    asked: hashRequest(input, question.compiled, context),
    numberFormat: input.number_format ?? 'json',
  });
};

export const screen = defineOperation({
  name: 'screen',
  method: 'POST',
  path: '/v2/screen',
  key: 'required',
  class: 'screen',
  price: 10_000,
  cacheS: null,
  summary: 'Instruments for which a query holds, with the values that decided.',
  tool: true,
  input: Input,
  output: Output,
  codes: [...QUERY_CODES, 'DQL_AS_OF_RANGE', ...SCOPE_CODES],
  example: {
    question: 'Who is paid most for being short, where the spread is still thin?',
    input: {
      query:
        'any(venues where funding_8h > 0.5bps and spread < 5bps) select funding_8h, spread order by max(venues, funding_8h) desc',
      limit: 10,
    },
    output: answer,
  },
  refine,
  understand,
  judge,
  run,
});
