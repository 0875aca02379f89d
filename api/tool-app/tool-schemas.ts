// The schemas of a tool, from those of the OpenAPI document: inputs with an example and a limit for each member, answers with what a client needs to check (T-02).
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { ARCHIVE_LAYERS } from '../contract/archive.ts';
import type { Shape } from '../contract/json-schema.ts';
import { LIMITS, TIMEFRAMES } from '../language/limits.ts';
import { SELECTION_KEYS } from '../language/selection.ts';
import { Where } from '../language/where-object.ts';
import { instruments } from '../operations/instruments.ts';

/** Rows of a page unless the caller requests another number (T-04). */
export const PAGE_ROWS = 20;

const MOST_CHARACTERS = 512;
const MOST_OF_A_LIST = 100;
const MOST_MEMBERS = 32;

/** What members of this name take in a tool, over what the endpoint declares: closed sets, limits and examples that a schema alone does not have. */
const MEMBERS: Readonly<Record<string, Shape>> = {
  where: {
    ...Where,
    description: 'Selection of listings, as text or as an object. Default: all listings of the plan.',
    examples: ['base = BTC and quote = USDT', { base: ['BTC', 'ETH'] }],
  },
  query: { description: 'The question in DQL: text, or its machine form as an object.' },
  freshness: { description: 'A reading older than this is stale: one bound from 1s to 604800s, or one by layer.' },
  layers: {
    type: 'array',
    items: { type: 'string', enum: READING_LAYERS },
    maxItems: READING_LAYERS.length,
    examples: [['mark', 'funding']],
  },
  layer: { type: 'string', enum: ARCHIVE_LAYERS },
  timeframe: { type: 'string', enum: TIMEFRAMES },
  // A page of more would be larger than an answer may be.
  limit: {
    default: PAGE_ROWS,
    maximum: LIMITS.screen_limit,
    description: 'Rows of a page; page.next_cursor of the answer leads to the next one.',
    examples: [PAGE_ROWS],
  },
  cursor: { examples: ['page.next_cursor of the answer before'] },
  dql: { type: 'string', enum: ['1'] },
  query_object: {
    maxProperties: 7,
    examples: [
      {
        dql: '1',
        condition: {
          type: 'any',
          where: {
            type: 'cmp',
            op: '>',
            left: { type: 'field', name: 'funding' },
            right: { type: 'number', value: 0.0001 },
          },
        },
      },
    ],
  },
};

const LONGEST_TEXT: Readonly<Record<string, number>> = { where: LIMITS.source_bytes, query: LIMITS.source_bytes };

/** A listing of the example of instruments, for the members of a selection. */
const [LISTING] = (instruments.example.output as { readonly items: readonly Readonly<Record<string, unknown>>[] })
  .items;
const SELECTED: Readonly<Record<string, unknown>> = Object.fromEntries(
  SELECTION_KEYS.map((key) => [key, LISTING?.[key === 'symbol' ? 'venue_symbol' : key]]),
);

const describeLimits = (
  name: string,
  { type, enum: values, maxLength, maximum, maxItems, maxProperties }: Shape,
): Shape => {
  if (values !== undefined) return { type: type ?? 'string' };
  if (type === 'string') return { maxLength: maxLength ?? LONGEST_TEXT[name] ?? MOST_CHARACTERS };
  if (type === 'integer') return { maximum: maximum ?? Number.MAX_SAFE_INTEGER };
  if (type === 'array') return { maxItems: maxItems ?? MOST_OF_A_LIST };
  return type === 'object' ? { maxProperties: maxProperties ?? MOST_MEMBERS } : {};
};

/** The schema with a limit at every place that can be larger than expected; for forms of texts `tools/list` has no room, descriptions and examples tell them. */
const limitSchema = (name: string, schema: Shape): Shape => {
  const { anyOf, items, properties, patternProperties: _open, pattern: _form, propertyNames: _names, ...rest } = schema;
  return {
    ...rest,
    ...describeLimits(name, schema),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((part) => limitSchema(name, part)) }),
    ...(items === undefined ? {} : { items: limitSchema(name, items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([inner, part]) => [inner, describeMember(inner, part, SELECTED[inner])]),
          ),
        }),
  };
};

const listExamples = ({ examples, enum: values, type, items }: Shape, given: unknown): readonly unknown[] => {
  if (examples !== undefined) return examples;
  if (given !== undefined) return [given];
  if (values !== undefined) return values.slice(0, 1);
  if (items?.examples !== undefined) return [items.examples];
  return type === 'boolean' ? [true] : [];
};

/** A member of a tool's input; `given` is its value in the operation's example. */
const describeMember = (name: string, declared: Shape, given: unknown): Shape => {
  const over = MEMBERS[name] ?? {};
  const { type, ...rest } = declared;
  // A selection is text or an object in every tool, also where the endpoint takes text only.
  const typed = type === undefined || over.anyOf !== undefined ? {} : { type };
  const schema = { ...typed, ...rest, ...over, description: over.description ?? declared.description ?? name };
  const examples = listExamples(schema, given);
  return limitSchema(name, examples.length === 0 ? schema : { ...schema, examples });
};

type Input = {
  readonly properties: Readonly<Record<string, Shape>>;
  readonly required: readonly string[];
  readonly example: Readonly<Record<string, unknown>>;
};

/** `inputSchema` of a tool. */
export const makeToolInput = ({ properties, required, example }: Input): Shape => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, declared]) => [name, describeMember(name, declared, example[name])]),
  ),
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

/** Members are described to this depth; below, a type is enough. */
const DEEP_WORDS = 2;

/** Whether there is anything to check: members that may be anything are left out. */
const isDescribed = ({ type, enum: values, anyOf }: Shape): boolean =>
  type !== undefined || values !== undefined || anyOf !== undefined;

/** Types of an answer without what only documents need; nothing is closed. */
const makeAnswerPart = (schema: Shape, depth: number): Shape => {
  const { type, description, enum: values, anyOf, items, properties, required } = schema;
  const words = depth <= DEEP_WORDS && description !== undefined ? { description } : {};
  return {
    ...(type === undefined ? {} : { type }),
    ...words,
    ...(values === undefined ? {} : { enum: values }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((part) => makeAnswerPart(part, depth)) }),
    ...(items === undefined ? {} : { items: makeAnswerPart(items, depth) }),
    ...(properties === undefined || depth > DEEP_WORDS
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties)
              .filter(([, part]) => isDescribed(part))
              .map(([name, part]) => [name, makeAnswerPart(part, depth + 1)]),
          ),
        }),
    ...(required === undefined || depth > DEEP_WORDS ? {} : { required }),
  };
};

/** `outputSchema` of a tool: clients check every answer against it. */
export const makeToolOutput = (schema: Shape): Shape => makeAnswerPart(schema, 0);
