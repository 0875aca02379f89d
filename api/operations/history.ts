// POST /v2/snapshots/history: past readings of each listing and layer, by period, at instants or as stored (H-02 to H-09, N-10, N-11).
import Type from 'typebox';
import { formatDuration } from '../../schemas/durations.ts';
import { formatInstant } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { toWindowEnd } from '../../schemas/windows.ts';
import {
  AnswerUnits,
  Conversion,
  InstantText,
  ListingNames,
  NullableFigure,
  NullableText,
  SCOPE_CODES,
  StatusMembers,
  Texts,
  WHERE_CODES,
} from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { makeHistoryItems } from '../history/answer.ts';
import type { RequestedTimes } from '../history/gather.ts';
import { findCadenceLimits, findPlanRefusals, findRawLimits, findRowLimits } from '../history/limits.ts';
import { isSettled } from '../history/past.ts';
import { findFirstInstant, findFutureFaults, findLastInstant, Input, readTimes, refine } from '../history/request.ts';
import { findFreshnessLimits, makeBounds, printBounds } from '../live/bounds.ts';
import type { Selected } from '../live/listing-book.ts';
import type { Names } from '../selection/resolve.ts';
import answer from './examples/history.json' with { type: 'json' };
import {
  collectErrors,
  findLayerRefusals,
  findListingLimit,
  listPossibleVenues,
  readLayers,
  readNames,
  requirePlan,
} from './listing-input.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';
import { makePastAnswer, openPastSources, PastHead, PastVersions, selectPast } from './past-answer.ts';

const Values = Type.Record(Type.String(), NullableFigure);
const HistoryRow = Type.Object({
  at: InstantText,
  ...StatusMembers,
  horizon_source: NullableText,
  anchor: Type.Union([Type.Enum(['venue', 'receipt']), Type.Null()]),
  values: Values,
  instants: Type.Optional(Type.Record(Type.String(), InstantText)),
  conversion: Conversion,
  withheld: Type.Optional(Type.Object({ values: Values, null_reasons: Type.Optional(Texts) })),
  null_reasons: Type.Optional(Texts),
  late: Type.Optional(Type.Boolean()),
});

const Output = Type.Object({
  ...PastHead,
  mode: Type.Enum(['interval', 'at', 'raw']),
  interval: Type.Optional(Type.String()),
  from: Type.Optional(InstantText),
  to: Type.Optional(InstantText),
  units: AnswerUnits,
  freshness: Texts,
  ...PastVersions,
  items: Type.Array(
    Type.Object({
      ...ListingNames,
      layers: Type.Record(
        Type.String(),
        Type.Object({
          units: Texts,
          retention_from: InstantText,
          rows: Type.Array(HistoryRow),
          history_cadence: Type.String(),
        }),
      ),
    }),
  ),
});

type Question = {
  readonly input: Input;
  readonly asked: RequestedTimes;
  readonly names: Names;
  readonly plan: Plan;
  readonly layers: readonly ReadingLayer[];
};

/** Checks of step 8, then the listings that were listed at some time of the answer. */
const selectWithin = ({ input, asked, names, plan, layers }: Question, context: Context): Selected[] => {
  const span = { from: findFirstInstant(asked), to: findLastInstant(asked) };
  return selectPast({ names, plan, span }, context, (listings) => [
    ...findLayerRefusals(input.layers, plan),
    ...findPlanRefusals({ input, asked, plan }, context.evaluatedAt),
    ...findFreshnessLimits(input.freshness),
    ...findCadenceLimits(asked, layers),
    ...findRowLimits(asked),
    ...findRawLimits(asked, layers, listings),
    ...findListingLimit(listings, plan.limits.history_listings),
  ]);
};

/** The last window that the answer reads: one that holds a reading received before `to` of a raw answer may end after it. */
const findLastWindow = (asked: RequestedTimes, layers: readonly ReadingLayer[]): Micros => {
  if (asked.mode !== 'raw') return findLastInstant(asked);
  return Math.max(asked.to, ...layers.map((layer) => toWindowEnd(asked.to - 1, LAYERS[layer].windowMs)));
};

/** The instant to which an answer applies, even if it is in the future: an answer that was cut at an earlier instant can still grow (N-10, N-11). */
const findWantedEnd = (input: Input, layers: readonly ReadingLayer[]): Micros =>
  findLastWindow(readTimes(input, Number.POSITIVE_INFINITY), layers);

const describeTimes = (asked: RequestedTimes): Record<string, JsonValue | undefined> => ({
  mode: asked.mode,
  interval: asked.mode === 'interval' ? formatDuration(asked.length / 1_000) : undefined,
  from: asked.mode === 'at' ? undefined : formatInstant(asked.from),
  to: asked.mode === 'at' ? undefined : formatInstant(asked.to),
});

const makeQuestion = (input: Input, context: Context, names: Names): Question => {
  const plan = requirePlan(context);
  return {
    input,
    asked: readTimes(input, context.evaluatedAt),
    names,
    plan,
    layers: readLayers(input.layers, plan),
  };
};

const run = async (input: Input, context: Context, names: Names): Promise<Answer> => {
  const { live, evaluatedAt } = context;
  const question = makeQuestion(input, context, names);
  const { asked, layers, plan } = question;
  const selected = selectWithin(question, context);
  const [until, end] = [findLastInstant(asked), findLastWindow(asked, layers)];
  const sources = await openPastSources({ from: asked.mode === 'at' ? 0 : asked.from, to: end }, selected, context);
  const settled = isSettled(findWantedEnd(input, layers), context, listPossibleVenues(names, live));
  const bounds = makeBounds(input.freshness);
  const units = input.units ?? 'published';
  const numberFormat = input.number_format ?? 'json';
  const items = await makeHistoryItems(sources, selected, {
    ...{ evaluatedAt, asked, layers, units, numberFormat, bounds },
    allowStale: input.allow_stale ?? false,
    includeGaps: input.include_gaps ?? true,
    itemsLimit: context.itemsLimit,
    keepsRows: context.keepsRows,
  });
  const members = { ...describeTimes(asked), units, freshness: printBounds(bounds, layers, units) };
  // A raw answer may still gain late rows.
  const past = { plan, selected, until, settled, mayGrow: asked.mode === 'raw', members, items, numberFormat };
  return {
    ...makePastAnswer(past, context),
    fits: items.fits,
  };
};

export const history = defineOperation({
  name: 'history',
  method: 'POST',
  path: '/v2/snapshots/history',
  key: 'required',
  class: 'history',
  price: 20_000,
  rows: true,
  cacheS: null,
  summary: 'Past readings per layer.',
  tool: true,
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, 'DQL_AS_OF_RANGE', ...SCOPE_CODES],
  example: {
    question: 'How did the mark and the funding of BTC go in the last hour, minute by minute?',
    input: {
      where: 'base = BTC and quote = USDT',
      layers: ['mark', 'funding'],
      interval: '1m',
      from: '2026-01-15T11:00:00.000Z',
      to: '2026-01-15T12:00:00.000Z',
    },
    output: answer,
  },
  refine,
  understand: (input, { live, evaluatedAt }) =>
    collectErrors(findFutureFaults(input, evaluatedAt), () => readNames(input.where, live)),
  judge: (input, context, names) => selectWithin(makeQuestion(input, context, names), context),
  run,
});
