// GET /v2/instruments: listings with their rules and layers, now or as of a past instant (V-02 to V-05).
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { type ApiError, makeServiceError } from '../../schemas/errors.ts';
import { formatInstant, INSTANT_HINT, parseInstant } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, writeJson } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import { compareBytes } from '../../schemas/text-order.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import {
  AnswerPage,
  AnswerUnits,
  Conversion,
  IncludeRaw,
  InstantText,
  makeInstantInput,
  NullableFigure,
  NullableInstant,
  NullableInteger,
  NullableText,
  NumberFormatParameter,
  Texts,
  Units,
  WHERE_CODES,
} from '../contract/parameters.ts';
import { clip } from '../contract/sent-text.ts';
import { findNewestVersion } from '../history/past.ts';
import { SelectionText } from '../language/where-object.ts';
import { makeBounds } from '../live/bounds.ts';
import { findVersionAt, type LiveListing, type Selected } from '../live/listing-book.ts';
import { findMarkNow } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, selectListings } from '../selection/resolve.ts';
import { computeCatalogueVersion } from './catalogue-version.ts';
import { digestRequest, parseCursor, printCursor, WRONG_CURSOR } from './cursor.ts';
import answer from './examples/instruments.json' with { type: 'json' };
import { describeOutOfRange } from './known-range.ts';
import { collectErrors, readNames } from './listing-input.ts';
import { makeListingRecord } from './listing-record.ts';
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';

const MOST = 5_000;

const Input = Type.Object(
  {
    where: Type.Optional(SelectionText),
    as_of: Type.Optional(
      makeInstantInput(
        'Instant that the answer describes. Default now. Marks of the past are not read: a quantity that needs one to be converted is null.',
        '2026-01-15T12:00:00Z',
      ),
    ),
    units: Units,
    include_raw: IncludeRaw,
    number_format: NumberFormatParameter,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Listings per page. Default and at most ${MOST}; without it a page ends where the answer is full.`,
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        description:
          '`page.next_cursor` of the previous page, with the same request. All pages describe the same instant.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Transform = Type.Object({ venue_field: Type.String(), transform: Type.String() });
const LayerEntry = Type.Object({
  policy: Type.Enum(['on', 'off', 'sampled', 'not_published']),
  cadence: NullableText,
  history_cadence: Type.String(),
  horizon: NullableText,
  horizon_source: NullableText,
  anchor: NullableText,
  freshness: NullableText,
  retention_from: InstantText,
});

export const ListingShape = Type.Object({
  instrument: Type.String(),
  venue: Type.String(),
  venue_symbol: Type.String(),
  base: Type.String(),
  quote: Type.String(),
  base_venue_alias: NullableText,
  kind: Type.Enum(['perpetual']),
  venue_kind: NullableText,
  pair: NullableText,
  post_only: Type.Union([Type.Boolean(), Type.Null()]),
  status: Type.String(),
  contract_size: NullableFigure,
  multiplier: NullableFigure,
  tick_size: NullableFigure,
  lot_size: NullableFigure,
  min_qty: NullableFigure,
  min_notional: NullableFigure,
  price_decimals: NullableInteger,
  qty_decimals: NullableInteger,
  units: Type.Record(Type.String(), NullableText),
  conversion: Conversion,
  null_reasons: Type.Optional(Texts),
  quantity_unit: Type.String(),
  oi_sides: NullableText,
  funding_interval: NullableText,
  funding_interval_source: NullableText,
  funding_normalisation: Type.Union([Transform, Type.Null()]),
  rules_normalisation: Type.Record(Type.String(), Transform),
  candles: Type.Object({
    base_timeframe: Type.String(),
    price_types: Type.Array(Type.String()),
    timeframes: Type.Array(Type.String()),
  }),
  layers: Type.Record(Type.String(), LayerEntry),
  not_published: Type.Array(Type.String()),
  bands: Type.Array(Type.String()),
  listed_at: NullableInstant,
  first_seen_at: NullableInstant,
  delisted_at: NullableInstant,
  retention_from: NullableInstant,
  venue_ts: NullableInstant,
  received_at: NullableInstant,
  age_ms: Type.Integer(),
  raw: Type.Optional(Type.Unknown()),
});

const Output = Type.Object({
  evaluated_at: InstantText,
  as_of: InstantText,
  catalogue: NullableText,
  units: AnswerUnits,
  listings_as_of: NullableInstant,
  capabilities_as_of: NullableInstant,
  items: Type.Array(ListingShape),
  page: AnswerPage,
});

/** The common part of the pages of one list. */
const computeDigest = ({ where, as_of }: Partial<Input>): string => digestRequest([where ?? null, as_of ?? null]);

/** The request, the pinned instant and the last listing given. */
type Cursor = {
  readonly digest: string;
  readonly at: Micros;
  readonly venue: string;
  readonly venueSymbol: string;
};

const writeCursor = ({ digest, at, venue, venueSymbol }: Cursor): string =>
  printCursor([digest, at, venue, venueSymbol]);

/** Null for anything that is not one of ours. */
const readCursor = (text: string): Cursor | null => {
  const [digest, at, venue, venueSymbol] = parseCursor(text, 4) ?? [];
  if (typeof digest !== 'string' || !Number.isSafeInteger(at)) return null;
  if (typeof venue !== 'string' || typeof venueSymbol !== 'string') return null;
  return { digest, at: at as Micros, venue, venueSymbol };
};

/** Whether a listing comes after the cursor in (venue, venue_symbol) order. */
const isAfter = (
  listing: { readonly venue: string; readonly venueSymbol: string },
  { venue, venueSymbol }: Cursor,
): boolean => (compareBytes(listing.venue, venue) || compareBytes(listing.venueSymbol, venueSymbol)) > 0;

/** A cursor of another request, as far as this one is whole. */
const isWrongCursor = (input: Partial<Input>, spoilt: Spoilt): boolean => {
  if (input.cursor === undefined) return false;
  const digest = readCursor(input.cursor)?.digest;
  return digest === undefined || (digest !== computeDigest(input) && !spoilt.has('where') && !spoilt.has('as_of'));
};

const refine = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => {
  const { as_of } = input;
  const errors: ApiError[] = isWrongCursor(input, spoilt) ? [WRONG_CURSOR] : [];
  if (as_of !== undefined && parseInstant(as_of) === null) {
    const message = `"${clip(as_of)}" is not an instant from 2000 to 2100.`;
    errors.push({
      code: 'DQL_JSON_SCHEMA',
      message,
      hint: INSTANT_HINT,
      path: '/as_of',
    });
  }
  return errors;
};

/** T of the answer: the cursor's, else `as_of`, else now. */
const findDescribedInstant = ({ as_of, cursor }: Partial<Input>, evaluatedAt: Micros): Micros => {
  const pinned = cursor === undefined ? null : (readCursor(cursor)?.at ?? null);
  return pinned ?? (as_of === undefined ? null : parseInstant(as_of)) ?? evaluatedAt;
};

/** An instant for which no data exists, or that is in the future. */
const findRangeFaults = (input: Partial<Input>, context: InputContext): ApiError[] => {
  const at = findDescribedInstant(input, context.evaluatedAt);
  const outOfRange = at === context.evaluatedAt ? null : describeOutOfRange(at, context);
  if (outOfRange === null) return [];
  return [{ code: 'DQL_AS_OF_RANGE', ...outOfRange, path: input.cursor === undefined ? '/as_of' : '/cursor' }];
};

const refuseRaw = ({ include_raw }: Input, { plan }: Context): void => {
  if (include_raw !== true || plan?.raw === true) return;
  const whose = plan === null ? 'A call without a key' : `The plan ${plan.name}`;
  throw makeServiceError('PLAN_LIMIT', `${whose} has no raw messages.`, {
    hint: 'Leave include_raw out, or use a key of Standard or above.',
    path: '/include_raw',
  });
};

type Page = { readonly selected: readonly Selected[]; readonly limit: number; readonly next: string | null };

const cutPage = (all: readonly Selected[], input: Input, at: Micros): Page => {
  const limit = Math.min(input.limit ?? MOST, MOST);
  const cursor = input.cursor === undefined ? null : readCursor(input.cursor);
  const rest = cursor === null ? all : all.filter(({ listing }) => isAfter(listing, cursor));
  const selected = rest.slice(0, limit);
  const last = selected.at(-1)?.listing;
  const next =
    rest.length > limit && last
      ? writeCursor({ digest: computeDigest(input), at, venue: last.venue, venueSymbol: last.venueSymbol })
      : null;
  return { selected, limit, next };
};

/** The listing's present mark where a conversion may need it; marks of the past are not read (D-776). */
const findMark = (listing: LiveListing, input: Input, { live, evaluatedAt }: Context): Mark | null => {
  if (input.units === undefined || input.units === 'published' || input.as_of !== undefined) return null;
  return findMarkNow(live, listing, { at: evaluatedAt, bounds: makeBounds(undefined) });
};

type Described = Pick<Selected, 'version'> & {
  readonly capability: CapabilityVersion | null;
  readonly mark: Mark | null;
  /** Null for a past instant. */
  readonly present: Pick<LiveListing, 'readings'> | null;
};

/** Everything that the page needs from live state, read in one step: later readings are not in it. */
const describe = (page: Page, at: Micros, { input, context }: { input: Input; context: Context }): Described[] =>
  page.selected.map(({ listing, version }) => {
    const venue = context.live.venue(listing.venue);
    return {
      version,
      capability: findVersionAt(venue?.capabilities ?? [], at),
      mark: findMark(listing, input, context),
      present: input.as_of === undefined ? { readings: listing.readings.copy() } : null,
    };
  });

/** Number of listings that are written before other calls get their turn, a few milliseconds of work: anyone may request thousands. */
const LISTINGS_A_TURN = 64;

/** Bytes of the records of a page without `limit`; 14 venues have more listings than fit (D-803). The rest is for the other members of the answer. */
const RECORD_BYTES = ENDPOINT_LIMITS.response_bytes - 4_096;

/** The records of a page as they are sent; without `limit` those that fit. */
const writeRecords = async (described: readonly Described[], at: Micros, input: Input): Promise<string[]> => {
  const { units = 'published', number_format: numberFormat = 'json', include_raw: includeRaw = false } = input;
  const texts: string[] = [];
  let bytes = 0;
  for (const { present, version, capability, mark } of described) {
    if (texts.length % LISTINGS_A_TURN === LISTINGS_A_TURN - 1) await nextTurn();
    const record = makeListingRecord(present, { version, capability }, { at, units, includeRaw, mark });
    const text = writeJson(record, { numberFormat });
    bytes += Buffer.byteLength(text) + 1;
    if (input.limit === undefined && bytes > RECORD_BYTES && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
};

const run = async (input: Input, context: Context, names: Names): Promise<Answer> => {
  const { live, evaluatedAt } = context;
  const at = findDescribedInstant(input, evaluatedAt);
  refuseRaw(input, context);
  const all = selectListings(names, findDirectory(live), { at });
  const asked = cutPage(all, input, at);
  const described = describe(asked, at, { input, context });
  const catalogue = computeCatalogueVersion(live, at);
  const texts = await writeRecords(described, at, input);
  const page = texts.length < described.length ? cutPage(all, { ...input, limit: texts.length }, at) : asked;
  const isPast = input.as_of !== undefined;
  const { units = 'published', number_format: numberFormat = 'json' } = input;
  const answerPage = ({ selected, limit, next }: Page): Answer => {
    const shown = described.slice(0, selected.length);
    const body: JsonValue = {
      evaluated_at: formatInstant(evaluatedAt),
      as_of: formatInstant(at),
      catalogue,
      units,
      listings_as_of: isPast ? findNewestVersion(shown.map(({ version }) => version)) : null,
      capabilities_as_of: isPast ? findNewestVersion(shown.map(({ capability }) => capability)) : null,
      items: texts.slice(0, shown.length).map(makeRawJson),
      page: { limit, returned: shown.length, next_cursor: next },
    };
    return {
      body,
      numberFormat,
      shorten: (rows) => answerPage(cutPage(all, { ...input, limit: rows }, at)),
      measureRows: () => texts.slice(0, shown.length).map((text) => Buffer.byteLength(text) + 1),
    };
  };
  return answerPage(page);
};

export const instruments = defineOperation({
  name: 'instruments',
  method: 'GET',
  path: '/v2/instruments',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: 10,
  summary: 'Listings with rules and layers.',
  tool: true,
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, 'DQL_AS_OF_RANGE', 'DQL_LIMIT', 'PLAN_LIMIT'],
  example: {
    question: 'What can be traded on BTC, in which steps, and how often is funding paid?',
    input: { where: 'base = BTC' },
    output: answer,
  },
  refine,
  understand: (input, context) =>
    collectErrors(findRangeFaults(input, context), () => readNames(input.where, context.live)),
  run,
});
