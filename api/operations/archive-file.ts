// GET /v2/archive/{listing}/{layer}/{day}: a link to one archive file, valid for 15 minutes (AR-02, AR-04, AR-05).
import Type, { type Static } from 'typebox';
import { type ApiError, makeServiceError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { parseListingId } from '../../schemas/tables.ts';
import { findFileRefusals } from '../archive/plan.ts';
import {
  ARCHIVE_FORMATS,
  type ArchiveFile,
  type ArchiveFormat,
  type ArchiveManifest,
  type SetName,
  TIER_PRICES,
  toArchiveLayer,
} from '../contract/archive.ts';
import type { Quote, Sent } from '../contract/endpoint.ts';
import { InstantText, makeDayInput, SCOPE_CODES } from '../contract/parameters.ts';
import { throwAll } from '../contract/refusals.ts';
import { clip } from '../contract/sent-text.ts';
import { foldCase } from '../language/codes.ts';
import { findArchiveLayerFaults, findDayFaults, makeArchiveLayerInput, requireArchive } from './archive-input.ts';
import answer from './examples/archive-file.json' with { type: 'json' };
import { requirePlan } from './listing-input.ts';
import { type Answer, type Context, defineOperation } from './operation.ts';

const Input = Type.Object(
  {
    listing: Type.String({
      pattern: ':',
      description: '`venue:venue_symbol`, percent-encoded.',
      examples: ['binance:BTCUSDT'],
    }),
    layer: makeArchiveLayerInput('Archived layer.'),
    day: makeDayInput('UTC day.', '2026-01-10'),
    format: Type.Optional(
      Type.Enum([...ARCHIVE_FORMATS], {
        description: '`parquet` (default), `csv` or `jsonl`. The last two are compressed with zstd.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Output = Type.Object({
  url: Type.String(),
  expires_at: InstantText,
  sha256: Type.String(),
  bytes: Type.Integer(),
  rows: Type.Integer(),
  schema_version: Type.Integer(),
  receipt_id: Type.String(),
});

const refine = ({ listing, layer, day }: Partial<Input>): ApiError[] => {
  const faults = [...findArchiveLayerFaults(layer), ...findDayFaults(day, '/day')];
  if (listing === undefined || listing.includes(':')) return faults;
  const message = `"${clip(listing)}" is not a listing.`;
  return [...faults, { code: 'DQL_JSON_SCHEMA', message, hint: 'Write venue:venue_symbol.', path: '/listing' }];
};

/** The set that the members name, which have no faults. */
const readName = ({ listing, layer, day }: Input): SetName => {
  const { venue, symbol } = parseListingId(listing);
  return { venue: foldCase('venue', venue), venueSymbol: symbol, layer: toArchiveLayer(layer) ?? layer, day };
};

const makeNoFile = (message: string): Error =>
  makeServiceError('NOT_FOUND', message, { hint: 'GET /v2/archive lists the files.' });

/** Without a key: a name of no file is not found before a payment is requested for it; every other file costs what its tier does. */
const quoteFile = async ({ params, query }: Sent, manifest: ArchiveManifest | null): Promise<Quote> => {
  const format = query.get('format') ?? 'parquet';
  const input = params as Input;
  const isFormat = (ARCHIVE_FORMATS as readonly string[]).includes(format);
  if (manifest === null || !isFormat || refine(input).length > 0) return 'unknown';
  const file = await manifest.find(readName(input), format as ArchiveFormat);
  if (file === null) return 'unknown';
  const price = TIER_PRICES[file.tier];
  if (price === null) return 'unsold';
  return { price, class: file.tier === 'top100' ? 'archive_top100' : 'archive' };
};

/** Finds the requested file, within the plan. */
const findFile = async (input: Input, context: Context): Promise<ArchiveFile> => {
  const plan = requirePlan(context);
  const { evaluatedAt, scopeOf, live } = context;
  const name = readName(input);
  const file = await requireArchive(context).manifest.find(name, input.format ?? 'parquet');
  const versions = live.venue(name.venue)?.listings.get(name.venueSymbol)?.versions ?? [];
  const instrument = file?.instrument ?? versions.at(-1)?.record.values.instrument;
  if (instrument === undefined) throw makeNoFile(`There is no listing "${clip(input.listing)}".`);
  throwAll(findFileRefusals({ ...name, instrument }, { plan, choice: scopeOf(plan), evaluatedAt }));
  if (file === null) throw makeNoFile(`There is no file of ${name.layer} on ${name.day}.`);
  return file;
};

const run = async (input: Input, context: Context): Promise<Answer> => {
  const { evaluatedAt, receiptId, caller } = context;
  const file = await findFile(input, context);
  await caller?.spend('archive_files', 1);
  const { url, endsMs } = await requireArchive(context).links.make(file.key, evaluatedAt / 1_000);
  return {
    body: {
      url,
      expires_at: formatInstant(endsMs * 1_000),
      sha256: file.sha256,
      bytes: file.bytes,
      rows: file.rows,
      schema_version: file.schemaVersion,
      receipt_id: receiptId,
    },
    numberFormat: 'json',
    location: url,
  };
};

export const archiveFile = defineOperation({
  name: 'archive_file',
  method: 'GET',
  path: '/v2/archive/{listing}/{layer}/{day}',
  key: 'required',
  class: 'archive',
  redirects: true,
  price: TIER_PRICES.core,
  pricing:
    'Without a key a file of a listing of the tier `core` costs 0.10 USDC, and of the tier `top100` 0.05 USDC. Other files need a key.',
  cacheS: null,
  summary: 'One archive file: a redirect to a link valid for 15 minutes.',
  input: Input,
  output: Output,
  codes: [...SCOPE_CODES.filter((code) => code !== 'DQL_LIMIT'), 'NOT_FOUND', 'AUTH_REQUIRED'],
  example: {
    question: 'Which file has the funding of one listing on one day?',
    input: { listing: 'binance:BTCUSDT', layer: 'funding', day: '2026-01-10' },
    output: answer,
  },
  refine,
  quote: quoteFile,
  judge: findFile,
  run,
});
