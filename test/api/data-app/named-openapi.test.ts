// The OpenAPI document as served: named shapes equal the inlined ones, none is duplicated, and the stream's events have the documented shapes.
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { makeNamedOpenApi } from '../../../api/data-app/named-openapi.ts';
import { makeOpenApi } from '../../../api/data-app/openapi.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { isJsonObject } from '../../../schemas/json-object.ts';
import { parseFrames } from '../../support/services/stream-client.ts';

const OPTIONS = { operations: [...OPERATIONS, STREAM], baseUrl: 'http://api.test', simulated: false };
const PLAIN = JSON.parse(JSON.stringify(makeOpenApi(OPTIONS)));
const NAMED = JSON.parse(JSON.stringify(makeNamedOpenApi(OPTIONS)));
const SCHEMAS = NAMED.components.schemas as Readonly<Record<string, unknown>>;

const toName = (ref: string): string => ref.slice('#/components/schemas/'.length);

/** The document with every reference replaced by what it refers to, but for those of the plain one. */
const inlined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inlined);
  if (!isJsonObject(value)) return value;
  const { $ref, ...rest } = value;
  if (typeof $ref === 'string' && !(toName($ref) in PLAIN.components.schemas))
    return { ...(inlined(SCHEMAS[toName($ref)]) as object), ...rest };
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inlined(part)]));
};

const widened = (value: unknown): unknown => {
  if (!isJsonObject(value)) return value;
  const { anyOf } = value;
  const parts = Array.isArray(anyOf) ? { ...value, anyOf: anyOf.map(widened) } : value;
  return value['type'] === 'integer' ? { ...parts, format: 'int64' } : parts;
};

/** A plain shape as it is served: values of a map without a pattern, figures with their width. */
const served = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(served);
  if (!isJsonObject(value)) return value;
  const { patternProperties, propertyNames, ...rest } = value;
  const [values] = Object.values((patternProperties ?? {}) as object);
  const names = (propertyNames as { readonly enum?: readonly string[] } | undefined)?.enum;
  const parts = Object.fromEntries(
    Object.entries(rest).map(([name, part]) => {
      if (name === 'example') return [name, part];
      return [name, /^(venue_)?age_ms$|^bytes$/.test(name) ? widened(served(part)) : served(part)];
    }),
  );
  return {
    ...parts,
    ...(names === undefined ? {} : { properties: Object.fromEntries(names.map((name) => [name, served(values)])) }),
    ...(values === undefined ? {} : { additionalProperties: names === undefined ? served(values) : false }),
    ...(value['type'] === 'number' ? { format: 'double' } : {}),
  };
};

/** Every object of a document that has this member. */
const havingMember = (value: unknown, member: string): readonly Readonly<Record<string, unknown>>[] => {
  if (Array.isArray(value)) return value.flatMap((part) => havingMember(part, member));
  if (!isJsonObject(value)) return [];
  const parts = Object.entries(value).filter(([name]) => name !== 'example');
  const inner = parts.flatMap(([, part]) => havingMember(part, member));
  return Object.hasOwn(value, member) ? [value, ...inner] : inner;
};

t.test('makers of clients read the values of a map without a pattern, and a number as a double', (t) => {
  t.same(havingMember(NAMED, 'patternProperties'), [], 'they type the values of additionalProperties alone');
  const maps = havingMember(NAMED, 'additionalProperties').filter((one) => isJsonObject(one['additionalProperties']));
  t.ok(maps.length > 30, `${maps.length} maps`);
  const readings = havingMember(SCHEMAS['ListingReadings'], 'additionalProperties');
  t.match(readings, [{ additionalProperties: { $ref: '#/components/schemas/Reading' } }]);
  const numbers = havingMember(NAMED, 'type').filter(({ type }) => type === 'number');
  t.ok(numbers.length > 0);
  for (const number of numbers) t.equal(number['format'], 'double', 'for Go and Rust a number alone has 32 bits');
  t.end();
});

t.test('no alternative of a union is a map: clients that OpenAPI Generator makes for Java would not compile', (t) => {
  const unions = [...havingMember(NAMED, 'anyOf'), ...havingMember(NAMED, 'oneOf')];
  const alternatives = unions.flatMap(({ anyOf, oneOf }) => (anyOf ?? oneOf) as readonly { readonly $ref?: string }[]);
  const shapes = alternatives.map((one) => (one.$ref === undefined ? one : SCHEMAS[toName(one.$ref)]));
  const objects = (shapes as readonly { readonly type?: string }[]).filter(({ type }) => type === 'object');
  t.ok(objects.length > 10, `${objects.length} objects among ${alternatives.length} alternatives`);
  for (const object of objects) t.match(object, { properties: Object }, 'it states its members');
  t.end();
});

t.test('an integer that passes 2^31 has 64 bits: clients for Rust and Java take 32 without a format', (t) => {
  for (const member of ['age_ms', 'venue_age_ms', 'bytes']) {
    const places = havingMember(NAMED, member).map((members) => members[member]);
    const integers = [places, havingMember(places, 'anyOf').map((one) => one['anyOf'])]
      .flat(2)
      .filter((one) => isJsonObject(one) && one['type'] === 'integer');
    t.ok(integers.length > 0, `${member} is in ${places.length} shapes`);
    for (const integer of integers) t.match(integer, { type: 'integer', format: 'int64' });
  }
  t.end();
});

t.test('a name refers to what was in its place, words included', (t) => {
  t.same(inlined(NAMED.paths), served(PLAIN.paths));
  const { paths: _, components: __, ...named } = NAMED;
  const { paths: ___, components: ____, ...plain } = PLAIN;
  t.same(named, plain, 'and all the rest is the same');
  t.end();
});

/** Shapes with members, without descriptions, each with its place in the document. */
const shapesIn = (value: unknown, place: string): (readonly [string, string])[] => {
  if (Array.isArray(value)) return value.flatMap((part, at) => shapesIn(part, `${place}/${at}`));
  if (!isJsonObject(value)) return [];
  const own =
    isJsonObject(value['properties']) && value['type'] === 'object'
      ? [[JSON.stringify(wordless(value)), place] as const]
      : [];
  const parts = Object.entries(value).filter(([name]) => name !== 'example' && name !== 'examples');
  return [...own, ...parts.flatMap(([name, part]) => shapesIn(part, `${place}/${name}`))];
};

const wordless = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(wordless);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).filter(([name, part]) => name !== 'description' || typeof part !== 'string');
  return Object.fromEntries(members.map(([name, part]) => [name, wordless(part)]));
};

const toClass = (...names: readonly string[]): string =>
  names.join('_').replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());

type PathItem = { readonly responses: Readonly<Record<string, { readonly headers?: object }>> };
type Enumerated = { readonly enum?: readonly unknown[] };
type Parameters = readonly { readonly name: string; readonly schema: Enumerated }[];

/** Names that generators of clients give to sets of values without one: of what holds them and of the member. */
const listDerivedNames = (): (readonly [string, string])[] => {
  const held = Object.entries(SCHEMAS).flatMap(([name, schema]) =>
    Object.entries((schema as { properties?: Record<string, Enumerated> }).properties ?? {}).map(
      ([member, part]) => [toClass(name, member), part] as const,
    ),
  );
  const items = Object.values(NAMED.paths).flatMap((methods) => Object.values(methods as object));
  const asked = items.flatMap(({ operationId, parameters = [] }: { operationId: string; parameters?: Parameters }) =>
    parameters.map(({ name, schema }) => [toClass(operationId, name), schema] as const),
  );
  return [...held, ...asked].flatMap(([name, part]) =>
    part.enum === undefined ? [] : [[name, JSON.stringify(part.enum)] as const],
  );
};

t.test('names that generators derive for sets of values are taken once', (t) => {
  const derived = listDerivedNames();
  t.ok(derived.length > 5);
  for (const [name, values] of derived) {
    t.notOk(name in SCHEMAS, `${name} is a shape: name the set in api/data-app/openapi-shapes.ts`);
    const others = derived.filter((one) => one[0] === name && one[1] !== values);
    t.same(others, [], `${name} would be two sets: name one in api/data-app/openapi-shapes.ts`);
  }
  t.end();
});

t.test('no shape with members occurs twice', (t) => {
  const first = new Map<string, string>();
  for (const [shape, place] of shapesIn(NAMED, '')) {
    const other = first.get(shape);
    if (other !== undefined) t.fail(`${place} repeats ${other}: name it in api/data-app/openapi-shapes.ts`);
    first.set(shape, place);
  }
  t.ok(first.size > 50, `${first.size} shapes`);
  t.end();
});

/** Places that may be a named scalar or null. */
const scalarsOrNullIn = (value: unknown, place: string): string[] => {
  if (Array.isArray(value)) return value.flatMap((part, at) => scalarsOrNullIn(part, `${place}/${at}`));
  if (!isJsonObject(value)) return [];
  const parts = (value['anyOf'] ?? []) as readonly { readonly $ref?: string; readonly type?: string }[];
  const [ref] = parts.flatMap(({ $ref }) => ($ref === undefined ? [] : [SCHEMAS[toName($ref)]]));
  const isFound = parts.length === 2 && parts.some(({ type }) => type === 'null') && isScalar(ref);
  const others = Object.entries(value).flatMap(([name, part]) => scalarsOrNullIn(part, `${place}/${name}`));
  return isFound ? [place, ...others] : others;
};
const isScalar = (schema: unknown): boolean =>
  isJsonObject(schema) && schema['enum'] === undefined && schema['type'] !== undefined && schema['type'] !== 'object';

t.test('a scalar that may be null is written out: generators of clients lose the null behind a reference', (t) => {
  t.same(scalarsOrNullIn(NAMED, ''), []);
  for (const [name, schema] of Object.entries(SCHEMAS as Readonly<Record<string, { anyOf?: { type?: string }[] }>>)) {
    const { anyOf = [] } = schema;
    t.notOk(anyOf.length === 2 && anyOf.some(({ type }) => type === 'null'), `${name} is one shape or null`);
  }
  t.end();
});

t.test('no member is a constant flag: generators of clients read it as the text "false"', (t) => {
  const members = Object.entries(SCHEMAS).flatMap(([name, schema]) =>
    Object.entries((schema as { properties?: Record<string, { const?: unknown }> }).properties ?? {}).map(
      ([member, part]) => [`${name}.${member}`, part.const] as const,
    ),
  );
  t.same(
    members.filter(([, value]) => typeof value === 'boolean'),
    [],
  );
  t.end();
});

/** Enumerations without a type, by their place. */
const typelessIn = (value: unknown, place: string): string[] => {
  if (Array.isArray(value)) return value.flatMap((part, at) => typelessIn(part, `${place}/${at}`));
  if (!isJsonObject(value)) return [];
  const own = Array.isArray(value['enum']) && value['type'] !== 'string' ? [place] : [];
  return [...own, ...Object.entries(value).flatMap(([name, part]) => typelessIn(part, `${place}/${name}`))];
};

t.test('every enumeration says that its values are texts', (t) => {
  t.same(typelessIn(NAMED, ''), []);
  t.end();
});

/** Paths with an operation that declares this header at this status. */
const pathsWith = (status: string, header: string): string[] =>
  Object.entries<Readonly<Record<string, PathItem>>>(NAMED.paths)
    .filter(([, item]) =>
      Object.values(item).some(({ responses }) => Object.hasOwn(responses[status]?.headers ?? {}, header)),
    )
    .map(([path]) => path);

t.test('headers that a client acts on are declared where answers have them', (t) => {
  const paths = Object.keys(NAMED.paths);
  t.same(pathsWith('401', 'WWW-Authenticate'), paths);
  t.same(pathsWith('429', 'Retry-After'), paths);
  t.same(pathsWith('429', 'X-Service-Limit'), paths);
  t.same(pathsWith('503', 'Retry-After'), paths);
  for (const name of ['RateLimit', 'RateLimit-Policy']) {
    t.same([...pathsWith('200', name), ...pathsWith('302', name)].sort(), paths.toSorted());
    t.same(pathsWith('429', name), paths);
  }
  t.same(pathsWith('302', 'Location'), ['/v2/archive/{listing}/{layer}/{day}']);
  const [open, rows] = [
    ['/v2/venues', '/v2/instruments', '/v2/dql/catalogue'],
    ['/v2/snapshots/history', '/v2/candles', '/v2/liquidations'],
  ];
  t.same(pathsWith('200', 'ETag').sort(), [...open, ...rows].sort());
  t.same(pathsWith('304', 'ETag').sort(), [...open, ...rows].sort());
  for (const status of ['400', '401', '429', '503']) t.same(pathsWith(status, 'X-Service-Receipt'), paths);
  for (const member of ['Evaluated-At', 'Settled', 'Items-Sha256', 'Scope', 'From', 'To', 'Listings-As-Of'])
    t.same(pathsWith('200', `X-Service-${member}`), rows);
  for (const member of ['Page', 'Gaps']) t.same(pathsWith('200', `X-Service-${member}`), ['/v2/liquidations']);
  t.same(pathsWith('200', 'X-Service-Items'), [], 'the rows are the table');
  t.end();
});

t.test('every event that the stream is described with has a shape', (t) => {
  const { description = '' } = STREAM.output as { readonly description?: string };
  const described = [...description.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
  const eventShapes = NAMED.components.schemas.StreamEvent.anyOf as { properties: { event: { const: string } } }[];
  t.same(eventShapes.map(({ properties }) => properties.event.const).sort(), described.sort());
  t.end();
});

t.test('the example of the stream has events of the declared shapes', (t) => {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
  ajv.addSchema(NAMED, 'document');
  const validate = ajv.compile({ $ref: 'document#/components/schemas/StreamEvent' });
  const events = parseFrames(STREAM.example.output);
  t.same(
    events.map(({ event }) => event),
    ['hello', 'snapshot', 'ready', 'update'],
  );
  for (const { event, data } of events) t.ok(validate({ event, data }), `${event} ${ajv.errorsText(validate.errors)}`);
  t.notOk(validate({ event: 'update', data: events[0]?.data }), 'data of another event is refused');
  t.end();
});
