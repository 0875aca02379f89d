// Bodies of screens and parses for a running service: valid queries in both forms with all optional members, and hostile ones.
import fc from 'fast-check';
import { compile } from '../../../api/language/compile.ts';
import { FIELDS } from '../../../api/language/fields.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { hostileTexts, type Json, type Names, spoiledObjects, validQueries } from './generate.ts';

/** As text, where the query is within the limits of the language; else unchanged. */
const asText = (object: Json, { codes }: Names): Json => {
  try {
    return { query: compile({ object, path: '' }, codes).string };
  } catch (error) {
    if (error instanceof ServiceError) return { query_object: object };
    throw error;
  }
};

const asked = (object: Json, form: string, names: Names): Json => {
  if (form === 'text') return asText(object, names);
  const { where, ...rest } = object;
  return form === 'beside' && where !== undefined ? { query_object: rest, where } : { query_object: object };
};

/** Sums of quantities are valid in one unit only (DQL-24). */
const sumsQuantities = (object: Json): boolean =>
  [...JSON.stringify(object).matchAll(/"fn":"sum","expr":\{"type":"field","name":"(\w+)"/g)].some(
    ([, name = '']) => FIELDS.get(name)?.unit === 'quantity',
  );

const freshness = fc.constantFrom<unknown>(
  '1s',
  '30s',
  '600s',
  '604800s',
  { mark: '1s', book: '5s' },
  { stats: '600s' },
);

/** A valid screen, apart from the limits. */
export const screenBodies = (names: Names): fc.Arbitrary<Json> =>
  fc
    .record({
      object: validQueries(names),
      form: fc.constantFrom('text', 'text', 'object', 'beside'),
      beside: fc.record(
        {
          units: fc.constantFrom('published', 'base', 'quote'),
          number_format: fc.constantFrom('json', 'string'),
          include_unknown: fc.boolean(),
          limit: fc.constantFrom(1, 7, 500),
          freshness,
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ object, form, beside }) => {
      const { units = 'published', ...rest } = beside;
      const fitting = units === 'published' && sumsQuantities(object) ? 'base' : units;
      return { ...asked(object, form, names), units: fitting, ...rest };
    });

/** Valid queries, queries that look valid, and others. */
export const parseBodies = (names: Names): fc.Arbitrary<unknown> =>
  fc.oneof(
    validQueries(names).map((object) => asText(object, names)),
    validQueries(names).map((object) => ({ query_object: object })),
    hostileTexts.map((query) => ({ query })),
    spoiledObjects.map((query) => ({ query })),
    {
      weight: 1,
      arbitrary: fc.tuple(hostileTexts, spoiledObjects).map(([query, query_object]) => ({ query, query_object })),
    },
    fc.jsonValue(),
  );
