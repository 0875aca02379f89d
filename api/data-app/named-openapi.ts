// The OpenAPI document as it is served: each shape is defined once under `components.schemas`, and every place refers to it by name (OP-01).
import type { Shape } from '../contract/json-schema.ts';
import { STREAM_EVENTS } from '../stream/events.ts';
import { describeSchema, makeOpenApi, type OpenApi, type OpenApiOptions } from './openapi.ts';
import { SHAPE_PLACES } from './openapi-shapes.ts';
import { withParts } from './schema-parts.ts';

type Content = Readonly<Record<string, { readonly schema?: Shape }>>;
type Parameter = { readonly name: string; readonly schema: Shape };
type PathItem = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};

const REF = '#/components/schemas/';

/** Shapes that differ only in descriptions are one. */
const dropDescriptions = ({ description: _, ...shape }: Shape): Shape => withParts(shape, dropDescriptions);
const identifyShape = (shape: Shape): string => JSON.stringify(dropDescriptions(shape));

type Maps = { readonly patternProperties?: Shape['patternProperties'] | undefined };
const findValues = ({ patternProperties = {} }: Maps): Shape | undefined => Object.values(patternProperties)[0];

/** Lists and maps are not named in a path, but for maps that list their names. */
const unwrapShape = (shape: Shape): Shape => {
  const { items, properties, propertyNames } = shape;
  if (items !== undefined) return unwrapShape(items);
  const values = properties === undefined && propertyNames === undefined ? findValues(shape) : undefined;
  return values === undefined ? shape : unwrapShape(values);
};

const findPart = (shape: Shape, name: string): Shape | undefined =>
  /^\d$/.test(name) ? shape.anyOf?.[Number(name)] : unwrapShape(shape).properties?.[name];

/** Whole questions and answers, by the name of their operation. */
type Roots = ReadonlyMap<string, Shape>;

const findShape = (roots: Roots, place: string): Shape => {
  const [operation = '', ...names] = place.split('.');
  const found = names.reduce<Shape | undefined>((shape, name) => shape && findPart(shape, name), roots.get(operation));
  if (found === undefined) throw new Error(`There is no shape at ${place}.`);
  return unwrapShape(found);
};

const SCALARS: readonly unknown[] = ['string', 'integer', 'number', 'boolean'];

/** One scalar or null, such as an instant: behind a reference generators of clients lose that it may be null. */
const isScalarOrNull = ({ anyOf = [] }: Shape): boolean => {
  const [first, ...others] = anyOf.filter(({ type }) => type !== 'null');
  return anyOf.length === 2 && others.length === 0 && SCALARS.includes(first?.type) && first?.enum === undefined;
};

/** Replaces each named shape by a reference, and collects its definition. */
class Names {
  readonly schemas: Record<string, Shape> = {};
  readonly #names = new Map<string, string>();

  add(name: string, shape: Shape): void {
    const key = identifyShape(shape);
    const known = this.#names.get(key);
    this.schemas[name] = known === undefined ? shape : { $ref: REF + known };
    if (known === undefined) this.#names.set(key, name);
  }

  /** To be called once, when every name is known. */
  resolve(): void {
    for (const [name, { description: _, ...shape }] of Object.entries(this.schemas)) {
      this.schemas[name] = withParts(shape, (part) => this.refer(part));
    }
  }

  /** A place's own description stays there. */
  refer(shape: Shape): Shape {
    if (isScalarOrNull(shape)) return shape;
    const name = this.#names.get(identifyShape(shape));
    if (name === undefined) return withParts(shape, (part) => this.refer(part));
    const { description } = shape;
    return { $ref: REF + name, ...(description === undefined ? {} : { description }) };
  }
}

/** Members whose integers pass 2^31: an age does so after 25 days. */
const LARGE: ReadonlySet<string> = new Set(['age_ms', 'venue_age_ms', 'bytes']);

const printLargeIntegers = ({ anyOf, ...shape }: Shape): Shape => ({
  ...shape,
  ...(anyOf === undefined ? {} : { anyOf: anyOf.map(printLargeIntegers) }),
  ...(shape.type === 'integer' ? { format: 'int64' } : {}),
});

/** A map that lists its names is an object with these members. */
const printValues = (values: Shape, names: readonly string[] | undefined): Shape =>
  names === undefined
    ? { additionalProperties: values }
    : { properties: Object.fromEntries(names.map((name) => [name, values])), additionalProperties: false };

/**
 * A shape as generators of clients read it. They type the values of a map by `additionalProperties` and ignore a pattern that every name
 * matches; those for Go and Rust read a number without a format as 32 bits, and those for Rust, Java and C# an integer. The clients of OpenAPI
 * Generator for Java do not compile if a map without members is one of several forms.
 */
const printShape = (shape: Shape, name?: string): Shape => {
  const { patternProperties, propertyNames, ...printed } = withParts(shape, printShape);
  const values = findValues({ patternProperties });
  return {
    ...(name !== undefined && LARGE.has(name) ? printLargeIntegers(printed) : printed),
    ...(values === undefined ? {} : printValues(values, propertyNames?.enum)),
    ...(printed.type === 'number' ? { format: 'double' } : {}),
  };
};

/** `candle_rows` as `CandleRows`. */
export const toPascal = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());

const JSON_TYPE = 'application/json';
const findSchema = (content: Content): Shape | undefined => content[JSON_TYPE]?.schema;

const findAnswer = ({ responses }: PathItem): Content => (responses[200] ?? responses[302])?.content ?? {};

/** For a GET its parameters as members. */
const findQuestion = ({ parameters = [], requestBody }: PathItem): Shape | undefined =>
  requestBody === undefined
    ? { properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])) }
    : findSchema(requestBody.content);

const EVENTS: readonly (readonly [string, Shape])[] = Object.entries(STREAM_EVENTS).map(([event, schema]) => [
  event,
  describeSchema(schema as Shape, ['stream', event]),
]);
/** The event named `event` carries rows. */
const toEventName = (event: string): string => `${toPascal(event === 'event' ? 'rows' : event)}Event`;

const listRoots = (items: readonly PathItem[]): Roots => {
  const called = items.flatMap((item): [string, Shape | undefined][] => [
    [item.operationId, findSchema(findAnswer(item))],
    [`<${item.operationId}`, findQuestion(item)],
  ]);
  const streamed = EVENTS.map(([event, shape]): [string, Shape] => [`stream:${event}`, shape]);
  return new Map([...called, ...streamed].flatMap(([name, shape]) => (shape === undefined ? [] : [[name, shape]])));
};

const EVENT_DATA = [...EVENTS.map(([event]) => [event, toEventName(event)] as const), ['error', 'ErrorBody'] as const];

const STREAM_EVENT = {
  description: 'An event of the stream: its name, and what its `data` line holds.',
  anyOf: EVENT_DATA.map(([event, name]) => ({
    type: 'object',
    required: ['event', 'data'],
    properties: { event: { const: event }, data: { $ref: REF + name } },
  })),
};

const makeNames = (items: readonly PathItem[]): Names => {
  const names = new Names();
  const roots = listRoots(items);
  for (const item of items) {
    const name = toPascal(item.operationId);
    const answer = findSchema(findAnswer(item));
    if (answer !== undefined) names.add(`${name}Answer`, answer);
    const asked = item.requestBody === undefined ? undefined : findSchema(item.requestBody.content);
    if (asked !== undefined) names.add(`${name}Request`, asked);
  }
  for (const [name, place] of Object.entries(SHAPE_PLACES)) names.add(name, findShape(roots, place));
  for (const [event, shape] of EVENTS) names.add(toEventName(event), shape);
  return names;
};

const nameContent = (content: Content, names: Names): Content => {
  const schema = findSchema(content);
  return schema === undefined
    ? content
    : { ...content, [JSON_TYPE]: { ...content[JSON_TYPE], schema: printShape(names.refer(schema)) } };
};

const nameItem = (item: PathItem, names: Names): PathItem => {
  const { parameters, requestBody, responses } = item;
  return {
    ...item,
    ...(parameters === undefined
      ? {}
      : { parameters: parameters.map((one) => ({ ...one, schema: printShape(names.refer(one.schema)) })) }),
    ...(requestBody === undefined
      ? {}
      : { requestBody: { ...requestBody, content: nameContent(requestBody.content, names) } }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, answer]) => [
        status,
        answer.content === undefined ? answer : { ...answer, content: nameContent(answer.content, names) },
      ]),
    ),
  };
};

export const makeNamedOpenApi = (options: OpenApiOptions): OpenApi => {
  const document = makeOpenApi(options);
  const paths = Object.entries(document.paths) as [string, Record<string, PathItem>][];
  const names = makeNames(paths.flatMap(([, methods]) => Object.values(methods)));
  names.resolve();
  const named = paths.map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, item]) => [method, nameItem(item, names)])),
  ]);
  const { components } = document;
  const printed = Object.entries(names.schemas).map(([name, shape]) => [name, printShape(shape)]);
  const schemas = { ...components.schemas, ...Object.fromEntries(printed), StreamEvent: STREAM_EVENT };
  return { ...document, paths: Object.fromEntries(named), components: { ...components, schemas } } as OpenApi;
};
