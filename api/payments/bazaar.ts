// The bazaar block of a challenge: one short example of the call, and a JSON Schema 2020-12 of the top-level members that it satisfies (P-01).
import { type Endpoint, listPathParameters } from '../contract/endpoint.ts';

type Json = Readonly<Record<string, unknown>>;
type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** The types of a member, without its description and values: the challenge also travels as a header. */
const describeMember = ({ type, enum: values = [], anyOf = [] }: Schema): Json => {
  const types = [
    ...new Set([type ?? [], values.map((value) => typeof value), anyOf.map((of) => of.type ?? [])].flat(2)),
  ];
  return types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types };
};

const makeClosed = (properties: Json, required: readonly string[]): Json => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

/** The members of an input that a place of the request takes. */
const describeMembers = ({ input }: Endpoint, isHere: (name: string) => boolean): Json => {
  const { properties = {}, required = [] } = input as Schema;
  const here = Object.entries(properties).filter(([name]) => isHere(name));
  return makeClosed(Object.fromEntries(here.map(([name, of]) => [name, describeMember(of)])), required.filter(isHere));
};

/** An answer's instant and its lists, empty: a header has no room for more. */
const makeOutline = ({ example: { output } }: Endpoint): Json =>
  Object.fromEntries(
    Object.entries(output).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
      if (Array.isArray(member)) return [[name, []]];
      return name === 'evaluated_at' ? [[name, member]] : [];
    }),
  );

type Place = 'pathParams' | 'queryParams' | 'body';

/** The place of an input's members in the request, with their names. */
const listPlaces = ({ method, path, input }: Endpoint): readonly (readonly [Place, (name: string) => boolean])[] => {
  if (method === 'POST') return [['body', () => true]];
  const { properties = {} } = input as Schema;
  const inPath = new Set(listPathParameters(path));
  const places: readonly (readonly [Place, (name: string) => boolean])[] = [
    ['pathParams', (name) => inPath.has(name)],
    ['queryParams', (name) => !inPath.has(name)],
  ];
  return places.filter(([, isHere]) => Object.keys(properties).some(isHere));
};

/** How the call is sent. */
const describeInput = (endpoint: Endpoint): Json => {
  const { method, example } = endpoint;
  const sent = listPlaces(endpoint).map(([place, isHere]): [string, unknown] => [
    place,
    Object.fromEntries(Object.entries(example.input).filter(([name]) => isHere(name))),
  ]);
  return { type: 'http', method, ...(method === 'POST' ? { bodyType: 'json' } : {}), ...Object.fromEntries(sent) };
};

const makeSchema = (endpoint: Endpoint): Json => {
  const { method } = endpoint;
  const sent = listPlaces(endpoint).map(([place, isHere]): [string, Json] => [
    place,
    describeMembers(endpoint, isHere),
  ]);
  const pinned = {
    type: { const: 'http' },
    method: { const: method },
    ...(method === 'POST' ? { bodyType: { const: 'json' } } : {}),
    ...Object.fromEntries(sent),
  };
  const output = { type: 'object', properties: { type: { const: 'json' }, example: { type: 'object' } } };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...{ type: 'object', properties: { input: makeClosed(pinned, Object.keys(pinned)), output }, required: ['input'] },
  };
};

/** One entry of a catalogue for all paths of an endpoint, as x402 writes their shape; absent where the path is one. */
const makeTemplate = ({ path }: Endpoint): Json =>
  listPathParameters(path).length === 0 ? {} : { routeTemplate: path.replaceAll(/\{(\w+)\}/g, ':$1') };

export const makeBazaar = (endpoint: Endpoint): Json => ({
  info: { input: describeInput(endpoint), output: { type: 'json', example: makeOutline(endpoint) } },
  schema: makeSchema(endpoint),
  ...makeTemplate(endpoint),
});
