// POST /v2/candles: completed candles of each listing, minutes as published and longer ones rolled up from them (H-10 to H-13, H-16, N-10).
import Type, { type Static } from 'typebox';
import { parseDuration } from '../../schemas/durations.ts';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, parseInstant } from '../../schemas/instants.ts';
import { PRICE_TYPES } from '../../schemas/layers/candle.ts';
import type { Micros } from '../../schemas/records.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import {
  AnswerUnits,
  Conversion,
  IncludeSynthetic,
  InstantText,
  ListingNames,
  makeDurationInput,
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
import type { CandlePeriods } from '../history/candle-rows.ts';
import { makeCandleItems } from '../history/candles.ts';
import { findInstantFaults, findReachRefusals, findWindowFaults, isSettled } from '../history/past.ts';
import { TIMEFRAMES } from '../language/limits.ts';
import { Where } from '../language/where-object.ts';
import type { Selected } from '../live/listing-book.ts';
import type { Names } from '../selection/resolve.ts';
import answer from './examples/candles.json' with { type: 'json' };
import { collectErrors, findListingLimit, listPossibleVenues, readNames, requirePlan } from './listing-input.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';
import { makePastAnswer, openPastSources, PastHead, PastVersions, selectPast } from './past-answer.ts';
import { findTimeframeFaults, findTimeframeShapeFaults, readTimeframe } from './timeframe-input.ts';

const PER_LISTING = ENDPOINT_LIMITS.candles_per_listing;

const Input = Type.Object(
  {
    where: Type.Optional(Where),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    timeframe: makeDurationInput(
      `One of ${TIMEFRAMES.join(', ')}. An answer has at most ${PER_LISTING} candles per listing.`,
      '1h',
    ),
    price_type: Type.Optional(
      Type.Enum([...PRICE_TYPES], { description: 'Price from which the candles are made. Default `trade`.' }),
    ),
    from: makeInstantInput('First open time, inclusive. It is moved up to a boundary of the timeframe.'),
    to: makeInstantInput('Last open time, exclusive. It is moved down to a boundary of the timeframe.'),
    include_gaps: Type.Optional(
      Type.Boolean({ description: 'Whether periods without a candle are rows. Default true.' }),
    ),
    closed_only: Type.Optional(
      Type.Boolean({ description: 'Accepted without effect: only closed minutes are stored.' }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

export const CandleRow = Type.Object({
  open_time: InstantText,
  close_time: InstantText,
  status: Type.Enum(['present', 'missing', 'not_published', 'off']),
  reason: Type.Optional(Type.String()),
  gap_cause: Type.Optional(Type.String()),
  received_at: NullableInstant,
  open: NullableFigure,
  high: NullableFigure,
  low: NullableFigure,
  close: NullableFigure,
  volume: NullableFigure,
  turnover: Type.Optional(NullableFigure),
  trades: Type.Optional(Type.Integer()),
  base_candles: Type.Object({ expected: Type.Integer(), present: Type.Integer(), no_trades: Type.Integer() }),
  conversion: Conversion,
  null_reasons: Type.Optional(Texts),
});

const Output = Type.Object({
  ...PastHead,
  timeframe: Type.String(),
  price_type: Type.Enum([...PRICE_TYPES]),
  from: InstantText,
  to: InstantText,
  units: AnswerUnits,
  ...PastVersions,
  items: Type.Array(
    Type.Object({
      ...ListingNames,
      units: Texts,
      retention_from: InstantText,
      rows: Type.Array(CandleRow),
    }),
  ),
});

/** Faults of shape that the schema cannot express. */
const refine = ({ timeframe, from, to }: Partial<Input>): ApiError[] => [
  ...findTimeframeShapeFaults(timeframe),
  ...findInstantFaults(from, '/from'),
  ...findInstantFaults(to, '/to'),
  ...findWindowFaults(from, to),
];

/** Periods that have ended and whose open time is in the window: bounds are moved inwards (H-16d). */
const readParameters = (input: Input, evaluatedAt: Micros): CandlePeriods => {
  const timeframe = readTimeframe(input.timeframe) ?? '1m';
  const length = (parseDuration(timeframe) ?? 0) * 1_000;
  const from = Math.ceil((parseInstant(input.from) ?? 0) / length) * length;
  const to = Math.floor(Math.min(parseInstant(input.to) ?? 0, evaluatedAt) / length) * length;
  return { timeframe, length, priceType: input.price_type ?? 'trade', from, to: Math.max(from, to) };
};

/** The instant to which an answer applies, even if it is in the future: an answer that was cut at an earlier instant can still grow (N-10, N-11). */
const findWantedEnd = (input: Input): Micros => readParameters(input, Number.POSITIVE_INFINITY).to;

const findCandleLimits = ({ from, to, length }: CandlePeriods): ApiError[] => {
  const candles = (to - from) / length;
  if (candles <= PER_LISTING) return [];
  const message = `A listing would have ${candles} candles, the limit is ${PER_LISTING}.`;
  const fits = PER_LISTING * length;
  const hint = `The largest window that fits is ${fits / 1_000_000}s: send to ${formatInstant(from + fits)}.`;
  return [{ code: 'DQL_LIMIT', message, hint, path: '/to' }];
};

type Question = { readonly asked: CandlePeriods; readonly names: Names; readonly plan: Plan };

/** Checks of step 8, then the listings that were listed at some time of the answer. */
const selectWithin = ({ asked, names, plan }: Question, context: Context): Selected[] => {
  const { evaluatedAt } = context;
  return selectPast({ names, plan, span: asked }, context, (listings) => [
    ...findReachRefusals(asked.from, plan, { evaluatedAt, path: '/from' }),
    ...findCandleLimits(asked),
    ...findListingLimit(listings, plan.limits.candles_listings),
  ]);
};

const makeQuestion = (input: Input, context: Context, names: Names): Question => ({
  asked: readParameters(input, context.evaluatedAt),
  names,
  plan: requirePlan(context),
});

const run = async (input: Input, context: Context, names: Names): Promise<Answer> => {
  const { live, evaluatedAt } = context;
  const question = makeQuestion(input, context, names);
  const { asked, plan } = question;
  const selected = selectWithin(question, context);
  const sources = await openPastSources(asked, selected, context);
  const settled = isSettled(findWantedEnd(input), context, listPossibleVenues(names, live));
  const [units, numberFormat] = [input.units ?? 'published', input.number_format ?? 'json'] as const;
  const items = await makeCandleItems(sources, selected, {
    ...{ evaluatedAt, asked, units, numberFormat },
    includeGaps: input.include_gaps ?? true,
    itemsLimit: context.itemsLimit,
    keepsRows: context.keepsRows,
  });
  const { timeframe, priceType, from, to } = asked;
  const members = { timeframe, price_type: priceType, from: formatInstant(from), to: formatInstant(to), units };
  return {
    ...makePastAnswer({ plan, selected, until: to, settled, members, items, numberFormat }, context),
    fits: items.fits,
  };
};

export const candles = defineOperation({
  name: 'candles',
  method: 'POST',
  path: '/v2/candles',
  key: 'required',
  class: 'candles',
  price: 5_000,
  rows: true,
  cacheS: null,
  summary: 'Completed candles.',
  tool: true,
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, 'DQL_TIMEFRAME_UNSUPPORTED', ...SCOPE_CODES],
  example: {
    question: "What were the last hour's minute candles of BTC, and which are missing?",
    input: {
      where: 'base = BTC and quote = USDT',
      timeframe: '1m',
      from: '2026-01-15T11:00:00.000Z',
      to: '2026-01-15T12:00:00.000Z',
    },
    output: answer,
  },
  refine,
  understand: ({ where, timeframe }, { live }) =>
    collectErrors(findTimeframeFaults(timeframe), () => readNames(where, live)),
  judge: (input, context, names) => selectWithin(makeQuestion(input, context, names), context),
  run,
});
