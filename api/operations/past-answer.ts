// The common part of the answers over stored history (history, candles, liquidations) around their items (H-09, H-16, N-10, N-11).
import { createHash } from 'node:crypto';
import Type from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, type NumberFormat } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import { refuseOutside, toNarrowing } from '../access/scope.ts';
import { InstantText, NullableInstant } from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { throwAll } from '../contract/refusals.ts';
import { awaitRecent, findListingInstant, listVersions, refuseHole, type Span } from '../history/past.ts';
import type { Items } from '../history/row-groups.ts';
import { type Sources, storeAway } from '../history/store.ts';
import type { Selected } from '../live/listing-book.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, selectListings } from '../selection/resolve.ts';
import { makeScope, Scope } from './listing-input.ts';
import type { Answer, Context } from './operation.ts';

/** Members before those of the operation, and between those and `items`. */
export const PastHead = { evaluated_at: InstantText, settled: Type.Boolean(), items_sha256: Type.String() };
export const PastVersions = {
  listings_as_of: NullableInstant,
  capabilities_as_of: NullableInstant,
  scope: Scope,
  receipt_id: Type.String(),
};

type PastQuestion = { readonly names: Names; readonly plan: Plan; readonly span: Span };

/**
 * The listings that were listed at some time of the span. Names outside the plan are reported with the faults that `refused` finds, given how many
 * listings there are (E-01 step 8).
 */
export const selectPast = (
  { names, plan, span }: PastQuestion,
  { live, scopeOf }: Context,
  refused: (listings: number) => readonly ApiError[],
): Selected[] => {
  const choice = scopeOf(plan);
  const selected = selectListings(names, findDirectory(live), {
    at: findListingInstant(live, span.to),
    since: span.from,
    narrowing: toNarrowing(choice),
  });
  throwAll([...refuseOutside(names, plan, choice), ...refused(selected.length)]);
  return selected;
};

/** The sources of the span's rows; a ServiceError when not all rows can be read now or within moments. */
export const openPastSources = async (
  span: Span,
  selected: readonly Selected[],
  { live, history }: Context,
): Promise<Sources> => {
  if (history === null) throw storeAway();
  await awaitRecent(span, selected, live);
  refuseHole(span, selected, live);
  return { reader: history.begin(), live };
};

type Past = {
  readonly plan: Plan;
  readonly selected: readonly Selected[];
  /** Last instant of the answer, which determines the versions. */
  readonly until: Micros;
  readonly settled: boolean;
  /** Whether late rows may still count although the answer is settled: then it must not be cached for good. */
  readonly mayGrow?: boolean;
  /** The operation's own members. */
  readonly members: Readonly<Record<string, JsonValue | undefined>>;
  readonly items: Items;
  /** For an answer in pages. */
  readonly page?: JsonValue;
  readonly numberFormat: NumberFormat;
};

export const makePastAnswer = (past: Past, context: Context): Answer => {
  const { plan, selected, until, settled, mayGrow = false, members, items, page, numberFormat } = past;
  const itemsSha256 = createHash('sha256').update(items.text).digest('hex');
  return {
    body: {
      evaluated_at: formatInstant(context.evaluatedAt),
      settled,
      items_sha256: itemsSha256,
      ...members,
      ...listVersions(selected, context.live, until),
      scope: makeScope(plan, context),
      receipt_id: context.receiptId,
      items: makeRawJson(items.text),
      page,
    },
    numberFormat,
    groups: items.groups,
    ...(settled && !mayGrow ? { settledAs: itemsSha256, settledItems: items.text } : {}),
  };
};
