// Judges answers by the schema their endpoint declares, closed: an undocumented member is a fault, and so is a missing one.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import type { Shape } from '../../../api/contract/json-schema.ts';
import { isJsonObject } from '../../../schemas/json-object.ts';

const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z$/ },
});

type Whole = { readonly properties: object; readonly required?: readonly string[] };
/** An intersection of objects as one object: each alone would refuse the members of the other. */
const merged = (parts: readonly Whole[]): object => ({
  type: 'object',
  required: parts.flatMap(({ required = [] }) => required),
  properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as object,
});

const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('allOf' in schema) return closed(merged(schema.allOf as readonly Whole[]));
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return 'properties' in schema ? { ...parts, additionalProperties: false } : parts;
};

const compiled = new WeakMap<object, ValidateFunction>();
const findValidator = (output: object): ValidateFunction => {
  const held = compiled.get(output) ?? ajv.compile(closed(output) as Readonly<Record<string, unknown>>);
  compiled.set(output, held);
  return held;
};

const RULES = ['tick_size', 'lot_size', 'min_qty', 'min_notional', 'contract_size'];
/** Maps that have a documented order and are not keyed by data (H-16a, AC-01, V-03, V-06), by the end of their path. */
const DOCUMENTED: Readonly<Record<string, readonly string[]>> = {
  'account limits': [
    ...['requests_per_second', 'burst', 'requests_per_day', 'concurrent_requests', 'dql_per_day', 'screen_limit'],
    ...['snapshots_listings', 'history_listings', 'candles_listings', 'books_listings', 'book_depth', 'streams'],
    ...['stream_listings', 'agent_rules', 'agent_interval_min', 'agent_evaluations_per_day', 'archive_files_per_day'],
    'keys',
  ],
  'account by_class': [
    ...['snapshots', 'history', 'candles', 'screen', 'books', 'liquidations', 'reference', 'agent_state', 'stream'],
    'archive',
  ],
  // Of a book also its levels (ST-09).
  'stream state': [
    ...['status', 'reason', 'gap_cause', 'venue_ts', 'received_at', 'age_ms', 'venue_age_ms', 'valid_until'],
    ...['horizon_source', 'anchor', 'values', 'bids', 'asks', 'null_reasons', 'units', 'instants', 'conversion'],
    'withheld',
  ],
  'instruments units': RULES,
  'stream record/units': RULES,
  'dql_catalogue limits': [
    ...['source_bytes', 'nodes', 'depth', 'quantifiers_and_aggregates', 'series_calls', 'timeframes', 'window'],
    ...['bars_per_atom', 'cost', 'in_list', 'select', 'order_by', 'freshness_min', 'freshness_max', 'screen_limit'],
    'endpoints',
  ],
  'dql_catalogue endpoints': [
    ...['snapshots_listings', 'history_listings', 'history_rows_per_layer', 'history_raw_rows', 'candles_listings'],
    ...['candles_per_listing', 'books_listings', 'book_depth', 'stream_listings', 'response_bytes'],
  ],
};
/** Canonical forms, value objects and anchored rows (AN-07) have an order of their own and tests of it; raw elements have the venue's. */
const UNJUDGED: ReadonlySet<string> = new Set([
  ...['json of dql_parse', 'json of screen', 'values of screen', 'row of anchor_proof'],
  ...['raw of instruments', 'raw of snapshots'],
]);

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const listParts = (schema: Shape): readonly Shape[] => [
  schema,
  ...[...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap(listParts),
];

/** Members of an answer that are not in the declared order, and maps that do not ascend (N-01, H-16a). */
const findDisorder = (name: string, schema: Shape, value: unknown, path = ''): string[] => {
  const parts = listParts(schema);
  if (Array.isArray(value)) {
    const items = parts.find((part) => part.items !== undefined)?.items ?? {};
    return value.flatMap((item: unknown, i) => findDisorder(name, items, item, `${path}/${i}`));
  }
  const last = path.split('/').at(-1) ?? '';
  if (!isJsonObject(value) || UNJUDGED.has(`${last} of ${name}`)) return [];
  const declared = Object.assign({}, ...parts.map(({ properties = {} }) => properties)) as Record<string, Shape>;
  const each = parts.flatMap(({ patternProperties = {} }) => Object.values(patternProperties))[0] ?? {};
  const keys = Object.keys(value);
  const ends = [path.split('/').slice(-2).join('/'), last];
  const documented = ends.map((end) => DOCUMENTED[`${name} ${end}`]).find(Boolean) ?? Object.keys(declared);
  const wanted = documented.length > 0 ? documented.filter((key) => keys.includes(key)) : keys.toSorted(byBytes);
  return [
    ...(keys.join() === wanted.join() ? [] : [`${path} has ${keys.join()} and not ${wanted.join()}`]),
    ...keys.flatMap((key) => findDisorder(name, declared[key] ?? each, value[key], `${path}/${key}`)),
  ];
};

/** Everything in which a value differs from its declaration: members, types, order. */
export const listShapeFaults = (name: string, schema: object, answer: unknown): string[] => {
  const validate = findValidator(schema);
  const disorder = findDisorder(name, schema as Shape, answer);
  if (validate(answer)) return disorder;
  return [
    ...(validate.errors ?? []).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`),
    ...disorder,
  ];
};

export const findSchemaFaults = ({ name, output }: Endpoint, answer: unknown): string[] =>
  listShapeFaults(name, output, answer);
