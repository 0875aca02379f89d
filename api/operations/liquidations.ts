// POST /v2/liquidations: forced closings as the venues publish them, page by page over all listings (H-15, H-16, N-10, DQL-33g).
import Type, { type Static } from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, parseInstant } from '../../schemas/instants.ts';
import { EVENT_GAP_WINDOW_MS, toWindowEnd } from '../../schemas/windows.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import {
  AnswerPage,
  AnswerUnits,
  Conversion,
  FigureValue,
  IncludeSynthetic,
  InstantText,
  ListingNames,
  makeInstantInput,
  NullableFigure,
  NullableInstant,
  NumberFormatParameter,
  SCOPE_CODES,
  Texts,
  Units,
  WHERE_CODES,
} from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { countFittingPage } from '../history/fitting.ts';
import { makeLiquidationPage, type Place } from '../history/liquidations.ts';
import { findInstantFaults, findReachRefusals, findWindowFaults, isSettled, type Span } from '../history/past.ts';
import { Where } from '../language/where-object.ts';
import type { Selected } from '../live/listing-book.ts';
import type { Names } from '../selection/resolve.ts';
import { digestRequest, parseCursor, printCursor, WRONG_CURSOR } from './cursor.ts';
import answer from './examples/liquidations.json' with { type: 'json' };
import { collectErrors, findListingLimit, listPossibleVenues, readNames, requirePlan } from './listing-input.ts';
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';
import { makePastAnswer, openPastSources, PastHead, PastVersions, selectPast } from './past-answer.ts';

const LIMIT = 500;
const MOST = 5_000;

const Input = Type.Object(
  {
    where: Type.Optional(Where),
    from: makeInstantInput('Start of the window, inclusive, by `received_at`.'),
    to: makeInstantInput('End of the window, exclusive. An end in the future is replaced by the current instant.'),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    side: Type.Optional(
      Type.Enum(['long', 'short'], {
        description: 'Position that was closed: a `long` is closed by a sell. Default: both.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `Rows per page. Default ${LIMIT}, at most ${MOST}.` }),
    ),
    cursor: Type.Optional(
      Type.String({ maxLength: 1_024, description: '`page.next_cursor` of the previous page, with the same request.' }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Output = Type.Object({
  ...PastHead,
  from: InstantText,
  to: InstantText,
  units: AnswerUnits,
  ...PastVersions,
  items: Type.Array(
    Type.Object({
      ...ListingNames,
      completeness: Type.Enum(['full', 'sampled', 'none']),
      retention_from: InstantText,
      units: Texts,
      rows: Type.Array(
        Type.Object({
          venue_ts: NullableInstant,
          received_at: InstantText,
          side: Type.Enum(['long', 'short']),
          price: FigureValue,
          price_kind: Type.Enum(['fill', 'order', 'bankruptcy', 'mark']),
          quantity: NullableFigure,
          value: NullableFigure,
          id: Type.String(),
          conversion: Conversion,
          null_reasons: Type.Optional(Texts),
        }),
      ),
      gaps: Type.Array(Type.Object({ from: InstantText, to: InstantText, gap_cause: Type.String() })),
    }),
  ),
  page: AnswerPage,
});

/** Faults of shape that the schema cannot express. */
const refine = ({ from, to, cursor }: Partial<Input>): ApiError[] => [
  ...(cursor === undefined || readCursor(cursor) !== null ? [] : [WRONG_CURSOR]),
  ...findInstantFaults(from, '/from'),
  ...findInstantFaults(to, '/to'),
  ...findWindowFaults(from, to),
];

/** The common part of a page and the next: a cursor belongs to it. */
const computeDigest = ({ where, from, to, side }: Input): string =>
  digestRequest([where ?? null, parseInstant(from), parseInstant(to), side ?? null]);

/** Where the next page begins, and the end of the window as the first page cut it. */
type Cursor = { readonly to: number; readonly after: Place };

const writeCursor = (input: Input, to: number, { receivedAt, venue, venueSymbol, id }: Place): string =>
  printCursor([computeDigest(input), to, receivedAt, venue, venueSymbol, id]);

/** Null for anything that is no cursor of any request. */
const readCursor = (text: string): (Cursor & { readonly digest: string }) | null => {
  const [digest, to, receivedAt, venue, venueSymbol, id] = parseCursor(text, 6) ?? [];
  if (!Number.isSafeInteger(to) || !Number.isSafeInteger(receivedAt)) return null;
  if (typeof digest !== 'string' || typeof venue !== 'string') return null;
  if (typeof venueSymbol !== 'string' || typeof id !== 'string') return null;
  return { digest, to: to as number, after: { receivedAt: receivedAt as number, venue, venueSymbol, id } };
};

/** A cursor of another request, as far as this one is whole. */
const findCursorFaults = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => {
  const { from, to, cursor } = input;
  if (cursor === undefined || from === undefined || to === undefined) return [];
  if (spoilt.has('where') || spoilt.has('side')) return [];
  const read = readCursor(cursor);
  const isOfRequest = read?.digest === computeDigest({ ...input, from, to });
  const isInside =
    read !== null && read.after.receivedAt >= (parseInstant(from) ?? 0) && read.after.receivedAt < read.to;
  return isOfRequest && isInside ? [] : [WRONG_CURSOR];
};

const understand = (input: Partial<Input>, { live, spoilt }: InputContext): Names =>
  collectErrors(findCursorFaults(input, spoilt), () => readNames(input.where, live));

type Question = { readonly asked: Span; readonly names: Names; readonly plan: Plan };

const findEventRefusals = (plan: Plan): ApiError[] => {
  if (plan.layers.includes('liquidation')) return [];
  const message = `Layer "liquidation" is not in the plan ${plan.name}.`;
  return [{ code: 'PLAN_LIMIT', message, hint: 'Use Standard or above.' }];
};

/** Checks of step 8, then the listings that were listed at some time of the answer. */
const selectWithin = ({ asked, names, plan }: Question, context: Context): Selected[] => {
  const { evaluatedAt } = context;
  return selectPast({ names, plan, span: asked }, context, (listings) => [
    ...findEventRefusals(plan),
    ...findReachRefusals(asked.from, plan, { evaluatedAt, path: '/from' }),
    ...findListingLimit(listings, plan.limits.history_listings),
  ]);
};

/** The window that is applied: an end in the future is replaced by now, and stays fixed on the following pages. */
const readParameters = (input: Input, cursor: Cursor | null, evaluatedAt: number): Span => {
  const from = parseInstant(input.from) ?? 0;
  const to = Math.min(parseInstant(input.to) ?? 0, cursor?.to ?? evaluatedAt, evaluatedAt);
  return { from: Math.min(from, to), to };
};

const run = async (input: Input, context: Context, names: Names): Promise<Answer> => {
  const { live, evaluatedAt } = context;
  const plan = requirePlan(context);
  const cursor = input.cursor === undefined ? null : readCursor(input.cursor);
  const asked = readParameters(input, cursor, evaluatedAt);
  const selected = selectWithin({ asked, names, plan }, context);
  // A gap that reaches over the end is sealed with its window.
  const end = toWindowEnd(asked.to, EVENT_GAP_WINDOW_MS);
  const sources = await openPastSources({ from: asked.from, to: end }, selected, context);
  const settled = isSettled(end, context, listPossibleVenues(names, live));
  const [units, numberFormat] = [input.units ?? 'published', input.number_format ?? 'json'] as const;
  const limit = Math.min(input.limit ?? LIMIT, MOST);
  const { items, returned, gaps, next, measure } = await makeLiquidationPage(sources, selected, {
    ...{ evaluatedAt, asked, limit, units, numberFormat },
    side: input.side ?? null,
    after: cursor?.after ?? null,
    keepsRows: context.keepsRows,
  });
  const members = { from: formatInstant(asked.from), to: formatInstant(asked.to), units };
  const page = { limit, returned, next_cursor: next === null ? null : writeCursor(input, asked.to, next) };
  return {
    ...makePastAnswer({ plan, selected, until: asked.to, settled, members, items, page, numberFormat }, context),
    gaps,
    fits: (refused) => {
      const most = countFittingPage(measure(), refused);
      return most < 1
        ? 'Narrow where: not one row of this selection fits.'
        : `Send a limit of ${most}, or narrow where.`;
    },
  };
};

export const liquidations = defineOperation({
  name: 'liquidations',
  method: 'POST',
  path: '/v2/liquidations',
  key: 'required',
  class: 'liquidations',
  price: null,
  rows: true,
  cacheS: null,
  summary: 'Liquidations of a period; available in the plan Standard and above.',
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, ...SCOPE_CODES],
  example: {
    question: 'Who was forced out in the last hour, at what price, and what may be missing?',
    input: {
      where: 'quote = USDT',
      from: '2026-01-15T11:00:00.000Z',
      to: '2026-01-15T12:00:00.000Z',
    },
    output: answer,
  },
  refine,
  understand,
  run,
});
