// GET /v2/archive: which files there are, page by page; the same for every key but for what its plan may fetch (AR-01).
import Type, { type Static } from 'typebox';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { formatListingId } from '../../schemas/tables.ts';
import { type FileScope, isIncluded } from '../archive/plan.ts';
import { type ArchiveFile, type SetName, TIER_PRICES, toArchiveLayer } from '../contract/archive.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import { AnswerPage, InstantText, makeDayInput, NullableText, WHERE_CODES } from '../contract/parameters.ts';
import { SelectionText } from '../language/where-object.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, selectListings } from '../selection/resolve.ts';
import { findArchiveLayerFaults, findDayFaults, makeArchiveLayerInput, requireArchive } from './archive-input.ts';
import { digestRequest, parseCursor, printCursor, WRONG_CURSOR } from './cursor.ts';
import answer from './examples/archive.json' with { type: 'json' };
import { collectErrors, readNames, requirePlan } from './listing-input.ts';
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';

const LIMIT = 100;
const MOST = 1_000;

const Input = Type.Object(
  {
    where: Type.Optional(SelectionText),
    layer: Type.Optional(makeArchiveLayerInput('Archived layer. Default: all layers.')),
    from: Type.Optional(makeDayInput('First day, inclusive.', '2026-01-10')),
    to: Type.Optional(makeDayInput('Last day, inclusive.', '2026-01-15')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `Files per page. Default ${LIMIT}, at most ${MOST}.` }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 1_024,
        description: '`page.next_cursor` of the previous page, with the same request. It does not expire.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Output = Type.Object({
  evaluated_at: InstantText,
  receipt_id: Type.String(),
  items: Type.Array(
    Type.Object({
      listing: Type.String(),
      venue: Type.String(),
      venue_symbol: Type.String(),
      instrument: Type.String(),
      layer: Type.String(),
      day: Type.String(),
      tier: Type.Enum(['core', 'top100', 'other']),
      price_usdc: NullableText,
      format: Type.Enum(['parquet']),
      rows: Type.Integer(),
      bytes: Type.Integer(),
      sha256: Type.String(),
      schema_version: Type.Integer(),
      written_at: InstantText,
      final: Type.Boolean(),
      anchored: Type.Boolean(),
      included: Type.Boolean(),
    }),
  ),
  page: AnswerPage,
});

/** The common part of the pages of one list. */
const computeDigest = ({ where, layer, from, to }: Partial<Input>): string =>
  digestRequest([where ?? null, layer ?? null, from ?? null, to ?? null]);

const writeCursor = (input: Input, { venue, venueSymbol, layer, day }: SetName): string =>
  printCursor([computeDigest(input), venue, venueSymbol, layer, day]);

type Cursor = { readonly digest: string; readonly after: SetName };

/** Null for a text that is not a cursor of any list. */
const readCursor = (text: string): Cursor | null => {
  const parts = parseCursor(text, 5);
  if (parts === null || !parts.every((part) => typeof part === 'string' && isStorable(part))) return null;
  const [digest, venue, venueSymbol, layer, day] = parts as [string, string, string, string, string];
  return findDayFaults(day, '').length === 0 ? { digest, after: { venue, venueSymbol, layer, day } } : null;
};

/** The fault of a cursor that cannot be read, or that belongs to another list if the members on which it depends are valid. */
const findCursorFaults = (input: Partial<Input>, { isWhole }: { readonly isWhole: boolean }): ApiError[] => {
  if (input.cursor === undefined) return [];
  const read = readCursor(input.cursor);
  return read === null || (isWhole && read.digest !== computeDigest(input)) ? [WRONG_CURSOR] : [];
};

const refine = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => {
  const { layer, from, to } = input;
  const days = [...findDayFaults(from, '/from'), ...findDayFaults(to, '/to')];
  const faults = [...findArchiveLayerFaults(layer), ...days];
  const isWhole = faults.length === 0 && ['where', 'layer', 'from', 'to'].every((name) => !spoilt.has(name));
  faults.push(...findCursorFaults(input, { isWhole }));
  if (days.length === 0 && from !== undefined && to !== undefined && from > to) {
    const message = `"from" ${from} is after "to" ${to}.`;
    faults.push({ code: 'DQL_JSON_SCHEMA', message, hint: 'Swap them.', path: '/from' });
  }
  return faults;
};

const formatPrice = (price: number | null): string | null => (price === null ? null : (price / 1_000_000).toFixed(2));

const toItem = (file: ArchiveFile, scope: FileScope): JsonValue => ({
  listing: formatListingId(file.venue, file.venueSymbol),
  venue: file.venue,
  venue_symbol: file.venueSymbol,
  instrument: file.instrument,
  layer: file.layer,
  day: file.day,
  tier: file.tier,
  price_usdc: formatPrice(TIER_PRICES[file.tier]),
  format: 'parquet',
  rows: file.rows,
  bytes: file.bytes,
  sha256: file.sha256,
  schema_version: file.schemaVersion,
  written_at: formatInstant(file.writtenAt),
  final: file.final,
  anchored: file.anchored,
  included: isIncluded(file, scope),
});

/** Every listing ever seen that the selection names; null selects everything, also delisted ones. */
const findListings = (input: Input, names: Names, { live, evaluatedAt }: Context) => {
  if (input.where === undefined) return null;
  return selectListings(names, findDirectory(live), { at: evaluatedAt, since: 0 }).map(({ listing }) => listing);
};

const run = async (input: Input, context: Context, names: Names): Promise<Answer> => {
  const { evaluatedAt, receiptId, scopeOf } = context;
  const plan = requirePlan(context);
  const limit = Math.min(input.limit ?? LIMIT, MOST);
  const found = await requireArchive(context).manifest.list({
    listings: findListings(input, names, context),
    layer: input.layer === undefined ? null : (toArchiveLayer(input.layer) ?? null),
    from: input.from ?? null,
    to: input.to ?? null,
    after: input.cursor === undefined ? null : (readCursor(input.cursor)?.after ?? null),
    limit: limit + 1,
  });
  const files = found.slice(0, limit);
  const last = files.at(-1);
  const scope = { plan, choice: scopeOf(plan), evaluatedAt };
  return {
    body: {
      evaluated_at: formatInstant(evaluatedAt),
      receipt_id: receiptId,
      items: files.map((file) => toItem(file, scope)),
      page: {
        limit,
        returned: files.length,
        next_cursor: found.length > limit && last !== undefined ? writeCursor(input, last) : null,
      },
    },
    numberFormat: 'json',
  };
};

export const archive = defineOperation({
  name: 'archive',
  method: 'GET',
  path: '/v2/archive',
  key: 'required',
  class: 'archive',
  price: null,
  cacheS: null,
  summary: 'List of archive files.',
  input: Input,
  output: Output,
  codes: [...WHERE_CODES, 'DQL_LIMIT'],
  example: {
    question: 'Which days of funding of BTC can be fetched as files?',
    input: { where: 'base = BTC', layer: 'funding' },
    output: answer,
  },
  refine,
  understand: (input: Partial<Input>, { live }: InputContext) => collectErrors([], () => readNames(input.where, live)),
  run,
});
