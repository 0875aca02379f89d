// The language as the catalogue writes it: fields, sources, functions from their tables (V-06).
import type { JsonValue } from '../../schemas/json.ts';
import { type CandleSource, FIELDS, type Field, SOURCES } from './fields.ts';
import { FUNCTIONS, type FunctionSpec } from './functions.ts';

/** Venue codes on which a field or source does not exist. */
type Absence = {
  readonly ofField: (field: Field) => readonly string[];
  readonly ofSource: (source: CandleSource) => readonly string[];
};

const makeFieldEntry = (field: Field, absence: Absence): JsonValue => ({
  name: field.name,
  type: field.type,
  scope: field.scope,
  layer: field.layer,
  unit: field.unit,
  description: field.description,
  sampleable: field.sampleable,
  additive: field.additive,
  not_published_on: absence.ofField(field),
});

const makeSourceEntry = (source: CandleSource, absence: Absence): JsonValue => ({
  name: source.name,
  type: 'series',
  scope: 'venue',
  layer: 'candles',
  price_type: source.priceType,
  unit: source.unit,
  description: source.description,
  additive: source.additive,
  not_published_on: absence.ofSource(source),
});

const makeFunctionEntry = (spec: FunctionSpec): JsonValue => ({
  name: spec.name,
  signature: spec.signature,
  type: spec.returns === 'argument' ? 'number' : spec.returns,
  scope: spec.scope,
  layer: spec.layer,
  unit: spec.unit,
  description: spec.description,
  bars: spec.barsText,
  additive: spec.additive === 'always',
});

/** `fields`, `sources` and `functions` of the catalogue. */
export const makeLanguageEntries = (
  absence: Absence,
): Readonly<Record<'fields' | 'sources' | 'functions', JsonValue>> => ({
  fields: [...FIELDS.values()].map((field) => makeFieldEntry(field, absence)),
  sources: [...SOURCES.values()].map((source) => makeSourceEntry(source, absence)),
  functions: [...FUNCTIONS.values()].map(makeFunctionEntry),
});
