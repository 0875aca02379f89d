// GET /v2/dql/catalogue: what a query may contain: fields, sources, functions, codes, limits (V-06).
import Type from 'typebox';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { BANDS } from '../../schemas/layers/book-bands.ts';
import { PRICE_TYPES } from '../../schemas/layers/candle.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { findPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion } from '../../schemas/topics.ts';
import { UNITS_MODES } from '../../schemas/units.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import { InstantText, NullableInstant, NullableText, Texts } from '../contract/parameters.ts';
import { makeLanguageEntries } from '../language/catalogue.ts';
import { listSpellings } from '../language/codes.ts';
import type { CandleSource, Field } from '../language/fields.ts';
import { LIMITS, TIMEFRAMES, VERSION } from '../language/limits.ts';
import { makeBounds, printBounds } from '../live/bounds.ts';
import { findVersionAt, isListed, type LiveListing } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { findDirectory } from '../selection/directory.ts';
import { computeCatalogueVersion } from './catalogue-version.ts';
import answer from './examples/dql-catalogue.json' with { type: 'json' };
import { findEarliestKnown } from './known-range.ts';
import { defineOperation } from './operation.ts';

/** Seconds after which an instant is settled (N-11). */
const SETTLE_AFTER_S = 120;
const NUMBER_FORMATS = ['json', 'string'] as const;

const Codes = Type.Array(Type.String());
const Scope = Type.Enum(['instrument', 'venue']);
const Output = Type.Object({
  dql: Type.String(),
  catalogue: NullableText,
  evaluated_at: InstantText,
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.Enum(['code', 'number', 'duration']),
      scope: Scope,
      layer: Type.String(),
      unit: Type.String(),
      description: Type.String(),
      sampleable: Type.Boolean(),
      additive: Type.Boolean(),
      not_published_on: Codes,
    }),
  ),
  sources: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.Enum(['series']),
      scope: Scope,
      layer: Type.Enum(['candles']),
      price_type: Type.Enum([...PRICE_TYPES]),
      unit: Type.String(),
      description: Type.String(),
      additive: Type.Boolean(),
      not_published_on: Codes,
    }),
  ),
  functions: Type.Array(
    Type.Object({
      name: Type.String(),
      signature: Type.String(),
      type: Type.Enum(['series', 'number', 'boolean', 'duration', 'status']),
      scope: Scope,
      layer: Type.String(),
      unit: Type.String(),
      description: Type.String(),
      bars: Type.String(),
      additive: Type.Boolean(),
    }),
  ),
  venues: Codes,
  currencies: Codes,
  assets: Codes,
  instruments: Codes,
  instruments_delisted: Codes,
  timeframes: Codes,
  bands: Codes,
  freshness_defaults: Texts,
  limits: Type.Record(Type.String(), Type.Unknown()),
  settle_after: Type.Integer(),
  earliest_retained: NullableInstant,
  units: Codes,
  number_formats: Codes,
});

/** The facts of a venue for the catalogue: what it publishes by its own statement, and its current listings. */
type VenueFacts = {
  readonly venue: string;
  readonly capability: CapabilityVersion | null;
  readonly listed: readonly ListingVersion[];
};

const listListedAt = (listings: Iterable<LiveListing>, at: Micros): ListingVersion[] => {
  const listed: ListingVersion[] = [];
  for (const { versions } of listings) {
    const version = findVersionAt(versions, at);
    if (version !== null && isListed(version, at)) listed.push(version);
  }
  return listed;
};

const readFacts = (live: LiveMemory, at: Micros): VenueFacts[] =>
  [...live.venues()].map(({ venue, listings, capabilities }) => ({
    venue,
    capability: findVersionAt(capabilities, at),
    listed: listListedAt(listings.values(), at),
  }));

/** Whether no listing of the venue has it; false for a venue without listings. */
const isAbsentEverywhere = ({ listed }: VenueFacts, lacks: (version: ListingVersion) => boolean): boolean =>
  listed.length > 0 && listed.every(lacks);

const lacksField = (facts: VenueFacts, { layer, needs }: Field): boolean => {
  if (layer !== 'reference' && findPolicy(facts.capability, layer) === 'not_published') return true;
  return isAbsentEverywhere(facts, ({ record }) => needs.some((name) => record.values.not_published.includes(name)));
};

/** No venue publishes a volume of its mark or index (DQL-25). */
const lacksSource = (facts: VenueFacts, { priceType, member, name }: CandleSource): boolean => {
  if (priceType !== 'trade' && member === 'volume') return true;
  if (findPolicy(facts.capability, 'candles') === 'not_published') return true;
  return isAbsentEverywhere(
    facts,
    ({ record }) =>
      !record.values.candles.price_types.includes(priceType) || record.values.not_published.includes(name),
  );
};

const listVenuesWhere = (venues: readonly VenueFacts[], lacks: (facts: VenueFacts) => boolean): string[] =>
  venues.filter(lacks).map(({ venue }) => venue);

const makeCatalogueBody = (live: LiveMemory, at: Micros): JsonValue => {
  const { codes } = findDirectory(live);
  const venues = readFacts(live, at);
  const current = new Set(venues.flatMap(({ listed }) => listed.map(({ record }) => record.values.instrument)));
  const instruments = listSpellings(codes.instrument);
  const earliest = findEarliestKnown(live);
  return {
    dql: VERSION,
    catalogue: computeCatalogueVersion(live, at),
    evaluated_at: formatInstant(at),
    ...makeLanguageEntries({
      ofField: (field) => listVenuesWhere(venues, (facts) => lacksField(facts, field)),
      ofSource: (source) => listVenuesWhere(venues, (facts) => lacksSource(facts, source)),
    }),
    venues: listSpellings(codes.venue),
    currencies: listSpellings(codes.quote),
    assets: listSpellings(codes.base),
    instruments: instruments.filter((code) => current.has(code)),
    instruments_delisted: instruments.filter((code) => !current.has(code)),
    timeframes: TIMEFRAMES,
    bands: BANDS,
    freshness_defaults: printBounds(makeBounds(undefined), READING_LAYERS),
    limits: { ...LIMITS, endpoints: ENDPOINT_LIMITS },
    settle_after: SETTLE_AFTER_S,
    earliest_retained: formatInstantOrNull(earliest),
    units: UNITS_MODES,
    number_formats: NUMBER_FORMATS,
  };
};

export const dqlCatalogue = defineOperation({
  name: 'dql_catalogue',
  method: 'GET',
  path: '/v2/dql/catalogue',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: 60,
  summary: 'Fields, sources, functions, codes and limits of the query language.',
  input: Type.Object({}, { additionalProperties: false }),
  output: Output,
  codes: ['DQL_LIMIT'],
  example: {
    question: 'Which fields, functions and codes may a query use?',
    input: {},
    output: answer,
  },
  run: (_input, { live, evaluatedAt }) => ({ body: makeCatalogueBody(live, evaluatedAt), numberFormat: 'json' }),
});
